//! Rings in shared memory: a data part and two free-running indexes.
//!
//! ```text
//!     ...|........#############........|...     size: a power of two
//!                 ^cons        ^prod            written: prod - cons, modulo 2^32
//! ```
//! The writer owns `prod`, the reader `cons`. Each side keeps its own index to itself and only
//! publishes it; the other's is read, and checked, each time it is needed.

pub mod bytes;
pub mod messages;

use crate::Error;

/// Where a ring is in its region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Where its data begins.
    pub data: u32,
    /// Bytes of data, a power of two of at most 2^31.
    pub size: u32,
    /// Where the writer's index is.
    pub prod: u32,
    /// Where the reader's index is.
    pub cons: u32,
}

impl Layout {
    /// Bytes between the two indexes.
    ///
    /// # Errors
    /// More than the ring holds: the side whose index is `theirs` is to blame.
    pub(crate) fn used(self, prod: u32, cons: u32, theirs: u32, ours: u32) -> Result<u32, Error> {
        let used = prod.wrapping_sub(cons);
        if used <= self.size {
            Ok(used)
        } else {
            Err(Error::BadIndex { theirs, ours, size: self.size })
        }
    }

    /// The one or two stretches of memory that `length` bytes from an index take up.
    pub(crate) fn parts(self, index: u32, length: u32) -> [(u64, u32); 2] {
        let start = index & (self.size - 1);
        let first = length.min(self.size - start);
        [(u64::from(self.data + start), first), (u64::from(self.data), length - first)]
    }
}
