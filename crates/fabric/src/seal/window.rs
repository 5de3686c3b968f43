//! The replay window of one session (RFC 6479): which counters have come.
//!
//! ```text
//!              forgotten | the last 2048 counters: a bit each | not seen
//!                                                     greatest^
//! ```

/// The counters that the window covers; those before are refused.
pub const WINDOW: u64 = 2048;

const WORDS: usize = WINDOW as usize / 64;

/// Which counters have come; see the module.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// One more than the greatest counter that has come; 0 if none has.
    next: u64,
    /// Counter `c` is bit `c % WINDOW`.
    bits: [u64; WORDS],
}

impl Default for Window {
    fn default() -> Window {
        Window { next: 0, bits: [0; WORDS] }
    }
}

impl Window {
    /// Whether a datagram with that counter may be new.
    pub(super) fn accepts(&self, counter: u64) -> bool {
        if counter >= self.next {
            return counter < u64::MAX;
        }
        self.next - counter <= WINDOW && !self.has(counter)
    }

    /// Whether it would be the greatest so far.
    pub(super) fn is_newest(&self, counter: u64) -> bool {
        counter >= self.next
    }

    /// Notes a counter that [`Window::accepts`], of a datagram that is genuine.
    pub(super) fn note(&mut self, counter: u64) {
        if counter >= self.next {
            // The bits of what is skipped are those of counters that fall out of the window.
            let skipped = (counter - self.next).min(WINDOW);
            for fresh in counter - skipped..counter {
                self.bits[word(fresh)] &= !bit(fresh);
            }
            self.next = counter + 1;
        }
        self.bits[word(counter)] |= bit(counter);
    }

    fn has(&self, counter: u64) -> bool {
        self.bits[word(counter)] & bit(counter) != 0
    }
}

fn word(counter: u64) -> usize {
    (counter % WINDOW / 64) as usize
}

fn bit(counter: u64) -> u64 {
    1 << (counter % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_edges() {
        let mut window = Window::default();
        assert!(window.accepts(0) && window.is_newest(0));
        window.note(0);
        assert!(!window.accepts(0));
        window.note(WINDOW);
        assert!(!window.accepts(0), "it is forgotten");
        assert!(window.accepts(1));
        window.note(1);
        assert!(!window.accepts(1) && !window.is_newest(1));
        assert!(!window.accepts(u64::MAX));
        window.note(u64::MAX - 1);
        assert!(!window.accepts(u64::MAX - 1) && window.accepts(u64::MAX - 2));
    }

    proptest! {
        /// Against a set of all that has come.
        #[test]
        fn a_counter_comes_once_and_not_late(
            steps in prop::collection::vec(
                (0u64..6000, prop_oneof![Just(0u64), Just(1), 0u64..5000]), 1..200,
            ),
        ) {
            let (mut window, mut seen, mut base) = (Window::default(), BTreeSet::new(), 0);
            for (offset, advance) in steps {
                base += advance;
                let counter = (base + 3000).saturating_sub(offset);
                let is_recent = seen.last().is_none_or(|&last| counter + WINDOW > last);
                let expected = is_recent && !seen.contains(&counter);
                prop_assert_eq!(window.accepts(counter), expected);
                if expected {
                    window.note(counter);
                    seen.insert(counter);
                }
            }
        }
    }
}
