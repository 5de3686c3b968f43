//! Costs at a node, by what starts turns and by what runs in them.

use tidemill_relation::cost::Cost;
use tidemill_relation::plan::RelationId;
use tidemill_relation::view::ViewCosts;
use tidemill_stdx::sorted::SortedMap;

use super::event::{Event, Traced};

/// The kind of a turn, by what starts it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum TurnKind {
    Insert(RelationId),
    Delete(RelationId),
    Change(RelationId),
    Timer(usize),
    Facts,
    Expiry,
    Release,
    Resume,
    Record,
    Lost,
    Forgotten,
    /// It had begun before the measurement.
    Before,
}

/// The costs of all turns of a kind.
#[derive(Debug, Default)]
pub(super) struct TurnCosts {
    /// By position in the plan.
    pub(super) strands: SortedMap<u32, Cost>,
    pub(super) views: ViewCosts,
    /// By position in the program.
    pub(super) stages: SortedMap<usize, Cost>,
    pub(super) engine: SortedMap<Engine, Cost>,
}

/// The parts of a turn, without the cost of their rules and operators.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Engine {
    /// An event becomes tuples.
    Begin,
    /// Tuples find the strands that they start.
    Dispatch,
    /// Tables change.
    Commit,
    /// Views: strata are chosen, rows selected.
    Views,
    /// Changes are shown, queued and shipped.
    Finish,
}

impl Engine {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Begin => "begin",
            Engine::Dispatch => "dispatch",
            Engine::Commit => "commit",
            Engine::Views => "views",
            Engine::Finish => "finish",
        }
    }
}

impl TurnKind {
    pub(super) fn of(event: &Event) -> TurnKind {
        match event {
            Event::Tuple { relation, delete: false, .. } => TurnKind::Insert(*relation),
            Event::Tuple { relation, delete: true, .. } => TurnKind::Delete(*relation),
            Event::Change { relation, .. } => TurnKind::Change(*relation),
            Event::Periodic { timer } => TurnKind::Timer(*timer),
            Event::Facts { .. } | Event::Rows { .. } | Event::Everywhere { .. } => TurnKind::Facts,
            Event::Expiry => TurnKind::Expiry,
            Event::Release => TurnKind::Release,
            Event::Resume => TurnKind::Resume,
            Event::Traced(traced) => match &**traced {
                Traced::Received(it) if it.delete => TurnKind::Delete(it.relation),
                Traced::Received(it) => TurnKind::Insert(it.relation),
                Traced::Recorded(_) => TurnKind::Record,
            },
            Event::Lost { .. } => TurnKind::Lost,
            Event::Forgotten { .. } => TurnKind::Forgotten,
        }
    }
}
