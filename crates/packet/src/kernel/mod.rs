//! Kernels: apps given as code for the generator.
//!
//! A kernel says what happens to *one* packet: it looks at bytes, changes them, puts headers on and
//! takes them off, counts, and ends by sending the packet out of a port, dropping it for a reason
//! or taking it in. So the generated breath holds it as straight code, and where one kernel's
//! output leads to another kernel, the packet stays in registers from one to the next (see
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
//! *Values* are numbers of 64 bits without sign; each is set once, before it is used, on every way.
//! *Words* are what a kernel remembers: `state` words are its own, `counter` words are reported
//! under their name. *Tests* are conditions that others bring along, such as filters: they have a
//! name, an interpreter and a generator. Blocks lead to later blocks only, so a kernel ends.
//!
//! Arithmetic is modulo 2^64; a shift by 64 and more gives 0, and so does a division by 0;
//! `mul_sat` and `add_sat` stop at the greatest number. Addresses count from the first byte of the
//! packet as it is then. [`verify`](Kernel::verify) finds on every way that bytes were there before
//! they are touched: code is made of verified kernels only. [`Builder`] writes kernels; the text
//! form reads as it prints; [`Running`] carries them out, which is what the dispatch loop does, and
//! the oracle of the generated code.

mod build;
mod facts;
mod interpret;
mod print;
mod read;
mod running;
mod test;
mod verify;

use std::sync::Arc;

use tidemill_stdx::id::IdVec;

pub use build::Builder;
pub(crate) use facts::{Facts, Flowing, flow};
pub use read::parse;
pub use running::Running;
pub use test::{Looked, Test, Viewed};

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

/// How many bytes are loaded or stored at once.
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

    /// How many they are.
    pub fn bytes(self) -> u32 {
        match self {
            Width::W8 => 1,
            Width::W16 => 2,
            Width::W32 => 4,
            Width::W64 => 8,
        }
    }
}

/// Where bytes are: at `offset`, or so far behind what `base` says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Added to the offset.
    pub base: Option<Value>,
    /// From the start of the packet.
    pub offset: u32,
}

/// What is computed of two values.
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
    pub(crate) const NAMES: [(Operator, &'static str); 18] = [
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
        (Operator::Eq, "eq"),
        (Operator::Ne, "ne"),
        (Operator::Lt, "lt"),
        (Operator::Le, "le"),
    ];

    /// The result.
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
            Operator::Eq => u64::from(a == b),
            Operator::Ne => u64::from(a != b),
            Operator::Lt => u64::from(a < b),
            Operator::Le => u64::from(a <= b),
        }
    }
}

/// What a value is.
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
    /// A word of the kernel, by number.
    Word(u32),
    /// 1 if the output has a link, else 0.
    Linked(u32),
    /// Bytes of the packet, most significant first.
    Load(Width, Place),
    /// Of two values.
    Binary(Operator, Value, Value),
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
    Store(Width, Place, Value),
    /// The packet has so many bytes from the place on; else it is dropped for the reason.
    Need(Place, u32),
    /// Puts so many zeros before the packet; if there is no room, it is dropped for the reason.
    Prepend(u32, u32),
    /// Takes so many bytes off the front.
    Strip(u32),
    /// Cuts what is longer than the value; the length on the wire stays.
    Truncate(Value),
}

/// How a block ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Goes on there.
    Jump(BlockId),
    /// Goes on at the first if the value is not 0, else at the second.
    If(Value, BlockId, BlockId),
    /// Goes on at the first if the test, by number, holds, else at the second.
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
    /// Where it may go on.
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
    /// What comes after.
    pub end: End,
}

/// Something a kernel remembers from packet to packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Word {
    /// Its name.
    pub name: String,
    /// What it begins with.
    pub initial: u64,
    /// Whether it is reported.
    pub is_counter: bool,
}

/// What makes a kernel a source: each pull brings as many packets as its output 0 has room for, up
/// to a burst.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Supply {
    /// Bytes of a fresh packet, all of them 0.
    pub bytes: u32,
    /// Packets of a pull at most.
    pub burst: u32,
    /// The word that says how many are left altogether; the greatest number: no end. It is the
    /// engine's: no step may read or set it.
    pub left: u32,
}

/// An app as code.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// What it is called, in listings.
    pub name: String,
    /// Where its packets come from, if it has no inputs.
    pub supply: Option<Supply>,
    /// What it remembers.
    pub words: Vec<Word>,
    /// Why it drops packets.
    pub reasons: Vec<String>,
    /// Conditions from outside.
    pub tests: Vec<Arc<dyn Test>>,
    /// The blocks; the first is where it begins.
    pub blocks: IdVec<BlockId, Block>,
    /// How many values there are.
    pub values: u32,
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
            blocks: IdVec::new(),
            values: 0,
        }
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
            && (&self.blocks, self.values) == (&other.blocks, other.values)
            && names(self) == names(other)
    }
}

#[cfg(test)]
mod tests;
