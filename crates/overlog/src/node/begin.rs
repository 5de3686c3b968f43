//! The first part of a turn: its event becomes tuples of the turn.

use tidemill_relation::plan::{Action, RelationId};
use tidemill_relation::{OwnedValue, Seq, Value};
use tidemill_stdx::marks;

use super::Node;
use super::allowances::Taken;
use super::costs::Engine;
use super::dispatch::Start;
use super::event::{Event, Received, Traced};
use super::program::Program;
use super::stages::Stage;
use super::tuples::{Derived, TupleOrigin};
use super::turn::Turn;
use super::watch::Observer;

impl Node {
    /// Takes the first waiting event and starts its turn; false if none waits.
    ///
    /// `now_ns` is the loop's clock, `wall_ns` the time that rules see.
    pub fn begin(&mut self, now_ns: u64, wall_ns: i64, observer: &mut dyn Observer) -> bool {
        let Some(event) = self.inbox.begin() else { return false };
        self.counters.turns += 1;
        self.counters.external_turns += u64::from(!event.follows());
        if let Some(order) = &mut self.order {
            order.note(event, &self.program);
        }
        self.turn.now_ns = now_ns;
        self.turn.taken = Taken::default();
        self.ambient.set_now(wall_ns);
        if self.profiler.is_on() {
            let began = self.profiler.start(event);
            self.begin_start::<true>(observer);
            self.profiler.end(began, Engine::Begin);
        } else {
            self.begin_start::<false>(observer)
        }
        true
    }

    fn begin_start<const MEASURES: bool>(&mut self, observer: &mut dyn Observer) {
        if let Some(&Event::Tuple { relation, ref row, delete, received }) = self.inbox.running() {
            let columns = row.as_seq();
            let is_taken = take(&self.program, (relation, columns, delete), &mut self.turn);
            if is_taken && received {
                self.sight_received(relation, columns, observer);
            }
            self.count_tuple(received, is_taken);
            return;
        }
        let Some(event) = self.inbox.borrow_running() else { return };
        self.begin_other::<MEASURES>(&event, observer);
        self.inbox.give_back(event);
    }

    fn begin_other<const MEASURES: bool>(&mut self, event: &Event, observer: &mut dyn Observer) {
        match event {
            // It is read in place, in the inbox.
            Event::Tuple { .. } => {}
            &Event::Change { relation, ref row, link } => {
                self.turn.taken.link = u64::from(link.number());
                self.run_strands::<MEASURES>(Start::Change, relation, row.as_seq(), observer);
            }
            &Event::Periodic { timer } => {
                self.firing[timer] = false;
                self.begin_periodic::<MEASURES>(timer, observer);
            }
            Event::Expiry => self.turn.expiry = true,
            Event::Release => self.begin_release(),
            Event::Resume => self.resume_stage(observer),
            Event::Facts { tuples } => {
                for (relation, row) in tuples {
                    self.begin_tuple(*relation, row.as_seq(), (false, false), observer);
                }
            }
            Event::Rows { rows } => {
                for (relation, delete, row) in rows {
                    self.begin_tuple(*relation, row.as_seq(), (*delete, false), observer);
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
            Event::Traced(traced) => self.begin_traced(traced, observer),
            Event::Lost { sender } => self.lose(sender),
            Event::Forgotten { peer } => self.remind(peer),
        }
    }

    fn begin_traced(&mut self, traced: &Traced, observer: &mut dyn Observer) {
        match traced {
            Traced::Recorded(records) => self.recorder.open.append(records),
            Traced::Received(Received { relation, row, delete, sender }) => {
                if !delete {
                    self.note_sender(*relation, row.as_seq(), sender, observer);
                }
                self.begin_tuple(*relation, row.as_seq(), (*delete, true), observer);
            }
        }
    }

    fn begin_tuple(
        &mut self,
        relation: RelationId,
        columns: Seq<'_>,
        (delete, received): (bool, bool),
        observer: &mut dyn Observer,
    ) {
        let is_taken = take(&self.program, (relation, columns, delete), &mut self.turn);
        self.count_tuple(received, is_taken);
        if is_taken && received {
            self.sight_received(relation, columns, observer);
        }
    }

    /// Shows a tuple from outside. The derivation shows it if its relation is only watched.
    fn sight_received(&self, relation: RelationId, columns: Seq<'_>, observer: &mut dyn Observer) {
        if !self.program.plan().relation(relation).is_open() {
            self.sight(relation, Stage::Received, None, columns, observer);
        }
    }

    #[inline]
    fn count_tuple(&mut self, received: bool, is_taken: bool) {
        if is_taken {
            self.counters.received += u64::from(received)
        } else {
            self.counters.dropped_arity += 1
        }
    }

    fn begin_periodic<const MEASURES: bool>(&mut self, timer: usize, observer: &mut dyn Observer) {
        let strand = self.program.dispatch.periodics[timer];
        let trigger = &self.program.plan().strands[strand as usize].trigger;
        let (relation, width) = (trigger.relation, trigger.columns.len());
        let random = {
            use tidemill_relation::expr::Ambient;
            (self.ambient.random() >> 1) as i64
        };
        let Some(periodic) = self.periodics.get(timer) else { return };
        let period = periodic.period_ns as f64 / 1e9;
        let period =
            if period.fract() == 0.0 { Value::Int(period as i64) } else { Value::Double(period) };
        let left = Value::Int(periodic.left.map_or(0, |left| left as i64));
        let address = self.identity.address.clone();
        let columns = [Value::Str(&address), Value::Int(random), period, left];
        let mut row = self.spare_row();
        columns.iter().take(width).for_each(|&column| row.push(column));
        self.sight(relation, Stage::Periodic, None, row.as_seq(), observer);
        self.run_strands::<MEASURES>(Start::Periodic(timer), relation, row.as_seq(), observer);
        self.reuse_row(row);
    }
}

/// Makes a tuple from outside one of the turn's event tuples, or of its changes of tables; false if
/// it has the wrong number of columns.
#[inline]
fn take(
    program: &Program,
    (relation, columns, delete): (RelationId, Seq<'_>, bool),
    turn: &mut Turn,
) -> bool {
    let description = program.compiled.plan.relation(relation);
    if !description.takes(columns.len()) {
        return false;
    }
    let (to, action) = match (description.table().is_some(), delete) {
        (false, _) => (&mut *turn.queue, Action::Emit),
        (true, false) => (&mut turn.changes, Action::Insert),
        (true, true) => (&mut turn.changes, Action::Delete),
    };
    to.push_seq(Derived { relation, origin: TupleOrigin::Outside, action }, columns);
    marks::arrive("rules/turn");
    true
}
