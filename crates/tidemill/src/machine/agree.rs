//! Replaces the rules at all workers, or at none, by a vote.
//!
//! ```text
//! first worker                      others
//! can its nodes? propose       ->   can ours?
//! all can, or one cannot       <-   vote
//! goes on                      ->   go on
//! ```
//! A new proposal cancels the previous one.

use std::sync::Arc;

use tidemill_event::Loop;
use tidemill_overlog::fleet;
use tidemill_overlog::node::{Emptied, Kept, Program as Rules};
use tidemill_stdx::sorted::SortedSet;

use super::crew::Proposal;
use super::emptied::note_emptied;
use super::pending::Pending;
use super::{Machine, posts};

/// Replaces the rules at all nodes: at once, or when all other workers have agreed, whose result is
/// noted later.
///
/// # Errors
/// Why the nodes of this worker cannot.
pub(super) fn replace(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    rules: Arc<Rules>,
    pending: Pending,
) -> Result<(), Kept> {
    // Beside instances of a graph there are nodes at the first worker only.
    if machine.crew.is_none() || machine.maker.is_none() && machine.has.packets {
        return go_on(machine, events, rules, pending);
    }
    let emptied = fleet::can_replace(machine, events, &rules)?;
    let Some(crew) = &mut machine.crew else { return Ok(()) };
    let left = crew.others.len();
    let number = crew.proposals.propose(Proposal { rules: rules.clone(), pending, emptied, left });
    posts::all(machine, move |machine, events| {
        let vote = fleet::can_replace(machine, events, &rules);
        posts::first(machine, move |machine, events| voted(machine, events, number, vote));
    });
    Ok(())
}

/// A vote: the tables that start anew at the nodes of a worker, or why they cannot switch.
type Vote = Result<SortedSet<Emptied>, Kept>;

fn voted(machine: &mut Machine, events: &mut Loop<Machine>, number: u64, vote: Vote) {
    let Some(crew) = &mut machine.crew else { return };
    let Some(proposal) = crew.proposals.get(number) else { return };
    match vote {
        Ok(emptied) => proposal.emptied.extend(emptied),
        Err(why) => {
            crew.proposals.forget();
            return note(machine, &why);
        }
    }
    proposal.left -= 1;
    if proposal.left > 0 {
        return;
    }
    let Some(Proposal { rules, mut pending, emptied, .. }) = crew.proposals.forget() else {
        return;
    };
    machine.pending = Some(pending.clone());
    note_emptied(machine, &emptied);
    pending.noted.extend(emptied);
    let all = move |machine: &mut Machine, events: &mut Loop<Machine>| {
        if let Err(why) = go_on(machine, events, rules.clone(), pending.clone()) {
            note(machine, &why);
        }
    };
    all(machine, events);
    posts::all(machine, all);
}

fn go_on(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    rules: Arc<Rules>,
    pending: Pending,
) -> Result<(), Kept> {
    machine.pending = Some(pending);
    fleet::replace(machine, events, rules)
}

fn note(machine: &Machine, why: &Kept) {
    machine.note(&format!("the old rules go on: {why}"));
}
