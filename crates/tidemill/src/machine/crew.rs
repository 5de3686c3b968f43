//! The other workers of a run, as seen by one of them.

use std::sync::Arc;

use tidemill_event::Remote;
use tidemill_overlog::node::{Emptied, Program as Rules};
use tidemill_overlog::query::AskerId;
use tidemill_stdx::sorted::{SortedMap, SortedSet};

use super::pending::Pending;

/// The connections of worker `n` are numbered from `n` times this, so that askers of different
/// workers differ.
pub(crate) const ASKERS: u64 = 1 << 48;

/// The other workers, as seen by one of them.
pub(crate) struct Crew<W> {
    /// At the first worker all others; at each other one the first.
    pub(crate) others: Vec<Remote<W>>,
    /// The number of pending requests to other workers, by asker and worker.
    pub(super) pending: SortedMap<(AskerId, u32), u64>,
    /// Whether each of the others is drained.
    pub(super) drained: Vec<bool>,
    /// Rules that the first worker has proposed to the others.
    pub(super) proposals: Proposals,
}

impl<W> Crew<W> {
    pub(crate) fn new(others: Vec<Remote<W>>) -> Crew<W> {
        let drained = vec![false; others.len()];
        Crew { others, pending: SortedMap::new(), drained, proposals: Proposals::default() }
    }

    /// The first worker, at another one.
    pub(super) fn first(&self) -> Option<&Remote<W>> {
        self.others.first()
    }

    /// Another worker, at the first one.
    pub(super) fn worker(&self, number: u32) -> Option<&Remote<W>> {
        self.others.get((number as usize).checked_sub(1)?)
    }
}

/// A proposal of the first worker to the others.
pub(super) struct Proposal {
    pub(super) rules: Arc<Rules>,
    pub(super) pending: Pending,
    /// The tables that start anew, by the votes so far.
    pub(super) emptied: SortedSet<Emptied>,
    /// The number of missing votes.
    pub(super) left: usize,
}

/// The last proposal, while votes are missing.
#[derive(Default)]
pub(super) struct Proposals {
    number: u64,
    last: Option<Proposal>,
}

impl Proposals {
    /// Replaces the current proposal; returns its number.
    pub(super) fn propose(&mut self, proposal: Proposal) -> u64 {
        self.last = Some(proposal);
        self.number += 1;
        self.number
    }

    /// The current proposal, if it has this number.
    pub(super) fn get(&mut self, number: u64) -> Option<&mut Proposal> {
        self.last.as_mut().filter(|_| self.number == number)
    }

    /// Removes the current proposal.
    pub(super) fn forget(&mut self) -> Option<Proposal> {
        self.last.take()
    }
}
