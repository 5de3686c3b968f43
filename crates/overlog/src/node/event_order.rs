//! The order of the events of a node.

use tidemill_relation::plan::RuleId;
use tidemill_stdx::sorted::SortedSet;

use super::event::{Event, Traced};
use super::program::Program;

/// The order of the events of a node.
#[derive(Debug, Default)]
pub(super) struct EventOrder {
    last: Option<u32>,
    /// Events of which one came directly after the other.
    pub(super) pairs: SortedSet<(u32, u32)>,
}

impl EventOrder {
    pub(super) fn note(&mut self, event: &Event, program: &Program) {
        let Some(kind) = kind_of(event, program.plan().relations.len()) else { return };
        let before = self.last.replace(kind).filter(|before| *before != kind);
        self.pairs.extend(before.map(|before| (before, kind)));
    }
}

/// The position of an event among the names of events.
fn kind_of(event: &Event, relations: usize) -> Option<u32> {
    let index = match event {
        Event::Tuple { relation, .. } => relation.index(),
        Event::Traced(traced) => match &**traced {
            Traced::Received(received) => received.relation.index(),
            Traced::Recorded(_) => return None,
        },
        Event::Periodic { timer } => relations + 1 + timer,
        Event::Expiry => relations,
        _ => return None,
    };
    u32::try_from(index).ok()
}

impl Program {
    /// The names of events: relations, the expiry of rows, and timers by their rules.
    pub fn event_names(&self) -> Vec<String> {
        let plan = self.plan();
        let relations = plan.relations.iter().map(|relation| relation.name.clone());
        let timers = self.dispatch.periodics.iter().map(|strand| {
            let RuleId(rule) = plan.strands[*strand as usize].rule;
            format!("timer of {}", plan.rules[rule as usize].name)
        });
        relations.chain(["expiry".to_owned()]).chain(timers).collect()
    }
}
