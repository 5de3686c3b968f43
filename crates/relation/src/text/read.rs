//! Reading values and tuples.

use std::fmt;

use tidemill_diag::text::number::{BadNumber, double, nanoseconds, whole};
use tidemill_diag::text::{BadEscape, Cursor, escape};

use crate::flat::{OwnedValue, SeqBuilder};
use crate::id::Id;
use crate::limits::NESTING_MAX;
use crate::value::Value;

/// Letters after a backslash in texts, and the characters they denote.
pub const LETTERS: &[(u8, char)] =
    &[(b'n', '\n'), (b'r', '\r'), (b't', '\t'), (b'f', '\u{c}'), (b'"', '"'), (b'\\', '\\')];

/// Why a text is no value or tuple.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextError {
    /// The position, in bytes from the start of the text.
    pub offset: usize,
    /// The error at that position.
    pub message: String,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {})", self.message, self.offset)
    }
}

impl std::error::Error for TextError {}

/// Reads a whole text as one value.
pub fn parse_value(text: &str) -> Result<OwnedValue, TextError> {
    let mut reader = TextReader::new(text);
    let value = reader.value()?;
    reader.end()?;
    Ok(value)
}

/// Reads a whole text as a tuple: the name of its relation, and its columns.
///
/// ```
/// let (name, columns) = tidemill_relation::text::parse_tuple("ping(\"n0:1\", 3)")?;
/// assert_eq!((name.as_str(), columns.len()), ("ping", 2));
/// # Ok::<(), tidemill_relation::text::TextError>(())
/// ```
pub fn parse_tuple(text: &str) -> Result<(String, Vec<OwnedValue>), TextError> {
    let mut reader = TextReader::new(text);
    let name = reader.relation_name()?.to_owned();
    let columns = reader.arguments(TextReader::value)?;
    reader.end()?;
    Ok((name, columns))
}

/// Reads values and names from a text, from left to right; blanks before each are skipped.
#[derive(Clone, Debug)]
pub struct TextReader<'a> {
    cursor: Cursor<'a>,
}

impl<'a> TextReader<'a> {
    /// Starts at the beginning of `text`.
    pub fn new(text: &'a str) -> TextReader<'a> {
        TextReader::starting(Cursor::new(text))
    }

    /// Starts at the position of another reader of the text.
    pub fn starting(cursor: Cursor<'a>) -> TextReader<'a> {
        TextReader { cursor }
    }

    /// The position of the reader.
    pub fn cursor(&self) -> Cursor<'a> {
        self.cursor
    }

    fn rest(&self) -> &'a str {
        self.cursor.rest()
    }

    /// An error at this place.
    pub fn error<T>(&self, message: impl Into<String>) -> Result<T, TextError> {
        Err(TextError { offset: self.cursor.at(), message: message.into() })
    }

    /// Skips blanks and line ends.
    pub fn skip_space(&mut self) {
        let rest = self.rest();
        self.cursor.skip(rest.len() - rest.trim_start().len());
    }

    /// The next character that is no blank, without reading it.
    pub fn peek(&mut self) -> Option<char> {
        self.skip_space();
        self.cursor.peek_char()
    }

