//! The strands that a tuple, a change or a timer starts; made once per program.

use tidemill_relation::plan::{On, RelationId};

use crate::program::{Compiled, WorkedBy};

/// Strands by what starts them, each list in program order.
#[derive(Clone, Debug, Default)]
pub(super) struct Dispatch {
    /// By event relation: positions in [`Plan::strands`].
    pub(super) events: Vec<Vec<u32>>,
    /// By table.
    pub(super) changes: Vec<Vec<u32>>,
    /// By event relation: positions in [`Compiled::stages`].
    pub(super) stages: Vec<Vec<usize>>,
    /// Every strand.
    all: Vec<u32>,
    /// Strands with a timer each.
    pub(super) periodics: Vec<u32>,
    /// Tables whose rows can expire.
    pub(super) mortal: Vec<RelationId>,
    /// The number of relations that are events.
    pub(super) event_relations: usize,
}

/// A trigger of strands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Start {
    /// A tuple of an event relation.
    Event,
    /// The change of a row.
    Change,
    /// The timer of this number.
    Periodic(usize),
    /// Only this strand, of a [short turn](super::short).
    Only(u32),
}

impl Dispatch {
    /// The strands that a trigger of a relation starts.
    #[inline]
    pub(super) fn strands(&self, start: Start, relation: RelationId) -> &[u32] {
        match start {
            Start::Event => &self.events[relation.index()],
            Start::Change => &self.changes[relation.index()],
            Start::Periodic(timer) => &self.periodics[timer..=timer],
            Start::Only(strand) => &self.all[strand as usize..=strand as usize],
        }
    }

    pub(super) fn new(compiled: &Compiled) -> Dispatch {
        let plan = &compiled.plan;
        let relations = plan.relations.len();
        let mut dispatch = Dispatch {
            events: vec![Vec::new(); relations],
            changes: vec![Vec::new(); relations],
            stages: vec![Vec::new(); relations],
            all: (0..plan.strands.len() as u32).collect(),
            ..Dispatch::default()
        };
        for (position, strand) in (0..).zip(&plan.strands) {
            let relation = strand.trigger.relation.index();
            match &strand.trigger.on {
                On::Event => dispatch.events[relation].push(position),
                On::Change => dispatch.changes[relation].push(position),
                On::Periodic { .. } => dispatch.periodics.push(position),
                On::Delta | On::Head | On::Scan => {}
            }
        }
        for (position, stage) in compiled.stages.iter().enumerate() {
            if stage.by == WorkedBy::Node {
                dispatch.stages[stage.input.index()].push(position);
            }
        }
        for (index, relation) in (0..).zip(&plan.relations) {
            dispatch.event_relations += usize::from(relation.table().is_none());
            if relation.table().is_some_and(|spec| spec.lifetime_ns.is_some()) {
                dispatch.mortal.push(RelationId(index));
            }
        }
        dispatch
    }
}
