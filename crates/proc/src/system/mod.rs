//! The seam to system components: communications whose server is not a process.
//!
//! The embedder [offers](crate::Worker::offer) interfaces to the entry component. What clients send
//! becomes [`Request`]s, which the embedder takes between two processes; it answers at once or,
//! after a timer or a descriptor of the loop, later ([answer](crate::Worker::answer)): operations
//! are split in two phases and never block the loop. The four entries of the channel hold a fast
//! client back; answers beyond them wait in a queue here. A process that waits for an answer is not
//! passive: virtual time stands still for it.

mod note;
mod serve;
mod servers;
mod state;
mod waiting;

pub(crate) use note::{note, note_taken};
pub(crate) use serve::{close_stateless, connect, fit, put_words, serve, take_words};
pub(crate) use state::Systems;
pub use state::{Refused, Request};
pub(crate) use waiting::{is_waited_for, waiting};
