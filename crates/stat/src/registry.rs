//! Makes counters, histograms and logs, in the folder of the process or in memory.

use crate::chunk::Chunk;
use crate::counter::Counter;
use crate::decode::Decoder;
use crate::histogram::Histogram;
use crate::layout::{Shape, SlotKind};
use crate::log::RingLog;
use crate::place::{self, PlaceError};
use crate::slots::{SlotTable, TableState};
use crate::snapshot::Snapshot;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::fs::{Mode, OFlags};

/// Makes counters, histograms and logs; clones are the same registry.
///
/// Making one never fails: what cannot be in files is kept in memory, where [`Registry::snapshot`]
/// still sees it, and [`Registry::problem`] reports why.
#[derive(Clone)]
pub struct Registry(Arc<SlotTable>);

impl Registry {
    /// In files at the usual place, see [`place::base`]; removes what dead processes left there.
    pub fn open() -> Registry {
        match place::base() {
            Ok(base) => Registry::open_in(&base),
            Err(error) => Registry::with(None, Some(error.to_string())),
        }
    }

    /// In files under `base/<pid>/`; removes what dead processes left under `base`.
    pub fn open_in(base: &Path) -> Registry {
        place::clean(base);
        let directory = base.join(std::process::id().to_string());
        match place::create_private(&directory) {
            Ok(()) => Registry::with(Some(directory), None),
            Err(error) => {
                let problem = PlaceError { path: directory, error };
                Registry::with(None, Some(problem.to_string()))
            }
        }
    }

    /// As [`Registry::open`], for a process of root that will continue as another user: its folder
    /// can be given to that user by [`Registry::give_to`].
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
            TableState { path: Some(path), ..TableState::default() },
        ))
    }

    /// Gives the folder to a user, whose tools find it then.
    ///
    /// # Errors
    /// It was not [opened for that](Registry::open_to_give), or what the system reports: then the
    /// files may be the user's, and not be found.
    pub fn give_to(&self, (uid, gid): (u32, u32)) -> io::Result<()> {
        let mut state = self.0.state();
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
        let path = self.0.state().path.clone();
        path.as_deref().and_then(Path::parent).into_iter().for_each(place::clean_others);
    }

    /// In memory only: for simulations, which may leave no traces, and for tests.
    pub fn in_memory() -> Registry {
        Registry::with(None, None)
    }

    /// In memory only, where counters whose names begin with `prefix` still count in
    /// [`Registry::snapshot`] after they were dropped: for short-lived things, such as nodes.
    pub fn keeping(prefix: &'static str) -> Registry {
        Registry::in_folder(None, None, TableState { keeps: Some(prefix), ..TableState::default() })
    }

    fn with(directory: Option<PathBuf>, problem: Option<String>) -> Registry {
        Registry::in_folder(directory, None, TableState { problem, ..TableState::default() })
    }

    fn in_folder(
        directory: Option<PathBuf>,
        folder: Option<OwnedFd>,
        state: TableState,
    ) -> Registry {
        let pid = std::process::id();
        Registry(Arc::new(SlotTable {
            pid,
            start_ticks: place::start_ticks(pid).unwrap_or(0),
            directory,
            folder,
            state: Mutex::new(state),
        }))
    }

    /// A counter, at 0.
    pub fn counter(&self, name: &str) -> Counter {
        Counter::new(self.0.slot(Shape::COUNTERS, name))
    }

    /// A histogram without values.
    pub fn histogram(&self, name: &str) -> Histogram {
        Histogram::new(self.0.slot(Shape::HISTOGRAMS, name))
    }

    /// A log that keeps the last `records` records (at least one; 64 MiB at most).
    pub fn log(&self, name: &str, records: usize) -> RingLog {
        RingLog::new(self.0.slot(Shape::log(records), name))
    }

    /// All current counts.
    pub fn snapshot(&self) -> Snapshot {
        let state = self.0.state();
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

    /// The current values of the counters whose names begin with `prefix`.
    pub fn counters(&self, prefix: &str) -> BTreeMap<String, u64> {
        // Slots are claimed and released under this lock.
        let state = self.0.state();
        let matches = |name: &String| name.starts_with(prefix);
        let kept = state.kept.iter().filter(|(name, _)| matches(name));
        let mut counters: BTreeMap<String, u64> =
            kept.map(|(name, &count)| (name.clone(), count)).collect();
        let chunks = state.chunks.iter().map(|slots| &slots.chunk);
        for chunk in chunks.filter(|chunk| chunk.shape().kind == SlotKind::Counters) {
            let slots = 0..chunk.shape().slots;
            for slot in slots.filter(|&slot| chunk.begins_with(slot, prefix)) {
                if let Some(name) = chunk.name(slot).filter(matches) {
                    let sum = counters.entry(name).or_default();
                    *sum = sum.wrapping_add(chunk.count(slot));
                }
            }
        }
        counters
    }

    /// Keeps all that exists now as it is, until the result is dropped: of what its owners drop
    /// meanwhile the last counts can still be read.
    pub fn hold(&self) -> Held {
        self.0.hold();
        Held(self.0.clone())
    }

    /// The folder of this process, where there is one: also for its control socket.
    pub fn directory(&self) -> Option<&Path> {
        self.0.directory.as_deref()
    }

    /// Why something is kept in memory that should be in files, if so.
    pub fn problem(&self) -> Option<String> {
        self.0.state().problem.clone()
    }
}

/// What a registry [holds](Registry::hold).
pub struct Held(Arc<SlotTable>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.unhold();
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").finish_non_exhaustive()
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

#[cfg(test)]
pub(crate) mod tests;
