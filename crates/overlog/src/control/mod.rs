//! The messages that tools and runs exchange: requests, and the parts of their answers.
//!
//! Their definition is a text, [`PROTO`], which `tidemill schema --control` prints; it is read
//! once, and what is sent and what comes goes through the project's own encoder and decoder. What
//! comes is hostile: it has a length limit ([`REQUEST_BYTES_MAX`], [`ANSWER_BYTES_MAX`]), nests to
//! a fixed depth, and is text where it claims to be.

mod decode;
mod encode;
mod fields;

pub use encode::{append_row, counters, end, part, query, row_fits, text, top};

use std::fmt;

use tidemill_relation::OwnedValue;
use tidemill_wire::DecodeError;

/// The definition of the messages.
pub const PROTO: &str = include_str!("control.proto");

/// Bytes that the frame of a tool may have.
pub const REQUEST_BYTES_MAX: usize = 64 << 10;

/// Bytes that the frame of a run may have.
pub const ANSWER_BYTES_MAX: usize = 2 << 20;

/// Bytes that the text of a query may have.
pub const TEXT_BYTES_MAX: usize = 32_000;

/// One frame.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Control {
    /// The tool's number for its request.
    pub id: u64,
    /// What it says; nothing that this version knows, if `None`.
    pub message: Option<Message>,
}

/// What a frame says.
#[derive(Clone, PartialEq, Debug)]
pub enum Message {
    /// Asks for the rows of a table, or for the answer of a rule.
    Query {
        /// What the node is called; empty for the only one.
        node: String,
        /// A table or a rule.
        text: String,
    },
    /// Asks for counters and the component tree.
    Top,
    /// A request that this version knows by name only.
    Unsupported(&'static str),
    /// Rows of an answer.
    Rows(Vec<Vec<OwnedValue>>),
    /// Counters by name.
    Counters(Vec<(String, u64)>),
    /// Text to be shown.
    Text(String),
    /// The end of an answer.
    End(End),
}

impl Message {
    /// What a request is called; `None` for a part of an answer.
    pub fn request(&self) -> Option<&'static str> {
        match self {
            Message::Query { .. } => Some("query"),
            Message::Top => Some("top"),
            Message::Unsupported(name) => Some(name),
            Message::Rows(_) | Message::Counters(_) | Message::Text(_) | Message::End(_) => None,
        }
    }
}

/// How an answer ends.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct End {
    /// Whether it is whole.
    pub status: Status,
    /// The name of the table, or of the rule's head.
    pub name: String,
    /// Why it is not.
    pub reason: String,
}

impl End {
    /// The end of an answer that there is not.
    pub fn refusal(status: Status, reason: impl Into<String>) -> End {
        End { status, name: String::new(), reason: reason.into() }
    }

    /// The refusal of a request that runs like this one do not answer, or no run does yet.
    pub fn unsupported(request: &str) -> End {
        let reason = format!("`{request}` is not supported by this version");
        End::refusal(Status::Unsupported, reason)
    }
}

/// Whether an answer is whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Status {
    /// It is.
    #[default]
    Done,
    /// The request is wrong.
    Wrong,
    /// Answering it takes more than one asker may have.
    Limit,
    /// Nobody here answers such requests.
    Unsupported,
    /// It cannot be answered now.
    Unavailable,
}

impl Status {
    const ALL: [Status; 5] =
        [Status::Done, Status::Wrong, Status::Limit, Status::Unsupported, Status::Unavailable];

    fn number(self) -> i32 {
        self as i32
    }

    /// A number of a later version is read as what it must be: not done.
    fn of(number: i32) -> Status {
        let known = usize::try_from(number).ok().and_then(|number| Status::ALL.get(number));
        known.copied().unwrap_or(Status::Unavailable)
    }
}

/// A frame that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed(DecodeError);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a control message cannot be read: {}", self.0)
    }
}

impl std::error::Error for Malformed {}

impl Control {
    /// Reads a frame. Fields that are not known are skipped.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn decode(bytes: &[u8]) -> Result<Control, Malformed> {
        decode::decode(bytes).map_err(Malformed)
    }
}
