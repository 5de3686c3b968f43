//! Components: the tree, their lives, and the operations on them.
//!
//! ```text
//! beginning -> running -> (terminating, processes done) -> finally -> closing -> freed
//!                 \                                         (children end)
//!                  +-- fault --> failing -> emptying -> failed
//!                                (FINALLY)  (children end)
//! A failed one is a shell, until its owner deletes it. One that is freed while its owner serves
//! others is a [husk], until the owner is freed.
//! ```
//! The tree is explicit: each component knows its owner and its sub-components, so terminating,
//! tearing down and freeing walk it in loops, never by recursion, however deep or wide it is. Steps
//! towards the end happen between two processes ([`crate::scheduler`]).

mod called;
mod callers;
mod circles;
mod connect;
mod delete;
mod end;
mod husk;
mod id;
mod kinds;
mod path;
mod slots;
mod terminate;
mod terminating;
pub(crate) use crate::component::called::SharedCallers;
pub(crate) use crate::component::circles::advance_early;
pub(crate) use crate::component::delete::{delete, end_scope};
pub(crate) use crate::component::terminate::{
    may_end, one_less, terminate, terminate_all, wait_for,
};
pub(crate) use crate::component::terminating::TerminatingSet;
pub(crate) use circles::break_circles as break_call_circles;
pub(crate) use connect::{connect, disconnect};
pub(crate) use create::{create, new};
pub(crate) use end::{
    advance, begun, break_circles, empty, fail, finally_done, forget_deleted, forget_deleter,
    release, strip,
};
pub use id::ComponentId;
pub(crate) use id::Table;
pub(crate) use kinds::{failed, is_type, offers, requires, terminated};
pub(crate) use park::{park, wake_parked, watch_connection};
pub(crate) use path::{path, unique_path};
pub(crate) use slots::{
    close_slots, count, fail_communications, free_tables, make_slot, slot_of, slots_of,
};
pub use state::Life;
pub(crate) use tree::{adopt, hand_over, orphan, rotate};
pub(crate) use variables::{drop_variables, drop_word, move_word};
mod create;
mod park;
mod state;
mod tree;
mod variables;
