//! The files of operators: a folder of the system, or memory in tests and simulations.

use std::io::{Cursor, Error, ErrorKind, Read, Result};
use std::path::PathBuf;
use std::sync::Arc;

use tidemill_event::Input;
use tidemill_stdx::sorted::SortedMap;

/// Opens files for operators.
pub trait DataFiles: Send + Sync {
    /// The contents of the file of this name, from its start. Reading must not block: what is
    /// still to be written is [`ErrorKind::WouldBlock`].
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] where there is none, or the system's error.
    fn open(&self, path: &str) -> Result<Box<dyn Read + Send>>;

    /// Whether the contents come as they are written, as those of a pipe, so that they depend on
    /// when they are read.
    fn is_live(&self, path: &str) -> bool {
        let _ = path;
        false
    }
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
        let mut path = self.path.join(path);
        // Not of all files, as the pipe behind `/dev/stdin` has no canonical path.
        if self.bounds == Bounds::Inside {
            path = path.canonicalize()?;
            if !path.starts_with(self.path.canonicalize()?) {
                let text = format!("not inside {}", self.path.display());
                return Err(Error::new(ErrorKind::PermissionDenied, text));
            }
        }
        Ok(Box::new(Input::open(&path)?))
    }

    fn is_live(&self, path: &str) -> bool {
        Input::is_live_at(&self.path.join(path))
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
