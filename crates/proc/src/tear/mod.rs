//! Tearing down a component that has failed, with everything below it; and a whole tree at once.
//!
//! ```text
//! fault -> doomed -> stopped: no process of the tree is left     piece by piece, nothing runs
//!                 -> failing: FINALLY, unless the fault was there
//!                 -> emptying: sub-components end, with their FINALLY
//!                 -> failed: the shell, until its owner deletes it
//! ```
//! Sub-components are healthy, but worked for one that has failed: their processes are killed where
//! they are, and they end in order. The partner in a communication with a killed process finds it
//! failed. Connections stay, for FINALLY to use.
//!
//! A large tree is stopped incrementally: between two pieces the loop serves timers and
//! descriptors, but runs no process, as some of the tree may be ready. With several loops it is
//! stopped at once, for the others would run theirs.

mod down;
mod stopping;

pub(crate) use down::{bury_doomed, tear_down};
pub(crate) use stopping::Stopping;
