//! Memory that is freed as a whole: [`Bump`] holds what one turn creates.
//!
//! It hands out plain references, so many values can be made and held at once; [`Bump::reset`] at
//! the end of the turn frees them all and keeps the memory for the next turn. It runs no
//! destructors, so it takes `Copy` data only.
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

mod bump;
mod chunk;

pub use bump::Bump;
