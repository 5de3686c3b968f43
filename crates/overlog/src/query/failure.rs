//! Why a query has no answer.

use std::fmt;

/// Why a query has no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The query is invalid: the errors, as lines with places.
    Wrong(String),
    /// The limit that it has reached.
    Limit(String),
}

impl Failure {
    /// The query is invalid for a reason.
    pub(super) fn wrong(reason: impl fmt::Display) -> Failure {
        Failure::Wrong(reason.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Wrong(reason) | Failure::Limit(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Failure {}
