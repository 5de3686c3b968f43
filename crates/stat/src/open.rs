//! Opens the files of a process for reading.

use crate::decode::Decoder;
use crate::layout::SlotKind;
use crate::place;
use crate::snapshot::Snapshot;
use std::fs::{self, File};
use std::path::Path;
use std::{fmt, io};

/// Files of one process that a reader looks at; more are left out and reported.
const FILES_MAX: usize = 4096;

/// Why there is nothing to read of a process.
#[derive(Debug)]
pub enum OpenError {
    /// No such process, or none that counts.
    NotFound(u32),
    /// Its folder cannot be read.
    Unreadable(u32, io::Error),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::NotFound(pid) => write!(f, "process {pid} has no counters here"),
            OpenError::Unreadable(pid, error) => {
                write!(f, "the counters of process {pid} cannot be read: {error}")
            }
        }
    }
}

impl std::error::Error for OpenError {}

impl Snapshot {
    /// Reads what a process of this user counts.
    ///
    /// # Errors
    /// If it has no folder, or one that cannot be read. Files that cannot be read or are malformed
    /// are left out and listed in [`Snapshot::problems`].
    pub fn open(pid: u32) -> Result<Snapshot, OpenError> {
        Snapshot::open_in(&place::base_of(pid), pid)
    }

    /// As [`open`](Snapshot::open), with the folders of processes under `base`.
    ///
    /// # Errors
    /// As [`open`](Snapshot::open).
    pub fn open_in(base: &Path, pid: u32) -> Result<Snapshot, OpenError> {
        let directory = base.join(pid.to_string());
        let entries = fs::read_dir(&directory).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => OpenError::NotFound(pid),
            _ => OpenError::Unreadable(pid, error),
        })?;
        let mut paths: Vec<_> = entries
            .flatten()
            .filter(|entry| is_ours(&entry.file_name().to_string_lossy()))
            .map(|entry| entry.path())
            .collect();
        paths.sort();
        let mut decoder = Decoder::new(pid);
        if paths.len() > FILES_MAX {
            decoder.problem(&directory.display(), &format!("more than {FILES_MAX} files"));
            paths.truncate(FILES_MAX);
        }
        for path in paths {
            // A link could lead anywhere, and a pipe could block.
            match fs::symlink_metadata(&path) {
                Ok(metadata) if !metadata.is_file() => {
                    decoder.problem(&path.display(), &"not a plain file");
                    continue;
                }
                // Gone since the folder was read, as files may.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                _ => {}
            }
            match File::open(&path) {
                Ok(file) => decoder.add(path.display(), &file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => decoder.problem(&path.display(), &error),
            }
        }
        Ok(decoder.finish())
    }
}

/// True for `counters.0` and the like; other files, such as the control socket, are no concern.
fn is_ours(name: &str) -> bool {
    SlotKind::ALL.into_iter().any(|kind| {
        let number = name.strip_prefix(kind.file_stem()).and_then(|rest| rest.strip_prefix('.'));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    })
}
