//! Interprets a kernel, step by step: the plain oracle of the generated code.

use std::cell::Cell;
use std::rc::Rc;

use tidemill_stdx::id::IdVec;
use tidemill_stdx::internet;

use super::table::Table;
use super::table::spec::KEY_WORDS_MAX;
use super::{
    Address, Block, BlockId, End, Expr, HEADER_MAX, Handler, Kernel, PacketView, Step, Value, Width,
};
use crate::app::Io;
use crate::packet::Packet;

/// The inputs of a kernel besides the packet.
pub(super) struct Environment<'a> {
    /// Its words.
    pub words: &'a [Cell<u64>],
    /// Its tables.
    pub tables: &'a [Rc<Table>],
    /// Its ports, and the time.
    pub io: &'a mut Io,
    /// Room for its values.
    pub values: &'a mut [u64],
    /// The number of the packet's input.
    pub input: u32,
    /// Counts what was sent where no link is.
    pub unlinked: &'a Cell<u64>,
    /// In the handler of expiry: the entry that has expired.
    pub entry: u32,
}

/// The verdict on a packet; numbers are those of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Emit(u32),
    EmitAll,
    Drop(u32),
    Take,
}

/// A verified kernel and a packet.
pub(super) fn interpret(
    kernel: &Kernel,
    packet: &mut Packet,
    environment: &mut Environment<'_>,
) -> Verdict {
    let mut at = BlockId::new(0);
    loop {
        let block = &kernel.blocks[at];
        for step in &block.steps {
            if let Some(reason) = environment.step(packet, step) {
                return Verdict::Drop(reason);
            }
        }
        at = match block.end {
            End::Jump(to) => to,
            End::If(value, yes, no) => {
                if environment.get(value) != 0 {
                    yes
                } else {
                    no
                }
            }
            End::Test(test, yes, no) => {
                if kernel.tests[test as usize].holds(viewed(packet)) {
                    yes
                } else {
                    no
                }
            }
            End::Emit(output) => return Verdict::Emit(output),
            End::EmitAll => return Verdict::EmitAll,
            End::Drop(reason) => return Verdict::Drop(reason),
            End::Take => return Verdict::Take,
        };
    }
}

/// A verified handler, which has no packet.
pub(super) fn handle(handler: &Handler, environment: &mut Environment<'_>) {
    let blocks: &IdVec<BlockId, Block> = &handler.blocks;
    let mut at = BlockId::new(0);
    loop {
        for step in &blocks[at].steps {
            environment.step_alone(step);
        }
        at = match blocks[at].end {
            End::Jump(to) => to,
            End::If(value, yes, _) if environment.get(value) != 0 => yes,
            End::If(_, _, no) => no,
            _ => return,
        };
    }
}

fn viewed(packet: &Packet) -> PacketView<'_> {
    let wire_length = u32::try_from(packet.wire_len()).unwrap_or(u32::MAX);
    PacketView { bytes: packet.bytes(), wire_length, is_outgoing: packet.is_outgoing() }
}

