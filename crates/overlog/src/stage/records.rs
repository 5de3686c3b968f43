//! Records of comma-separated values (RFC 4180), read one at a time from a stream of any length.
//!
//! ```text
//! file   = [byte order mark] record { line-end record } [line-end]       line-end = [CR] LF
//! record = field { "," field }
//! field  = '"' { any but '"', or '""' } '"' | { any but ",", LF }
//! ```
//! Beyond the RFC: lines may end with LF alone, and a quote inside a plain field is an ordinary
//! character. An error in one record spoils that record alone: reading resumes at the next line.
//!
//! P2 read such files a little differently ([`Dialect::P2`]): a line whose first character other
//! than a blank is `#` is a comment, and blanks (spaces and tabs) around a field are not part of
//! it, those around the quotes of a field included.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

/// The most bytes of one record.
pub(super) const RECORD_BYTES_MAX: usize = 1 << 20;

/// The most fields of one record.
pub(super) const FIELDS_MAX: usize = 4096;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The dialect of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Dialect {
    /// Blanks belong to fields, and `#` is a character like others.
    Rfc4180,
    /// Comments, and fields without the blanks around them.
    P2,
}

/// A field of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Field<'a> {
    pub text: &'a str,
    pub quoting: Quoting,
}

/// Whether a field is in quotes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Quoting {
    Plain,
    Quoted,
}

/// The result of reading a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    Record,
    /// An empty line, or part of what follows a mistake.
    Blank,
    /// The rest of the record has not come yet.
    Waiting,
    End,
}

/// Why a record cannot be had, and on which line, from 1, it starts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct BadRecord {
    pub line: u64,
    pub reason: String,
}

/// Reads records; each replaces the one before.
pub(super) struct Records<R> {
    input: BufReader<R>,
    dialect: Dialect,
    /// The contents of the record's fields, one after the other.
    bytes: Vec<u8>,
    /// The end of each field in `bytes`.
    ends: Vec<(usize, Quoting)>,
    /// Lines read.
    lines: u64,
    state: Reading,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reading {
    /// Nothing has been read but this number of bytes of a byte order mark.
    Start(usize),
    Going,
    /// The rest of a record that began on this line is still to come.
    Within(FieldState, u64),
    /// The rest of the line is left out.
    Skipping,
    /// The stream has ended or failed.
    Over,
}

/// The state of the reader within a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FieldState {
    FieldStart,
    Plain,
    Quoted,
    /// After a quote inside a quoted field: its end, or the first of two.
    Quote,
}

impl<R: Read> Records<R> {
    pub fn new(input: R, dialect: Dialect) -> Records<R> {
        Records {
            dialect,
            input: BufReader::with_capacity(1 << 16, input),
            bytes: Vec::new(),
            ends: Vec::new(),
            lines: 0,
            state: Reading::Start(0),
        }
    }

