//! A kernel with what it remembers: what an app given as code holds.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tidemill_stdx::keyed::Secret;

use super::interpret::{Environment, Verdict, handle, interpret};
use super::table::Table;
use super::table::spec::{TableSpec, TableWriter};
use super::{Event, Handler, Kernel, Supply, WordKind};
use crate::app::{Io, Progress, Start, UNLINKED};
use crate::packet::Packet;

/// The built-in counters of a table: `TABLE_entries` and so on.
pub(crate) const TABLE_COUNTERS: [&str; 6] =
    ["entries", "inserted", "deleted", "expired", "evicted", "refused"];

/// The words and tables of a kernel, at addresses that generated code knows: the owner of such code
/// holds it, too.
#[derive(Debug)]
pub(crate) struct Memory {
    /// The words, then how many packets were dropped by reason, then those that were `unlinked`,
    /// then those that a pull has promised to the push that follows it, which is for code only.
    pub words: Box<[Cell<u64>]>,
    /// By number.
    pub tables: Box<[Rc<Table>]>,
}

/// A kernel that runs. An app given as code keeps one, hands it to the engine from
/// [`App::kernel`](crate::app::App::kernel), and calls [`Running::push`] from its `push`, which is
/// what happens where there is no generated code.
#[derive(Debug)]
pub struct Running {
    kernel: Arc<Kernel>,
    memory: Rc<Memory>,
    values: Box<[u64]>,
    /// When the handler of ticks is due.
    tick_at_ns: u64,
}

impl Running {
    /// A kernel without tables and handlers that has seen nothing.
    pub fn new(kernel: Arc<Kernel>) -> Running {
        Running::with_tables(kernel, Secret::of_process(), &[], 0)
    }

    /// A kernel that begins. Of the tables of the app that it takes the place of, it keeps those
    /// that it declares in the same way.
    pub fn start(kernel: Arc<Kernel>, start: &Start) -> Running {
        Running::with_tables(kernel, start.hash_secret, &start.tables, start.now_ns)
    }

    fn with_tables(
        kernel: Arc<Kernel>,
        secret: Secret,
        before: &[Rc<Table>],
        now_ns: u64,
    ) -> Running {
        let initial = kernel.words.iter().map(|word| word.initial);
        let drops = std::iter::repeat_n(0, kernel.reasons.len() + 2);
        let words = initial.chain(drops).map(Cell::new).collect();
        let table = |spec: &TableSpec| {
            let same = before.iter().find(|table| table.spec() == spec);
            same.map_or_else(|| Rc::new(Table::new(spec.clone(), secret)), Rc::clone)
        };
        let tables = kernel.tables.iter().map(table).collect();
        let memory = Rc::new(Memory { words, tables });
        let most = kernel.handlers.iter().map(|handler| handler.values).max();
        let values = vec![0; most.unwrap_or(0).max(kernel.values) as usize].into();
        let tick_at_ns = now_ns.saturating_add(kernel.tick_ns().unwrap_or(u64::MAX));
        Running { kernel, memory, values, tick_at_ns }
    }

    /// Its kernel.
    pub fn kernel(&self) -> &Arc<Kernel> {
        &self.kernel
    }

    /// The value of a word.
    pub fn word(&self, name: &str) -> Option<u64> {
        let at = self.kernel.words.iter().position(|word| word.name == name)?;
        Some(self.memory.words[at].get())
    }

    /// Changes a word; a name that is not there changes nothing.
    pub fn set_word(&mut self, name: &str, number: u64) {
        if let Some(at) = self.kernel.words.iter().position(|word| word.name == name) {
            self.memory.words[at].set(number);
        }
    }

