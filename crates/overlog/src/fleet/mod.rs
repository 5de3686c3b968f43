//! Nodes on an event loop: sockets, timers and turns.
//!
//! A [`Fleet`] drives any number of nodes of one program, each with an endpoint of its own, on
//! one loop; whether the host behind it is the operating system or a simulation makes no
//! difference here. Everything that comes from outside becomes an event in the node's inbox and
//! one event of the loop:
//!
//! ```text
//! datagram, timer, injection -> inbox -> event: begin, derive the first tuples
//!                                          dpc: derive more, some tuples at a time
//!                                          action: commit, refine the first round
//!                                          action: refine another round
//!                                            after the last: finish, post, arm timers
//! ```
//! So a node whose fixed point takes long is suspended by the loop between two of these, and
//! others go on.

mod alarm;
mod arrive;
mod clocks;
mod datagrams;
mod drain;
mod former;
mod hand;
mod keys;
mod life;
mod links;
mod measure;
mod pace;
mod pauses;
mod peer_table;
mod peers;
mod periodics;
mod post;
mod queries;
mod replace;
mod seal;
mod sealed;
mod state;
mod streams;
mod system;
mod system_tables;
mod times;
mod turns;
mod world;

pub use drain::drain;
pub use former::FormerLives;
pub use hand::{hand, inject, rows};
pub use keys::replace_keys;
pub use life::{Ports, crash, restart, restart_elsewhere, start, start_elsewhere};
pub use measure::look_at_costs;
pub use pace::Skew;
pub use pauses::{fire_timer, pause};
pub use queries::{ask, forget, resume};
pub use replace::{can_replace, replace};
pub use seal::Seal;
pub use state::{Extra, Fleet, INBOX_MAX, NodeId};
pub use turns::sample;
pub use world::{Call, Switched, Takes, World};
