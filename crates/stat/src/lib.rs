//! Counters, histograms and event logs that other processes read while this one runs.
//!
//! They live in mapped files, so that counting is an addition in memory, and looking is reading a
//! file: no request, no thread, no lock, and no cost while nothing reads them.
//!
//! ```
//! use tidemill_stat::Registry;
//!
//! let registry = Registry::in_memory();
//! let sent = registry.counter("link/src.output->acl.input/tx_packets");
//! let latency_ns = registry.histogram("app/acl/latency_ns");
//! sent.add(2);
//! latency_ns.record(1500);
//!
//! let seen = registry.snapshot();
//! assert_eq!(seen.counter("link/src.output->acl.input/tx_packets"), Some(2));
//! assert_eq!(seen.histograms["app/acl/latency_ns"].count(), 1);
//! ```
//!
//! The parts:
//!
//! * [`Registry`] makes the files and hands out [`Counter`], [`Histogram`] and [`RingLog`], each
//!   with a name `<what>/<name>/<counter>`. Each has one owner, its only writer; dropping it
//!   takes it out of the file. Several may have one name, for example one per loop: readers see
//!   their sum.
//! * [`Snapshot`] is what a reader gets. It takes the files for hostile.
//! * [`place`] knows where the files are and removes those of dead processes; [`layout`] is the
//!   format.
//! * [`measure`] measures what counting costs.
//!
//! Knows nothing of what is counted, and depends on no crate of the house. Time comes from the
//! caller.

mod chunk;
mod counter;
mod decode;
mod histogram;
pub mod layout;
mod log;
pub mod measure;
mod open;
pub mod place;
mod registry;
mod slots;
mod snapshot;

pub use counter::Counter;
pub use histogram::{Distribution, Histogram};
pub use log::{LogRecord, RingLog};
pub use open::OpenError;
pub use registry::{Held, Registry};
pub use snapshot::Snapshot;
