//! Checks whether histories are linearizable: `histories`. The peer is porcupine, in Go.
//!
//! A history comes from a real object: each operation takes effect at a point between its
//! invocation and its response. In a wrong one a single result is changed. The verdicts on many
//! small [random] ones are compared with those of the peer. Of a wrong history ours also finds the
//! smallest part that is wrong, which takes most of its time there.

mod porcupine;
mod random;

use porcupine::Porcupine;
use tidemill_history::{Model, Operation, Value, Verdict, check};
use tidemill_stdx::rng::Rng;

use crate::clock::cpu_seconds;
use crate::extent::Extent;
use crate::report::{Better, Report, Row};

const METRIC: (&str, &str) = ("cpu_s", "s");

/// The parameters of histories.
struct Case {
    name: &'static str,
    model: Model,
    is_right: bool,
    /// The number of operations, and how many of them are concurrent.
    operations: u64,
    clients: u64,
    keys: u64,
}

/// Measures the check of right and wrong histories.
///
/// # Errors
/// A verdict is wrong, or the peer fails.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let (many, few) = if extent.small { (2000, 100) } else { (200_000, 2000) };
    let kv = |name, is_right, clients, keys| Case {
        name,
        model: Model::Kv,
        is_right,
        operations: many,
        clients,
        keys,
    };
    let queue = |name, is_right| Case {
        name,
        model: Model::Queue,
        is_right,
        operations: few,
        clients: 4,
        keys: 1,
    };
    let cases = [
        kv("kv-right", true, 20, 100),
        kv("kv-wrong", false, 20, 100),
        // The peer copies a set of all operations at each step.
        Case { operations: many / 10, ..kv("one-key-right", true, 6, 1) },
        queue("queue-right", true),
        queue("queue-wrong", false),
    ];
    let runs = if extent.small { 1 } else { 5 };
    let peer = extent.peers.then(Porcupine::build);
    if let Some(Err(absent)) = &peer {
        report.note(&format!("porcupine is absent: {absent}"));
    }
    for case in cases {
        let history = case.history(&mut Rng::new(7));
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            let (seconds, verdict) = cpu_seconds(|| check(case.model, &history));
            match verdict {
                Ok(Verdict::Linearizable) if case.is_right => {}
                Ok(Verdict::Fails(_)) if !case.is_right => {}
                other => return Err(format!("{}: {other:?}", case.name)),
            }
            ours.push(seconds);
            if let Some(Ok(peer)) = &peer {
                let checked = peer.check(case.model, std::slice::from_ref(&history))?;
                match checked[..] {
                    [(is_right, seconds)] if is_right == case.is_right => theirs.push(seconds),
                    _ => return Err(format!("porcupine says {checked:?} of {}", case.name)),
                }
            }
        }
        let mut rows = vec![Row::median("histories", case.name, "tidemill", METRIC, ours)];
        if !theirs.is_empty() {
            rows.push(Row::median("histories", case.name, "porcupine", METRIC, theirs));
        }
        report.case(&rows, Better::Low);
    }
    random::run(extent, report, peer.as_ref().and_then(|peer| peer.as_ref().ok()))
}

impl Case {
    fn history(&self, random: &mut Rng) -> Vec<Operation> {
        // The values by key.
        let mut state: Vec<Vec<i64>> = vec![Vec::new(); self.keys as usize];
        let mut history: Vec<Operation> = Vec::with_capacity(self.operations as usize);
        for number in 0..self.operations as i64 {
            let key = random.below(self.keys) as usize;
            let changes = random.chance(0.4);
            let values = &mut state[key];
            let (name, argument, result) = match (self.model, changes) {
                (Model::Kv, true) => {
                    *values = vec![number];
                    ("put", Value::List(vec![Value::Int(key as i64), Value::Int(number)]), None)
                }
                (Model::Kv, false) => ("get", Value::Int(key as i64), values.first().copied()),
                (_, true) => {
                    values.push(number);
                    ("enqueue", Value::Int(number), None)
                }
                (_, false) => {
                    let first = (!values.is_empty()).then(|| values.remove(0));
                    ("dequeue", Value::Null, first)
                }
            };
            // It takes effect at `point`; one each 100, some of which overlap.
            let point = number * 100;
            let around = |random: &mut Rng| random.below(self.clients * 50) as i64;
            let (invoked, returned) = (point - around(random), point + around(random));
            history.push(Operation {
                name: name.to_owned(),
                argument,
                result: result.map_or(Value::Null, Value::Int),
                invoked,
                // Few, as each doubles the work.
                returned: (!random.chance(0.0001)).then_some(returned),
            });
        }
        if !self.is_right {
            // A value that was never written.
            let late = history.iter_mut().skip(self.operations as usize * 9 / 10);
            let reads = |it: &&mut Operation| {
                matches!(it.name.as_str(), "get" | "dequeue") && it.returned.is_some()
            };
            late.filter(reads).take(1).for_each(|it| it.result = Value::Int(-7));
        }
        history
    }
}
