//! Xenstore: the page that a guest shares with the store, the protocol on it, a store, and the
//! traditional driver.
//!
//! ```text
//! page      the ring page as a pore             wire      headers, types, error names
//! tree      nodes, permissions, transactions    watches   which clients are notified of changes
//! session   requests of one client              server    a thread that serves pages and sockets
//! outlet    the native driver, one request at a time
//! ```
//! The facts are those of the published protocol; there is no Xen here. The store serves tests and
//! benchmarks, and programs of this machine.

pub mod outlet;
pub mod page;
pub mod server;
mod session;
mod tree;
mod watches;
pub mod wire;
