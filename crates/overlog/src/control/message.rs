//! The messages between tools and runs.

use tidemill_relation::OwnedValue;

/// One frame.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Control {
    /// The tool's number for its request.
    pub id: u64,
    /// The content; `None` if this version does not know it.
    pub message: Option<Message>,
}

/// The content of a frame.
#[derive(Clone, PartialEq, Debug)]
pub enum Message {
    /// Requests the rows of a table, or the answer of a rule.
    Query {
        /// The name of the node; empty for the only one.
        node: String,
        /// A table or a rule.
        text: String,
    },
    /// Requests counters and the component tree.
    Top {
        /// Measures the costs of rules for some seconds.
        costs: bool,
    },
    /// Adds rules.
    Install {
        /// As in a query.
        node: String,
        /// Their name.
        name: String,
        /// The rules.
        text: String,
    },
    /// Removes rules.
    Uninstall {
        /// As in a query.
        node: String,
        /// Their name.
        name: String,
    },
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
    /// The name of a request; `None` for a part of an answer.
    pub fn request(&self) -> Option<&'static str> {
        match self {
            Message::Query { .. } => Some("query"),
            Message::Top { .. } => Some("top"),
            Message::Install { .. } => Some("install"),
            Message::Uninstall { .. } => Some("uninstall"),
            Message::Unsupported(name) => Some(name),
            Message::Rows(_) | Message::Counters(_) | Message::Text(_) | Message::End(_) => None,
        }
    }
}

/// The status of an answer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct End {
    /// Whether it is complete.
    pub status: Status,
    /// The name of the table, or of the rule's head.
    pub name: String,
    /// Why it is not complete.
    pub reason: String,
}

impl End {
    /// The end of an answer without content: a refusal.
    pub fn refusal(status: Status, reason: impl Into<String>) -> End {
        End { status, name: String::new(), reason: reason.into() }
    }

    /// The refusal of a request that this kind of run, or no run yet, serves.
    pub fn unsupported(request: &str) -> End {
        let reason = format!("`{request}` is not supported by this version");
        End::refusal(Status::Unsupported, reason)
    }
}

/// Whether an answer is complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Status {
    /// It is complete.
    #[default]
    Done,
    /// The request is invalid.
    Wrong,
    /// Answering it takes more than one asker may have.
    Limit,
    /// The run does not serve such requests.
    Unsupported,
    /// It cannot be answered now.
    Unavailable,
}

impl Status {
    pub(super) const ALL: [Status; 5] =
        [Status::Done, Status::Wrong, Status::Limit, Status::Unsupported, Status::Unavailable];

    pub(super) fn number(self) -> i32 {
        self as i32
    }

    /// An unknown number, of a later version, cannot mean done.
    pub(super) fn of(number: i32) -> Status {
        let known = usize::try_from(number).ok().and_then(|number| Status::ALL.get(number));
        known.copied().unwrap_or(Status::Unavailable)
    }
}
