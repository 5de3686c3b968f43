//! The number of steps that each scope has run at the current time of a loop.
//!
//! A simulation advances its clock when a node never becomes idle. Each node counts by itself: with
//! the sum, the behaviour of a program would depend on the number of nodes.

use crate::Time;
use crate::owner::Owner;
use crate::scope::Scope;

/// Steps at one time, by scope, and by owner for those that have none.
#[derive(Default)]
pub(crate) struct Instant {
    at: Time,
    most: u64,
    owners: Vec<(Time, u64)>,
    scopes: Vec<(Time, u64)>,
}

impl Instant {
    /// Counts steps at a time.
    pub(crate) fn add(
        &mut self,
        Scope(scope): Scope,
        Owner(owner): Owner,
        (at, steps): (Time, u64),
    ) {
        if self.at != at {
            (self.at, self.most) = (at, 0);
        }
        let (counts, index) = match Scope(scope) {
            Scope::LOOP => (&mut self.owners, owner as usize),
            _ => (&mut self.scopes, scope as usize),
        };
        if counts.len() <= index {
            counts.resize(index + 1, (Time::ZERO, 0));
        }
        let count = &mut counts[index];
        let before = if count.0 == at { count.1 } else { 0 };
        *count = (at, before.saturating_add(steps));
        self.most = self.most.max(count.1);
    }

    /// The most that any owner has run at a time, if that is the current one.
    pub(crate) fn most(&self, at: Time) -> u64 {
        if self.at == at { self.most } else { 0 }
    }
}
