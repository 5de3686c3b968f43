//! Prints actions as lines of a script, which [`parse`](super::parse()) reads.

use std::fmt::Write as _;

use tidemill_event::Act;
use tidemill_relation::plan::Plan;
use tidemill_relation::text::{DisplayTuple, Pattern};

use super::number::{latency_text, seconds_text, signed_seconds_text};
use super::{Cue, CueAction, Direction, Given, Victim, When};

/// The lines of an action, one for each of its nodes.
pub fn lines(cue: &Cue, plan: &Plan) -> Vec<String> {
    let when = match cue.when {
        When::At(at) => format!("at {}", seconds_text(at)),
        When::Every { from, to, step } => {
            let [from, to, step] = [from, to, step].map(seconds_text);
            format!("every {from}..{to} step {step}")
        }
    };
    let actions = actions(&cue.action, plan);
    actions.into_iter().map(|action| format!("{when} {action}")).collect()
}

fn actions(action: &CueAction, plan: &Plan) -> Vec<String> {
    let each = |nodes: &[u32], of: &dyn Fn(u32) -> String| nodes.iter().map(|&it| of(it)).collect();
    let one = |text: String| vec![text];
    match action {
        CueAction::Put(tuples) => tuples.iter().map(|tuple| put(tuple, plan)).collect(),
        CueAction::Delete(tuples) => {
            tuples.iter().map(|tuple| given("delete", tuple, plan)).collect()
        }
        CueAction::Crash(nodes) => each(nodes, &|node| format!("crash {node}")),
        CueAction::Restart(nodes) => each(nodes, &|node| format!("restart {node}")),
        CueAction::Kill(nodes, Victim::Component(path)) => {
            each(nodes, &|node| format!("kill {node} component {path}"))
        }
        CueAction::Kill(nodes, Victim::App(app)) => {
            each(nodes, &|node| format!("kill {node} app {app}"))
        }
        CueAction::Pause(nodes, ns) => {
            each(nodes, &|node| format!("pause {node} {}", seconds_text(*ns)))
        }
        CueAction::Slow(nodes, ns) => {
            each(nodes, &|node| format!("slow {node} {}", milliseconds(*ns)))
        }
        CueAction::Clock(nodes, offset, 0) => {
            each(nodes, &|node| format!("clock {node} {}", signed_seconds_text(*offset)))
        }
        CueAction::Clock(nodes, offset, drift) => {
            each(nodes, &|node| format!("clock {node} {} {drift}", signed_seconds_text(*offset)))
        }
        CueAction::Timer(nodes, rule) => each(nodes, &|node| format!("timer {node} {rule}")),
        CueAction::Partition(groups, direction) => one(partition(groups, direction)),
        CueAction::Heal => one("heal".to_owned()),
        CueAction::Loss(probability) => one(format!("loss {probability}")),
        CueAction::Duplicate(probability) => one(format!("duplicate {probability}")),
        CueAction::Reorder(probability) => one(format!("reorder {probability}")),
        CueAction::Latency { least, most, shape } => {
            one(format!("latency {}", latency_text((*least, *most), *shape)))
        }
        CueAction::Message { act, from, to, tuple } => one(message(act, (*from, *to), tuple)),
        CueAction::Manual => one("manual".to_owned()),
        CueAction::Seed(seed) => one(format!("seed {seed}")),
        CueAction::Calm => one("calm".to_owned()),
        CueAction::Expect { rows, count, .. } => rows
            .iter()
            .map(|(node, _, pattern)| match count {
                Some(count) => format!("expect {node} {pattern} count {count}"),
                None => format!("expect {node} {pattern}"),
            })
            .collect(),
        CueAction::End => one("end".to_owned()),
    }
}

/// In milliseconds: the digits of a thousandfold number of seconds.
fn milliseconds(ns: u64) -> String {
    seconds_text(ns.saturating_mul(1000))
}

fn put(tuple: &Given, plan: &Plan) -> String {
    let is_row = plan.relation(tuple.1).table().is_some();
    given(if is_row { "fact" } else { "inject" }, tuple, plan)
}

