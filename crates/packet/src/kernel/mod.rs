//! Kernels: apps given as code for the generator.
//!
//! A kernel describes what happens to *one* packet: it reads bytes, changes them, puts headers on
//! and takes them off, counts, and ends by sending the packet out of a port, dropping it for a
//! reason or taking it in. So the generated breath holds it as straight code, and where one
//! kernel's output leads to another kernel, the packet stays in registers from one to the next (see
//! `compiled`).
//!
//! ```text
//! kernel VlanTag
//!   reason 0 too_short
//!   b0:
//!     need [14] else 0               the packet has 14 bytes, or is dropped for reason 0
//!     prepend 4 else 0               four zeros before it, or likewise
//!     v0 = load64 [4]                bytes 4 to 11, most significant first
//!     v1 = load32 [12]
//!     store64 [0] v0
//!     store32 [8] v1
//!     v2 = const 2164260869
//!     store32 [12] v2
//!     emit 0
//! ```
//! A kernel with a *supply* is a source: its packets are fresh ones of zeros.
//!
//! ```text
//!   table 0 flows exact kernel 65536 evict 60000000000 key source:32 port:16 values packets:64
//!   b0:
//!     v0 = const 7
//!     v1 = find 0 v0                 the entry with this key, or 0
//!     if v1 b1 b2
//!   b1:
//!     v2 = get 0 v1 0                the first word of its values
//!     put 0 v1 0 v2                  changes it
//!     refresh 0 v1                   its age begins anew
//!     delete 0 v1
//!     take
//!   b2:
//!     draft 0 0 v0                   a word of the next entry: key, mask, priority, values
//!     v3 = insert 0                  the entry; 0: there was no room
//!     take
//!   on expire 0                      without a packet: when the time of an entry is over
//!   b0:
//!     v0 = entry 0                   which entry that is
//!     v1 = key 0 v0 0                a word of its key
//!     take
//! ```
//! An entry may be touched only where it is known to exist: after an `if` that tests it, and
//! before the next `insert` into its table or `delete` from it.
//!
//! *Values* are numbers of 64 bits without sign; each is set once, before it is used, on every way.
//! *Words* are what a kernel remembers: `state` words are its own, `counter` words are reported
//! under their name, `local` words hold for one packet and are set before they are read.
//! *Tests* are conditions that others bring along, such as filters: they have a name, an
//! interpreter and a generator. Blocks lead to later blocks only, so a kernel ends.
//!
//! Arithmetic is modulo 2^64; a shift by 64 and more gives 0, and so does a division by 0;
//! `mul_sat` and `add_sat` stop at the greatest number, and `sum16` adds the words of 16 bits of
//! both numbers, carries included, as `sum` does with the words from a place to the end of the
//! packet (RFC 1071). Addresses count from the first byte of the
//! packet at that point. [`verify`](Kernel::verify) proves on every path that bytes exist before
//! they are touched: code is made of verified kernels only. [`Builder`] writes kernels; the text
//! form reads as it prints; [`Running`] interprets them, which is what the dispatch loop does, and
//! the oracle of the generated code.

mod bounds;
mod build;
mod facts;
mod interpret;
mod print;
mod read;
mod running;
pub mod table;
mod test;
mod unused;
mod verify;

use std::sync::Arc;

use tidemill_stdx::id::IdVec;

use table::spec::{KEY_WORDS_MAX, TableSpec};

pub(crate) use bounds::Bounds;
pub use build::Builder;
pub(crate) use facts::{Facts, FlowFacts, flow};
pub use read::parse;
pub use running::Running;
pub(crate) use running::{Memory, TABLE_COUNTERS};
pub use test::{PacketValues, PacketView, Test};
pub use tidemill_diag::text::verify::{VerifyError, VerifyErrors};
pub(crate) use verify::TABLES_MAX;

/// Bytes that a step puts before a packet at most.
pub(crate) const HEADER_MAX: u32 = 256;

tidemill_stdx::id_type! {
    /// A number that a kernel computes.
    pub struct Value, "v";
}

tidemill_stdx::id_type! {
    /// A block of a kernel.
    pub struct BlockId, "b";
}

/// The number of bytes loaded or stored at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// One.
    W8,
    /// Two.
    W16,
    /// Four.
    W32,
    /// Eight.
    W64,
}

impl Width {
    pub(crate) const ALL: [Width; 4] = [Width::W8, Width::W16, Width::W32, Width::W64];

