//! What is under way between the instances of a graph and the worker that has the rules.

use std::collections::VecDeque;

use tidemill_packet::fanout::Fanout;
use tidemill_relation::{Seq, SeqBuilder, TupleBuf, Value};
use tidemill_stat::{Counter, Registry};

use crate::borders::packets::Role;

/// The maximum size of a batch: rows, and bytes.
const BATCH_ROWS: usize = 256;
const BATCH_BYTES: usize = 1 << 18;

/// Batches of an instance that have not been taken.
const BATCHES_MAX: usize = 4;

/// Verdicts for an instance that it has not taken.
const VERDICTS_MAX: usize = 4096;

/// Frames that components have sent to an instance, and it has not taken.
const SENT_MAX: usize = 1024;

/// The bits of a packet's number below that of its instance.
const NUMBER_BITS: u32 = 48;

/// The number of the first packet of an instance.
pub(in crate::borders) fn first_number(instance: u32) -> i64 {
    i64::from(instance) << NUMBER_BITS
}

/// The border that receives a row: an app, by its place among those of its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::borders) enum Receiver {
    Rules(u32),
    Decode(u32),
    /// A message of an interface by which components reach the rules.
    Component {
        interface: u32,
        message: u32,
    },
}

/// Rows from the graph of another worker.
pub(super) struct Batch {
    /// The version of the borders that it is for.
    pub(super) version: u32,
    pub(super) rows: TupleBuf<Receiver>,
}

/// Rows of an instance for the worker that has the rules.
#[derive(Default)]
pub(crate) struct Outbox {
    pub(super) version: u32,
    filling: TupleBuf<Receiver>,
    full: Vec<TupleBuf<Receiver>>,
    /// Batches that were posted, and not taken.
    posted: usize,
    post_is_queued: bool,
    /// A buffer for a row.
    row: SeqBuilder,
}

impl Outbox {
    /// Whether rows have to be posted that were not before.
    pub(super) fn begin_post(&mut self) -> bool {
        let has_some = !self.filling.is_empty() || !self.full.is_empty();
        has_some && !std::mem::replace(&mut self.post_is_queued, true)
    }

    /// Whether it takes no more rows now.
    pub(in crate::borders) fn is_full(&self) -> bool {
        self.full.len() + self.posted >= BATCHES_MAX
    }

    /// Whether all rows have been taken.
    pub(in crate::borders) fn is_idle(&self) -> bool {
        self.filling.is_empty() && self.full.is_empty() && self.posted == 0
    }

    /// Adds a row: `fill` appends its columns; the receiver replaces the empty location.
    ///
    /// # Errors
    /// Those of `fill`; then nothing is added.
    pub(in crate::borders) fn put<E>(
        &mut self,
        receiver: Receiver,
        fill: impl FnOnce(&str, &mut SeqBuilder) -> Result<(), E>,
    ) -> Result<(), E> {
        self.row.clear();
        fill("", &mut self.row)?;
        self.filling.push_seq(receiver, self.row.as_seq());
        if self.filling.len() >= BATCH_ROWS || self.filling.bytes() >= BATCH_BYTES {
            self.full.push(std::mem::take(&mut self.filling));
        }
        Ok(())
    }

    /// The batches to post.
    pub(super) fn take(&mut self) -> Vec<Batch> {
        self.post_is_queued = false;
        if !self.filling.is_empty() {
            self.full.push(std::mem::take(&mut self.filling));
        }
        self.posted += self.full.len();
        let version = self.version;
        self.full.drain(..).map(|rows| Batch { version, rows }).collect()
    }

    /// A batch has been taken.
    pub(super) fn taken(&mut self) {
        self.posted = self.posted.saturating_sub(1);
    }
}

/// What a turn says about a packet of another instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::borders) struct Returned {
    /// Tuples of one turn have the same number.
    pub(in crate::borders) turn: u32,
    pub(in crate::borders) app: u32,
    pub(in crate::borders) role: Role,
}

