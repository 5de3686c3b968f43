//! Creating values under five ways to own memory, and the values created by an idle node.
//!
//! The experiment of the notes on P2's runtime (table 1, figures 1 and 2): fills an array of 5000
//! repeatedly with new values, and measures the time of one creation, including the destruction of
//! the replaced value.
//!
//! * `tidemill`: flat encodings in a region that is cleared as a whole, as turns do it;
//! * `shared`: a counted pointer to a value on the heap, as P2 had it;
//! * `raw`: a value on the heap with one owner;
//! * `copies`: a value on the heap, copied when it is handed on;
//! * `mark-sweep`: a slab of values, the unreachable ones swept every 5000 creations.

mod ring;

use std::hint::black_box;
use std::sync::Arc;

use crate::clock::cpu_seconds;
use crate::extent::Extent;
use crate::report::{Better, Report, Row};
use tidemill_relation::{TupleBuf, Value};

const SLOTS: usize = 5000;

/// A value in the other ways: every long part is an object of its own.
#[derive(Clone, Debug, PartialEq)]
enum Boxed {
    Null,
    Int(i64),
    Double(f64),
    Text(String),
    Tuple(Vec<Boxed>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ValueKind {
    Null,
    Int64,
    Double,
    Text,
    Tuple5,
}

impl ValueKind {
    const ALL: [ValueKind; 5] =
        [ValueKind::Null, ValueKind::Int64, ValueKind::Double, ValueKind::Text, ValueKind::Tuple5];

    fn name(self) -> &'static str {
        match self {
            ValueKind::Null => "null",
            ValueKind::Int64 => "int64",
            ValueKind::Double => "double",
            ValueKind::Text => "string",
            ValueKind::Tuple5 => "tuple5",
        }
    }

    fn boxed(self, i: usize) -> Boxed {
        match self {
            ValueKind::Null => Boxed::Null,
            ValueKind::Int64 => Boxed::Int(i as i64),
            ValueKind::Double => Boxed::Double(i as f64),
            ValueKind::Text => Boxed::Text(TEXTS[i % TEXTS.len()].to_owned()),
            ValueKind::Tuple5 => Boxed::Tuple(
                [
                    ValueKind::Text,
                    ValueKind::Int64,
                    ValueKind::Double,
                    ValueKind::Text,
                    ValueKind::Null,
                ]
                .map(|kind| kind.boxed(i))
                .to_vec(),
            ),
        }
    }

    fn push(self, i: usize, region: &mut TupleBuf<()>) {
        let text = Value::Str(TEXTS[i % TEXTS.len()]);
        match self {
            ValueKind::Null => region.push((), &[Value::Null]),
            ValueKind::Int64 => region.push((), &[Value::Int(i as i64)]),
            ValueKind::Double => region.push((), &[Value::Double(i as f64)]),
            ValueKind::Text => region.push((), &[text]),
            ValueKind::Tuple5 => region.push(
                (),
                &[text, Value::Int(i as i64), Value::Double(i as f64), text, Value::Null],
            ),
        }
    }
}

const TEXTS: [&str; 3] = ["localhost:10000", "localhost:10001", "a text of some thirty letters"];

/// Runs `fills` fills and returns a check sum of the final slots.
type Way = fn(ValueKind, usize) -> usize;

const WAYS: [(&str, Way); 5] = [
    ("tidemill", region),
    ("shared", shared),
    ("raw", raw),
    ("copies", copies),
    ("mark-sweep", mark_sweep),
];

fn region(kind: ValueKind, fills: usize) -> usize {
    let mut region = TupleBuf::new();
    for _ in 0..fills {
        region.clear();
        for i in 0..SLOTS {
            kind.push(i, &mut region);
        }
        black_box(&region);
    }
    region.len()
}

fn shared(kind: ValueKind, fills: usize) -> usize {
    let null = Arc::new(Boxed::Null);
    let mut slots = vec![null.clone(); SLOTS];
    for _ in 0..fills {
        for (i, slot) in slots.iter_mut().enumerate() {
            // As in P2, there is one null.
            *slot = match kind {
                ValueKind::Null => null.clone(),
                _ => Arc::new(kind.boxed(i)),
            };
        }
        black_box(&slots);
    }
    slots.len()
}

fn raw(kind: ValueKind, fills: usize) -> usize {
    let mut slots: Vec<Box<Boxed>> = (0..SLOTS).map(|_| Box::new(Boxed::Null)).collect();
    for _ in 0..fills {
        for (i, slot) in slots.iter_mut().enumerate() {
            // Allocates a new object on purpose; the old one is freed.
            drop(std::mem::replace(slot, Box::new(kind.boxed(i))));
        }
        black_box(&slots);
    }
    slots.len()
}

fn copies(kind: ValueKind, fills: usize) -> usize {
    let mut slots: Vec<Box<Boxed>> = (0..SLOTS).map(|_| Box::new(Boxed::Null)).collect();
    for _ in 0..fills {
        for (i, slot) in slots.iter_mut().enumerate() {
            let made = Box::new(kind.boxed(i));
            // Copies, as the new owner must hold it too.
            drop(std::mem::replace(slot, Box::new(black_box(&made).as_ref().clone())));
        }
        black_box(&slots);
    }
    slots.len()
}

/// A heap of objects that are found by marking from the slots.
#[derive(Default)]
struct Heap {
    objects: Vec<Option<Boxed>>,
    free: Vec<u32>,
    marked: Vec<bool>,
}

impl Heap {
    fn create(&mut self, value: Boxed) -> u32 {
        if let Some(at) = self.free.pop() {
            self.objects[at as usize] = Some(value);
            return at;
        }
        self.objects.push(Some(value));
        self.objects.len() as u32 - 1
    }