    /// The number of bytes.
    pub fn bytes(self) -> u32 {
        match self {
            Width::W8 => 1,
            Width::W16 => 2,
            Width::W32 => 4,
            Width::W64 => 8,
        }
    }
}

/// The place of bytes: at `offset`, or that far after the value of `base`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    /// Added to the offset.
    pub base: Option<Value>,
    /// From the start of the packet.
    pub offset: u32,
}

/// An operation on two values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
    /// The sum.
    Add,
    /// The difference.
    Sub,
    /// The product.
    Mul,
    /// The quotient; 0 for a divisor of 0.
    Div,
    /// The remainder; 0 for a divisor of 0.
    Rem,
    /// Bits in both.
    And,
    /// Bits in either.
    Or,
    /// Bits in one of them.
    Xor,
    /// Moved up.
    Shl,
    /// Moved down.
    Shr,
    /// The lesser.
    Min,
    /// The sum, or the greatest number.
    AddSat,
    /// The product, or the greatest number.
    MulSat,
    /// The difference, or 0.
    SubSat,
    /// The sum of all words of 16 bits, to which carries are added (RFC 1071): 16 bits, and 0 only
    /// of two zeros.
    Sum16,
    /// 1 if they are equal, else 0.
    Eq,
    /// 1 if they differ.
    Ne,
    /// 1 if the first is less.
    Lt,
    /// 1 if the first is not greater.
    Le,
}

impl Operator {
    pub(crate) const NAMES: [(Operator, &'static str); 19] = [
        (Operator::Add, "add"),
        (Operator::Sub, "sub"),
        (Operator::Mul, "mul"),
        (Operator::Div, "div"),
        (Operator::Rem, "rem"),
        (Operator::And, "and"),
        (Operator::Or, "or"),
        (Operator::Xor, "xor"),
        (Operator::Shl, "shl"),
        (Operator::Shr, "shr"),
        (Operator::Min, "min"),
        (Operator::AddSat, "add_sat"),
        (Operator::MulSat, "mul_sat"),
        (Operator::SubSat, "sub_sat"),
        (Operator::Sum16, "sum16"),
        (Operator::Eq, "eq"),
        (Operator::Ne, "ne"),
        (Operator::Lt, "lt"),
        (Operator::Le, "le"),
    ];

    /// Whether the result with 0 is the first number.
    fn keeps_with_zero(self) -> bool {
        match self {
            Operator::Add | Operator::Sub | Operator::Or | Operator::Xor => true,
            Operator::Shl | Operator::Shr | Operator::AddSat | Operator::SubSat => true,
            Operator::Mul | Operator::Div | Operator::Rem | Operator::And | Operator::Min => false,
            Operator::MulSat | Operator::Sum16 => false,
            Operator::Eq | Operator::Ne | Operator::Lt | Operator::Le => false,
        }
    }

    /// The result.
    #[inline]
    pub fn apply(self, a: u64, b: u64) -> u64 {
        match self {
            Operator::Add => a.wrapping_add(b),
            Operator::Sub => a.wrapping_sub(b),
            Operator::Mul => a.wrapping_mul(b),
            Operator::Div => a.checked_div(b).unwrap_or(0),
            Operator::Rem => a.checked_rem(b).unwrap_or(0),
            Operator::And => a & b,
            Operator::Or => a | b,
            Operator::Xor => a ^ b,
            Operator::Shl => {
                if b < 64 {
                    a << b
                } else {
                    0
                }
            }
            Operator::Shr => {
                if b < 64 {
                    a >> b
                } else {
                    0
                }
            }
            Operator::Min => a.min(b),
            Operator::AddSat => a.saturating_add(b),
            Operator::MulSat => a.saturating_mul(b),
            Operator::SubSat => a.saturating_sub(b),
            Operator::Sum16 => sum16(a, b),
            Operator::Eq => u64::from(a == b),
            Operator::Ne => u64::from(a != b),
            Operator::Lt => u64::from(a < b),
            Operator::Le => u64::from(a <= b),
        }
    }
}

fn sum16(a: u64, b: u64) -> u64 {
    let mut sum = u128::from(a) + u128::from(b);
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u64
}

/// How a value is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expr {
    /// Known now.
    Const(u64),
    /// Bytes of the packet.
    Length,
    /// Bytes that the packet had on the wire.
    WireLength,
    /// The time of the event loop in nanoseconds: the same throughout a batch of breaths.
    Now,
    /// The mark of the packet.
    Mark,
    /// The number of its input.
    Input,
    /// A word of the kernel, by number.
    Word(u32),
    /// 1 if the output has a link, else 0.
    Linked(u32),
    /// Bytes of the packet, most significant first.
    Load(Width, Address),
    /// The [`Operator::Sum16`] of all words from a place to the end of the packet; a last byte
    /// without another is the upper half of its word.
    Sum(Address),
    /// Of two values.
    Binary(Operator, Value, Value),
    /// The entry of a table, by number, with a key; 0: there is none.
    Find(u32, Key),
    /// Takes the draft of a table in; the entry, or 0: there was no room.
    Insert(u32),
    /// The entry of a table that has expired, in the handler of that.
    Entry(u32),
    /// A word of the key of an entry.
    EntryKey(u32, Value, u32),
    /// A word of the values of an entry.
    Get(u32, Value, u32),
}

