//! Descriptors: definitions as serialized messages of `descriptor.proto`.
//!
//! They are read and written directly, field by field, as there is no schema yet. A file read from
//! a descriptor keeps its bytes, so that it is returned unchanged, with source information and
//! everything else that is not needed here.

mod read;
mod write;

pub use read::{DescriptorError, read_file, read_set};
pub use write::{set_bytes, write_file};
