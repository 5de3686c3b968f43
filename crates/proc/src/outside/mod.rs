//! Components that are made and spoken to from outside: rules that hand them tuples, say.
//!
//! The embedder [makes](Worker::make) a component that nobody owns, and is the client of one
//! interface that it implements. What the embedder [says](Worker::say) goes over a channel as
//! always; whatever comes back is noted, and taken between two processes
//! ([`Worker::take_noted`], [`Worker::hear`]). A component is told to end with [`Worker::part`].
//!
//! Or it [launches](Worker::launch) one that serves nobody, and is told when that has ended.
//!
//! A channel of this kind has no client component. Its client's slot is a block of our own, whose
//! target is the name of the communication. It stays on the first loop, with who serves there.

pub(crate) mod launched;
pub(crate) mod note;
mod root;
mod speak;
pub(crate) mod state;

pub use speak::{Heard, Unsaid};
pub use state::Over;
