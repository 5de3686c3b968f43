//! The parts of one turn.

use tidemill_relation::database::Database;
use tidemill_relation::expr::{EvalError, Scope};
use tidemill_relation::plan::{Action, Output, RelationId, RuleId, Strand};
use tidemill_relation::strand::{Reading, Sink, run};
use tidemill_relation::view::{Change, ChangeKind, Failures, Progress};
use tidemill_relation::{OwnedValue, Seq, TupleBuf, Value};
use tidemill_stdx::log::Level;
use tidemill_stdx::{marks, say};

use super::ambient::NodeAmbient;
use super::limit::{TURN_CHANGES_MAX, Taken};
use super::watch::{Observer, Sighting, Stage};
use super::{Counters, Event, Node, Program};

/// What this file says at most.
const CEILING: Level = Level::Trace;

/// A tuple for another node; its location column says which.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Send {
    /// The relation.
    pub relation: RelationId,
    /// Take the row out instead of putting it in.
    pub delete: bool,
    /// A change of a view: goes by reliable ordered delivery.
    pub view: bool,
    /// The column that says where it goes.
    pub location: u32,
}

/// A tuple for the world outside the fleet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crossing {
    /// Its relation.
    pub relation: RelationId,
    /// What became of it.
    pub kind: CrossingKind,
}

/// What became of a tuple for the world outside the fleet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CrossingKind {
    /// It is an event, which was taken.
    Event,
    /// It is a row, which was inserted.
    Insert,
    /// It is a row, which was deleted.
    Delete,
}

/// A tuple that waits inside the turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Derived {
    pub(super) relation: RelationId,
    pub(super) origin: Origin,
    pub(super) action: Action,
}

/// Where a tuple comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// From outside: it started the turn.
    Outside,
    /// A rule.
    Rule(RuleId),
    /// An external operator.
    Stage,
}

impl Origin {
    pub(super) fn rule(self) -> Option<RuleId> {
        match self {
            Origin::Rule(rule) => Some(rule),
            Origin::Outside | Origin::Stage => None,
        }
    }
}

/// What the running turn has gathered.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) now_ns: u64,
    /// Event tuples whose strands run now, and how many have.
    pub(super) current: TupleBuf<Derived>,
    pub(super) position: usize,
    /// What started it.
    pub(super) start: Option<Event>,
    pub(super) taken: Taken,
    /// The rule that ran last.
    pub(super) at_work: Option<RuleId>,
    /// Event tuples derived meanwhile.
    pub(super) queue: TupleBuf<Derived>,
    /// Table changes in the order of derivation.
    pub(super) changes: TupleBuf<Derived>,
    /// Tuples for other nodes in the order of derivation.
    pub(super) sends: TupleBuf<Send>,
    /// Tuples for the world outside the fleet: events in the order in which they were taken, then
    /// changes of tables.
    pub(super) crossings: TupleBuf<Crossing>,
    expiry: bool,
}

impl Turn {
    /// Notes a change of a table that comes from outside.
    pub(super) fn put(&mut self, relation: RelationId, action: Action, columns: &[Value<'_>]) {
        self.changes.push(Derived { relation, origin: Origin::Outside, action }, columns);
    }
}

/// Tells of dropped derivations: counts all, reports the first of each rule.
pub(super) struct Failing<'n> {
    pub(super) program: &'n Program,
    pub(super) node: &'n str,
    pub(super) ambient: &'n NodeAmbient,
    pub(super) counters: &'n mut Counters,
    pub(super) reported: &'n mut [bool],
    pub(super) observer: &'n mut dyn Observer,
}

impl Failures for Failing<'_> {
    fn failed(&mut self, rule: RuleId, error: EvalError) {
        self.counters.dropped_failed += 1;
        self.counters.rules[rule.index()].failed += 1;
        let is_first = !std::mem::replace(&mut self.reported[rule.index()], true);
        let rule = &self.program.plan().rules[rule.index()];
        say!(Debug, "rule", "{}: {} ({}): {error}", self.node, rule.name, rule.place);
        if is_first {
            self.observer.rule_failed(self.node, &rule.name, &rule.place, &error.to_string());
        }
    }
}

