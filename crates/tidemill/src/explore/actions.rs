//! The actions of a script, as steps of a search.

use tidemill_overlog::node::Event;
use tidemill_relation::SeqBuilder;

use super::events::{EventId, Events};
use crate::script::{Cue, CueAction};

/// An action of the script on one node.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Action {
    /// Actions of one group happen in any order, after those of the group before.
    pub(super) group: u32,
    pub(super) node: u32,
    pub(super) effect: Effect,
}

/// What an action does.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Effect {
    /// Gives the node a tuple.
    Give(EventId),
    Crash,
}

/// The maximum number of actions of a group, which have a bit each.
const GROUP_MAX: usize = 32;

/// The actions of a script, in groups of equal time. Times only order them; a node that crashes
/// restarts at once.
///
/// # Errors
/// A group has too many actions.
pub(super) fn actions(cues: &[Cue], events: &mut Events) -> Result<Vec<Action>, String> {
    let mut timed: Vec<(u64, u32, Effect)> = Vec::new();
    let end =
        cues.iter().filter(|cue| cue.action == CueAction::End).map(|cue| cue.when.first()).min();
    for cue in cues {
        for at in cue.when.times().take_while(|at| end.is_none_or(|end| *at <= end)) {
            match &cue.action {
                CueAction::Put(tuples) | CueAction::Delete(tuples) => {
                    let delete = matches!(cue.action, CueAction::Delete(_));
                    timed.extend(tuples.iter().map(|(node, relation, columns)| {
                        let row: SeqBuilder = columns.iter().map(|value| value.get()).collect();
                        let (relation, received) = (*relation, false);
                        let event = Event::Tuple { relation, row, delete, received };
                        (at, *node, Effect::Give(events.number(event, None)))
                    }))
                }
                CueAction::Crash(nodes) => {
                    timed.extend(nodes.iter().map(|node| (at, *node, Effect::Crash)))
                }
                _ => {}
            }
        }
    }
    timed.sort_by_key(|(at, ..)| *at);
    let mut actions: Vec<Action> = Vec::with_capacity(timed.len());
    let (mut group, mut size, mut last) = (0, 0, None);
    for (at, node, effect) in timed {
        if last.replace(at).is_some_and(|last| last != at) {
            (group, size) = (group + 1, 0);
        }
        size += 1;
        if size > GROUP_MAX {
            return Err(format!("a script does at most {GROUP_MAX} things at one time here"));
        }
        actions.push(Action { group, node, effect });
    }
    Ok(actions)
}
