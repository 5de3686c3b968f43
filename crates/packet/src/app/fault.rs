//! Why an app cannot go on, or not begin.

use std::fmt;

/// Why an app cannot go on. The engine reports it with the app's name and starts the app again,
/// unless that would be of no use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// One sentence without a final period.
    pub message: String,
    /// Starting again would only repeat what has been done: a capture that makes no sense from some
    /// place on. The app brings nothing more, what it has brought goes on its way, and the app is
    /// out of order at the end.
    pub is_final: bool,
}

impl Fault {
    /// A fault that says `message`.
    pub fn new(message: impl Into<String>) -> Fault {
        Fault { message: message.into(), is_final: false }
    }

    /// A fault after which the app is not started again.
    pub fn last(message: impl Into<String>) -> Fault {
        Fault { message: message.into(), is_final: true }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl<E: std::error::Error> From<E> for Fault {
    fn from(error: E) -> Fault {
        Fault::new(error.to_string())
    }
}

/// What is wrong with the value of a config key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrong {
    /// The key; empty if it is about several.
    pub key: &'static str,
    /// One sentence without a final period.
    pub message: String,
}

impl Wrong {
    /// What is wrong with `key`.
    pub fn new(key: &'static str, message: impl Into<String>) -> Wrong {
        Wrong { key, message: message.into() }
    }
}
