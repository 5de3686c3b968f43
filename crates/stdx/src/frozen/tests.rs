use super::*;
use crate::rng::Rng;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

/// Notes for each node whether it was dropped; dropping one twice fails the test.
#[derive(Clone)]
struct Ledger(Arc<[AtomicBool]>);

struct Noted {
    name: usize,
    ledger: Ledger,
}

impl Drop for Noted {
    fn drop(&mut self) {
        let twice = self.ledger.0[self.name].swap(true, Ordering::SeqCst);
        assert!(!twice, "node {} was dropped twice", self.name);
    }
}

impl Ledger {
    fn new(nodes: usize) -> Ledger {
        Ledger((0..nodes).map(|_| AtomicBool::new(false)).collect())
    }

    fn dropped(&self) -> Vec<usize> {
        (0..self.0.len()).filter(|&node| self.0[node].load(Ordering::SeqCst)).collect()
    }

    fn node(&self, name: usize) -> Noted {
        Noted { name, ledger: self.clone() }
    }
}

/// A frozen graph, a place for each handle, and what was dropped so far.
fn freeze(nodes: usize, edges: &[(u32, u32)]) -> (Vec<Option<Frozen<Noted>>>, Ledger) {
    let ledger = Ledger::new(nodes);
    let mut builder = Builder::new();
    for name in 0..nodes {
        builder.node(ledger.node(name));
    }
    for &(from, to) in edges {
        builder.edge(NodeId::new(from), NodeId::new(to));
    }
    (builder.freeze().into_iter().map(Some).collect(), ledger)
}

#[test]
fn a_cycle_lives_as_long_as_one_handle() {
    let (mut handles, ledger) = freeze(3, &[(0, 1), (1, 2), (2, 0)]);
    handles[0] = None;
    handles[2] = None;
    assert_eq!(ledger.dropped(), []);
    let around = handles[1].as_ref().unwrap().target(0).unwrap().target(0).unwrap();
    assert_eq!(around.name, 0);
    handles[1] = None;
    assert_eq!(ledger.dropped(), [0, 1, 2]);
}

#[test]
fn a_node_may_refer_to_itself_more_than_once() {
    let (mut handles, ledger) = freeze(2, &[(0, 0), (0, 0), (0, 1)]);
    handles[1] = None;
    let own = handles[0].as_ref().unwrap();
    assert_eq!(own.targets().map(|target| target.name).collect::<Vec<_>>(), [0, 0, 1]);
    assert_eq!(ledger.dropped(), []);
    handles[0] = None;
    assert_eq!(ledger.dropped(), [0, 1]);
}

#[test]
fn a_diamond_frees_its_bottom_last() {
    let (mut handles, ledger) = freeze(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]);
    handles[3] = None;
    handles[1] = None;
    let kept = handles[2].take();
    handles[0] = None;
    assert_eq!(ledger.dropped(), [0, 1]);
    assert_eq!(kept.as_ref().unwrap().target(0).unwrap().name, 3);
    drop(kept);
    assert_eq!(ledger.dropped(), [0, 1, 2, 3]);
}

#[test]
fn a_handle_made_from_a_neighbour_keeps_only_what_it_reaches() {
    // Two cycles, the first refers to the second.
    let (mut handles, ledger) = freeze(4, &[(0, 1), (1, 0), (1, 2), (2, 3), (3, 2)]);
    let first = handles[0].take().unwrap();
    handles.clear();
    assert_eq!(ledger.dropped(), []);
    let second = first.target(0).unwrap().target(1).unwrap().to_frozen();
    assert!(!second.borrow().shares_count(first.borrow()));
    drop(first);
    assert_eq!(ledger.dropped(), [0, 1]);
    assert_eq!(second.target(0).unwrap().name, 3);
    drop(second);
    assert_eq!(ledger.dropped(), [0, 1, 2, 3]);
}

#[test]
fn a_later_graph_holds_what_it_refers_to() {
    let (mut handles, ledger) = freeze(2, &[(0, 1), (1, 0)]);
    let mut builder = Builder::new();
    let later = Ledger::new(1);
    let importer = builder.node(later.node(0));
    builder.edge_to_frozen(importer, handles[1].take().unwrap());
    builder.edge(importer, importer);
    handles.clear();
    let mut frozen = builder.freeze();
    assert_eq!(frozen[0].targets().map(|target| target.name).collect::<Vec<_>>(), [1, 0]);
    assert_eq!((ledger.dropped().len(), later.dropped().len()), (0, 0));
    frozen.clear();
    assert_eq!((ledger.dropped().len(), later.dropped().len()), (2, 1));
}

