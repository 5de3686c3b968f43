//! Queries to a running node: answered from its tables, changing nothing.
//!
//! A query is a name of a table, a pattern of its rows (`route(_, X, X)`), or a rule over tables:
//! `far(X, C) :- route(@N, X, C), C > 10.`
//! Its predicates are about the queried node; its head needs no location. ([`evaluate()`])
//!
//! The asker is a tool that has connected to the run (`crate::control` has the messages): queries
//! never come over the ports of nodes.
//!
//! No query blocks the loop for longer than a slice: the tables that it reads are copied in a turn
//! of the node, which others interrupt, and the rest runs as an owner of its own on the loop, where
//! askers take turns ([`Desk`]).

mod desk;
mod evaluate;
mod failure;
mod question;
mod sorting;

pub use desk::{
    AskerId, Copied, Copyable, Desk, QueriedNode, QueryCounters, Reply, Shown, WAITING_MAX,
};
pub use evaluate::{Answer, Limits, evaluate};
pub(crate) use evaluate::{Holder, first};
pub use failure::Failure;
