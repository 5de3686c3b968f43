//! What the names of a program stand for, and what is known at a point of it.

use super::ast::MeterUnit;
use crate::kernel::Value;
use crate::kernel::table::spec::{KeyPlace, TableSpec};

/// The type of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Type {
    Number,
    Bool,
}

impl Type {
    pub fn name(self) -> &'static str {
        match self {
            Type::Number => "a number",
            Type::Bool => "a truth value",
        }
    }
}

/// What a name stands for.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    Value(Value, Type),
    /// A word and whether programs may set it.
    Word(u32, Type, bool),
    Counter(u32),
    Table(u32),
    Meter(usize),
}

/// A meter as it is declared.
#[derive(Clone, Copy)]
pub(super) struct DeclaredMeter {
    pub unit: MeterUnit,
    /// How many a second, and at once.
    pub rate: Amount,
    pub burst: Amount,
    /// The words of what may pass, times 10^9, and of the time up to which that is counted.
    pub tokens: u32,
    pub filled_ns: u32,
}

/// How many.
#[derive(Clone, Copy)]
pub(super) enum Amount {
    Number(u64),
    Word(u32),
}

/// A table as it is declared.
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

/// What was known at a point.
pub(super) struct Known {
    pub present: usize,
    pub entries: Vec<FoundEntry>,
}
