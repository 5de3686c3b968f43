//! JSON texts (RFC 8259) as values, and back.
//!
//! ```text
//! null, true, false, string   the same
//! number                      int64 if it has neither point nor exponent, else double
//! array                       list
//! object                      matrix of two columns, name and value, in the order of the text
//! ```
//! Matrices distinguish an object from an array of arrays, so what is read and written again is the
//! same document; and `{["a", 1], ["b", X]}` is how a rule writes an object.

use super::call::Call;
use super::declaration::{Function, one};
use crate::eval::EvalError;
use crate::flat::{OwnedValue, Seq, SeqBuilder};
use crate::json::JsonWriter;
use crate::limits::{NESTING_MAX, VALUE_BYTES_MAX, check_size, copy_into};
use crate::types::TypeSet;
use crate::value::Value;

const ANY: TypeSet = TypeSet::ANY;
const TEXT: TypeSet = TypeSet::TEXT;
const MATRIX: TypeSet = TypeSet::MATRIX;

type Evaluated<'a> = Result<Value<'a>, EvalError>;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("fromJson", &[one("text", TEXT.union(TypeSet::BYTES))], ANY, from_json)
        .doc(
            "The value of a JSON text: arrays are lists, objects matrices whose rows are name and \
             value. Integers beyond 64 bits and doubles out of range are errors.",
        )
        .examples(&[
            ("f_fromJson(\"[1, 2.5, \\\"a\\\", null]\")", "[1, 2.5, \"a\", null]"),
            ("f_fromJson(\"{\\\"a\\\": [true]}\")", "{[\"a\", [true]]}"),
        ]),
    Function::new("toJson", &[one("x", ANY)], TEXT, to_json)
        .doc(
            "The value as JSON: lists and vectors are arrays, matrices whose rows are a text and a \
             value objects, other matrices arrays of arrays; IDs, times, intervals and bytes \
             strings in their text form.",
        )
        .examples(&[
            (
                "f_toJson({[\"a\", 1], [\"b\", [null, 0.5]]})",
                "\"{\\\"a\\\":1,\\\"b\\\":[null,0.5]}\"",
            ),
            ("f_toJson([1, [2]])", "\"[1,[2]]\""),
        ])
        .see(&["tostr"]),
    Function::new(
        "field",
        &[one("object", MATRIX.union(TypeSet::LIST)), one("name", TEXT)],
        ANY,
        field,
    )
    .doc(
        "The value beside `name` in a matrix or a list of rows of two, the last one if there \
             are several; null if there is none.",
    )
    .examples(&[
        ("f_field({[\"a\", 1], [\"b\", 2]}, \"b\")", "2"),
        ("f_field([[\"a\", 1]], \"c\")", "null"),
    ]),
    Function::new("rows", &[one("matrix", MATRIX)], TypeSet::LIST, rows)
        .doc("The rows of a matrix as a list of lists.")
        .examples(&[("f_rows({[\"a\", 1], [\"b\", 2]})", "[[\"a\", 1], [\"b\", 2]]")]),
];

fn from_json<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let text = match call.value(0) {
        Value::Bytes(bytes) => std::str::from_utf8(bytes)
            .map_err(|error| call.fail(format!("no UTF-8 at byte {}", error.valid_up_to())))?,
        _ => call.text(0)?,
    };
    let mut reader = JsonReader { text, at: 0 };
    let read = reader.document();
    let value = read.map_err(|why| call.fail(format!("{why} at byte {}", reader.at)))?;
    Ok(copy_into(value.get(), call.scope().scratch))
}

/// Reads JSON from left to right.
struct JsonReader<'t> {
    text: &'t str,
    at: usize,
}

type Read<T> = Result<T, &'static str>;