#[test]
fn a_builder_that_is_dropped_gives_back_its_counts() {
    let (mut handles, ledger) = freeze(1, &[]);
    let later = Ledger::new(1);
    let mut builder = Builder::new();
    let node = builder.node(later.node(0));
    builder.edge_to_frozen(node, handles[0].take().unwrap());
    assert_eq!(builder.value_mut(node).unwrap().name, 0);
    assert_eq!(ledger.dropped(), []);
    drop(builder);
    assert_eq!((ledger.dropped(), later.dropped()), (vec![0], vec![0]));
}

#[test]
fn a_long_chain_is_freed_without_stack() {
    let count = if cfg!(miri) { 300 } else { 300_000 };
    let chain: Vec<(u32, u32)> = (0..count - 1).map(|i| (i, i + 1)).collect();
    let (mut handles, ledger) = freeze(count as usize, &chain);
    let first = handles[0].take();
    drop(handles);
    assert_eq!(ledger.dropped(), []);
    drop(first);
    assert_eq!(ledger.dropped().len(), count as usize);
}

/// 10,000 nodes (a few under Miri) in components of all sizes: chains of rings with some edges
/// across.
fn large_graph() -> (usize, Vec<(u32, u32)>) {
    let nodes = if cfg!(miri) { 100 } else { 10_000 };
    let mut rng = Rng::new(9);
    let mut edges = Vec::new();
    let mut start = 0;
    while start < nodes {
        let end = (start + 1 + rng.below(40)).min(nodes);
        for node in start..end {
            let next = if node + 1 == end { start } else { node + 1 };
            edges.push((node as u32, next as u32));
        }
        for _ in 0..3 * (end - start).min(start) {
            edges.push((rng.range(start..=end - 1) as u32, rng.below(start) as u32));
        }
        start = end;
    }
    (nodes as usize, edges)
}

/// The nodes reachable from `roots`, which are included.
fn reachable(nodes: usize, edges: &[(u32, u32)], roots: &[usize]) -> Vec<bool> {
    let graph = Graph::new(nodes, edges);
    let mut reached = vec![false; nodes];
    let mut open: Vec<u32> = roots.iter().map(|&root| root as u32).collect();
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut reached[node as usize], true) {
            open.extend(graph.successors(node));
        }
    }
    reached
}

#[test]
fn exactly_what_is_reachable_lives() {
    let (nodes, edges) = large_graph();
    let (mut handles, ledger) = freeze(nodes, &edges);
    let mut rng = Rng::new(4);
    let mut order: Vec<usize> = (0..nodes).collect();
    rng.shuffle(&mut order);
    for (step, chunk) in order.chunks(nodes / 10).enumerate() {
        for &node in chunk {
            handles[node] = None;
        }
        let roots = &order[((step + 1) * (nodes / 10)).min(nodes)..];
        let reached = reachable(nodes, &edges, roots);
        let dead: Vec<usize> = (0..nodes).filter(|&node| !reached[node]).collect();
        assert_eq!(ledger.dropped(), dead);
    }
    assert_eq!(ledger.dropped().len(), nodes);
}

#[test]
fn threads_clone_walk_and_drop_at_once() {
    let (nodes, edges) = large_graph();
    let (handles, ledger) = freeze(nodes, &edges);
    let steps = if cfg!(miri) { 100 } else { 50_000 };
    thread::scope(|scope| {
        for seed in 0..4 {
            let mut own: Vec<Frozen<Noted>> = handles.iter().flatten().cloned().collect();
            let ledger = &ledger;
            scope.spawn(move || {
                let mut rng = Rng::new(seed);
                for _ in 0..steps {
                    if own.is_empty() {
                        break;
                    }
                    let at = rng.below(own.len() as u64) as usize;
                    let target = rng.pick(&own[at].targets().collect::<Vec<_>>()).copied();
                    let target = target.expect("each node is on a ring").to_frozen();
                    assert!(!ledger.0[target.name].load(Ordering::SeqCst));
                    if rng.chance(0.3) {
                        own[at] = target;
                    } else {
                        own.swap_remove(at);
                    }
                }
            });
        }
        drop(handles);
    });
    assert_eq!(ledger.dropped().len(), nodes);
}
