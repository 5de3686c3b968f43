//! The digest of a state, which is equal for equal states of two programs.
//!
//! ```text
//! state ── each node: its number, tables by name, timers by rule, the inbox ──┐
//!       ── each message: destination, relation by name, values ───────────────┼─ sum, scattered
//!       ── faults and timers left, the position in the script ────────────────┘
//! ```
//! The fingerprint of a set of states is the sum of their digests, so neither the order in which
//! they are found nor the numbers of things matter.

use tidemill_relation::plan::{On, Plan, RelationId};

use super::digest::{Digest, append_name, of_bytes};
use super::events::{EventId, key_of};
use super::locals::{Local, LocalId, Locals};
use super::orbits::Orbit;
use super::turns::MessageId;

/// Digests that were computed, by number; 0: not yet.
#[derive(Default)]
pub(super) struct Digests {
    events: Vec<Digest>,
    messages: Vec<Digest>,
    locals: Vec<Digest>,
    /// The least digest among the permutations of a state of a node, or of a message.
    least_locals: Vec<Digest>,
    least_messages: Vec<Digest>,
}

impl Digests {
    /// The digest of a state of a node, with the number of the node.
    pub(super) fn local(&mut self, locals: &Locals, local: LocalId) -> Digest {
        if let Some(known) = known(&self.locals, local) {
            return known;
        }
        let Local { tables, symbol, clock_ns, timers, inbox } = &**locals.get(local);
        let mut bytes = locals.turns.digest(*tables).to_le_bytes().to_vec();
        bytes.extend(symbol.to_le_bytes());
        bytes.extend(clock_ns.to_le_bytes());
        // Sorted, as rules may stand in another order.
        let plan = locals.turns.rules().plan();
        let timers = timers.iter().enumerate().map(|(at, timer)| {
            let mut bytes = Vec::new();
            append_timer(plan, at, &mut bytes);
            bytes.extend(timer.due_ns.to_le_bytes());
            bytes.extend(timer.left.to_le_bytes());
            bytes
        });
        let mut timers: Vec<Vec<u8>> = timers.collect();
        timers.sort_unstable();
        bytes.extend((timers.len() as u64).to_le_bytes());
        bytes.extend(timers.into_iter().flatten());
        let events = inbox.iter().flat_map(|event| self.event(locals, *event).to_le_bytes());
        bytes.extend(events);
        keep(&mut self.locals, local, of_bytes(&bytes))
    }

    /// The digest of a message, with its destination.
    pub(super) fn message(&mut self, locals: &Locals, message: MessageId) -> Digest {
        if let Some(known) = known(&self.messages, message) {
            return known;
        }
        let (to, event) = locals.turns.message(message);
        let mut bytes = self.event(locals, event).to_le_bytes().to_vec();
        bytes.extend(to.to_le_bytes());
        keep(&mut self.messages, message, of_bytes(&bytes))
    }

    fn event(&mut self, locals: &Locals, event: EventId) -> Digest {
        if let Some(known) = known(&self.events, event) {
            return known;
        }
        let plan = locals.turns.rules().plan();
        let relation = |relation: RelationId, out: &mut Vec<u8>| {
            append_name(&plan.relation(relation).name, out);
        };
        let timer = |timer: usize, out: &mut Vec<u8>| append_timer(plan, timer, out);
        let what = locals.turns.events.get(event);
        let key = key_of(&what.event, what.left, &relation, &timer);
        keep(&mut self.events, event, of_bytes(&key))
    }

    /// The least digest of the states that a state of a node becomes; all of them are known then.
    pub(super) fn least_local(&mut self, locals: &Locals, orbit: &Orbit) -> Digest {
        if let Some(known) = known(&self.least_locals, orbit[0]) {
            return known;
        }
        let least = orbit.iter().map(|local| self.local(locals, *local)).min().unwrap_or_default();
        keep(&mut self.least_locals, orbit[0], least)
    }

    /// The least digest of the messages that a message becomes; all of them are known then.
    pub(super) fn least_message(&mut self, locals: &Locals, orbit: &Orbit) -> Digest {
        if let Some(known) = known(&self.least_messages, orbit[0]) {
            return known;
        }
        let all = orbit.iter().map(|message| self.message(locals, *message));
        let least = all.min().unwrap_or_default();
        keep(&mut self.least_messages, orbit[0], least)
    }

    /// The digest of a state of a node that is known.
    pub(super) fn known_local(&self, local: LocalId) -> Digest {
        known(&self.locals, local).unwrap_or_default()
    }

    /// The digest of a message that is known.
    pub(super) fn known_message(&self, message: MessageId) -> Digest {
        known(&self.messages, message).unwrap_or_default()
    }

    /// The memory in use.
    pub(super) fn bytes(&self) -> usize {
        let all = [&self.events, &self.messages, &self.locals];
        let all = all.into_iter().chain([&self.least_locals, &self.least_messages]);
        all.map(|digests| digests.capacity() * size_of::<Digest>()).sum()
    }
}

/// The digest of the classes of interchangeable nodes: what a state stands for.
pub(super) fn of_classes(classes: &[Vec<u32>]) -> Digest {
    if classes.is_empty() {
        return 0;
    }
    let words = classes.iter().flat_map(|class| class.iter().copied().chain([u32::MAX]));
    of_bytes(&words.flat_map(u32::to_le_bytes).collect::<Vec<u8>>())
}

#[inline]
fn known(digests: &[Digest], number: u32) -> Option<Digest> {
    digests.get(number as usize).copied().filter(|digest| *digest != 0)
}

fn keep(digests: &mut Vec<Digest>, number: u32, digest: Digest) -> Digest {
    let digest = digest.max(1);
    if digests.len() <= number as usize {
        digests.resize(number as usize + 1, 0);
    }
    digests[number as usize] = digest;
    digest
}

/// Appends what identifies a timer: its rule.
fn append_timer(plan: &Plan, timer: usize, out: &mut Vec<u8>) {
    let is_periodic = |on: &On| matches!(on, On::Periodic { .. });
    let mut strands = plan.strands.iter().filter(|strand| is_periodic(&strand.trigger.on));
    let rule = strands.nth(timer).map(|strand| &plan.rules[strand.rule.index()].name);
    append_name(rule.map_or("", |name| name), out);
}
