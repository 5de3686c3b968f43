//! The layout of a graph: layers from top to bottom (Sugiyama, Tagawa and Toda, 1981).
//!
//! 1. Edges that close a cycle are reversed.
//! 2. A node's layer is the length of the longest path to it.
//! 3. An edge that spans layers gets a bend in each layer between, and goes round the nodes there.
//! 4. Inside a layer, nodes and bends are sorted by the mean position of their neighbours, in a few
//!    alternating sweeps, which reduces crossings.
//! 5. Each is moved towards the middle of its neighbours, as far as its own layer has room.

use super::model::Graph;
use tidemill_stdx::sort;

/// Sweeps over the layers; more hardly change anything.
const SWEEPS: usize = 12;
/// The maximum number of bends; a graph with more is unreadable anyway, and its long edges are
/// drawn straight.
const BENDS_MAX: usize = 20_000;

/// Positions of nodes and bends.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// The layer of each node, and its centre in that layer.
    pub(super) nodes: Vec<(usize, f64)>,
    /// The bends of each edge, from its beginning to its end: layer and position.
    pub(super) bends: Vec<Vec<(usize, f64)>>,
    /// The number of layers.
    pub(super) layers: usize,
    /// The rightmost end.
    pub(super) width: f64,
}

/// An edge directed downwards.
#[derive(Clone, Copy, Default)]
struct Arc {
    from: usize,
    to: usize,
    turned: bool,
}

/// The items of layers: nodes, then bends.
struct Things {
    layers: Vec<Vec<usize>>,
    rank: Vec<usize>,
    width: Vec<f64>,
    neighbours: Vec<Vec<usize>>,
}

/// Positions nodes, `width` wide including the gap, and bends, `bend` wide.
pub(super) fn layout(graph: &Graph, width: impl Fn(usize) -> f64, bend: f64) -> Layout {
    let arcs = without_cycles(graph);
    let rank = ranks(graph.nodes.len(), &arcs);
    let widths = (0..graph.nodes.len()).map(width).collect();
    let count = rank.iter().max().map_or(0, |last| last + 1);
    let neighbours = vec![Vec::new(); rank.len()];
    let mut things = Things { layers: vec![Vec::new(); count], rank, width: widths, neighbours };
    let bends = things.bend(&arcs, bend);
    for thing in 0..things.rank.len() {
        things.layers[things.rank[thing]].push(thing);
    }
    things.sort();
    let places = things.places();
    let place = |&thing: &usize| (things.rank[thing], places[thing]);
    let ends = places.iter().zip(&things.width).map(|(place, width)| place + width / 2.0);
    Layout {
        nodes: (0..graph.nodes.len()).map(|node| place(&node)).collect(),
        bends: bends.iter().map(|bends| bends.iter().map(place).collect()).collect(),
        layers: things.layers.len(),
        width: ends.fold(0.0, f64::max),
    }
}

/// The edges, reversed if they lead back to a node on the path of a depth-first walk; an edge from
/// a node to itself stays.
fn without_cycles(graph: &Graph) -> Vec<Arc> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        OnPath,
        Done,
    }
    let count = graph.nodes.len();
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (number, edge) in graph.edges.iter().enumerate() {
        next[edge.from].push(number);
    }
    let mut mark = vec![Mark::New; count];
    let mut arcs = vec![Arc::default(); graph.edges.len()];
    for root in 0..count {
        // Nodes on the path, each with the number of its edges that have been walked.
        let mut path = vec![(root, 0)];
        if mark[root] != Mark::New {
            continue;
        }
        mark[root] = Mark::OnPath;
        while let Some((node, walked)) = path.last_mut() {
            let from = *node;
            let Some(&number) = next[from].get(*walked) else {
                mark[from] = Mark::Done;
                path.pop();
                continue;
            };
            *walked += 1;
            let to = graph.edges[number].to;
            arcs[number] = Arc { from, to, turned: false };
            match mark[to] {
                Mark::OnPath => arcs[number] = Arc { from: to, to: from, turned: true },
                Mark::Done => {}
                Mark::New => {
                    mark[to] = Mark::OnPath;
                    path.push((to, 0));
                }
            }
        }
    }
    arcs
}

