//! The storage of files: the disk or, in simulations, memory over it.
//!
//! A file in memory reads from the disk until it is written to; then it is a copy shared by all
//! that have it open, which the node still has in its next life. The disk never changes.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::rc::Rc;

use tidemill_stdx::ordered::OrderedMap;

use super::confined::{Purpose, Root};

/// The maximum size of the files of a node in memory; beyond it the disk is full.
const BYTES_MAX: u64 = 1 << 28;

/// The storage of the files of a node.
#[derive(Clone, Debug, Default)]
pub(crate) enum Disk {
    /// The disk of the system.
    #[default]
    System,
    /// Memory.
    Memory(Rc<Overlay>),
}

/// The files of a node opened or written in memory.
#[derive(Debug, Default)]
pub(crate) struct Overlay {
    /// By path, without `.` and empty parts.
    files: RefCell<OrderedMap<Vec<u8>, Rc<RefCell<Content>>>>,
    bytes: Cell<u64>,
}

#[derive(Debug)]
pub(super) enum Content {
    Disk(File),
    Memory(Vec<u8>),
}

/// An open file.
pub(super) enum Body {
    Disk(File),
    Memory(Rc<Overlay>, Rc<RefCell<Content>>),
}

impl Disk {
    /// Opens a file.
    ///
    /// # Errors
    /// As [`Root::open`]; in memory a file can be created wherever its folder exists.
    pub(super) fn open(&self, root: &Root, name: &[u8], purpose: Purpose) -> io::Result<Body> {
        let Disk::Memory(overlay) = self else { return root.open(name, purpose).map(Body::Disk) };
        let path = normal(name);
        let mut files = overlay.files.borrow_mut();
        let content = match (files.get(&path), purpose) {
            (Some(content), Purpose::Existing) => content.clone(),
            (Some(_), Purpose::Fresh) => return Err(ErrorKind::AlreadyExists.into()),
            (Some(content), Purpose::New) => {
                let content = content.clone();
                overlay.replace(&mut content.borrow_mut(), Vec::new())?;
                content
            }
            (None, Purpose::Existing) => {
                Rc::new(RefCell::new(Content::Disk(root.open_to_read(name)?)))
            }
            (None, Purpose::New | Purpose::Fresh) => {
                root.check_new(name, purpose)?;
                Rc::new(RefCell::new(Content::Memory(Vec::new())))
            }
        };
        files.insert(path, content.clone());
        Ok(Body::Memory(overlay.clone(), content))
    }
}

/// Normalises a path for lookup: paths to one file that differ in no link become equal.
fn normal(name: &[u8]) -> Vec<u8> {
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in name.split(|&byte| byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." if parts.last().is_some_and(|last| *last != b"..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join(&b'/')
}

impl Overlay {
    /// Replaces the contents of a file, if there is room.
    fn replace(&self, content: &mut Content, bytes: Vec<u8>) -> io::Result<()> {
        let before = match content {
            Content::Disk(_) => 0,
            Content::Memory(bytes) => bytes.len() as u64,
        };
        let after = self.bytes.get().saturating_sub(before).saturating_add(bytes.len() as u64);
        if after > BYTES_MAX {
            return Err(ErrorKind::StorageFull.into());
        }
        self.bytes.set(after);
        *content = Content::Memory(bytes);
        Ok(())
    }

    fn write_all_at(&self, content: &mut Content, bytes: &[u8], offset: u64) -> io::Result<()> {
        if let Content::Disk(file) = content {
            let length = file.metadata()?.len();
            if length > BYTES_MAX {
                return Err(ErrorKind::StorageFull.into());
            }
            let mut copy = vec![0; length as usize];
            file.read_exact_at(&mut copy, 0)?;
            self.replace(content, copy)?;
        }
        if let Content::Memory(all) = content {
            let before = all.len() as u64;
            let end = offset.saturating_add(bytes.len() as u64).max(before);
            let used = self.bytes.get().saturating_add(end - before);
            if used > BYTES_MAX {
                return Err(ErrorKind::StorageFull.into());
            }
            self.bytes.set(used);
            all.resize(end as usize, 0);
            all[offset as usize..][..bytes.len()].copy_from_slice(bytes);
        }
        Ok(())
    }
}

impl Body {
    /// Its length in bytes.
    pub(super) fn length(&self) -> u64 {
        let on_disk = |file: &File| file.metadata().map_or(0, |known| known.len());
        match self {
            Body::Disk(file) => on_disk(file),
            Body::Memory(_, content) => match &*content.borrow() {
                Content::Disk(file) => on_disk(file),
                Content::Memory(bytes) => bytes.len() as u64,
            },
        }
    }

    /// Reads some bytes at an offset; none at the end.
    pub(super) fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Body::Disk(file) => file.read_at(buffer, offset),
            Body::Memory(_, content) => match &*content.borrow() {
                Content::Disk(file) => file.read_at(buffer, offset),
                Content::Memory(bytes) => {
                    let start = usize::try_from(offset).unwrap_or(usize::MAX);
                    let rest = bytes.get(start..).unwrap_or_default();
                    let count = rest.len().min(buffer.len());
                    buffer[..count].copy_from_slice(&rest[..count]);
                    Ok(count)
                }
            },
        }
    }

    /// Writes bytes at an offset; a gap after the old end is zero.
    pub(super) fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        match self {
            Body::Disk(file) => file.write_all_at(bytes, offset),
            Body::Memory(overlay, content) => {
                overlay.write_all_at(&mut content.borrow_mut(), bytes, offset)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &Body) -> Vec<u8> {
        let mut bytes = vec![0; body.length() as usize];
        assert_eq!(body.read_at(&mut bytes, 0).expect("it can be read"), bytes.len());
        bytes
    }

    #[test]
    fn files_in_memory_are_copies_that_all_share() {
        let folder = std::env::temp_dir().join(format!("tidemill-disk-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("old"), "abc").expect("written");
        let root = Root::new(&folder).expect("a root");
        let disk = Disk::Memory(Rc::default());
        let open = |name: &str, purpose| disk.open(&root, name.as_bytes(), purpose);

        let one = open("old", Purpose::Existing).expect("it is there");
        let other = open("./old", Purpose::Existing).expect("it is there");
        assert_eq!(read(&one), b"abc");
        one.write_all_at(b"XY", 2).expect("there is room");
        assert_eq!((read(&one), read(&other)), (b"abXY".to_vec(), b"abXY".to_vec()));

        let new = open("new", Purpose::New).expect("it can be made");
        new.write_all_at(b"z", 2).expect("there is room");
        drop(new);
        assert_eq!(read(&open("new", Purpose::Existing).expect("it stays")), b"\0\0z");
        assert_eq!(read(&open("new", Purpose::New).expect("it is emptied")), b"");
        assert!(open("none", Purpose::Existing).is_err());
        assert!(open("no/folder", Purpose::New).is_err());
        assert!(open("../out", Purpose::New).is_err());
        assert!(one.write_all_at(b"z", BYTES_MAX).is_err());
        assert_eq!(read(&other), b"abXY");

        assert_eq!(std::fs::read(folder.join("old")).expect("read"), b"abc");
        assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 1);
        std::fs::remove_dir_all(&folder).expect("it is there");
    }
}
