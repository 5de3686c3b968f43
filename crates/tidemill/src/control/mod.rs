//! The control connections of a run: a socket in the folder of its counters and, with a token, the
//! ports of its nodes.
//!
//! ```text
//! tool of this host    --control.sock-->          [server]  --> the run: query, top
//! tool elsewhere       --TCP, sealed by a token-->   |
//!                                                [connection]  frames in and out, with limits
//! ```
//! A peer may be hostile. The socket accepts only its owner and root, by mode and by peer
//! credentials; TCP accepts anyone, who has to prove possession of the token before any request is
//! read. Input is limited in length, number and time, and each refusal has a counter
//! `control/run/...`.
//!
//! The socket and the list of nodes are files in the folder that `tidemill_stat::place` knows:
//! [`place`] writes and finds them.

mod connection;
mod counters;
pub mod place;
mod server;
#[cfg(test)]
mod tests;

pub use server::{Controlled, Limits, QueriedNode, Server, Snapshot, adopt, listen, open, reply};
