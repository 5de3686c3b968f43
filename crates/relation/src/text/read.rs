//! Reading values and tuples.

use std::fmt;

use crate::flat::{OwnedValue, SeqBuilder};
use crate::id::Id;
use crate::limits::NESTING_MAX;
use crate::value::Value;

/// Why a text is no value or tuple.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextError {
    /// Where, in bytes from the start of the text.
    pub offset: usize,
    /// What is wrong there.
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
    text: &'a str,
    pos: usize,
}

impl<'a> TextReader<'a> {
    /// Starts at the beginning of `text`.
    pub fn new(text: &'a str) -> TextReader<'a> {
        TextReader { text, pos: 0 }
    }

    /// Where the reader stands, in bytes.
    pub fn pos(&self) -> usize {
        self.pos
    }

    /// What is still to be read.
    pub fn rest(&self) -> &'a str {
        &self.text[self.pos..]
    }

    /// An error at this place.
    pub fn error<T>(&self, message: impl Into<String>) -> Result<T, TextError> {
        Err(TextError { offset: self.pos, message: message.into() })
    }

    /// Skips blanks and line ends.
    pub fn skip_space(&mut self) {
        self.pos = self.text.len() - self.rest().trim_start().len();
    }

    /// The next character that is no blank, without reading it.
    pub fn peek(&mut self) -> Option<char> {
        self.skip_space();
        self.rest().chars().next()
    }

