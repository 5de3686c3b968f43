//! Input: the standard input, as bytes and lines.
//!
//! It is read only while somebody asks and nothing is left of what was read before. A terminal or
//! pipe is watched by the loop; what cannot be watched (a file) is always ready. Clients are
//! served in the order in which they asked.

use std::collections::VecDeque;
use std::os::fd::AsRawFd;

use rustix::io::Errno;
use tidemill_event::{Handlers, Interest, Loop, WatchId};
use tidemill_proc::Communication;

use super::{Machine, integer, text};
use crate::run::Input;

/// Bytes read at once.
const READ_BYTES: usize = 1 << 16;
/// A line that is longer is handed out in pieces.
const LINE_BYTES_MAX: usize = 1 << 24;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Byte,
    Line,
}

/// What is read, and who waits for it.
pub(super) struct Reader {
    input: Input,
    ended: bool,
    /// What was read; what lies before `taken` was handed out.
    buffer: Vec<u8>,
    taken: usize,
    /// How far there is no end of a line.
    searched: usize,
    waiting: VecDeque<(Communication, Wanted)>,
    watch: Option<WatchId>,
}

impl Reader {
    pub(super) fn new(input: Input) -> Reader {
        let ended = matches!(input, Input::None);
        let waiting = VecDeque::new();
        Reader { input, ended, buffer: Vec::new(), taken: 0, searched: 0, waiting, watch: None }
    }

    /// What is there for somebody: nothing yet, the end, or bytes.
    fn take(&mut self, wanted: Wanted) -> Option<Option<Vec<u8>>> {
        let left = self.buffer.len() - self.taken;
        if left == 0 {
            return self.ended.then_some(None);
        }
        let (length, skipped) = match wanted {
            Wanted::Byte => (1, 0),
            Wanted::Line => {
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

    /// Reads once. Where nothing is there yet this waits, so it is called when something is.
    fn read(&mut self) {
        let Input::Descriptor(descriptor) = &self.input else { return };
        let length = self.buffer.len();
        self.buffer.resize(length + READ_BYTES, 0);
        let got = rustix::io::read(descriptor, &mut self.buffer[length..]);
        self.buffer.truncate(length + *got.as_ref().unwrap_or(&0));
        match got {
            Ok(0) => self.ended = true,
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
            // A terminal that is gone, a folder: nothing will come.
            Err(_) => self.ended = true,
        }
    }
}

pub(super) fn serve(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    message: &str,
) {
    let wanted = match message {
        "ReadByte" => Wanted::Byte,
        "ReadLine" => Wanted::Line,
        _ => return,
    };
    world.node.systems.input.waiting.push_back((from, wanted));
    advance(world, lp);
}

pub(super) fn finished(world: &mut Machine, lp: &mut Loop<Machine>, communication: Communication) {
    world.node.systems.input.waiting.retain(|waiting| waiting.0 != communication);
    advance(world, lp);
}

/// Hands out what is there, and has the rest brought.
fn advance(world: &mut Machine, lp: &mut Loop<Machine>) {
    while let Some(&(to, wanted)) = world.node.systems.input.waiting.front() {
        let Some(found) = world.node.systems.input.take(wanted) else {
            if watch(world, lp) {
                return;
            }
            world.node.systems.input.read();
            continue;
        };
        world.node.systems.input.waiting.pop_front();
        match (found, wanted) {
            (None, _) => world.answer(lp, to, "EOF", &[]),
            (Some(bytes), Wanted::Byte) => {
                let byte = bytes.first().copied().unwrap_or(0);
                world.answer(lp, to, "Byte", &[integer(i64::from(byte))]);
            }
            (Some(bytes), Wanted::Line) => world.answer(lp, to, "Line", &[text(bytes)]),
        }
    }
    if let Some(watch) = world.node.systems.input.watch.take() {
        lp.unwatch(watch);
    }
}

/// Has the loop tell when something can be read; false if it cannot.
fn watch(world: &mut Machine, lp: &mut Loop<Machine>) -> bool {
    let reader = &mut world.node.systems.input;
    if reader.watch.is_some() {
        return true;
    }
    let Input::Descriptor(descriptor) = &reader.input else { return false };
    let handlers = Handlers::new()
        .read(|world: &mut Machine, lp: &mut Loop<Machine>, _| {
            world.node.systems.input.read();
            advance(world, lp);
        })
        .error(|world: &mut Machine, lp: &mut Loop<Machine>, watch, _| {
            // What was written before the other side went can still be read.
            lp.unwatch(watch);
            world.node.systems.input.watch = None;
            world.node.systems.input.read();
            advance(world, lp);
        });
    reader.watch = lp.watch(descriptor.as_raw_fd(), Interest::Read, handlers).ok();
    reader.watch.is_some()
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use super::*;

    fn reader(written: &[u8]) -> Reader {
        let (read, mut write) = std::io::pipe().expect("a pipe");
        std::io::Write::write_all(&mut write, written).expect("written");
        drop(write);
        let mut reader = Reader::new(Input::Descriptor(OwnedFd::from(read)));
        reader.read();
        reader
    }

    #[test]
    fn lines_and_bytes_take_turns() {
        let mut input = reader(b"one\n\ntwo\xff");
        let line = |input: &mut Reader| input.take(Wanted::Line);
        assert_eq!(line(&mut input), Some(Some(b"one".to_vec())));
        assert_eq!(line(&mut input), Some(Some(Vec::new())));
        assert_eq!(input.take(Wanted::Byte), Some(Some(b"t".to_vec())));
        assert_eq!(line(&mut input), None, "its end is not there yet");
        input.read();
        assert_eq!(line(&mut input), Some(Some(b"wo\xff".to_vec())));
        assert_eq!(line(&mut input), Some(None));
        assert_eq!(input.take(Wanted::Byte), Some(None));
    }

    #[test]
    fn no_input_is_at_its_end() {
        let mut input = Reader::new(Input::None);
        assert_eq!(input.take(Wanted::Line), Some(None));
    }
}
