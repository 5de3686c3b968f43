//! Places for the nodes of a graph: layers from left to right (Sugiyama, Tagawa and Toda, 1981).
//!
//! 1. Edges that would close a cycle are turned round.
//! 2. A node's layer is the length of the longest path that leads to it.
//! 3. Inside a layer, nodes are sorted by the mean place of their neighbours, forth and back a
//!    few times, so that few edges cross.

use super::Graph;

/// Sweeps over the layers; more hardly change anything.
const SWEEPS: usize = 8;

/// The nodes of each layer, from top to bottom.
pub(super) fn layers(graph: &Graph) -> Vec<Vec<usize>> {
    let edges = without_cycles(graph);
    let rank = ranks(graph.nodes.len(), &edges);
    let count = rank.iter().max().map_or(0, |last| last + 1);
    let mut layers = vec![Vec::new(); count];
    for (node, &rank) in rank.iter().enumerate() {
        layers[rank].push(node);
    }
    sort_layers(&mut layers, graph.nodes.len(), &edges);
    layers
}

/// The edges, those turned round that lead back to a node on the path of a depth-first walk.
fn without_cycles(graph: &Graph) -> Vec<(usize, usize)> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        OnPath,
        Done,
    }
    let count = graph.nodes.len();
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
    for edge in &graph.edges {
        next[edge.from].push(edge.to);
    }
    let mut mark = vec![Mark::New; count];
    let mut edges = Vec::with_capacity(graph.edges.len());
    for root in 0..count {
        // Nodes on the path, each with the number of its edges that have been walked.
        let mut path = vec![(root, 0)];
        if mark[root] != Mark::New {
            continue;
        }
        mark[root] = Mark::OnPath;
        while let Some((node, walked)) = path.last_mut() {
            let from = *node;
            let Some(&to) = next[from].get(*walked) else {
                mark[from] = Mark::Done;
                path.pop();
                continue;
            };
            *walked += 1;
            match mark[to] {
                _ if from == to => {}
                Mark::OnPath => edges.push((to, from)),
                Mark::Done => edges.push((from, to)),
                Mark::New => {
                    edges.push((from, to));
                    mark[to] = Mark::OnPath;
                    path.push((to, 0));
                }
            }
        }
    }
    edges
}

/// The length of the longest path to each node; `edges` are free of cycles.
fn ranks(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut before = vec![0; count];
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
    for &(from, to) in edges {
        before[to] += 1;
        next[from].push(to);
    }
    let mut rank = vec![0; count];
    let mut free: Vec<usize> = (0..count).filter(|&node| before[node] == 0).collect();
    while let Some(node) = free.pop() {
        for &to in &next[node] {
            rank[to] = rank[to].max(rank[node] + 1);
            before[to] -= 1;
            if before[to] == 0 {
                free.push(to);
            }
        }
    }
    rank
}

fn sort_layers(layers: &mut [Vec<usize>], count: usize, edges: &[(usize, usize)]) {
    let mut neighbours: Vec<Vec<usize>> = vec![Vec::new(); count];
    for &(from, to) in edges {
        neighbours[from].push(to);
        neighbours[to].push(from);
    }
    // Relative to the layer's height, so that layers of different sizes compare.
    let mut place = vec![0.0; count];
    let settle = |layer: &[usize], place: &mut [f64]| {
        for (index, &node) in layer.iter().enumerate() {
            place[node] = (index as f64 + 0.5) / layer.len() as f64;
        }
    };
    layers.iter().for_each(|layer| settle(layer, &mut place));
    for sweep in 0..SWEEPS {
        let backward = sweep % 2 == 1;
        let order: Vec<usize> = match backward {
            false => (0..layers.len()).collect(),
            true => (0..layers.len()).rev().collect(),
        };
        for layer in order {
            let mean = |&node: &usize| {
                let all = &neighbours[node];
                match all.len() {
                    0 => place[node],
                    len => all.iter().map(|&other| place[other]).sum::<f64>() / len as f64,
                }
            };
            layers[layer].sort_by(|a, b| mean(a).total_cmp(&mean(b)).then(a.cmp(b)));
            settle(&layers[layer], &mut place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::example;
    use super::super::{Edge, EdgeKind, Node, NodeKind};
    use super::*;

    #[test]
    fn edges_lead_to_the_right_but_for_cycles() {
        let graph = example();
        let layers = layers(&graph);
        let rank = |node| layers.iter().position(|layer| layer.contains(&node));
        assert_eq!(layers.iter().map(Vec::len).sum::<usize>(), graph.nodes.len());
        assert!(rank(3) < rank(4) && rank(4) > rank(1));
        assert!(rank(5) < rank(2));
        // `peer -> r2 -> peer` is a cycle: its nodes still stand in different layers.
        assert_ne!(rank(1), rank(5));
    }

    #[test]
    fn a_long_chain_needs_no_deep_stack() {
        let count = 50_000;
        let node = Node { kind: NodeKind::Rule, name: String::new(), hidden: false };
        let edge = |from| Edge { from, to: (from + 1) % count, kind: EdgeKind::Emits };
        let graph = Graph { nodes: vec![node; count], edges: (0..count).map(edge).collect() };
        assert_eq!(layers(&graph).len(), count);
    }
}
