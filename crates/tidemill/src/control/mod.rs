//! Talking to a run from outside: a socket in the folder of its counters, and, with a token, the
//! ports of its nodes.
//!
//! ```text
//! tool of this host    --control.sock-->          [server]  --> the run: query, top
//! tool elsewhere       --TCP, sealed by a token-->   |
//!                                                [connection]  frames in and out, with limits
//! ```
//! Whoever connects is somebody who may be hostile: to the socket only its owner and root, by mode
//! and by what the kernel says of them; over TCP anyone, who has to show that it has the token
//! before it is listened to. What comes has limits in length, number and time, and each refusal has
//! a counter `control/run/...`.
//!
//! The socket and the list of nodes are files in the folder that `tidemill_stat::place` knows:
//! [`place`] writes and finds them.

mod connection;
mod counters;
pub mod place;
mod server;
#[cfg(test)]
mod tests;

pub use server::{Controlled, Limits, Server, Snapshot, Whom, adopt, listen, open, reply};