    /// Continues as another kernel: what is counted under the same name, drops by reason included,
    /// keeps its value.
    pub fn become_another(&mut self, mut other: Running) {
        for (name, count) in self.counts() {
            if name.strip_prefix("drop_") == Some(UNLINKED) {
                other.memory.words[other.kernel.words.len() + other.kernel.reasons.len()]
                    .set(count);
            } else if let Some(reason) = name.strip_prefix("drop_")
                && let Some(at) = other.kernel.reasons.iter().position(|own| own == reason)
            {
                other.memory.words[other.kernel.words.len() + at].set(count);
            } else if other
                .kernel
                .words
                .iter()
                .any(|own| own.kind == WordKind::Counter && own.name == name)
            {
                other.set_word(&name, count);
            }
        }
        *self = other;
    }

    /// Gives words the values that they have at first in a kernel of the same words.
    pub(crate) fn set_initial(&mut self, kernel: &Kernel, words: &[u32]) {
        for &word in words {
            self.memory.words[word as usize].set(kernel.words[word as usize].initial);
        }
    }

    /// Continues as the same program with another config, which determines some of its words: the
    /// others, counts and tables stay.
    pub(crate) fn continue_as(&mut self, kernel: Arc<Kernel>, of_config: &[u32]) {
        let tables = &self.memory.tables;
        let mut other = Running::with_tables(kernel, Secret::of_process(), tables, 0);
        other.tick_at_ns = self.tick_at_ns;
        for (at, word) in other.kernel.words.iter().enumerate() {
            let is_own = word.kind == WordKind::State && !of_config.contains(&(at as u32));
            if let Some(before) = self.word(&word.name).filter(|_| is_own) {
                other.memory.words[at].set(before);
            }
        }
        self.become_another(other);
    }

    /// Its memory, at its address.
    pub(crate) fn memory(&self) -> &Rc<Memory> {
        &self.memory
    }

    /// A table.
    pub fn table(&self, name: &str) -> Option<&Rc<Table>> {
        self.memory.tables.iter().find(|table| table.spec().name == name)
    }

    /// Its counters, and `drop_<reason>` for what was dropped.
    pub(crate) fn counts(&self) -> Vec<(String, u64)> {
        let words = self.kernel.words.iter().zip(&self.memory.words);
        let own = words.filter(|(word, _)| word.kind == WordKind::Counter);
        let own = own.map(|(word, count)| (word.name.clone(), count.get()));
        let reasons = self.kernel.reasons.iter().map(String::as_str).chain([UNLINKED]);
        let drops = reasons.zip(&self.memory.words[self.kernel.words.len()..]);
        let drops = drops.filter(|(_, count)| count.get() > 0);
        let drops = drops.map(|(why, count)| (format!("drop_{why}"), count.get()));
        own.chain(self.table_counts()).chain(drops).collect()
    }

    /// Those that do not end with the app: all but the entries of tables. The counters of tables
    /// that the program writes stay with these.
    pub(crate) fn lasting_counts(&self) -> Vec<(String, u64)> {
        let tables = self.memory.tables.iter().map(|table| table.spec());
        let ends = |name: &str| {
            tables.clone().any(|table| {
                let of_table = name.strip_prefix(&*table.name).and_then(|it| it.strip_prefix('_'));
                let is_kept = table.writer == TableWriter::Program;
                of_table.is_some_and(|what| {
                    TABLE_COUNTERS.contains(&what) && (is_kept || what == TABLE_COUNTERS[0])
                })
            })
        };
        self.counts().into_iter().filter(|(name, _)| !ends(name)).collect()
    }

    fn table_counts(&self) -> impl Iterator<Item = (String, u64)> {
        self.memory.tables.iter().flat_map(|table| {
            let (name, counts) = (&table.spec().name, table.counts());
            let counts = [
                counts.entries,
                counts.inserted,
                counts.deleted,
                counts.expired,
                counts.evicted,
                counts.refused,
            ];
            let named = TABLE_COUNTERS.into_iter().zip(counts);
            named.map(move |(what, count)| (format!("{name}_{what}"), count))
        })
    }

    /// Takes all packets of all inputs, one after the other.
    pub fn push(&mut self, io: &mut Io) {
        for input in 0..io.inputs() {
            while let Some(packet) = io.receive(input) {
                self.take(io, packet, input as u32);
            }
        }
    }

