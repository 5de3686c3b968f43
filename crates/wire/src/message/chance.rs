//! Whether generated code is tried for a whole message at once: work on a message that it cannot
//! complete is lost.

/// The misses in a row before it is tried less often: perhaps all messages have unknown fields,
/// which the code does not handle.
const MISSED_MAX: u8 = 4;

/// Then it is tried once in `TRIED_EVERY` messages.
const TRIED_EVERY: u8 = 64;

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chance {
    /// Messages since the last that the code completed.
    missed: u8,
}

impl Chance {
    /// Calls `fill`, which fills a new record with a whole message if code alone can; false if it
    /// could not, and the record may hold parts of it.
    #[inline]
    pub(super) fn take(&mut self, fill: impl FnOnce() -> bool) -> bool {
        if self.missed >= MISSED_MAX {
            self.missed = if self.missed == TRIED_EVERY { MISSED_MAX - 1 } else { self.missed + 1 };
            return false;
        }
        let done = fill();
        self.missed = if done { 0 } else { self.missed + 1 };
        done
    }
}
