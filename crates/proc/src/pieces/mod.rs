//! Incremental work on very many components or elements, between two processes: the loop serves
//! timers and descriptors meanwhile, and unrelated processes run.
//!
//! ```text
//! DELETE of a collection of components --> terminated, a piece at a time --> its deleter waits
//! end of a component                   --> its sub-components, the same
//! memory of collections and arrays     --> litter, freed before any process runs again
//! ```
//! With several loops all is done at once: the components may live on any of them. So is litter
//! where slices are counts: such a loop keeps nothing waiting.

mod delete;
mod litter;
mod state;
mod work;

pub(crate) use delete::{delete, schedule_children};
pub(crate) use litter::{are_left, begin, is_over, litter};
pub(crate) use state::{Pieces, Termination};
pub(crate) use work::{forget, sweep, sweep_all, terminate_some};
