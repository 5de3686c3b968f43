//! Values as graphs write them, and the config of one app.

use std::fmt;

/// A value of a config.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// `true`, `false`.
    Bool(bool),
    /// `42`, `0x2A`: between -2^63 and 2^64 - 1.
    Integer(i128),
    /// `0.5`; never infinite.
    Double(f64),
    /// `"text"`.
    Text(String),
    /// `[1, 2]`.
    List(Vec<Value>),
}

impl Value {
    /// What kind it is, with an article.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Bool(_) => "a truth value",
            Value::Integer(_) => "an integer",
            Value::Double(_) => "a double",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<i64> for Value {
    fn from(integer: i64) -> Value {
        Value::Integer(integer.into())
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Value {
        Value::Bool(truth)
    }
}

/// As it is written in a `.flow` file.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(truth) => write!(f, "{truth}"),
            Value::Integer(integer) => write!(f, "{integer}"),
            // With a point or an exponent, as only doubles have one.
            Value::Double(double) => write!(f, "{double:?}"),
            Value::Text(text) => write_text(f, text),
            Value::List(values) => {
                f.write_str("[")?;
                for (i, value) in values.iter().enumerate() {
                    let comma = if i == 0 { "" } else { ", " };
                    write!(f, "{comma}{value}")?;
                }
                f.write_str("]")
            }
        }
    }
}

fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            c if c.is_ascii_control() => write!(f, "\\x{:02x}", c as u32)?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

/// The config of one app in a graph: keys and values, each key once, in the order of their names.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Config {
    entries: Vec<(String, Value)>,
}

impl Config {
    /// An empty config.
    pub fn new() -> Config {
        Config::default()
    }

    /// With `key` set to `value`.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Config {
        self.set(key, value.into());
        self
    }

    /// Sets `key`, in place of what it was.
    pub fn set(&mut self, key: &str, value: Value) {
        match self.entries.binary_search_by(|(other, _)| other.as_str().cmp(key)) {
            Ok(at) => self.entries[at].1 = value,
            Err(at) => self.entries.insert(at, (key.to_owned(), value)),
        }
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        let at = self.entries.binary_search_by(|(other, _)| other.as_str().cmp(key)).ok()?;
        Some(&self.entries[at].1)
    }

    /// All of it, in the order of the keys.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.entries.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Whether it has no keys.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
