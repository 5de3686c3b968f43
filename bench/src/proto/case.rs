//! A case: a message of a schema.

use std::path::{Path, PathBuf};

use tidemill_wire::{MessageId, Schema};

/// One message and its schema.
pub struct Case {
    pub name: &'static str,
    pub schema: Schema,
    pub message: MessageId,
    pub bytes: Vec<u8>,
    /// The message as a file, and its schema as a set of descriptors, for peers.
    pub path: PathBuf,
    pub set: PathBuf,
    /// Two fields that it contains.
    pub select: [&'static str; 2],
}

/// The path of a data file beside the sources.
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name)
}
