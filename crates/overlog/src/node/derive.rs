//! The second part of a turn: strands run until nothing is left that starts one.

use smallvec::SmallVec;
use tidemill_relation::cost::Cost;
use tidemill_relation::expr::{Ambient, Scope};
use tidemill_relation::native;
use tidemill_relation::plan::{RelationId, Strand};
use tidemill_relation::strand::{Premises, Reading, run, run_traced};
use tidemill_relation::view::Progress;
use tidemill_relation::{Seq, TupleBuf};

use super::Node;
use super::allowances::Limit;
use super::costs::Engine;
use super::deriving::{Cycle, Deriving};
use super::dispatch::Start;
use super::failing::Failing;
use super::recording::Recording;
use super::stages::Stage;
use super::tuples::{Columns, Crossing, CrossingKind, Derived, TupleOrigin};
use super::watch::Observer;
use crate::traces::Traces;

impl Node {
    /// Runs strands for at most `tuples_max` event tuples. [`Progress::Exceeded`] has been
    /// reported: the turn must be given up.
    pub fn derive(&mut self, tuples_max: usize, observer: &mut dyn Observer) -> Progress {
        if self.profiler.is_on() {
            self.measured(Engine::Dispatch, |node| node.derive_all::<true>(tuples_max, observer))
        } else {
            self.derive_all::<false>(tuples_max, observer)
        }
    }

    /// The same; without measurement it is compiled without any of its code.
    fn derive_all<const MEASURES: bool>(
        &mut self,
        tuples_max: usize,
        observer: &mut dyn Observer,
    ) -> Progress {
        // Strands append to the turn while its current tuples are read.
        let mut current = self.turn.current.take().unwrap_or_default();
        let derived = self.derive_from::<MEASURES>(&mut current, tuples_max, observer);
        self.turn.current = Some(current);
        derived.unwrap_or_else(|limit| {
            self.report_turn(limit, observer);
            Progress::Exceeded
        })
    }

    fn derive_from<const MEASURES: bool>(
        &mut self,
        current: &mut Box<TupleBuf<Derived>>,
        tuples_max: usize,
        observer: &mut dyn Observer,
    ) -> Result<Progress, Limit> {
        if !self.may_go_on()? {
            return Ok(Progress::More);
        }
        let mut tuples_left = tuples_max.saturating_sub(std::mem::take(&mut self.turn.ahead));
        loop {
            while let Some((derived, columns)) = current.get(self.turn.position) {
                if tuples_left == 0 {
                    return Ok(Progress::More);
                }
                tuples_left -= 1;
                let ran = self.derive_one::<MEASURES>(derived, columns, observer);
                self.turn.position += 1;
                // Nothing else counts against the limits.
                if ran && !self.may_go_on()? {
                    return Ok(Progress::More);
                }
            }
            current.clear();
            self.turn.position = 0;
            tuples_left = tuples_left.saturating_sub(self.turn.untaken.count as usize);
            if self.turn.queue.is_empty() {
                self.count_untaken();
                return Ok(Progress::Done);
            }
            let untaken = std::mem::take(&mut self.turn.untaken).count;
            std::mem::swap(current, &mut self.turn.queue);
            self.turn.taken.generation += 1;
            let count = untaken + current.len() as u64;
            self.turn.taken.tuples += count;
            self.counters.events += count;
        }
    }

    /// Ends a generation of event tuples that start nothing.
    #[inline]
    pub(super) fn count_untaken(&mut self) {
        let count = std::mem::take(&mut self.turn.untaken).count;
        self.turn.taken.generation += usize::from(count > 0);
        self.turn.taken.tuples += count;
        self.counters.events += count;
    }

    /// Whether the turn is within its limits, and the node not interrupted.
    fn may_go_on(&self) -> Result<bool, Limit> {
        match self.passed() {
            Some(limit) => Err(limit),
            None => Ok(!self.is_interrupted()),
        }
    }

    /// Runs all that an event tuple starts; false if it starts nothing.
    fn derive_one<const MEASURES: bool>(
        &mut self,
        derived: Derived,
        columns: Seq<'_>,
        observer: &mut dyn Observer,
    ) -> bool {
        let relation = derived.relation;
        if self.program.shown[relation.index()] {
            self.show_event(derived, columns, observer);
        }
        let has_stages = !self.program.dispatch.stages[relation.index()].is_empty();
        let has_strands = !self.program.dispatch.events[relation.index()].is_empty();
        if has_strands {
            self.run_strands::<MEASURES>(Start::Event, relation, columns, observer);
        }
        if has_stages {
            let program = self.program.clone();
            for &stage in &program.dispatch.stages[relation.index()] {
                self.run_stage(stage, columns, observer);
            }
        }
        has_strands || has_stages
    }

