//! The findings of checks.

use std::fmt;

/// One violation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Finding {
    file: String,
    /// From 1.
    line: usize,
    message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

/// All findings so far.
#[derive(Default)]
pub struct Findings(pub Vec<Finding>);

impl Findings {
    pub fn add(&mut self, file: &str, line: usize, message: impl Into<String>) {
        self.0.push(Finding { file: file.to_owned(), line, message: message.into() });
    }
}
