//! One node: its tables, and the turns that change them.
//!
//! A node is a state machine without input or output of its own. Its driver ([`crate::fleet`])
//! hands it one external event at a time and runs the parts of the turn:
//!
//! ```text
//! begin(event) -> derive() until done -> commit() -> refine() until done -> finish()
//!     one event      strands, to            table        views, round       net changes
//!                    quiescence            changes        by round          and sends
//! ```
//! [`Node::start`] runs a short turn in one go. Between any two of these calls the loop may let
//! others run; the node's tables do not change until `commit`, and nothing outside the turn reads
//! them before `finish`.

mod allowances;
mod ambient;
mod begin;
mod commit;
mod compilation;
mod costs;
mod counters;
mod coverage;
mod derive;
mod deriving;
mod dispatch;
mod event;
mod event_order;
mod execution;
mod explored;
mod failing;
mod inbox;
mod kept;
mod limit;
mod operate;
mod profile;
mod profiler;
mod program;
mod record;
mod recorder;
mod recording;
mod records;
mod replace;
mod ship;
mod shipping;
mod short;
mod sight;
mod stages;
mod staging;
mod start;
mod tuples;
mod turn;
mod untaken;
mod watch;

use std::sync::Arc;

use tidemill_relation::cost::{Clock, Cost};
use tidemill_relation::database::Database;
use tidemill_relation::expr::{EvalError, Expr, Scope, evaluate};
use tidemill_relation::plan::{Action, On, Plan, RelationId, RuleId};
use tidemill_relation::table::{Access, Table, Visible};
use tidemill_relation::view::Views;
use tidemill_relation::{SeqBuilder, TupleBuf, Value};
use tidemill_stdx::keyed::Secret;
use tidemill_stdx::ordered::OrderedMap;
use tidemill_stdx::region::Bump;
use tidemill_stdx::sorted::SortedMap;

use crate::net::address::canonical;
use allowances::Allowances;
use ambient::NodeAmbient;
use inbox::Inbox;
use profiler::Profiler;
use recorder::Recorder;
use shipping::Shipping;
use staging::Staging;
use turn::Turn;

pub use allowances::{CHAIN_CHANGES_MAX, CYCLE_TUPLES_MAX, GivenUp, Limit, TURN_TUPLES_MAX};
pub use ambient::{Chosen, Identity, node_id};
pub use compilation::listing;
pub use costs::Engine;
pub use counters::{Counters, RuleCounters, StageCounters, TableCounters};
pub use coverage::{Coverage, RuleCoverage};
pub use event::{Event, Link, Periodic, Received, Traced};
use event_order::EventOrder;
pub use execution::{Execution, Named, Receipt};
pub use explored::{Turned, Write};
pub use kept::Kept;
pub use profile::{Profile, Spot, Worker};
pub use program::Program;
pub use records::{RECORDED_MAX, Records};
pub use replace::{Emptied, OtherTable, Replaced, Replacement};
pub use shipping::HOLD_NS;
pub use stages::{Stage, Stages};
pub use staging::{BYTES_PER_TURN_MAX, INPUTS_AT_WORK_MAX, ROWS_PER_TURN_MAX};
pub use start::Started;
pub use tuples::{Crossing, CrossingKind, Send};
pub use watch::{Observer, Sighting};

/// The costs of each rule of a plan at some nodes, by its name, including those of earlier
/// programs.
pub fn rule_costs<'n>(
    plan: &'n Plan,
    nodes: impl Iterator<Item = &'n Node>,
) -> OrderedMap<&'n str, Cost> {
    let mut sums = vec![Cost::default(); plan.rules.len()];
    let mut costs: OrderedMap<&str, Cost> = OrderedMap::new();
    for node in nodes {
        node.profiler.add_to_rules(plan, &mut sums);
        for (rule, cost) in node.profiler.earlier().rules() {
            *costs.entry(rule).or_default() += cost;
        }
    }
    for (rule, sum) in plan.rules.iter().zip(sums) {
        *costs.entry(rule.name.as_str()).or_default() += sum;
    }
    costs
}

