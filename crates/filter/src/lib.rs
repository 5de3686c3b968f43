//! Packet filters: expressions of the pcap filter language, compiled to native code.
//!
//! ```text
//!   text -- lex, parse --> Expr -- lower --> Graph -- optimise --> Graph -- native --> code
//!            names          (spans)          |  print, read, verify  |  classic --> BPF of sockets
//!                                            +------ interpret ------+
//! ```
//!
//! ```
//! use tidemill_filter::{Filter, Settings};
//! use tidemill_diag::Sources;
//!
//! let mut sources = Sources::new();
//! let file = sources.add("filter", "ether[0] & 1 != 0 and len < 200");
//! let (filter, diagnostics) = Filter::compile(file, &sources, &Settings::default());
//! assert_eq!(diagnostics, []);
//! let filter = filter.expect("no diagnostics");
//! assert!(filter.matches(&[0xff; 64]));
//! assert!(!filter.matches(&[0x00; 64]));
//! ```
//!
//! An expression means what libpcap's compiler makes of it before it optimises, for captures of
//! Ethernet in files: a packet in which a load would pass the end is rejected, whatever the rest of
//! the expression is, and so is one for which a divisor is zero. The order of tests is therefore
//! part of the meaning, and is kept.
//!
//! What differs, and is refused with a diagnostic or noted:
//!
//! * names of hosts, networks and gateways are not looked up;
//! * ports and protocols have names from a table of our own (`names`);
//! * other link layers are not supported, nor are interfaces: a packet does not carry its own;
//! * `inbound` and `outbound` are for packets of devices, not of captures ([`Settings`]);
//! * `byte` has no `&` and `|`: libpcap accepts them and never reads the byte;
//! * `protochain` advances over an authentication header by its length; libpcap loses its position.
//!
//! Knows packets as bytes and a length on the wire. Must not know links, apps and captures.

#![warn(missing_debug_implementations)]

pub mod address;
pub mod ast;
pub mod classic;
pub mod graph;
mod interpret;
pub mod lex;
mod lower;
pub mod names;
mod native;
pub mod optimise;
pub mod parse;

pub use graph::Graph;
pub use interpret::{Seen, matches as interpret, matches_seen as interpret_seen};
pub use lower::{Settings, compile};
pub use native::{Filter, Frame, Packet, write};
