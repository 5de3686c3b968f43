//! Files that tuples are written to: what `sink` and the app `Decode` share.
//!
//! ```text
//! tuple -> [Files: rotation, faults, counters] -> [Open: one file] -> lines | frames | parquet
//! ```
//! The buffer is bounded and written each second (Parquet at its end). A name with `%` means a file
//! per period, which has the suffix `.part` until it is complete. A write error stops these files,
//! and nothing else.

mod column;
mod lines;
mod name;
mod open;
#[cfg(not(feature = "arrow"))]
#[path = "no_parquet.rs"]
mod parquet;
#[cfg(feature = "arrow")]
mod parquet;

use std::path::{Path, PathBuf};
use std::rc::Rc;

use tidemill_relation::Value;
use tidemill_stat::{Counter, Registry};
use tidemill_stdx::marks;

use super::latency::Latency;
use crate::components::system::confined::Root;
use crate::error::Error;
pub use column::Column;
pub(crate) use column::Existing;
use column::WriteError;
pub use name::{BadName, FileForm, FileName};
use open::Open;

/// The folder of files, and what to do with existing ones.
#[derive(Clone)]
pub(crate) struct Destination {
    pub(crate) root: Rc<Root>,
    pub(crate) existing: Existing,
}

/// The folders of the files of a run: one for all, or one for each of several nodes.
pub(crate) struct Folders {
    base: PathBuf,
    nodes: u32,
    existing: Existing,
    /// The open ones: all, or none as long as nothing is to be written.
    places: Vec<Destination>,
}

impl Folders {
    /// The folders for some nodes. That of a single node is opened now: later the process may not
    /// reach it. Several have folders below it by their numbers, which are made when needed.
    ///
    /// # Errors
    /// There is no such folder.
    pub(crate) fn open(
        base: Option<&Path>,
        nodes: u32,
        existing: Existing,
    ) -> Result<Folders, Error> {
        let base = base.unwrap_or(Path::new(".")).to_owned();
        let mut folders = Folders { base, nodes, existing, places: Vec::new() };
        if nodes <= 1 {
            folders.places()?;
        }
        Ok(folders)
    }

    /// What to do with existing files.
    pub(crate) fn existing(&self) -> Existing {
        self.existing
    }

    /// The folder of each node, or that of all.
    ///
    /// # Errors
    /// A folder cannot be made.
    pub(crate) fn places(&mut self) -> Result<&[Destination], Error> {
        let existing = self.existing;
        if self.places.is_empty() && self.nodes <= 1 {
            let root = Root::open_folder(Some(&self.base))?;
            self.places.push(Destination { root, existing });
        } else if self.places.is_empty() {
            let place = |node| {
                let root = Root::open_folder(Some(&node_folder(&self.base, node)?))?;
                Ok(Destination { root, existing })
            };
            self.places = (0..self.nodes).map(place).collect::<Result<_, Error>>()?;
        }
        Ok(&self.places)
    }
}

/// The folder of one of several nodes, which is made if it is not there.
///
/// # Errors
/// It cannot be made.
pub(crate) fn node_folder(root: &Path, node: u32) -> Result<PathBuf, Error> {
    let folder = root.join(node.to_string());
    std::fs::create_dir_all(&folder).map_err(|error| {
        Error::Start(format!("{}: no folder for node {node}: {error}", folder.display()))
    })?;
    Ok(folder)
}

/// A file that tuples are written to, or a sequence of files by time.
pub(crate) struct Files {
    name: FileName,
    columns: Vec<Column>,
    counters: Rc<Counters>,
    latency: Latency,
    /// The arrival time of the first buffered tuple.
    since_ns: Option<i64>,
    state: FilesState,
    /// The second for which the name was last computed.
    second: i64,
}

enum FilesState {
    /// Before the run, or finished.
    Closed,
    /// The current file, if there is one.
    Open(Destination, Option<Open>),
    /// A write has failed.
    Stopped,
}

/// `border/<name>/tuples` and so on.
struct Counters {
    tuples: Counter,
    written: Counter,
    dropped: Counter,
    wrong_type: Counter,
    files: Counter,
    faults: Counter,
}

impl Files {
    /// Closed files with counters under `name`.
    pub(crate) fn new(
        name: FileName,
        columns: Vec<Column>,
        registry: &Registry,
        border: &str,
    ) -> Files {
        let counter = |name: &str| registry.counter(&format!("border/{border}/{name}"));
        let counters = Rc::new(Counters {
            tuples: counter("tuples"),
            written: counter("written"),
            dropped: counter("dropped_unwritable"),
            wrong_type: counter("dropped_wrong_type"),
            files: counter("files"),
            faults: counter("faults"),
        });
        let latency = Latency::new(registry, border);
        let (state, second) = (FilesState::Closed, i64::MIN);
        Files { name, columns, counters, latency, since_ns: None, state, second }
    }

    /// Closed files of the same name in another folder, which share the counters.
    pub(crate) fn elsewhere(&self) -> Files {
        let (name, columns) = (self.name.clone(), self.columns.clone());
        let (counters, latency) = (self.counters.clone(), self.latency.clone());
        let (state, second) = (FilesState::Closed, i64::MIN);
        Files { name, columns, counters, latency, since_ns: None, state, second }
    }