impl JsonReader<'_> {
    fn document(&mut self) -> Read<OwnedValue> {
        let value = self.value(NESTING_MAX)?;
        match self.peek() {
            None => Ok(value),
            Some(_) => Err("something follows the value"),
        }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The next byte that is no blank.
    fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.byte() {
            self.at += 1;
        }
        self.byte()
    }

    /// Steps over `byte`, if it is next after blanks.
    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// A value in which lists nest at most `depth` deep.
    fn value(&mut self, depth: usize) -> Read<OwnedValue> {
        match self.peek() {
            Some(b'[') => self.array(depth),
            Some(b'{') => self.object(depth),
            Some(b'"') => self.string().map(|text| OwnedValue::new(Value::Str(&text))),
            Some(b'-' | b'0'..=b'9') => self.number().map(OwnedValue::new),
            Some(_) => self.word().map(OwnedValue::new),
            None => Err("a value is missing"),
        }
    }

    fn word(&mut self) -> Read<Value<'static>> {
        let words =
            [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))];
        let rest = &self.text[self.at..];
        let found = words.into_iter().find(|(word, _)| rest.starts_with(word));
        let (word, value) = found.ok_or("no value")?;
        self.at += word.len();
        Ok(value)
    }

    fn array(&mut self, depth: usize) -> Read<OwnedValue> {
        let depth = depth.checked_sub(1).ok_or(TOO_DEEP)?;
        self.at += 1;
        let mut list = SeqBuilder::new();
        if !self.take(b']') {
            loop {
                push(&mut list, self.value(depth)?.get())?;
                if !self.take(b',') {
                    break;
                }
            }
            if !self.take(b']') {
                return Err("`,` or `]` is missing");
            }
        }
        Ok(OwnedValue::new(Value::List(list.as_seq())))
    }

    fn object(&mut self, depth: usize) -> Read<OwnedValue> {
        // The matrix and its rows.
        let depth = depth.checked_sub(2).ok_or(TOO_DEEP)?;
        self.at += 1;
        let mut matrix = SeqBuilder::new();
        if !self.take(b'}') {
            loop {
                if self.peek() != Some(b'"') {
                    return Err("a name in quotes is missing");
                }
                let name = self.string()?;
                if !self.take(b':') {
                    return Err("`:` is missing");
                }
                let mut row = SeqBuilder::new();
                row.push(Value::Str(&name));
                row.push(self.value(depth)?.get());
                push(&mut matrix, Value::Vector(row.as_seq()))?;
                if !self.take(b',') {
                    break;
                }
            }
            if !self.take(b'}') {
                return Err("`,` or `}` is missing");
            }
        }
        Ok(OwnedValue::new(Value::Matrix(matrix.as_seq())))
    }

    fn string(&mut self) -> Read<String> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
            let plain = rest.as_bytes().iter().position(special);
            let plain = plain.ok_or("a string does not end")?;
            out.push_str(&rest[..plain]);
            self.at += plain;
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                _ => return Err("a control character in a string"),
            }
        }
    }

    fn escape(&mut self) -> Read<char> {
        self.at += 1;
        let letter = self.byte().ok_or("a string does not end")?;
        self.at += 1;
        Ok(match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'b' => '\x08',
            b'f' => '\x0c',
            b'u' => {
                let unit = self.code_unit()?;
                let lone = "half of a surrogate pair";
                let code = match unit {
                    0xd800..0xdc00 => {
                        if !self.text[self.at..].starts_with("\\u") {
                            return Err(lone);
                        }
                        self.at += 2;
                        match self.code_unit()? {
                            low @ 0xdc00..0xe000 => {
                                0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00)
                            }
                            _ => return Err(lone),
                        }
                    }
                    _ => unit,
                };
                char::from_u32(code).ok_or(lone)?
            }
            _ => return Err("an unknown escape"),
        })
    }

    fn code_unit(&mut self) -> Read<u32> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4);
        let digits = digits.ok_or("`\\u` has four hex digits")?;
        let unit = digits.iter().try_fold(0, |unit, &digit| {
            char::from(digit).to_digit(16).map(|digit| unit << 4 | digit)
        });
        self.at += 4;
        unit.ok_or("`\\u` has four hex digits")
    }

    fn digits(&mut self) -> usize {
        let rest = &self.text.as_bytes()[self.at..];
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        count
    }

    fn number(&mut self) -> Read<Value<'static>> {
        let start = self.at;
        self.at += usize::from(self.byte() == Some(b'-'));
        let zero = self.byte() == Some(b'0');
        match self.digits() {
            0 => return Err("a digit is missing"),
            1 => {}
            _ if zero => return Err("a number begins with 0"),
            _ => {}
        }
        let mut whole = true;
        if self.byte() == Some(b'.') {
            self.at += 1;
            whole = false;
            if self.digits() == 0 {
                return Err("a digit is missing");
            }
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.at += 1;
            whole = false;
            self.at += usize::from(matches!(self.byte(), Some(b'+' | b'-')));
            if self.digits() == 0 {
                return Err("a digit is missing");
            }
        }
        let token = &self.text[start..self.at];
        if whole {
            return token.parse().map(Value::Int).map_err(|_| OUT_OF_RANGE);
        }
        match token.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Value::Double(number)),
            _ => Err(OUT_OF_RANGE),
        }
    }
}

const TOO_DEEP: &str = "arrays and objects nest too deep";
const OUT_OF_RANGE: &str = "a number out of range";

/// Appends an element to a list that stays within the bounds of a value.
fn push(list: &mut SeqBuilder, value: Value<'_>) -> Read<()> {
    list.push(value);
    if list.bytes() > VALUE_BYTES_MAX {
        return Err("the value is too large");
    }
    Ok(())
}

fn to_json<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let mut json = JsonWriter::new();
    write(call, &mut json, call.value(0))?;
    call.give_text(json.as_str())
}

fn write(call: &Call<'_, '_>, json: &mut JsonWriter, value: Value<'_>) -> Result<(), EvalError> {
    check_size(call.name(), json.as_str().len())?;
    let mut done = Ok(());
    match value {
        Value::Matrix(rows) if rows.iter().all(|row| entry(row).is_some()) => {
            json.object(|json| {
                for (name, value) in rows.iter().filter_map(entry) {
                    json.key(name);
                    done = done.clone().and_then(|()| write(call, json, value));
                }
            });
        }
        Value::List(elements) | Value::Vector(elements) | Value::Matrix(elements) => {
            json.array(|json| {
                for element in elements {
                    done = done.clone().and_then(|()| write(call, json, element));
                }
            });
        }
        _ => json.value(value),
    }
    done
}

/// The name and the value of a row of an object.
fn entry(row: Value<'_>) -> Option<(&str, Value<'_>)> {
    let mut row = row.as_seq().filter(|row| row.len() == 2)?.iter();
    let name = row.next()?.as_str()?;
    Some((name, row.next()?))
}

fn field<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let (rows, name): (Seq<'a>, _) = (call.seq(0)?, call.text(1)?);
    let found = rows.iter().filter_map(entry).filter(|(other, _)| *other == name).last();
    Ok(found.map_or(Value::Null, |(_, value)| value))
}

fn rows<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    call.give_list(call.seq(0)?.iter().map(|row| match row {
        Value::Vector(row) => Value::List(row),
        other => other,
    }))
}
