#![doc = include_str!("../README.md")]

mod alarm;
mod enter;
mod event_loop;
mod host;
mod os;
mod queue;
mod remote;
mod scope;
mod signals;
mod sim;
mod slab;
mod stats;
mod task;
mod time;
mod timer;
mod turn;
mod user;
mod watch;

pub use event_loop::{Limits, Loop, Outcome};
pub use host::{
    Address, Endpoint, Host, HostStats, Interest, Peer, Ready, Slice, Source, Streams, Transport,
    Trouble, Wait, Wake, Waker,
};
pub use os::Os;
pub use queue::{Full, Owner};
pub use remote::Remote;
pub use scope::Scope;
pub use signals::Signal;
pub use sim::{Conditions, NetStats, NodeStats, Sim};
pub use stats::{KindStats, LoopStats};
pub use time::Time;
pub use timer::TimerId;
pub use user::{User, UserError};
pub use watch::{Handlers, WatchId};
