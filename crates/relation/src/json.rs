//! Values in JSON, for output that programs read: `--json` lines.
//!
//! Integers (64 bits), doubles, booleans, null and texts are JSON's own; lists, vectors and
//! matrices are arrays; IDs, times, intervals and bytes are strings in the text form
//! ([`crate::text`]), and so are infinite doubles and NaN, which JSON lacks.

use std::fmt::{self, Display, Write};

use tidemill_stdx::decimal::Decimal;

use crate::value::Value;

/// Writes one JSON document from left to right, commas included.
///
/// ```
/// use tidemill_relation::{Value, json::JsonWriter};
/// let mut json = JsonWriter::new();
/// json.object(|json| {
///     json.key("node").string("n0:1");
///     json.key("tuple").tuple("ping", [Value::Int(1), Value::Null]);
/// });
/// assert_eq!(json.finish(), r#"{"node":"n0:1","tuple":["ping",1,null]}"#);
/// ```
#[derive(Clone, Debug, Default)]
pub struct JsonWriter {
    out: String,
    /// A value stands before the place of the next one, in the same array or object.
    comma: bool,
}

impl JsonWriter {
    /// Nothing written yet.
    pub fn new() -> JsonWriter {
        JsonWriter::default()
    }

    /// The text so far.
    pub fn finish(self) -> String {
        self.out
    }

    /// Forgets what has been written and keeps the memory.
    pub fn clear(&mut self) {
        self.out.clear();
        self.comma = false;
    }

    /// The text so far.
    pub fn as_str(&self) -> &str {
        &self.out
    }

    /// An object: `body` writes keys and values in turn.
    pub fn object(&mut self, body: impl FnOnce(&mut JsonWriter)) {
        self.nested('{', '}', body);
    }

    /// An array: `body` writes the elements.
    pub fn array(&mut self, body: impl FnOnce(&mut JsonWriter)) {
        self.nested('[', ']', body);
    }

    fn nested(&mut self, open: char, close: char, body: impl FnOnce(&mut JsonWriter)) {
        self.before_value();
        self.out.push(open);
        self.comma = false;
        body(self);
        self.out.push(close);
        self.comma = true;
    }

    /// The key of the value that follows.
    pub fn key(&mut self, key: &str) -> &mut JsonWriter {
        self.string(key);
        self.out.push(':');
        self.comma = false;
        self
    }

    /// A string.
    pub fn string(&mut self, text: &str) {
        self.before_value();
        write_string(&mut self.out, text);
    }

    /// A number that prints as one in JSON: an integer, or `format_args!("{:.6}", seconds)`.
    pub fn number(&mut self, number: impl Display) {
        self.before_value();
        self.print(format_args!("{number}"));
    }

    /// A truth value.
    pub fn bool(&mut self, value: bool) {
        self.number(value);
    }

    /// A value of the language.
    pub fn value(&mut self, value: Value<'_>) {
        match value {
            Value::Int(value) => {
                self.before_value();
                self.out.push_str(Decimal::of(value).as_str());
            }
            Value::Null | Value::Bool(_) => self.number(value),
            Value::Double(double) if double.is_finite() => self.number(value),
            Value::Str(text) => self.string(text),
            Value::List(seq) | Value::Vector(seq) | Value::Matrix(seq) => {
                self.array(|json| seq.iter().for_each(|element| json.value(element)));
            }
            _ => {
                self.before_value();
                let mut form = String::new();
                crate::text::push_plain(&mut form, value);
                write_string(&mut self.out, &form);
            }
        }
    }

    /// A tuple: an array of the relation's name and the columns.
    pub fn tuple<'a>(&mut self, name: &str, columns: impl IntoIterator<Item = Value<'a>>) {
        self.array(|json| {
            json.string(name);
            columns.into_iter().for_each(|column| json.value(column));
        });
    }

    fn before_value(&mut self) {
        if self.comma {
            self.out.push(',');
        }
        self.comma = true;
    }

    fn print(&mut self, arguments: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.out.write_fmt(arguments);
    }
}

/// Appends `text` as a JSON string (RFC 8259, section 7).
pub fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0c' => out.push_str("\\f"),
            '\x08' => out.push_str("\\b"),
            // Writing to a string cannot fail.
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_value;

    #[test]
    fn values_in_json() {
        let cases = [
            ("null", "null"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("1.0", "1.0"),
            ("1e300", "1e300"),
            ("-infinity", r#""-infinity""#),
            ("nan", r#""nan""#),
            (r#""a\"\\\n\x01ü""#, r#""a\"\\\n\u0001ü""#),
            ("0x1I", r#""0x0000000000000000000000000000000000000001I""#),
            ("1.5t", r#""1.500000000t""#),
            ("-1.5s", r#""-1.500000000s""#),
            (r#"b"a\x00""#, r#""b\"a\\x00\"""#),
            ("[1, [true, []]]", "[1,[true,[]]]"),
            ("{[1, 2], [3, 4]}", "[[1,2],[3,4]]"),
        ];
        for (text, expected) in cases {
            let mut json = JsonWriter::new();
            json.value(parse_value(text).unwrap().get());
            assert_eq!(json.finish(), expected, "{text}");
        }
    }

    /// The short escapes, where there are some.
    #[test]
    fn texts_are_escaped_as_briefly_as_can_be() {
        let mut json = JsonWriter::new();
        json.string("\"\\/\n\r\t\u{8}\u{c}\u{0}\u{1f} \u{7f}\u{e9}");
        assert_eq!(json.finish(), "\"\\\"\\\\/\\n\\r\\t\\b\\f\\u0000\\u001f \u{7f}\u{e9}\"");
    }

    #[test]
    fn commas_stand_between_values_only() {
        let mut json = JsonWriter::new();
        json.object(|json| {
            json.key("t").number(format_args!("{:.6}", 0.000123));
            json.key("none").array(|_| ());
            json.key("some").array(|json| {
                json.bool(true);
                json.object(|_| ());
                json.number(2);
            });
        });
        assert_eq!(json.as_str(), r#"{"t":0.000123,"none":[],"some":[true,{},2]}"#);
        json.clear();
        json.string("again");
        assert_eq!(json.finish(), r#""again""#);
    }
}
