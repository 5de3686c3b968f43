//! Components that the embedder makes and communicates with: rules that pass them tuples, say.
//!
//! The embedder [makes](Worker::make) a component without an owner, and is the client of one
//! interface that it implements. What the embedder [sends](Worker::send) goes over a channel as
//! always; whatever arrives is noted, and taken between two processes ([`Worker::take_noted`],
//! [`Worker::receive`]). [`Worker::close`] terminates a component.
//!
//! Or it [launches](Worker::launch) one that has no client, and is notified when that has ended.
//!
//! A channel of this kind has no client component. Its client's slot is a block of its own, whose
//! target is the name of the communication. It stays on the first loop, with its server component.

mod client;
pub(crate) mod launched;
pub(crate) mod note;
mod root;
pub(crate) mod state;

pub use client::{Received, SendError};
pub use state::Over;
