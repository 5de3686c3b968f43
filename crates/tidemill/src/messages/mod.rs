//! Converts messages between forms: streams of any length in bounded memory.
//!
//! ```text
//! input --frames--> one message --bytes--> (select) --> binary, JSON, text --> output
//!                                              '------> columns, in batches ------> output
//! ```
//! Only one message or batch, and one piece of the input, are in memory at a time.

#[cfg(feature = "arrow")]
mod columns;
#[cfg(not(feature = "arrow"))]
#[path = "no_columns.rs"]
mod columns;
mod convert;
mod form;
mod frames;
mod layout;

pub use convert::{Converter, Engine, Progress};
pub use form::{ColumnForm, ConvertError, Counts, Form};
pub use frames::Frames;
pub use layout::{decoder_listing, layout_text};
