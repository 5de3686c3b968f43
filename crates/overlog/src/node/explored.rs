//! A node whose runs are explored: copied, run for one turn at a time, compared by its state.
//!
//! Tables are read in the order of their rows, so that order is part of a node's state unless it
//! has no effect. It may affect which of two changes of one row comes last, and in which order
//! changes are queued. Where a rule derives at most one tuple in a turn, program order decides
//! both.

use tidemill_relation::plan::{Action, RelationId};
use tidemill_relation::table::{Access, Key, RowId, Table, Visible};
use tidemill_relation::view::Progress;
use tidemill_relation::{SeqBuilder, Value, write_value};
use tidemill_stdx::hash::Map;
use tidemill_stdx::region::Bump;

use super::Node;
use super::ambient::Chosen;
use super::event::Event;
use super::inbox::Inbox;
use super::profiler::Profiler;
use super::recorder::Recorder;
use super::shipping::Shipping;
use super::staging::Staging;
use super::tuples::Send;
use super::turn::Turn;
use super::watch::Observer;

/// Appends a value, as [`write_value`] does.
pub type Write<'w> = &'w dyn Fn(&mut Vec<u8>, Value<'_>);

/// The result of a turn.
#[derive(Clone, Debug)]
pub struct Turned {
    /// Tuples for other nodes, in the order of derivation.
    pub sends: Vec<(Send, SeqBuilder)>,
    /// The events that it queued for later turns.
    pub follows: Vec<Event>,
    /// The order of rows may have affected more than the order of `sends`.
    pub is_ordered: bool,
}

impl Node {
    /// Copies the node, which must have no running turn and no waiting event; operators of stages
    /// restart.
    pub fn fork(&self) -> Node {
        Node {
            program: self.program.clone(),
            identity: self.identity.clone(),
            ambient: self.ambient.clone(),
            scratch: Bump::new(),
            database: self.database.clone(),
            views: self.views.clone(),
            turn: Turn::default(),
            staging: Staging::new(&self.program),
            shipping: Shipping::default(),
            periodics: self.periodics.clone(),
            firing: vec![false; self.firing.len()],
            inbox: Inbox::default(),
            counters: self.counters.clone(),
            profiler: Profiler::default(),
            reported: self.reported.clone(),
            allowances: self.allowances,
            given_up: self.given_up.clone(),
            order: None,
            recorder: Recorder::default(),
        }
    }

    /// Sets the random choices of the next turn.
    pub fn choose(&mut self, chosen: Chosen) {
        self.ambient.choose(chosen);
    }

    /// The random choices, with all coins that were flipped.
    pub fn chosen(&mut self) -> Chosen {
        self.ambient.chosen()
    }

    /// Sets the number of firings that a periodic has left.
    pub fn set_left(&mut self, timer: usize, left: Option<u64>) {
        self.periodics[timer].left = left;
    }

    /// Takes the events that wait.
    pub fn take_waiting(&mut self) -> Vec<Event> {
        self.inbox.drain_newest(usize::MAX).collect()
    }

    /// Runs the turn of an event to its end, at `now_ns`, where rules read the time `wall_ns`;
    /// `None` if it was given up.
    pub fn run_turn(
        &mut self,
        event: Event,
        now_ns: u64,
        wall_ns: i64,
        observer: &mut dyn Observer,
    ) -> Option<Turned> {
        let derived: Vec<u64> = self.counters.rules.iter().map(|rule| rule.derived).collect();
        self.enqueue(event);
        self.begin(now_ns, wall_ns, observer);
        while match self.derive(usize::MAX, observer) {
            Progress::More => true,
            Progress::Done => false,
            Progress::Exceeded => return self.give_up(),
        } {}
        let mut rules = self.counters.rules.iter().zip(derived);
        let derives_several = rules.any(|(rule, before)| rule.derived - before > 1);
        let collides = derives_several && self.has_collisions();
        self.commit(observer);
        while match self.refine(observer) {
            Progress::More => true,
            Progress::Done => false,
            Progress::Exceeded => return self.give_up(),
        } {}
        self.finish(observer);
        let mut sends = Vec::new();
        self.take_sends(|send, columns| {
            let mut row = SeqBuilder::new();
            row.extend(columns);
            sends.push((send, row));
        });
        let follows = self.take_waiting();
        let from_views = follows.iter().filter(|event| self.is_of_view(event)).count();
        let queues_several = follows.len() > 1 && (derives_several || from_views > 1);
        Some(Turned { sends, follows, is_ordered: collides || queues_several })
    }

    fn give_up(&mut self) -> Option<Turned> {
        self.abandon();
        self.take_waiting();
        None
    }

    /// Whether a commit would change one row in several ways.
    fn has_collisions(&self) -> bool {
        let mut seen: Map<(RelationId, Vec<u8>), (Action, Vec<u8>)> = Map::default();
        self.turn.changes.iter().any(|(derived, columns)| {
            let Some(spec) = self.program.plan().relation(derived.relation).table() else {
                return false;
            };
            let row = bytes(columns.iter());
            let key = match &spec.key {
                Key::Columns(key) => bytes(key.iter().filter_map(|at| columns.get(*at as usize))),
                Key::Bag => row.clone(),
            };
            let change = (derived.action, row);
            let first = seen.entry((derived.relation, key)).or_insert_with(|| change.clone());
            *first != change
        })
    }

    /// Whether an event is the change of a row that views derive.
    fn is_of_view(&self, event: &Event) -> bool {
        let Event::Change { relation, .. } = event else { return true };
        let mut strata = self.program.plan().strata.iter();
        strata.any(|it| it.heads.contains(relation) || it.selected.contains(relation))
    }

    /// Appends the contents of its tables in a canonical form, with the order of rows or without.
    /// For rows with a lifetime it includes their age at `now_ns`, but not how long ago they
    /// expired.
    pub fn append_state(&self, in_order: bool, now_ns: u64, out: &mut Vec<u8>) {
        self.append_renamed_state(in_order, now_ns, &write_value, out);
    }

    /// [`append_state`](Node::append_state) of the node with other values: `write` appends the one
    /// that replaces a value.
    pub fn append_renamed_state(
        &self,
        in_order: bool,
        now_ns: u64,
        write: Write<'_>,
        out: &mut Vec<u8>,
    ) {
        for (relation, table) in self.database.iter().filter(|(_, table)| !table.is_empty()) {
            out.extend(relation.0.to_le_bytes());
            append_table(table, (in_order, now_ns), write, out);
        }
    }

    /// Calls `each` with the name of each table that has rows, and its contents in the form of
    /// [`append_state`](Node::append_state).
    pub fn each_content(&self, in_order: bool, now_ns: u64, each: &mut dyn FnMut(&str, &[u8])) {
        let mut contents = Vec::new();
        for (relation, table) in self.database.iter().filter(|(_, table)| !table.is_empty()) {
            contents.clear();
            append_table(table, (in_order, now_ns), &write_value, &mut contents);
            each(&self.program.plan().relation(relation).name, &contents);
        }
    }
}

/// Appends the rows of a table and their ages.
fn append_table(
    table: &Table,
    (in_order, now_ns): (bool, u64),
    write: Write<'_>,
    out: &mut Vec<u8>,
) {
    let mut rows: Vec<(RowId, Vec<u8>)> = table
        .rows(Access::Scan, &[], Visible::Live)
        .map(|row| {
            let mut text = Vec::new();
            table.values(row).for_each(|value| write(&mut text, value));
            text.push(u8::from(table.is_asserted(row)));
            (row, text)
        })
        .collect();
    if !in_order {
        rows.sort_unstable_by(|(_, one), (_, other)| one.cmp(other));
    }
    out.extend((rows.len() as u32).to_le_bytes());
    for (_, text) in &rows {
        out.extend((text.len() as u32).to_le_bytes());
        out.extend(text);
    }
    append_ages(table, &rows, now_ns, out);
}

/// Appends when rows were inserted or refreshed last, as far as it has an effect: on the order of
/// eviction, and on expiry.
fn append_ages(table: &Table, rows: &[(RowId, Vec<u8>)], now_ns: u64, out: &mut Vec<u8>) {
    if let Some(lifetime_ns) = table.spec().lifetime_ns {
        let ages = rows.iter().filter_map(|(row, _)| table.touched_ns(*row));
        let ages = ages.map(|at_ns| now_ns.saturating_sub(at_ns).min(lifetime_ns));
        ages.for_each(|age_ns| out.extend(age_ns.to_le_bytes()));
    }
    if table.spec().size_max.is_none() {
        return;
    }
    let mut ages: Vec<(u64, u32)> = (0..)
        .zip(rows)
        .filter_map(|(place, (row, _))| Some((table.touched(*row)?, place)))
        .collect();
    ages.sort_unstable();
    ages.iter().for_each(|(_, place)| out.extend(place.to_le_bytes()));
}

/// Values as bytes.
fn bytes<'v>(values: impl Iterator<Item = Value<'v>>) -> Vec<u8> {
    let mut out = Vec::new();
    values.for_each(|value| write_value(&mut out, value));
    out
}
