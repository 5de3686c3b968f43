//! Events per second: each is a turn of its own, from the inbox to settled tables.

use tidemill_overlog::node::{Event, Node};
use tidemill_relation::Value;
use tidemill_relation::view::Progress;

use crate::clock::cpu_seconds;
use crate::extent::Extent;
use crate::program::{ADDRESS, Blind, node};
use crate::report::{Better, Report, Row};

const ONE_RULE: &str = "r1 out(@N, X + 1) :- in(@N, X).";

const THREE_WAY_JOIN: &str = "
    materialize(a, infinity, infinity, keys(2)).
    materialize(b, infinity, infinity, keys(2)).
    r1 out(@N, X, C) :- in(@N, X), a(@N, X, B), b(@N, B, C).
";

const JOIN_AGGREGATE: &str = "
    materialize(a, infinity, infinity, keys(2)).
    materialize(b, infinity, infinity, keys(2)).
    r1 out(@N, X, a_COUNT<*>, a_MAX<C>) :- in(@N, X), a(@N, X, B), b(@N, B, C).
";

const TEN_EXPRESSIONS: &str = "
    r1 out(@N, A, B, C, D, E) :- in(@N, X), A := X * 3 + 1, B := A % 17, C := (B << 2) ^ X,
        D := C - A, E := D & 255, A > X, B < 17, C != 5000, D < 100000, E >= 0.
";

/// What each case is called, and its program.
const CASES: [(&str, &str); 4] = [
    ("one-rule", ONE_RULE),
    ("three-way-join", THREE_WAY_JOIN),
    ("join-aggregate", JOIN_AGGREGATE),
    ("ten-expressions", TEN_EXPRESSIONS),
];

/// Rows of each table that is joined.
const ROWS: i64 = 1000;

pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let events = if extent.small { 2_000 } else { 500_000 };
    let runs = if extent.small { 1 } else { 5 };
    for (case, source) in CASES {
        let mut rates = Vec::new();
        for _ in 0..runs {
            let mut node = node("events.olg", source)?;
            fill(&mut node);
            let before = node.counters().rules[0].derived;
            let (seconds, ()) = cpu_seconds(|| pass(&mut node, events));
            let derived = node.counters().rules[0].derived - before;
            if derived != events as u64 {
                return Err(format!("{case}: {derived} tuples from {events} events"));
            }
            rates.push(events as f64 / seconds);
        }
        let row = Row::median("events", case, "tidemill", ("per_cpu_s", "1/s"), rates);
        report.case(&[row], Better::High);
    }
    Ok(())
}

fn fill(node: &mut Node) {
    for table in ["a", "b"] {
        if node.program().plan().find(table).is_some() {
            (0..ROWS).for_each(|key| give(node, table, &[key, (key + 1) % ROWS]));
        }
    }
}

fn pass(node: &mut Node, events: i64) {
    (0..events).for_each(|event| give(node, "in", &[event % ROWS]));
}

/// One turn with this tuple.
fn give(node: &mut Node, relation: &str, values: &[i64]) {
    let Some(relation) = node.program().plan().find(relation) else { return };
    let mut row = node.spare_row();
    row.push(Value::Str(ADDRESS));
    values.iter().for_each(|&value| row.push(Value::Int(value)));
    node.enqueue(Event::Tuple { relation, row, delete: false, received: false });
    turns(node, 0);
}

/// Runs the turns that wait, at this time.
pub fn turns(node: &mut Node, now_ns: u64) {
    while node.begin(now_ns, now_ns as i64, &mut Blind) {
        while node.derive(1024, &mut Blind) == Progress::More {}
        node.commit(&mut Blind);
        while node.refine(&mut Blind) == Progress::More {}
        node.finish(&mut Blind);
    }
}
