//! What can be wrong with a kernel.

use std::borrow::Cow;
use std::fmt::Display;

use tidemill_diag::text::verify::{Findings, Verified};
use tidemill_stdx::id::IdVec;

use super::table::spec::{TableSpec, TableWriter};
use super::{
    Address, Block, BlockId, End, Event, Expr, Facts, HEADER_MAX, Handler, Kernel, Step, Supply,
    Value, WordKind, flow,
};
use crate::link::QUEUED_MAX;
use crate::packet::BYTES_MAX;

/// Limits of a kernel, beyond which it is no small thing any more.
const BLOCKS_MAX: usize = 4096;
const STEPS_MAX: usize = 65_536;
/// Tables of a kernel at most.
pub(crate) const TABLES_MAX: usize = 16;
/// The number of outputs that may be named.
const OUTPUTS_MAX: u32 = 256;

impl Kernel {
    /// Checks that code may be made of it.
    ///
    /// # Errors
    /// All errors.
    pub fn verify(&self) -> Verified {
        let mut findings = Findings::new();
        self.tables.iter().filter_map(TableSpec::verify).for_each(|what| findings.fail(what));
        if self.tables.len() > TABLES_MAX {
            findings.fail(format_args!("it has more than {TABLES_MAX} tables"));
        }
        Verifier { kernel: self, event: None, findings: &mut findings }.program();
        for (number, handler) in self.handlers.iter().enumerate() {
            let Handler { event, ref blocks, values } = *handler;
            let is_other = |other: &Handler| match (other.event, event) {
                (Event::Tick(_), Event::Tick(_)) => false,
                (other, event) => other != event,
            };
            if !self.handlers[..number].iter().all(is_other) {
                findings.at(event);
                findings.fail("there is another handler of that");
            }
            let kernel = self.of_handler(blocks.clone(), values);
            Verifier { kernel: &kernel, event: Some(event), findings: &mut findings }.program();
        }
        findings.finish()
    }

    /// A handler as a kernel.
    fn of_handler(&self, blocks: IdVec<BlockId, Block>, values: u32) -> Kernel {
        Kernel { blocks, values, supply: None, handlers: Vec::new(), ..self.clone() }
    }

    fn lacks_reason(&self, reason: u32) -> bool {
        reason as usize >= self.reasons.len()
    }

    /// The item that a step names and the kernel does not have.
    fn missing(&self, step: Step) -> Option<String> {
        match step {
            Step::Let(_, Expr::Word(word)) | Step::SetWord(word, _)
                if word as usize >= self.words.len() =>
            {
                Some(format!("there is no word {word}"))
            }
            Step::Let(_, Expr::Linked(output)) | Step::Clone(output) if output >= OUTPUTS_MAX => {
                Some("there are too many outputs".to_owned())
            }
            Step::Need(_, reason) | Step::Prepend(_, reason) if self.lacks_reason(reason) => {
                Some(format!("there is no reason {reason}"))
            }
            _ => self.missing_of_table(step),
        }
    }

    /// The item of a table that a step names and the table does not have.
    fn missing_of_table(&self, step: Step) -> Option<String> {
        let (number, writes) = table_of(step)?;
        let Some(table) = self.tables.get(number as usize).filter(|it| it.verify().is_none())
        else {
            return Some(format!("there is no table {number}"));
        };
        let what = match step {
            Step::Let(_, Expr::Find(_, key)) if key.words().len() != table.key_words() => {
                "its key is of another length"
            }
            Step::Let(_, Expr::EntryKey(_, _, word)) if word as usize >= table.key_words() => {
                "its key has no such word"
            }
            Step::Let(_, Expr::Get(_, _, at)) | Step::Put(_, _, at, _)
                if at as usize >= table.value_words() =>
            {
                "it has no such value"
            }
            Step::Draft(_, word, _) if word >= table.draft_words() => "its draft is shorter",
            _ if writes && table.writer == TableWriter::Program => "the program writes it",
            _ => return None,
        };
        Some(format!("table {number}: {what}"))
    }

    /// The error of a local word that is read.
    fn unset_local(&self, word: u32, facts: &Facts) -> Option<String> {
        let is_local =
            self.words.get(word as usize).is_some_and(|word| word.kind == WordKind::Local);
        (is_local && !facts.is_word_set(word))
            .then(|| format!("local word {word} is not set on every way"))
    }

