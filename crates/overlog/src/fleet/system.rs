//! Tables of the system that a program reads: `sys::turn`, `sys::rule`, `sys::app` and the like.
//!
//! A node whose program reads such a table keeps it: at its start, after a turn, and when the world
//! asks for it ([`sample`]), but once a second at most, its rows are compared with what they were,
//! and the differences become events of later turns. Turns
//! that only bring these differences do not lead to another comparison, so a node that rests does
//! nothing. Without such a program nothing is done; a query for a table alone is answered with the
//! rows of that time.

use std::collections::BTreeMap;
use std::time::Duration;

use tidemill_event::{Loop, Time, TimerId};
use tidemill_relation::plan::{Plan, RelationId};
use tidemill_relation::{OwnedValue, SeqBuilder, Value};
use tidemill_stdx::sorted::SortedMap;

use super::{Alive, INBOX_MAX, NodeId, World, turns};
use crate::check::system::{self, SystemTable};
use crate::node::{Event, Node};

/// How long the rows of a table may be old.
const EVERY: Duration = Duration::from_secs(1);

/// The tables that a node keeps.
pub(super) struct SystemTables {
    tables: Vec<Kept>,
    timer: Option<TimerId>,
    /// When rows were last compared.
    compared: Option<Time>,
    /// External turns of the node up to which only differences were brought.
    quiet_turns: u64,
}

/// A table and its rows, by the text of their key.
struct Kept {
    relation: RelationId,
    table: &'static SystemTable,
    rows: BTreeMap<Vec<String>, SeqBuilder>,
}

impl SystemTables {
    /// Those that a plan reads, if it reads any.
    pub(super) fn new(plan: &Plan) -> Option<SystemTables> {
        let filled = system::TABLES.iter().filter(|table| table.is_sampled());
        let read = filled.filter_map(|table| Some((plan.find(table.name)?, table)));
        let kept = read
            .filter(|&(relation, _)| plan.relation(relation).table().is_some())
            .map(|(relation, table)| Kept { relation, table, rows: BTreeMap::new() });
        let tables: Vec<Kept> = kept.collect();
        let none = SystemTables { tables, timer: None, compared: None, quiet_turns: 0 };
        (!none.tables.is_empty()).then_some(none)
    }
}

/// Has the tables of a node compared, now that it has had a turn.
pub(super) fn after_turn<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let Some((alive, _)) = world.fleet().alive(id, life) else { return };
    let turns = alive.node.counters().external_turns;
    if alive.system.as_ref().is_some_and(|system| turns > system.quiet_turns) {
        arm(world, events, id, life);
    }
}

/// Has the tables of all nodes compared that read some, as something else than their turns may have
/// changed them.
pub fn sample<W: World>(world: &mut W, events: &mut Loop<W>) {
    for number in 0..world.fleet().slots.len() {
        let life = world.fleet().slots[number].life;
        arm(world, events, NodeId(number as u32), life);
    }
}

/// Sets the timer for the next comparison of a node, if there is none.
pub(super) fn arm<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let Some((alive, _)) = world.fleet().alive(id, life) else { return };
    let Some(system) = &mut alive.system else { return };
    if system.timer.is_some() {
        return;
    }
    let at = system.compared.map_or(events.now(), |compared| events.now().max(compared + EVERY));
    system.timer = Some(events.timer(at, move |world: &mut W, events: &mut Loop<W>| {
        compare(world, events, id, life);
    }));
}

fn compare<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let Some((alive, _)) = world.fleet().alive(id, life) else { return };
    let Some(mut system) = alive.system.take() else { return };
    (system.timer, system.compared) = (None, Some(events.now()));
    let mut changes = Vec::new();
    for kept in &mut system.tables {
        let rows = rows(world, events, id, kept.table.name);
        kept.compare(rows, &mut changes);
    }
    let Some((alive, _)) = world.fleet().alive(id, life) else { return };
    let waited = alive.node.waiting();
    let room = INBOX_MAX.saturating_sub(waited);
    // What has no room now is compared again the next time; its rows are forgotten until then.
    let count = changes.len().min(room);
    changes.drain(count..).for_each(|change| system.forget(&change));
    changes.into_iter().for_each(|change| alive.node.enqueue(change));
    // Events that waited already may have changed something when they are done.
    let external = alive.node.counters().external_turns;
    system.quiet_turns = external + if waited == 0 { count as u64 } else { 0 };
    alive.system = Some(system);
    turns::schedule(world, events, id, life, count);
}