    /// The fields of the record read last.
    pub fn fields(&self) -> Result<Vec<Field<'_>>, BadRecord> {
        let mut start = 0;
        let fields = self.ends.iter().map(|&(end, quoting)| {
            let text = str::from_utf8(&self.bytes[std::mem::replace(&mut start, end)..end]);
            text.map(|text| Field { text, quoting })
        });
        // The error names the line on which the record ends, which has been read as a whole.
        let bad = |_| BadRecord { line: self.lines, reason: "not UTF-8".to_owned() };
        fields.collect::<Result<_, _>>().map_err(bad)
    }

    /// Reads the next record, or goes on with the one that has not come as a whole.
    pub fn read(&mut self) -> Result<Outcome, BadRecord> {
        let (place, line) = match self.state {
            Reading::Over => return Ok(Outcome::End),
            Reading::Within(place, line) => (place, line),
            Reading::Start(_) | Reading::Going | Reading::Skipping => {
                self.bytes.clear();
                self.ends.clear();
                (FieldState::FieldStart, self.lines + 1)
            }
        };
        let place = match self.state {
            Reading::Start(seen) => self.skip_byte_order_mark(seen).map(Some),
            Reading::Skipping => self.skip_line().map(|()| None),
            _ => Ok(Some(place)),
        };
        match place {
            Ok(None) => Ok(Outcome::Blank),
            Ok(Some(place)) => {
                self.state = Reading::Going;
                self.read_from(place, line)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Outcome::Waiting),
            Err(error) => Err(BadRecord { line, reason: error.to_string() }),
        }
    }

    /// Reads a record from this place on.
    fn read_from(&mut self, mut place: FieldState, line: u64) -> Result<Outcome, BadRecord> {
        let bad = |reason: &str| BadRecord { line, reason: reason.to_owned() };
        loop {
            let byte = match self.byte() {
                Ok(byte) => byte,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.state = Reading::Within(place, line);
                    return Ok(Outcome::Waiting);
                }
                Err(error) => return Err(bad(&error.to_string())),
            };
            let Some(byte) = byte else {
                self.state = Reading::Over;
                return match place {
                    FieldState::Quoted => Err(bad("a quoted field without its end")),
                    FieldState::FieldStart if self.ends.is_empty() => Ok(Outcome::End),
                    _ => self.end(place).map_err(bad),
                };
            };
            self.lines += u64::from(byte == b'\n');
            if self.dialect == Dialect::P2 {
                match (place, byte) {
                    (FieldState::FieldStart | FieldState::Quote, b' ' | b'\t') => continue,
                    (FieldState::FieldStart, b'#') if self.ends.is_empty() => {
                        self.state = Reading::Skipping;
                        return Ok(Outcome::Blank);
                    }
                    _ => {}
                }
            }
            place = match (place, byte) {
                (FieldState::FieldStart, b'"') => FieldState::Quoted,
                (FieldState::Quoted, b'"') => FieldState::Quote,
                (FieldState::Quoted, _) => self.keep(byte, FieldState::Quoted),
                (FieldState::Quote, b'"') => self.keep(byte, FieldState::Quoted),
                (_, b'\n') => return self.end(place).map_err(bad),
                (_, b',') => {
                    self.end_field(place);
                    FieldState::FieldStart
                }
                // Of a line end; another place than the line's end is found there.
                (FieldState::Quote, b'\r') => FieldState::Quote,
                (FieldState::Quote, _) => {
                    self.state = Reading::Skipping;
                    return Err(bad("text after the end of a quoted field"));
                }
                (FieldState::FieldStart | FieldState::Plain, _) => {
                    self.keep(byte, FieldState::Plain)
                }
            };
            if self.bytes.len() > RECORD_BYTES_MAX || self.ends.len() >= FIELDS_MAX {
                // Whether the lines that follow belong to this record is unknown.
                self.state = Reading::Over;
                return Err(bad(&too_large()));
            }
        }
    }

    fn keep(&mut self, byte: u8, place: FieldState) -> FieldState {
        self.bytes.push(byte);
        place
    }

    fn end_field(&mut self, place: FieldState) {
        if self.dialect == Dialect::P2 && place == FieldState::Plain {
            let start = self.ends.last().map_or(0, |(end, _)| *end);
            let blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
            let blanks = self.bytes[start..].iter().rev().take_while(blank).count();
            self.bytes.truncate(self.bytes.len() - blanks);
        }
        let quoting = match place {
            FieldState::FieldStart | FieldState::Plain => Quoting::Plain,
            FieldState::Quoted | FieldState::Quote => Quoting::Quoted,
        };
        self.ends.push((self.bytes.len(), quoting));
    }

    /// The line has ended, and so has the record.
    fn end(&mut self, place: FieldState) -> Result<Outcome, &'static str> {
        if place == FieldState::Plain && self.bytes.last() == Some(&b'\r') {
            self.bytes.pop();
        }
        if self.ends.is_empty() && self.bytes.is_empty() && place != FieldState::Quote {
            return Ok(Outcome::Blank);
        }
        self.end_field(place);
        Ok(Outcome::Record)
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        let next = self.peek()?.first().copied();
        if next.is_some() {
            self.input.consume(1);
        }
        Ok(next)
    }

    fn peek(&mut self) -> io::Result<&[u8]> {
        loop {
            match self.input.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(error),
                Err(error) => {
                    self.state = Reading::Over;
                    return Err(error);
                }
                Ok(_) => break,
            }
        }
        Ok(self.input.buffer())
    }

    /// Skips a byte order mark of which some bytes have been read. If it is none, these begin the
    /// first field.
    fn skip_byte_order_mark(&mut self, mut seen: usize) -> io::Result<FieldState> {
        while let Some(expected) = BYTE_ORDER_MARK.get(seen) {
            if self.peek()?.first() != Some(expected) {
                self.bytes.extend(&BYTE_ORDER_MARK[..seen]);
                break;
            }
            self.input.consume(1);
            seen += 1;
            self.state = Reading::Start(seen);
        }
        Ok(if self.bytes.is_empty() { FieldState::FieldStart } else { FieldState::Plain })
    }

    /// Skips what is left of the line, some of it at a time.
    fn skip_line(&mut self) -> io::Result<()> {
        for _ in 0..RECORD_BYTES_MAX {
            let byte = self.byte()?;
            if byte.is_none_or(|byte| byte == b'\n') {
                self.lines += u64::from(byte.is_some());
                self.state = Reading::Going;
                break;
            }
        }
        Ok(())
    }
}

fn too_large() -> String {
    format!(
        "a record of more than {RECORD_BYTES_MAX} bytes or {FIELDS_MAX} fields; \
         the rest of the file is left out"
    )
}
