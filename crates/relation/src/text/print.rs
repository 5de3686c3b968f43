//! Printing values and tuples.

use std::fmt::{self, Write};

use tidemill_stdx::decimal::Decimal;

use crate::flat::{OwnedValue, Seq};
use crate::value::Value;

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Value::Null => f.write_str("null"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(value) => f.write_str(Decimal::of(value).as_str()),
            Value::Double(value) => write_double(f, value),
            Value::Str(text) => write_text(f, text),
            Value::Bytes(bytes) => write_bytes(f, bytes),
            Value::Id(id) => write!(f, "{id}"),
            Value::Time(ns) => write_seconds(f, ns, 't'),
            Value::Interval(ns) => write_seconds(f, ns, 's'),
            Value::List(seq) | Value::Vector(seq) => write_seq(f, seq, '[', ']'),
            Value::Matrix(seq) => write_seq(f, seq, '{', '}'),
        }
    }
}

impl fmt::Display for OwnedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// The shortest digits that read back as the same double, with a point or an exponent.
fn write_double(f: &mut impl Write, value: f64) -> fmt::Result {
    if value.is_nan() {
        f.write_str("nan")
    } else if value.is_infinite() {
        f.write_str(if value > 0.0 { "infinity" } else { "-infinity" })
    } else {
        write!(f, "{value:?}")
    }
}

/// Nanoseconds as seconds with 9 decimals.
fn write_seconds(f: &mut impl Write, ns: i64, suffix: char) -> fmt::Result {
    let sign = if ns < 0 { "-" } else { "" };
    let magnitude = ns.unsigned_abs();
    let (seconds, rest) = (magnitude / 1_000_000_000, magnitude % 1_000_000_000);
    write!(f, "{sign}{seconds}.{rest:09}{suffix}")
}

/// `text` in double quotes.
pub fn write_text(f: &mut impl Write, text: &str) -> fmt::Result {
    f.write_char('"')?;
    // Runs of ordinary characters are written at once.
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '\\' || c.is_control()) {
        let (plain, special) = rest.split_at(at);
        f.write_str(plain)?;
        let mut characters = special.chars();
        match characters.next() {
            Some('\n') => f.write_str("\\n")?,
            Some('\r') => f.write_str("\\r")?,
            Some('\t') => f.write_str("\\t")?,
            Some('\x0c') => f.write_str("\\f")?,
            Some(c @ ('"' | '\\')) => write!(f, "\\{c}")?,
            // Control characters end at U+009F: two digits are enough.
            Some(c) => write!(f, "\\x{:02x}", c as u32)?,
            None => {}
        }
        rest = characters.as_str();
    }
    f.write_str(rest)?;
    f.write_char('"')
}

fn write_bytes(f: &mut impl Write, bytes: &[u8]) -> fmt::Result {
    f.write_str("b\"")?;
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => write!(f, "\\{}", byte as char)?,
            b' '..=b'~' => f.write_char(byte as char)?,
            _ => write!(f, "\\x{byte:02x}")?,
        }
    }
    f.write_char('"')
}

fn write_seq(f: &mut impl Write, seq: Seq<'_>, open: char, close: char) -> fmt::Result {
    f.write_char(open)?;
    write_values(f, seq)?;
    f.write_char(close)
}

fn write_values<'a>(
    f: &mut impl Write,
    values: impl IntoIterator<Item = Value<'a>>,
) -> fmt::Result {
    for (i, value) in values.into_iter().enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        write!(f, "{comma}{value}")?;
    }
    Ok(())
}

/// Appends the value as `f_tostr` gives it: a text as it is, anything else in text form.
pub fn push_plain(out: &mut String, value: Value<'_>) {
    match value {
        Value::Str(text) => out.push_str(text),
        Value::Int(value) => out.push_str(Decimal::of(value).as_str()),
        // Writing to a string cannot fail.
        _ => {
            let _ = write!(out, "{value}");
        }
    }
}

/// Prints as `name(v1, v2)`.
#[derive(Clone, Debug)]
pub struct DisplayTuple<'n, V> {
    name: &'n str,
    values: V,
}

impl<'n, 'a, V> DisplayTuple<'n, V>
where
    V: IntoIterator<Item = Value<'a>> + Clone,
{
    /// The tuple of these columns.
    ///
    /// ```
    /// use tidemill_relation::text::DisplayTuple;
    /// use tidemill_relation::Value;
    /// let columns = [Value::Str("n0:1"), Value::Int(3)];
    /// assert_eq!(DisplayTuple::new("ping", columns).to_string(), r#"ping("n0:1", 3)"#);
    /// ```
    pub fn new(name: &'n str, values: V) -> DisplayTuple<'n, V> {
        DisplayTuple { name, values }
    }
}

impl<'a, V> fmt::Display for DisplayTuple<'_, V>
where
    V: IntoIterator<Item = Value<'a>> + Clone,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.name)?;
        write_values(f, self.values.clone())?;
        f.write_str(")")
    }
}
