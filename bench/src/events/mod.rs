//! Events per second: each is a turn of its own, from the inbox to settled tables.
//!
//! `rust` is the same rule as hand-written Rust ([`by_hand`]): no inbox, no turn, no queue, only
//! the head row. Its heads are compared with those of the rule.
//!
//! With `--instructions`, instructions of an event are counted instead of time.

mod by_hand;
mod datagrams;
mod rules;

use std::hint::black_box;
use std::sync::Arc;

use tidemill_overlog::node::{Node, Program, Started};
use tidemill_relation::plan::RelationId;
use tidemill_relation::view::Progress;
use tidemill_relation::{Seq, TupleBuf, Value};
use tidemill_stdx::keyed::Secret;

use crate::clock::cpu_seconds;
use crate::extent::Extent;
use crate::instructions;
use crate::program::{ADDRESS, Blind, compiled, identity};
use crate::report::{Better, Report, Row};
use by_hand::{Rule, Tables};
use rules::{INSTRUCTIONS, JOIN_AGGREGATE, ONE_RULE, RATE, ROWS, TEN_EXPRESSIONS, THREE_WAY_JOIN};

/// A rule, and its hand-written form.
struct Case {
    name: &'static str,
    source: &'static str,
    by_hand: Rule,
}

const CASES: [Case; 4] = [
    Case { name: "one-rule", source: ONE_RULE, by_hand: by_hand::one_rule },
    Case { name: "three-way-join", source: THREE_WAY_JOIN, by_hand: by_hand::three_way_join },
    Case { name: "join-aggregate", source: JOIN_AGGREGATE, by_hand: by_hand::join_aggregate },
    Case { name: "ten-expressions", source: TEN_EXPRESSIONS, by_hand: by_hand::ten_expressions },
];

/// The events of the two runs whose instructions are counted: many, so that the strands are
/// compiled in both.
const COUNTED: (u64, u64) = (150_000, 300_000);

pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    if extent.instructions {
        return count(extent, report);
    }
    let events = if extent.small { 2_000 } else { 500_000 };
    let runs = if extent.small { 1 } else { 5 };
    for case in &CASES {
        compare(case)?;
        let (mut ours, mut by_hand) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            let node = filled(program(case.source)?);
            if extent.peers {
                by_hand.push(rate_by_hand(case, &node, events)?);
            }
            ours.push(rate(case, node, events)?);
        }
        let mut rows = vec![Row::median("events", case.name, "tidemill", RATE, ours)];
        if extent.peers {
            rows.push(Row::median("events", case.name, "rust", RATE, by_hand));
        }
        report.case(&rows, Better::High);
    }
    datagrams::run(extent, report)
}

/// Instructions of an event.
fn count(extent: Extent, report: &mut Report) -> Result<(), String> {
    instructions::available()?;
    let of = |case: &str, who: &str| {
        instructions::each(COUNTED, |events| {
            instructions::own(&["events", case, who, &events.to_string()])
        })
    };
    let contenders = if extent.peers { &["tidemill", "rust"][..] } else { &["tidemill"] };
    for Case { name, .. } in &CASES {
        let figure =
            |who: &&str| Ok(Row::median("events", name, who, INSTRUCTIONS, vec![of(name, who)?]));
        let rows: Result<Vec<Row>, String> = contenders.iter().map(figure).collect();
        report.case(&rows?, Better::Low);
    }
    let figures = vec![of("datagrams", "tidemill")?];
    let row = Row::median("events", "datagrams", "tidemill", INSTRUCTIONS, figures);
    report.case(&[row], Better::Low);
    Ok(())
}

/// The process that is counted: `CASE WHO EVENTS`.
///
/// # Errors
/// Other arguments, or the rule gives other heads.
pub fn measure_in(arguments: &[String]) -> Result<(), String> {
    let wrong = || format!("events are not measured with {arguments:?}");
    let [name, who, events] = arguments else { return Err(wrong()) };
    let events: u32 = events.parse().map_err(|_| wrong())?;
    if name == "datagrams" && who == "tidemill" {
        return datagrams::receive(events);
    }
    let case = CASES.iter().find(|case| case.name == name).ok_or_else(wrong)?;
    let node = filled(program(case.source)?);
    match who.as_str() {
        "tidemill" => rate(case, node, events.into()).map(drop),
        "rust" => rate_by_hand(case, &node, events.into()).map(drop),
        _ => Err(wrong()),
    }
}