/// The length of the longest path to each node; `arcs` are free of cycles.
fn ranks(count: usize, arcs: &[Arc]) -> Vec<usize> {
    let mut before = vec![0; count];
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
    for &Arc { from, to, .. } in arcs.iter().filter(|arc| arc.from != arc.to) {
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

impl Things {
    /// Puts bends into long edges; returns those of each.
    fn bend(&mut self, arcs: &[Arc], width: f64) -> Vec<Vec<usize>> {
        let span = |arc: &Arc| self.rank[arc.to].saturating_sub(self.rank[arc.from] + 1);
        let straight = arcs.iter().map(span).sum::<usize>() > BENDS_MAX;
        let mut all = Vec::with_capacity(arcs.len());
        for arc in arcs {
            let mut bends = Vec::new();
            let mut last = arc.from;
            let between = self.rank[arc.from] + 1..self.rank[arc.to];
            for rank in between.filter(|_| !straight) {
                let bend = self.rank.len();
                self.rank.push(rank);
                self.width.push(width);
                self.neighbours.push(Vec::new());
                self.join(last, bend);
                bends.push(bend);
                last = bend;
            }
            if arc.from != arc.to {
                self.join(last, arc.to);
            }
            if arc.turned {
                bends.reverse();
            }
            all.push(bends);
        }
        all
    }

    fn join(&mut self, one: usize, other: usize) {
        self.neighbours[one].push(other);
        self.neighbours[other].push(one);
    }

    /// Sorts each layer by the neighbours in the layers above, then below, and so on.
    fn sort(&mut self) {
        // Relative to the layer's width, so that layers of different sizes compare.
        let mut place = vec![0.0; self.rank.len()];
        let settle = |layer: &[usize], place: &mut [f64]| {
            for (index, &thing) in layer.iter().enumerate() {
                place[thing] = (index as f64 + 0.5) / layer.len() as f64;
            }
        };
        self.layers.iter().for_each(|layer| settle(layer, &mut place));
        for sweep in 0..SWEEPS {
            for layer in order(self.layers.len(), sweep) {
                let mut things = std::mem::take(&mut self.layers[layer]);
                let mean = |&thing: &usize| self.mean(thing, &place, sweep).unwrap_or(place[thing]);
                sort::by(&mut things, |a, b| mean(a).total_cmp(&mean(b)).then(a.cmp(b)));
                settle(&things, &mut place);
                self.layers[layer] = things;
            }
        }
    }

    /// The mean position of an item's neighbours: alternately above and below, in the end on both
    /// sides.
    fn mean(&self, thing: usize, place: &[f64], sweep: usize) -> Option<f64> {
        let wanted = |other: &&usize| match sweep {
            _ if sweep + 2 >= SWEEPS => true,
            _ if sweep.is_multiple_of(2) => self.rank[**other] < self.rank[thing],
            _ => self.rank[**other] > self.rank[thing],
        };
        let (mut sum, mut count) = (0.0, 0);
        for &other in self.neighbours[thing].iter().filter(wanted) {
            sum += place[other];
            count += 1;
        }
        (count > 0).then(|| sum / f64::from(count))
    }

    /// The centre of each item, from 0.
    fn places(&self) -> Vec<f64> {
        let mut place = vec![0.0; self.rank.len()];
        for layer in &self.layers {
            self.pack(layer, &mut place, |place| place);
        }
        for sweep in 0..SWEEPS {
            for layer in order(self.layers.len(), sweep) {
                let wanted: Vec<f64> = (self.layers[layer].iter())
                    .map(|&thing| self.mean(thing, &place, sweep).unwrap_or(place[thing]))
                    .collect();
                let mut wanted = wanted.into_iter();
                self.pack(&self.layers[layer], &mut place, |place| wanted.next().unwrap_or(place));
            }
        }
        let start = |(place, width): (&f64, &f64)| place - width / 2.0;
        let least = place.iter().zip(&self.width).map(start).fold(f64::INFINITY, f64::min);
        place.iter().map(|place| place - least).collect()
    }

    /// Moves the items of a layer as close as possible to their desired positions, without changing
    /// their order or overlapping: minimises the squared distances by merging adjacent items into
    /// blocks (isotonic regression).
    fn pack(&self, layer: &[usize], place: &mut [f64], mut wanted: impl FnMut(f64) -> f64) {
        // Blocks: the sum of the layer starts that their items want, and their number.
        let mut blocks: Vec<(f64, f64)> = Vec::new();
        let mut offsets = Vec::with_capacity(layer.len());
        let mut before = 0.0;
        for &thing in layer {
            let offset = before + self.width[thing] / 2.0;
            offsets.push(offset);
            before += self.width[thing];
            blocks.push((wanted(place[thing]) - offset, 1.0));
            while let [.., (sum, count), (next, more)] = blocks[..]
                && sum / count >= next / more
            {
                blocks.pop();
                if let Some(last) = blocks.last_mut() {
                    *last = (sum + next, count + more);
                }
            }
        }
        let mut things = layer.iter().zip(offsets);
        for (sum, count) in blocks {
            for (&thing, offset) in things.by_ref().take(count as usize) {
                place[thing] = sum / count + offset;
            }
        }
    }
}

/// The layers downwards in even sweeps, upwards in odd ones.
fn order(layers: usize, sweep: usize) -> impl Iterator<Item = usize> {
    (0..layers).map(move |layer| if sweep.is_multiple_of(2) { layer } else { layers - 1 - layer })
}

#[cfg(test)]
mod tests {
    use super::super::model::tests::example;
    use super::super::model::{Edge, EdgeKind, Node, NodeKind};
    use super::*;

    #[test]
    fn edges_lead_down_but_for_cycles() {
        let graph = example();
        let layout = layout(&graph, |_| 10.0, 2.0);
        let rank = |node: usize| layout.nodes[node].0;
        assert!(rank(3) < rank(4) && rank(4) > rank(1));
        assert!(rank(5) < rank(2));
        // `peer -> r2 -> peer` is a cycle: its nodes still stand in different layers.
        assert_ne!(rank(1), rank(5));
    }

    #[test]
    fn nothing_overlaps_and_long_edges_bend() {
        let mut graph = example();
        graph.edges.push(Edge { from: 3, to: 2, kind: EdgeKind::Emits });
        let layout = layout(&graph, |node| 10.0 + node as f64, 2.0);
        let mut things: Vec<(usize, f64, f64)> = Vec::new();
        for (node, &(layer, place)) in layout.nodes.iter().enumerate() {
            things.push((layer, place, 10.0 + node as f64));
        }
        things.extend(layout.bends.iter().flatten().map(|&(layer, place)| (layer, place, 2.0)));
        things.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        for pair in things.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            let room = pair[1].1 - pair[0].1 - (pair[0].2 + pair[1].2) / 2.0;
            assert!(room > -1e-6, "{pair:?}");
        }
        let span = layout.nodes[2].0 - layout.nodes[3].0;
        assert_eq!(layout.bends[7].len(), span - 1);
        assert!(span > 1);
    }

    #[test]
    fn a_long_chain_needs_no_deep_stack() {
        let count = 50_000;
        let node = Node { kind: NodeKind::Rule, name: String::new(), hidden: false };
        let edge = |from| Edge { from, to: (from + 1) % count, kind: EdgeKind::Emits };
        let graph = Graph { nodes: vec![node; count], edges: (0..count).map(edge).collect() };
        assert_eq!(layout(&graph, |_| 1.0, 1.0).layers, count);
    }
}
