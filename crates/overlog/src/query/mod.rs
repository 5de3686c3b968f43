//! Queries to a running node: over its own port, answered from its tables, changing nothing.
//!
//! A query is a name of a table, or a rule over tables: `far(X, C) :- route(@N, X, C), C > 10.`
//! Its predicates are about the node that is asked; its head needs no location. ([`evaluate()`])
//!
//! Who asks is a node without a program: it sends and receives envelopes whose tuples go by name
//! and columns ([`message`]).
//!
//! ```text
//! asker                                                        node
//!   sys::query(@Node, Id, Text, First)                  ----->
//!                                                       <-----  sys::answer(@Asker, Id, Part, ..)
//!                                                       <-----  ...             one per row
//!                                                       <-----  sys::answerEnd(@Asker, Id, Parts,
//!                                                                              Name, Error)
//!   sys::query(@Node, Id, Text, First)    what is lost  ----->
//! ```
//! The answer is cut into parts, a datagram each; the node sends those from `First` on, a window
//! at a time, and keeps the answer for a while so that it can be asked for the rest. All state
//! has a limit, and a lost datagram costs the asker a repetition, nothing else. ([`Answers`])
//!
//! No query holds up anybody for longer than a slice: the copy of the tables it reads is made in a
//! turn of the node, which others interrupt, and the rest is an owner of its own on the loop.

mod answers;
mod evaluate;
pub mod message;
mod question;
mod sorting;

pub use answers::{Answers, QueryCounters, Shown, Ticket, Worked};
pub use evaluate::{Answer, evaluate};
