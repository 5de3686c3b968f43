//! Which strands a tuple, a change or a timer starts; made once per program.

use tidemill_relation::plan::{On, Plan, RelationId};

/// Strands by what starts them, each list in program order.
#[derive(Clone, Debug, Default)]
pub(super) struct Dispatch {
    /// By event relation: positions in [`Plan::strands`].
    pub(super) events: Vec<Vec<u32>>,
    /// By table.
    pub(super) changes: Vec<Vec<u32>>,
    /// Strands with a timer each.
    pub(super) periodics: Vec<u32>,
    /// Tables whose rows can expire.
    pub(super) mortal: Vec<RelationId>,
}

impl Dispatch {
    pub(super) fn new(plan: &Plan) -> Dispatch {
        let relations = plan.relations.len();
        let mut dispatch = Dispatch {
            events: vec![Vec::new(); relations],
            changes: vec![Vec::new(); relations],
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
        for (index, relation) in (0..).zip(&plan.relations) {
            if relation.table().is_some_and(|spec| spec.lifetime_ns.is_some()) {
                dispatch.mortal.push(RelationId(index));
            }
        }
        dispatch
    }
}