/// Tuples from the rules, up to the first that is not done.
pub(super) struct ReturnedTuples {
    pub(super) tuples: TupleBuf<Returned>,
    pub(super) next: usize,
}

/// What turns have said about packets of another worker, at that worker.
#[derive(Default)]
pub(crate) struct ReturnQueue {
    pub(super) queue: VecDeque<ReturnedTuples>,
    /// The number of verdicts since the last breath of the graph.
    pub(super) done: usize,
}

impl ReturnQueue {
    pub(super) fn put(&mut self, tuples: TupleBuf<Returned>) {
        self.queue.push_back(ReturnedTuples { tuples, next: 0 });
    }

    /// Whether all is done.
    pub(in crate::borders) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

/// Tuples of the rules for one instance.
#[derive(Default)]
struct Returns {
    tuples: TupleBuf<Returned>,
    /// Verdicts among them, and in those that were posted and not taken.
    verdicts: usize,
    /// Posts that were not taken.
    posted: usize,
    /// Frames of components that were posted and not taken.
    sent: usize,
}

/// The instances of other workers, at the worker that has the rules.
pub(crate) struct Instances {
    fanout: Fanout,
    /// The version of the borders.
    pub(super) version: u32,
    /// Batches that wait for room in the inbox, with the worker that each came from.
    pub(super) waiting: VecDeque<(u32, Batch)>,
    /// Of the other workers in order.
    returns: Vec<Returns>,
    turn: u32,
    flush_is_queued: bool,
    /// Rows of batches for other rules.
    pub(super) stale: Counter,
}

impl Instances {
    /// The other instances of a graph of which this is the first.
    pub(crate) fn new(fanout: Fanout, registry: &Registry) -> Instances {
        let returns = (1..fanout.instances()).map(|_| Returns::default()).collect();
        Instances {
            fanout,
            version: 0,
            waiting: VecDeque::new(),
            returns,
            turn: 0,
            flush_is_queued: false,
            stale: registry.counter("border/workers/dropped_stale"),
        }
    }

    /// Whether nothing is under way.
    pub(in crate::borders) fn are_idle(&self) -> bool {
        let is_idle = |returns: &Returns| {
            returns.tuples.is_empty() && returns.posted == 0 && returns.sent == 0
        };
        self.waiting.is_empty() && self.returns.iter().all(is_idle)
    }

    /// The tuples of another turn follow.
    pub(in crate::borders) fn begin_turn(&mut self) {
        self.turn = self.turn.wrapping_add(1);
    }

    /// The other worker that has a packet, given its number or its bytes.
    pub(crate) fn worker_of(&self, packet: Value<'_>) -> Option<u32> {
        let instance = match packet {
            Value::Int(number) => u32::try_from(number >> NUMBER_BITS).ok()?,
            Value::Bytes(bytes) => self.fanout.instance_of(bytes),
            _ => return None,
        };
        (0 < instance && instance < self.fanout.instances()).then_some(instance)
    }

    /// Adds a tuple for another worker. Returns false if that has too many verdicts to take.
    pub(in crate::borders) fn give_back(
        &mut self,
        worker: u32,
        (app, role): (u32, Role),
        columns: Seq<'_>,
    ) -> bool {
        let Some(returns) = self.returns.get_mut(worker as usize - 1) else { return false };
        if role == Role::Verdict {
            if returns.verdicts >= VERDICTS_MAX {
                return false;
            }
            returns.verdicts += 1;
        }
        let label = Returned { turn: self.turn, app, role };
        returns.tuples.push_all(label, columns.iter().take(role.columns()));
        true
    }

    /// A frame of a component is to be posted to a worker; false if too many are under way.
    pub(crate) fn send(&mut self, worker: u32) -> bool {
        let returns = self.returns.get_mut(worker as usize - 1);
        let returns = returns.filter(|returns| returns.sent < SENT_MAX);
        returns.map(|returns| returns.sent += 1).is_some()
    }

