//! The environment of evaluation: the node, its clock and random numbers, and scratch memory.

use tidemill_stdx::region::Bump;

use crate::messages::Messages;
use crate::value::Value;

/// A parameter of the node that a program runs on; bound when the node starts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Param {
    /// The node's own address.
    Node,
    /// Its number among the nodes started together, from 0.
    NodeIndex,
    /// The number of nodes started together.
    NodeCount,
    /// SHA-1 of the address.
    NodeId,
    /// The address through which to join.
    Landmark,
}

impl Param {
    /// All parameters.
    pub const ALL: [Param; 5] =
        [Param::Node, Param::NodeIndex, Param::NodeCount, Param::NodeId, Param::Landmark];

    /// The reserved name in programs.
    pub fn name(self) -> &'static str {
        match self {
            Param::Node => "NODE",
            Param::NodeIndex => "NODE_INDEX",
            Param::NodeCount => "NODE_COUNT",
            Param::NodeId => "NODE_ID",
            Param::Landmark => "LANDMARK",
        }
    }
}

/// Whether a random number falls below a probability: below 1 always, never below 0.
pub fn is_below(random: u64, probability: f64) -> bool {
    // 53 random bits as a double in [0, 1).
    ((random >> 11) as f64 / (1u64 << 53) as f64) < probability
}

/// What evaluation reads from the host and the node. All but the random numbers is fixed during a
/// turn.
pub trait Ambient {
    /// Wall clock, nanoseconds since the epoch; the same during a whole turn.
    fn now_ns(&self) -> i64;
    /// The next random number.
    fn random(&self) -> u64;
    /// True with this probability, from 0 to 1.
    fn flip(&self, probability: f64) -> bool {
        is_below(self.random(), probability)
    }
    /// A parameter of the node.
    fn param(&self, param: Param) -> Value<'_>;
    /// The message types of the program; none where no schema belongs to it.
    fn messages(&self) -> Option<&dyn Messages> {
        None
    }
    /// True once the caller requires strands to end early: what they have derived by then is
    /// discarded.
    fn is_interrupted(&self) -> bool {
        false
    }
}

/// The scope of evaluation: the turn's scratch region, and the environment.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// Temporaries of the turn.
    pub scratch: &'a Bump,
    /// Clock, random numbers and node parameters.
    pub ambient: &'a dyn Ambient,
}