    /// Opens the file; one named by time opens with the first tuple. Returns the error.
    pub(crate) fn open(&mut self, place: Destination, time_ns: i64) -> Option<String> {
        self.state = FilesState::Open(place, None);
        if self.name.rotates() { None } else { self.attempt(|files| files.file(time_ns).map(drop)) }
    }

    /// Whether these files have this name and these columns.
    pub(crate) fn are(&self, name: &FileName, columns: &[Column]) -> bool {
        self.name == *name && self.columns == columns
    }

    /// Whether they have not been opened, or are finished.
    pub(crate) fn are_closed(&self) -> bool {
        matches!(self.state, FilesState::Closed)
    }

    /// Writes a tuple. Returns the first error.
    pub(crate) fn write(&mut self, time_ns: i64, values: &[Value<'_>]) -> Option<String> {
        self.counters.tuples.add(1);
        if !matches!(self.state, FilesState::Open(..)) {
            self.counters.dropped.add(1);
            return None;
        }
        let mut is_taken = false;
        let fault = self.attempt(|files| {
            files.file(time_ns)?;
            let FilesState::Open(_, Some(open)) = &mut files.state else { return Ok(()) };
            let before = open.waiting;
            marks::arrive("files/record");
            let written = open.write(&files.columns, values, time_ns);
            is_taken = open.waiting > before;
            written
        });
        if fault.is_some() && !is_taken {
            self.counters.dropped.add(1);
        }
        self.since_ns.get_or_insert(time_ns);
        self.count_flushed(Some(time_ns));
        fault
    }

    /// Writes the buffer, and ends the file if its period is over. Returns the first error.
    pub(crate) fn tick(&mut self, time_ns: i64) -> Option<String> {
        let fault = self.attempt(|files| {
            files.rotate(time_ns)?;
            match &mut files.state {
                FilesState::Open(_, Some(open)) => open.flush(),
                _ => Ok(()),
            }
        });
        self.count_flushed(Some(time_ns));
        fault
    }

    /// Ends the file. Returns the first error.
    pub(crate) fn finish(&mut self) -> Option<String> {
        let fault = self.attempt(Files::end);
        if fault.is_none() && matches!(self.state, FilesState::Open(..)) {
            self.state = FilesState::Closed;
        }
        fault
    }

    /// A report of lost tuples, at the end of a run.
    pub(crate) fn problem(&self) -> Option<String> {
        let Counters { tuples, dropped, wrong_type, faults, .. } = &*self.counters;
        let lost = dropped.get() + wrong_type.get();
        (lost + faults.get() > 0)
            .then(|| format!("{}: {lost} of {} tuples were not written", self.name, tuples.get()))
    }

    /// Makes sure that the file of a time is open.
    fn file(&mut self, time_ns: i64) -> Result<(), WriteError> {
        self.rotate(time_ns)?;
        if let FilesState::Open(place, file @ None) = &mut self.state {
            let Destination { root, existing } = place;
            *file = Some(Open::new(root, &self.name, time_ns, &self.columns, *existing)?);
            self.counters.files.add(1);
        }
        Ok(())
    }

    /// Ends the open file if its period is over.
    fn rotate(&mut self, time_ns: i64) -> Result<(), WriteError> {
        let second = time_ns.div_euclid(1_000_000_000);
        if second == self.second || !self.name.rotates() {
            return Ok(());
        }
        let is_over =
            self.name.at(self.second.saturating_mul(1_000_000_000)) != self.name.at(time_ns);
        self.second = second;
        if is_over { self.end() } else { Ok(()) }
    }

    fn end(&mut self) -> Result<(), WriteError> {
        let FilesState::Open(place, file) = &mut self.state else { return Ok(()) };
        let Some(mut open) = file.take() else { return Ok(()) };
        let flushed = open.flush();
        self.counters.written.add(open.take_flushed());
        let waiting = open.waiting;
        let ended = flushed.and_then(|()| open.finish(&place.root));
        match ended {
            Ok(()) => self.counters.written.add(waiting),
            Err(_) => self.counters.dropped.add(waiting),
        }
        ended
    }

    /// Runs an operation on the file; an error stops the files.
    fn attempt(
        &mut self,
        what: impl FnOnce(&mut Files) -> Result<(), WriteError>,
    ) -> Option<String> {
        match what(self) {
            Ok(()) => None,
            Err(WriteError::Misfit) => {
                self.counters.wrong_type.add(1);
                None
            }
            Err(WriteError::Failed(reason)) => {
                self.count_flushed(None);
                if let FilesState::Open(_, Some(open)) = &self.state {
                    self.counters.dropped.add(open.waiting);
                }
                self.state = FilesState::Stopped;
                self.counters.faults.add(1);
                Some(format!("cannot write `{}`: {reason}", self.name))
            }
        }
    }

    /// Counts written tuples, and their latency if the time is known.
    fn count_flushed(&mut self, time_ns: Option<i64>) {
        let FilesState::Open(_, Some(open)) = &mut self.state else { return };
        let flushed = open.take_flushed();
        if flushed == 0 {
            return;
        }
        self.counters.written.add(flushed);
        if let (Some(since_ns), Some(time_ns)) = (self.since_ns.take(), time_ns) {
            self.latency.record_wall(since_ns, time_ns);
        }
    }
}
