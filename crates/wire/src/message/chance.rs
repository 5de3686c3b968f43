//! Whether generated code is tried for a whole message at once: what it does not come to the end
//! of, it has done without use.

/// This many messages in a row are missed before it is tried less often: perhaps all of them have
/// unknown fields, which are not for the code.
const MISSED_MAX: u8 = 4;

/// Then it is tried once in this many messages.
const TRIED_EVERY: u8 = 64;

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chance {
    /// Messages since one that the code came to the end of.
    missed: u8,
}

impl Chance {
    /// Has `fill` fill a new record with a whole message, if code alone can do it; else, and that
    /// is false, with parts of it perhaps.
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
