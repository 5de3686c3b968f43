//! Memory of tables: zeros at addresses that stay.

use std::cell::Cell;

/// `count` zeros, which take up no memory before they are touched.
pub(super) fn zeros<T: Copy + Default>(count: usize) -> Box<[Cell<T>]> {
    let zeros = Box::into_raw(vec![T::default(); count].into_boxed_slice());
    // SAFETY: a `Cell` has the layout of what is in it, and the box had no other user.
    unsafe { Box::from_raw(zeros as *mut [Cell<T>]) }
}