    /// A worker has taken a frame of a component.
    pub(crate) fn has_sent(&mut self, worker: u32) {
        let returns = self.returns.get_mut(worker as usize - 1);
        returns.into_iter().for_each(|returns| returns.sent = returns.sent.saturating_sub(1));
    }

    /// Whether tuples have to be posted that were not before.
    pub(super) fn begin_flush(&mut self) -> bool {
        let has_some = self.returns.iter().any(|returns| !returns.tuples.is_empty());
        has_some && !std::mem::replace(&mut self.flush_is_queued, true)
    }

    /// The tuples to post, each with its worker.
    pub(super) fn take(&mut self) -> Vec<(u32, TupleBuf<Returned>)> {
        self.flush_is_queued = false;
        let returns = (1..).zip(&mut self.returns);
        let some =
            returns.filter(|(_, returns)| !returns.tuples.is_empty()).map(|(to, returns)| {
                returns.posted += 1;
                (to, std::mem::take(&mut returns.tuples))
            });
        some.collect()
    }

    /// A worker has taken a post with a number of verdicts.
    pub(super) fn taken(&mut self, worker: u32, verdicts: usize) {
        if let Some(returns) = self.returns.get_mut(worker as usize - 1) {
            returns.posted = returns.posted.saturating_sub(1);
            returns.verdicts = returns.verdicts.saturating_sub(verdicts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(outbox: &mut Outbox, bytes: &[u8]) {
        let fill = |_: &str, row: &mut SeqBuilder| {
            row.push(Value::Bytes(bytes));
            Ok::<(), ()>(())
        };
        outbox.put(Receiver::Rules(0), fill).expect("no error");
    }

    #[test]
    fn an_outbox_has_a_limit_until_its_batches_are_taken() {
        let mut outbox = Outbox::default();
        assert!(outbox.is_idle());
        let mut rows = 0;
        while !outbox.is_full() {
            put(&mut outbox, b"x");
            rows += 1;
        }
        assert_eq!(rows, BATCHES_MAX * BATCH_ROWS);
        assert_eq!(outbox.take().len(), BATCHES_MAX);
        assert!(outbox.is_full() && !outbox.is_idle());
        outbox.taken();
        // A large row is a batch.
        put(&mut outbox, &vec![0; BATCH_BYTES]);
        assert!(outbox.is_full());
        assert_eq!(outbox.take().len(), 1);
        (0..BATCHES_MAX).for_each(|_| outbox.taken());
        assert!(outbox.is_idle());
        // A row with an error leaves nothing.
        let failed = outbox.put(Receiver::Decode(1), |_, row| {
            row.push(Value::Null);
            Err("no message")
        });
        assert_eq!(failed, Err("no message"));
        assert!(outbox.is_idle());
    }

    #[test]
    fn numbers_of_packets_name_their_instance() {
        let all = Fanout::all(3, &[]);
        let registry = Registry::in_memory();
        let mut instances = Instances::new(all[0].clone(), &registry);
        let worker_of = |number| instances.worker_of(Value::Int(number));
        assert_eq!(worker_of(7), None);
        assert_eq!(worker_of(first_number(1)), Some(1));
        assert_eq!(worker_of(first_number(2) + 9), Some(2));
        // Numbers that no packet has.
        for number in [first_number(3), -1, i64::MIN, i64::MAX] {
            assert_eq!(worker_of(number), None);
        }
        assert!(instances.are_idle());
        let mut columns = SeqBuilder::new();
        (0..3).for_each(|number| columns.push(Value::Int(number)));
        let mut give = |role| instances.give_back(2, (0, role), columns.as_seq());
        let given = (0..VERDICTS_MAX + 5).filter(|_| give(Role::Verdict)).count();
        assert_eq!(given, VERDICTS_MAX);
        assert!(give(Role::Event));
        assert!(instances.begin_flush() && !instances.begin_flush());
        let posts = instances.take();
        assert_eq!(posts.len(), 1);
        assert!(!instances.are_idle());
        instances.taken(2, VERDICTS_MAX);
        assert!(instances.are_idle());
    }
}
