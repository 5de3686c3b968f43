//! One node: its tables, and the turns that change them.
//!
//! A node is a state machine without input or output of its own. Whoever drives it
//! ([`crate::fleet`]) hands it one external event at a time and runs the parts of the turn:
//!
//! ```text
//! begin(event) -> derive() until done -> commit() -> refine() until done -> finish()
//!     one event      strands, to            table        views, round       net changes
//!                    quiescence            changes        by round          and sends
//! ```
//! Between any two of these calls the loop may let others run; the node's tables do not change
//! until `commit`, and nobody else sees them before `finish`.

mod ambient;
mod counters;
mod dispatch;
mod limit;
mod shipping;
mod staging;
mod turn;
mod watch;

use std::collections::VecDeque;
use std::sync::Arc;

use tidemill_relation::database::Database;
use tidemill_relation::expr::{EvalError, Expr, Scope, evaluate};
use tidemill_relation::plan::{Action, On, Plan, RelationId, RuleId};
use tidemill_relation::view::{Progress, Views};
use tidemill_relation::{OwnedValue, SeqBuilder, SpareRows, TupleBuf, Value};
use tidemill_stdx::keyed::Secret;
use tidemill_stdx::log::Level;
use tidemill_stdx::region::Bump;
use tidemill_stdx::say;
use tidemill_stdx::sorted::SortedMap;

use crate::net::mail::{Post, canonical};
use crate::program::Compiled;
use crate::stage::Registry;
use ambient::NodeAmbient;
use dispatch::Dispatch;
use limit::Allowances;
use shipping::Shipping;
use staging::Staging;
use turn::Turn;
pub(crate) use turn::is_address;
use watch::Watching;

pub use ambient::{Identity, node_id};
pub use counters::{Counters, RuleCounters, StageCounters, TableCounters};
pub use limit::{CYCLE_TUPLES_MAX, GivenUp, Limit, TURN_TUPLES_MAX};
pub use shipping::HOLD_NS;
pub use staging::{BYTES_PER_TURN_MAX, INPUTS_AT_WORK_MAX, ROWS_PER_TURN_MAX};
pub use turn::{Crossing, CrossingKind, Send};
pub use watch::{Observer, Sighting, Stage, Stages};

/// What this file says at most.
const CEILING: Level = Level::Debug;

/// A program made ready to run on any number of nodes.
#[derive(Clone, Debug)]
pub struct Program {
    /// What the compiler gave.
    pub compiled: Compiled,
    dispatch: Dispatch,
    watching: Watching,
    /// Relations that become events of their own when their rows change, or are watched.
    observed: Vec<RelationId>,
    /// By relation: its tuples are also for the world outside the fleet.
    crossing: Vec<bool>,
    post: Arc<Post>,
    registry: Arc<Registry>,
}

impl Program {
    /// Prepares a compiled program whose stages are built-in operators.
    ///
    /// # Errors
    /// Relations whose messages would have one name, as text.
    pub fn new(compiled: Compiled) -> Result<Program, String> {
        Program::with_operators(compiled, Arc::default())
    }

    /// Prepares a compiled program; `registry` makes the operators of its stages.
    ///
    /// # Errors
    /// As [`Program::new`].
    pub fn with_operators(compiled: Compiled, registry: Arc<Registry>) -> Result<Program, String> {
        let post = Arc::new(Post::new(&compiled)?);
        let plan = &compiled.plan;
        let dispatch = Dispatch::new(&compiled);
        let watches = compiled.watches.iter().map(|watch| (watch.relation, watch.stages));
        let watching = Watching::new(plan, watches, &compiled.queries);
        let exported = |id| compiled.exports.iter().any(|export| export.out == id);
        let observed = (0..plan.relations.len() as u32)
            .map(RelationId)
            .filter(|&id| {
                plan.relation(id).table().is_some()
                    && (!dispatch.changes[id.index()].is_empty()
                        || watching.watches(id)
                        || watching.violation == Some(id)
                        || exported(id))
            })
            .collect();
        let (relations, rules) = (plan.relations.len(), plan.rules.len());
        let (strands, strata) = (plan.strands.len(), plan.strata.len());
        say!(
            Debug,
            "plan",
            "{relations} relations, {rules} rules, {strands} strands, {strata} strata"
        );
        let schema = post.schema();
        say!(Debug, "plan", "{} relations travel, as {:016x}", schema.len(), schema.program());
        let crossing = vec![false; compiled.plan.relations.len()];
        Ok(Program { compiled, dispatch, watching, observed, crossing, post, registry })
    }

