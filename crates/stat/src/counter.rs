//! Counters.

use crate::slots::Slot;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// A counter or gauge with one owner, in a mapped file.
///
/// May move to another thread, but is never used by two: adding is a load, an addition and a
/// store, as for any variable. Several threads take one counter each, of the same name.
///
/// ```compile_fail
/// fn shared<T: Sync>() {}
/// shared::<tidemill_stat::Counter>();
/// ```
pub struct Counter {
    value: NonNull<AtomicU64>,
    /// Keeps the memory of `value`.
    _slot: Slot,
    /// Only one thread at a time.
    _one_writer: PhantomData<Cell<u64>>,
}

// SAFETY: the pointer is into the slot, which may be used by any thread and moves along.
unsafe impl Send for Counter {}

impl Counter {
    pub(crate) fn new(slot: Slot) -> Counter {
        let value = NonNull::from(&slot.data()[0]);
        Counter { value, _slot: slot, _one_writer: PhantomData }
    }

    #[inline]
    fn value(&self) -> &AtomicU64 {
        // SAFETY: points into the slot's memory, which lives as long as the slot.
        unsafe { self.value.as_ref() }
    }

    /// Adds `count`; wraps around after 2^64.
    #[inline]
    pub fn add(&self, count: u64) {
        // Relaxed, and not one atomic operation: there is one writer, and readers need a recent
        // value and no order with others.
        let value = self.value().load(Ordering::Relaxed);
        self.value().store(value.wrapping_add(count), Ordering::Relaxed);
    }

    /// Sets the value, for gauges.
    #[inline]
    pub fn set(&self, value: u64) {
        self.value().store(value, Ordering::Relaxed);
    }

    /// The value now.
    #[inline]
    pub fn get(&self) -> u64 {
        self.value().load(Ordering::Relaxed)
    }

    /// The address of the value, for generated code that counts; valid as long as the counter. Code
    /// that writes there is this counter's only writer.
    pub fn address(&self) -> *mut u64 {
        self.value().as_ptr()
    }
}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Counter").field(&self.get()).finish()
    }
}
