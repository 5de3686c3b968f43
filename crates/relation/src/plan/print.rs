//! The text form of a plan, which [`super::parse`] reads back.
//!
//! ```text
//! relation p0 "edge" at 0 (string, int64, int64)
//!   table key(0, 1, 2) index(1)
//! rule r0 "reach" at "tc.olg:3:1"
//! strand r0 on event p0 (v0, _, =(+ v1 1)) regs 3
//!   join p1 index 0 [v0, v1] atom 1 (_, _, v2)
//!   filter (< v1 v2)
//!   emit p2 (v0, v2)
//! stratum heads(p1) selected()
//!   view r1 maintained p1 from p0, not p2
//!     scan ...
//! ```
//! The bounds of an ordered look-up follow its key, `_` is the column:
//! `join p1 ordered 0 [] where [(>= _ v1), (< (+ _ 5) v2), (in [) _ v0 v1)] atom 1 (v3)`.
//! Expressions are written with the operator first: `(+ v0 1)`, `(f_sha1 v0)`, `(in (] v0 1 5)`.

use std::fmt::{self, Display, Formatter};

use super::{
    Action, Atom, Bind, Bound, HeadColumn, Lookup, On, Output, Pattern, Plan, Relation, Step,
    Storage, Strand, Stratum, ViewKind, ViewRule,
};
use crate::expr::{End, Expr};
use crate::table::{Access, Key};
use crate::value::Value;

/// The text form of `plan`.
pub fn print(plan: &Plan) -> String {
    plan.to_string()
}

/// Writes `items` with commas between.
struct List<'a, T>(&'a [T]);

impl<T: Display> Display for List<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, item) in self.0.iter().enumerate() {
            write!(f, "{}{item}", if i > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, relation) in self.relations.iter().enumerate() {
            write!(f, "relation p{index} {relation}")?;
        }
        for (index, rule) in self.rules.iter().enumerate() {
            let (name, place) = (Value::Str(&rule.name), Value::Str(&rule.place));
            writeln!(f, "rule r{index} {name} at {place}")?;
        }
        for strand in &self.strands {
            print_strand(f, "strand", "", strand)?;
        }
        self.strata.iter().try_for_each(|stratum| write!(f, "{stratum}"))
    }
}

impl Display for Relation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let columns = List(&self.columns);
        writeln!(f, "{} at {} ({columns})", Value::Str(&self.name), self.location)?;
        if let Storage::Table { spec, soft } = &self.storage {
            match &spec.key {
                Key::Columns(columns) => write!(f, "  table key({})", List(columns))?,
                Key::Bag => f.write_str("  table bag")?,
            }
            if let Some(lifetime) = spec.lifetime_ns {
                write!(f, " lifetime {lifetime}")?;
            }
            if let Some(size) = spec.size_max {
                write!(f, " size {size}")?;
            }
            for index in &spec.indexes {
                write!(f, " index({})", List(index))?;
            }
            for columns in &spec.ordered {
                write!(f, " ordered({})", List(columns))?;
            }
            f.write_str(if *soft { " soft\n" } else { "\n" })?;
        }
        if self.hidden {
            f.write_str("  hidden\n")?;
        }
        if let Some(candidates) = self.candidates {
            writeln!(f, "  candidates {candidates}")?;
        }
        Ok(())
    }
}

impl Display for Stratum {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (heads, selected) = (List(&self.heads), List(&self.selected));
        writeln!(f, "stratum heads({heads}) selected({selected})")?;
        self.rules.iter().try_for_each(|rule| write!(f, "{rule}"))
    }
}

impl Display for ViewRule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            ViewKind::Maintained => "maintained",
            ViewKind::Plain => "plain",
            ViewKind::Grouped => "grouped",
        };
        let body = List(&self.body);
        writeln!(f, "  view r{} {kind} {} from {body}", self.rule.0, self.head)?;
        print_strand(f, "scan", "    ", &self.scan)?;
        for delta in &self.deltas {
            print_strand(f, "delta", "    ", delta)?;
        }
        match &self.check {
            Some(check) => print_strand(f, "check", "    ", check),
            None => Ok(()),
        }
    }
}

impl Display for Atom {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.negated { "not " } else { "" }, self.relation)
    }
}

fn print_strand(f: &mut Formatter<'_>, word: &str, indent: &str, strand: &Strand) -> fmt::Result {
    let trigger = &strand.trigger;
    write!(f, "{indent}{word} r{} on ", strand.rule.0)?;
    match &trigger.on {
        On::Event => f.write_str("event")?,
        On::Change => f.write_str("change")?,
        On::Periodic { period, count: None } => write!(f, "periodic {period}")?,
        On::Periodic { period, count: Some(count) } => write!(f, "periodic {period} {count}")?,
        On::Delta => f.write_str("delta")?,
        On::Head => f.write_str("head")?,
        On::Scan => f.write_str("scan")?,
    }
    let (relation, columns) = (trigger.relation, List(&trigger.columns));
    writeln!(f, " {relation} ({columns}) regs {}", strand.regs)?;
    for step in &strand.steps {
        writeln!(f, "{indent}  {step}")?;
    }
    writeln!(f, "{indent}  {}", strand.output)
}

