//! Converts a failing run to a script for a simulation.
//!
//! A simulated node runs its turns as soon as it can. So the input of a node is placed in the
//! script where its turn was run in the search, together with the inputs that wait behind it at
//! that time, as the turn may append more to the inbox. Tuples that a turn has sent to one node are
//! one message there.

use std::collections::VecDeque;

use tidemill_event::Act;
use tidemill_overlog::node::Event;
use tidemill_relation::OwnedValue;
use tidemill_relation::plan::On;
use tidemill_relation::text::{Pattern, Term};
use tidemill_stdx::hash::Map;

use super::actions::Effect;
use super::cause::sent_in;
use super::events::EventId;
use super::search::Walked;
use super::steps::{Step, Steps};
use super::turns::MessageId;
use crate::script::{Cue, CueAction, When, lines};

/// The time between two steps, in nanoseconds.
const STEP_NS: u64 = 1_000_000;

/// The sender of a message, and its step.
type Sent = (u32, usize);

/// The state of the conversion.
struct Replay<'s> {
    steps: &'s Steps,
    now_ns: u64,
    cues: Vec<Cue>,
    /// By node: for each waiting event, the actions that bring it.
    inboxes: Vec<VecDeque<Vec<CueAction>>>,
    /// By message: those in flight.
    sent: Map<MessageId, VecDeque<Sent>>,
    /// Messages that have reached a node.
    arrived: Vec<(Sent, u32)>,
}

/// The lines of a script that repeats a path.
pub(super) fn replay(steps: &Steps, path: &[Walked]) -> Vec<String> {
    let nodes = steps.locals.turns.identities.len();
    let waiting = |node: u32| {
        let local = path.first().map(|first| steps.local(&first.before, node));
        local.map_or(0, |local| steps.locals.get(local).inbox.len())
    };
    let inboxes = (0..nodes as u32).map(|node| vec![Vec::new(); waiting(node)].into()).collect();
    let (cues, sent, arrived) = (Vec::new(), Map::default(), Vec::new());
    let mut replay = Replay { steps, now_ns: 0, cues, inboxes, sent, arrived };
    replay.cue(CueAction::Manual);
    for (at, walked) in path.iter().enumerate() {
        replay.step(at, walked);
    }
    replay.now_ns += STEP_NS;
    replay.cue(CueAction::End);
    let plan = steps.locals.turns.rules().plan();
    let lines = replay.cues.iter().flat_map(|cue| lines(cue, plan));
    std::iter::once(format!("nodes {nodes}")).chain(lines).collect()
}

impl Replay<'_> {
    fn cue(&mut self, action: CueAction) {
        self.cues.push(Cue { when: When::At(self.now_ns), action, place: "explored".to_owned() });
    }

    fn step(&mut self, at: usize, walked: &Walked) {
        let Walked { step, before, after, .. } = walked;
        let node = self.steps.node_of(*step).unwrap_or_default();
        let actions = self.actions(*step, walked);
        if self.steps.is_crash(*step) {
            self.inboxes[node as usize].clear();
        }
        let waits = self.steps.locals.get(self.steps.local(after, node)).inbox.len();
        match step {
            Step::Turn(_) if !self.steps.is_atomic() => self.turn(node, waits),
            Step::Turn(_) => self.inboxes[node as usize].clear(),
            Step::Drop(_) => self.happen(vec![actions]),
            _ if self.steps.is_atomic() || self.steps.is_crash(*step) => {
                self.happen(vec![actions]);
                self.inboxes[node as usize].resize(waits, Vec::new());
            }
            _ => self.inboxes[node as usize].push_back(actions),
        }
        for message in sent_in(self.steps, *step, before, after) {
            self.sent.entry(message).or_default().push_back((node, at));
        }
    }

    /// A node runs the turn of its first waiting event.
    fn turn(&mut self, node: u32, waits_after: usize) {
        let inbox = &mut self.inboxes[node as usize];
        let first = inbox.pop_front().unwrap_or_default();
        let mut together = vec![first];
        if waits_after > inbox.len() {
            together.extend(inbox.iter_mut().map(std::mem::take));
        }
        inbox.resize(waits_after, Vec::new());
        self.happen(together);
    }

    fn happen(&mut self, together: Vec<Vec<CueAction>>) {
        let actions: Vec<CueAction> = together.into_iter().flatten().collect();
        if !actions.is_empty() {
            self.now_ns += STEP_NS;
        }
        actions.into_iter().for_each(|action| self.cue(action));
    }

    /// The actions of the script for an input.
    fn actions(&mut self, step: Step, walked: &Walked) -> Vec<CueAction> {
        let turns = &self.steps.locals.turns;
        let crash = |node| vec![CueAction::Crash(vec![node]), CueAction::Restart(vec![node])];
        match step {
            Step::Turn(_) => Vec::new(),
            Step::Deliver(message) => self.message(message, &[Act::Deliver], true),
            Step::Drop(message) => self.message(message, &[Act::Drop], true),
            Step::Duplicate(message) => {
                let after = std::time::Duration::ZERO;
                self.message(message, &[Act::Duplicate { after }, Act::Deliver], false)
            }
            Step::Timer(node, number) => {
                let plan = turns.rules().plan();
                let mut timers =
                    plan.strands.iter().filter(|it| matches!(it.trigger.on, On::Periodic { .. }));
                match timers.nth(number as usize) {
                    Some(strand) => {
                        let rule = plan.rules[strand.rule.index()].name.clone();
                        vec![CueAction::Timer(vec![node], rule)]
                    }
                    None => {
                        let local = self.steps.local(&walked.before, node);
                        let tables = self.steps.locals.get(local).tables;
                        self.now_ns += turns.expiry_ns(tables).unwrap_or_default();
                        Vec::new()
                    }
                }
            }
            Step::Script(action) => {
                let action = &self.steps.script()[action as usize];
                match action.effect {
                    Effect::Give(event) => self.put(action.node, event).into_iter().collect(),
                    Effect::Crash => crash(action.node),
                }
            }
            Step::Crash(node) => crash(node),
        }
    }

    fn put(&self, node: u32, event: EventId) -> Option<CueAction> {
        match &self.steps.locals.turns.events.get(event).event {
            Event::Tuple { relation, row, delete, .. } => {
                let columns = row.as_seq().iter().map(OwnedValue::new).collect();
                let given = vec![(node, *relation, columns)];
                Some(if *delete { CueAction::Delete(given) } else { CueAction::Put(given) })
            }
            _ => None,
        }
    }

    /// The action on a message; `None` if it has arrived with another.
    fn message(&mut self, message: MessageId, acts: &[Act], is_last: bool) -> Vec<CueAction> {
        let turns = &self.steps.locals.turns;
        let (to, event) = turns.message(message);
        let waiting = self.sent.entry(message).or_default();
        let sent = if is_last { waiting.pop_front() } else { waiting.front().copied() };
        let (Some(sent), Event::Tuple { relation, row, .. }) =
            (sent, &turns.events.get(event).event)
        else {
            return Vec::new();
        };
        if is_last && self.arrived.contains(&(sent, to)) {
            return Vec::new();
        }
        if is_last {
            self.arrived.push((sent, to));
        }
        let terms = row.as_seq().iter().map(|value| Term::Value(OwnedValue::new(value))).collect();
        let name = turns.rules().plan().relation(*relation).name.clone();
        let tuple = Some(Pattern { name, terms, location: None });
        let from = sent.0;
        acts.iter().map(|&act| CueAction::Message { act, from, to, tuple: tuple.clone() }).collect()
    }
}