impl SystemTables {
    /// A change was not brought to the node.
    fn forget(&mut self, change: &Event) {
        let Event::Tuple { relation, row, .. } = change else { return };
        for kept in self.tables.iter_mut().filter(|kept| kept.relation == *relation) {
            kept.rows.remove(&kept.key(row));
        }
    }
}

impl Kept {
    fn key(&self, row: &SeqBuilder) -> Vec<String> {
        let row = row.as_seq();
        let column = |&column: &u32| row.get(column as usize).map(|value| value.to_string());
        self.table.key.iter().filter_map(column).collect()
    }

    /// Takes the rows of now; what is different from before is added to `changes`.
    fn compare(&mut self, rows: Vec<Vec<OwnedValue>>, changes: &mut Vec<Event>) {
        let relation = self.relation;
        let change = |row, delete| Event::Tuple { relation, row, delete, received: false };
        let mut old = std::mem::take(&mut self.rows);
        for row in rows.iter().map(|row| SeqBuilder::from(&row[..])) {
            let key = self.key(&row);
            if old.remove(&key).as_ref() != Some(&row) {
                changes.push(change(row.clone(), false));
            }
            self.rows.insert(key, row);
        }
        changes.extend(old.into_values().map(|row| change(row, true)));
    }
}

/// The rows of a table of the system as they are now, at one node.
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
        ("sys::rule", Some(alive)) => rule_rows(&alive.node),
        ("sys::table", Some(alive)) => table_rows(&alive.node),
        ("sys::program", Some(alive)) => program_rows(alive, events),
        ("sys::counter", _) => fleet.desk.counter_rows(),
        _ => world.system_rows(events, id, name),
    };
    let located = |mut row: Vec<OwnedValue>| {
        row.insert(0, OwnedValue::new(Value::Str(&address)));
        row
    };
    rows.into_iter().map(located).collect()
}

/// A number that a counter has.
fn count(value: u64) -> Value<'static> {
    Value::Int(i64::try_from(value).unwrap_or(i64::MAX))
}

fn row<const COLUMNS: usize>(values: [Value<'_>; COLUMNS]) -> Vec<OwnedValue> {
    values.map(OwnedValue::new).to_vec()
}

/// Turns by kind of owner; owners are not told apart.
fn turn_rows<W: 'static>(events: &mut Loop<W>) -> Vec<Vec<OwnedValue>> {
    let ns = |time: Duration| count(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    let kinds = &events.stats().kinds;
    let of_kind = kinds.iter().map(|kind| {
        let name = Value::Str(&kind.kind);
        row([name, Value::Str("all"), count(kind.turns), ns(kind.total), ns(kind.longest)])
    });
    of_kind.collect()
}

/// Rules; how long they take is not measured.
fn rule_rows(node: &Node) -> Vec<Vec<OwnedValue>> {
    let mut rules: SortedMap<&str, (u64, u64)> = SortedMap::new();
    for (rule, counters) in node.program().plan().rules.iter().zip(&node.counters().rules) {
        // Parts of one rule have its name.
        let sum = rules.entry(&rule.name).or_default();
        *sum = (sum.0 + counters.fired, sum.1 + counters.derived);
    }
    let of_rule = rules.into_iter().map(|(name, (fired, derived))| {
        row([Value::Str(name), count(fired), count(derived), Value::Null])
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
        let counters = node.counters().tables[id.index()];
        row([
            Value::Str(&relation.name),
            count(rows as u64),
            count(bytes as u64),
            count(counters.inserted),
            count(counters.deleted),
            count(counters.expired),
        ])
    });
    of_table.collect()
}

fn program_rows<W: 'static>(alive: &Alive, events: &mut Loop<W>) -> Vec<Vec<OwnedValue>> {
    let program = alive.node.program();
    let hash = format!("{:016x}", program.post().schema().program());
    let ago = i64::try_from(events.now().0.saturating_sub(alive.started.0)).unwrap_or(i64::MAX);
    let since = Value::Time(events.wall().saturating_sub(ago));
    vec![row([Value::Str(&program.compiled.package), Value::Str(&hash), since])]
}
