//! Why an operator does not yield a row.

use std::fmt;

use tidemill_relation::{Type, TypeSet};

/// Why an input or a row of an operator was dropped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The input has the wrong number of columns, the location not counted.
    Arity {
        /// The number that the operator takes.
        expected: usize,
        /// The number given.
        given: usize,
    },
    /// A column of the input is of the wrong type.
    Type {
        /// Its name in the declaration.
        column: String,
        /// The types that it may have.
        expected: TypeSet,
        /// The type given.
        given: Type,
    },
    /// A file cannot be read, or does not hold what it should.
    File {
        /// The file as the program names it.
        path: String,
        /// The line at fault, from 1.
        line: Option<u64>,
        /// The reason.
        reason: String,
    },
    /// Anything else.
    Operator(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Arity { expected, given } => {
                write!(f, "an input of {given} columns beside the location, not {expected}")
            }
            Failure::Type { column, expected, given } => {
                write!(f, "`{column}` is {}, not {expected}", given.name())
            }
            Failure::File { path, line: None, reason } => write!(f, "{path}: {reason}"),
            Failure::File { path, line: Some(line), reason } => {
                write!(f, "{path}:{line}: {reason}")
            }
            Failure::Operator(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Failure {}
