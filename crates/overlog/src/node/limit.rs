//! Turns that would not end: they are given up, and the rules of their cycle are reported.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tidemill_relation::SeqBuilder;
use tidemill_relation::plan::{Action, On, RelationId, RuleId, Strand};
use tidemill_relation::text::DisplayTuple;
use tidemill_relation::view::Overrun;
use tidemill_stdx::sorted::SortedSet;

use super::Node;
use super::allowances::{
    Allowance, Allowances, CYCLE_ROWS_PER_TUPLE, GivenUp, Interrupt, Limit, TURN_CHANGES_MAX,
};
use super::event::{Event, Traced};
use super::program::Program;
use super::watch::Observer;
use crate::program::WorkedBy;

impl Node {
    /// Gives up turns that derive more event tuples than this, with or without cycles, or more
    /// rows of views that compute values as they recurse, and longer chains of changes.
    pub fn limit_turns(&mut self, tuples_max: u64) {
        self.allowances = Allowances {
            tuples: Allowance::new(tuples_max),
            cycle_tuples: Allowance::new(tuples_max),
            cycle_rows: Allowance::new(tuples_max.saturating_mul(CYCLE_ROWS_PER_TUPLE)),
            chain: Allowance::new(tuples_max),
            computed: Allowance::new(tuples_max),
            ..self.allowances
        };
    }

    /// Gives up commits that change more rows of tables than this.
    pub fn limit_commits(&mut self, rows_max: u64) {
        self.allowances.rows = Allowance::new(rows_max);
    }

    /// Once the flag is true the node stops in the middle of its work, and must not be driven
    /// further.
    pub fn interrupt_by(&mut self, flag: Arc<AtomicBool>) {
        self.ambient.interrupt = Interrupt(Some(flag));
    }

    /// Whether its flag is set: what the running turn has done is then incomplete.
    #[inline]
    pub fn is_interrupted(&self) -> bool {
        self.ambient.interrupt.is_set()
    }

    /// Whether the current tuples of the turn were derived through some relation twice: there are
    /// more generations than relations.
    #[inline]
    pub(super) fn in_cycle(&self) -> bool {
        self.turn.taken.generation > self.program.dispatch.event_relations
    }

    /// The limit that the running turn has exceeded while deriving.
    #[inline]
    pub(super) fn passed(&self) -> Option<Limit> {
        let (turn, most) = (&self.turn, &self.allowances);
        if turn.taken.tuples + turn.untaken.count + turn.queue.len() as u64 > most.tuples.get() {
            return Some(Limit::Tuples(most.tuples.get()));
        }
        if turn.taken.cycle_tuples > most.cycle_tuples.get() {
            return Some(Limit::Cycle(most.cycle_tuples.get()));
        }
        if turn.taken.cycle_rows > most.cycle_rows.get() {
            return Some(Limit::Looked(most.cycle_rows.get()));
        }
        if turn.taken.link > most.chain.get() {
            return Some(Limit::Chain(most.chain.get()));
        }
        let changes = turn.changes.len() + turn.sends.len();
        (changes > TURN_CHANGES_MAX).then_some(Limit::Changes(TURN_CHANGES_MAX as u64))
    }

    /// Sets the limits of views in the running commit.
    pub(super) fn limit_views(&mut self) {
        self.views.limit(self.allowances.rows.get());
        self.views.limit_computed(self.allowances.computed.get());
    }

    /// Notes that the turn has ended within its limits.
    pub(super) fn stayed_within_limits(&mut self) {
        let (taken, most) = (&self.turn.taken, &mut self.allowances);
        most.tuples.ended(taken.tuples);
        most.cycle_tuples.ended(taken.cycle_tuples);
        most.cycle_rows.ended(taken.cycle_rows);
        let changed = self.views.changed();
        most.computed.ended(changed);
        most.rows.ended(changed);
    }

    /// Reports a turn that is given up because it derives too much.
    pub(super) fn report_turn(&mut self, limit: Limit, observer: &mut dyn Observer) {
        if let (Limit::Chain(_), Some(Event::Change { relation, .. })) =
            (limit, self.inbox.running())
        {
            let rules = cycle_of_changes(&self.program, *relation);
            return self.report_given_up(limit, rules, observer);
        }
        let current = self.turn.current.as_ref().and_then(|all| all.get(self.turn.position));
        let current = current.map(|(derived, _)| derived).or(self.turn.untaken.first);
        let Some(derived) = current.or_else(|| Some(self.turn.queue.get(0)?.0)) else {
            return self.report_given_up(limit, self.turn.at_work.into_iter().collect(), observer);
        };
        let mut rules = cycle_through(&self.program, derived.relation);
        if rules.is_empty() || matches!(limit, Limit::Changes(_)) {
            rules = derived.origin.rule().into_iter().chain(self.turn.at_work).collect();
        }
        self.report_given_up(limit, rules, observer);
    }

    /// Reports a commit that is given up because its views derive too much.
    pub(super) fn report_commit(&mut self, overrun: Overrun, observer: &mut dyn Observer) {
        let rules = self.views.rules_at_work(self.program.plan());
        self.report_given_up(Limit::Views(overrun), rules.into_iter().collect(), observer);
    }

