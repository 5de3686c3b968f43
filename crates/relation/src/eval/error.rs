//! Why an expression has no value.

use std::fmt;

/// Why an expression has no value: the tuple being derived is dropped and counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EvalError {
    /// A result outside 64 bits, or a time or interval out of range.
    Overflow,
    /// Division or remainder by zero.
    DivisionByZero,
    /// An operator or function cannot take operands of these types.
    Type {
        /// The operator or function.
        what: &'static str,
        /// Its argument.
        given: String,
    },
    /// A function cannot take this argument: a bad index, pattern or range.
    Argument {
        /// The function.
        what: &'static str,
        /// The error in it.
        reason: String,
    },
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EvalError::Overflow => f.write_str("a result is out of range"),
            EvalError::DivisionByZero => f.write_str("division by zero"),
            EvalError::Type { what, given } => write!(f, "{what} cannot take {given}"),
            EvalError::Argument { what, reason } => write!(f, "{what}: {reason}"),
        }
    }
}

impl std::error::Error for EvalError {}
