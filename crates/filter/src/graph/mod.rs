//! The decision graph of a filter: its form between the tree and the machine.
//!
//! *Values* are numbers of 32 bits without sign, without effect and without place: equal loads are
//! one value. *Nodes* have an order: a node makes its *checks*, each of which rejects the packet if
//! it fails, then branches on its *test*, ending in `accept` or `reject`. Edges lead to later nodes
//! only, so every filter ends.
//!
//! ```text
//!   v0: u16 = load2 [12]               two bytes, most significant first
//!   v1: u8 = load1 [14]
//!   v2: u8 = and v1 15
//!   v3: u32 = shl v2 2
//!   v4: u16 = load2 [v3 + 16]          a load whose place depends on a value
//!   n0: bound 14; if v0 eq 2048 then n1 else reject
//!   n1: bound 34, bound v3 + 18; if v4 eq 80 then accept else reject
//!   begin n0
//! ```
//!
//! Checks: `bound 34` (the packet has 34 bytes), `bound v3 + 18` (it has that many, without
//! wrapping), `divisor v5` (not zero), `walk v6` (the walk along extension headers stays inside).
//! Tests: `eq`, `gt`, `ge`, `set` (have a bit in common).
//!
//! [`verify`](Graph::verify) holds before code is made: along every way, what a load touches and
//! what an operation needs was checked before. The text form reads as it prints.

mod facts;
mod print;
mod read;
mod value;
mod verify;

pub(crate) use facts::{Coverage, Decided, Facts};
pub use value::{Family, Range, Value, ValueId, Values, Width};

use tidemill_stdx::id::IdVec;

tidemill_stdx::id_type! {
    /// A node of a graph.
    pub struct NodeId, "n";
}

/// Where a way leads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Target {
    /// The filter matches.
    Accept,
    /// It does not.
    Reject,
    /// Not decided yet.
    Node(NodeId),
}

impl Target {
    /// The node, if it leads to one.
    pub fn node(self) -> Option<NodeId> {
        match self {
            Target::Node(id) => Some(id),
            Target::Accept | Target::Reject => None,
        }
    }
}

/// A condition; if it does not hold, the packet is rejected.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Check {
    /// The packet has this many bytes, from `base` on if there is one.
    Bound {
        /// From where the bytes count.
        base: Option<ValueId>,
        /// The least number of bytes.
        end: u32,
    },
    /// The value is not zero.
    Divisor(ValueId),
    /// The walk ends within the packet.
    Walk(ValueId),
}

/// How two values are compared, without sign.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Comparison {
    /// They are equal.
    Equal,
    /// The first is greater.
    Greater,
    /// The first is not less.
    GreaterOrEqual,
    /// They have a bit in common.
    Set,
}

impl Comparison {
    const NAMES: [(Comparison, &'static str); 4] = [
        (Comparison::Equal, "eq"),
        (Comparison::Greater, "gt"),
        (Comparison::GreaterOrEqual, "ge"),
        (Comparison::Set, "set"),
    ];

    /// Whether it holds.
    pub fn holds(self, left: u32, right: u32) -> bool {
        match self {
            Comparison::Equal => left == right,
            Comparison::Greater => left > right,
            Comparison::GreaterOrEqual => left >= right,
            Comparison::Set => left & right != 0,
        }
    }
}

/// A comparison of two values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Test {
    /// How.
    pub comparison: Comparison,
    /// The first.
    pub left: ValueId,
    /// The second.
    pub right: ValueId,
}

/// One decision.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Node {
    /// The checks before the test: bounds of the packet first, then those that depend on values.
    pub checks: Vec<Check>,
    /// What decides.
    pub test: Test,
    /// The way on if the test holds.
    pub yes: Target,
    /// The way on if not.
    pub no: Target,
}

impl Node {
    /// Both ways on.
    pub fn targets(&self) -> [Target; 2] {
        [self.yes, self.no]
    }
}

/// A filter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Graph {
    /// All values; operands precede their users.
    pub values: Values,
    /// All nodes; ways lead to later ones.
    pub nodes: IdVec<NodeId, Node>,
    /// Where it begins.
    pub begin: Target,
}

impl Graph {
    /// Whether anything of it depends on how long a packet was on the wire.
    pub fn needs_wire_length(&self) -> bool {
        self.values.iter().any(|(_, value)| value == Value::Length)
    }

    /// Whether anything of it depends on the direction of a packet.
    pub fn needs_direction(&self) -> bool {
        self.values.iter().any(|(_, value)| value == Value::Outgoing)
    }

    /// The nodes that can be reached, in order.
    pub fn reached(&self) -> Vec<NodeId> {
        let mut reached = vec![false; self.nodes.len()];
        let mut mark = |target: Target| {
            if let Target::Node(node) = target
                && let Some(flag) = reached.get_mut(node.raw() as usize)
            {
                *flag = true;
            }
        };
        mark(self.begin);
        for (id, node) in self.nodes.iter_enumerated() {
            if reached[id.raw() as usize] {
                for target in node.targets() {
                    if let Target::Node(next) = target
                        && let Some(flag) = reached.get_mut(next.raw() as usize)
                    {
                        *flag = true;
                    }
                }
            }
        }
        self.nodes.ids().filter(|id| reached[id.raw() as usize]).collect()
    }
}