/// One node; see the module.
#[derive(Debug)]
pub struct Node {
    program: Arc<Program>,
    identity: Identity,
    ambient: NodeAmbient,
    scratch: Bump,
    database: Database,
    views: Views,
    turn: Turn,
    staging: Staging,
    shipping: Shipping,
    /// One per periodic strand.
    periodics: Vec<Periodic>,
    /// Of each periodic, whether a firing waits in the inbox.
    firing: Vec<bool>,
    inbox: Inbox,
    counters: Counters,
    /// Measures the costs of rules, while a caller requires it.
    profiler: Profiler,
    /// Rules whose first failure has been reported.
    reported: Vec<bool>,
    /// The limits of a turn.
    allowances: Allowances,
    /// The number of turns given up, by the first of their rules.
    given_up: SortedMap<Option<RuleId>, u64>,
    /// The order of its events, if that is observed.
    order: Option<Box<EventOrder>>,
    /// What its traced rules have done.
    recorder: Recorder,
}

impl Node {
    /// A node with empty tables, whose keys are hashed with `secret`. `seed` starts its random
    /// numbers.
    pub fn new(program: Arc<Program>, identity: Identity, seed: u64, secret: Secret) -> Node {
        let plan = program.plan();
        let mut views = Views::new(plan, secret);
        program.observed.iter().for_each(|&relation| views.observe(relation));
        program.trace(&mut views);
        let mut node = Node {
            ambient: NodeAmbient::new(&identity, seed, program.registry.messages().cloned()),
            identity,
            scratch: Bump::new(),
            database: Database::new(plan, secret),
            views,
            turn: Turn::default(),
            staging: Staging::new(&program),
            shipping: Shipping::default(),
            periodics: Vec::new(),
            firing: vec![false; program.dispatch.periodics.len()],
            inbox: Inbox::default(),
            counters: Counters::new(&program.compiled),
            profiler: Profiler::default(),
            reported: vec![false; plan.rules.len()],
            allowances: Allowances::default(),
            given_up: SortedMap::new(),
            order: None,
            recorder: Recorder::default(),
            program,
        };
        node.periodics = node.evaluate_periodics();
        node
    }

    /// Draws random numbers from another seed from now on.
    pub fn reseed(&self, seed: u64) {
        self.ambient.reseed(seed);
    }

    /// Its name and place.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The program it runs.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Its tables.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Its counters.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Its counters, for those that the driver keeps.
    pub fn counters_mut(&mut self) -> &mut Counters {
        &mut self.counters
    }

    /// Measures the costs of rules from now on by this clock, or stops. Measured costs stay.
    pub fn measure(&mut self, clock: Option<Clock>) {
        if self.profiler.clock().is_some() != clock.is_some() {
            self.profiler.set_clock(clock);
            self.views.measure(clock);
        }
    }

    /// The costs of each rule so far, by its name; `None` if they were never measured.
    pub fn rule_costs(&self) -> Option<OrderedMap<&str, Cost>> {
        self.profiler.has_measured().then(|| rule_costs(self.program.plan(), [self].into_iter()))
    }

    /// The rows that have come to a table and gone from it.
    pub fn table_counters(&self, relation: RelationId) -> TableCounters {
        let table = self.database.get(relation).map(Table::traffic).unwrap_or_default();
        let expired = self.counters.expired_rows[relation.index()];
        // A commit that was rolled back may have let rows expire.
        let deleted = table.gone.saturating_sub(expired);
        TableCounters { inserted: table.inserted, deleted, expired }
    }

    /// Whether costs are measured now.
    pub fn is_measuring(&self) -> bool {
        self.profiler.is_on()
    }

    /// Runs a part of a turn whose cost is measured.
    #[cold]
    #[inline(never)]
    fn measured<T>(&mut self, engine: Engine, run: impl FnOnce(&mut Node) -> T) -> T {
        let began = self.profiler.begin();
        let result = run(self);
        self.profiler.end(began, engine);
        result
    }

    /// The measured costs so far; `None` if they were never measured.
    pub fn profile(&self) -> Option<Profile> {
        let has_measured = self.profiler.has_measured();
        has_measured.then(|| self.profiler.profile(&self.program.compiled))
    }