impl Display for Bind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Bind::Ignore => f.write_str("_"),
            Bind::Reg(reg) => write!(f, "{reg}"),
            Bind::Equal(expr) => write!(f, "={expr}"),
        }
    }
}

impl Display for Step {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Step::Join(lookup) => write!(f, "join {lookup}"),
            Step::Exists(lookup) => write!(f, "exists {lookup}"),
            Step::Absent(lookup) => write!(f, "absent {lookup}"),
            Step::Let(reg, expr) => write!(f, "let {reg} {expr}"),
            Step::Match(reg, pattern) => write!(f, "match {reg} {pattern}"),
            Step::Filter(condition) => write!(f, "filter {condition}"),
        }
    }
}

impl Display for Lookup {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.relation)?;
        match self.access {
            Access::Scan => f.write_str("scan")?,
            Access::Primary => f.write_str("primary")?,
            Access::Index(number) => write!(f, "index {number}")?,
            Access::Ordered(number) => write!(f, "ordered {number}")?,
        }
        write!(f, " [{}]", List(&self.key))?;
        if !self.bounds.is_empty() {
            write!(f, " where [{}]", List(&self.bounds))?;
        }
        write!(f, " atom {} ({})", self.atom, List(&self.columns))
    }
}

impl Display for Bound {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Compare { operator, added: None, value } => {
                write!(f, "({} _ {value})", operator.symbol())
            }
            Bound::Compare { operator, added: Some(added), value } => {
                write!(f, "({} (+ _ {added}) {value})", operator.symbol())
            }
            Bound::Within { from, to, low, high } => {
                write!(f, "(in {}{} _ {from} {to})", low_end(*low), high_end(*high))
            }
        }
    }
}

fn low_end(end: End) -> char {
    if end == End::Closed { '[' } else { '(' }
}

fn high_end(end: End) -> char {
    if end == End::Closed { ']' } else { ')' }
}

impl Display for Pattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Any => f.write_str("_"),
            Pattern::Reg(reg) => write!(f, "{reg}"),
            Pattern::Equal(expr) => write!(f, "={expr}"),
            Pattern::List { elements, tail: None } => write!(f, "[{}]", List(elements)),
            Pattern::List { elements, tail: Some(tail) } => {
                write!(f, "[{} | {tail}]", List(elements))
            }
        }
    }
}

impl Display for Output {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let action = match self.action {
            Action::Emit => "emit",
            Action::Insert => "insert",
            Action::Delete => "delete",
        };
        write!(f, "{action} {} ({})", self.relation, List(&self.columns))?;
        if let Some(location) = self.location {
            write!(f, " at {location}")?;
        }
        if self.aggregates() {
            write!(f, " group {}", self.group_at)?;
        }
        Ok(())
    }
}

impl Display for HeadColumn {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            HeadColumn::Value(expr) => write!(f, "{expr}"),
            HeadColumn::Aggregate { function, input: Some(input) } => {
                write!(f, "{}<{input}>", function.name())
            }
            HeadColumn::Aggregate { function, input: None } => write!(f, "{}<*>", function.name()),
        }
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Const(value) => print_constant(f, value),
            Expr::Reg(reg) => write!(f, "{reg}"),
            Expr::Param(param) => f.write_str(param.name()),
            Expr::Unary(operator, operand) => write!(f, "({} {operand})", operator.symbol()),
            Expr::Binary(operator, operands) => {
                write!(f, "({} {} {})", operator.symbol(), operands[0], operands[1])
            }
            Expr::And(operands) => write!(f, "(&& {} {})", operands[0], operands[1]),
            Expr::Or(operands) => write!(f, "(|| {} {})", operands[0], operands[1]),
            Expr::In { operands, low, high } => {
                let [value, from, to] = &**operands;
                write!(f, "(in {}{} {value} {from} {to})", low_end(*low), high_end(*high))
            }
            Expr::If(branches) => {
                write!(f, "(? {} {} {})", branches[0], branches[1], branches[2])
            }
            Expr::Call(function, operands) => {
                write!(f, "(f_{}", function.name())?;
                operands.iter().try_for_each(|operand| write!(f, " {operand}"))?;
                f.write_str(")")
            }
            Expr::List(elements) => write!(f, "(list {})", List(elements)),
            Expr::Matrix(rows) => {
                f.write_str("(matrix")?;
                rows.iter().try_for_each(|row| write!(f, " [{}]", List(row)))?;
                f.write_str(")")
            }
        }
    }
}

/// A vector looks like a list in text, so it is marked.
fn print_constant(f: &mut Formatter<'_>, value: &crate::flat::OwnedValue) -> fmt::Result {
    match value.get() {
        value @ Value::Vector(_) => write!(f, "vector {value}"),
        value => write!(f, "{value}"),
    }
}
