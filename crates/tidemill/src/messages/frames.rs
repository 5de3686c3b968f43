//! Splits a stream into messages.

use std::io::Read;

use tidemill_wire::decode::BYTES_MAX;
use tidemill_wire::delimited;
use tidemill_wire::json::Splitter;

use super::form::{ConvertError, Form};

/// The size of a read.
const PIECE_BYTES: usize = 64 << 10;

/// The messages of a stream, one at a time.
#[derive(Debug)]
pub struct Frames<R> {
    input: R,
    form: Form,
    buffer: Vec<u8>,
    /// The beginning of the unread part of the buffer.
    start: usize,
    ended: bool,
    splitter: Splitter,
    /// The number of messages returned.
    count: u64,
    /// The number of bytes consumed.
    bytes: u64,
    /// The number of lines consumed, and of characters on the incomplete line.
    line: usize,
    column: usize,
}

impl<R: Read> Frames<R> {
    /// The messages of `input` in the given form.
    pub fn new(input: R, form: Form) -> Frames<R> {
        Frames {
            input,
            form,
            buffer: Vec::new(),
            start: 0,
            ended: false,
            splitter: Splitter::default(),
            count: 0,
            bytes: 0,
            line: 0,
            column: 0,
        }
    }

    /// The number of the last message, from 1.
    pub fn number(&self) -> u64 {
        self.count
    }

    /// The number of bytes consumed.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The next message.
    ///
    /// # Errors
    /// The input cannot be read, ends inside of a message, or has one that is too large.
    pub fn next_frame(&mut self) -> Result<Option<&[u8]>, ConvertError> {
        loop {
            if let Some((skipped, length)) = self.find()? {
                self.count += 1;
                self.bytes += (skipped + length) as u64;
                let start = self.start + skipped;
                self.start = start + length;
                return Ok(Some(&self.buffer[start..start + length]));
            }
            if self.ended {
                return Ok(None);
            }
            self.fill()?;
        }
    }

    /// Advances the line count past `length` bytes of text.
    pub fn pass_lines(&mut self, length: usize) {
        let given = &self.buffer[self.start - length..self.start];
        let lines = given.iter().filter(|&&byte| byte == b'\n').count();
        let last = given.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let column = if lines > 0 { 0 } else { self.column };
        self.line += lines;
        self.column = column + String::from_utf8_lossy(&given[last..]).chars().count();
    }

    /// Converts a place in the last message to a place in the whole input.
    pub fn place(&self, line: usize, column: usize) -> (usize, usize) {
        let before = if line == 1 { self.column } else { 0 };
        (self.line + line, before + column)
    }

    /// The number of bytes to skip, and the length of the message after them.
    fn find(&mut self) -> Result<Option<(usize, usize)>, ConvertError> {
        let rest = &self.buffer[self.start..];
        match self.form {
            Form::Binary | Form::Text => {
                let whole = self.ended && self.count == 0;
                Ok(whole.then_some((0, rest.len())))
            }
            Form::Delimited => match delimited::split_varint(rest, BYTES_MAX) {
                Ok(Some((content, after))) => {
                    let length = content.len();
                    Ok(Some((rest.len() - after.len() - length, length)))
                }
                Ok(None) if self.ended && !rest.is_empty() => {
                    Err(self.error("the input ends inside of it"))
                }
                Ok(None) => Ok(None),
                Err(error) => Err(self.error(&error.to_string())),
            },
            Form::Json => match self.splitter.split(rest) {
                Some(length) => Ok(Some((0, length))),
                // The parser reports best what is missing.
                None if self.ended && !self.splitter.is_blank() => {
                    self.splitter = Splitter::default();
                    Ok(Some((0, rest.len())))
                }
                None => Ok(None),
            },
        }
    }

    fn error(&self, message: &str) -> ConvertError {
        let number = self.count + 1;
        ConvertError::Message { place: None, number, message: message.to_owned() }
    }

    fn fill(&mut self) -> Result<(), ConvertError> {
        // Drops consumed bytes; moving the rest costs less than reading it did.
        self.buffer.drain(..self.start);
        self.start = 0;
        let piece = PIECE_BYTES.max(self.buffer.len()) as u64;
        let read = (&mut self.input).take(piece).read_to_end(&mut self.buffer);
        let read = read.map_err(ConvertError::Read)?;
        self.ended = read == 0;
        if self.buffer.len() > BYTES_MAX { Err(self.error("it is too large")) } else { Ok(()) }
    }
}
