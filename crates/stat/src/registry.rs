//! Makes the files and hands out what is in them.

use crate::chunk::Chunk;
use crate::counter::Counter;
use crate::decode::Decoder;
use crate::histogram::Histogram;
use crate::layout::{Header, Kind, Shape};
use crate::log::RingLog;
use crate::place;
use crate::snapshot::Snapshot;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{Mode, OFlags};

/// No more files of one kind than this in the folder of a process; what comes after is kept in
/// memory.
const FILES_MAX: usize = 1024;

/// Makes counters, histograms and logs; clones are the same registry.
///
/// Making one never fails: what cannot be had in files is kept in memory, where
/// [`Registry::snapshot`] still sees it, and [`Registry::problem`] tells why.
#[derive(Clone)]
pub struct Registry(Arc<Shared>);

struct Shared {
    pid: u32,
    start_ticks: u64,
    directory: Option<PathBuf>,
    /// The folder, where it can be given to another user: then `directory` names this descriptor.
    folder: Option<OwnedFd>,
    /// A lock, as loops of several threads register here. Counting takes none.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Full files and others, in the order in which they were made.
    chunks: Vec<Slots>,
    /// The number of the next file, by kind; others of this process may have taken it.
    next_file: [usize; Kind::ALL.len()],
    problem: Option<String>,
    /// Where the folder is, if `directory` is a descriptor.
    path: Option<PathBuf>,
    /// What the names of counters begin with that are kept when they are dropped.
    keeps: Option<&'static str>,
    /// What these have come to, by name.
    kept: BTreeMap<String, u64>,
}

/// A chunk and its free slots.
struct Slots {
    chunk: Arc<Chunk>,
    /// The lowest is last, to be taken first.
    free: Vec<usize>,
}

/// A slot that has one owner; free again when dropped.
pub(crate) struct Slot {
    chunk: Arc<Chunk>,
    index: usize,
    registry: Registry,
}

impl Registry {
    /// In files at the usual place, see [`place::base`]; removes what dead processes left there.
    pub fn open() -> Registry {
        match place::base() {
            Ok(base) => Registry::open_in(&base),
            Err(problem) => Registry::with(None, Some(problem)),
        }
    }

    /// In files under `base/<pid>/`; removes what dead processes left under `base`.
    pub fn open_in(base: &Path) -> Registry {
        place::clean(base);
        let directory = base.join(std::process::id().to_string());
        match place::create_private(&directory) {
            Ok(()) => Registry::with(Some(directory), None),
            Err(error) => Registry::with(None, Some(format!("{}: {error}", directory.display()))),
        }
    }

    /// As [`Registry::open`], for a process of root that will go on as another user: its folder can
    /// be given to that user by [`Registry::give_to`].
    pub fn open_to_give() -> Registry {
        match Registry::try_open_to_give() {
            Ok(registry) => registry,
            Err(error) => Registry::with(None, Some(format!("no folder for counters: {error}"))),
        }
    }

    fn try_open_to_give() -> io::Result<Registry> {
        let base = place::temporary(rustix::process::getuid().as_raw());
        place::create_private(&base)?;
        place::clean(&base);
        let path = base.join(std::process::id().to_string());
        place::create_private(&path)?;
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(&path, flags, Mode::empty())?;
        // A name that stays when the folder moves.
        let directory = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        Ok(Registry::in_folder(
            Some(directory),
            Some(folder),
            State { path: Some(path), ..State::default() },
        ))
    }

    /// Gives the folder to a user, whose tools find it then.
    ///
    /// # Errors
    /// It was not [opened for that](Registry::open_to_give), or what the system reports: then the
    /// files may be the user's, and not be found.
    pub fn give_to(&self, (uid, gid): (u32, u32)) -> io::Result<()> {
        let mut state = self.state();
        let (Some(folder), Some(path)) = (&self.0.folder, &state.path) else {
            return Err(io::Error::other("there is no folder to give"));
        };
        let base = path.parent().unwrap_or(Path::new("/"));
        state.path = Some(place::give(folder, base, self.0.pid, (uid, gid))?);
        Ok(())
    }

    /// Removes what dead processes left where [`Registry::give_to`] has moved the folder; for a
    /// process that has become that user.
    pub fn clean_given(&self) {
        let path = self.state().path.clone();
        path.as_deref().and_then(Path::parent).into_iter().for_each(place::clean_others);
    }

    /// In memory only: for simulations, which may leave no traces, and for tests.
    pub fn in_memory() -> Registry {
        Registry::with(None, None)
    }

    /// In memory only, where counters whose names begin with `prefix` still count in
    /// [`Registry::snapshot`] after they were dropped: for what comes and goes, such as nodes.
    pub fn keeping(prefix: &'static str) -> Registry {
        Registry::in_folder(None, None, State { keeps: Some(prefix), ..State::default() })
    }

    fn with(directory: Option<PathBuf>, problem: Option<String>) -> Registry {
        Registry::in_folder(directory, None, State { problem, ..State::default() })
    }

    fn in_folder(directory: Option<PathBuf>, folder: Option<OwnedFd>, state: State) -> Registry {
        let pid = std::process::id();
        Registry(Arc::new(Shared {
            pid,
            start_ticks: place::start_ticks(pid).unwrap_or(0),
            directory,
            folder,
            state: Mutex::new(state),
        }))
    }