    /// Shows an event tuple to observers, checks and crossings.
    fn show_event(&mut self, derived: Derived, columns: Seq<'_>, observer: &mut dyn Observer) {
        let (relation, rule) = (derived.relation, derived.origin.rule());
        let is_open = self.program.plan().relation(relation).is_open();
        if derived.origin != TupleOrigin::Outside || is_open {
            self.sight(relation, Stage::Received, rule, columns, observer);
        }
        if self.program.watching.violation == Some(relation) {
            let columns: Columns<'_> = columns.iter().collect();
            observer.violated(self.sighting(relation, Stage::Received, rule, &columns));
        }
        if self.program.watching.history == Some(relation) {
            let columns: Columns<'_> = columns.iter().collect();
            observer.recorded(self.sighting(relation, Stage::Received, rule, &columns));
        }
        if self.program.crossing[relation.index()] {
            let crossing = Crossing { relation, kind: CrossingKind::Event };
            self.turn.crossings.push_seq(crossing, columns);
        }
    }

    /// Runs the strands that one trigger starts.
    pub(super) fn run_strands<const MEASURES: bool>(
        &mut self,
        start: Start,
        relation: RelationId,
        columns: Seq<'_>,
        observer: &mut dyn Observer,
    ) {
        // One test decides for all strands: their plain variant has no tracing.
        if self.program.watching.sees_joins(relation) {
            self.run_each::<MEASURES, true>(start, relation, columns, observer)
        } else {
            self.run_each::<MEASURES, false>(start, relation, columns, observer)
        }
    }

    // One piece: each strand borrows some fifteen parts of the node anew, which a function of its
    // own could only get one by one.
    fn run_each<const MEASURES: bool, const TRACED: bool>(
        &mut self,
        start: Start,
        relation: RelationId,
        columns: Seq<'_>,
        observer: &mut dyn Observer,
    ) {
        let in_cycle = self.in_cycle();
        let is_short = matches!(start, Start::Only(_));
        let program = &*self.program;
        let strands = program.dispatch.strands(start, relation);
        let traced = TRACED && program.watching.wants(relation, Stage::AfterJoin);
        let traces = program.compiled.traces.as_ref().filter(|_| TRACED);
        let explained = program.explained.as_deref().filter(|_| TRACED);
        let most = &self.allowances;
        let tuples_left = most.tuples.get().saturating_sub(self.turn.taken.tuples);
        let mut began = if MEASURES { self.profiler.now() } else { None };
        let mut event = None;
        for &position in strands {
            let strand: &Strand = &program.plan().strands[position as usize];
            let rule = strand.rule;
            self.turn.at_work = Some(rule);
            self.database.prepare(strand);
            let counters = &mut self.counters.rules[rule.index()];
            counters.fired += 1;
            let derived_before = counters.derived;
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
                untaken: is_short.then_some(&mut self.turn.untaken),
                trigger: traced.then_some((relation, columns)),
                rule,
                tuples_left: tuples_left as usize,
                looked: 0,
                cycle: in_cycle.then_some(Cycle {
                    taken: &mut self.turn.taken,
                    tuples_max: most.cycle_tuples.get(),
                    rows_max: most.cycle_rows.get(),
                }),
            };
            let reading = Reading { traced, ..Reading::present(&self.database) };
            let scope = Scope { scratch: &self.scratch, ambient: &self.ambient };
            let number = position as usize;
            let recorded = traces.filter(|traces| traces.strand(number));
            let names = explained.or(recorded.map(Traces::names));
            // Machine code has no watches.
            let code = program.compilation.code(number).filter(|_| !traced);
            let probes = match (names, code) {
                (Some(names), _) => {
                    let mut sink = Recording {
                        inner: sink,
                        names,
                        database: &self.database,
                        records: recorded.map(|_| &mut self.recorder.open),
                        is_explained: explained.is_some(),
                        premises: Premises::new(&strand.output),
                        trigger: (relation, columns),
                        event: &mut event,
                        recorded: SmallVec::new(),
                        at_ns: self.ambient.now_ns(),
                    };
                    run_traced(strand, columns, reading, scope, &mut sink);
                    sink.inner.looked
                }
                (None, Some(code)) => {
                    native::run(code, number, columns, &self.database, scope, &mut sink);
                    sink.looked
                }
                (None, None) => {
                    let profile = program.compilation.profile(number);
                    run(strand, columns, Reading { profile, ..reading }, scope, &mut sink);
                    program.compilation.worked(&program.compiled, sink.looked);
                    sink.looked
                }
            };
            if MEASURES && let Some(before) = began {
                let derived = self.counters.rules[rule.index()].derived - derived_before;
                let cost = Cost { fired: 1, derived, probes, ns: 0 };
                began = self.profiler.end_strand(before, position, cost);
            }
        }
        self.scratch.reset();
    }
}
