//! Operations of a history, and their values.

use std::fmt;

/// An argument or a result.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Value {
    /// No value; as a result, it is unknown or there is none.
    Null,
    /// A truth value.
    Bool(bool),
    /// A number.
    Int(i64),
    /// Anything else as text, which is equal where the values are.
    Text(String),
    /// Several.
    List(Vec<Value>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(value) => value.fmt(f),
            Value::Int(value) => value.fmt(f),
            Value::Text(text) => f.write_str(text),
            Value::List(values) => {
                f.write_str("[")?;
                for (at, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if at > 0 { ", " } else { "" })?;
                }
                f.write_str("]")
            }
        }
    }
}

/// One operation of a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operation {
    /// Its name in the model.
    pub name: String,
    /// The argument of the call.
    pub argument: Value,
    /// The result; ignored if it is pending.
    pub result: Value,
    /// When it was called.
    pub invoked: i64,
    /// When it returned; `None`: it is pending.
    pub returned: Option<i64>,
}

/// An operation that its model does not have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed {
    /// Its position in the history.
    pub operation: usize,
    /// The error in it.
    pub reason: String,
}
