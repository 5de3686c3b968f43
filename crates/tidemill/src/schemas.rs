//! Loading message schemas: `.proto` texts and sets of descriptors (`.fds`).

use std::path::Path;

pub use tidemill_wire::proto::load as load_schemas;

use crate::program::FileKind;

/// Whether the ending of a file is that of a schema.
pub fn is_schema(path: &Path) -> bool {
    FileKind::of(path) == Some(FileKind::Schemas)
}
