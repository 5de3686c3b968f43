//! Stacks of a profile, one a line with its time: `run;event ping;r1;on event ping 6000`, as
//! flame graph tools and speedscope read them.

use std::fmt::Write;

use tidemill_overlog::node::{Spot, Worker};

use super::Profile;

/// A stack for each part of a rule, operator and part of the engine, with its nanoseconds.
pub fn folded(profile: &Profile) -> String {
    let mut out = String::new();
    for (spot, cost) in &profile.costs.costs {
        let frames: Vec<String> = stack(spot).into_iter().map(|(name, _)| plain(&name)).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{} {}", frames.join(";"), cost.ns);
    }
    out
}

/// The kind of a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum FrameKind {
    Run,
    Turn,
    Rule,
    Part,
    Operator,
    Engine,
}

/// The frames of a cost, the run first.
pub(super) fn stack(spot: &Spot) -> Vec<(String, FrameKind)> {
    let mut frames = vec![("run".to_owned(), FrameKind::Run), (spot.turn.clone(), FrameKind::Turn)];
    match &spot.worker {
        Worker::Rule { rule, part, .. } => {
            frames.push((rule.clone(), FrameKind::Rule));
            frames.push((part.clone(), FrameKind::Part));
        }
        Worker::Operator(name) => frames.push((format!("stage {name}"), FrameKind::Operator)),
        Worker::Engine(part) => {
            frames.push((format!("(engine) {}", part.name()), FrameKind::Engine));
        }
    }
    frames
}

/// A name without separators.
fn plain(name: &str) -> String {
    name.replace([';', '\n'], ",")
}

#[cfg(test)]
mod tests {
    use super::super::tests::example;
    use super::*;

    #[test]
    fn stacks_add_up_to_the_time_of_all_turns() {
        let text = folded(&example());
        let expected = "\
run;event ping;r1;on event ping 6000
run;event ping;r2;on event <pong> 2000
run;event ping;(engine) dispatch 1000
run;timer of r1;r1;on timer 500
run;timer of r1;stage COUNT 250
run;timer of r1;(engine) commit 250
";
        assert_eq!(text, expected);
    }
}