    /// A counter, at 0.
    pub fn counter(&self, name: &str) -> Counter {
        Counter::new(self.slot(Shape::COUNTERS, name))
    }

    /// A histogram without values.
    pub fn histogram(&self, name: &str) -> Histogram {
        Histogram::new(self.slot(Shape::HISTOGRAMS, name))
    }

    /// A log that keeps the last `records` records (at least one; 64 MiB at most).
    pub fn log(&self, name: &str, records: usize) -> RingLog {
        RingLog::new(self.slot(Shape::log(records), name))
    }

    /// All that is counted here now.
    pub fn snapshot(&self) -> Snapshot {
        let state = self.state();
        let chunks: Vec<Arc<Chunk>> =
            state.chunks.iter().map(|slots| slots.chunk.clone()).collect();
        let kept = state.kept.clone();
        drop(state);
        let mut decoder = Decoder::new(self.0.pid);
        for chunk in chunks {
            decoder.add("memory", chunk.words());
        }
        let mut snapshot = decoder.finish();
        for (name, count) in kept {
            *snapshot.counters.entry(name).or_default() += count;
        }
        snapshot
    }

    /// The folder of this process, where there is one: also for its control socket.
    pub fn directory(&self) -> Option<&Path> {
        self.0.directory.as_deref()
    }

    /// Why something is kept in memory that should be in files, if so.
    pub fn problem(&self) -> Option<String> {
        self.state().problem.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What a panicking thread leaves is whole: no step in between can panic.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self, shape: Shape, name: &str) -> Slot {
        let mut state = self.state();
        let found = state
            .chunks
            .iter()
            .position(|slots| slots.chunk.shape() == shape && !slots.free.is_empty());
        let found = found.unwrap_or_else(|| {
            let chunk = Arc::new(self.chunk(&mut state, shape));
            state.chunks.push(Slots { chunk, free: (0..shape.slots).rev().collect() });
            state.chunks.len() - 1
        });
        let slots = &mut state.chunks[found];
        let index = slots.free.pop().expect("chosen for its free slots");
        slots.chunk.claim(index, name);
        Slot { chunk: slots.chunk.clone(), index, registry: self.clone() }
    }

    fn chunk(&self, state: &mut State, shape: Shape) -> Chunk {
        let Shared { pid, start_ticks, directory, .. } = &*self.0;
        let header = Header { pid: *pid, start_ticks: *start_ticks, shape };
        let Some(directory) = directory else { return Chunk::in_memory(&header) };
        let next_file = &mut state.next_file[shape.kind.number() as usize - 1];
        match new_file(directory, next_file, &header) {
            Ok(chunk) => chunk,
            Err(error) => {
                state.problem = Some(format!("{}: {error}", directory.display()));
                Chunk::in_memory(&header)
            }
        }
    }

    fn release(&self, chunk: &Arc<Chunk>, index: usize) {
        let mut state = self.state();
        if chunk.shape().kind == Kind::Counters
            && let Some(prefix) = state.keeps
            && let Some(name) = chunk.name(index).filter(|name| name.starts_with(prefix))
        {
            // Relaxed: its one writer is the one who drops it.
            let count = u64::from_le(chunk.data(index)[0].load(Ordering::Relaxed));
            *state.kept.entry(name).or_default() += count;
        }
        chunk.retire(index);
        let same = |slots: &Slots| Arc::ptr_eq(&slots.chunk, chunk);
        let Some(at) = state.chunks.iter().position(same) else { return };
        let slots = &mut state.chunks[at];
        slots.free.push(index);
        // Logs come each with a file of its own: it goes with the log. So do empty files, but
        // for the first of its kind, which may fill again at once.
        let shape = chunk.shape();
        let unused = slots.free.len() == shape.slots;
        let first = state.chunks.iter().position(|slots| slots.chunk.shape().kind == shape.kind);
        if unused && (shape.kind == Kind::Log || first != Some(at)) {
            state.chunks.remove(at);
        }
    }
}

/// The next file of this kind; numbers that others of this process took are left out.
fn new_file(directory: &Path, next: &mut usize, header: &Header) -> io::Result<Chunk> {
    let stem = header.shape.kind.file_stem();
    for _ in 0..FILES_MAX {
        let path = directory.join(format!("{stem}.{}", *next % FILES_MAX));
        *next += 1;
        match Chunk::in_file(&path, header) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => return other,
        }
    }
    Err(io::Error::other(format!("{FILES_MAX} files of {stem} already")))
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The files first; then the folder, which stays if it holds something else.
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.chunks.clear();
        if let Some(directory) = state.path.as_ref().or(self.directory.as_ref()) {
            let _ = fs::remove_dir(directory);
        }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("directory", &self.0.directory)
            .field("problem", &self.problem())
            .finish_non_exhaustive()
    }
}

impl Slot {
    pub(crate) fn data(&self) -> &[AtomicU64] {
        self.chunk.data(self.index)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.registry.release(&self.chunk, self.index);
    }
}

#[cfg(test)]
pub(crate) mod tests;
