//! Why an app cannot continue, or not begin.

use std::fmt;

/// Why an app cannot continue. The engine reports it with the app's name and restarts the app,
/// unless that would be of no use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// One sentence without a final period.
    pub message: String,
    /// A restart would only repeat what has been done: a capture that is corrupt from some place
    /// on. The app sends nothing more, what it has sent is delivered, and the app is out of order
    /// at the end.
    pub is_final: bool,
}

impl Fault {
    /// A fault with a message.
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

/// An error in the value of a config key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigError {
    /// The key; empty if it is about several.
    pub key: &'static str,
    /// One sentence without a final period.
    pub message: String,
}

impl ConfigError {
    /// An error in `key`.
    pub fn new(key: &'static str, message: impl Into<String>) -> ConfigError {
        ConfigError { key, message: message.into() }
    }
}
