//! The communications that a process has with sub-components of its component.
//!
//! A session belongs to its process and lives while it is open. Most processes have a few, which
//! are searched in order; one that has many is also entered in a map of the worker.

mod close;
mod find;
mod map;

pub(crate) use close::{Leave, close_all, close_with, free_closed};
pub(crate) use find::{MANY, find_or_make, sessions_of};
pub(crate) use map::SessionMap;
