//! The workloads: a program, the type of its keys, and its facts.

use tidemill_stdx::rng::Rng;

use super::facts::{Facts, Keys};
use super::program;

/// The rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rules {
    /// Transitive closure.
    Closure,
    /// The same among nodes of one colour: rows of three columns.
    Closure3,
    /// The same with two colours: rows of four columns.
    Closure4,
    SameGeneration,
    /// Andersen's analysis of a program ([`program`]).
    PointsTo,
    /// The costs of shortest paths: a recursive minimum.
    Shortest,
}

impl Rules {
    /// The name for peers that are programs.
    pub fn name(self) -> &'static str {
        match self {
            Rules::Closure => "closure",
            Rules::Closure3 => "closure-3",
            Rules::Closure4 => "closure-4",
            Rules::SameGeneration => "same-generation",
            Rules::PointsTo => "points-to",
            Rules::Shortest => "shortest",
        }
    }
}

/// One workload.
#[derive(Debug)]
pub struct Workload {
    pub name: &'static str,
    pub rules: Rules,
    pub keys: Keys,
    /// Called with a function that selects the large or the small of two sizes.
    make: fn(&dyn Fn(u32, u32) -> u32) -> Facts,
}

impl Workload {
    pub const ALL: [Workload; 9] = [
        Workload { name: "chain", rules: Rules::Closure, keys: Keys::Near, make: chain },
        Workload { name: "random", rules: Rules::Closure, keys: Keys::Near, make: random },
        Workload { name: "sparse", rules: Rules::Closure, keys: Keys::Far, make: random },
        Workload { name: "text", rules: Rules::Closure, keys: Keys::Text, make: random },
        Workload { name: "arity-3", rules: Rules::Closure3, keys: Keys::Near, make: coloured },
        Workload {
            name: "arity-4",
            rules: Rules::Closure4,
            keys: Keys::Near,
            make: coloured_twice,
        },
        Workload {
            name: "same-generation",
            rules: Rules::SameGeneration,
            keys: Keys::Near,
            make: |size| edges(size(1200, 50), size(2400, 100)),
        },
        Workload { name: "points-to", rules: Rules::PointsTo, keys: Keys::Near, make: statements },
        Workload { name: "shortest", rules: Rules::Shortest, keys: Keys::Near, make: arcs },
    ];

    pub fn facts(&self, small: bool) -> Facts {
        (self.make)(&|large, little| if small { little } else { large })
    }

    pub fn random() -> &'static Workload {
        &Workload::ALL[1]
    }
}

fn chain(size: &dyn Fn(u32, u32) -> u32) -> Facts {
    let nodes = size(2000, 60) as i32;
    Facts::default().with("edge", (0..nodes - 1).map(|node| [node, node + 1]))
}

fn random(size: &dyn Fn(u32, u32) -> u32) -> Facts {
    edges(size(1500, 60), size(3000, 120))
}

fn edges(nodes: u32, count: u32) -> Facts {
    Facts::default().with("edge", pairs(&mut Rng::new(42), nodes, count))
}

/// Graphs of five colours.
fn coloured(size: &dyn Fn(u32, u32) -> u32) -> Facts {
    let (nodes, count) = (size(500, 20), size(1000, 40));
    let mut random = Rng::new(42);
    let of =
        |colour| pairs(&mut random, nodes, count).into_iter().map(move |[a, b]| [colour, a, b]);
    Facts::default().with("edge", (0..5).flat_map(of).collect::<Vec<_>>())
}

fn coloured_twice(size: &dyn Fn(u32, u32) -> u32) -> Facts {
    let facts = coloured(size);
    let rows = facts.iter().flat_map(|edges| edges.cells.chunks_exact(3));
    let rows = rows.map(|row| [row[0] % 2, row[0] / 2, row[1], row[2]]);
    Facts::default().with("edge", rows.collect::<Vec<_>>())
}

fn statements(size: &dyn Fn(u32, u32) -> u32) -> Facts {
    program::facts(&mut Rng::new(42), u64::from(size(1000, 40)))
}

/// Edges between all nodes, with costs up to 100.
fn arcs(size: &dyn Fn(u32, u32) -> u32) -> Facts {
    let mut random = Rng::new(42);
    let ends = pairs(&mut random, size(300, 20), size(900, 60));
    let mut arc = |[a, b]: [i32; 2]| [a, b, 1 + random.below(100) as i32];
    Facts::default().with("arc", ends.into_iter().map(&mut arc).collect::<Vec<_>>())
}

/// `count` distinct pairs of numbers below `below`.
pub fn pairs(random: &mut Rng, below: u32, count: u32) -> Vec<[i32; 2]> {
    let mut seen = std::collections::BTreeSet::new();
    let mut pairs = Vec::new();
    while pairs.len() < count as usize {
        let mut next = || random.below(u64::from(below)) as i32;
        let pair = [next(), next()];
        if seen.insert(pair) {
            pairs.push(pair);
        }
    }
    pairs
}
