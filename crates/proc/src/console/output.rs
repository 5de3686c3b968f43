//! Where the program's output goes, line by line or gathered.

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
pub(crate) const GATHER: usize = 1 << 16;

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