/// The words of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key {
    words: [Value; KEY_WORDS_MAX],
    count: u8,
}

impl Key {
    /// A key of these words; what is beyond the longest key is left out.
    pub fn new(words: &[Value]) -> Key {
        let mut key = Key { words: [Value::new(0); KEY_WORDS_MAX], count: 0 };
        for (to, from) in key.words.iter_mut().zip(words) {
            *to = *from;
            key.count += 1;
        }
        key
    }

    /// Its words.
    pub fn words(&self) -> &[Value] {
        &self.words[..usize::from(self.count)]
    }
}

/// A step of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Sets a value.
    Let(Value, Expr),
    /// Changes a word.
    SetWord(u32, Value),
    /// Changes the mark.
    SetMark(Value),
    /// Changes bytes, most significant first.
    Store(Width, Address, Value),
    /// The packet has this many bytes from the place on; else it is dropped for the reason.
    Need(Address, u32),
    /// Puts this many zeros before the packet; if there is no room, it is dropped for the reason.
    Prepend(u32, u32),
    /// Takes this many bytes off the front.
    Strip(u32),
    /// Takes off what is before a place.
    StripTo(Address),
    /// Cuts what is longer than the value; the length on the wire stays.
    Truncate(Value),
    /// The same, but the packet is no longer on the wire either.
    Shorten(Value),
    /// Changes a word of the values of an entry of a table.
    Put(u32, Value, u32, Value),
    /// The age of an entry begins anew.
    Refresh(u32, Value),
    /// Deletes an entry.
    Delete(u32, Value),
    /// Changes a word of a table's draft.
    Draft(u32, u32, Value),
    /// A copy of the packet in its current state leaves by an output, by number. Without a link
    /// that is counted as `unlinked`.
    Clone(u32),
}

impl Step {
    /// Whether the packet may begin or end elsewhere afterwards.
    pub(crate) fn changes_length(&self) -> bool {
        let is_at_front = matches!(self, Step::Prepend(..) | Step::Strip(_) | Step::StripTo(_));
        is_at_front || matches!(self, Step::Truncate(_) | Step::Shorten(_))
    }

    /// The values that it uses.
    pub(crate) fn operands(&self) -> impl Iterator<Item = Value> {
        let (mut one, mut key) = ([None; 3], None);
        match self {
            Step::Let(_, expr) => match expr {
                Expr::Load(_, place) | Expr::Sum(place) => one[0] = place.base,
                Expr::Binary(_, a, b) => one = [Some(*a), Some(*b), None],
                Expr::EntryKey(_, entry, _) | Expr::Get(_, entry, _) => one[0] = Some(*entry),
                Expr::Find(_, words) => key = Some(*words),
                _ => {}
            },
            Step::Store(_, place, value) => one = [place.base, Some(*value), None],
            Step::Need(place, _) | Step::StripTo(place) => one[0] = place.base,
            Step::SetWord(_, value)
            | Step::SetMark(value)
            | Step::Truncate(value)
            | Step::Shorten(value)
            | Step::Refresh(_, value)
            | Step::Delete(_, value)
            | Step::Draft(_, _, value) => one[0] = Some(*value),
            Step::Put(_, entry, _, value) => one = [Some(*entry), Some(*value), None],
            Step::Prepend(..) | Step::Strip(_) | Step::Clone(_) => {}
        }
        let words = key.map(|key| key.words().to_vec()).unwrap_or_default();
        one.into_iter().flatten().chain(words)
    }
}

