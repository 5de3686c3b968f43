//! Opening files below a folder, and nowhere else.
//!
//! Neither `..`, nor an absolute path, nor a symbolic link leads out. The kernel enforces that
//! (`openat2`, Linux 5.6); where it cannot, each part of the path is opened by itself, and neither
//! `..` nor links are followed. Only regular files are opened, and without blocking: pipes and
//! devices would block the loop.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::rc::Rc;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, ResolveFlags, fstat, open, openat, openat2,
    renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use crate::error::Error;

/// The folder that confines all paths.
#[derive(Debug)]
pub(crate) struct Root {
    folder: OwnedFd,
}

/// What a file is opened for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// An empty file, replacing an existing one.
    New,
    /// An empty file under an unused name.
    Fresh,
    /// An existing file.
    Existing,
}

/// What a rename may replace.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replaces {
    /// Another file.
    Others,
    /// Nothing.
    Nothing,
}

/// The folder of a path, and its last part.
fn split(name: &[u8]) -> (&[u8], &[u8]) {
    let at = name.iter().rposition(|&byte| byte == b'/');
    at.map_or((&b"."[..], name), |at| (&name[..at], &name[at + 1..]))
}

/// The file, if it is one.
fn regular(file: OwnedFd) -> io::Result<File> {
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(File::from(file)),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "no regular file")),
    }
}

const ALWAYS: OFlags = OFlags::CLOEXEC.union(OFlags::NOCTTY).union(OFlags::NONBLOCK);

/// A listening socket, which is unlinked on drop.
pub(crate) struct Listener {
    pub(crate) listener: UnixListener,
    folder: OwnedFd,
    name: Vec<u8>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Another process may have removed it.
        let _ = unlinkat(&self.folder, self.name.as_slice(), AtFlags::empty());
    }
}

