//! The nodes that a machine runs, if several workers have one each.

use tidemill_overlog::fleet::NodeId;

/// The nodes whose number leaves the remainder `me` when it is divided by `parts`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Share {
    pub(crate) me: u32,
    pub(crate) parts: u32,
}

impl Share {
    /// All nodes.
    pub(crate) const ALL: Share = Share { me: 0, parts: 1 };

    /// The number of the part that runs a node.
    pub(crate) fn part_of(self, NodeId(node): NodeId) -> u32 {
        node % self.parts
    }

    /// Whether this part runs a node.
    pub(crate) fn has(self, node: NodeId) -> bool {
        self.part_of(node) == self.me
    }
}
