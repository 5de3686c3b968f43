//! The run-time of components: processes, channels, monitors, the component tree.
//!
//! A compiler gives a [`program::Program`] of descriptors with code; a [`Worker`] runs it.
//! Nothing here knows the language's syntax, nor how code is made.
//!
//! The data of a module (mostly its `state` file) lies below the worker, its operations above.
//! Roughly from what uses to what is used; files name each other in one direction, folders as a
//! whole do not: a process that ends advances its component, and a component that fails kills
//! processes.
//!
//! ```text
//! the face       worker     the worker as its embedder sees it     runner    a worker on a loop
//!                entry      operations that code calls             inspect   listings
//!                interpret  code that is interpreted               console, number  built-ins
//! workers        crew/      several loops: run, share, gather      ticker    the end of slices
//!                scheduler  slices, and work between processes    paused    why it returned
//! the tree       component/ lives, connections, ends               tear/     what has failed
//!                channel/   communications                         sessions/ those with children
//!                system/    the seam to system components          pieces/   incremental work
//!                outside    components that the embedder makes
//!                communication   names of communications, and their messages
//! scheduling     process/   making, running, killing processes     ready     their queue
//!                observe    noting what processes do, if a program asks
//!                monitor/   locks and conditions                   clock/    virtual time
//!                fault/     faults and their reports               crew/place, crew/alone
//!                fault_text texts of faults with details           near      prefetching
//! data           words/     what words own                         text, array, collection/
//! the worker     machine    all that a worker knows                interpreter, executable
//!                observed   what processes have done
//! memory         memory     blocks and their accounting            handle    names of blocks
//!                layout     shapes that generated code uses        program   descriptors
//! ```
//! A process is a block with its outermost frame; frames of calls are blocks in a list. Code of a
//! frame is a state machine: it runs until an operation would block, notes where it is, and
//! returns to the scheduler; resumed, it executes the operation again ([`entry`]). One loop needs
//! no atomics: only the flag that ends a slice is written by another thread. Several loops have a
//! worker each and share what a worker's desk leads to (`crew`).

mod array;
mod channel;
mod clock;
mod collection;
mod communication;
mod component;
pub mod console;
mod crew;
pub mod entry;
mod executable;
pub mod fault;
mod fault_text;
mod handle;
mod inspect;
pub mod interpret;
mod interpreter;
pub mod layout;
mod machine;
mod memory;
mod monitor;
mod near;
mod number;
mod observe;
mod observed;
mod outside;
mod paused;
mod pieces;
mod process;
pub mod program;
mod ready;
mod runner;
mod scheduler;
mod sessions;
mod system;
mod tear;
mod text;
mod ticker;
mod words;
mod worker;

pub use communication::{Communication, CommunicationMap, Value, Values};
pub use component::{ComponentId, Life};
pub use inspect::{ClientView, ComponentView, ProcessView};
pub use machine::Worker;
pub use machine::{Count, Counts};
pub use observed::Activity;
pub use outside::{Over, Received, SendError};
pub use paused::Paused;
pub use process::{ProcessState, Role};
pub use runner::{Home, Runner, arm};
pub use system::{Refused, Request};
pub use worker::{NotTheNext, Options, STACK_MAX};