    /// Reads `token` if it comes next.
    pub fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(token);
        self.pos += if found { token.len() } else { 0 };
        found
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
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = match rest.chars().next() {
            Some(c) if !c.is_ascii_digit() => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
            _ => 0,
        };
        self.pos += length;
        &rest[..length]
    }

    /// Reads the name of a relation: `a`, `a::b` or `::a::b`.
    pub fn relation_name(&mut self) -> Result<&'a str, TextError> {
        self.skip_space();
        let start = self.pos;
        self.eat("::");
        loop {
            if !self.rest().starts_with(|c: char| c.is_ascii_lowercase()) {
                return self.error("expected the name of a relation, in lower case");
            }
            self.word();
            // No blanks inside a name.
            if !self.rest().starts_with("::") {
                return Ok(&self.text[start..self.pos]);
            }
            self.pos += 2;
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
                self.pos += 1;
                let text = self.quoted()?;
                Ok(OwnedValue::new(Value::Str(&text)))
            }
            Some('b') if self.rest().starts_with("b\"") => self.bytes(),
            Some(c) if c.is_ascii_digit() => self.number(false),
            Some('-') => {
                self.pos += 1;
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
        self.pos += 2;
        let start = self.pos;
        let characters = self.quoted()?;
        // Written out, every byte is an ASCII character or an escape, so that each character read
        // is one byte.
        let bytes: Result<Vec<u8>, _> =
            characters.chars().map(|c| u8::try_from(u32::from(c))).collect();
        match bytes {
            Ok(bytes) if self.text[start..self.pos].is_ascii() => {
                Ok(OwnedValue::new(Value::Bytes(&bytes)))
            }
            _ => Err(TextError { offset: start, message: "bytes are ASCII or `\\xHH`".to_owned() }),
        }
    }

    /// Reads what follows an opening quote, the closing one included.
    fn quoted(&mut self) -> Result<String, TextError> {
        let mut out = String::new();
        loop {
            match self.rest().chars().next() {
                None => return self.error("the text does not end"),
                Some('"') => {
                    self.pos += 1;
                    return Ok(out);
                }
                Some('\\') => out.push(self.escape()?),
                Some(c) => {
                    self.pos += c.len_utf8();
                    out.push(c);
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, TextError> {
        let rest = self.rest().as_bytes();
        let (c, length) = match rest.get(1) {
            Some(b'n') => ('\n', 2),
            Some(b'r') => ('\r', 2),
            Some(b't') => ('\t', 2),
            Some(b'f') => ('\x0c', 2),
            Some(b'"') => ('"', 2),
            Some(b'\\') => ('\\', 2),
            Some(b'x') => {
                let digits = rest.get(2..4).and_then(|digits| std::str::from_utf8(digits).ok());
                let all_hex = |digits: &&str| digits.bytes().all(|b| b.is_ascii_hexdigit());
                match digits.filter(all_hex).and_then(|d| u8::from_str_radix(d, 16).ok()) {
                    Some(code) => (char::from(code), 4),
                    None => return self.error("`\\x` needs two hex digits"),
                }
            }
            _ => return self.error("unknown escape; known are \\\" \\\\ \\n \\r \\t \\f \\xHH"),
        };
        self.pos += length;
        Ok(c)
    }

    fn constant(&mut self) -> Result<OwnedValue, TextError> {
        let start = self.pos;
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
        let start = self.pos;
        let rest = self.rest();
        if negative && rest.starts_with("infinity") {
            self.pos += "infinity".len();
            return Ok(OwnedValue::new(Value::Double(f64::NEG_INFINITY)));
        }
        let token = &rest[..number_length(rest)];
        self.pos += token.len();
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

/// How many bytes of `text` can belong to a number.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    let mut length = 0;
    while let Some(&byte) = bytes.get(length) {
        // The sign of an exponent.
        let sign = matches!(byte, b'+' | b'-')
            && !hexadecimal
            && length > 0
            && matches!(bytes[length - 1], b'e' | b'E');
        if !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_') || sign) {
            break;
        }
        length += 1;
    }
    length
}

fn hexadecimal(digits: &str, negative: bool) -> Result<Value<'static>, &'static str> {
    if let Some(digits) = digits.strip_suffix('I') {
        let id = Id::from_hex(digits).ok_or("an ID has 1 to 40 hex digits")?;
        return Ok(Value::Id(if negative { Id::ZERO.wrapping_sub(id) } else { id }));
    }
    let digits = digits.strip_suffix(['U', 'u']).unwrap_or(digits);
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err("not a number");
    }
    match i128::from_str_radix(digits, 16) {
        Ok(value) => signed(value, negative),
        Err(_) => Err(TOO_LARGE),
    }
}

const TOO_LARGE: &str = "an integer has 64 bits with its sign";

fn signed(magnitude: i128, negative: bool) -> Result<Value<'static>, &'static str> {
    let value = if negative { -magnitude } else { magnitude };
    i64::try_from(value).map(Value::Int).map_err(|_| TOO_LARGE)
}

fn decimal(token: &str, negative: bool) -> Result<Value<'static>, &'static str> {
    if let Some(seconds) = token.strip_suffix('t') {
        return nanoseconds(seconds, negative).map(Value::Time);
    }
    if let Some(seconds) = token.strip_suffix('s') {
        return nanoseconds(seconds, negative).map(Value::Interval);
    }
    let digits = token.strip_suffix('U').unwrap_or(token);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return match digits.parse() {
            Ok(magnitude) => signed(magnitude, negative),
            Err(_) => Err(TOO_LARGE),
        };
    }
    // Only digits, points and exponents: what else the parser of doubles knows is not ours.
    let is_part = |byte: u8| byte.is_ascii_digit() || b".eE+-".contains(&byte);
    if !token.bytes().all(is_part) {
        return Err("not a number");
    }
    let value: f64 = token.parse().map_err(|_| "not a number")?;
    if value.is_infinite() {
        return Err("out of the range of a double");
    }
    Ok(Value::Double(if negative { -value } else { value }))
}

/// Seconds with up to 9 decimals.
fn nanoseconds(seconds: &str, negative: bool) -> Result<i64, &'static str> {
    let (whole, decimals) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(decimals) || decimals.len() > 9 {
        return Err("a time or an interval is seconds with up to 9 decimals");
    }
    let range = "a time or an interval is at most 292 years";
    let whole: i128 = whole.parse().map_err(|_| range)?;
    let fraction: i128 = format!("{decimals:0<9}").parse().map_err(|_| range)?;
    let ns = whole.checked_mul(1_000_000_000).ok_or(range)? + fraction;
    i64::try_from(if negative { -ns } else { ns }).map_err(|_| range)
}
