//! Tables of the system that a program reads: `sys::turn`, `sys::rule`, `sys::app` and the like.
//!
//! A node whose program reads such a table keeps it: at its start, after a turn, and when the world
//! requests it ([`sample`](super::sample)), but once a second at most, its rows are compared with
//! the last ones, and the differences become events of later turns. Turns that only take these
//! differences do not lead to another comparison, so an idle node does nothing. Other programs cost
//! nothing; a query for a table alone is answered with the present rows.

use std::time::Duration;

use tidemill_event::Loop;
use tidemill_relation::plan::{RelationId, RuleId};
use tidemill_relation::{OwnedValue, Value};
use tidemill_stdx::sorted::{SortedMap, SortedSet};

use super::state::{Alive, INBOX_MAX, NodeId};
use super::times::time_of;
use super::world::World;
use crate::check::system::{APP, SOURCE};
use crate::node::{Node, TableCounters};

/// Compares the tables of a node with the last ones; returns the number of events.
pub(super) fn compare<W: World>(
    world: &mut W,
    events: &mut Loop<W>,
    id: NodeId,
    life: u32,
) -> usize {
    let Some((alive, _)) = world.fleet().alive(id, life) else { return 0 };
    let Some(mut system) = alive.system.take() else { return 0 };
    (system.timer, system.compared) = (None, Some(events.now()));
    let mut changes = Vec::new();
    for kept in &mut system.tables {
        let name = kept.table.name;
        if name == APP && kept.has_times {
            world.measure_apps(events, id);
        }
        let mut rows = rows(world, events, id, name);
        if let Some(column) = time_of(name).filter(|_| !kept.has_times) {
            rows.iter_mut().for_each(|row| row[column] = OwnedValue::new(Value::Null));
        }
        kept.compare(rows, &mut changes);
    }
    let Some((alive, _)) = world.fleet().alive(id, life) else { return 0 };
    let waited = alive.node.waiting();
    let room = INBOX_MAX.saturating_sub(waited);
    // Changes without room are compared again the next time; their rows are forgotten until then.
    let count = changes.len().min(room);
    changes.drain(count..).for_each(|change| system.forget(&change));
    changes.into_iter().for_each(|change| alive.node.enqueue(change));
    // Events that waited already may have changed something when they are done.
    let external = alive.node.counters().external_turns;
    system.quiet_turns = external + if waited == 0 { count as u64 } else { 0 };
    alive.system = Some(system);
    count
}

/// The present rows of a table of the system, at one node.
pub(super) fn rows<W: World>(
    world: &mut W,
    events: &mut Loop<W>,
    id: NodeId,
    name: &str,
) -> Vec<Vec<OwnedValue>> {
    let fleet = world.fleet();
    let Some(address) = fleet.address(id).map(str::to_owned) else { return Vec::new() };
    let alive = fleet.slots.get(id.0 as usize).and_then(|slot| slot.alive.as_ref());
    let rows = match (name, alive) {
        (_, None) => Vec::new(),
        ("sys::turn", _) => turn_rows(events),
        ("sys::rule", Some(alive)) => rule_rows(&alive.node, events.host().stopwatch().is_some()),
        ("sys::table", Some(alive)) => table_rows(&alive.node),
        ("sys::program", Some(alive)) => program_rows(alive, events),
        (SOURCE, Some(alive)) => source_rows(&alive.node),
        ("sys::counter", _) => fleet.desk.counter_rows(),
        _ => world.system_rows(events, id, name),
    };
    located(rows, &address)
}

/// The present rows of a table of another part of the program, at one node.
pub(super) fn foreign_rows<W: World>(
    world: &mut W,
    id: NodeId,
    name: &str,
) -> Option<Vec<Vec<OwnedValue>>> {
    let rows = world.foreign_rows(id, name)?;
    let address = world.fleet().address(id)?;
    Some(located(rows, address))
}