    /// Hands the event tuples of a relation, or the changes of a table, to
    /// [`World::crossed`](crate::fleet::World::crossed) too.
    pub fn cross(&mut self, relation: RelationId) {
        let Some(crosses) = self.crossing.get_mut(relation.index()) else { return };
        *crosses = true;
        let is_table = self.compiled.plan.relation(relation).table().is_some();
        if is_table && !self.observed.contains(&relation) {
            self.observed.push(relation);
        }
    }

    /// The messages in which its tuples travel.
    pub fn post(&self) -> &Arc<Post> {
        &self.post
    }

    /// The operators of its stages, and the message types that its rules know.
    pub fn operators(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.compiled.plan
    }
}

/// What starts a turn.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// A tuple: a fact, an injected one, or from the network.
    Tuple {
        /// Its relation.
        relation: RelationId,
        /// Its columns.
        columns: Vec<OwnedValue>,
        /// For a table: take the row out instead of putting it in.
        delete: bool,
        /// It came from the network.
        received: bool,
    },
    /// A tuple that another part of the program has handed over, see [`Node::spare_row`].
    Row {
        /// Its relation.
        relation: RelationId,
        /// Its columns.
        row: SeqBuilder,
    },
    /// A row changed in an earlier turn.
    Change {
        /// The table.
        relation: RelationId,
        /// The row.
        columns: Vec<OwnedValue>,
    },
    /// A timer fired.
    Periodic {
        /// Position among [`Node::periodics`].
        timer: usize,
    },
    /// Rows of some table have lived long enough.
    Expiry,
    /// Rows of views that were held back may go.
    Release,
    /// An operator has more rows for an input of an earlier turn.
    Resume,
    /// Tuples of tables whose changes start no strand, in one commit.
    Facts {
        /// Each with its relation.
        tuples: Vec<(RelationId, Vec<OwnedValue>)>,
    },
    /// Rows that are the same at all nodes but for their location, in one commit.
    Everywhere {
        /// The table.
        relation: RelationId,
        /// The rows without their location.
        rows: Arc<Vec<Vec<OwnedValue>>>,
    },
    /// What a sender has put into views here no longer stands.
    Lost {
        /// As its rows call it.
        sender: String,
    },
    /// A peer has forgotten what exported views have put there.
    Forgotten {
        /// Where it is.
        peer: String,
    },
}

/// A periodic of a program, evaluated for one node.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Periodic {
    /// Nanoseconds between firings.
    pub period_ns: u64,
    /// Firings left; `None`: for ever.
    pub left: Option<u64>,
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
    inbox: VecDeque<Event>,
    /// Memory of rows that were handed over.
    spare: SpareRows,
    counters: Counters,
    /// Rules whose first failure has been reported.
    reported: Vec<bool>,
    /// What a turn may take.
    allowances: Allowances,
    /// How often turns were given up, by the first of the rules.
    given_up: SortedMap<Option<RuleId>, u64>,
}

impl Node {
    /// A node with empty tables, whose keys are hashed with `secret`. `seed` starts its random
    /// numbers.
    pub fn new(program: Arc<Program>, identity: Identity, seed: u64, secret: Secret) -> Node {
        let plan = program.plan();
        let mut views = Views::new(plan, secret);
        program.observed.iter().for_each(|&relation| views.observe(relation));
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
            inbox: VecDeque::new(),
            spare: SpareRows::default(),
            counters: Counters::new(&program.compiled),
            reported: vec![false; plan.rules.len()],
            allowances: Allowances::default(),
            given_up: SortedMap::new(),
            program,
        };
        node.periodics = node.evaluate_periodics();
        node
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

    /// What it has counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What the driver counts for it.
    pub fn counters_mut(&mut self) -> &mut Counters {
        &mut self.counters
    }

    /// The periodics of the program as this node sees them.
    pub fn periodics(&self) -> &[Periodic] {
        &self.periodics
    }

    /// The facts whose location is this node, in source order, as events.
    ///
    /// Facts in a row whose relations start no strand are one event, and go in one commit: nothing
    /// could tell them apart but what they cost.
    pub fn facts(&self) -> Vec<Event> {
        self.together(self.each_fact())
    }

