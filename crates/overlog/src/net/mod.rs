//! Tuples between nodes: the messages, and the protocols that carry them.
//!
//! Everything here is a state machine without sockets, clock or randomness: bytes and the time
//! come in as arguments, bytes and events go out as results. Times are nanoseconds on a clock
//! that never goes back.
//!
//! ```text
//!   tuples       [endpoint]   all peers of a node: batches, timers, what is delivered
//!                 [peer]      one address: which program it runs, best effort or reliable
//!   datagrams    [reliable]   sequence, acknowledgement, retransmission, window, lease
//!                [fragment]   messages over a datagram's size
//!   TCP          [stream]     envelopes behind their length
//!               [outgoing]    what waits for a connection    [greeting]   whose one is
//!   messages     [envelope]   Envelope, Tuple, Fragment, Ack     [values]  columns as Value
//!                 [schema]    a program's own messages, its text and its identity
//! ```
//! Whatever comes from outside may be wrong in any way: it is counted by reason ([`counters`])
//! and dropped, and every memory that a peer can fill has a limit.

pub mod counters;
pub mod endpoint;
pub mod envelope;
pub mod fragment;
pub mod greeting;
pub mod mail;
pub mod outgoing;
pub mod peer;
mod protocol;
pub mod reliable;
pub mod schema;
pub mod stream;
pub mod values;
