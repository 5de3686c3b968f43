//! What the program writes: a buffer before the embedder's sink.

mod output;
mod write;

pub use output::{Console, Lines, Sink};
pub(crate) use write::{
    write_boolean, write_bytes, write_character, write_hex, write_integer, write_line, write_real,
    write_text,
};