/// Where a node's strands put what they derive.
struct Deriving<'n> {
    failing: Failing<'n>,
    now_ns: u64,
    queue: &'n mut TupleBuf<Derived>,
    changes: &'n mut TupleBuf<Derived>,
    sends: &'n mut TupleBuf<Send>,
    /// The trigger, for watches of its joins.
    trigger: Option<(RelationId, &'n [Value<'n>])>,
    rule: RuleId,
    /// Event tuples that the turn may still derive.
    tuples_left: usize,
    /// What is taken, where the trigger comes out of a cycle of rules.
    cycle: Option<Cycle<'n>>,
}

/// What strands take in a cycle of rules.
struct Cycle<'n> {
    taken: &'n mut Taken,
    tuples_max: u64,
    rows_max: u64,
}

impl Cycle<'_> {
    fn is_over(&self) -> bool {
        self.taken.cycle_tuples > self.tuples_max || self.taken.cycle_rows > self.rows_max
    }
}

impl Deriving<'_> {
    fn sight(&mut self, relation: RelationId, stage: Stage, columns: &[Value<'_>]) {
        let failing = &mut self.failing;
        if failing.program.watching.shows(relation, stage, columns, failing.ambient) {
            let plan = failing.program.plan();
            failing.observer.sighted(Sighting {
                at_ns: self.now_ns,
                node: failing.node,
                stage,
                rule: Some(&plan.rules[self.rule.index()].name),
                relation: &plan.relation(relation).name,
                columns,
            });
        }
    }

    /// Whether a tuple stays here; `None` if it has no place to go.
    fn is_local(&self, location: u32, columns: &[Value<'_>]) -> Option<bool> {
        let address = columns.get(location as usize)?.as_str()?;
        if address == self.failing.node {
            return Some(true);
        }
        is_address(address).then_some(false)
    }
}

/// `host:port`, as far as one can tell without asking the network.
pub(crate) fn is_address(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty() && !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
    })
}

impl Sink for Deriving<'_> {
    fn derive(&mut self, output: &Output, columns: &[Value<'_>], _: u64) {
        let relation = output.relation;
        let watched = self.failing.program.watching.any;
        if watched {
            self.sight(relation, Stage::Head, columns);
        }
        self.failing.counters.rules[self.rule.index()].derived += 1;
        if let Some(cycle) = &mut self.cycle {
            cycle.taken.cycle_tuples += 1;
        }
        let derived = Derived { relation, origin: Origin::Rule(self.rule), action: output.action };
        let location = output
            .location
            .unwrap_or_else(|| self.failing.program.plan().relation(relation).location);
        let Some(local) = self.is_local(location, columns) else {
            self.failing.counters.dropped_unaddressed += 1;
            let (node, name) =
                (self.failing.node, &self.failing.program.plan().relation(relation).name);
            say!(Debug, "node", "{node}: a tuple of {name} has no place to go");
            return;
        };
        if watched && (!local || output.action == Action::Emit) {
            self.sight(relation, Stage::Sent, columns);
        }
        match (local, output.action) {
            (true, Action::Emit) => self.queue.push(derived, columns),
            (true, Action::Insert | Action::Delete) => self.changes.push(derived, columns),
            (false, action) => {
                let delete = action == Action::Delete;
                self.sends.push(Send { relation, delete, view: false, location }, columns);
            }
        }
    }

    fn failed(&mut self, rule: RuleId, error: EvalError) {
        self.failing.failed(rule, error);
    }

    fn looked(&mut self, rows: u32) {
        if let Some(cycle) = &mut self.cycle {
            cycle.taken.cycle_rows += u64::from(rows);
        }
    }

    fn is_full(&self) -> bool {
        self.queue.len() > self.tuples_left
            || self.cycle.as_ref().is_some_and(Cycle::is_over)
            || self.changes.len() + self.sends.len() > TURN_CHANGES_MAX
    }

    fn joined(&mut self, _: RuleId) {
        if let Some((relation, columns)) = self.trigger {
            self.sight(relation, Stage::AfterJoin, columns);
        }
    }
}

