//! Pores: passive objects around memory that is shared with the outside.
//!
//! A *pore* wraps what a language cannot own: pages shared with another process, the kernel or a
//! guest, a doorbell out, readiness in, and one owner. It keeps no references to anything else and
//! promises nothing; closing it releases its memory and descriptors. The protocol over it, with
//! retries and state, is implemented by its owner.
//!
//! ```text
//! pore        the operations, one set for every kind        registry   owners, arming, events
//! adaptive_poll  how long to poll before sleeping       wait       doing so, for threads
//! region      mapped memory, bounds checked                 doorbell   eventfds
//! ring/       free-running indexes, bytes, messages         handover   descriptors over a socket
//! memfd       rings to another process                      socket     a stream socket
//! lifeline    whether the other side is alive             aio        how a bell is rung
//! xenstore/   the Xenstore page; wire format, store, server, outlet
//! uring       submission and completion rings of the kernel
//! packet/     frames: TPACKET_V3, TAP, AF_XDP
//! ```
//!
//! The rules, for every kind:
//!
//! * Overfilling returns how much was accepted; reading what is empty returns nothing.
//! * Indexes are free-running `u32`; the fill of a ring is their difference, never a comparison.
//! * What the other side writes is not trusted: each index, length and offset is checked at each
//!   use, and the own index is never read back from shared memory. A bad one is an error of that
//!   pore, for good, and of no other.
//! * Only the owner may use a pore; it can be handed over; it closes when its owner ends.
//! * Events are by level and coalesced: a pore that is armed has at most one that is pending.
//!
//! Two rings to another process:
//!
//! ```
//! use tidemill_pore::memfd::{Memfd, Shape};
//! use tidemill_pore::Pore;
//!
//! let (mut ours, offer) = Memfd::create(Shape::Bytes, 4096)?;
//! let mut theirs = Memfd::attach(offer)?; // in real life: on the other side of a socket
//! assert_eq!(ours.write(b"hello")?, 5);
//! let mut read = Vec::new();
//! assert_eq!(theirs.read(100, &mut read)?, 5);
//! assert_eq!(read, b"hello");
//! # Ok::<(), tidemill_pore::Error>(())
//! ```

pub mod adaptive_poll;
mod aio;
pub mod doorbell;
mod error;
pub mod handover;
mod lifeline;
pub mod memfd;
pub mod packet;
mod pore;
pub mod region;
mod registry;
pub mod ring;
pub mod socket;
pub mod uring;
mod wait;
pub mod xenstore;

pub use error::Error;
pub use pore::{Avail, Pore, PoreKind, Signal, Wants, Width};
pub use registry::{Event, OwnerId, PoreId, Pores};
