//! Memory of tables: words of zeros at addresses that stay.

use std::cell::Cell;

/// `words` words of zeros, which take up no memory before they are touched.
pub(super) fn zeros(words: usize) -> Box<[Cell<u64>]> {
    let words = Box::into_raw(vec![0_u64; words].into_boxed_slice());
    // SAFETY: a `Cell` has the layout of what is in it, and the box had no other user.
    unsafe { Box::from_raw(words as *mut [Cell<u64>]) }
}
