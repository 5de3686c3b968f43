//! The API of Tidemill: loads, runs, simulates and inspects programs.
//!
//! ```
//! use tidemill::console::Console;
//! use tidemill::program::{LoadOptions, Program};
//! use tidemill::sim::SimOptions;
//!
//! let source = "
//!     materialize(seen, infinity, infinity, keys(2)).
//!     p1 ping(@Peer, Node) :- periodic(@Node, E, 1, 3), Peer := LANDMARK.
//!     p2 seen(@Node, From) :- ping(@Node, From).
//! ";
//! let program = Program::of_text("ping.olg", source, &LoadOptions::default());
//!
//! let options = SimOptions { nodes: 3, ..SimOptions::default() };
//! let report = program.sim(options, Console::silent())?;
//! let summary = report.nodes.ok_or("no nodes")?;
//! assert_eq!(summary.messages, 6);
//! assert_eq!(summary.tables, [("seen".to_owned(), 3)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`program`] | files of all kinds to one program, with diagnostics |
//! | [`run`] | a program on this machine and the network: nodes, components, a packet graph |
//! | [`sim`], [`script`] | nodes in virtual time, under faults and scripts |
//! | [`test`] | many simulations, each with another seed and other faults |
//! | [`explore`] | every run of a program of rules, within bounds |
//! | [`history`] | operations of clients, checked against a sequential object |
//! | [`error`] | why a program cannot run |
//! | [`devices`] | simulated devices |
//! | [`schemas`] | `.proto` texts and descriptors to schemas, with diagnostics |
//! | [`messages`] | messages from one form into another |
//! | [`service`] | changing to a user other than root, and reports to a service manager |
//! | [`packets`] | the catalogue of packet apps, graphs drawn and listed |
//! | [`components`] | components drawn and listed |
//! | [`ask`] | requests to running nodes |
//! | [`control`] | control connections of a run, and their permissions |
//! | [`borders`] | borders between the parts of a program |
//! | [`graph`], [`catalogue`] | programs drawn, the language listed |
//! | [`profile`] | the cost of rules, as tables and as a flame graph |
//! | [`cost`] | the resources used by this process |
//! | [`why`] | why a tuple is there, in a simulation or at a running node |
//! | [`journal`], [`console`], [`summary`] | the output, findings and summary of a run |
//! | [`tape`] | a stream into memory, for the output of a run |
//! | [`keys`] | files of keys, for nodes that seal what they send |
//! | [`reach`] | the reach of an address |
//! | [`reload`] | reloading a running program |
//! | [`meters`] | the counters of a run, for other processes to read |
//! | [`top`] | counters of a process as text |
//! | [`tuples`] | tuples from outside, matched with a program |
//!
//! Inside, `machine` is the world of the loop of a run: all engines side by side; `properties`
//! evaluates rules about all nodes of a simulation; `unsettled` checks what must be gone in the
//! end.
//!
//! It knows the crates below it and joins them; it parses no command line and writes only to
//! streams that it is given.
#![forbid(unsafe_code)]

pub mod ask;
pub mod borders;
pub mod catalogue;
pub mod components;
pub mod console;
pub mod control;
pub mod cost;
pub mod devices;
pub mod error;
pub mod explore;
pub mod graph;
pub mod history;
mod identities;
pub mod journal;
pub mod keys;
mod left;
mod lines;
mod machine;
pub mod messages;
pub mod meters;
pub mod packets;
pub mod profile;
pub mod program;
mod properties;
pub mod reach;
pub mod reload;
mod rule_times;
pub mod run;
pub mod schemas;
pub mod script;
mod seconds;
pub mod service;
pub mod sim;
pub mod summary;
mod switch;
pub mod tape;
pub mod test;
pub mod top;
pub mod tuples;
mod unsettled;
mod watched;
pub mod why;
mod xml;
