//! The reader of textual IRs: words with blanks between.
//!
//! ```text
//! word    = sign | { what is no blank and no sign }      v3  b0:  %7  add-unchecked  -5
//! sign    = one of  [ ] ( ) , ; | < > =
//! quoted  = '"' { what is plain | "\" two hexadecimal digits } '"'
//! ```
//! Printers write with [`std::fmt`]; only the quoted form has a function for it here.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use super::Cursor;

/// Why a text is no valid IR.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IrError {
    /// The line, from 1.
    pub line: usize,
    /// The error in it.
    pub message: String,
}

impl fmt::Display for IrError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl Error for IrError {}

/// The result of reading.
pub type Read<T = ()> = Result<T, IrError>;

/// The meaning of the ends of lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// Blanks; and `;` begins a comment, up to the end of its line.
    Free,
    /// Ends of statements; [`IrReader::end_line`] reads them. Empty lines mean nothing.
    Lines,
}

/// A reader of an IR, positioned at the next word, after blanks and comments.
#[derive(Clone, Copy, Debug)]
pub struct IrReader<'t> {
    cursor: Cursor<'t>,
    layout: Layout,
}

const fn is_sign(byte: u8) -> bool {
    matches!(byte, b'[' | b']' | b'(' | b')' | b',' | b';' | b'|' | b'<' | b'>' | b'=')
}

impl<'t> IrReader<'t> {
    /// At the first word.
    pub fn new(text: &'t str, layout: Layout) -> IrReader<'t> {
        let mut reader = IrReader { cursor: Cursor::new(text), layout };
        reader.skip_blanks(|_| true);
        reader
    }

    /// The position.
    pub fn cursor(&self) -> Cursor<'t> {
        self.cursor
    }

    /// Continues where another reader of the text has stopped.
    pub fn resume(&mut self, cursor: Cursor<'t>) {
        self.cursor = cursor;
        self.skip();
    }

    /// An error at this place.
    ///
    /// # Errors
    /// Always.
    pub fn fail<T>(&self, message: impl Into<String>) -> Read<T> {
        let read = &self.cursor.text()[..self.cursor.at()];
        let read = if self.at_end() { read.trim_end() } else { read };
        Err(IrError { line: read.matches('\n').count() + 1, message: message.into() })
    }

    /// An error that names what is expected instead of the next word.
    ///
    /// # Errors
    /// Always.
    pub fn expected<T>(&self, what: &str) -> Read<T> {
        match self.peek() {
            "" => self.fail(format!("expected {what}")),
            word => self.fail(format!("expected {what}, not `{word}`")),
        }
    }

    /// Whether all has been read.
    pub fn at_end(&self) -> bool {
        self.cursor.is_at_end()
    }

    fn skip(&mut self) {
        let layout = self.layout;
        self.skip_blanks(|c| layout == Layout::Free || c != '\n');
    }

    fn skip_blanks(&mut self, passes: impl Fn(char) -> bool) {
        loop {
            let rest = self.cursor.rest();
            let blank = rest.find(|c: char| !c.is_whitespace() || !passes(c));
            self.cursor.skip(blank.unwrap_or(rest.len()));
            if self.layout != Layout::Free || !self.cursor.starts_with(";") {
                return;
            }
            self.cursor.skip_line();
        }
    }

