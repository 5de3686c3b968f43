//! Watching tuples go through the stages of their life.

use tidemill_relation::Value;
use tidemill_relation::expr::{Ambient, Reg, Scope, evaluate};
use tidemill_relation::plan::{Pattern, Plan, RelationId};
use tidemill_stdx::region::Bump;

use super::allowances::GivenUp;
use super::execution::{Execution, Receipt};
use super::kept::Kept;
use super::stages::{Stage, Stages};
use crate::program::Query;
use crate::traces::Traces;

/// An event in the life of a watched tuple.
#[derive(Clone, Copy, Debug)]
pub struct Sighting<'a> {
    /// Nanoseconds since the start of the loop.
    pub at_ns: u64,
    /// The node.
    pub node: &'a str,
    /// The stage.
    pub stage: Stage,
    /// The rule at work, if it is known.
    pub rule: Option<&'a str>,
    /// The relation's name.
    pub relation: &'a str,
    /// The tuple.
    pub columns: &'a [Value<'a>],
}

/// Receives the reports of a program's watches and run-time checks.
pub trait Observer {
    /// A watched tuple reached a watched stage.
    fn sighted(&mut self, sighting: Sighting<'_>);

    /// A tuple of the relation `violation` appeared.
    fn violated(&mut self, sighting: Sighting<'_>);

    /// A tuple of the relation `history` appeared.
    fn recorded(&mut self, sighting: Sighting<'_>) {
        let _ = sighting;
    }

    /// A rule dropped a derivation for the first time.
    fn rule_failed(&mut self, node: &str, rule: &str, place: &str, reason: &str);

    /// The nodes keep their program, although another was to replace it.
    fn kept(&mut self, why: Kept) {
        let _ = why;
    }

    /// A turn was given up.
    fn given_up(&mut self, given_up: GivenUp<'_>) {
        let _ = given_up;
    }

    /// A rule has derived a tuple, in a program that is [explained](super::Program::explain).
    fn executed(&mut self, execution: Execution<'_>) {
        let _ = execution;
    }

    /// A tuple came from another node, in such a program.
    fn received(&mut self, receipt: Receipt<'_>) {
        let _ = receipt;
    }
}

/// The watched stages of each relation.
#[derive(Clone, Debug)]
pub(super) struct Watching {
    stages: Vec<Stages>,
    /// Standing queries, by relation.
    queries: Vec<Vec<Query>>,
    /// By relation, whether it starts traced strands; empty if nothing is traced.
    traced: Vec<bool>,
    /// Something is watched.
    pub(super) any: bool,
    /// Something is watched or traced.
    any_joins: bool,
    pub(super) violation: Option<RelationId>,
    pub(super) history: Option<RelationId>,
}

impl Watching {
    pub(super) fn new(
        plan: &Plan,
        watches: impl Iterator<Item = (RelationId, Stages)>,
        queries: &[Query],
        traces: Option<&Traces>,
    ) -> Watching {
        let mut stages = vec![Stages::default(); plan.relations.len()];
        let mut any = false;
        for (relation, watched) in watches {
            let slot = &mut stages[relation.index()];
            *slot = slot.union(watched);
            any = true;
        }
        let mut standing = vec![Vec::new(); plan.relations.len()];
        for query in queries {
            standing[query.relation.index()].push(query.clone());
            any = true;
        }
        let relations = (0..plan.relations.len() as u32).map(RelationId);
        let traced = traces.map(|traces| relations.map(|it| traces.starts(it)).collect());
        let (any_joins, traced) = (any || traced.is_some(), traced.unwrap_or_default());
        let (violation, history) = (plan.find("violation"), plan.find("history"));
        Watching { stages, queries: standing, traced, any, any_joins, violation, history }
    }

    /// Whether some tuples of the relation may have to be shown at this stage.
    #[inline]
    pub(super) fn wants(&self, relation: RelationId, stage: Stage) -> bool {
        self.any
            && (self.stages[relation.index()].contains(stage)
                || !self.queries[relation.index()].is_empty())
    }

    /// Whether the joins of some strands that the relation starts have to be seen: they are
    /// watched, or traced.
    #[inline]
    pub(super) fn sees_joins(&self, relation: RelationId) -> bool {
        self.any_joins && (self.wants(relation, Stage::AfterJoin) || self.traces(relation))
    }

    /// Whether the relation starts traced strands.
    pub(super) fn traces(&self, relation: RelationId) -> bool {
        self.traced.get(relation.index()).is_some_and(|traced| *traced)
    }

    /// Whether this tuple is to be shown: its stage is watched, or a standing query fits it.
    pub(super) fn shows(
        &self,
        relation: RelationId,
        stage: Stage,
        columns: &[Value<'_>],
        ambient: &dyn Ambient,
    ) -> bool {
        if !self.any {
            return false;
        }
        let index = relation.index();
        self.stages[index].contains(stage)
            || self.queries[index].iter().any(|query| fits(&query.columns, columns, ambient))
    }

    /// Makes all joins visible from now on.
    pub(super) fn see_joins(&mut self) {
        self.traced = vec![true; self.stages.len()];
        self.any_joins = true;
    }

    /// True if anything of the relation is watched.
    pub(super) fn watches(&self, relation: RelationId) -> bool {
        Stage::ALL.into_iter().any(|stage| self.wants(relation, stage))
    }
}

/// Whether the columns match the patterns of a query; equal registers mean equal values.
fn fits(patterns: &[Pattern], columns: &[Value<'_>], ambient: &dyn Ambient) -> bool {
    let mut bound = Vec::new();
    patterns.len() == columns.len()
        && patterns
            .iter()
            .zip(columns)
            .all(|(pattern, value)| fits_one(pattern, *value, ambient, &mut bound))
}

fn fits_one<'v>(
    pattern: &Pattern,
    value: Value<'v>,
    ambient: &dyn Ambient,
    bound: &mut Vec<(Reg, Value<'v>)>,
) -> bool {
    match pattern {
        Pattern::Any => true,
        Pattern::Reg(reg) => match bound.iter().find(|(other, _)| other == reg) {
            Some((_, known)) => known.equal(&value),
            None => {
                bound.push((*reg, value));
                true
            }
        },
        Pattern::Equal(expr) => {
            let scratch = Bump::new();
            let scope = Scope { scratch: &scratch, ambient };
            evaluate(expr, &[], scope).is_ok_and(|wanted| wanted.equal(&value))
        }
        Pattern::List { elements, tail } => {
            let Some(mut rest) = value.as_seq() else { return false };
            for element in elements {
                let (Some(first), Some(after)) = (rest.get(0), rest.tail()) else { return false };
                if !fits_one(element, first, ambient, bound) {
                    return false;
                }
                rest = after;
            }
            match tail {
                Some(tail) => fits_one(tail, Value::List(rest), ambient, bound),
                None => rest.is_empty(),
            }
        }
    }
}
