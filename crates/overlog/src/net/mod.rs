//! Tuples between nodes: the messages, and how they go through the fabric.
//!
//! ```text
//!   [mail]       what turns send and what comes for a node, views and their leases
//!   [endpoint]   tuples through an endpoint of the fabric
//!   [envelope]   Envelope, Tuple     [values]  columns as Value
//!   [address]    addresses as text
//!   [schema]     a program's own messages, its text and its identity
//!   [plain]      the common forms of an envelope and a body, without the decoder
//! ```

pub mod address;
pub mod admission;
pub mod endpoint;
pub mod envelope;
pub mod mail;
mod plain;
pub(crate) mod protocol;
pub mod schema;
pub mod values;
