//! Turns that would not end: they are given up, and the rules that keep them going are named.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tidemill_relation::plan::{Action, On, RelationId, RuleId};
use tidemill_relation::view::DERIVED_MAX;

use super::{Node, Observer, Program};

/// Event tuples that a turn may derive, unless [`Node::limit_turns`] says otherwise.
pub const TURN_TUPLES_MAX: u64 = 10_000_000;

/// Table changes and tuples for other nodes that a turn may derive.
pub(super) const TURN_CHANGES_MAX: usize = DERIVED_MAX as usize;

/// Which limit a turn has run into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// So many event tuples.
    Tuples(u64),
    /// So many table changes and tuples for other nodes.
    Changes(u64),
    /// So many rows of views in its commit.
    Rows(u64),
}

/// A turn that was given up: nothing of it is left.
#[derive(Clone, Debug)]
pub struct GivenUp<'a> {
    /// The node.
    pub node: &'a str,
    /// Why.
    pub limit: Limit,
    /// The rules of the cycle, or those at work if there is none, in program order: the label
    /// and the place of each.
    pub rules: Vec<(&'a str, &'a str)>,
}

/// The wish that all that runs comes to an end, for good.
#[derive(Clone, Debug, Default)]
pub(super) struct Interrupt(Option<Arc<AtomicBool>>);

impl Interrupt {
    pub(super) fn is_set(&self) -> bool {
        // Relaxed: a wish, which nothing else is published with.
        self.0.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

impl Node {
    /// Gives up turns that derive more event tuples than this, instead of [`TURN_TUPLES_MAX`].
    pub fn limit_turns(&mut self, tuples_max: u64) {
        self.tuples_max = tuples_max;
    }

    /// Gives up commits that change more rows of tables than this.
    pub fn limit_commits(&mut self, rows_max: u64) {
        self.views.limit(rows_max);
        self.rows_max = rows_max;
    }

    /// Once the flag is true the node does nothing to the end, and must not be driven further.
    pub fn interrupt_by(&mut self, flag: Arc<AtomicBool>) {
        self.ambient.interrupt = Interrupt(Some(flag));
    }

    /// Whether it was told to do nothing more: what the running turn has done is incomplete.
    pub fn is_interrupted(&self) -> bool {
        self.ambient.interrupt.is_set()
    }

    /// The limit that the running turn has passed while deriving.
    pub(super) fn passed(&self) -> Option<Limit> {
        let turn = &self.turn;
        if turn.tuples + turn.queue.len() as u64 > self.tuples_max {
            return Some(Limit::Tuples(self.tuples_max));
        }
        let changes = turn.changes.len() + turn.sends.len();
        (changes > TURN_CHANGES_MAX).then_some(Limit::Changes(TURN_CHANGES_MAX as u64))
    }

    /// Reports a turn that is given up because of what it derives.
    pub(super) fn report_turn(&self, limit: Limit, observer: &mut dyn Observer) {
        let current = self.turn.current.get(self.turn.position);
        let Some((derived, _)) = current.or_else(|| self.turn.queue.get(0)) else {
            return self.report_given_up(limit, self.turn.at_work.into_iter().collect(), observer);
        };
        let mut rules = cycle_through(&self.program, derived.relation);
        if rules.is_empty() || matches!(limit, Limit::Changes(_)) {
            rules = derived.origin.rule().into_iter().chain(self.turn.at_work).collect();
        }
        self.report_given_up(limit, rules, observer);
    }

    /// Reports a commit that is given up because of what its views derive.
    pub(super) fn report_commit(&self, observer: &mut dyn Observer) {
        let rules = self.views.rules_at_work(self.program.plan());
        self.report_given_up(Limit::Rows(self.rows_max), rules.into_iter().collect(), observer);
    }

    fn report_given_up(&self, limit: Limit, rules: BTreeSet<RuleId>, observer: &mut dyn Observer) {
        let rule = |id: RuleId| {
            let rule = &self.program.plan().rules[id.index()];
            (rule.name.as_str(), rule.place.as_str())
        };
        let rules = rules.into_iter().map(rule).collect();
        observer.given_up(GivenUp { node: &self.identity.address, limit, rules });
    }
}

/// The rules through which tuples of an event relation lead to others of it within a turn.
fn cycle_through(program: &Program, relation: RelationId) -> BTreeSet<RuleId> {
    let strands =
        program.plan().strands.iter().filter(|strand| {
            strand.trigger.on == On::Event && strand.output.action == Action::Emit
        });
    let mut edges: Vec<(RelationId, RelationId, Option<RuleId>)> = strands
        .map(|strand| (strand.trigger.relation, strand.output.relation, Some(strand.rule)))
        .collect();
    let stages = program.compiled.stages.iter();
    edges.extend(stages.map(|stage| (stage.input, stage.output, None)));
    let ahead = reached(relation, edges.iter().map(|&(from, to, _)| (from, to)));
    let behind = reached(relation, edges.iter().map(|&(from, to, _)| (to, from)));
    let inside =
        |&(from, to, _): &&(RelationId, RelationId, _)| ahead.contains(from) && behind.contains(to);
    edges.iter().filter(inside).filter_map(|&(_, _, rule)| rule).collect()
}

/// What can be reached, the start included.
fn reached(
    start: RelationId,
    edges: impl Iterator<Item = (RelationId, RelationId)> + Clone,
) -> BTreeSet<RelationId> {
    let mut found = BTreeSet::from([start]);
    loop {
        let before = found.len();
        for (from, to) in edges.clone() {
            if found.contains(&from) {
                found.insert(to);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}
