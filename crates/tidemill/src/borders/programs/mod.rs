//! Rules that install rules: the table `program::rules(@N, Name, Text)`.
//!
//! An inserted row installs its text under its name, replacing the rules of that name, as `tidemill
//! install` does, and a deleted one removes them: between two turns, at all nodes of the process.
//! An error changes nothing, and is derived as `program::refused(@N, Name, Reason)`. Among several
//! nodes the last change of a name wins.

mod border;
mod check;
mod state;

use std::convert::Infallible;

use tidemill_event::Loop;
use tidemill_overlog::node::{Crossing, CrossingKind};
use tidemill_relation::{TupleBuf, Value};

use super::inbox;
use crate::machine::Machine;
pub use border::ProgramsBorder;
pub(crate) use state::Programs;

/// Records the changes of a turn, which are installed when it has ended.
pub(super) fn take(machine: &mut Machine, events: &mut Loop<Machine>, tuples: &TupleBuf<Crossing>) {
    let Some(programs) = &mut machine.node.borders.programs else { return };
    let relation = programs.border.rules;
    let own = || tuples.iter().filter(|(crossing, _)| crossing.relation == relation);
    let had_some = !programs.changes.is_empty();
    // Deletions come first, as another row of the same name may have replaced the deleted one.
    for is_gone in [true, false] {
        for (crossing, columns) in own() {
            let text = |at| columns.get(at).and_then(|value| value.as_str());
            if (crossing.kind == CrossingKind::Delete) == is_gone
                && let (Some(name), Some(rules)) = (text(1), text(2))
            {
                programs.change(name, (!is_gone).then_some(rules));
            }
        }
    }
    if !had_some && !programs.changes.is_empty() {
        events.timer(events.now(), install);
    }
}

/// Installs the recorded changes, each name on its own.
fn install(machine: &mut Machine, events: &mut Loop<Machine>) {
    let Some(programs) = &mut machine.node.borders.programs else { return };
    for (name, text) in programs.take() {
        match machine.install_by_rules(events, &name, text) {
            Ok(()) => count(machine, |programs| programs.installed.add(1)),
            Err(reason) => refuse(machine, events, &name, &reason),
        }
    }
}

fn count(machine: &mut Machine, f: impl FnOnce(&Programs)) {
    if let Some(programs) = &machine.node.borders.programs {
        f(programs);
    }
}

/// Derives `program::refused`, and logs it.
fn refuse(machine: &mut Machine, events: &mut Loop<Machine>, name: &str, reason: &str) {
    machine.note(&format!("rules {name} are not installed: {reason}"));
    count(machine, |programs| programs.refused.add(1));
    let Some(programs) = &machine.node.borders.programs else { return };
    let Some(relation) = programs.border.refused else { return };
    let latency = programs.latency.clone();
    // The node counts events that it does not accept.
    let Ok(_) = inbox::put(machine, events, (relation, &latency), |address, row| {
        [address, name, reason].into_iter().for_each(|text| row.push(Value::Str(text)));
        Ok::<(), Infallible>(())
    });
}