impl Environment<'_> {
    fn get(&self, value: Value) -> u64 {
        self.values[value.raw() as usize]
    }

    /// Where the bytes of a place are; a base that is too great is beyond every packet.
    fn at(&self, place: Address) -> usize {
        let base = place.base.map_or(0, |base| self.get(base));
        usize::try_from(base.saturating_add(u64::from(place.offset))).unwrap_or(usize::MAX)
    }

    /// Executes a step; returns the reason, if the packet is to be dropped.
    fn step(&mut self, packet: &mut Packet, step: &Step) -> Option<u32> {
        match *step {
            Step::Let(value, ref expr) => {
                self.values[value.raw() as usize] = self.expr(packet, expr);
            }
            Step::SetMark(value) => packet.set_mark(self.get(value)),
            Step::Store(width, place, value) => {
                let (at, number) = (self.at(place), self.get(value).to_be_bytes());
                let bytes = width.bytes() as usize;
                packet.bytes_mut()[at..at + bytes].copy_from_slice(&number[8 - bytes..]);
            }
            Step::Need(place, reason) => return (packet.len() < self.at(place)).then_some(reason),
            Step::Prepend(bytes, reason) => {
                let zeros = [0; HEADER_MAX as usize];
                return packet.prepend(&zeros[..bytes as usize]).is_err().then_some(reason);
            }
            Step::Strip(bytes) => packet.strip(bytes as usize),
            Step::StripTo(place) => packet.strip(self.at(place)),
            Step::Truncate(value) => {
                let length = usize::try_from(self.get(value)).unwrap_or(usize::MAX);
                packet.truncate(length);
            }
            Step::Shorten(value) => {
                packet.shorten(usize::try_from(self.get(value)).unwrap_or(usize::MAX));
            }
            Step::Clone(output) => self.clone_to(packet, output as usize),
            _ => self.step_alone(step),
        }
        None
    }

    fn clone_to(&mut self, packet: &Packet, output: usize) {
        if !self.io.is_linked(output) {
            self.unlinked.set(self.unlinked.get() + 1);
        } else if let Some(copy) = self.io.duplicate(packet) {
            self.io.send(output, copy);
        }
    }

    /// Executes a step for which no packet is needed.
    #[inline(always)]
    fn step_alone(&mut self, step: &Step) {
        match *step {
            Step::Let(value, ref expr) => {
                self.values[value.raw() as usize] = self.expr_alone(expr);
            }
            Step::SetWord(word, value) => self.words[word as usize].set(self.get(value)),
            Step::Put(table, entry, at, value) => {
                self.tables[table as usize].set_value(self.entry(entry), at, self.get(value));
            }
            Step::Refresh(table, entry) => {
                self.tables[table as usize].refresh(self.entry(entry), self.io.now_ns());
            }
            Step::Delete(table, entry) => self.tables[table as usize].delete(self.entry(entry)),
            Step::Draft(table, word, value) => {
                self.tables[table as usize].set_draft(word, self.get(value));
            }
            Step::SetMark(_)
            | Step::Store(..)
            | Step::Need(..)
            | Step::Prepend(..)
            | Step::Strip(_)
            | Step::StripTo(_)
            | Step::Truncate(_)
            | Step::Shorten(_)
            | Step::Clone(_) => unreachable!("a verified handler touches no packet"),
        }
    }

    /// An entry of a table: a verified kernel has found it.
    fn entry(&self, value: Value) -> u32 {
        self.get(value) as u32
    }

    #[inline(always)]
    fn expr(&mut self, packet: &Packet, expr: &Expr) -> u64 {
        match *expr {
            Expr::Length => packet.len() as u64,
            Expr::WireLength => packet.wire_len() as u64,
            Expr::Mark => packet.mark(),
            Expr::Input => self.input.into(),
            Expr::Load(width, place) => load(packet.bytes(), width, self.at(place)),
            Expr::Sum(place) => internet::sum(&packet.bytes()[self.at(place)..], 0).into(),
            _ => self.expr_alone(expr),
        }
    }

    #[inline(always)]
    fn expr_alone(&mut self, expr: &Expr) -> u64 {
        match *expr {
            Expr::Const(number) => number,
            Expr::Now => self.io.now_ns(),
            Expr::Word(word) => self.words[word as usize].get(),
            Expr::Linked(output) => u64::from(self.io.is_linked(output as usize)),
            Expr::Binary(operator, a, b) => operator.apply(self.get(a), self.get(b)),
            Expr::Find(table, ref key) => {
                let mut words = [0; KEY_WORDS_MAX];
                for (word, value) in words.iter_mut().zip(key.words()) {
                    *word = self.get(*value);
                }
                self.tables[table as usize].find(&words[..key.words().len()]).into()
            }
            Expr::Insert(table) => self.tables[table as usize].insert(self.io.now_ns()).into(),
            Expr::Entry(_) => self.entry.into(),
            Expr::EntryKey(table, entry, word) => {
                self.tables[table as usize].key(self.entry(entry), word)
            }
            Expr::Get(table, entry, at) => self.tables[table as usize].value(self.entry(entry), at),
            Expr::Length
            | Expr::WireLength
            | Expr::Mark
            | Expr::Input
            | Expr::Load(..)
            | Expr::Sum(_) => {
                unreachable!("a verified handler looks at no packet")
            }
        }
    }
}

fn load(bytes: &[u8], width: Width, at: usize) -> u64 {
    let bytes = &bytes[at..at + width.bytes() as usize];
    bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}