    /// What does not hold when a step is reached.
    fn verify_step(&self, step: Step, facts: &Facts) -> Option<String> {
        let unset = |value: Value| {
            (!facts.is_set(value)).then(|| format!("{value} is not set on every way"))
        };
        let base = |place: Address| place.base.and_then(unset);
        let unreached = |place: Address| {
            base(place).or_else(|| {
                (!facts.reach(place)).then(|| format!("the packet may not reach {place}"))
            })
        };
        match step {
            Step::Let(_, expr) => match expr {
                Expr::Load(width, place) => base(place).or_else(|| {
                    let bytes = width.bytes();
                    (!facts.covers(width, place))
                        .then(|| format!("{bytes} bytes at {place} may not be there"))
                }),
                Expr::Sum(place) => unreached(place),
                Expr::Binary(_, a, b) => unset(a).or_else(|| unset(b)),
                Expr::Find(_, key) => key.words().iter().copied().find_map(unset),
                Expr::EntryKey(table, value, _) | Expr::Get(table, value, _) => {
                    gone(value, table, facts)
                }
                Expr::Word(word) => self.unset_local(word, facts),
                _ => None,
            },
            Step::Put(table, entry, _, value) => unset(value).or_else(|| gone(entry, table, facts)),
            Step::Refresh(table, entry) | Step::Delete(table, entry) => gone(entry, table, facts),
            Step::Draft(_, _, value) => unset(value),
            Step::Clone(_) => None,
            Step::SetWord(_, value) | Step::SetMark(value) => unset(value),
            Step::Truncate(value) | Step::Shorten(value) => unset(value),
            Step::Store(width, place, value) => {
                unset(value).or_else(|| base(place)).or_else(|| {
                    let bytes = width.bytes();
                    (!facts.covers(width, place))
                        .then(|| format!("{bytes} bytes at {place} may not be there"))
                })
            }
            Step::Need(place, _) => base(place),
            Step::StripTo(place) => unreached(place),
            Step::Prepend(bytes, _) => (bytes > HEADER_MAX)
                .then(|| format!("at most {HEADER_MAX} bytes may be put before")),
            Step::Strip(bytes) => (u64::from(bytes) > facts.bytes)
                .then(|| format!("the packet may not have {bytes} bytes to take off")),
        }
    }
}

/// The blocks of a kernel; or of one of its handlers, if they are for an event.
struct Verifier<'k> {
    kernel: &'k Kernel,
    event: Option<Event>,
    findings: &'k mut Findings,
}