fn given(verb: &str, (node, relation, columns): &Given, plan: &Plan) -> String {
    let relation = plan.relation(*relation);
    let columns = columns.iter().map(|column| column.get());
    format!("{verb} {node} {}", DisplayTuple::new(&relation.name, columns))
}

fn partition(groups: &[Vec<u32>], direction: &Direction) -> String {
    let group = |group: &Vec<u32>| group.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let mark = match direction {
        Direction::Both => " | ",
        Direction::Forth => " > ",
    };
    let groups: Vec<String> = groups.iter().map(group).collect();
    format!("partition {}", groups.join(mark))
}

fn message(act: &Act, (from, to): (u32, u32), tuple: &Option<Pattern>) -> String {
    let verb = match act {
        Act::Drop => "drop",
        Act::Duplicate { .. } => "duplicate",
        Act::Delay { .. } => "delay",
        Act::Deliver => "deliver",
    };
    let mut text = format!("{verb} {from} {to}");
    // Writing to a string cannot fail.
    if let Act::Duplicate { after } | Act::Delay { after } = act {
        let ns = u64::try_from(after.as_nanos()).unwrap_or(u64::MAX);
        let _ = write!(text, " {}", milliseconds(ns));
    }
    if let Some(tuple) = tuple {
        let _ = write!(text, " '{tuple}'");
    }
    text
}

#[cfg(test)]
mod tests {
    use tidemill_diag::Sources;
    use tidemill_overlog::node::Identity;

    use super::*;
    use crate::identities::identities;
    use crate::script::{bind, parse};

    #[test]
    fn what_is_printed_is_read_as_it_was() {
        let plan = tidemill_relation::plan::parse(
            "relation p0 \"lookup\" at 0 (string, int64)\n\
             relation p1 \"succ\" at 0 (string, string)\n  table key(0)\n\
             rule r0 \"r1\" at \"t:1:1\"\n\
             strand r0 on periodic 0.5 p0 (v0, _) regs 1\n  emit p0 (v0, 1)\n",
        )
        .expect("a plan");
        let nodes: Vec<Identity> = identities(3, None);
        let text = "at 1 inject 0 lookup(\"n0:1\", -7)
every 1..3 step 0.5 inject 2 lookup(\"n2:1\", 1)
at 2.25 fact 1 succ(\"n1:1\", \"a \\\"b\\\" \\\\\")
at 2.5 delete 1 succ(\"n1:1\", null)
at 3 crash 1
at 3 restart 1
at 3 kill 0 component Main/x[3]
at 3 kill 0 app nat
at 3 pause 0 0.001
at 3 slow 1 0.5
at 3 clock 2 -0.25
at 3 clock 2 1.5 -300
at 3 timer 2 r1
at 4 partition 0 | 1,2
at 4 partition 1,2 > 0
at 4 heal
at 4 loss 0.125
at 4 duplicate 0.5
at 4 reorder 0.001
at 4 latency 0.5..20:tail
at 4 latency 5..20
at 5 drop 0 1 'lookup(_, 5)'
at 5 drop 0 1
at 5 duplicate 0 1 10 'lookup(\"n1:1\", _)'
at 5 delay 0 1 250.5
at 5 deliver 0 1
at 6 manual
at 6 seed 99
at 6 calm
at 7 expect 1 succ(\"n1:1\", _)
at 7 expect 1 succ(_, _) count 2
at 8 end
";
        let mut sources = Sources::new();
        let file = sources.add("t.sim", text);
        let (script, errors) = parse(file, text);
        assert!(errors.is_empty(), "{errors:?}");
        let (cues, errors) = bind(&script, &sources, (&plan, &|_| None), &nodes);
        assert!(errors.is_empty(), "{errors:?}");
        let printed: Vec<String> = cues.iter().flat_map(|cue| lines(cue, &plan)).collect();
        assert_eq!(printed, text.lines().collect::<Vec<_>>());
    }
}
