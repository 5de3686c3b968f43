//! A buffer for the standard input, and the pending requests.

use std::collections::VecDeque;

use rustix::io::Errno;
use tidemill_cl::system::input::Request;
use tidemill_event::WatchId;
use tidemill_proc::Communication;

use crate::run::Input;

/// The size of a read.
const READ_BYTES: usize = 1 << 16;

/// The maximum length of a line; longer ones are split.
const LINE_BYTES_MAX: usize = 1 << 24;

/// The buffered input, and the pending requests.
pub(in crate::components::system) struct InputReader {
    pub(super) input: Input,
    ended: bool,
    /// Input; the part before `taken` has been consumed.
    buffer: Vec<u8>,
    taken: usize,
    /// The position up to which no newline was found.
    searched: usize,
    pub(super) waiting: VecDeque<(Communication, Request)>,
    pub(super) watch: Option<WatchId>,
}

impl InputReader {
    pub(in crate::components::system) fn new(input: Input) -> InputReader {
        let ended = matches!(input, Input::None);
        let waiting = VecDeque::new();
        InputReader {
            input,
            ended,
            buffer: Vec::new(),
            taken: 0,
            searched: 0,
            waiting,
            watch: None,
        }
    }

    /// Takes the input for a request: `None` if there is not enough yet, `Some(None)` at the end.
    pub(super) fn take(&mut self, wanted: Request) -> Option<Option<Vec<u8>>> {
        let left = self.buffer.len() - self.taken;
        if left == 0 {
            return self.ended.then_some(None);
        }
        let (length, skipped) = match wanted {
            Request::ReadByte => (1, 0),
            Request::ReadLine => {
                let from = self.searched.max(self.taken);
                let end = self.buffer[from..].iter().position(|&byte| byte == b'\n');
                self.searched = self.buffer.len();
                match end {
                    Some(at) => (from + at - self.taken, 1),
                    None if self.ended || left >= LINE_BYTES_MAX => (left.min(LINE_BYTES_MAX), 0),
                    None => return None,
                }
            }
        };
        let bytes = self.buffer[self.taken..self.taken + length].to_vec();
        self.taken += length + skipped;
        self.searched = self.taken;
        if self.taken == self.buffer.len() || self.taken >= READ_BYTES {
            self.buffer.drain(..self.taken);
            (self.taken, self.searched) = (0, 0);
        }
        Some(Some(bytes))
    }

    /// Reads once. Blocks if there is no input yet, so it must be called when the input is ready.
    pub(super) fn read(&mut self) {
        let Input::Descriptor(descriptor) = &self.input else { return };
        let length = self.buffer.len();
        self.buffer.resize(length + READ_BYTES, 0);
        let got = rustix::io::read(descriptor, &mut self.buffer[length..]);
        self.buffer.truncate(length + *got.as_ref().unwrap_or(&0));
        match got {
            Ok(0) => self.ended = true,
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
            // A terminal that has hung up, or a folder: no input will come.
            Err(_) => self.ended = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use super::*;

    fn reader(written: &[u8]) -> InputReader {
        let (read, mut write) = std::io::pipe().expect("a pipe");
        std::io::Write::write_all(&mut write, written).expect("written");
        drop(write);
        let mut reader = InputReader::new(Input::Descriptor(OwnedFd::from(read)));
        reader.read();
        reader
    }

    #[test]
    fn lines_and_bytes_take_turns() {
        let mut input = reader(b"one\n\ntwo\xff");
        let line = |input: &mut InputReader| input.take(Request::ReadLine);
        assert_eq!(line(&mut input), Some(Some(b"one".to_vec())));
        assert_eq!(line(&mut input), Some(Some(Vec::new())));
        assert_eq!(input.take(Request::ReadByte), Some(Some(b"t".to_vec())));
        assert_eq!(line(&mut input), None, "its end is not there yet");
        input.read();
        assert_eq!(line(&mut input), Some(Some(b"wo\xff".to_vec())));
        assert_eq!(line(&mut input), Some(None));
        assert_eq!(input.take(Request::ReadByte), Some(None));
    }

    #[test]
    fn no_input_is_at_its_end() {
        let mut input = InputReader::new(Input::None);
        assert_eq!(input.take(Request::ReadLine), Some(None));
    }
}
