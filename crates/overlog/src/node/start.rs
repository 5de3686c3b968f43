//! Starting turns, and running [short](super::short) ones in one go.
//!
//! What such a turn derives, in which order, and what it counts, is what a turn in parts
//! ([`Node::begin`] and so on) derives and counts.

use tidemill_relation::Value;
use tidemill_relation::expr::Scope;
use tidemill_relation::native::{self, Computed, FrameValues};
use tidemill_relation::plan::RelationId;
use tidemill_stdx::marks;

use super::Node;
use super::allowances::Taken;
use super::deriving::Deriving;
use super::dispatch::Start;
use super::event::Event;
use super::failing::Failing;
use super::program::Program;
use super::short::ShortStrand;
use super::turn::Turn;
use super::untaken::UNTAKEN_MAX;
use super::watch::Observer;

/// What became of the first waiting event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Started {
    /// None waits.
    Nothing,
    /// Its turn has begun, and goes on with [`Node::derive`].
    Begun,
    /// Its turn has ended. It has changed no table, sent nothing and queued nothing.
    Ended,
}

impl Node {
    /// Takes the first waiting event and starts its turn, as [`begin`](Node::begin) does, or runs
    /// it to its end, if it is short.
    pub fn start(&mut self, now_ns: u64, wall_ns: i64, observer: &mut dyn Observer) -> Started {
        if let Some(relation) = self.short_turn() {
            return self.run_short(relation, (now_ns, wall_ns), observer);
        }
        if self.begin(now_ns, wall_ns, observer) { Started::Begun } else { Started::Nothing }
    }

    /// The relation of the first waiting tuple, if its turn is short and nothing sees its parts.
    #[inline]
    fn short_turn(&self) -> Option<RelationId> {
        let Some(Event::Tuple { relation, row, .. }) = self.inbox.first() else { return None };
        let is_short = self.program.short.has(*relation, row.as_seq().len())
            && self.order.is_none()
            && !self.profiler.is_on()
            && !self.is_interrupted()
            && self.allowances.tuples.get() > UNTAKEN_MAX;
        is_short.then_some(*relation)
    }

    fn run_short(
        &mut self,
        relation: RelationId,
        (now_ns, wall_ns): (u64, i64),
        observer: &mut dyn Observer,
    ) -> Started {
        let Some(&Event::Tuple { received, .. }) = self.inbox.begin() else {
            return Started::Nothing;
        };
        let counters = &mut self.counters;
        counters.turns += 1;
        counters.external_turns += 1;
        counters.received += u64::from(received);
        counters.events += 1;
        self.turn.now_ns = now_ns;
        self.turn.taken = Taken { tuples: 1, generation: 1, ..Taken::default() };
        self.ambient.set_now(wall_ns);
        marks::arrive("rules/turn");
        let mut number = self.compute_from(relation, 0, observer);
        while number < self.program.short.strands(relation).len() {
            self.run_short_strand(relation, number, observer);
            number = self.compute_from(relation, number + 1, observer);
        }
        self.scratch.reset();
        // What nothing takes is too little for a limit.
        let is_over =
            self.turn.queue.is_empty() && self.turn.changes_nothing() && !self.is_interrupted();
        if !is_over {
            self.turn.ahead = 1;
            return Started::Begun;
        }
        self.count_untaken();
        if self.allowances.are_reduced() {
            self.stayed_within_limits();
        }
        self.inbox.end();
        Started::Ended
    }

    /// Runs strands, from this one on, by their code, as long as they have some and only compute.
    /// Returns the first that does not.
    #[inline]
    fn compute_from(
        &mut self,
        relation: RelationId,
        from: usize,
        observer: &mut dyn Observer,
    ) -> usize {
        let program = &*self.program;
        let strands = &program.short.strands(relation)[from..];
        let Some(Event::Tuple { row, .. }) = self.inbox.running() else { return from };
        let (turn, counters, node) = (&mut self.turn, &mut self.counters, &self.identity.address);
        let scope = Scope { scratch: &self.scratch, ambient: &self.ambient };
        let mut values = FrameValues::new();
        for (number, strand) in (from..).zip(strands) {
            let position = strand.position as usize;
            let Some(code) = program.compilation.code(position) else { return number };
            let mut untaken = 0;
            match native::compute(code, position, row.as_seq(), scope, &mut values) {
                Computed::NoResult => return number,
                Computed::Nothing => {}
                Computed::Head(columns)
                    if strand.stays(columns, node) && turn.untaken.take(&strand.derived) =>
                {
                    untaken = 1;
                }
                Computed::Head(columns) => {
                    let failing = Failing {
                        program,
                        node,
                        ambient: &self.ambient,
                        counters: &mut *counters,
                        reported: &mut self.reported,
                        observer: &mut *observer,
                    };
                    take_head((program, strand), failing, turn, columns);
                }
            }
            let counters = &mut counters.rules[strand.rule.index()];
            counters.fired += 1;
            counters.derived += untaken;
            turn.at_work = Some(strand.rule);
        }
        from + strands.len()
    }

    /// Runs any other strand.
    fn run_short_strand(
        &mut self,
        relation: RelationId,
        number: usize,
        observer: &mut dyn Observer,
    ) {
        let start = Start::Only(self.program.short.strands(relation)[number].position);
        let Some(row) = self.inbox.take_row() else { return };
        self.run_strands::<false>(start, relation, row.as_seq(), observer);
        self.inbox.give_row(row);
    }
}

/// Takes the tuple that a strand of a short turn has derived.
#[inline(never)]
fn take_head<'n>(
    (program, strand): (&Program, &ShortStrand),
    failing: Failing<'n>,
    turn: &'n mut Turn,
    columns: &[Value<'_>],
) {
    let output = &program.plan().strands[strand.position as usize].output;
    Deriving::new(failing, turn, strand.rule).take(output, columns);
}