    /// The periodics of the program as this node sees them.
    pub fn periodics(&self) -> &[Periodic] {
        &self.periodics
    }

    /// The facts whose location is this node, in source order, as events.
    ///
    /// Facts in a row whose relations start no strand are one event, and go in one commit: separate
    /// commits would differ in cost alone.
    pub fn facts(&self) -> Vec<Event> {
        self.together(self.each_fact())
    }

    /// Makes one event of tuples in a row whose relations start no strand.
    pub fn together(&self, events: Vec<Event>) -> Vec<Event> {
        let mut all: Vec<Event> = Vec::with_capacity(events.len());
        for event in events {
            let Event::Tuple { relation, row, delete: false, received: false } = event else {
                all.push(event);
                continue;
            };
            let is_quiet = self.program.plan().relation(relation).table().is_some()
                && self.program.dispatch.changes[relation.index()].is_empty();
            match (is_quiet, all.last_mut()) {
                (true, Some(Event::Facts { tuples })) => tuples.push((relation, row)),
                (true, _) => all.push(Event::Facts { tuples: vec![(relation, row)] }),
                (false, _) => {
                    let (delete, received) = (false, false);
                    all.push(Event::Tuple { relation, row, delete, received });
                }
            }
        }
        all
    }

    fn each_fact(&self) -> Vec<Event> {
        let facts = self.program.compiled.facts.iter();
        facts
            .filter_map(|fact| {
                self.tuple(fact.relation, &fact.columns, fact.location).ok().flatten()
            })
            .collect()
    }

    /// The event that inserts a tuple given by expressions without registers; `None` if its
    /// location is not this node.
    pub fn tuple(
        &self,
        relation: RelationId,
        columns: &[Expr],
        location: u32,
    ) -> Result<Option<Event>, EvalError> {
        let scope = Scope { scratch: &self.scratch, ambient: &self.ambient };
        let value = |column| evaluate(column, &[], scope);
        let row: SeqBuilder = columns.iter().map(value).collect::<Result<_, _>>()?;
        let place = row.as_seq().get(location as usize);
        let is_here = place.and_then(|value| value.as_str()) == Some(&self.identity.address);
        Ok(is_here.then_some(Event::Tuple { relation, row, delete: false, received: false }))
    }

    /// Queues an event; the driver begins a turn for each.
    #[inline]
    pub fn enqueue(&mut self, event: Event) {
        if let Event::Periodic { timer } = event {
            self.firing[timer] = true;
        }
        self.inbox.push(event);
    }

    /// Queues a tuple, whose columns the caller appends: a fact, an injected one, one that was
    /// `received` from the network or from another part of the program. `delete`: for a table,
    /// delete the row instead of inserting it.
    #[inline]
    pub fn enqueue_tuple(
        &mut self,
        relation: RelationId,
        delete: bool,
        received: bool,
    ) -> &mut SeqBuilder {
        self.inbox.push_tuple(relation, (delete, received))
    }

    /// Takes the tuple that was queued last out again, whose columns were not complete.
    pub fn take_back_tuple(&mut self) {
        self.inbox.take_back_tuple();
    }

    /// Drops the newest events, for which there is no room in the loop; they are counted.
    pub fn drop_newest(&mut self, count: usize) {
        for event in self.inbox.drain_newest(count) {
            self.counters.dropped_queue_full += 1;
            match event {
                Event::Periodic { timer } => self.firing[timer] = false,
                Event::Release => self.shipping.due = false,
                _ => {}
            }
        }
    }

    /// An empty row to be filled for an [`Event::Tuple`], from the pool.
    #[inline]
    pub fn spare_row(&mut self) -> SeqBuilder {
        self.inbox.spare.take()
    }

    /// Returns a row to the pool.
    pub fn reuse_row(&mut self, row: SeqBuilder) {
        self.inbox.spare.give(row);
    }

    /// Events that wait.
    pub fn waiting(&self) -> usize {
        self.inbox.waiting()
    }

