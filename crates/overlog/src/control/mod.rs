//! The messages that tools and runs exchange: requests, and the parts of their answers.
//!
//! Their definition is a text, [`PROTO`], which `tidemill schema --control` prints; it is read
//! once, and messages go through the project's own encoder and decoder. Input is hostile: it has a
//! length limit ([`REQUEST_BYTES_MAX`], [`ANSWER_BYTES_MAX`]), nests to a fixed depth, and is text
//! where it claims to be.

mod decode;
mod encode;
mod fields;
mod message;

pub use decode::Malformed;
pub use encode::{
    append_row, counters, end, install, part, query, row_fits, text, top, top_of_costs, uninstall,
};
pub use fields::PROTO;
pub use message::{Control, End, Message, Status};

/// Bytes that the frame of a tool may have.
pub const REQUEST_BYTES_MAX: usize = 64 << 10;

/// The most bytes of rules that are installed, with their name: they fit a request.
pub const RULES_BYTES_MAX: usize = 65_000;

/// Bytes that the frame of a run may have.
pub const ANSWER_BYTES_MAX: usize = 2 << 20;

/// Bytes that the text of a query may have.
pub const TEXT_BYTES_MAX: usize = 32_000;
