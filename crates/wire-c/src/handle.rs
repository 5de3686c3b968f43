//! Handles: values that C holds by their address.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// A new handle.
pub(crate) fn new<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Frees a handle.
///
/// # Safety
/// It is null, or was made by [`new`] and is not used again.
pub(crate) unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() && handle.is_aligned() {
        // SAFETY: the caller guarantees that `new` made it and that it is not used again.
        let boxed = unsafe { Box::from_raw(handle) };
        let _ = catch_unwind(AssertUnwindSafe(|| drop(boxed)));
    }
}