    /// Reads `token` if it comes next.
    pub fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        self.cursor.eat(token)
    }

    /// Reads `token`, which must come next.
    pub fn expect(&mut self, token: &str) -> Result<(), TextError> {
        if self.eat(token) { Ok(()) } else { self.error(format!("expected `{token}`")) }
    }

    /// Nothing but blanks may be left.
    pub fn end(&mut self) -> Result<(), TextError> {
        match self.peek() {
            None => Ok(()),
            Some(c) => self.error(format!("`{c}` is left over")),
        }
    }

    /// Reads letters, digits and underscores, not starting with a digit; empty if none come next.
    pub fn word(&mut self) -> &'a str {
        self.skip_space();
        self.cursor.word()
    }

    /// Reads the name of a relation: `a`, `a::b` or `::a::b`.
    pub fn relation_name(&mut self) -> Result<&'a str, TextError> {
        self.skip_space();
        let start = self.cursor.at();
        self.cursor.eat("::");
        loop {
            if !self.cursor.peek(0).is_ascii_lowercase() {
                return self.error("expected the name of a relation, in lower case");
            }
            self.cursor.word();
            // No blanks inside a name.
            if !self.cursor.eat("::") {
                return Ok(self.cursor.since(start));
            }
        }
    }

    /// Reads `(`, what `one` reads, with commas between, `)`.
    pub fn arguments<T>(
        &mut self,
        one: impl FnMut(&mut Self) -> Result<T, TextError>,
    ) -> Result<Vec<T>, TextError> {
        self.expect("(")?;
        self.until(")", one)
    }

    fn until<T>(
        &mut self,
        close: &str,
        mut one: impl FnMut(&mut Self) -> Result<T, TextError>,
    ) -> Result<Vec<T>, TextError> {
        let mut all = Vec::new();
        if self.eat(close) {
            return Ok(all);
        }
        loop {
            all.push(one(self)?);
            if self.eat(close) {
                return Ok(all);
            }
            if !self.eat(",") {
                return self.error(format!("expected `,` or `{close}`"));
            }
        }
    }

    /// Reads one value.
    pub fn value(&mut self) -> Result<OwnedValue, TextError> {
        self.value_within(NESTING_MAX)
    }

    /// Reads one value in which lists may nest `depth` deep.
    fn value_within(&mut self, depth: usize) -> Result<OwnedValue, TextError> {
        match self.peek() {
            Some('[') => self.list(depth),
            Some('{') => self.matrix(depth),
            Some('"') => {
                self.cursor.skip(1);
                let text = self.quoted()?;
                Ok(OwnedValue::new(Value::Str(&text)))
            }
            Some('b') if self.cursor.starts_with("b\"") => self.bytes(),
            Some(c) if c.is_ascii_digit() => self.number(false),
            Some('-') => {
                self.cursor.skip(1);
                self.number(true)
            }
            _ => self.constant(),
        }
    }

    fn list(&mut self, depth: usize) -> Result<OwnedValue, TextError> {
        if depth == 0 {
            return self.error(format!("lists may nest {NESTING_MAX} deep"));
        }
        self.expect("[")?;
        let elements = self.until("]", |reader| reader.value_within(depth - 1))?;
        let mut list = SeqBuilder::new();
        elements.iter().for_each(|element| list.push(element.get()));
        Ok(OwnedValue::new(Value::List(list.as_seq())))
    }

    fn matrix(&mut self, depth: usize) -> Result<OwnedValue, TextError> {
        if depth < 2 {
            return self.error(format!("lists may nest {NESTING_MAX} deep"));
        }
        self.expect("{")?;
        let mut matrix = SeqBuilder::new();
        let mut columns = None;
        for row in self.until("}", |reader| reader.list(depth - 1))? {
            let Some(row) = row.get().as_seq() else { continue };
            if *columns.get_or_insert(row.len()) != row.len() {
                return self.error("the rows of a matrix have the same length");
            }
            matrix.push(Value::Vector(row));
        }
        Ok(OwnedValue::new(Value::Matrix(matrix.as_seq())))
    }

    fn bytes(&mut self) -> Result<OwnedValue, TextError> {
        self.cursor.skip(2);
        let start = self.cursor.at();
        let characters = self.quoted()?;
        // Written out, every byte is an ASCII character or an escape, so that each character read
        // is one byte.
        let bytes: Result<Vec<u8>, _> =
            characters.chars().map(|c| u8::try_from(u32::from(c))).collect();
        match bytes {
            Ok(bytes) if self.cursor.since(start).is_ascii() => {
                Ok(OwnedValue::new(Value::Bytes(&bytes)))
            }
            _ => Err(TextError { offset: start, message: "bytes are ASCII or `\\xHH`".to_owned() }),
        }
    }

    /// Reads what follows an opening quote, the closing one included.
    fn quoted(&mut self) -> Result<String, TextError> {
        let mut out = String::new();
        loop {
            let before = self.cursor;
            match self.cursor.next_char() {
                None => return self.error("the text does not end"),
                Some('"') => return Ok(out),
                Some('\\') => match escape(&mut self.cursor, LETTERS) {
                    Ok(c) => out.push(c),
                    Err(wrong) => {
                        self.cursor = before;
                        return self.error(match wrong {
                            BadEscape::Digits => "`\\x` needs two hex digits",
                            _ => "unknown escape; known are \\\" \\\\ \\n \\r \\t \\f \\xHH",
                        });
                    }
                },
                Some(c) => out.push(c),
            }
        }
    }

    fn constant(&mut self) -> Result<OwnedValue, TextError> {
        let start = self.cursor.at();
        let value = match self.word() {
            "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "infinity" => Value::Double(f64::INFINITY),
            "nan" => Value::Double(f64::NAN),
            other => {
                let message = match other {
                    "" => "expected a value".to_owned(),
                    word => format!("`{word}` is no value; a text stands in double quotes"),
                };
                return Err(TextError { offset: start, message });
            }
        };
        Ok(OwnedValue::new(value))
    }

    /// Reads a number, an ID, a time or an interval, whose sign has been read.
    fn number(&mut self, negative: bool) -> Result<OwnedValue, TextError> {
        let start = self.cursor.at();
        if negative && self.cursor.eat("infinity") {
            return Ok(OwnedValue::new(Value::Double(f64::NEG_INFINITY)));
        }
        let token = self.cursor.number_like();
        let value = if !token.starts_with(|c: char| c.is_ascii_digit()) {
            Err("expected a number")
        } else if let Some(hex) = token.strip_prefix("0x").or(token.strip_prefix("0X")) {
            hexadecimal(hex, negative)
        } else {
            decimal(token, negative)
        };
        value
            .map(OwnedValue::new)
            .map_err(|message| TextError { offset: start, message: message.to_owned() })
    }
}