impl Node {
    /// Takes the first waiting event and starts its turn; false if none waits.
    ///
    /// `now_ns` is the loop's clock, `wall_ns` what rules see as the time.
    pub fn begin(&mut self, now_ns: u64, wall_ns: i64, observer: &mut dyn Observer) -> bool {
        let Some(event) = self.inbox.pop_front() else { return false };
        self.counters.turns += 1;
        let follows = matches!(event, Event::Change { .. } | Event::Resume);
        self.counters.external_turns += u64::from(!follows);
        self.turn.now_ns = now_ns;
        self.turn.taken = Taken::default();
        self.end_start();
        self.ambient.set_now(wall_ns);
        match &event {
            &Event::Tuple { relation, ref columns, delete, received } => {
                self.begin_tuple(relation, columns, delete, received, observer);
            }
            &Event::Row { relation, ref row } => {
                self.begin_row(relation, row.as_seq(), observer);
            }
            &Event::Change { relation, ref columns } => {
                let columns: Vec<Value<'_>> = columns.iter().map(OwnedValue::get).collect();
                let strands = self.program.clone();
                let strands = &strands.dispatch.changes[relation.index()];
                self.run_strands(strands, relation, &columns, observer);
            }
            &Event::Periodic { timer } => {
                self.firing[timer] = false;
                self.begin_periodic(timer, observer);
            }
            Event::Expiry => self.turn.expiry = true,
            Event::Release => self.begin_release(),
            Event::Resume => self.resume_stage(observer),
            Event::Facts { tuples } => {
                for (relation, columns) in tuples {
                    self.begin_tuple(*relation, columns, false, false, observer);
                }
            }
            Event::Everywhere { relation, rows } => {
                let location = self.program.plan().relation(*relation).location as usize;
                let address = self.identity.address.clone();
                for row in rows.iter() {
                    let mut columns: Vec<Value<'_>> = row.iter().map(OwnedValue::get).collect();
                    columns.insert(location.min(columns.len()), Value::Str(&address));
                    self.turn.put(*relation, Action::Insert, &columns);
                }
            }
            Event::Lost { sender } => self.lose(sender),
            Event::Forgotten { peer } => self.remind(peer),
        }
        self.turn.start = Some(event);
        true
    }

    fn begin_tuple(
        &mut self,
        relation: RelationId,
        columns: &[OwnedValue],
        delete: bool,
        received: bool,
        observer: &mut dyn Observer,
    ) {
        let program = self.program.clone();
        let description = program.plan().relation(relation);
        if !description.takes(columns.len()) {
            self.counters.dropped_arity += 1;
            return;
        }
        self.counters.received += u64::from(received);
        let columns: Vec<Value<'_>> = columns.iter().map(OwnedValue::get).collect();
        if received {
            self.sight(relation, Stage::Received, None, &columns, observer);
        }
        let action = match (description.table().is_some(), delete) {
            (false, _) => Action::Emit,
            (true, false) => Action::Insert,
            (true, true) => Action::Delete,
        };
        let derived = Derived { relation, origin: Origin::Outside, action };
        match action {
            Action::Emit => self.turn.queue.push(derived, &columns),
            _ => self.turn.changes.push(derived, &columns),
        }
    }

    /// As a tuple that was received; its columns are copied as they lie.
    fn begin_row(&mut self, relation: RelationId, columns: Seq<'_>, observer: &mut dyn Observer) {
        let description = self.program.compiled.plan.relation(relation);
        if !description.takes(columns.len()) {
            self.counters.dropped_arity += 1;
            return;
        }
        self.counters.received += 1;
        let (origin, is_event) = (Origin::Outside, description.table().is_none());
        if self.program.watching.any {
            let columns: Vec<Value<'_>> = columns.iter().collect();
            self.sight(relation, Stage::Received, None, &columns, observer);
        }
        match is_event {
            true => {
                let derived = Derived { relation, origin, action: Action::Emit };
                self.turn.queue.push_seq(derived, columns);
            }
            false => {
                let derived = Derived { relation, origin, action: Action::Insert };
                self.turn.changes.push_seq(derived, columns);
            }
        }
        marks::arrive("rules/turn");
    }

