//! The programs as dataflows.

use std::fmt::Debug;
use std::hash::Hash;

use differential_dataflow::lattice::Lattice;
use differential_dataflow::operators::*;
use differential_dataflow::{ExchangeData, VecCollection};
use timely::progress::Timestamp;

type Pairs<'s, T, K> = VecCollection<'s, T, (K, K)>;

pub trait Node: ExchangeData + Hash + Debug + Sync {}

impl<K: ExchangeData + Hash + Debug + Sync> Node for K {}

/// Paths, as (end, start).
pub fn closure<'s, T: Timestamp + Lattice + Ord, K: Node>(
    edges: Pairs<'s, T, K>,
) -> Pairs<'s, T, K> {
    let paths = edges.clone().map(|(x, y)| (y, x));
    paths.clone().iterate(|scope, inner| {
        let edges = edges.enter(scope);
        let paths = paths.enter(scope);
        inner.join_map(edges, |_, x, z| (z.clone(), x.clone())).concat(paths).distinct()
    })
}

pub fn same_generation<'s, T: Timestamp + Lattice + Ord>(
    edges: Pairs<'s, T, i32>,
) -> Pairs<'s, T, i32> {
    let siblings =
        edges.clone().join_map(edges.clone(), |_, x, y| (*x, *y)).filter(|(x, y)| x != y);
    let siblings = siblings.distinct();
    siblings.clone().iterate(|scope, inner| {
        let edges = edges.enter(scope);
        let siblings = siblings.enter(scope);
        let half = inner.join_map(edges.clone(), |_, b, x| (*b, *x));
        half.join_map(edges, |_, x, y| (*x, *y)).concat(siblings).distinct()
    })
}

/// What points-to reads: `assign(to, from)`, `load(to, pointer)`, `store(pointer, from)`.
pub struct Statements<'s, T: Timestamp> {
    pub address_of: Pairs<'s, T, i32>,
    pub assign: Pairs<'s, T, i32>,
    pub load: Pairs<'s, T, i32>,
    pub store: Pairs<'s, T, i32>,
}

pub fn points_to<'s, T: Timestamp + Lattice + Ord>(of: Statements<'s, T>) -> Pairs<'s, T, i32> {
    let Statements { address_of, assign, load, store } = of;
    let assign = assign.map(|(to, from)| (from, to));
    let load = load.map(|(to, pointer)| (pointer, to));
    let start = address_of.clone();
    start.iterate(|scope, pt| {
        let address_of = address_of.enter(scope);
        let copied = pt.clone().join_map(assign.enter(scope), |_, object, to| (*to, *object));
        let loads = pt.clone().join_map(load.enter(scope), |_, z, y| (*z, *y)).distinct();
        let loaded = loads.join_map(pt.clone(), |_, y, w| (*y, *w));
        let stores = pt.clone().join_map(store.enter(scope), |_, z, x| (*x, *z)).distinct();
        let stored = stores.join_map(pt, |_, z, w| (*z, *w));
        address_of.concat(copied).concat(loaded).concat(stored).distinct()
    })
}

/// The cheapest ways, as (end, (start, cost)).
pub fn shortest<'s, T: Timestamp + Lattice + Ord>(
    arcs: VecCollection<'s, T, (i32, (i32, i32))>,
) -> VecCollection<'s, T, (i32, (i32, i32))> {
    let ways = arcs.clone().map(|(x, (y, cost))| (y, (x, cost)));
    ways.clone().iterate(|scope, inner| {
        let arcs = arcs.enter(scope);
        let ways = ways.enter(scope);
        inner
            .join_map(arcs, |_, (x, so_far), (z, cost)| ((*z, *x), so_far + cost))
            .concat(ways.map(|(y, (x, cost))| ((y, x), cost)))
            .reduce(|_, costs, least| least.push((*costs[0].0, 1)))
            .map(|((z, x), cost)| (z, (x, cost)))
    })
}
