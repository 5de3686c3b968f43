//! FileSystem: files below one folder; in simulations they are in memory ([`super::disk`]).
//!
//! Reads and writes go through a buffer, so that a byte at a time costs no system call each. Only
//! regular files are opened, and each call moves a bounded number of bytes; so none of them waits
//! for more than a disk. A large text is written piece by piece, an event of the loop each; its
//! client is held off meanwhile.

use std::io;
use std::path::Path;

use tidemill_event::{Loop, Owner};
use tidemill_proc::{Communication, CommunicationMap, Values, arm};

use super::confined::{Purpose, Root};
use super::disk::{Body, Disk};
use super::{Machine, integer, text};

/// Bytes read or written at once.
const BUFFER_BYTES: usize = 1 << 16;
/// A line that is longer is handed out in pieces.
const LINE_BYTES_MAX: usize = 1 << 24;

/// Bytes of a text that are written at once.
const PIECE_BYTES: usize = 1 << 20;

/// The folder and the files that are open.
#[derive(Default)]
pub(super) struct Files {
    root: Option<Root>,
    disk: Disk,
    open: CommunicationMap<Open>,
    problems: Vec<String>,
    owner: Option<Owner>,
}

/// A file that is open. Either the buffer holds what was read at `start`, or what is to be written
/// there.
struct Open {
    file: Body,
    name: String,
    buffer: Vec<u8>,
    start: u64,
    is_unwritten: bool,
    position: u64,
    failed: Option<io::Error>,
    /// A large text, and how much of it has been written.
    large: Vec<u8>,
    done: usize,
}

impl Files {
    pub(super) fn new(root: &Path, disk: Disk) -> Result<Files, String> {
        let opened = Root::new(root)
            .map_err(|error| format!("{}: cannot be the root: {error}", root.display()))?;
        Ok(Files { root: Some(opened), disk, ..Files::default() })
    }

    /// Files that could not be written, once.
    pub(super) fn take_problems(&mut self) -> Vec<String> {
        std::mem::take(&mut self.problems)
    }

    /// Writes what waits and closes a file.
    pub(super) fn close(&mut self, communication: Communication) {
        let Some(mut open) = self.open.remove(communication) else { return };
        open.write_rest();
        open.flush();
        if let Some(error) = open.failed {
            self.problems.push(format!("{}: cannot write the file: {error}", open.name));
        }
    }

    fn open(&mut self, communication: Communication, name: &[u8], purpose: Purpose) -> bool {
        let Some(root) = &self.root else { return false };
        let Ok(file) = self.disk.open(root, name, purpose) else { return false };
        let name = String::from_utf8_lossy(name).into_owned();
        self.open.insert(communication, Open::new(file, name));
        true
    }
}

pub(super) fn serve(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    message: &str,
    values: &Values,
) {
    let purpose = match message {
        "New" => Some(Purpose::New),
        "Open" => Some(Purpose::Existing),
        _ => None,
    };
    if let Some(purpose) = purpose {
        let done = world.node.systems.files.open(from, values.text(), purpose);
        return world.answer(lp, from, if done { "Done" } else { "Failed" }, &[]);
    }
    let Some(open) = world.node.systems.files.open.get_mut(from) else { return };
    // Only who has finished is not held off.
    open.write_rest();
    let (answer, values) = match message {
        "SetPosition" => {
            // Before the beginning is the beginning.
            open.position = u64::try_from(values.integer()).unwrap_or(0);
            return;
        }
        "GetPosition" => ("Position", vec![integer(open.position.cast_signed())]),
        "GetLength" => ("Length", vec![integer(open.length().cast_signed())]),
        "ReadByte" => match open.byte() {
            Some(byte) => ("Byte", vec![integer(i64::from(byte))]),
            None => ("EOF", Vec::new()),
        },
        "ReadLine" => match open.line() {
            Some(line) => ("Line", vec![text(line)]),
            None => ("EOF", Vec::new()),
        },
        "Write" => return open.write(&[values.integer() as u8]),
        "WriteText" => {
            open.large = values.text().to_vec();
            if open.large.len() <= PIECE_BYTES {
                return open.write_rest();
            }
            world.node.runner.worker().hold_off(from);
            return go_on(world, lp, from);
        }
        "Update" => return open.flush(),
        "Close" => return world.node.systems.files.close(from),
        _ => return,
    };
    world.answer(lp, from, answer, &values);
}

/// Writes the next piece of a large text.
fn go_on(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let files = &mut world.node.systems.files;
    let owner = *files.owner.get_or_insert_with(|| lp.owner("files"));
    let Some(open) = files.open.get_mut(from) else { return };
    if open.write_piece() {
        let next = move |world: &mut Machine, lp: &mut Loop<Machine>| go_on(world, lp, from);
        if lp.event(owner, next).is_ok() {
            return;
        }
        // The loop has too much to do to do it bit by bit.
        open.write_rest();
    }
    world.node.runner.worker().attend_to(from);
    arm(world, lp);
}

