//! Memory that is freed as a whole, by whoever owns it.
//!
//! * [`Bump`]: what one turn creates. Hands out plain references, so many values can be made and
//!   held at once; [`Bump::reset`] at the end of the turn frees them all and keeps the memory for
//!   the next turn.
//! * [`Region`]: what lives longer, for example one message or one component. Hands out 32-bit
//!   [`Handle`]s and [`Slice`]s, which may be stored inside the region's own values: half the
//!   bytes of pointers, and cycles are no question.
//! * [`Regions`]: regions inside regions. Freeing one frees all inside it; the bytes of each are
//!   charged to all around it, and every one may have a limit.
//!
//! None of the three runs destructors, so they take only data without any (`Copy`, or [`Plain`]).
//!
//! ```
//! use tidemill_stdx::region::Bump;
//!
//! let mut turn = Bump::new();
//! let name = turn.alloc_str("n1:10000");
//! let row = turn.alloc_slice_copy(&[name, name]);
//! assert_eq!(row[1], "n1:10000");
//! turn.reset();
//! assert_eq!(turn.used_bytes(), 0);
//! ```

mod arena;
mod bump;
mod chunk;
mod handle;
mod plain;
mod tree;

pub use arena::Region;
pub use bump::Bump;
pub use handle::{Handle, Slice, Text};
pub use plain::Plain;
pub use tree::{RegionError, RegionId, Regions};

use std::fmt;

/// A region has no room for what was asked of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full {
    /// The bytes that the limit allows.
    pub limit_bytes: usize,
    /// The bytes that would be needed.
    pub needed_bytes: usize,
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Full { limit_bytes, needed_bytes } = self;
        write!(f, "region is full: {needed_bytes} bytes needed, {limit_bytes} allowed")
    }
}

impl std::error::Error for Full {}