impl Verifier<'_> {
    /// Goes to a block, or to the whole.
    fn at(&mut self, block: Option<BlockId>) {
        match (self.event, block) {
            (None, None) => self.findings.at(""),
            (None, Some(block)) => self.findings.at(block),
            (Some(event), None) => self.findings.at(event),
            (Some(event), Some(block)) => self.findings.at(format_args!("{event}: {block}")),
        }
    }

    /// Records an error at a step or the end of a block.
    fn fail_in(&mut self, block: BlockId, instruction: impl Display, what: impl Display) {
        match self.event {
            None => self.findings.at_instruction(block, instruction),
            Some(event) => {
                self.findings.at_instruction(format_args!("{event}: {block}"), instruction);
            }
        }
        self.findings.fail(what);
    }

    fn program(&mut self) {
        let (kernel, event) = (self.kernel, self.event);
        self.at(None);
        let steps: usize = kernel.blocks.iter().map(|block| block.steps.len()).sum();
        if kernel.blocks.is_empty() {
            return self.findings.fail("it has no block");
        }
        let values = kernel.values as usize;
        if kernel.blocks.len() > BLOCKS_MAX || steps > STEPS_MAX || values > steps {
            let what = format_args!("it has more than {BLOCKS_MAX} blocks or {STEPS_MAX} steps");
            return self.findings.fail(what);
        }
        self.values();
        self.supply();
        let flowing = flow(kernel, 0);
        for (id, block) in kernel.blocks.iter_enumerated() {
            self.end(id, block.end);
            for &step in &block.steps {
                let what = kernel.missing(step).into_iter().map(Cow::from);
                for what in what.chain(misplaced(step, event).map(Cow::from)) {
                    self.fail_in(id, step, what);
                }
            }
            // Unreachable blocks do no harm: they never run, and no code is made of them.
            let Some(facts) = flowing.blocks[id].clone() else { continue };
            self.reached(id, block, facts);
        }
    }

    /// What does not hold in a block, given what holds at its start.
    fn reached(&mut self, id: BlockId, block: &Block, mut facts: Facts) {
        for &step in &block.steps {
            if let Some(what) = self.kernel.verify_step(step, &facts) {
                self.fail_in(id, step, what);
            }
            facts.step(self.kernel, step);
        }
        if let End::If(value, ..) = block.end
            && !facts.is_set(value)
        {
            self.fail_in(id, block.end, format_args!("{value} is not set on every way"));
        }
    }

    fn supply(&mut self) {
        let Some(Supply { bytes, burst, left }) = self.kernel.supply else { return };
        if bytes as usize > BYTES_MAX {
            self.findings.fail(format_args!("a packet has {BYTES_MAX} bytes at most"));
        }
        if burst == 0 || burst as usize > QUEUED_MAX {
            self.findings.fail(format_args!("a burst is between 1 and {QUEUED_MAX}"));
        }
        match self.kernel.words.get(left as usize) {
            None => self.findings.fail(format_args!("there is no word {left}")),
            Some(word) if word.kind == WordKind::Local => {
                let what = format_args!("word {left} counts what is left: it cannot be local");
                self.findings.fail(what);
            }
            Some(_) => {}
        }
        // It is counted for a whole burst at once, or packet by packet, as suits the engine.
        let handled = self.kernel.handlers.iter().flat_map(|handler| &handler.blocks);
        let mut steps = self.kernel.blocks.iter().chain(handled).flat_map(|block| &block.steps);
        let is_used = steps.any(|step| match *step {
            Step::Let(_, Expr::Word(word)) | Step::SetWord(word, _) => word == left,
            _ => false,
        });
        if is_used {
            let what = format_args!("word {left} counts what is left: no step may read or set it");
            self.findings.fail(what);
        }
    }

    /// Each value is set in one place, and none is used that is set nowhere, not even where no way
    /// leads: analyses look values up by number in all blocks.
    fn values(&mut self) {
        let mut set = vec![false; self.kernel.values as usize];
        for (id, block) in self.kernel.blocks.iter_enumerated() {
            if let End::If(value, ..) = block.end {
                self.exists(id, block.end, value);
            }
            for step in &block.steps {
                step.operands().for_each(|value| self.exists(id, step, value));
                let Step::Let(value, _) = step else { continue };
                match set.get_mut(value.raw() as usize) {
                    None => self.fail_in(id, step, format_args!("there is no {value}")),
                    Some(true) => self.fail_in(id, step, format_args!("{value} is set twice")),
                    Some(set) => *set = true,
                }
            }
        }
        self.at(None);
    }

    fn exists(&mut self, id: BlockId, instruction: impl Display, value: Value) {
        if value.raw() >= self.kernel.values {
            self.fail_in(id, instruction, format_args!("there is no {value}"));
        }
    }

    fn end(&mut self, id: BlockId, end: End) {
        for to in end.targets() {
            if to <= id || self.kernel.blocks.get(to).is_none() {
                self.fail_in(id, end, format_args!("{to} is no later block"));
            }
        }
        let is_for_packets = !matches!(end, End::Jump(_) | End::If(..) | End::Take);
        if self.event.is_some() && is_for_packets {
            self.fail_in(id, end, "there is no packet");
        }
        let what = match end {
            End::Test(test, ..) if test as usize >= self.kernel.tests.len() => {
                "there is no such test"
            }
            End::Drop(reason) if self.kernel.lacks_reason(reason) => "there is no such reason",
            End::Emit(output) if output >= OUTPUTS_MAX => "there are too many outputs",
            _ => return,
        };
        self.fail_in(id, end, what);
    }
}

/// The error of a value as an entry.
fn gone(value: Value, table: u32, facts: &Facts) -> Option<String> {
    (!facts.is_entry(value, table)).then(|| format!("{value} may be no entry of table {table}"))
}

/// The table that a step is about, and whether it changes that.
fn table_of(step: Step) -> Option<(u32, bool)> {
    match step {
        Step::Let(_, Expr::Find(table, _) | Expr::Entry(table))
        | Step::Let(_, Expr::EntryKey(table, ..) | Expr::Get(table, ..)) => Some((table, false)),
        Step::Let(_, Expr::Insert(table))
        | Step::Put(table, ..)
        | Step::Refresh(table, _)
        | Step::Delete(table, _)
        | Step::Draft(table, ..) => Some((table, true)),
        _ => None,
    }
}

/// The step that is not allowed here: in the blocks for packets, or in a handler.
fn misplaced(step: Step, event: Option<Event>) -> Option<&'static str> {
    let handled = match event {
        Some(Event::Expire(table)) => Some(table),
        _ => None,
    };
    match step {
        Step::Let(_, Expr::Entry(table)) if handled != Some(table) => Some("no entry has expired"),
        Step::Let(_, Expr::Insert(table)) | Step::Delete(table, _) if handled == Some(table) => {
            Some("the table lets an entry go")
        }
        Step::Let(
            _,
            Expr::Length
            | Expr::WireLength
            | Expr::Mark
            | Expr::Input
            | Expr::Load(..)
            | Expr::Sum(_),
        )
        | Step::SetMark(_)
        | Step::Store(..)
        | Step::Need(..)
        | Step::Prepend(..)
        | Step::Strip(_)
        | Step::StripTo(_)
        | Step::Truncate(_)
        | Step::Shorten(_)
        | Step::Clone(_)
            if event.is_some() =>
        {
            Some("there is no packet")
        }
        _ => None,
    }
}
