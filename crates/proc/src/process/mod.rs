//! Processes: making, running, ending and killing them.
//!
//! ```text
//!          +------------- pause, wake --------------+
//!          v                                        |
//! made -> ready -> running -> waits (state says what for)
//!                     |
//!                     +--> body done: main continues with ACTIVITY, a server waits for FINISH
//! ```
//! A process is in at most one queue. A process that waits for a channel and is woken by inlined
//! code keeps its old state: it is ready all the same when the channel's flag is clear.

mod create;
mod end;
mod frame;
mod kill;
mod lazy;
mod run;
mod state;

pub(crate) use create::{create_body, create_server, create_system, starts_at_once};
pub(crate) use end::{bury, end, forget};
pub(crate) use frame::{call_deferred, frame_free, frame_new, free_frame, pause};
pub(crate) use kill::kill;
pub(crate) use lazy::{call_left, frame_first, frame_lazy};
pub(crate) use state::{ACTIVITY, DEAD, INNER, LazyFrames, OUTSIDE, SAME, StackMeasured};
pub use state::{ProcessState, Role};
