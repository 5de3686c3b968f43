//! The reader-writer monitor of a component.
//!
//! `lock` is -1 when a process holds it exclusively, else how many share it. There are two queues:
//! for the lock, and for conditions. The process that frees the monitor evaluates the conditions,
//! longest waiter first, and hands the lock to the first whose condition holds, so that no other
//! can take it in between (*signal and pass*); if none holds, to the head of the lock queue,
//! readers together. New readers wait behind a waiting writer.
//!
//! The process that is handed the lock runs next, before others that are ready. Two things keep
//! processes that share a monitor from switching for every single item; both only delay the request
//! for the lock, as the end of a slice could at any time:
//!
//! * A process that finds the lock handed to one that has not run yet yields once, instead of
//!   queueing: in the queue it would be handed the lock at the next release.
//! * A process that begins with a condition that does not hold is kept *outside*, before it
//!   requests the lock. While all in the queue of conditions are outside, a release hands nothing
//!   over: they are visited later (`looker`), and the longest waiter whose condition holds is woken
//!   to request the lock, one at a time. So a producer fills the buffer before a consumer runs, and
//!   of many consumers as few run as can empty it. A process that was woken but overtaken is first
//!   again; after a few times it is handed the lock like those inside.

mod call;
mod condition;
mod due;
mod evaluate;
mod looker;
mod outside;
mod queue;
mod watch;
pub(crate) use call::{begin, settle};
pub(crate) use condition::{await_change, await_condition, lock_when};
pub(crate) use due::Looker;
pub(crate) use looker::look_due;
mod enter;
mod lock;
mod pass;
mod poke;
#[cfg(test)]
mod tests;

pub(crate) use enter::{lock_exclusive, lock_shared, unlock};
pub(crate) use lock::{Turn, release};
pub(crate) use pass::{give_up, look, pass, resume};
pub(crate) use poke::poke;