    /// Makes one event of tuples in a row whose relations start no strand.
    pub fn together(&self, events: Vec<Event>) -> Vec<Event> {
        let mut all: Vec<Event> = Vec::with_capacity(events.len());
        for event in events {
            let Event::Tuple { relation, columns, delete: false, received: false } = event else {
                all.push(event);
                continue;
            };
            let is_quiet = self.program.plan().relation(relation).table().is_some()
                && self.program.dispatch.changes[relation.index()].is_empty();
            match (is_quiet, all.last_mut()) {
                (true, Some(Event::Facts { tuples })) => tuples.push((relation, columns)),
                (true, _) => all.push(Event::Facts { tuples: vec![(relation, columns)] }),
                (false, _) => {
                    let (delete, received) = (false, false);
                    all.push(Event::Tuple { relation, columns, delete, received });
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

    /// The event that puts in a tuple given by expressions without registers; `None` if its
    /// location is not this node.
    pub fn tuple(
        &self,
        relation: RelationId,
        columns: &[Expr],
        location: u32,
    ) -> Result<Option<Event>, EvalError> {
        let scope = Scope { scratch: &self.scratch, ambient: &self.ambient };
        let value = |column| evaluate(column, &[], scope).map(OwnedValue::new);
        let columns: Vec<OwnedValue> = columns.iter().map(value).collect::<Result<_, _>>()?;
        let here = columns.get(location as usize).and_then(|column| column.get().as_str())
            == Some(self.identity.address.as_str());
        Ok(here.then_some(Event::Tuple { relation, columns, delete: false, received: false }))
    }

    /// Queues an event; the driver begins a turn for each.
    pub fn enqueue(&mut self, event: Event) {
        if let Event::Periodic { timer } = event {
            self.firing[timer] = true;
        }
        self.inbox.push_back(event);
    }

    /// Gives up the newest events, for which there is no room in the loop; they are counted.
    pub fn drop_newest(&mut self, count: usize) {
        let keep = self.inbox.len().saturating_sub(count);
        self.counters.dropped_queue_full += (self.inbox.len() - keep) as u64;
        for event in self.inbox.drain(keep..) {
            match event {
                Event::Periodic { timer } => self.firing[timer] = false,
                Event::Release => self.shipping.due = false,
                _ => {}
            }
        }
    }

    /// An empty row to be filled for an [`Event::Row`]: in memory that earlier ones have used.
    pub fn spare_row(&mut self) -> SeqBuilder {
        self.spare.take()
    }

    /// Takes a row back whose memory may be used again.
    pub fn reuse_row(&mut self, row: SeqBuilder) {
        self.spare.give(row);
    }

    /// The turn has ended, whatever started it.
    fn end_start(&mut self) {
        if let Some(Event::Row { row, .. }) = self.turn.start.take() {
            self.reuse_row(row);
        }
    }

    /// Events that wait.
    pub fn waiting(&self) -> usize {
        self.inbox.len()
    }

    /// True if events wait or a turn has begun that is not at its end.
    pub fn is_busy(&self) -> bool {
        !self.inbox.is_empty() || self.turn.start.is_some()
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
                // What is no period never fires.
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

    /// True while a firing of this periodic waits for its turn.
    pub fn fires_already(&self, timer: usize) -> bool {
        self.firing[timer]
    }

    /// Takes out what rows of this sender support.
    fn lose(&mut self, sender: &str) {
        let program = self.program.clone();
        for export in &program.compiled.exports {
            let mut lost = TupleBuf::new();
            // The last column of an imported row says who sent it.
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

    /// Sends once more what exported views hold for a peer that has forgotten it.
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

    /// One round of the views of the running commit. [`Progress::Exceeded`] has been reported: the
    /// turn must be given up.
    pub fn refine(&mut self, observer: &mut dyn Observer) -> Progress {
        let scope = Scope { scratch: &self.scratch, ambient: &self.ambient };
        let mut failures = turn::Failing {
            program: &self.program,
            node: &self.identity.address,
            ambient: &self.ambient,
            counters: &mut self.counters,
            reported: &mut self.reported,
            observer: &mut *observer,
        };
        let plan = &self.program.compiled.plan;
        let now_ns = self.turn.now_ns;
        let progress = self.views.step(plan, &mut self.database, scope, now_ns, &mut failures);
        if progress == Progress::Exceeded {
            self.report_commit(self.views.overrun(), observer);
        }
        progress
    }
}
