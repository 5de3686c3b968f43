//! Which nodes lie on every way to which.

use tidemill_stdx::id::IdVec;

use crate::graph::{Graph, NodeId, Target};

/// The dominator tree of a graph as intervals: a node's is inside that of each node above.
pub(super) struct Dominance {
    intervals: IdVec<NodeId, (u32, u32)>,
}

impl Dominance {
    pub fn of(graph: &Graph) -> Dominance {
        let count = graph.nodes.len();
        // The node above and the depth; ways lead to later nodes, so one pass is enough.
        let mut above: Vec<Option<usize>> = vec![None; count];
        let mut depth = vec![0u32; count];
        let mut seen = vec![false; count];
        if let Target::Node(begin) = graph.begin {
            seen[begin.raw() as usize] = true;
        }
        for (id, node) in graph.nodes.iter_enumerated() {
            let from = id.raw() as usize;
            if !seen[from] {
                continue;
            }
            depth[from] = above[from].map_or(0, |up| depth[up] + 1);
            for target in node.targets() {
                let Target::Node(to) = target else { continue };
                let to = to.raw() as usize;
                above[to] =
                    if seen[to] { common(above[to], from, &above, &depth) } else { Some(from) };
                seen[to] = true;
            }
        }
        let mut children = vec![Vec::new(); count];
        for (node, up) in above.iter().enumerate() {
            if let Some(up) = *up {
                children[up].push(node);
            }
        }
        Dominance { intervals: intervals(&above, &children) }
    }

    /// True if every way to `lower` goes through `upper`.
    pub fn holds(&self, upper: NodeId, lower: NodeId) -> bool {
        let ((start, end), (inner, _)) = (self.intervals[upper], self.intervals[lower]);
        (start..end).contains(&inner)
    }
}

/// The lowest node above both, whose ancestors are final: the intersection of K. D. Cooper, T. J.
/// Harvey and K. Kennedy (*A Simple, Fast Dominance Algorithm*, 2001), by depth.
fn common(a: Option<usize>, b: usize, above: &[Option<usize>], depth: &[u32]) -> Option<usize> {
    let (mut a, mut b) = (a?, b);
    while a != b {
        if depth[a] < depth[b] {
            b = above[b]?;
        } else {
            a = above[a]?;
        }
    }
    Some(a)
}

fn intervals(above: &[Option<usize>], children: &[Vec<usize>]) -> IdVec<NodeId, (u32, u32)> {
    let mut starts = vec![0u32; above.len()];
    let mut ends = vec![0u32; above.len()];
    let mut clock = 0;
    for root in (0..above.len()).filter(|&node| above[node].is_none()) {
        let mut path = vec![(root, 0)];
        starts[root] = clock;
        clock += 1;
        while let Some((node, next)) = path.last_mut() {
            match children[*node].get(*next) {
                Some(&child) => {
                    *next += 1;
                    starts[child] = clock;
                    clock += 1;
                    path.push((child, 0));
                }
                None => {
                    ends[*node] = clock;
                    path.pop();
                }
            }
        }
    }
    starts.into_iter().zip(ends).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_is_below_the_fork_only() {
        let text = "v0: u32 = length\n\
            n0: if v0 gt 1 then n1 else n2\n\
            n1: if v0 gt 2 then n3 else reject\n\
            n2: if v0 gt 3 then n3 else reject\n\
            n3: if v0 gt 4 then accept else n4\n\
            n4: if v0 gt 5 then accept else reject\nbegin n0\n";
        let dominance = Dominance::of(&Graph::read(text).expect("reads"));
        let holds = |a, b| dominance.holds(NodeId::new(a), NodeId::new(b));
        assert!(holds(0, 1) && holds(0, 3) && holds(0, 4) && holds(3, 4) && holds(2, 2));
        assert!(!holds(1, 3) && !holds(2, 3) && !holds(3, 0) && !holds(1, 2));
    }
}