impl Root {
    pub(crate) fn new(folder: &Path) -> io::Result<Root> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Root { folder: open(folder, flags, Mode::empty())? })
    }

    /// Opens a file to read and, if permitted, to write.
    pub(crate) fn open(&self, name: &[u8], purpose: Purpose) -> io::Result<File> {
        let file = match purpose {
            Purpose::New => self.beneath(name, ALWAYS | OFlags::RDWR | OFlags::CREATE)?,
            Purpose::Fresh => {
                let flags = ALWAYS | OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
                self.beneath(name, flags)?
            }
            Purpose::Existing => match self.beneath(name, ALWAYS | OFlags::RDWR) {
                Err(Errno::ACCESS | Errno::PERM | Errno::ROFS | Errno::TXTBSY) => {
                    self.beneath(name, ALWAYS | OFlags::RDONLY)?
                }
                other => other?,
            },
        };
        let file = regular(file)?;
        if purpose == Purpose::New {
            file.set_len(0)?;
        }
        Ok(file)
    }

    /// Opens a file to read only.
    pub(crate) fn open_to_read(&self, name: &[u8]) -> io::Result<File> {
        regular(self.beneath(name, ALWAYS | OFlags::RDONLY)?)
    }

    /// Whether a file could be opened for such a purpose, as far as that can be determined without
    /// creating it: its folder exists, and an existing entry of the name is a file.
    pub(crate) fn check_new(&self, name: &[u8], purpose: Purpose) -> io::Result<()> {
        let (folder, last) = split(name);
        self.beneath(folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC)?;
        match self.beneath(name, ALWAYS | OFlags::RDONLY) {
            Err(Errno::NOENT) if !last.is_empty() => Ok(()),
            Err(error) => Err(error.into()),
            Ok(_) if purpose == Purpose::Fresh => Err(io::ErrorKind::AlreadyExists.into()),
            Ok(file) => regular(file).map(drop),
        }
    }

    /// A shared folder for sockets and similar paths.
    pub(crate) fn open_folder(folder: Option<&Path>) -> Result<Rc<Root>, Error> {
        Root::named(folder.unwrap_or(Path::new("."))).map(Rc::new)
    }

    /// Opens a folder; an error names it.
    pub(crate) fn named(folder: &Path) -> Result<Root, Error> {
        Root::new(folder).map_err(|error| {
            Error::Start(format!("{}: cannot be the root: {error}", folder.display()))
        })
    }

    /// Connects to a socket below the folder, without blocking.
    pub(crate) fn connect(&self, name: &[u8]) -> io::Result<UnixStream> {
        let socket = self.beneath(name, OFlags::PATH | OFlags::CLOEXEC)?;
        let stream = socket_with(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            None,
        )?;
        // The kernel connects to the opened inode, whatever has the name now.
        let address = SocketAddrUnix::new(format!("/proc/self/fd/{}", socket.as_raw_fd()))?;
        connect(&stream, &address)?;
        Ok(UnixStream::from(stream))
    }

    /// Whether the name exists; true if that cannot be determined.
    pub(crate) fn has(&self, name: &[u8]) -> bool {
        !matches!(self.beneath(name, OFlags::PATH | OFlags::CLOEXEC), Err(Errno::NOENT))
    }

    /// Renames a file within its folder, atomically.
    pub(crate) fn rename(&self, from: &[u8], to: &[u8], over: Replaces) -> io::Result<()> {
        let (folder, last) = split(from);
        let (_, new) = split(to);
        let folder = self.beneath(folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC)?;
        match over {
            Replaces::Others => renameat(&folder, last, &folder, new)?,
            Replaces::Nothing => {
                let renamed = renameat_with(&folder, last, &folder, new, RenameFlags::NOREPLACE);
                match renamed {
                    // Not every file system supports the flag.
                    Err(Errno::INVAL | Errno::NOSYS) if !self.has(to) => {
                        renameat(&folder, last, &folder, new)?;
                    }
                    other => other?,
                }
            }
        }
        Ok(())
    }

    /// Listens at a new socket in a folder below.
    pub(crate) fn listen(&self, name: &[u8]) -> io::Result<Listener> {
        let (folder, last) = split(name);
        if matches!(last, b"" | b"." | b"..") {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no name for a socket"));
        }
        let folder = self.beneath(folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC)?;
        let path = [format!("/proc/self/fd/{}/", folder.as_raw_fd()).as_bytes(), last].concat();
        let listener = UnixListener::bind(OsStr::from_bytes(&path))?;
        listener.set_nonblocking(true)?;
        Ok(Listener { listener, folder, name: last.to_vec() })
    }

    fn beneath(&self, name: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let mode = if flags.contains(OFlags::CREATE) { Mode::from(0o666) } else { Mode::empty() };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        match openat2(&self.folder, name, flags, mode, resolve) {
            // Older kernels lack `openat2`, and some sandboxes forbid unknown system calls.
            Err(Errno::NOSYS | Errno::INVAL) => self.step_by_step(name, flags, mode),
            other => other,
        }
    }

    fn step_by_step(&self, name: &[u8], flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        if name.first() == Some(&b'/') {
            return Err(Errno::XDEV);
        }
        let parts: Vec<&[u8]> =
            name.split(|&byte| byte == b'/').filter(|part| !matches!(*part, b"" | b".")).collect();
        if parts.contains(&b"..".as_slice()) {
            return Err(Errno::XDEV);
        }
        let Some((last, folders)) = parts.split_last() else { return Err(Errno::ISDIR) };
        let mut folder: Option<OwnedFd> = None;
        for part in folders {
            let here = folder.as_ref().map_or(self.folder.as_fd(), AsFd::as_fd);
            let through = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            folder = Some(openat(here, *part, through, Mode::empty())?);
        }
        let here = folder.as_ref().map_or(self.folder.as_fd(), AsFd::as_fd);
        openat(here, *last, flags | OFlags::NOFOLLOW, mode)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;

    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// A folder `in` with a file, a link that stays and links that leave, beside a file outside.
    fn folder(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tidemill-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("in/sub")).expect("folders");
        fs::write(path.join("outside"), "secret").expect("written");
        fs::write(path.join("in/sub/file"), "here").expect("written");
        symlink("sub/file", path.join("in/stays")).expect("a link");
        symlink("../outside", path.join("in/leaves")).expect("a link");
        symlink("..", path.join("in/up")).expect("a link");
        symlink(path.join("outside"), path.join("in/absolute")).expect("a link");
        symlink("../made", path.join("in/dangling")).expect("a link");
        Folder(path)
    }

    #[test]
    fn nothing_leads_out() {
        let folder = folder("confined");
        let root = Root::new(&folder.0.join("in")).expect("a folder");
        assert!(root.open(b"sub/file", Purpose::Existing).is_ok());
        let absolute = folder.0.join("outside").display().to_string();
        let names = ["../outside", "leaves", "up/outside", "absolute", "sub/../../outside"];
        for name in names.into_iter().chain([absolute.as_str(), "/etc/passwd", "", ".", "sub"]) {
            for purpose in [Purpose::Existing, Purpose::New] {
                assert!(root.open(name.as_bytes(), purpose).is_err(), "{name}");
                let flags = ALWAYS | OFlags::RDWR;
                let opened = root.step_by_step(name.as_bytes(), flags, Mode::empty());
                assert!(opened.is_err(), "{name}, step by step");
            }
        }
        assert!(root.open(b"dangling", Purpose::New).is_err());
        assert!(!folder.0.join("made").exists());
        assert_eq!(fs::read(folder.0.join("outside")).expect("read"), b"secret");
    }

    #[test]
    fn a_file_gets_its_name_when_it_is_whole() {
        let folder = folder("renamed");
        let root = Root::new(&folder.0.join("in")).expect("a folder");
        let make = |name: &str| root.open(name.as_bytes(), Purpose::Fresh).map(drop);
        make("sub/new.part").expect("made");
        assert!(make("sub/new.part").is_err() && make("leaves").is_err());
        assert!(root.rename(b"sub/new.part", b"sub/file", Replaces::Nothing).is_err());
        root.rename(b"sub/new.part", b"sub/new", Replaces::Nothing).expect("renamed");
        assert!(root.has(b"sub/new") && !root.has(b"sub/new.part"));
        root.rename(b"sub/new", b"sub/file", Replaces::Others).expect("renamed");
        assert_eq!(fs::read(folder.0.join("in/sub/file")).expect("read"), b"");
        assert!(root.rename(b"up/outside", b"up/taken", Replaces::Others).is_err());
    }

    #[test]
    fn without_the_kernels_help_no_link_is_followed() {
        let folder = folder("steps");
        let root = Root::new(&folder.0.join("in")).expect("a folder");
        let flags = ALWAYS | OFlags::RDWR;
        assert!(root.step_by_step(b"./sub//file", flags, Mode::empty()).is_ok());
        assert!(root.step_by_step(b"stays", flags, Mode::empty()).is_err());
        assert!(root.step_by_step(b"sub/../sub/file", flags, Mode::empty()).is_err());
    }

    #[test]
    fn pipes_are_refused_without_waiting() {
        let folder = folder("pipes");
        let root = Root::new(&folder.0.join("in")).expect("a folder");
        let made = std::process::Command::new("mkfifo").arg(folder.0.join("in/pipe")).status();
        assert!(made.expect("mkfifo").success());
        assert!(root.open(b"pipe", Purpose::Existing).is_err());
        assert!(root.open(b"pipe", Purpose::New).is_err());
    }
}