/// Events per CPU second through a node.
fn rate(case: &Case, mut node: Node, events: i64) -> Result<f64, String> {
    let relation = relation(&node, "in")?;
    let before = node.counters().rules[0].derived;
    let (seconds, ()) = cpu_seconds(|| {
        (0..events).for_each(|event| give(&mut node, relation, &[event % ROWS]));
    });
    let derived = node.counters().rules[0].derived - before;
    expect(case, events, derived as i64)?;
    Ok(events as f64 / seconds)
}

/// Events per CPU second through the hand-written rule, over the tables of a node.
fn rate_by_hand(case: &Case, node: &Node, events: i64) -> Result<f64, String> {
    let (tables, mut heads, mut derived) = (Tables::of(node), TupleBuf::new(), 0);
    let (seconds, failed) = cpu_seconds(|| {
        (0..events).find(|event| {
            let columns = [Value::Str(ADDRESS), Value::Int(event % ROWS)];
            heads.clear();
            let done = (case.by_hand)(&tables, black_box(&columns), &mut heads);
            derived += heads.len() as i64;
            done.is_none()
        })
    });
    if let Some(event) = failed {
        return Err(format!("{}: event {event} fails by hand", case.name));
    }
    expect(case, events, derived)?;
    Ok(events as f64 / seconds)
}

fn expect(case: &Case, events: i64, derived: i64) -> Result<(), String> {
    if derived == events {
        Ok(())
    } else {
        Err(format!("{}: {derived} tuples from {events} events", case.name))
    }
}

/// Checks that each event gives the same heads by the rule and by hand.
fn compare(case: &Case) -> Result<(), String> {
    let mut program = program(case.source)?;
    let missing = || format!("{}: there is no relation out", case.name);
    let out = program.plan().find("out").ok_or_else(missing)?;
    program.cross(out);
    let mut node = filled(program);
    let input = relation(&node, "in")?;
    for key in 0..ROWS {
        let mut by_hand = TupleBuf::new();
        let columns = [Value::Str(ADDRESS), Value::Int(key)];
        let done = (case.by_hand)(&Tables::of(&node), &columns, &mut by_hand);
        give(&mut node, input, &[key]);
        let crossings = node.take_crossings();
        let all = |heads: &mut dyn Iterator<Item = Seq<'_>>| {
            heads.map(|head| format!("{:?}", head.iter().collect::<Vec<_>>())).collect::<Vec<_>>()
        };
        let ours = all(&mut crossings.iter().map(|(_, head)| head));
        let theirs = all(&mut by_hand.iter().map(|(_, head)| head));
        if done.is_none() || ours.is_empty() || ours != theirs {
            return Err(format!("{}: {ours:?}, by hand {theirs:?} from {key}", case.name));
        }
    }
    Ok(())
}

/// A node of a program with filled tables.
fn filled(program: Program) -> Node {
    let mut node = Node::new(Arc::new(program), identity(), 1, Secret::of_process());
    for table in ["a", "b"] {
        if let Ok(table) = relation(&node, table) {
            (0..ROWS).for_each(|key| give(&mut node, table, &[key, (key + 1) % ROWS]));
        }
    }
    node
}

fn program(source: &str) -> Result<Program, String> {
    Program::new(compiled("events.olg", source)?).map_err(|error| error.to_string())
}

fn relation(node: &Node, name: &str) -> Result<RelationId, String> {
    node.program().plan().find(name).ok_or_else(|| format!("there is no relation {name}"))
}

/// Runs one turn with this tuple.
fn give(node: &mut Node, relation: RelationId, values: &[i64]) {
    let row = node.enqueue_tuple(relation, false, false);
    row.push(Value::Str(ADDRESS));
    values.iter().for_each(|&value| row.push(Value::Int(value)));
    turns(node, 0);
}

/// Runs the pending turns, at this time.
pub fn turns(node: &mut Node, now_ns: u64) {
    loop {
        match node.start(now_ns, now_ns as i64, &mut Blind) {
            Started::Nothing => return,
            Started::Ended => continue,
            Started::Begun => {}
        }
        while node.derive(1024, &mut Blind) == Progress::More {}
        node.commit(&mut Blind);
        while node.refine(&mut Blind) == Progress::More {}
        node.finish(&mut Blind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_processes_do_their_work_and_others_are_refused() {
        let run = |words: [&str; 3]| measure_in(&words.map(str::to_owned));
        assert_eq!(run(["one-rule", "tidemill", "100"]), Ok(()));
        assert_eq!(run(["one-rule", "rust", "100"]), Ok(()));
        assert_eq!(run(["datagrams", "tidemill", "128"]), Ok(()));
        for refused in
            [["two-rules", "rust", "1"], ["one-rule", "c", "1"], ["one-rule", "rust", "x"]]
        {
            assert!(run(refused).is_err_and(|text| text.contains(refused[0])));
        }
    }
}
