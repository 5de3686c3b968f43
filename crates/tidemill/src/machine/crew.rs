//! The other workers of a run, as one of them knows them.

use std::sync::Arc;

use tidemill_event::Remote;
use tidemill_overlog::node::Program as Rules;
use tidemill_overlog::query::AskerId;
use tidemill_stdx::sorted::SortedMap;

use super::pending::Pending;

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
    /// Rules that the first has proposed to the others.
    pub(super) proposals: Proposals,
}

impl<W> Crew<W> {
    pub(crate) fn new(others: Vec<Remote<W>>) -> Crew<W> {
        let drained = vec![false; others.len()];
        Crew { others, asked: SortedMap::new(), drained, proposals: Proposals::default() }
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

/// What the first worker has proposed to the others.
pub(super) struct Proposal {
    pub(super) rules: Arc<Rules>,
    pub(super) pending: Pending,
    /// Votes that are still to come.
    pub(super) left: usize,
}

/// The last proposal, while its votes come.
#[derive(Default)]
pub(super) struct Proposals {
    number: u64,
    last: Option<Proposal>,
}

impl Proposals {
    /// Puts one in the place of what there was; its number.
    pub(super) fn propose(&mut self, proposal: Proposal) -> u64 {
        self.last = Some(proposal);
        self.number += 1;
        self.number
    }

    /// The last one, if it has this number.
    pub(super) fn get(&mut self, number: u64) -> Option<&mut Proposal> {
        self.last.as_mut().filter(|_| self.number == number)
    }

    /// Takes it.
    pub(super) fn forget(&mut self) -> Option<Proposal> {
        self.last.take()
    }
}
