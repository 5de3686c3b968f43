//! The meaning of the names of a program, and the facts at a point of it.

use super::ast::{Constant, Expr, MeterUnit};
use super::headers::{Field, Header};
use crate::kernel::table::spec::{KeyPlace, TableSpec};
use crate::kernel::{BlockId, Expr as Computed, Value};

/// The type of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Type {
    Number,
    Bool,
    /// An address of IPv6, of two values.
    Ipv6,
    /// Of an invalid expression, whose error has been reported: it fits everywhere.
    Error,
}

impl Type {
    pub fn name(self) -> &'static str {
        match self {
            Type::Number => "a number",
            Type::Bool => "a truth value",
            Type::Ipv6 => "an IPv6 address",
            Type::Error => "an error",
        }
    }
}

/// What an expression computes, and its type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand {
    pub kind: Type,
    /// The value; the lower half of an address of IPv6.
    pub value: Value,
    /// The upper half of that.
    pub high: Option<Value>,
}

impl Operand {
    pub fn number(value: Value) -> Operand {
        Operand { kind: Type::Number, value, high: None }
    }

    pub fn bool(value: Value) -> Operand {
        Operand { kind: Type::Bool, value, high: None }
    }

    pub fn ipv6([high, low]: [Value; 2]) -> Operand {
        Operand { kind: Type::Ipv6, value: low, high: Some(high) }
    }

    /// Its values, the upper half first.
    pub fn words(self) -> impl Iterator<Item = Value> {
        self.high.into_iter().chain([self.value])
    }
}

/// The meaning of a name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meaning {
    Value(Operand),
    Constant(Constant),
    /// A word and whether programs may set it.
    Word(u32, Type, bool),
    /// The words of an address of IPv6, and whether programs may set them.
    Address([u32; 2], bool),
    /// What every program can read.
    Computed(Computed),
    Counter(u32),
    Table(u32),
    Meter(usize),
}

/// A declared meter.
#[derive(Clone, Copy)]
pub(super) struct DeclaredMeter {
    pub unit: MeterUnit,
    /// The number per second.
    pub rate: Amount,
    /// The number at once, times 10^9.
    pub burst: Amount,
    /// The words of what may pass, times 10^9, and of the time up to which that is counted.
    pub tokens: u32,
    pub filled_ns: u32,
}

/// A number.
#[derive(Clone, Copy)]
pub(super) enum Amount {
    Number(u64),
    Word(u32),
}

/// A declared table.
pub(super) struct DeclaredTable {
    pub spec: TableSpec,
    pub places: Vec<KeyPlace>,
    /// Of the columns of the key, then of the others.
    pub types: Vec<Type>,
}

/// An entry that has been found.
#[derive(Clone, Copy)]
pub(super) struct FoundEntry {
    pub table: u32,
    pub entry: Value,
    /// Something was inserted or deleted since.
    pub is_gone: bool,
}

/// A place in the packet: this many bytes after a value, or from the first on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Base {
    pub value: Option<Value>,
    pub offset: u32,
}

impl Base {
    pub const START: Base = Base { value: None, offset: 0 };

    pub fn at_value(value: Value) -> Base {
        Base { value: Some(value), offset: 0 }
    }

    pub fn plus(self, bytes: u32) -> Base {
        Base { offset: self.offset + bytes, ..self }
    }
}

/// A header that the packet is known to have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Present {
    pub header: Header,
    pub base: Base,
    /// Where what it carries begins, if that is known.
    pub next: Option<Base>,
    /// The protocol after an IPv6 header and its extension headers.
    pub protocol: Option<Value>,
    /// The header whose checksum covers it.
    pub covered_by: Option<(Header, Base)>,
    /// Headers were put on or taken off since.
    pub is_gone: bool,
}

impl Present {
    pub fn new(header: Header, base: Base) -> Present {
        Present { header, base, next: None, protocol: None, covered_by: None, is_gone: false }
    }
}

/// A function while it is inlined.
pub(super) struct Inlined {
    pub name: String,
    /// The type of the result and its bits.
    pub result: (Type, u32),
    /// The words of the result, the upper half of an address of IPv6 first.
    pub words: Vec<u32>,
    /// Blocks that end in `return`.
    pub returns: Vec<BlockId>,
}

/// A declared header.
#[derive(Clone)]
pub(super) struct DeclaredHeader {
    pub name: String,
    pub fields: Vec<(String, Field)>,
    /// Bytes of the fields.
    pub bytes: u32,
    pub after: Vec<After>,
    /// Where it begins, if it follows none.
    pub at: u32,
    /// Bytes that it has, if not those of its fields.
    pub size: Option<Expr>,
    /// Fields that are not 0 in a new header, and their values.
    pub presets: Vec<(Field, u64)>,
}

/// A header that another follows.
#[derive(Clone)]
pub(super) struct After {
    pub parent: Header,
    /// The field that announces it, and its numbers.
    pub when: Option<(Field, Vec<u64>)>,
    pub place: Place,
}

/// Where a header is, seen from the header that it follows or belongs to.
#[derive(Clone)]
pub(super) enum Place {
    /// Behind it.
    Behind,
    /// An optional part, which is there if the other header announces it: this many bytes after
    /// the beginning of that.
    Part(Expr),
    /// In the options of the other header, if they reach as far: this many bytes after the
    /// beginning of that.
    Inside(Expr),
}

impl DeclaredHeader {
    /// Whether it is an optional part of another header.
    pub fn is_part(&self) -> bool {
        self.after.iter().any(|after| !matches!(after.place, Place::Behind))
    }
}

/// The facts at a point.
pub(super) struct Known {
    /// Bytes that the packet has at least.
    pub bytes: u32,
    pub present: Vec<Present>,
    pub entries: Vec<FoundEntry>,
}

/// The word of the upper half of an address of IPv6; no name of a program begins as its name does.
pub(super) fn upper(name: &str) -> String {
    format!("@{name}_high")
}
