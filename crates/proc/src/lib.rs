//! The run-time of components: processes, channels, monitors, the component tree.
//!
//! A compiler gives a [`program::Program`] of descriptors with code; a [`layout::Worker`] runs it.
//! Nothing here knows the language's syntax, nor how code is made.
//!
//! ```text
//! layout     shapes and offsets that generated code uses      entry      operations it calls
//! program    descriptors                                      interpret  code that is interpreted
//! worker     the worker as its embedder sees it               runner     a worker on a loop
//! attend     the scheduler                                    ready      its queue
//! process    making, running, killing processes               fault      faults and who is told
//! channel/   communications                                   lines      those with sub-components
//! monitor/   locks and conditions                             clock      virtual time
//! component/ the tree, connections, ends                      tear       tearing down what failed
//! memory     blocks and their accounting                      words      dropping what words own
//! text, array, collection/  data with owners                  number, console   built-ins
//! system     the seam to system components                    ticker     the end of slices
//! outside    components made and spoken to from outside
//! communication  what is said over it                         crew/      several loops
//! inspect    listings of what there is
//! ```
//! A process is a block with its outermost frame; frames of calls are blocks in a list. Code of a
//! frame is a state machine: it runs until an operation cannot go on, notes where it is, and
//! returns to the scheduler; resumed, it executes the operation again ([`entry`]). One loop needs
//! no atomics: only the flag that ends a slice is written by another thread. Several loops have a
//! worker each and share what a worker's desk leads to (`crew`).

mod array;
mod attend;
mod channel;
mod clock;
mod collection;
mod communication;
mod component;
pub mod console;
mod crew;
pub mod entry;
pub mod fault;
mod handle;
mod inspect;
pub mod interpret;
pub mod layout;
mod lines;
mod memory;
mod monitor;
mod number;
mod outside;
mod pieces;
mod process;
pub mod program;
mod ready;
mod runner;
mod saying;
mod system;
mod tear;
mod text;
mod ticker;
mod words;
mod worker;

pub use attend::Paused;
pub use communication::{Communication, CommunicationMap, Value, Values};
pub use component::{ComponentId, Life};
pub use inspect::{ComponentView, ProcessView};
pub use layout::Worker;
pub use outside::{Heard, Unsaid};
pub use process::{Role, State};
pub use runner::{Home, Runner, arm};
pub use system::{Refused, Request};
pub use worker::{Count, Counts, Options, STACK_MAX};
