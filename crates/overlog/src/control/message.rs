//! What tools and runs say to each other.

use tidemill_relation::OwnedValue;

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
    Top {
        /// Has what rules cost measured for some seconds.
        costs: bool,
    },
    /// Adds rules.
    Install {
        /// As in a query.
        node: String,
        /// What they are called.
        name: String,
        /// The rules.
        text: String,
    },
    /// Takes rules away.
    Uninstall {
        /// As in a query.
        node: String,
        /// What they are called.
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
    /// What a request is called; `None` for a part of an answer.
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

    /// A number of a later version is read as what it must be: not done.
    pub(super) fn of(number: i32) -> Status {
        let known = usize::try_from(number).ok().and_then(|number| Status::ALL.get(number));
        known.copied().unwrap_or(Status::Unavailable)
    }
}