    /// The next word, without reading it; empty at the end of the text, or of a line that matters.
    pub fn peek(&self) -> &'t str {
        let rest = self.cursor.rest();
        let ends = |c: char| c.is_whitespace() || u8::try_from(c).is_ok_and(is_sign);
        match rest.find(ends).unwrap_or(rest.len()) {
            0 if is_sign(self.cursor.peek(0)) => &rest[..1],
            length => &rest[..length],
        }
    }

    /// Reads the next word.
    pub fn word(&mut self) -> &'t str {
        let word = self.peek();
        self.cursor.skip(word.len());
        self.skip();
        word
    }

    /// Reads up to the next blank, signs and all.
    pub fn until_blank(&mut self) -> &'t str {
        let rest = self.cursor.rest();
        let text = rest.split(char::is_whitespace).next().unwrap_or(rest);
        self.cursor.skip(text.len());
        self.skip();
        text
    }

    /// Reads the rest of the line, without blanks at its end.
    pub fn rest_of_line(&mut self) -> &'t str {
        let start = self.cursor.at();
        self.cursor.skip_line();
        let text = self.cursor.since(start).trim_end();
        self.skip();
        text
    }

    /// Reads the end of a line, and empty lines after it.
    ///
    /// # Errors
    /// If the line goes on.
    pub fn end_line(&mut self) -> Read {
        if !self.peek().is_empty() {
            return self.fail(format!("`{}` is too much", self.peek()));
        }
        self.skip_blanks(|_| true);
        Ok(())
    }

    /// Reads the word if it comes next.
    pub fn eat(&mut self, word: &str) -> bool {
        let found = self.peek() == word;
        if found {
            self.word();
        }
        found
    }

    /// Reads the word.
    ///
    /// # Errors
    /// If another comes next.
    pub fn expect(&mut self, word: &str) -> Read {
        if self.eat(word) { Ok(()) } else { self.expected(&format!("`{word}`")) }
    }

    /// Reads a word that `parse` converts; `what` names what is expected.
    ///
    /// # Errors
    /// If it cannot convert the next word.
    pub fn parsed<T>(&mut self, what: &str, parse: impl Fn(&str) -> Option<T>) -> Read<T> {
        match parse(self.peek()) {
            Some(value) => {
                self.word();
                Ok(value)
            }
            None => self.expected(what),
        }
    }

    /// Reads one of these words; returns its value.
    ///
    /// # Errors
    /// If it is none of them.
    pub fn named<T: Copy>(&mut self, what: &str, names: &[(T, &str)]) -> Read<T> {
        let find = |word: &str| names.iter().find(|(_, name)| *name == word).map(|(one, _)| *one);
        self.parsed(what, find)
    }

    /// Reads a number, as Rust does.
    ///
    /// # Errors
    /// If it is none of that type.
    pub fn number<T: FromStr>(&mut self) -> Read<T> {
        self.parsed("a number", |word| word.parse().ok())
    }

    /// Reads a number after a prefix, such as `v12` or `b3`: what an IR refers to.
    ///
    /// # Errors
    /// If there is no such word.
    pub fn id<T: FromStr>(&mut self, prefix: &str) -> Read<T> {
        self.parsed(&format!("`{prefix}N`"), |word| word.strip_prefix(prefix)?.parse().ok())
    }

    /// Reads such a word, with this number.
    ///
    /// # Errors
    /// If it has another; then it is not read.
    pub fn in_order(&mut self, prefix: &str, expected: usize) -> Read {
        let before = *self;
        if self.id::<usize>(prefix)? == expected {
            Ok(())
        } else {
            *self = before;
            self.expected(&format!("`{prefix}{expected}`, as numbers come in order"))
        }
    }

    /// Reads `open`, what `one` reads, with commas between, and `close`.
    ///
    /// # Errors
    /// If `one` fails or something else is between.
    pub fn list<T>(
        &mut self,
        (open, close): (&str, &str),
        mut one: impl FnMut(&mut Self) -> Read<T>,
    ) -> Read<Vec<T>> {
        self.expect(open)?;
        let mut items = Vec::new();
        while !self.eat(close) {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(one(self)?);
        }
        Ok(items)
    }

    /// Reads bytes in quotes, see [`write_quoted`].
    ///
    /// # Errors
    /// If none come next.
    pub fn quoted(&mut self) -> Read<Vec<u8>> {
        let mut cursor = self.cursor;
        if !cursor.eat("\"") {
            return self.expected("a text in quotes");
        }
        let mut bytes = Vec::new();
        loop {
            bytes.extend_from_slice(cursor.take_while(|byte| !b"\"\\".contains(&byte)).as_bytes());
            if cursor.eat("\"") {
                self.resume(cursor);
                return Ok(bytes);
            }
            if !cursor.eat("\\") {
                return self.fail("the text does not end");
            }
            let digit = |ahead| char::from(cursor.peek(ahead)).to_digit(16);
            let (Some(high), Some(low)) = (digit(0), digit(1)) else {
                return self.fail("expected two hexadecimal digits");
            };
            bytes.push((high << 4 | low) as u8);
            cursor.skip(2);
        }
    }
}

/// Appends bytes in quotes, those that are not plain by two hexadecimal digits.
pub fn write_quoted(bytes: &[u8], out: &mut String) {
    out.push('"');
    for &byte in bytes {
        match byte {
            b' '..=b'~' if byte != b'"' && byte != b'\\' => out.push(char::from(byte)),
            _ => *out += &format!("\\{byte:02x}"),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_signs_and_lists() {
        let text = "; first\n v3 = add-unchecked v1 [v2+, -5] ; x\n\n (<= a) \"a\\22\\c3\\a9\" 7";
        let mut reader = IrReader::new(text, Layout::Free);
        assert_eq!(reader.in_order("v", 2).unwrap_err().line, 2);
        assert_eq!((reader.id::<u32>("v"), reader.expect("=")), (Ok(3), Ok(())));
        let names = [(1, "add"), (2, "add-unchecked")];
        assert_eq!((reader.named("a name", &names), reader.id::<u8>("v")), (Ok(2), Ok(1)));
        let list = reader.list(("[", "]"), |reader| Ok(reader.word()));
        assert_eq!(list, Ok(vec!["v2+", "-5"]));
        assert_eq!((reader.word(), reader.until_blank(), reader.word()), ("(", "<=", "a"));
        assert!(!reader.eat("]") && reader.eat(")"));
        assert_eq!(reader.quoted(), Ok("a\"é".as_bytes().to_vec()));
        let error = reader.id::<u8>("b").unwrap_err();
        assert_eq!(error.to_string(), "line 4: expected `bN`, not `7`");
        assert_eq!(reader.number(), Ok(7_u8));
        assert!(reader.at_end() && reader.quoted().is_err());
        assert_eq!(reader.number::<u8>().unwrap_err().message, "expected a number");
    }

    #[test]
    fn lines_may_matter() {
        let mut reader = IrReader::new("\n kernel A b \n\n  b0:\n take it\n", Layout::Lines);
        assert!(reader.eat("kernel"));
        assert_eq!((reader.rest_of_line(), reader.word()), ("A b", ""));
        assert_eq!((reader.end_line(), reader.word(), reader.end_line()), (Ok(()), "b0:", Ok(())));
        reader.word();
        let error = reader.end_line().unwrap_err();
        assert_eq!((error.line, &*error.message), (5, "`it` is too much"));
        assert_eq!((reader.word(), reader.end_line(), reader.at_end()), ("it", Ok(()), true));
        assert_eq!(reader.expected::<()>("more").unwrap_err().line, 5);
    }

    #[test]
    fn quoted_bytes_come_back() {
        let all: Vec<u8> = (0..=255).collect();
        let mut text = String::new();
        write_quoted(&all, &mut text);
        assert_eq!(IrReader::new(&text, Layout::Free).quoted(), Ok(all));
        for wrong in ["\"", "\"\\4", "\"\\+4\"", "x"] {
            assert!(IrReader::new(wrong, Layout::Free).quoted().is_err(), "{wrong}");
        }
    }
}