fn hexadecimal(digits: &str, negative: bool) -> Result<Value<'static>, &'static str> {
    if let Some(digits) = digits.strip_suffix('I') {
        return identifier(digits, 16, negative);
    }
    integer(digits.strip_suffix(['U', 'u']).unwrap_or(digits), 16, negative)
}

fn identifier(digits: &str, radix: u32, negative: bool) -> Result<Value<'static>, &'static str> {
    let id = Id::from_digits(digits, radix).ok_or("an ID is digits of at most 160 bits and `I`")?;
    Ok(Value::Id(if negative { Id::ZERO.wrapping_sub(id) } else { id }))
}

const TOO_LARGE: &str = "an integer has 64 bits with its sign";

fn integer(digits: &str, radix: u32, negative: bool) -> Result<Value<'static>, &'static str> {
    let magnitude = whole(digits, radix).map_err(|wrong| match wrong {
        BadNumber::TooLarge => TOO_LARGE,
        _ => "not a number",
    })?;
    signed(magnitude, negative).map(Value::Int).ok_or(TOO_LARGE)
}

fn signed(magnitude: u64, negative: bool) -> Option<i64> {
    if negative { 0_i64.checked_sub_unsigned(magnitude) } else { magnitude.try_into().ok() }
}

fn decimal(token: &str, negative: bool) -> Result<Value<'static>, &'static str> {
    if let Some(seconds) = token.strip_suffix('t') {
        return time(seconds, negative).map(Value::Time);
    }
    if let Some(seconds) = token.strip_suffix('s') {
        return time(seconds, negative).map(Value::Interval);
    }
    if let Some(digits) = token.strip_suffix('I') {
        return identifier(digits, 10, negative);
    }
    let digits = token.strip_suffix('U').unwrap_or(token);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return integer(digits, 10, negative);
    }
    // Only digits, points and exponents: the other forms of Rust's parser are not part of the
    // language.
    let is_part = |byte: u8| byte.is_ascii_digit() || b".eE+-".contains(&byte);
    if !token.bytes().all(is_part) {
        return Err("not a number");
    }
    let value = double(token).map_err(|wrong| match wrong {
        BadNumber::TooLarge => "out of the range of a double",
        _ => "not a number",
    })?;
    Ok(Value::Double(if negative { -value } else { value }))
}

/// Seconds with up to 9 decimals.
fn time(seconds: &str, negative: bool) -> Result<i64, &'static str> {
    let (whole, decimals) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let ns = nanoseconds(whole, decimals).map_err(|wrong| match wrong {
        BadNumber::TooLarge => "a time or an interval is at most 292 years",
        _ => "a time or an interval is seconds with up to 9 decimals",
    })?;
    signed(ns, negative).ok_or("a time or an interval is at most 292 years")
}
