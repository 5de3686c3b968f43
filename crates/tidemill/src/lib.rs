//! The library's front door: load a program, run it, simulate it, look into it.
//!
//! ```
//! use tidemill::console::{Console, Form};
//! use tidemill::load::{LoadOptions, load_text};
//! use tidemill::sim::{SimOptions, Simulation};
//!
//! let source = "
//!     materialize(seen, infinity, infinity, keys(2)).
//!     p1 ping(@Peer, Node) :- periodic(@Node, E, 1, 3), Peer := LANDMARK.
//!     p2 seen(@Node, From) :- ping(@Node, From).
//! ";
//! let loaded = load_text("ping.olg", source, &LoadOptions::default());
//! let program = loaded.program.ok_or("the program has errors")?;
//!
//! let simulation = Simulation::new(program, SimOptions { nodes: 3, ..SimOptions::default() })?;
//! let console = Console::new(Form::Text, Box::new(std::io::sink()), Box::new(std::io::sink()));
//! let ended = simulation.run(console)?;
//! assert_eq!(ended.summary.messages, 6);
//! assert_eq!(ended.summary.tables, [("seen".to_owned(), 3)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`load`] | files to programs, with diagnostics |
//! | [`schemas`] | `.proto` texts and descriptors to schemas, with diagnostics |
//! | [`messages`] | messages from one form into another |
//! | [`run`] | nodes on this machine and the network |
//! | [`sim`], [`script`] | nodes in virtual time, under faults and scripts |
//! | [`service`] | another user than root, and what a service manager is told |
//! | [`packets`] | graphs of packet apps |
//! | [`ask`] | questions to running nodes |
//! | [`control`] | who asks a run, and what each may |
//! | [`borders`] | where rules meet the other parts of the system |
//! | [`graph`], [`catalogue`] | programs drawn, the language listed |
//! | [`journal`], [`console`], [`summary`], [`ended`] | what a run prints, finds and amounts to |
//! | [`tape`] | a stream into memory, for what a run prints |
//! | [`keys`] | files of keys, for nodes that seal what they send |
//! | [`reach`] | who can reach an address |
//! | [`meters`] | the counters of a run, for other processes to read |
//! | [`top`] | counters of a process as text |
//! | [`tuples`] | tuples from outside, matched with a program |
//!
//! It knows the crates below it and joins them; it parses no command line and writes to no
//! stream that it is not given.
#![forbid(unsafe_code)]

pub mod ask;
pub mod borders;
pub mod catalogue;
pub mod components;
pub mod console;
pub mod control;
pub mod ended;
pub mod graph;
pub mod journal;
pub mod keys;
pub mod load;
pub mod messages;
pub mod meters;
pub mod packets;
pub mod reach;
pub mod run;
pub mod schemas;
pub mod script;
pub mod service;
pub mod sim;
pub mod summary;
pub mod tape;
pub mod top;
pub mod tuples;