    /// True if events wait or a turn is running.
    pub fn is_busy(&self) -> bool {
        self.inbox.waiting() > 0 || self.inbox.running().is_some()
    }

    /// When the next row expires, on the clock of the turns.
    pub fn next_expiry_ns(&mut self) -> Option<u64> {
        let mortal = &self.program.dispatch.mortal;
        mortal.iter().filter_map(|&table| self.database.table_mut(table).next_expiry_ns()).min()
    }

    fn evaluate_periodics(&self) -> Vec<Periodic> {
        let scope = Scope { scratch: &self.scratch, ambient: &self.ambient };
        let number = |expr: &Expr| match evaluate(expr, &[], scope) {
            Ok(Value::Interval(ns)) => Some(ns as f64 / 1e9),
            Ok(value) => value.as_double(),
            Err(_) => None,
        };
        let periodic = |&strand: &u32| {
            let On::Periodic { period, count } =
                &self.program.plan().strands[strand as usize].trigger.on
            else {
                unreachable!("only periodic strands are listed");
            };
            let seconds = number(period).filter(|seconds| *seconds >= 0.0);
            let count = count.as_ref().and_then(number).unwrap_or(0.0);
            Periodic {
                // An invalid period never fires.
                period_ns: seconds.map_or(0, |seconds| (seconds * 1e9) as u64),
                left: match seconds {
                    None => Some(0),
                    Some(_) => (count >= 1.0).then_some(count as u64),
                },
            }
        };
        self.program.dispatch.periodics.iter().map(periodic).collect()
    }

    /// Notes a firing of a periodic; false if it was the last.
    pub fn fire(&mut self, timer: usize) -> bool {
        self.enqueue(Event::Periodic { timer });
        match &mut self.periodics[timer].left {
            None => true,
            Some(left) => {
                *left = left.saturating_sub(1);
                *left > 0
            }
        }
    }

    /// The periodic that starts a rule of this name.
    pub fn periodic_of(&self, rule: &str) -> Option<usize> {
        let plan = self.program.plan();
        let name = |&strand: &u32| {
            let rule = plan.strands[strand as usize].rule;
            plan.rules.get(rule.index()).map(|rule| rule.name.as_str())
        };
        self.program.dispatch.periodics.iter().position(|strand| name(strand) == Some(rule))
    }

    /// True while a firing of this periodic waits for its turn.
    pub fn fires_already(&self, timer: usize) -> bool {
        self.firing[timer]
    }

    /// Removes rows that came from this sender.
    fn lose(&mut self, sender: &str) {
        let program = self.program.clone();
        for export in &program.compiled.exports {
            let mut lost = TupleBuf::new();
            // The last column of an imported row is its sender.
            self.rows(export.into, |row| {
                if row.last().and_then(Value::as_str) == Some(sender) {
                    lost.push((), row);
                }
            });
            for (_, row) in lost.iter() {
                self.turn.put(export.into, Action::Delete, &row.iter().collect::<Vec<_>>());
            }
        }
    }

    /// Sends the rows of exported views again to a peer that has lost them.
    fn remind(&mut self, peer: &str) {
        let program = self.program.clone();
        for export in &program.compiled.exports {
            let location = program.plan().relation(export.into).location;
            let mut rows = TupleBuf::new();
            self.rows(export.out, |row| {
                let address = row.get(location as usize).and_then(Value::as_str).unwrap_or("");
                if canonical(address) == peer {
                    let relation = export.into;
                    rows.push(Send { relation, delete: false, view: true, location }, row);
                }
            });
            for (send, row) in rows.iter() {
                self.turn.sends.push(send, &row.iter().collect::<Vec<_>>());
            }
        }
    }

    /// Reads the live rows of a table of this node.
    pub fn rows(&self, relation: RelationId, mut row: impl FnMut(&[Value<'_>])) {
        let database: &Database = &self.database;
        let Some(table) = database.get(relation) else { return };
        let mut columns = Vec::new();
        for id in table.rows(Access::Scan, &[], Visible::Live) {
            columns.clear();
            table.read_row(id, &mut columns);
            row(&columns);
        }
    }
}
