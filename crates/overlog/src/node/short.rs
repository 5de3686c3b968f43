//! Which turns need no queue: those of a tuple whose strands derive no tuple that starts more.
//!
//! Most turns are like that. Their strands can run where the tuple lies, in the inbox; event tuples
//! that nothing takes are counted instead of kept; and where tables do not change, the turn has
//! ended when its strands have.

use tidemill_relation::Value;
use tidemill_relation::plan::{Action, RelationId, RuleId};

use super::dispatch::Dispatch;
use super::tuples::{Derived, TupleOrigin};
use super::watch::Watching;
use crate::program::Compiled;

/// By relation, its turns if they are short.
#[derive(Clone, Debug, Default)]
pub(super) struct ShortTurns(Vec<ShortTurn>);

/// The turns of the tuples of a relation.
#[derive(Clone, Debug, Default)]
struct ShortTurn {
    /// The number of columns; `None` if they may be other turns.
    columns: Option<usize>,
    strands: Vec<ShortStrand>,
}

/// A strand of such turns.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShortStrand {
    /// In the plan.
    pub(super) position: u32,
    pub(super) rule: RuleId,
    /// The column of the head with its location.
    location: u32,
    pub(super) derived: Derived,
}

impl ShortTurns {
    /// `shown`: the relations whose event tuples are shown.
    pub(super) fn new(
        compiled: &Compiled,
        dispatch: &Dispatch,
        (shown, watching): (&[bool], &Watching),
    ) -> ShortTurns {
        let plan = &compiled.plan;
        let is_untaken = |relation: RelationId| {
            let at = relation.index();
            dispatch.events[at].is_empty() && dispatch.stages[at].is_empty() && !shown[at]
        };
        let short = |relation: usize| {
            let strands: Vec<ShortStrand> = dispatch.events[relation]
                .iter()
                .map(|&it| ShortStrand::new(compiled, it))
                .collect();
            let ends = |strand: &ShortStrand| {
                strand.derived.action != Action::Emit || is_untaken(strand.derived.relation)
            };
            let is_short = !strands.is_empty()
                && !shown[relation]
                && !watching.traces(RelationId(relation as u32))
                && !plan.relations[relation].is_open()
                && dispatch.stages[relation].is_empty()
                && strands.iter().all(ends);
            let columns = is_short.then(|| plan.relations[relation].arity());
            ShortTurn { columns, strands }
        };
        ShortTurns((0..plan.relations.len()).map(short).collect())
    }

    /// Whether the turn of a tuple of a relation with so many columns is short.
    #[inline]
    pub(super) fn has(&self, relation: RelationId, columns: usize) -> bool {
        self.0[relation.index()].columns == Some(columns)
    }

    /// The strands of such a turn, in program order.
    #[inline]
    pub(super) fn strands(&self, relation: RelationId) -> &[ShortStrand] {
        &self.0[relation.index()].strands
    }

    /// Of a program in which something sees all that happens.
    pub(super) fn none(compiled: &Compiled) -> ShortTurns {
        ShortTurns(vec![ShortTurn::default(); compiled.plan.relations.len()])
    }
}

impl ShortStrand {
    fn new(compiled: &Compiled, position: u32) -> ShortStrand {
        let strand = &compiled.plan.strands[position as usize];
        let (output, rule) = (&strand.output, strand.rule);
        let relation = output.relation;
        let of_relation = || compiled.plan.relation(relation).location;
        let location = output.location.unwrap_or_else(of_relation);
        let derived = Derived { relation, origin: TupleOrigin::Rule(rule), action: output.action };
        ShortStrand { position, rule, location, derived }
    }

    /// Whether a head is an event tuple for this node, so that nothing takes it.
    #[inline]
    pub(super) fn stays(&self, columns: &[Value<'_>], node: &str) -> bool {
        let location = columns.get(self.location as usize);
        self.derived.action == Action::Emit
            && matches!(location, Some(Value::Str(text)) if is_same(text, node))
    }
}

/// Whether two texts are equal; fast for those as long as most addresses.
#[inline]
fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    match one.len() {
        length if length != other.len() => false,
        4..8 => ends::<4>(one) == ends::<4>(other),
        8..=16 => ends::<8>(one) == ends::<8>(other),
        _ => one == other,
    }
}

/// The first and the last `N` bytes, which may overlap.
#[inline(always)]
fn ends<const N: usize>(bytes: &[u8]) -> Option<([u8; N], [u8; N])> {
    match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(first), Some(last)) => Some((*first, *last)),
        _ => None,
    }
}
