//! The other workers of a run, as one of them knows them.

use tidemill_event::Remote;
use tidemill_overlog::query::AskerId;
use tidemill_stdx::sorted::SortedMap;

/// The first connection to a worker has this number times that of the worker, so that askers of
/// different workers differ.
pub(crate) const ASKERS: u64 = 1 << 48;

/// The other workers, as one of them sees them.
pub(crate) struct Crew<W> {
    /// All others for the first; the first for each other.
    pub(crate) others: Vec<Remote<W>>,
    /// Questions that others have not answered, by asker and worker.
    pub(super) asked: SortedMap<(AskerId, u32), u64>,
    /// Whether each of the others has nothing left to do.
    pub(super) drained: Vec<bool>,
}

impl<W> Crew<W> {
    pub(crate) fn new(others: Vec<Remote<W>>) -> Crew<W> {
        let drained = vec![false; others.len()];
        Crew { others, asked: SortedMap::new(), drained }
    }

    /// The first worker, as another one sees it.
    pub(super) fn first(&self) -> Option<&Remote<W>> {
        self.others.first()
    }

    /// Another worker, as the first one sees it.
    pub(super) fn worker(&self, number: u32) -> Option<&Remote<W>> {
        self.others.get((number as usize).checked_sub(1)?)
    }
}
