//! Kernels as text.

use std::fmt;

use tidemill_stdx::id::IdVec;

use super::{Address, Block, BlockId, End, Event, Expr, Kernel, Operator, Step, Supply, WordKind};

impl Operator {
    pub(crate) fn name(self) -> &'static str {
        let found = Operator::NAMES.iter().find(|(operator, _)| *operator == self);
        found.map_or("?", |(_, name)| name)
    }
}

/// The contents of the brackets of a place.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.base {
            None => write!(f, "[{}]", self.offset),
            Some(base) => write!(f, "[{base} + {}]", self.offset),
        }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Const(number) => write!(f, "const {number}"),
            Expr::Length => f.write_str("length"),
            Expr::WireLength => f.write_str("wire_length"),
            Expr::Now => f.write_str("now"),
            Expr::Mark => f.write_str("mark"),
            Expr::Input => f.write_str("input"),
            Expr::Word(word) => write!(f, "word {word}"),
            Expr::Linked(output) => write!(f, "linked {output}"),
            Expr::Load(width, place) => write!(f, "load{} {place}", width.bytes() * 8),
            Expr::Sum(place) => write!(f, "sum {place}"),
            Expr::Binary(operator, a, b) => write!(f, "{} {a} {b}", operator.name()),
            Expr::Find(table, key) => {
                write!(f, "find {table}")?;
                key.words().iter().try_for_each(|word| write!(f, " {word}"))
            }
            Expr::Insert(table) => write!(f, "insert {table}"),
            Expr::Entry(table) => write!(f, "entry {table}"),
            Expr::EntryKey(table, entry, word) => write!(f, "key {table} {entry} {word}"),
            Expr::Get(table, entry, value) => write!(f, "get {table} {entry} {value}"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Let(value, expr) => write!(f, "{value} = {expr}"),
            Step::SetWord(word, value) => write!(f, "set_word {word} {value}"),
            Step::SetMark(value) => write!(f, "set_mark {value}"),
            Step::Store(width, place, value) => {
                write!(f, "store{} {place} {value}", width.bytes() * 8)
            }
            Step::Need(place, reason) => write!(f, "need {place} else {reason}"),
            Step::Prepend(bytes, reason) => write!(f, "prepend {bytes} else {reason}"),
            Step::Strip(bytes) => write!(f, "strip {bytes}"),
            Step::StripTo(place) => write!(f, "strip_to {place}"),
            Step::Truncate(value) => write!(f, "truncate {value}"),
            Step::Shorten(value) => write!(f, "shorten {value}"),
            Step::Put(table, entry, at, value) => write!(f, "put {table} {entry} {at} {value}"),
            Step::Refresh(table, entry) => write!(f, "refresh {table} {entry}"),
            Step::Delete(table, entry) => write!(f, "delete {table} {entry}"),
            Step::Clone(output) => write!(f, "clone {output}"),
            Step::Draft(table, word, value) => write!(f, "draft {table} {word} {value}"),
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Jump(to) => write!(f, "jump {to}"),
            End::If(value, yes, no) => write!(f, "if {value} {yes} {no}"),
            End::Test(test, yes, no) => write!(f, "test {test} {yes} {no}"),
            End::Emit(output) => write!(f, "emit {output}"),
            End::EmitAll => f.write_str("emit_all"),
            End::Drop(reason) => write!(f, "drop {reason}"),
            End::Take => f.write_str("take"),
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "kernel {}", self.name)?;
        for (number, word) in self.words.iter().enumerate() {
            let named = WordKind::NAMES.iter().find(|(kind, _)| *kind == word.kind);
            write!(f, "  {} {number} {}", named.map_or("?", |(_, name)| name), word.name)?;
            if word.kind != WordKind::Local {
                write!(f, " = {}", word.initial)?;
            }
            writeln!(f)?;
        }
        if let Some(Supply { bytes, burst, left }) = self.supply {
            writeln!(f, "  supply {bytes} bytes {burst} burst word {left}")?;
        }
        for (number, reason) in self.reasons.iter().enumerate() {
            writeln!(f, "  reason {number} {reason}")?;
        }
        for (number, test) in self.tests.iter().enumerate() {
            writeln!(f, "  test {number} {}", test.name())?;
        }
        for (number, table) in self.tables.iter().enumerate() {
            writeln!(f, "  table {number} {table}")?;
        }
        write_blocks(f, &self.blocks)?;
        for handler in &self.handlers {
            writeln!(f, "  {}", handler.event)?;
            write_blocks(f, &handler.blocks)?;
        }
        Ok(())
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Tick(every_ns) => write!(f, "on tick {every_ns}"),
            Event::Expire(table) => write!(f, "on expire {table}"),
        }
    }
}

fn write_blocks(f: &mut fmt::Formatter<'_>, blocks: &IdVec<BlockId, Block>) -> fmt::Result {
    for (id, block) in blocks.iter_enumerated() {
        writeln!(f, "  {id}:")?;
        for step in &block.steps {
            writeln!(f, "    {step}")?;
        }
        writeln!(f, "    {}", block.end)?;
    }
    Ok(())
}
