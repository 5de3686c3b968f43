//! What the program writes: a buffer before the embedder's sink.

use crate::machine::Context;
use crate::text;

/// Where the output goes.
pub trait Sink {
    /// Writes all of it.
    fn write(&mut self, bytes: &[u8]);
}

/// Nowhere.
impl Sink for () {
    fn write(&mut self, _: &[u8]) {}
}

/// When the buffer is written.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Lines {
    /// At each end of a line: for terminals.
    Each,
    /// When much has gathered, and whenever the program waits.
    Together,
}

/// Gathered before it is written.
const GATHER: usize = 1 << 16;

/// Buffered output.
pub struct Console {
    buffer: Vec<u8>,
    sink: Box<dyn Sink>,
    lines: Lines,
}

impl Console {
    /// A console on a sink.
    pub fn new(sink: Box<dyn Sink>, lines: Lines) -> Console {
        Console { buffer: Vec::new(), sink, lines }
    }

    /// Writes bytes.
    pub fn write(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
        let ends = self.lines == Lines::Each && bytes.contains(&b'\n');
        if ends || self.buffer.len() >= GATHER {
            self.flush();
        }
    }

    /// Whether each line is written at its end.
    pub(crate) fn is_by_line(&self) -> bool {
        self.lines == Lines::Each
    }

    /// Hands on what has gathered.
    pub fn flush(&mut self) {
        if !self.buffer.is_empty() {
            self.sink.write(&self.buffer);
            self.buffer.clear();
        }
    }
}

fn write(cx: &mut Context, bytes: &[u8]) {
    if cx.worker.machine.desk.is_some() {
        crate::crew::write(cx.worker, bytes);
    } else {
        cx.worker.machine.console.write(bytes);
    }
}

pub(crate) fn write_text(cx: &mut Context, text: u64) {
    write(cx, text::shown(text));
}

pub(crate) fn write_bytes(cx: &mut Context, bytes: *const u8, length: u64) {
    // SAFETY: the program's own bytes, as many as it says.
    write(cx, unsafe { std::slice::from_raw_parts(bytes, length as usize) });
}

pub(crate) fn write_integer(cx: &mut Context, value: i64) {
    write(cx, value.to_string().as_bytes());
}

pub(crate) fn write_real(cx: &mut Context, value: f64) {
    write(cx, text::show_real(value).as_bytes());
}

pub(crate) fn write_character(cx: &mut Context, value: u64) {
    write(cx, &[value as u8]);
}

pub(crate) fn write_boolean(cx: &mut Context, value: u64) {
    write(cx, text::show_boolean(value).as_bytes());
}

pub(crate) fn write_hex(cx: &mut Context, value: i64) {
    write(cx, text::show_hex(value).as_bytes());
}

pub(crate) fn write_line(cx: &mut Context) {
    write(cx, b"\n");
}
