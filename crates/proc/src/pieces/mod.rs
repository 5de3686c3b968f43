//! What concerns very many components or elements goes piece by piece, between two processes: the
//! loop serves timers and descriptors meanwhile, and processes that have nothing to do with it run.
//!
//! ```text
//! DELETE of a collection of components --> told to end, a piece at a time --> its deleter waits
//! end of a component                   --> its sub-components, the same
//! memory of collections and arrays     --> litter, freed before any process runs again
//! ```
//! With several loops all goes at once: what is told may live on any of them. So does litter where
//! slices are counts: nobody waits for such a loop.

mod delete;
mod litter;
mod state;
mod work;

pub(crate) use delete::{delete, tell_children};
pub(crate) use litter::{are_left, begin, is_over, litter};
pub(crate) use state::{Pieces, Telling};
pub(crate) use work::{forget, sweep, sweep_all, tell_some};
