//! The text form of graphs.

use std::fmt::{self, Display, Formatter};

use tidemill_stdx::id::IdVec;

use super::{Check, Comparison, Family, Graph, Node, NodeId, Target, Value, ValueId, Width};
use crate::ast::Operator;

pub(super) const OPERATORS: [(Operator, &str); 10] = [
    (Operator::Add, "add"),
    (Operator::Subtract, "sub"),
    (Operator::Multiply, "mul"),
    (Operator::Divide, "div"),
    (Operator::Remainder, "rem"),
    (Operator::And, "and"),
    (Operator::Or, "or"),
    (Operator::Xor, "xor"),
    (Operator::ShiftLeft, "shl"),
    (Operator::ShiftRight, "shr"),
];

/// Prints values by their names: constants have none, the others are counted.
struct Printer<'g> {
    graph: &'g Graph,
    names: IdVec<ValueId, ValueId>,
}

/// A value where it is used: its name, or the number of a constant.
struct Used<'g>(&'g Printer<'g>, ValueId);

impl Display for Used<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0.graph.values.as_constant(self.1) {
            Some(number) => number.fmt(f),
            None => self.0.names[self.1].fmt(f),
        }
    }
}

impl Display for Target {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Target::Accept => f.write_str("accept"),
            Target::Reject => f.write_str("reject"),
            Target::Node(id) => id.fmt(f),
        }
    }
}

impl Display for Graph {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let printer = Printer::new(self);
        for (id, value) in self.values.iter() {
            if !matches!(value, Value::Constant(_)) {
                let range = self.values.range(id).type_name();
                write!(f, "{}: {range} = ", Used(&printer, id))?;
                printer.value(f, value)?;
                writeln!(f)?;
            }
        }
        for (id, node) in self.nodes.iter_enumerated() {
            write!(f, "{id}: ")?;
            printer.node(f, node)?;
            writeln!(f)?;
        }
        writeln!(f, "begin {}", self.begin)
    }
}

impl Graph {
    /// What a node checks and tests, and where it leads.
    pub(super) fn node_text(&self, id: NodeId) -> String {
        let printer = Printer::new(self);
        fmt::from_fn(|f| printer.node(f, &self.nodes[id])).to_string()
    }
}

impl Printer<'_> {
    fn new(graph: &Graph) -> Printer<'_> {
        let mut count = 0;
        let mut names = IdVec::new();
        for (_, value) in graph.values.iter() {
            names.push(ValueId::new(count));
            count += u32::from(!matches!(value, Value::Constant(_)));
        }
        Printer { graph, names }
    }

    fn node(&self, f: &mut Formatter<'_>, node: &Node) -> fmt::Result {
        for (i, check) in node.checks.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { ", " })?;
            self.check(f, *check)?;
        }
        let name = Comparison::NAMES.iter().find(|(known, _)| *known == node.test.comparison);
        write!(
            f,
            "{}if {} {} {} then {} else {}",
            if node.checks.is_empty() { "" } else { "; " },
            Used(self, node.test.left),
            name.map_or("", |(_, name)| name),
            Used(self, node.test.right),
            node.yes,
            node.no,
        )
    }

    fn value(&self, f: &mut Formatter<'_>, value: Value) -> fmt::Result {
        let used = |id| Used(self, id);
        match value {
            Value::Constant(number) => number.fmt(f),
            Value::Length => f.write_str("length"),
            Value::Outgoing => f.write_str("outgoing"),
            Value::Load { width, base, offset } => {
                let bytes = width.bytes();
                match base {
                    Some(base) => write!(f, "load{bytes} [{} + {offset}]", used(base)),
                    None => write!(f, "load{bytes} [{offset}]"),
                }
            }
            Value::Binary(operator, left, right) => {
                let name = OPERATORS.iter().find(|(known, _)| *known == operator);
                let name = name.map_or("", |(_, name)| name);
                write!(f, "{name} {} {}", used(left), used(right))
            }
            Value::Walk { family, start, until } => {
                let family = if family == Family::Four { 4 } else { 6 };
                write!(f, "walk{family} [{start}] until {until}")
            }
        }
    }

    fn check(&self, f: &mut Formatter<'_>, check: Check) -> fmt::Result {
        match check {
            Check::Bound { base: None, end } => write!(f, "bound {end}"),
            Check::Bound { base: Some(base), end } => {
                write!(f, "bound {} + {end}", Used(self, base))
            }
            Check::Divisor(value) => write!(f, "divisor {}", Used(self, value)),
            Check::Walk(value) => write!(f, "walk {}", Used(self, value)),
        }
    }
}

/// The width in a name like `load2`.
pub(super) fn width(name: &str) -> Option<Width> {
    Width::of(name.strip_prefix("load")?.parse().ok()?)
}
