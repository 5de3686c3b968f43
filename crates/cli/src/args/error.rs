//! Why a value of an option is refused.

use std::fmt;

use tidemill::script::NumberError;
use tidemill_event::UserError;

/// Why a word of the command line is no value of its option; most have the word.
#[derive(Debug)]
pub enum ValueError {
    /// It is no number.
    Number(NumberError),
    /// It is no name of a macro.
    Macro(String),
    /// It is no number of bytes.
    Size(String),
    /// It is no number of nodes.
    Nodes(String),
    /// There cannot be as many nodes.
    NodeCount,
    /// It is no user.
    User(UserError),
    /// This process cannot change to another user.
    NotRoot,
    /// It is no address of a node.
    Address(String),
    /// It is no range of seeds.
    Seeds(String),
    /// It is no range of numbers of nodes.
    NodeRange(String),
    /// It is no simulated device.
    Device(String),
    /// It is no kind of connection.
    Fabric,
    /// It is one that this build does not have.
    NoZenoh,
    /// They are no options of a search.
    Bounds(String),
    /// The words are no question of `why`.
    Question,
}

impl ValueError {
    /// Whether the value may be right on another machine, or for another user.
    pub fn is_of_machine(&self) -> bool {
        matches!(self, ValueError::User(_) | ValueError::NotRoot | ValueError::NoZenoh)
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, what) = match self {
            ValueError::Number(error) => return error.fmt(f),
            ValueError::User(error) => return error.fmt(f),
            ValueError::Bounds(error) => return f.write_str(error),
            ValueError::NodeCount => return f.write_str("from 1 to 1000000 nodes"),
            ValueError::NotRoot => return f.write_str("only root can go on as another user"),
            ValueError::Fabric => return f.write_str("known are udp, reliable and tcp"),
            ValueError::NoZenoh => {
                return f.write_str("this build has no zenoh; known are udp, reliable and tcp");
            }
            ValueError::Question => return f.write_str("write `tidemill why [not] ADDR TUPLE`"),
            ValueError::Macro(text) => (text, "name of a macro; write NAME=VALUE"),
            ValueError::Size(text) => {
                (text, "size: bytes, or a number with K, M or G, such as 512M")
            }
            ValueError::Nodes(text) => (text, "number of nodes"),
            ValueError::Address(text) => (text, "address: write host:port"),
            ValueError::Seeds(text) => (text, "range of seeds: A..B with A <= B, such as 1..1000"),
            ValueError::NodeRange(text) => (text, "range of nodes: A..B with A <= B, such as 3..7"),
            ValueError::Device(text) => (text, "device: NAME=link:LINK or NAME=pcap:FILE"),
        };
        write!(f, "`{text}` is no {what}")
    }
}

impl std::error::Error for ValueError {}

impl From<NumberError> for ValueError {
    fn from(error: NumberError) -> ValueError {
        ValueError::Number(error)
    }
}

/// What an error of the command line says, in one line.
pub(super) fn message(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let text = text.split("\n\n").next().unwrap_or_default();
    let text = text.strip_prefix("error: ").unwrap_or(text);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
