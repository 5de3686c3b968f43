//! Open files, and their buffers.

use std::io;
use std::path::Path;

use tidemill_event::Owner;
use tidemill_proc::{Communication, CommunicationMap};

use crate::components::system::confined::{Purpose, Root};
use crate::components::system::disk::{Body, Disk};
use crate::error::Error;

/// The size of a buffer.
const BUFFER_BYTES: usize = 1 << 16;

/// The maximum length of a line; longer ones are split.
const LINE_BYTES_MAX: usize = 1 << 24;

/// The bytes of a text written per event.
pub(super) const PIECE_BYTES: usize = 1 << 20;

/// The folder, and the open files.
#[derive(Default)]
pub(in crate::components::system) struct Files {
    root: Option<Root>,
    disk: Disk,
    pub(super) open: CommunicationMap<Open>,
    problems: Vec<String>,
    pub(super) owner: Option<Owner>,
}

/// An open file. The buffer holds either bytes read at `start`, or bytes to be written there.
pub(super) struct Open {
    file: Body,
    name: String,
    buffer: Vec<u8>,
    start: u64,
    is_unwritten: bool,
    pub(super) position: u64,
    failed: Option<io::Error>,
    /// A large text, and how much of it has been written.
    pub(super) large: Vec<u8>,
    done: usize,
}

impl Files {
    pub(in crate::components::system) fn new(root: &Path, disk: Disk) -> Result<Files, Error> {
        Ok(Files { root: Some(Root::named(root)?), disk, ..Files::default() })
    }

    /// Takes the reports of files that could not be written.
    pub(in crate::components::system) fn take_problems(&mut self) -> Vec<String> {
        std::mem::take(&mut self.problems)
    }

    /// Flushes and closes a file.
    pub(in crate::components::system) fn close(&mut self, communication: Communication) {
        let Some(mut open) = self.open.remove(communication) else { return };
        open.write_rest();
        open.flush();
        if let Some(error) = open.failed {
            self.problems.push(format!("{}: cannot write the file: {error}", open.name));
        }
    }

    pub(super) fn open(
        &mut self,
        communication: Communication,
        name: &[u8],
        purpose: Purpose,
    ) -> bool {
        let Some(root) = &self.root else { return false };
        let Ok(file) = self.disk.open(root, name, purpose) else { return false };
        let name = String::from_utf8_lossy(name).into_owned();
        self.open.insert(communication, Open::new(file, name));
        true
    }
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

    /// Writes a piece of a text; returns whether there is more.
    pub(super) fn write_piece(&mut self) -> bool {
        let large = std::mem::take(&mut self.large);
        let end = large.len().min(self.done + PIECE_BYTES);
        self.write(&large[self.done..end]);
        self.done = if end < large.len() { end } else { 0 };
        if self.done > 0 {
            self.large = large;
        }
        self.done > 0
    }

    pub(super) fn write_rest(&mut self) {
        while !self.large.is_empty() && self.write_piece() {}
    }

    pub(super) fn length(&mut self) -> u64 {
        self.flush();
        self.file.length()
    }

    /// Writes the buffer. An error is reported once, when the file is closed.
    pub(super) fn flush(&mut self) {
        if self.is_unwritten {
            let written = self.file.write_all_at(&self.buffer, self.start);
            if let Err(error) = written {
                self.failed.get_or_insert(error);
            }
            self.is_unwritten = false;
            self.buffer.clear();
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        let end = self.start + self.buffer.len() as u64;
        if !self.is_unwritten || self.position != end || self.buffer.len() >= BUFFER_BYTES {
            self.flush();
            self.buffer.clear();
            self.start = self.position;
            self.is_unwritten = true;
        }
        self.buffer.extend_from_slice(bytes);
        // Positions are numbers of components.
        let end = self.position.saturating_add(bytes.len() as u64);
        self.position = end.min(i64::MAX.cast_unsigned());
    }

    /// The buffered bytes from the position on; reads some if there are none.
    fn ahead(&mut self) -> &[u8] {
        self.flush();
        let end = self.start + self.buffer.len() as u64;
        if !(self.start..end).contains(&self.position) {
            self.start = self.position;
            self.buffer.resize(BUFFER_BYTES, 0);
            // A position beyond the maximum file size counts as the end, and so does a read error.
            let got = self.file.read_at(&mut self.buffer, self.start).unwrap_or(0);
            self.buffer.truncate(got);
        }
        &self.buffer[(self.position - self.start) as usize..]
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        let byte = self.ahead().first().copied()?;
        self.position += 1;
        Some(byte)
    }

    /// The next line without its newline; `None` at the end of the file.
    pub(super) fn line(&mut self) -> Option<Vec<u8>> {
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
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// The number of the next file: tests run beside each other.
    static NEXT: AtomicU32 = AtomicU32::new(0);

    fn open(content: &[u8]) -> Open {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tidemill-files-{}-{number}", std::process::id());
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
