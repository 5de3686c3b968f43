//! Feeds facts to dataflows, and steps them to the fixed point.

use std::cell::Cell;
use std::fmt::Debug;
use std::rc::Rc;
use std::str::FromStr;

use differential_dataflow::VecCollection;
use differential_dataflow::input::{Input, InputSession};
use rustix::time::{ClockId, clock_gettime};
use timely::dataflow::ProbeHandle;
use timely::worker::Worker;

use crate::dataflows::{self, Node, Statements};
use crate::facts::Folder;

fn cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Counts the tuples of a dataflow at the end.
#[derive(Clone, Default)]
struct Count {
    tuples: Rc<Cell<isize>>,
    probe: ProbeHandle<u64>,
}

impl Count {
    fn of<D: differential_dataflow::Data>(&self, found: VecCollection<'_, u64, D>) {
        let tuples = self.tuples.clone();
        let counted = found.inspect(move |(_, _, change)| tuples.set(tuples.get() + change));
        counted.probe_with(&self.probe);
    }
}

/// Advances some inputs by a time.
fn pass<D: differential_dataflow::Data>(
    worker: &mut Worker,
    inputs: &mut [&mut InputSession<u64, D, isize>],
    count: &Count,
) {
    let mut next = 0;
    for input in inputs {
        next = *input.time() + 1;
        input.advance_to(next);
        input.flush();
    }
    worker.step_while(|| count.probe.less_than(&next));
}

fn report(count: &Count, began: f64, read: f64) {
    let now = cpu_s();
    println!("{} {} {}", count.tuples.get(), now - read, now - began);
}

pub fn closure<K>(folder: &Folder, edge: impl Fn(&[K]) -> (K, K) + Copy)
where
    K: Node + FromStr<Err: Debug>,
{
    closure_of::<K, K>(folder, edge);
}

/// The closure over nodes that consist of some columns.
pub fn closure_of<K, N>(folder: &Folder, edge: impl Fn(&[K]) -> (N, N) + Copy)
where
    K: FromStr<Err: Debug>,
    N: Node,
{
    let began = cpu_s();
    let read = |relation: &str| -> Vec<(N, N)> {
        folder.rows::<K>(relation).iter().map(|row| edge(row)).collect()
    };
    let edges = read("edge");
    let changes = folder.has("off").then(|| Changes {
        off: read("off"),
        on: read("on"),
        single: read("single"),
    });
    timely::execute_directly(move |worker| {
        let (start, count) = (cpu_s(), Count::default());
        let mut input = worker.dataflow(|scope| {
            let (input, edges) = scope.new_collection();
            count.of(dataflows::closure(edges));
            input
        });
        edges.into_iter().for_each(|edge| input.insert(edge));
        pass(worker, &mut [&mut input], &count);
        report(&count, began, start);
        if let Some(changes) = changes {
            change(worker, &mut input, &count, &changes);
        }
    });
}

/// The changes of edges after the fixed point.
struct Changes<N> {
    off: Vec<(N, N)>,
    on: Vec<(N, N)>,
    /// Each is inserted and deleted by itself.
    single: Vec<(N, N)>,
}

fn change<N: Node>(
    worker: &mut Worker,
    input: &mut InputSession<u64, (N, N), isize>,
    count: &Count,
    changes: &Changes<N>,
) {
    let began = cpu_s();
    changes.off.iter().for_each(|edge| input.remove(edge.clone()));
    changes.on.iter().for_each(|edge| input.insert(edge.clone()));
    pass(worker, &mut [input], count);
    println!("{} {}", count.tuples.get(), cpu_s() - began);
    let (mut put, mut taken) = (0.0, 0.0);
    for edge in &changes.single {
        let began = cpu_s();
        input.insert(edge.clone());
        pass(worker, &mut [input], count);
        let between = cpu_s();
        input.remove(edge.clone());
        pass(worker, &mut [input], count);
        put += between - began;
        taken += cpu_s() - between;
    }
    let edges = changes.single.len() as f64;
    println!("{} {} {}", count.tuples.get(), put / edges, taken / edges);
}

pub fn same_generation(folder: &Folder) {
    let began = cpu_s();
    let edges = folder.pairs("edge");
    timely::execute_directly(move |worker| {
        let (start, count) = (cpu_s(), Count::default());
        let mut input = worker.dataflow(|scope| {
            let (input, edges) = scope.new_collection();
            count.of(dataflows::same_generation(edges));
            input
        });
        edges.into_iter().for_each(|edge| input.insert(edge));
        pass(worker, &mut [&mut input], &count);
        report(&count, began, start);
    });
}

pub fn points_to(folder: &Folder) {
    let began = cpu_s();
    let facts = ["addressOf", "edge", "load", "store"].map(|relation| folder.pairs(relation));
    timely::execute_directly(move |worker| {
        let (start, count) = (cpu_s(), Count::default());
        let mut inputs = worker.dataflow(|scope| {
            let (first, address_of) = scope.new_collection();
            let (second, assign) = scope.new_collection();
            let (third, load) = scope.new_collection();
            let (fourth, store) = scope.new_collection();
            let statements = Statements { address_of, assign, load, store };
            count.of(dataflows::points_to(statements));
            [first, second, third, fourth]
        });
        for (input, pairs) in inputs.iter_mut().zip(facts) {
            pairs.into_iter().for_each(|pair| input.insert(pair));
        }
        pass(worker, &mut inputs.each_mut(), &count);
        report(&count, began, start);
    });
}

pub fn shortest(folder: &Folder) {
    let began = cpu_s();
    let arcs = folder.rows::<i32>("arc");
    timely::execute_directly(move |worker| {
        let (start, count) = (cpu_s(), Count::default());
        let mut input = worker.dataflow(|scope| {
            let (input, arcs) = scope.new_collection();
            count.of(dataflows::shortest(arcs));
            input
        });
        arcs.iter().for_each(|row| input.insert((row[0], (row[1], row[2]))));
        pass(worker, &mut [&mut input], &count);
        report(&count, began, start);
    });
}
