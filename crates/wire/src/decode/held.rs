//! Bytes put together from several pieces, for as long as a sink looks at them.

use std::cell::RefCell;

/// Keeps boxes of bytes until it is dropped.
#[derive(Default)]
pub(crate) struct Held(RefCell<Vec<Box<[u8]>>>);

impl Held {
    /// Keeps `bytes`.
    pub(crate) fn hold(&self, bytes: Vec<u8>) -> &[u8] {
        let bytes = bytes.into_boxed_slice();
        let (start, len) = (bytes.as_ptr(), bytes.len());
        self.0.borrow_mut().push(bytes);
        // SAFETY: the box stays where it is, unchanged, until `self` is dropped.
        unsafe { std::slice::from_raw_parts(start, len) }
    }
}
