//! All workers go on with other rules, or none.
//!
//! ```text
//! first worker                      others
//! can its nodes? propose       ->   can ours?
//! all can, or one cannot       <-   vote
//! goes on                      ->   go on
//! ```
//! Of several proposals the last one counts.

use std::sync::Arc;

use tidemill_event::Loop;
use tidemill_overlog::fleet;
use tidemill_overlog::node::Program as Rules;

use super::crew::Proposal;
use super::pending::Pending;
use super::{Machine, others};
use crate::borders::Checked;

/// Has all workers go on with other rules if the nodes of each can. What becomes of it is noted.
///
/// # Errors
/// Why the nodes of the first worker cannot.
pub(super) fn propose(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    rules: Arc<Rules>,
    borders: &Checked,
) -> Result<(), String> {
    fleet::can_replace(machine, events, &rules).map_err(|why| why.to_string())?;
    let Some(crew) = &mut machine.crew else { return Ok(()) };
    let left = crew.others.len();
    let number =
        crew.proposals.propose(Proposal { rules: rules.clone(), borders: borders.clone(), left });
    others::all(machine, move |machine, events| {
        let vote = fleet::can_replace(machine, events, &rules).map_err(|why| why.to_string());
        others::first(machine, move |machine, events| voted(machine, events, number, vote));
    });
    Ok(())
}

fn voted(machine: &mut Machine, events: &mut Loop<Machine>, number: u64, vote: Result<(), String>) {
    let Some(crew) = &mut machine.crew else { return };
    let Some(proposal) = crew.proposals.get(number) else { return };
    if let Err(why) = vote {
        crew.proposals.forget();
        machine.note(&format!("the old rules go on: {why}"));
        return;
    }
    proposal.left -= 1;
    if proposal.left > 0 {
        return;
    }
    let Some(Proposal { rules, borders, .. }) = crew.proposals.forget() else { return };
    go_on(machine, events, (rules.clone(), borders.clone()));
    others::all(machine, move |machine, events| {
        go_on(machine, events, (rules.clone(), borders.clone()));
    });
}

fn go_on(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    (rules, borders): (Arc<Rules>, Checked),
) {
    machine.pending = Some(Pending { borders, graph: None });
    if let Err(why) = fleet::replace(machine, events, rules) {
        machine.note(&format!("the old rules go on: {why}"));
    }
}
