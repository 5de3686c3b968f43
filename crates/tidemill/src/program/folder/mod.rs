//! A program that is a folder: its files, and the options that `tidemill.toml` has for verbs.
//!
//! ```toml
//! [program]
//! files = ["ring.olg", "probes/ping.com"]
//!
//! [run]
//! nodes = 3
//! fact = ["landmark(NODE)"]
//! json = true
//!
//! [sim]
//! nodes = 100
//! loss = 0.05
//!
//! [sim.devices]
//! eth0 = "link:lan"
//! eth1 = "pcap:uplink.pcap"
//! ```
//! Without `[program] files` a folder's program consists of all sources in it, not below, by name.
//! Keys of the other sections are long options; `D` and `I` are `-D` and `-I`, and `arguments` is
//! what follows `--`. `[sim.devices]` names the simulated devices of packet apps.
//!
//! The reader does not know the options of verbs: it returns settings with their places, and the
//! command line checks them.

mod read;
mod settings;
#[cfg(test)]
mod tests;

pub use settings::{CODE, Folder, SETTINGS, Section, Setting, SettingValue, VERBS};