/// How a block ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Jumps there.
    Jump(BlockId),
    /// Branches to the first if the value is not 0, else to the second.
    If(Value, BlockId, BlockId),
    /// Branches to the first if the test, by number, holds, else to the second.
    Test(u32, BlockId, BlockId),
    /// The packet leaves by an output, by number. Without a link it is dropped as `unlinked`.
    Emit(u32),
    /// Copies of the packet leave by all outputs but the last, in order, and itself by the last.
    EmitAll,
    /// The packet is dropped for a reason, by number.
    Drop(u32),
    /// The packet has arrived.
    Take,
}

impl End {
    /// Its successors.
    pub fn targets(self) -> impl Iterator<Item = BlockId> {
        let (first, second) = match self {
            End::Jump(to) => (Some(to), None),
            End::If(_, yes, no) | End::Test(_, yes, no) => (Some(yes), Some(no)),
            End::Emit(_) | End::EmitAll | End::Drop(_) | End::Take => (None, None),
        };
        first.into_iter().chain(second)
    }
}

/// Steps, then an end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// In order.
    pub steps: Vec<Step>,
    /// Its end.
    pub end: End,
}

/// How long a word holds, and who sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WordKind {
    /// The kernel's own, from packet to packet.
    State,
    /// The same, and reported.
    Counter,
    /// For one packet, or one call of a handler: it is set before it is read.
    Local,
}

impl WordKind {
    pub(crate) const NAMES: [(WordKind, &'static str); 3] =
        [(WordKind::State, "state"), (WordKind::Counter, "counter"), (WordKind::Local, "local")];
}

/// A number that a kernel can change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Word {
    /// Its name.
    pub name: String,
    /// Its initial value; 0, if it is local.
    pub initial: u64,
    /// How long it holds.
    pub kind: WordKind,
}

/// Makes a kernel a source: each pull brings as many packets as its output 0 has room for, up to a
/// burst.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Supply {
    /// Bytes of a fresh packet, all of them 0.
    pub bytes: u32,
    /// Packets of a pull at most.
    pub burst: u32,
    /// The word that limits the packets that are left; the greatest number: no end. It is the
    /// engine's: no step may read or set it.
    pub left: u32,
}

/// When a handler without a packet runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// Each time this many nanoseconds have passed.
    Tick(u64),
    /// The time of an entry of a table, by number, is over. It is removed afterwards.
    Expire(u32),
}

/// What happens without a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Handler {
    /// When.
    pub event: Event,
    /// The blocks; the first is where it begins.
    pub blocks: IdVec<BlockId, Block>,
    /// The number of values.
    pub values: u32,
}

/// An app as code.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its name in listings.
    pub name: String,
    /// The source of its packets, if it has no inputs.
    pub supply: Option<Supply>,
    /// Its words.
    pub words: Vec<Word>,
    /// Why it drops packets.
    pub reasons: Vec<String>,
    /// Conditions from outside.
    pub tests: Vec<Arc<dyn Test>>,
    /// Its tables.
    pub tables: Vec<TableSpec>,
    /// The blocks; the first is where it begins.
    pub blocks: IdVec<BlockId, Block>,
    /// The number of values.
    pub values: u32,
    /// Its handlers without a packet.
    pub handlers: Vec<Handler>,
}

impl Kernel {
    /// A kernel without blocks.
    fn empty(name: &str) -> Kernel {
        Kernel {
            name: name.to_owned(),
            supply: None,
            words: Vec::new(),
            reasons: Vec::new(),
            tests: Vec::new(),
            tables: Vec::new(),
            blocks: IdVec::new(),
            values: 0,
            handlers: Vec::new(),
        }
    }
}

impl Kernel {
    /// The period of its tick handler.
    fn tick_ns(&self) -> Option<u64> {
        self.handlers.iter().find_map(|handler| match handler.event {
            Event::Tick(every_ns) => Some(every_ns.max(1)),
            Event::Expire(_) => None,
        })
    }
}

/// Tests are the same if they are called the same.
impl PartialEq for Kernel {
    fn eq(&self, other: &Kernel) -> bool {
        let names = |kernel: &Kernel| -> Vec<String> {
            kernel.tests.iter().map(|test| test.name().to_owned()).collect()
        };
        (&self.name, &self.words, &self.reasons) == (&other.name, &other.words, &other.reasons)
            && self.supply == other.supply
            && (&self.tables, &self.handlers) == (&other.tables, &other.handlers)
            && (&self.blocks, self.values) == (&other.blocks, other.values)
            && names(self) == names(other)
    }
}

#[cfg(test)]
mod tests;
