//! What one body of very many statements costs grows with their number, not with its square.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tidemill_cl::check::check;
use tidemill_cl::compile::{Checkpoints, Choices, compile};
use tidemill_cl::lower::lower;
use tidemill_cl::parse::parse_text;
use tidemill_diag::{Sources, has_errors};

fn body_of(count: usize, statement: &dyn Fn(usize) -> String) -> String {
    let statements: String = (0..count).map(statement).collect();
    format!(
        "COMPONENT Main;\n  VARIABLE a, b, i: INTEGER; map[k: INTEGER]: INTEGER;\nBEGIN\n\
         {statements}END Main;\n"
    )
}

fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("a time")
}

/// CPU time from the source to the code.
fn compiled_in(source: &str) -> Duration {
    let start = cpu_time();
    let mut sources = Sources::new();
    let (tree, found) = parse_text("long.com", source, &mut sources);
    assert!(!has_errors(&found));
    let (checked, found) = check(&tree);
    assert!(!has_errors(&found));
    let choices = Choices { checkpoints: Checkpoints::Flag, several: false, listing: false };
    compile(&lower(&checked), &sources, 1, &choices).expect("code can be made");
    cpu_time() - start
}

#[test]
fn long_bodies_take_time_by_their_length() {
    let shapes: [(&str, &dyn Fn(usize) -> String); 4] = [
        ("sums", &|i| format!("  a := b + {i};\n")),
        ("quotients", &|i| format!("  a := a DIV 3 + b * {i};\n")),
        ("elements", &|i| format!("  map[{i}] := a;\n")),
        ("branches", &|i| format!("  IF a > {i} THEN INC(b) END;\n")),
    ];
    const SHORT: usize = 1000;
    const TIMES: usize = 8;
    for (name, statement) in shapes {
        let once = (0..3).map(|_| compiled_in(&body_of(SHORT, statement))).min();
        let once = once.expect("three");
        let long = compiled_in(&body_of(TIMES * SHORT, statement));
        // Quadratic throughout would be 64 times as much. Quotients, each of which may fault, take
        // some 20 times, the others less.
        assert!(long < once * 25, "{name}: {once:?} and {long:?}");
    }
}
