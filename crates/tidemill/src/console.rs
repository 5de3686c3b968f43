//! The output of a run: data lines on one stream, notes on another.
//!
//! Data is buffered and written when the buffer is full, on request, and at the end. The first
//! write error is kept until the driver of the run takes it and ends the run. A closed pipe is such
//! an error too; the caller decides what it means.

use std::fmt;
use std::io::{self, Write};

/// The format of data lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Form {
    /// Text for people.
    #[default]
    Text,
    /// A JSON object a line.
    Json,
}

/// The size of the buffer.
const BUFFER_BYTES: usize = 1 << 16;

/// The two streams of a run.
pub struct Console {
    form: Form,
    data: Box<dyn Write>,
    notes: Box<dyn Write>,
    buffer: Vec<u8>,
    /// The size of the buffer, after which it is written.
    room: usize,
    /// Data is dropped, so it is not formatted either.
    drops_data: bool,
    /// The last write ended in the middle of a line.
    is_in_line: bool,
    failure: Option<io::Error>,
    /// The first note of what fails the run.
    cause: Option<String>,
}

impl Console {
    /// A console that writes data in `form` to `data` and everything else to `notes`.
    pub fn new(form: Form, data: Box<dyn Write>, notes: Box<dyn Write>) -> Console {
        Console {
            form,
            data,
            notes,
            buffer: Vec::new(),
            room: BUFFER_BYTES,
            drops_data: false,
            is_in_line: false,
            failure: None,
            cause: None,
        }
    }

    /// A console without output.
    pub fn silent() -> Console {
        Console::of_notes(Box::new(io::sink()))
    }

    /// A console that writes notes, and drops data before it is formatted.
    pub fn of_notes(notes: Box<dyn Write>) -> Console {
        Console { drops_data: true, ..Console::new(Form::Text, Box::new(io::sink()), notes) }
    }

    /// Whether data is dropped.
    pub fn drops_data(&self) -> bool {
        self.drops_data
    }

    /// Writes each line at once, for a reader that waits for it.
    pub fn eager(self) -> Console {
        Console { room: 0, ..self }
    }

    /// The format of data lines.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Appends a line of data, given without its newline.
    pub fn line(&mut self, line: impl fmt::Display) {
        // Writing to memory cannot fail.
        self.append(|buffer| _ = write!(buffer, "{line}"));
    }

    /// Appends a line of data that need not be UTF-8, given without its newline.
    pub(crate) fn line_of(&mut self, line: &[u8]) {
        self.append(|buffer| buffer.extend_from_slice(line));
    }

    fn append(&mut self, line: impl FnOnce(&mut Vec<u8>)) {
        if self.failure.is_some() || self.drops_data {
            return;
        }
        if std::mem::take(&mut self.is_in_line) {
            self.buffer.push(b'\n');
        }
        line(&mut self.buffer);
        self.buffer.push(b'\n');
        if self.buffer.len() >= self.room {
            self.flush();
        }
    }

    /// Writes bytes of data as they are, after the buffered lines.
    pub fn write(&mut self, bytes: &[u8]) {
        if self.failure.is_none() && !self.drops_data {
            self.is_in_line = bytes.last().map_or(self.is_in_line, |last| *last != b'\n');
            self.buffer.extend_from_slice(bytes);
            self.flush();
        }
    }

    /// Whether each line is written at once.
    pub fn is_eager(&self) -> bool {
        self.room == 0
    }

    /// Writes a note at once. Errors are ignored, as they could only be reported as notes.
    pub fn note(&mut self, note: impl fmt::Display) {
        let _ = writeln!(self.notes, "{note}");
    }

    /// Writes a note of something that fails the run.
    pub(crate) fn failing(&mut self, note: impl fmt::Display) {
        if self.cause.is_none() {
            self.cause = note.to_string().lines().next().map(str::to_owned);
        }
        self.note(note);
    }

    /// The first note of what fails the run, once.
    pub(crate) fn take_cause(&mut self) -> Option<String> {
        self.cause.take()
    }

    /// Whether data is buffered.
    pub fn is_dirty(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Writes the buffer.
    pub fn flush(&mut self) {
        let written = self.data.write_all(&self.buffer).and_then(|()| self.data.flush());
        self.buffer.clear();
        if let Err(error) = written {
            self.failure.get_or_insert(error);
        }
    }

    /// Whether data could not be written.
    pub fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Takes the error of the first failed write.
    pub fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }
}

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Console").field("form", &self.form).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::Tape;

    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn data_waits_for_the_buffer_and_notes_do_not() {
        let (data, notes) = (Tape::default(), Tape::default());
        let mut console = Console::new(Form::Text, Box::new(data.clone()), Box::new(notes.clone()));
        console.line("one");
        console.note("two");
        assert_eq!((data.text(), notes.text()), (String::new(), "two\n".to_owned()));
        console.flush();
        assert_eq!(data.text(), "one\n");
        assert!(!console.is_dirty());
    }

    #[test]
    fn a_line_does_not_begin_in_another() {
        let data = Tape::default();
        let mut console =
            Console::new(Form::Text, Box::new(data.clone()), Box::new(Tape::default()));
        console.write(b"one\ntw");
        console.write(b"");
        console.line("three");
        console.write(b"four\n");
        console.line("five");
        console.flush();
        assert_eq!(data.text(), "one\ntw\nthree\nfour\nfive\n");
    }

    #[test]
    fn the_first_failure_is_kept_and_nothing_is_gathered_after_it() {
        let mut console = Console::new(Form::Text, Box::new(Full), Box::new(Tape::default()));
        console.line("one");
        console.flush();
        console.line("two");
        assert!(console.has_failed() && !console.is_dirty());
        let failure = console.take_failure().map(|error| error.kind());
        assert_eq!(failure, Some(io::ErrorKind::StorageFull));
    }
}
