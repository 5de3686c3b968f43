//! Bytes of descriptors from their text.

use std::fmt;

use super::names::{Field, Names};

/// A text that is none of descriptors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// The rest of the text from the wrong place on.
    pub rest: String,
    /// What should be there.
    pub expected: &'static str,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.rest.lines().next().unwrap_or_default();
        write!(f, "expected {} at `{line}`", self.expected)
    }
}

/// Reads the fields of a message.
///
/// # Errors
/// A text that [`super::print::message`] does not print.
pub fn message(names: &Names, of: &str, text: &str) -> Result<Vec<u8>, Error> {
    let mut reader = Reader { names, rest: text };
    let bytes = reader.fields(of)?;
    if reader.rest.is_empty() { Ok(bytes) } else { reader.fail("a field") }
}

/// Appends a tag and a length-delimited value.
pub fn delimited(number: u64, value: &[u8], out: &mut Vec<u8>) {
    varint(number << 3 | 2, out);
    varint(value.len() as u64, out);
    out.extend_from_slice(value);
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value > 0x7f {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

struct Reader<'t> {
    names: &'t Names,
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn fail<T>(&self, expected: &'static str) -> Result<T, Error> {
        Err(Error { rest: self.rest.to_owned(), expected })
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Skips a sign, if it comes next, and blanks after it.
    fn takes(&mut self, sign: char) -> bool {
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        self.skip_blanks();
        rest.is_some()
    }

    /// A name or a number, and blanks after it.
    fn word(&mut self) -> Result<&'t str, Error> {
        let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-';
        let (word, rest) = self.rest.split_at(self.rest.find(is_end).unwrap_or(self.rest.len()));
        if word.is_empty() {
            return self.fail("a name or a number");
        }
        self.rest = rest;
        self.skip_blanks();
        Ok(word)
    }

    /// Fields up to a closing brace or the end.
    fn fields(&mut self, of: &str) -> Result<Vec<u8>, Error> {
        self.skip_blanks();
        let mut out = Vec::new();
        while !self.rest.is_empty() && !self.rest.starts_with('}') {
            self.field(of, &mut out)?;
        }
        Ok(out)
    }

    fn field(&mut self, of: &str, out: &mut Vec<u8>) -> Result<(), Error> {
        let (names, before) = (self.names, self.rest);
        let word = self.word()?;
        let known = names.fields(of).iter().find(|field| field.name == word);
        let number = known.map(|field| field.number).or_else(|| word.parse().ok());
        let Some(number) = number.filter(|number| (1..1 << 29).contains(number)) else {
            return Err(Error { rest: before.to_owned(), expected: "a field of the message" });
        };
        if self.takes(':') {
            return self.value(known, number, out);
        }
        let is_group = self.rest.starts_with('g') && self.word()? == "group";
        if !self.takes('{') {
            return self.fail("`:` or `{`");
        }
        let inside = self.fields(known.map_or("", |field| &field.of))?;
        if !self.takes('}') {
            return self.fail("`}`");
        }
        if is_group {
            varint(number << 3 | 3, out);
            out.extend(inside);
            varint(number << 3 | 4, out);
        } else {
            delimited(number, &inside, out)
        }
        Ok(())
    }

    fn value(
        &mut self,
        known: Option<&Field>,
        number: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        if let Some(rest) = self.rest.strip_prefix('"') {
            self.rest = rest;
            delimited(number, &self.text()?, out);
            return Ok(());
        }
        let before = self.rest;
        let word = self.word()?;
        let wrong = || Error { rest: before.to_owned(), expected: "a value" };
        if let Some(digits) = word.strip_prefix("0x") {
            let value = u64::from_str_radix(digits, 16).map_err(|_| wrong())?.to_le_bytes();
            let (wire_type, size) = match digits.len() {
                8 => (5, 4),
                16 => (1, 8),
                _ => return Err(wrong()),
            };
            varint(number << 3 | wire_type, out);
            out.extend_from_slice(&value[..size]);
            return Ok(());
        }
        let values = known.and_then(|field| self.names.values(&field.of)).unwrap_or(&[]);
        let value = match word {
            "true" => Some(1),
            "false" => Some(0),
            _ => values.iter().find(|(name, _)| name == word).map(|(_, it)| it.cast_unsigned()),
        };
        let signed = || word.parse().ok().map(i64::cast_unsigned);
        let value = value.or_else(|| word.parse().ok()).or_else(signed).ok_or_else(wrong)?;
        varint(number << 3, out);
        varint(value, out);
        Ok(())
    }

    /// Bytes up to the closing quote.
    fn text(&mut self) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        loop {
            let Some(at) = self.rest.find(['"', '\\']) else { return self.fail("a closing quote") };
            bytes.extend_from_slice(&self.rest.as_bytes()[..at]);
            self.rest = &self.rest[at..];
            let Some(escape) = self.rest.strip_prefix('\\') else {
                self.takes('"');
                return Ok(bytes);
            };
            if let Some(same) = escape.chars().next().filter(|c| ['"', '\\'].contains(c)) {
                bytes.push(same as u8);
                self.rest = &escape[1..];
                continue;
            }
            let digits = escape.strip_prefix('x').and_then(|it| it.get(..2));
            let Some(byte) = digits.and_then(|it| u8::from_str_radix(it, 16).ok()) else {
                return self.fail("an escape");
            };
            bytes.push(byte);
            self.rest = &escape[3..];
        }
    }
}
