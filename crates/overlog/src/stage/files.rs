//! The files of operators: a folder of the system, or memory in tests and simulations.

use std::fs::File;
use std::io::{Cursor, Error, ErrorKind, Read, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tidemill_stdx::sorted::SortedMap;

/// Opens files for operators.
pub trait DataFiles: Send + Sync {
    /// The contents of the file of this name, from its start.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] where there is none, or the system's error.
    fn open(&self, path: &str) -> Result<Box<dyn Read + Send>>;
}

/// Files of the system; names that are no absolute paths start at one folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Folder {
    path: PathBuf,
    bounds: Bounds,
}

/// The files that a [`Folder`] opens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bounds {
    Everything,
    Inside,
}

impl Folder {
    /// All files that the process may read.
    pub fn new(path: impl Into<PathBuf>) -> Folder {
        Folder { path: path.into(), bounds: Bounds::Everything }
    }

    /// Only files that lie inside the folder, links followed.
    pub fn confined(path: impl Into<PathBuf>) -> Folder {
        Folder { path: path.into(), bounds: Bounds::Inside }
    }
}

impl DataFiles for Folder {
    fn open(&self, path: &str) -> Result<Box<dyn Read + Send>> {
        let path = self.path.join(path).canonicalize()?;
        if self.bounds == Bounds::Inside && !path.starts_with(self.path.canonicalize()?) {
            let folder = self.path.display();
            return Err(Error::new(ErrorKind::PermissionDenied, format!("not inside {folder}")));
        }
        // Opening a pipe or a terminal would block until its other end is open.
        if !Path::metadata(&path)?.is_file() {
            return Err(Error::new(ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok(Box::new(File::open(path)?))
    }
}

/// Files in memory, by name.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    files: SortedMap<String, Arc<[u8]>>,
}

impl Memory {
    /// Adds or replaces a file.
    #[must_use]
    pub fn with(mut self, path: impl Into<String>, contents: impl AsRef<[u8]>) -> Memory {
        self.files.insert(path.into(), contents.as_ref().into());
        self
    }
}

impl DataFiles for Memory {
    fn open(&self, path: &str) -> Result<Box<dyn Read + Send>> {
        let contents = self.files.get(path).cloned();
        let contents = contents.ok_or_else(|| Error::new(ErrorKind::NotFound, "no such file"))?;
        Ok(Box::new(Cursor::new(contents)))
    }
}
