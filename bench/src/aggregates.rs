//! Aggregate views: the cost of one change of a group, by the size of the group.
//!
//! A group holds keys with random values; each change gives one key another value, in a turn of
//! its own. MKLIST computes a value as long as the group each time; the others should be flat, or
//! grow like the logarithm of the group.

use tidemill_overlog::node::{Event, Node};
use tidemill_relation::Value;
use tidemill_stdx::rng::Rng;

use crate::clock::cpu_seconds;
use crate::extent::Extent;
use crate::program::{ADDRESS, node};
use crate::report::{Better, Report, Row};

/// One kind of aggregate.
struct Case {
    name: &'static str,
    rule: &'static str,
    /// Values are below this, which bounds the size of sets.
    values: u64,
    /// The expected columns of the result.
    expected: fn(&Group) -> Vec<String>,
}

const CASES: &[Case] = &[
    Case {
        name: "count",
        rule: "r result(@N, a_COUNT<*>) :- item(@N, K, V), V >= 0.",
        values: 1 << 40,
        expected: |group| vec![group.values.len().to_string()],
    },
    Case {
        name: "countdistinct",
        rule: "r result(@N, a_COUNTDISTINCT<V>) :- item(@N, K, V).",
        values: 1 << 10,
        expected: |group| vec![group.different().len().to_string()],
    },
    Case {
        name: "min",
        rule: "r result(@N, a_MIN<V>) :- item(@N, K, V).",
        values: 1 << 40,
        expected: |group| vec![group.sorted()[0].to_string()],
    },
    Case {
        name: "max",
        rule: "r result(@N, a_MAX<V>) :- item(@N, K, V).",
        values: 1 << 40,
        expected: |group| vec![group.sorted()[group.values.len() - 1].to_string()],
    },
    Case {
        name: "sum",
        rule: "r result(@N, a_SUM<V>) :- item(@N, K, V).",
        values: 1 << 40,
        expected: |group| vec![group.sum().to_string()],
    },
    Case {
        name: "avg",
        rule: "r result(@N, a_AVG<V>) :- item(@N, K, V).",
        values: 1 << 30,
        expected: |group| {
            let mean = group.sum() as f64 / group.values.len() as f64;
            vec![Value::Double(mean).to_string()]
        },
    },
    Case {
        name: "topk",
        rule: "r result(@N, a_TOPK<L>) :- item(@N, K, V), L := [10, V].",
        values: 1 << 40,
        expected: |group| {
            let mut values = group.sorted();
            values.reverse();
            values.truncate(10);
            vec![list(&values)]
        },
    },
    Case {
        name: "mkset",
        rule: "r result(@N, a_MKSET<V>) :- item(@N, K, V).",
        values: 64,
        expected: |group| vec![list(&group.different())],
    },
    Case {
        name: "mklist",
        rule: "r result(@N, a_MKLIST<V>) :- item(@N, K, V).",
        values: 1 << 40,
        expected: |group| {
            let mut rows: Vec<_> = group.changed.iter().zip(&group.values).collect();
            rows.sort();
            vec![list(&rows.into_iter().map(|(_, value)| *value).collect::<Vec<_>>())]
        },
    },
    Case {
        name: "argmin",
        rule: "r result(@N, a_MIN<V>, K) :- item(@N, K, V).",
        values: 1 << 10,
        expected: |group| {
            let least = (0i64..).zip(&group.values).map(|(key, value)| (*value, key)).min();
            let (value, key) = least.unwrap_or_default();
            vec![value.to_string(), key.to_string()]
        },
    },
];

const TABLES: &str = "
    materialize(item, infinity, infinity, keys(2)).
    materialize(result, infinity, infinity, keys(1)).
";

pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let sizes: &[usize] = if extent.small { &[100, 1_000] } else { &[100, 1_000, 10_000, 100_000] };
    let runs = if extent.small { 1 } else { 5 };
    for case in CASES {
        for &size in sizes {
            let changes = match (extent.small, case.name) {
                (true, _) => 200,
                (false, "mklist") => 20,
                (false, _) => 2_000,
            };
            let figures = measure(case, size, changes, runs)?;
            let case = format!("{}-{size}", case.name);
            let row = Row::median("aggregates", &case, "tidemill", ("change_ns", "ns"), figures);
            report.case(&[row], Better::Low);
        }
    }
    Ok(())
}

/// Nanoseconds of a change, for each run.
fn measure(case: &Case, size: usize, changes: usize, runs: usize) -> Result<Vec<f64>, String> {
    let mut node = node("aggregates.olg", &format!("{TABLES}{}", case.rule))?;
    let mut random = Rng::new(size as u64);
    let mut group = Group::default();
    let values = (0..size).map(|_| random.below(case.values) as i64).collect();
    fill(&mut node, &mut group, values)?;
    let mut figures = Vec::new();
    for _ in 0..runs {
        let drawn: Vec<(usize, i64)> = (0..changes)
            .map(|_| (random.below(size as u64) as usize, random.below(case.values) as i64))
            .collect();
        let (seconds, done) = cpu_seconds(|| {
            drawn.iter().try_for_each(|&(key, value)| change(&mut node, &mut group, key, value))
        });
        done?;
        check(case, &node, &group)?;
        figures.push(seconds * 1e9 / changes as f64);
    }
    Ok(figures)
}

fn check(case: &Case, node: &Node, group: &Group) -> Result<(), String> {
    let result = node.program().plan().find("result").ok_or("no result table")?;
    let mut rows = Vec::new();
    node.rows(result, |columns| {
        rows.push(columns[1..].iter().map(Value::to_string).collect::<Vec<_>>());
    });
    let expected = (case.expected)(group);
    match rows[..] {
        [ref row] if *row == expected => Ok(()),
        _ => Err(format!("{}: {rows:?} where {expected:?} is right", case.name)),
    }
}

/// The values by key, and the time of the last change of each.
#[derive(Default)]
struct Group {
    values: Vec<i64>,
    changed: Vec<u64>,
    time: u64,
}

impl Group {
    fn sorted(&self) -> Vec<i64> {
        let mut values = self.values.clone();
        values.sort_unstable();
        values
    }

    fn different(&self) -> Vec<i64> {
        let mut values = self.sorted();
        values.dedup();
        values
    }

    fn sum(&self) -> i64 {
        self.values.iter().sum()
    }
}

/// A list in printed form.
fn list(values: &[i64]) -> String {
    let values: Vec<String> = values.iter().map(i64::to_string).collect();
    format!("[{}]", values.join(", "))
}

/// Inserts all rows of a group in one turn, like facts.
fn fill(node: &mut Node, group: &mut Group, values: Vec<i64>) -> Result<(), String> {
    let items = (0..).zip(&values).map(|(key, value)| item(node, key, *value));
    let events = items.collect::<Result<_, _>>()?;
    for event in node.together(events) {
        node.enqueue(event);
    }
    crate::events::turns(node, 0);
    group.changed = (1..).take(values.len()).collect();
    group.time = values.len() as u64;
    group.values = values;
    Ok(())
}

/// Changes the value of a key, in a turn.
fn change(node: &mut Node, group: &mut Group, key: usize, value: i64) -> Result<(), String> {
    // A row that is inserted again unchanged keeps its place.
    if group.values[key] != value {
        group.time += 1;
        (group.values[key], group.changed[key]) = (value, group.time);
    }
    let event = item(node, key, value)?;
    node.enqueue(event);
    crate::events::turns(node, 0);
    Ok(())
}

fn item(node: &Node, key: usize, value: i64) -> Result<Event, String> {
    let relation = node.program().plan().find("item").ok_or("no table")?;
    let columns = [Value::Str(ADDRESS), Value::Int(key as i64), Value::Int(value)];
    let row = columns.into_iter().collect();
    Ok(Event::Tuple { relation, row, delete: false, received: false })
}
