//! Strongly connected components of a graph.
//!
//! Two nodes are in one component if each reaches the other. Components come out with those they
//! reach before them, which is the order to freeze, stratify or free them in.
//!
//! ```
//! use tidemill_stdx::scc::{Graph, components};
//!
//! //  0 -> 1 <-> 2 -> 3
//! let graph = Graph::new(4, &[(0, 1), (1, 2), (2, 1), (2, 3)]);
//! let found = components(&graph);
//! assert_eq!(found.iter().collect::<Vec<_>>(), [&[3][..], &[1, 2], &[0]]);
//! assert_eq!(found.component_of(2), found.component_of(1));
//! ```

/// A directed graph: for each node its successors, in the order of their edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// By node: where its successors start in `targets`; one more entry for the end.
    starts: Vec<usize>,
    targets: Vec<u32>,
}

impl Graph {
    /// The graph of the nodes `0..node_count` with these edges, each `(from, to)`.
    ///
    /// # Panics
    /// If an edge names a node that does not exist.
    pub fn new(node_count: usize, edges: &[(u32, u32)]) -> Graph {
        let mut starts = vec![0; node_count + 1];
        for &(from, to) in edges {
            assert!((to as usize) < node_count, "no node {to} among {node_count}");
            starts[from as usize + 1] += 1;
        }
        for node in 0..node_count {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut targets = vec![0; edges.len()];
        for &(from, to) in edges {
            let place = &mut next[from as usize];
            targets[*place] = to;
            *place += 1;
        }
        Graph { starts, targets }
    }

    /// The number of nodes.
    pub fn node_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The successors of a node, in the order of its edges.
    #[inline]
    pub fn successors(&self, node: u32) -> &[u32] {
        &self.targets[self.starts[node as usize]..self.starts[node as usize + 1]]
    }
}

/// The components of a graph, each after all that it reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Components {
    of: Vec<u32>,
    members: Vec<u32>,
    /// By component: where its members end in `members`.
    ends: Vec<usize>,
}

impl Components {
    /// The number of components.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True for the graph without nodes.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The number of a node's component; a node reaches only components of its own number and
    /// lower ones.
    #[inline]
    pub fn component_of(&self, node: u32) -> u32 {
        self.of[node as usize]
    }

    /// The nodes of a component, ascending.
    pub fn members(&self, component: u32) -> &[u32] {
        let start = component.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.members[start..self.ends[component as usize]]
    }

    /// The nodes of each component.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &[u32]> + ExactSizeIterator {
        (0..self.ends.len()).map(|component| self.members(component as u32))
    }
}

/// Marks a node that has no number yet.
const NONE: u32 = u32::MAX;

/// Finds the components: Tarjan, "Depth-first search and linear graph algorithms", 1972, with the
/// path of the search in a vector, so that depth is bounded by memory only.
///
/// # Panics
/// At 2^32 - 1 nodes.
pub fn components(graph: &Graph) -> Components {
    let node_count = graph.node_count();
    assert!(node_count < NONE as usize, "too many nodes");
    let mut search = Search {
        graph,
        order: vec![NONE; node_count],
        lowest: vec![NONE; node_count],
        visited: 0,
        open: Vec::new(),
        path: Vec::new(),
        found: Components {
            of: vec![NONE; node_count],
            members: Vec::with_capacity(node_count),
            ends: Vec::new(),
        },
    };
    for node in 0..node_count as u32 {
        if search.order[node as usize] == NONE {
            search.run(node);
        }
    }
    search.found
}

struct Search<'a> {
    graph: &'a Graph,
    /// By node: its place in the order of visits.
    order: Vec<u32>,
    /// By node: the earliest visit known to be reachable from it within its component.
    lowest: Vec<u32>,
    visited: u32,
    /// Visited nodes whose component is not complete.
    open: Vec<u32>,
    /// Nodes being looked at and how many of their edges were followed.
    path: Vec<(u32, usize)>,
    found: Components,
}

