//! The flag that cuts a slice off: raised from anywhere, tested by each checkpoint.

use std::sync::atomic::{AtomicU64, Ordering};

/// A word of zeros or, where the flag is up, of ones. So generated code compares it with an address
/// that it has in a register anyway: one instruction, and no register, in the hottest loops.
#[repr(transparent)]
#[derive(Debug, Default)]
pub struct Cut(AtomicU64);

impl Cut {
    /// Raises the flag: the slice ends at the next checkpoint. Orders as `SeqCst`.
    pub(crate) fn raise(&self) {
        self.0.store(u64::MAX, Ordering::SeqCst);
    }

    /// Takes the flag down.
    #[inline(always)]
    pub(crate) fn lower(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Takes the flag down, so that who raises it later has seen what was done before, or is seen.
    pub(crate) fn lower_in_order(&self) {
        self.0.swap(0, Ordering::SeqCst);
    }

    /// Whether it is up.
    #[inline(always)]
    pub(crate) fn is_up(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }
}
