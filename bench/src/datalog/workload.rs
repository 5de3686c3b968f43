//! The workloads.

use tidemill_stdx::rng::Rng;

use super::facts::Facts;
use super::program;

/// One workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Workload {
    /// Transitive closure of a chain.
    Chain,
    /// Transitive closure of a random graph.
    Random,
    /// Same generation on a random graph.
    SameGeneration,
    /// Andersen's points-to analysis of a program ([`program`]).
    PointsTo,
}

impl Workload {
    pub const ALL: [Workload; 4] =
        [Workload::Chain, Workload::Random, Workload::SameGeneration, Workload::PointsTo];

    pub fn name(self) -> &'static str {
        match self {
            Workload::Chain => "chain",
            Workload::Random => "random",
            Workload::SameGeneration => "same-generation",
            Workload::PointsTo => "points-to",
        }
    }

    pub fn facts(self, small: bool) -> Facts {
        let scale = |large: i32, little: i32| if small { little } else { large };
        let mut random = Rng::new(42);
        match self {
            Workload::Chain => {
                let nodes = scale(2000, 60);
                let edges = (0..nodes - 1).map(|node| (node, node + 1)).collect();
                Facts { edges, ..Facts::default() }
            }
            Workload::Random => {
                let edges = pairs(&mut random, scale(1500, 60), scale(3000, 120));
                Facts { edges, ..Facts::default() }
            }
            Workload::SameGeneration => {
                let edges = pairs(&mut random, scale(1200, 50), scale(2400, 100));
                Facts { edges, ..Facts::default() }
            }
            Workload::PointsTo => program::facts(&mut random, scale(1000, 40) as u64),
        }
    }
}

/// `count` different pairs of numbers below `below`.
fn pairs(random: &mut Rng, below: i32, count: i32) -> Vec<(i32, i32)> {
    let mut seen = std::collections::BTreeSet::new();
    let mut pairs = Vec::new();
    while pairs.len() < count as usize {
        let mut next = || random.below(below as u64) as i32;
        let pair = (next(), next());
        if seen.insert(pair) {
            pairs.push(pair);
        }
    }
    pairs
}