impl Search<'_> {
    fn run(&mut self, root: u32) {
        self.enter(root);
        while let Some((node, followed)) = self.path.last_mut() {
            let node = *node;
            let Some(&next) = self.graph.successors(node).get(*followed) else {
                self.leave(node);
                continue;
            };
            *followed += 1;
            if self.order[next as usize] == NONE {
                self.enter(next);
            } else if self.found.of[next as usize] == NONE {
                self.lower(node, self.order[next as usize]);
            }
        }
    }

    fn enter(&mut self, node: u32) {
        self.order[node as usize] = self.visited;
        self.lowest[node as usize] = self.visited;
        self.visited += 1;
        self.open.push(node);
        self.path.push((node, 0));
    }

    fn leave(&mut self, node: u32) {
        self.path.pop();
        let lowest = self.lowest[node as usize];
        if let Some(&(before, _)) = self.path.last() {
            self.lower(before, lowest);
        }
        if lowest == self.order[node as usize] {
            self.close(node);
        }
    }

    fn lower(&mut self, node: u32, reached: u32) {
        let lowest = &mut self.lowest[node as usize];
        *lowest = (*lowest).min(reached);
    }

    /// `root` reaches nothing earlier: what is open since its visit is its component.
    fn close(&mut self, root: u32) {
        let found = &mut self.found;
        let start = found.members.len();
        while let Some(node) = self.open.pop() {
            found.of[node as usize] = found.ends.len() as u32;
            found.members.push(node);
            if node == root {
                break;
            }
        }
        found.members[start..].sort_unstable();
        found.ends.push(found.members.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(node_count: usize, edges: &[(u32, u32)]) -> Vec<Vec<u32>> {
        components(&Graph::new(node_count, edges)).iter().map(<[u32]>::to_vec).collect()
    }

    #[test]
    fn small_graphs() {
        assert_eq!(found(0, &[]), Vec::<Vec<u32>>::new());
        assert_eq!(found(2, &[]), [[0], [1]]);
        assert_eq!(found(1, &[(0, 0)]), [[0]]);
        assert_eq!(found(3, &[(0, 1), (1, 2), (2, 0)]), [[0, 1, 2]]);
        // A diamond: the bottom first, the top last.
        assert_eq!(found(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]), [[3], [1], [2], [0]]);
        // An edge to a closed component does not join it.
        assert_eq!(found(3, &[(0, 1), (2, 1), (2, 0)]), [[1], [0], [2]]);
    }

    #[test]
    fn a_chain_of_a_million_does_not_overflow_the_stack() {
        let n = if cfg!(miri) { 300 } else { 1_000_000u32 };
        let chain: Vec<(u32, u32)> = (0..n - 1).map(|i| (i, i + 1)).collect();
        let graph = Graph::new(n as usize, &chain);
        let all = components(&graph);
        assert_eq!(all.len(), n as usize);
        assert_eq!(all.members(0), [n - 1]);
        let mut ring = chain;
        ring.push((n - 1, 0));
        assert_eq!(components(&Graph::new(n as usize, &ring)).len(), 1);
    }

    proptest! {
        #[test]
        fn components_are_mutual_reachability_in_order(
            edges in proptest::collection::vec((0u32..12, 0u32..12), 0..30)
        ) {
            let mut reaches = [[false; 12]; 12];
            for (node, reached) in reaches.iter_mut().enumerate() {
                reached[node] = true;
            }
            for &(from, to) in &edges {
                reaches[from as usize][to as usize] = true;
            }
            for via in 0..12 {
                for from in 0..12 {
                    for to in 0..12 {
                        reaches[from][to] |= reaches[from][via] && reaches[via][to];
                    }
                }
            }
            let all = components(&Graph::new(12, &edges));
            for a in 0..12 {
                prop_assert!(all.members(all.component_of(a)).contains(&a));
                for b in 0..12 {
                    let (there, back) =
                        (reaches[a as usize][b as usize], reaches[b as usize][a as usize]);
                    prop_assert_eq!(there && back, all.component_of(a) == all.component_of(b));
                    if there {
                        prop_assert!(all.component_of(b) <= all.component_of(a));
                    }
                }
            }
        }
    }
}
