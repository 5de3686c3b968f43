//! Descriptors: definitions as serialized messages of `descriptor.proto`.
//!
//! Read and written directly, field by field, since they come before any schema is there. A file
//! read from a descriptor keeps its bytes, so that it is given back as it came, with source
//! information and all else that is not needed here.

mod read;
mod write;

pub use read::{DescriptorError, read_file, read_set};
pub use write::{set_bytes, write_file};