    fn report_given_up(
        &mut self,
        limit: Limit,
        rules: SortedSet<RuleId>,
        observer: &mut dyn Observer,
    ) {
        match limit {
            Limit::Tuples(_) => self.allowances.tuples.exceeded(),
            Limit::Cycle(_) => self.allowances.cycle_tuples.exceeded(),
            Limit::Looked(_) => self.allowances.cycle_rows.exceeded(),
            Limit::Chain(_) => self.allowances.chain.exceeded(),
            Limit::Changes(_) => {}
            Limit::Views(Overrun::Changed(_)) => self.allowances.rows.exceeded(),
            Limit::Views(_) => self.allowances.computed.exceeded(),
        }
        let times = self.given_up.entry(rules.iter().next().copied()).or_default();
        *times += 1;
        let times = *times;
        let start = self.inbox.running().map_or_else(String::new, |event| self.describe(event));
        let rule = |id: RuleId| {
            let rule = &self.program.plan().rules[id.index()];
            (rule.name.as_str(), rule.place.as_str())
        };
        let rules = rules.into_iter().map(rule).collect();
        let (node, start) = (self.identity.address.as_str(), start.as_str());
        observer.given_up(GivenUp { node, start, times, limit, rules });
    }

    /// A short description of what starts a turn.
    fn describe(&self, event: &Event) -> String {
        let plan = self.program.plan();
        let tuple = |relation: RelationId, row: &SeqBuilder| {
            let name = &plan.relation(relation).name;
            let text = DisplayTuple::new(name, row.as_seq().iter()).to_string();
            match text.char_indices().nth(START_CHARS_MAX) {
                Some((end, _)) => format!("{}...", &text[..end]),
                None => text,
            }
        };
        match event {
            Event::Tuple { relation, row, .. } => tuple(*relation, row),
            Event::Traced(traced) => match &**traced {
                Traced::Received(it) => tuple(it.relation, &it.row),
                Traced::Recorded(_) => "what views have derived".to_owned(),
            },
            Event::Change { relation, row, .. } => {
                format!("the change of {}", tuple(*relation, row))
            }
            Event::Periodic { timer } => {
                let strand = &plan.strands[self.program.dispatch.periodics[*timer] as usize];
                format!("the timer of {}", plan.rules[strand.rule.index()].name)
            }
            Event::Facts { .. } => "facts".to_owned(),
            Event::Rows { .. } => "rows of nodes".to_owned(),
            Event::Expiry => "rows that expire".to_owned(),
            Event::Release => "rows that were held back".to_owned(),
            Event::Resume => "rows of a stage".to_owned(),
            Event::Everywhere { relation, .. } => plan.relation(*relation).name.clone(),
            Event::Lost { sender } => format!("the loss of {sender}"),
            Event::Forgotten { peer } => format!("the restart of {peer}"),
        }
    }
}

/// The most that a report shows of the tuple that started a turn.
const START_CHARS_MAX: usize = 200;

/// The rules through which tuples of an event relation lead to others of it within a turn.
fn cycle_through(program: &Program, relation: RelationId) -> SortedSet<RuleId> {
    let strands =
        program.plan().strands.iter().filter(|strand| {
            strand.trigger.on == On::Event && strand.output.action == Action::Emit
        });
    let mut edges: Vec<(RelationId, RelationId, Option<RuleId>)> = strands
        .map(|strand| (strand.trigger.relation, strand.output.relation, Some(strand.rule)))
        .collect();
    edges.extend(edges_of_stages(program));
    rules_through(relation, &edges)
}

/// The rules through which changes of a table lead to others of it, over several turns.
fn cycle_of_changes(program: &Program, relation: RelationId) -> SortedSet<RuleId> {
    let plan = program.plan();
    let strand =
        |strand: &Strand| (strand.trigger.relation, strand.output.relation, Some(strand.rule));
    let mut edges: Vec<(RelationId, RelationId, Option<RuleId>)> =
        plan.strands.iter().map(strand).collect();
    for view in plan.strata.iter().flat_map(|stratum| &stratum.rules) {
        edges.extend(view.body.iter().map(|atom| (atom.relation, view.head, Some(view.rule))));
    }
    edges.extend(edges_of_stages(program));
    rules_through(relation, &edges)
}

/// The relations that operators read and yield.
fn edges_of_stages(
    program: &Program,
) -> impl Iterator<Item = (RelationId, RelationId, Option<RuleId>)> {
    let stages = program.compiled.stages.iter().filter(|stage| stage.by == WorkedBy::Node);
    stages.map(|stage| (stage.input, stage.output, None))
}

/// The rules of the edges on a cycle through a relation.
fn rules_through(
    relation: RelationId,
    edges: &[(RelationId, RelationId, Option<RuleId>)],
) -> SortedSet<RuleId> {
    let ahead = reached(relation, edges.iter().map(|&(from, to, _)| (from, to)));
    let back = reached(relation, edges.iter().map(|&(from, to, _)| (to, from)));
    let inside =
        |&(from, to, _): &&(RelationId, RelationId, _)| ahead.contains(from) && back.contains(to);
    edges.iter().filter(inside).filter_map(|&(_, _, rule)| rule).collect()
}

/// The reachable relations, the start included.
fn reached(
    start: RelationId,
    edges: impl Iterator<Item = (RelationId, RelationId)> + Clone,
) -> SortedSet<RelationId> {
    let mut found = SortedSet::from([start]);
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
