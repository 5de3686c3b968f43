//! Bytes between nodes: how messages become datagrams and frames, and are read back.
//!
//! Everything here is a state machine without sockets, clock or randomness: bytes and the time
//! come in as arguments, bytes and events go out as results. Times are nanoseconds
//! on a clock that never goes back.
//!
//! ```text
//!   messages     [endpoint]   all peers of a node: batches, timers, what is delivered
//!                 [peer]      one address: which program it runs, best effort or reliable
//!   datagrams    [reliable]   sequence, acknowledgement, retransmission, window, lease
//!                [fragment]   messages over a datagram's size
//!                  [head]     what of an envelope is the fabric's
//!   TCP        [connections]  all connections of a node: queues, greetings, limits, sealed frames
//!                 [stream]    frames preceded by their length
//!   keys          [seal]       frames of members of a fleet, sealed
//!   tokens        [token]      a connection of two that have the same token
//! ```
//! Input from outside may be malformed in any way: it is counted by reason ([`counters`]), logged
//! once for each peer and reason ([`refusals`]) and dropped, and every memory that a peer can fill
//! has a limit.

#![forbid(unsafe_code)]

pub mod connections;
pub mod counters;
pub mod endpoint;
pub mod fragment;
pub mod head;
mod noise;
pub mod peer;
pub mod refusals;
pub mod reliable;
pub mod seal;
pub mod stream;
pub mod token;