    fn begin_periodic(&mut self, timer: usize, observer: &mut dyn Observer) {
        let program = self.program.clone();
        let strand = program.dispatch.periodics[timer];
        let trigger = &program.plan().strands[strand as usize].trigger;
        let random = {
            use tidemill_relation::expr::Ambient;
            (self.ambient.random() >> 1) as i64
        };
        let Some(periodic) = self.periodics.get(timer) else { return };
        let period = periodic.period_ns as f64 / 1e9;
        let period = match period.fract() == 0.0 {
            true => Value::Int(period as i64),
            false => Value::Double(period),
        };
        let left = Value::Int(periodic.left.map_or(0, |left| left as i64));
        let address = self.identity.address.clone();
        let columns = [Value::Str(&address), Value::Int(random), period, left];
        let columns = &columns[..trigger.columns.len().min(columns.len())];
        self.sight(trigger.relation, Stage::Periodic, None, columns, observer);
        self.run_strands(&[strand], trigger.relation, columns, observer);
    }

    pub(super) fn sight(
        &self,
        relation: RelationId,
        stage: Stage,
        rule: Option<RuleId>,
        columns: &[Value<'_>],
        observer: &mut dyn Observer,
    ) {
        if self.program.watching.shows(relation, stage, columns, &self.ambient) {
            observer.sighted(self.sighting(relation, stage, rule, columns));
        }
    }

    fn sighting<'a>(
        &'a self,
        relation: RelationId,
        stage: Stage,
        rule: Option<RuleId>,
        columns: &'a [Value<'a>],
    ) -> Sighting<'a> {
        let plan = self.program.plan();
        Sighting {
            at_ns: self.turn.now_ns,
            node: &self.identity.address,
            stage,
            rule: rule.map(|rule| plan.rules[rule.index()].name.as_str()),
            relation: &plan.relation(relation).name,
            columns,
        }
    }

    /// Runs strands for at most `tuples_max` event tuples. [`Progress::Exceeded`] has been
    /// reported: the turn must be given up.
    pub fn derive(&mut self, tuples_max: usize, observer: &mut dyn Observer) -> Progress {
        let program = self.program.clone();
        for _ in 0..tuples_max {
            if let Some(limit) = self.passed() {
                self.report_turn(limit, observer);
                return Progress::Exceeded;
            }
            if self.is_interrupted() {
                return Progress::More;
            }
            if self.turn.position == self.turn.current.len() {
                self.turn.current.clear();
                self.turn.position = 0;
                std::mem::swap(&mut self.turn.current, &mut self.turn.queue);
                self.turn.taken.generation += 1;
                if self.turn.current.is_empty() {
                    return Progress::Done;
                }
            }
            let current = std::mem::take(&mut self.turn.current);
            if let Some((derived, columns)) = current.get(self.turn.position) {
                self.counters.events += 1;
                self.turn.taken.tuples += 1;
                let columns: Vec<Value<'_>> = columns.iter().collect();
                let (relation, rule) = (derived.relation, derived.origin.rule());
                let is_open = program.plan().relation(relation).is_open();
                if program.watching.any && (derived.origin != Origin::Outside || is_open) {
                    self.sight(relation, Stage::Received, rule, &columns, observer);
                }
                if program.watching.violation == Some(relation) {
                    let stage = Stage::Received;
                    observer.violated(self.sighting(relation, stage, rule, &columns));
                }
                if program.crossing[relation.index()] {
                    let crossing = Crossing { relation, kind: CrossingKind::Event };
                    self.turn.crossings.push(crossing, &columns);
                }
                let strands = &program.dispatch.events[relation.index()];
                self.run_strands(strands, relation, &columns, observer);
                for &stage in &program.dispatch.stages[relation.index()] {
                    self.run_stage(stage, &columns, observer);
                }
            }
            self.turn.current = current;
            self.turn.position += 1;
        }
        Progress::More
    }

    /// Runs strands for one trigger.
    fn run_strands(
        &mut self,
        strands: &[u32],
        relation: RelationId,
        columns: &[Value<'_>],
        observer: &mut dyn Observer,
    ) {
        let in_cycle = self.in_cycle();
        let program = &*self.program;
        let traced = program.watching.wants(relation, Stage::AfterJoin);
        let most = self.allowances;
        let tuples_left = most.tuples.get().saturating_sub(self.turn.taken.tuples);
        for &position in strands {
            let strand: &Strand = &program.plan().strands[position as usize];
            let rule = strand.rule;
            self.turn.at_work = Some(rule);
            self.database.prepare(strand);
            self.counters.rules[rule.index()].fired += 1;
            self.sight(relation, Stage::BeforeJoin, Some(rule), columns, observer);
            let mut sink = Deriving {
                failing: Failing {
                    program,
                    node: &self.identity.address,
                    ambient: &self.ambient,
                    counters: &mut self.counters,
                    reported: &mut self.reported,
                    observer: &mut *observer,
                },
                now_ns: self.turn.now_ns,
                queue: &mut self.turn.queue,
                changes: &mut self.turn.changes,
                sends: &mut self.turn.sends,
                trigger: traced.then_some((relation, columns)),
                rule,
                tuples_left: tuples_left as usize,
                cycle: in_cycle.then_some(Cycle {
                    taken: &mut self.turn.taken,
                    tuples_max: most.cycle_tuples.get(),
                    rows_max: most.cycle_rows.get(),
                }),
            };
            let reading = Reading { traced, ..Reading::present(&self.database) };
            let scope = Scope { scratch: &self.scratch, ambient: &self.ambient };
            run(strand, columns.iter().copied(), reading, scope, &mut sink);
        }
        self.scratch.reset();
    }

    /// Applies the table changes of the turn, in the order in which they were derived.
    pub fn commit(&mut self, observer: &mut dyn Observer) {
        self.limit_views();
        if std::mem::take(&mut self.turn.expiry) {
            self.expire();
        }
        let changes = std::mem::take(&mut self.turn.changes);
        let (node, count, sends) = (&self.identity.address, changes.len(), self.turn.sends.len());
        say!(Trace, "node", "{node}: commits {count} changes, {sends} sends");
        let plan = &self.program.compiled.plan;
        for (derived, columns) in changes.iter() {
            if self.is_interrupted() {
                break;
            }
            let Derived { relation, origin, action } = derived;
            let columns: Vec<Value<'_>> = columns.iter().collect();
            let table = &mut self.counters.tables[relation.index()];
            let (stage, count) = match action {
                Action::Delete => (Stage::Deleting, &mut table.deleted),
                Action::Insert | Action::Emit => (Stage::Adding, &mut table.inserted),
            };
            *count += 1;
            self.sight(relation, stage, origin.rule(), &columns, observer);
            let (views, database) = (&mut self.views, &mut self.database);
            match action {
                Action::Delete => views.delete(plan, database, relation, &columns),
                Action::Insert | Action::Emit => {
                    views.insert(plan, database, relation, &columns, self.turn.now_ns);
                }
            }
        }
        self.turn.changes = changes;
        self.turn.changes.clear();
    }

    /// The tuples of the turn that are also for the world outside the fleet.
    pub fn take_crossings(&mut self) -> TupleBuf<Crossing> {
        std::mem::take(&mut self.turn.crossings)
    }

    fn expire(&mut self) {
        let program = self.program.clone();
        for &relation in &program.dispatch.mortal {
            let before = self.counters.expired;
            while self.views.expire(&mut self.database, relation, self.turn.now_ns) {
                self.counters.expired += 1;
            }
            let expired = self.counters.expired - before;
            self.counters.tables[relation.index()].expired += expired;
            if expired > 0 {
                let (node, table) =
                    (&self.identity.address, &program.plan().relation(relation).name);
                say!(Trace, "node", "{node}: {expired} rows of {table} expire");
            }
        }
    }

    /// Ends the turn: queues the net changes that trigger rules and the rest of what operators
    /// yield (their number is returned, one event each), adds the changes of exported views to
    /// the sends, and settles the tables.
    pub fn finish(&mut self, observer: &mut dyn Observer) -> usize {
        let program = self.program.clone();
        let plan = program.plan();
        let changes = self.net_changes();
        let mut follows = self.ship(&program, &changes);
        for (change, columns) in changes.iter() {
            let columns: Vec<Value<'_>> = columns.iter().collect();
            let stage = match change.kind {
                ChangeKind::Insert => Stage::Inserted,
                ChangeKind::Refresh => Stage::Refreshed,
                ChangeKind::Delete => Stage::Deleted,
            };
            self.sight(change.relation, stage, None, &columns, observer);
            if program.watching.violation == Some(change.relation)
                && change.kind == ChangeKind::Insert
            {
                observer.violated(self.sighting(change.relation, stage, None, &columns));
            }
            if program.crossing[change.relation.index()] && change.kind != ChangeKind::Refresh {
                let kind = match change.kind {
                    ChangeKind::Delete => CrossingKind::Delete,
                    ChangeKind::Insert | ChangeKind::Refresh => CrossingKind::Insert,
                };
                let crossing = Crossing { relation: change.relation, kind };
                self.turn.crossings.push(crossing, &columns);
            }
            let fires = match change.kind {
                ChangeKind::Insert => true,
                ChangeKind::Refresh => plan.relation(change.relation).is_soft(),
                ChangeKind::Delete => false,
            };
            if fires && !program.dispatch.changes[change.relation.index()].is_empty() {
                let columns = columns.iter().map(|&column| OwnedValue::new(column)).collect();
                self.inbox.push_back(Event::Change { relation: change.relation, columns });
                follows += 1;
            }
        }
        self.counters.dropped_table_full = self.views.refused();
        self.stayed_within_limits();
        self.end_start();
        self.views.settle(&mut self.database);
        self.scratch.reset();
        let put_off = self.staging.put_off();
        self.inbox.extend(std::iter::repeat_n(Event::Resume, put_off));
        follows + put_off
    }

    /// The net changes with copies of their rows, whose ids end with the turn.
    fn net_changes(&self) -> TupleBuf<Change> {
        let mut changes = TupleBuf::new();
        let mut columns = Vec::new();
        for change in self.views.net(&self.database) {
            columns.clear();
            self.database.table(change.relation).read_row(change.row, &mut columns);
            changes.push(change, &columns);
        }
        changes
    }

    /// Ends the turn as if it had not been.
    pub fn abandon(&mut self) {
        self.counters.turns_abandoned += 1;
        say!(Debug, "node", "{}: a turn derives too much and is given up", self.identity.address);
        self.views.roll_back(&mut self.database);
        self.end_start();
        // Much of it may be left: the memory goes, too.
        self.turn = Turn { now_ns: self.turn.now_ns, ..Turn::default() };
        for stage in self.staging.abandon() {
            self.counters.stages[stage].failed += 1;
        }
        self.scratch.reset();
    }

    /// Hands over what the turn has to send, in order.
    pub fn take_sends(&mut self, take: impl FnMut(Send, Seq<'_>)) {
        let mut take = take;
        let sends = std::mem::take(&mut self.turn.sends);
        self.counters.sent += sends.len() as u64;
        for (send, columns) in sends.iter() {
            take(send, columns);
        }
        self.turn.sends = sends;
        self.turn.sends.clear();
    }

    /// Reads the live rows of a table of this node.
    pub fn rows(&self, relation: RelationId, mut row: impl FnMut(&[Value<'_>])) {
        use tidemill_relation::table::{Access, Visible};
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