fn located(mut rows: Vec<Vec<OwnedValue>>, address: &str) -> Vec<Vec<OwnedValue>> {
    rows.iter_mut().for_each(|row| row.insert(0, OwnedValue::new(Value::Str(address))));
    rows
}

/// The value of a counter.
fn count(value: u64) -> Value<'static> {
    Value::Int(i64::try_from(value).unwrap_or(i64::MAX))
}

fn row<const COLUMNS: usize>(values: [Value<'_>; COLUMNS]) -> Vec<OwnedValue> {
    values.map(OwnedValue::new).to_vec()
}

/// Turns by kind of owner, not by owner.
fn turn_rows<W: 'static>(events: &mut Loop<W>) -> Vec<Vec<OwnedValue>> {
    let ns = |time: Duration| count(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    let kinds = &events.stats().kinds;
    let of_kind = kinds.iter().map(|kind| {
        let name = Value::Str(&kind.kind);
        row([name, Value::Str("all"), count(kind.turns), ns(kind.total), ns(kind.longest)])
    });
    of_kind.collect()
}

/// Rules; their time, and all of those that are views, is null if it was never measured, or no
/// result may depend on it.
fn rule_rows(node: &Node, has_time: bool) -> Vec<Vec<OwnedValue>> {
    let costs = node.rule_costs().filter(|_| has_time);
    let plan = node.program().plan();
    let strands: SortedSet<RuleId> = plan.strands.iter().map(|strand| strand.rule).collect();
    let mut rules: SortedMap<&str, Option<(u64, u64)>> = SortedMap::new();
    for (id, (rule, counters)) in
        (0..).map(RuleId).zip(plan.rules.iter().zip(&node.counters().rules))
    {
        // Parts of one rule have its name.
        let sum = rules.entry(&rule.name).or_default();
        if strands.contains(&id) {
            let (fired, derived) = sum.unwrap_or_default();
            *sum = Some((fired + counters.fired, derived + counters.derived));
        }
    }
    let of_rule = rules.into_iter().map(|(name, counted)| {
        let cost = costs.as_ref().map(|costs| costs.get(name).copied().unwrap_or_default());
        let counted = counted.or_else(|| cost.map(|cost| (cost.fired, cost.derived)));
        let [fired, derived, ns] =
            [counted.map(|it| it.0), counted.map(|it| it.1), cost.map(|cost| cost.ns)]
                .map(|known| known.map_or(Value::Null, count));
        row([Value::Str(name), fired, derived, ns])
    });
    of_rule.collect()
}

fn table_rows(node: &Node) -> Vec<Vec<OwnedValue>> {
    let relations = (0..).map(RelationId).zip(&node.program().plan().relations);
    let visible = relations.filter(|(_, relation)| {
        !relation.hidden && relation.table().is_some() && !relation.name.starts_with("sys::")
    });
    let of_table = visible.map(|(id, relation)| {
        let table = node.database().get(id);
        let (rows, bytes) = table.map_or((0, 0), |table| (table.len(), table.bytes()));
        let TableCounters { inserted, deleted, expired } = node.table_counters(id);
        row([
            Value::Str(&relation.name),
            count(rows as u64),
            count(bytes as u64),
            count(inserted),
            count(deleted),
            count(expired),
        ])
    });
    of_table.collect()
}

fn source_rows(node: &Node) -> Vec<Vec<OwnedValue>> {
    let written = node.program().compiled.written.iter();
    written.map(|it| row([&it.name, &it.place, &it.text].map(|it| Value::Str(it)))).collect()
}

fn program_rows<W: 'static>(alive: &Alive, events: &mut Loop<W>) -> Vec<Vec<OwnedValue>> {
    let program = alive.node.program();
    let hash = format!("{:016x}", program.post().schema().program());
    let ago = i64::try_from(events.now().0.saturating_sub(alive.started.0)).unwrap_or(i64::MAX);
    let since = Value::Time(events.wall().saturating_sub(ago));
    vec![row([Value::Str(&program.compiled.package), Value::Str(&hash), since])]
}
