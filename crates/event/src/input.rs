//! Files and pipes that are read without blocking.
//!
//! ```
//! use std::io::{ErrorKind, Read};
//! use std::path::Path;
//! use tidemill_event::Input;
//!
//! let mut nothing = Input::open(Path::new("/dev/null"))?;
//! assert_eq!(nothing.read(&mut [0; 9])?, 0);
//! # Ok::<(), std::io::Error>(())
//! ```

use std::fs::{File, Metadata, OpenOptions, metadata};
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

/// A file, or a pipe or terminal, whose contents come as they are written.
#[derive(Debug)]
pub struct Input {
    file: File,
    is_live: bool,
}

impl Input {
    /// Opens a file from its start, or a pipe or terminal, such as `/dev/stdin`. A named pipe need
    /// not have a writer yet.
    ///
    /// # Errors
    /// That of the system; [`ErrorKind::InvalidInput`] for what is neither, such as a folder.
    pub fn open(path: &Path) -> io::Result<Input> {
        let found = metadata(path)?;
        let is_live = comes_as_written(&found);
        if !found.is_file() && !is_live {
            return Err(io::Error::new(ErrorKind::InvalidInput, "neither a file nor a pipe"));
        }
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)?;
        Ok(Input { file, is_live })
    }

    /// Whether its contents come as they are written, once.
    pub fn is_live(&self) -> bool {
        self.is_live
    }

    /// Whether a path names what has its contents come as they are written, once.
    pub fn is_live_at(path: &Path) -> bool {
        metadata(path).is_ok_and(|found| comes_as_written(&found))
    }

    /// Whether a pipe without data has had a writer, and has none any more.
    fn is_over(&self) -> io::Result<Over> {
        let mut asked = [PollFd::new(&self.file, PollFlags::IN)];
        poll(&mut asked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
        let found = asked[0].revents();
        Ok(if found.contains(PollFlags::IN) {
            Over::HasMore
        } else if found.contains(PollFlags::HUP) {
            Over::Yes
        } else {
            Over::NotYet
        })
    }
}

/// Whether a pipe is over.
enum Over {
    Yes,
    /// Its first writer is still to come.
    NotYet,
    /// Data has come meanwhile.
    HasMore,
}

fn comes_as_written(found: &Metadata) -> bool {
    found.file_type().is_fifo() || found.file_type().is_char_device()
}

/// [`ErrorKind::WouldBlock`] while nothing has come; 0 at the end.
impl Read for Input {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.file.read(to)?;
            if count > 0 || to.is_empty() || !self.file.metadata()?.file_type().is_fifo() {
                return Ok(count);
            }
            match self.is_over()? {
                Over::Yes => return Ok(0),
                Over::NotYet => return Err(ErrorKind::WouldBlock.into()),
                Over::HasMore => {}
            }
        }
    }
}

impl AsRawFd for Input {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_fd().as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::remove_file;
    use std::io::Write;
    use std::path::PathBuf;

    fn pipe(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("tidemill-{name}-{}", std::process::id()));
        let _ = remove_file(&path);
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).expect("a pipe");
        path
    }

    #[test]
    fn a_pipe_waits_for_its_writer_and_ends_with_it() {
        let path = pipe("input");
        let mut input = Input::open(&path).expect("it opens");
        assert!(input.is_live() && Input::is_live_at(&path));
        let mut bytes = [0; 8];
        let waits = |read: io::Result<usize>| {
            read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
        };
        assert!(waits(input.read(&mut bytes)));
        let mut writer = OpenOptions::new().write(true).open(&path).expect("a writer");
        assert!(waits(input.read(&mut bytes)));
        writer.write_all(b"abc").expect("written");
        assert_eq!(input.read(&mut bytes).expect("read"), 3);
        assert!(waits(input.read(&mut bytes)));
        writer.write_all(b"de").expect("written");
        drop(writer);
        assert_eq!(input.read(&mut bytes).expect("read"), 2);
        assert_eq!(input.read(&mut bytes).expect("read"), 0);
        let _ = remove_file(&path);
    }

    #[test]
    fn a_folder_is_no_input() {
        let wrong = Input::open(&std::env::temp_dir()).expect_err("a folder");
        assert_eq!(wrong.kind(), ErrorKind::InvalidInput);
        assert!(!Input::is_live_at(&std::env::temp_dir()));
    }
}