    /// Brings packets, if it is a source.
    pub fn pull(&mut self, io: &mut Io) -> Progress {
        let Some(Supply { bytes, burst, left }) = self.kernel.supply else { return Progress::Done };
        let left = left as usize;
        let count = (io.room(0) as u64).min(burst.into()).min(self.memory.words[left].get());
        for _ in 0..count {
            let Some(mut packet) = io.packet() else { return Progress::Poll };
            if packet.resize(bytes as usize).is_err() {
                io.drop(packet, "too_long");
                continue;
            }
            self.take(io, packet, 0);
            if self.memory.words[left].get() != u64::MAX {
                self.memory.words[left].set(self.memory.words[left].get() - 1);
            }
        }
        if self.memory.words[left].get() == 0 { Progress::Done } else { Progress::Ready }
    }

    /// The period of [`Running::tick`]; never, if nothing.
    pub fn tick_every(&self) -> Option<Duration> {
        let wheels = self.memory.tables.iter().filter_map(|table| table.tick_ns());
        let every_ns = match (self.kernel.tick_ns(), wheels.min()) {
            // The handler is due at one of the ticks, so they are a part of its time.
            (Some(own_ns), Some(wheel_ns)) => own_ns / own_ns.div_ceil(wheel_ns).max(1),
            (own_ns, wheel_ns) => own_ns.or(wheel_ns)?,
        };
        Some(Duration::from_nanos(every_ns.max(1)))
    }

    /// Removes expired entries, and runs the handlers that are due.
    pub fn tick(&mut self, io: &mut Io) {
        let (kernel, memory) = (self.kernel.clone(), self.memory.clone());
        let now_ns = io.now_ns();
        for (number, table) in memory.tables.iter().enumerate() {
            let event = Event::Expire(number as u32);
            let handler = kernel.handlers.iter().find(|handler| handler.event == event);
            while let Some(entry) = table.expired(now_ns) {
                if let Some(handler) = handler {
                    self.handle(io, handler, entry);
                }
                table.expire(entry);
            }
        }
        if let Some(every_ns) = kernel.tick_ns().filter(|_| self.tick_at_ns <= now_ns) {
            self.tick_at_ns = now_ns.saturating_add(every_ns);
            let is_tick = |handler: &&Handler| matches!(handler.event, Event::Tick(_));
            if let Some(handler) = kernel.handlers.iter().find(is_tick) {
                self.handle(io, handler, 0);
            }
        }
    }

    fn handle(&mut self, io: &mut Io, handler: &Handler, entry: u32) {
        let Memory { words, tables } = &*self.memory;
        let unlinked = &words[self.kernel.words.len() + self.kernel.reasons.len()];
        let values = &mut self.values;
        let mut environment = Environment { words, tables, io, values, input: 0, unlinked, entry };
        handle(handler, &mut environment);
    }

    /// One packet.
    fn take(&mut self, io: &mut Io, mut packet: Packet, input: u32) {
        let kernel = &self.kernel;
        let (words, drops) = self.memory.words.split_at(kernel.words.len());
        let (tables, values) = (&self.memory.tables, &mut self.values);
        let unlinked = &drops[kernel.reasons.len()];
        let mut environment = Environment { words, tables, io, values, input, unlinked, entry: 0 };
        let drop = |number: usize| drops[number].set(drops[number].get() + 1);
        let output = match interpret(kernel, &mut packet, &mut environment) {
            Verdict::Emit(output) => output as usize,
            Verdict::EmitAll => {
                let last = io.outputs().saturating_sub(1);
                for output in 0..last {
                    if let Some(copy) = io.duplicate(&packet) {
                        io.send(output, copy);
                    }
                }
                last
            }
            Verdict::Drop(reason) => return drop(reason as usize),
            Verdict::Take => return,
        };
        if io.is_linked(output) { io.send(output, packet) } else { drop(kernel.reasons.len()) }
    }
}
