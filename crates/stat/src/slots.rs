//! Makes the files and hands out the slots in them.

use crate::chunk::Chunk;
use crate::layout::{Header, Shape, SlotKind};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most files of one kind in the folder of a process; further slots are in memory.
const FILES_MAX: usize = 1024;

/// The slots of a process: in files, where it has a folder for them, or in memory.
pub(crate) struct SlotTable {
    pub(crate) pid: u32,
    pub(crate) start_ticks: u64,
    pub(crate) directory: Option<PathBuf>,
    /// The folder, where it can be given to another user: then `directory` names this descriptor.
    pub(crate) folder: Option<OwnedFd>,
    /// A lock, as loops of several threads register here. Counting takes none.
    pub(crate) state: Mutex<TableState>,
}

/// The state of its table that the threads of a process share.
#[derive(Default)]
pub(crate) struct TableState {
    /// Full files and others, in the order in which they were made.
    pub(crate) chunks: Vec<ChunkSlots>,
    /// The number of the next file, by kind; others of this process may have taken it.
    pub(crate) next_file: [usize; SlotKind::ALL.len()],
    pub(crate) problem: Option<String>,
    /// The path of the folder, if `directory` is a descriptor.
    pub(crate) path: Option<PathBuf>,
    /// The number of holders, during which nothing is removed.
    pub(crate) holders: usize,
    /// Slots that were dropped meanwhile.
    pub(crate) held: Vec<(Arc<Chunk>, usize)>,
    /// The prefix of counters whose values are kept when they are dropped.
    pub(crate) keeps: Option<&'static str>,
    /// The sums of dropped counters, by name.
    pub(crate) kept: BTreeMap<String, u64>,
}

/// A chunk and its free slots.
pub(crate) struct ChunkSlots {
    pub(crate) chunk: Arc<Chunk>,
    /// The lowest is last, to be taken first.
    free: Vec<usize>,
}

/// A slot that has one owner; free again when dropped.
pub(crate) struct Slot {
    chunk: Arc<Chunk>,
    index: usize,
    table: Arc<SlotTable>,
}

impl SlotTable {
    pub(crate) fn state(&self) -> MutexGuard<'_, TableState> {
        // A panicking thread leaves a consistent state: no step in between can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A free slot, in a new file if there is none.
    pub(crate) fn slot(self: &Arc<Self>, shape: Shape, name: &str) -> Slot {
        let mut state = self.state();
        let found = state
            .chunks
            .iter()
            .position(|slots| slots.chunk.shape() == shape && !slots.free.is_empty());
        let found = found.unwrap_or_else(|| {
            let chunk = Arc::new(self.chunk(&mut state, shape));
            state.chunks.push(ChunkSlots { chunk, free: (0..shape.slots).rev().collect() });
            state.chunks.len() - 1
        });
        let slots = &mut state.chunks[found];
        let index = slots.free.pop().expect("chosen for its free slots");
        slots.chunk.claim(index, name);
        Slot { chunk: slots.chunk.clone(), index, table: self.clone() }
    }

    fn chunk(&self, state: &mut TableState, shape: Shape) -> Chunk {
        let SlotTable { pid, start_ticks, directory, .. } = self;
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
        match state.holders {
            0 => state.release(chunk, index),
            _ => state.held.push((chunk.clone(), index)),
        }
    }

    /// What is dropped from now on stays until [`SlotTable::unhold`].
    pub(crate) fn hold(&self) {
        self.state().holders += 1;
    }

    pub(crate) fn unhold(&self) {
        let mut state = self.state();
        state.holders -= 1;
        if state.holders == 0 {
            for (chunk, index) in std::mem::take(&mut state.held) {
                state.release(&chunk, index);
            }
        }
    }
}

impl TableState {
    fn release(&mut self, chunk: &Arc<Chunk>, index: usize) {
        if chunk.shape().kind == SlotKind::Counters
            && let Some(prefix) = self.keeps
            && let Some(name) = chunk.name(index).filter(|name| name.starts_with(prefix))
        {
            *self.kept.entry(name).or_default() += chunk.count(index);
        }
        chunk.retire(index);
        let same = |slots: &ChunkSlots| Arc::ptr_eq(&slots.chunk, chunk);
        let Some(at) = self.chunks.iter().position(same) else { return };
        let slots = &mut self.chunks[at];
        slots.free.push(index);
        // Logs come each with a file of its own: it goes with the log. So do empty files, but
        // for the first of its kind, which may fill again at once.
        let shape = chunk.shape();
        let unused = slots.free.len() == shape.slots;
        let first = self.chunks.iter().position(|slots| slots.chunk.shape().kind == shape.kind);
        if unused && (shape.kind == SlotKind::Log || first != Some(at)) {
            self.chunks.remove(at);
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

impl Drop for SlotTable {
    fn drop(&mut self) {
        // The files first; then the folder, which stays if it holds something else.
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.chunks.clear();
        if let Some(directory) = state.path.as_ref().or(self.directory.as_ref()) {
            let _ = fs::remove_dir(directory);
        }
    }
}

impl Slot {
    pub(crate) fn data(&self) -> &[AtomicU64] {
        self.chunk.data(self.index)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.table.release(&self.chunk, self.index);
    }
}
