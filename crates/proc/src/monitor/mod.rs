//! The reader-writer monitor of a component.
//!
//! `lock` is -1 when a process holds it exclusively, else how many share it. Two queues: of those
//! that want the lock, and of those that await a condition. Whoever makes the monitor free
//! evaluates the conditions, longest waiter first, and hands the lock to the first whose
//! condition holds, before anybody else can take it (*signal and pass*); if none holds, to the
//! head of the lock queue, readers together. New readers wait behind a waiting writer.
//!
//! Who is handed the lock runs next, before others that are ready. Two things keep processes that
//! share a monitor from changing places for every single thing they do; both only put off when a
//! process asks for the lock, as the end of a slice could at any time:
//!
//! * who finds the lock handed to a process that has not run yet gives way once, instead of
//!   queueing: to be in the queue would mean to be handed the lock at the next release;
//! * who begins with a condition that does not hold is kept *outside*, before it has asked for the
//!   lock. While all in the queue of conditions are outside, a release hands nothing over: they
//!   are looked at later (`looker`), and the longest waiter whose condition holds is woken to ask
//!   for the lock, one at a time. So a producer fills the buffer before a consumer runs, and of
//!   many consumers as few run as can empty it. Who was woken in vain, because others came before
//!   it, is the first again; after a few times it is handed the lock like those inside.

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