    fn collect(&mut self, roots: &[u32]) {
        self.marked.clear();
        self.marked.resize(self.objects.len(), false);
        roots.iter().for_each(|&root| self.marked[root as usize] = true);
        for (at, object) in self.objects.iter_mut().enumerate() {
            if !self.marked[at] && object.take().is_some() {
                self.free.push(at as u32);
            }
        }
    }
}

fn mark_sweep(kind: ValueKind, fills: usize) -> usize {
    let mut heap = Heap::default();
    let first = heap.create(Boxed::Null);
    let mut slots = vec![first; SLOTS];
    for _ in 0..fills {
        for (i, slot) in slots.iter_mut().enumerate() {
            *slot = heap.create(kind.boxed(i));
        }
        heap.collect(black_box(&slots));
    }
    slots.len()
}

pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let fills = if extent.small { 20 } else { 400 };
    let runs = if extent.small { 3 } else { 7 };
    for kind in ValueKind::ALL {
        let mut figures = vec![Vec::new(); WAYS.len()];
        for _ in 0..runs {
            for ((who, way), figures) in WAYS.iter().zip(&mut figures) {
                let (seconds, count) = cpu_seconds(|| way(kind, fills));
                if count != SLOTS {
                    return Err(format!("{who} holds {count} values, not {SLOTS}"));
                }
                figures.push(seconds * 1e9 / (SLOTS * fills) as f64);
            }
        }
        let rows: Vec<Row> = WAYS
            .iter()
            .zip(figures)
            .map(|((who, _), figures)| {
                Row::median("values", kind.name(), who, ("ns", "ns"), figures)
            })
            .collect();
        report.case(&rows, Better::Low);
    }
    marking_against_counting(extent, report);
    ring::run(if extent.small { 15 } else { 60 }, report)
}

/// The notes' figure 2: for each period, the cost of marking one object below which collecting is
/// cheaper than counting, beside the cost of marking here.
fn marking_against_counting(extent: Extent, report: &mut Report) {
    let objects = if extent.small { 2_500 } else { 250_000 };
    let mut heap = Heap::default();
    let roots: Vec<u32> = (0..objects).map(|i| heap.create(ValueKind::Int64.boxed(i))).collect();
    let (seconds, ()) = cpu_seconds(|| heap.collect(black_box(&roots)));
    let mark_ns = seconds * 1e9 / objects as f64;
    let copies = 1_000_000;
    let counted = Arc::new(Boxed::Null);
    let (seconds, ()) = cpu_seconds(|| {
        (0..copies).for_each(|_| drop(black_box(&counted).clone()));
    });
    let assign_ns = seconds * 1e9 / f64::from(copies);
    report.note(&format!(
        "marking costs {mark_ns:.2} ns an object here, assigning a shared pointer {assign_ns:.2} ns"
    ));
    report.note("period s   marking is cheaper below ns (1000 assignments a second, 2500 objects)");
    for period in [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0f64] {
        let below = assign_ns * 1000.0 * period / (2500.0 + 500.0 * period);
        let bar = "#".repeat((below * 2.0).round().min(60.0) as usize);
        report.note(&format!("{period:>8} {below:>8.2} {bar}"));
    }
}
