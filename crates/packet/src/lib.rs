//! Packets, links and apps: network functions made from parts.
//!
//! ```text
//!  .flow text -> flow -> Graph -> Engine (configure) -> breaths on the event loop
//!                                   |
//!     source --link--> app --link--> sink         one breath: pull sources, push along the links
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`packet`] | packets and the pool they come from |
//! | [`link`] | rings between apps, their limit and counters |
//! | [`app`] | the trait of apps, their declarations, configs and ports |
//! | [`graph`] | which apps and links there are, verified and printed |
//! | [`flow`] | the language of `.flow` files: parser, formatter |
//! | [`engine`] | a graph that runs: breaths, changes, supervision, counters |
//! | [`kernel`] | apps given as code: their form, interpreter and builder |
//! | `compiled` | a graph as native code |
//! | `flags` | flags of the parts of a graph that have something to do |
//! | [`drive`] | an engine on the event loop |
//! | [`fanout`] | several instances of a graph, and which flows each has |
//!
//! An engine, its packets and its apps belong to one thread. The addresses of rings, wake words,
//! app states and ports stay as long as what they are of, so that generated code may name them.
//!
//! It knows nothing of rules and components, nor of what particular apps do.

pub mod app;
mod compiled;
pub mod drive;
pub mod engine;
pub mod fanout;
pub mod fields;
mod flags;
pub mod flow;
pub mod graph;
pub mod kernel;
pub mod link;
pub mod packet;

pub use packet::{Packet, Pool};
