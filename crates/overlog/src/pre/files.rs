//! Sources of files.

use std::io::{Error, ErrorKind, Result};
use std::path::{Component, Path, PathBuf};

use tidemill_stdx::sorted::SortedMap;

/// Reads source files; tests and editors bring their own.
pub trait Files {
    /// The text of the file at `path`; [`ErrorKind::NotFound`] where there is none.
    fn read(&self, path: &Path) -> Result<String>;
}

/// The files of the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Files for Disk {
    fn read(&self, path: &Path) -> Result<String> {
        std::fs::read_to_string(path)
    }
}

/// No files: for texts that must not include any.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &Path) -> Result<String> {
        Err(Error::new(ErrorKind::Unsupported, "rules that are installed cannot include files"))
    }
}

/// Files in memory, by path.
#[derive(Clone, Debug, Default)]
pub struct MemoryFiles {
    files: SortedMap<PathBuf, String>,
}

impl MemoryFiles {
    /// Adds or replaces a file.
    pub fn add(&mut self, path: impl AsRef<Path>, text: impl Into<String>) {
        self.files.insert(normal(path.as_ref()), text.into());
    }
}

impl Files for MemoryFiles {
    fn read(&self, path: &Path) -> Result<String> {
        let found = self.files.get(&normal(path)).cloned();
        found.ok_or_else(|| Error::new(ErrorKind::NotFound, "no such file"))
    }
}

/// The path without `.` and without `x/..`, so that one file has one path.
pub(super) fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(out.components().next_back(), Some(Component::Normal(_))) =>
            {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}