impl Open {
    fn new(file: Body, name: String) -> Open {
        Open {
            file,
            name,
            buffer: Vec::new(),
            start: 0,
            is_unwritten: false,
            position: 0,
            failed: None,
            large: Vec::new(),
            done: 0,
        }
    }

    /// Writes a piece of a text; whether there is more.
    fn write_piece(&mut self) -> bool {
        let large = std::mem::take(&mut self.large);
        let end = large.len().min(self.done + PIECE_BYTES);
        self.write(&large[self.done..end]);
        self.done = if end < large.len() { end } else { 0 };
        if self.done > 0 {
            self.large = large;
        }
        self.done > 0
    }

    fn write_rest(&mut self) {
        while !self.large.is_empty() && self.write_piece() {}
    }

    fn length(&mut self) -> u64 {
        self.flush();
        self.file.length()
    }

    /// Writes what waits. What fails is told once, when the file is closed.
    fn flush(&mut self) {
        if self.is_unwritten {
            let written = self.file.write_all_at(&self.buffer, self.start);
            if let Err(error) = written {
                self.failed.get_or_insert(error);
            }
            self.is_unwritten = false;
            self.buffer.clear();
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        let end = self.start + self.buffer.len() as u64;
        if !self.is_unwritten || self.position != end || self.buffer.len() >= BUFFER_BYTES {
            self.flush();
            self.buffer.clear();
            self.start = self.position;
            self.is_unwritten = true;
        }
        self.buffer.extend_from_slice(bytes);
        self.position = self.position.saturating_add(bytes.len() as u64);
    }

    /// The bytes from the position on that are in memory, read if there are none.
    fn ahead(&mut self) -> &[u8] {
        self.flush();
        let end = self.start + self.buffer.len() as u64;
        if !(self.start..end).contains(&self.position) {
            self.start = self.position;
            self.buffer.resize(BUFFER_BYTES, 0);
            // A position beyond what files can have is beyond the end, and so is a bad disk.
            let got = self.file.read_at(&mut self.buffer, self.start).unwrap_or(0);
            self.buffer.truncate(got);
        }
        &self.buffer[(self.position - self.start) as usize..]
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = self.ahead().first().copied()?;
        self.position += 1;
        Some(byte)
    }

    /// Without its end; none at the end of the file.
    fn line(&mut self) -> Option<Vec<u8>> {
        let mut line = Vec::new();
        loop {
            let ahead = self.ahead();
            if ahead.is_empty() {
                return (!line.is_empty()).then_some(line);
            }
            let end = ahead.iter().position(|&byte| byte == b'\n');
            let length = end.unwrap_or(ahead.len());
            line.extend_from_slice(&ahead[..length]);
            self.position += length as u64;
            if end.is_some() {
                self.position += 1;
                return Some(line);
            }
            if line.len() >= LINE_BYTES_MAX {
                return Some(line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(content: &[u8]) -> Open {
        let name = format!("tidemill-files-{}-{content:p}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, content).expect("written");
        let file = std::fs::File::options().read(true).write(true).open(&path).expect("opened");
        std::fs::remove_file(&path).expect("removed");
        Open::new(Body::Disk(file), String::new())
    }

    #[test]
    fn large_texts_are_written_in_pieces() {
        let mut file = open(b"");
        file.write(b"ab");
        file.large = (0..PIECE_BYTES * 5 / 2).map(|at| at as u8).collect();
        assert_eq!([(); 3].map(|()| file.write_piece()), [true, true, false]);
        assert_eq!(file.length() as usize, 2 + PIECE_BYTES * 5 / 2);
        file.position = PIECE_BYTES as u64;
        assert_eq!(file.byte(), Some((PIECE_BYTES - 2) as u8));
        file.large = vec![1; PIECE_BYTES];
        assert!(!file.write_piece());
    }

    #[test]
    fn what_was_written_is_read_back_anywhere() {
        let mut file = open(b"");
        for byte in 0..=255 {
            file.write(&[byte]);
        }
        assert_eq!(file.length(), 256);
        file.position = 10;
        file.write(b"ab");
        assert_eq!((file.position, file.byte()), (12, Some(12)));
        file.position = 10;
        assert_eq!((file.byte(), file.byte(), file.byte()), (Some(b'a'), Some(b'b'), Some(12)));
        file.position = 300;
        assert_eq!(file.byte(), None);
        file.write(b"z");
        assert_eq!(file.length(), 301);
        file.position = 299;
        assert_eq!((file.byte(), file.byte()), (Some(0), Some(b'z')));
    }

    #[test]
    fn lines_end_with_the_file_too() {
        let long = vec![b'x'; 3 * BUFFER_BYTES];
        let mut file = open(&[b"one\n\n".as_slice(), &long, b"\nlast"].concat());
        assert_eq!(file.line(), Some(b"one".to_vec()));
        assert_eq!(file.line(), Some(Vec::new()));
        assert_eq!(file.line(), Some(long));
        assert_eq!(file.line(), Some(b"last".to_vec()));
        assert_eq!(file.line(), None);
    }
}
