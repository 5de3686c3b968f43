//! What one body of very many statements costs grows with their number, not with its square.

use std::time::Duration;

use tidemill_cl::check::check;
use tidemill_cl::compile::{Checkpoints, Choices, compile};
use tidemill_cl::lower::lower;
use tidemill_cl::parse::parse_text;
use tidemill_diag::{Sources, has_errors};
use tidemill_support::cpu;

fn body_of(count: usize, statement: &dyn Fn(usize) -> String) -> String {
    let statements: String = (0..count).map(statement).collect();
    format!(
        "COMPONENT Main;\n  VARIABLE a, b, i: INTEGER; map[k: INTEGER]: INTEGER;\nBEGIN\n\
         {statements}END Main;\n"
    )
}

/// CPU time from the source to the code.
fn compiled_in(source: &str) -> Duration {
    let start = cpu::of_thread();
    let mut sources = Sources::new();
    let (tree, found) = parse_text("long.com", source, &mut sources);
    assert!(!has_errors(&found));
    let (checked, found) = check(&tree);
    assert!(!has_errors(&found));
    let choices =
        Choices { checkpoints: Checkpoints::Flag, several: false, listing: false, observed: false };
    compile(&lower(&checked), &sources, 1, &choices).expect("code can be made");
    cpu::of_thread() - start
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
        let long = (0..2).map(|_| compiled_in(&body_of(TIMES * SHORT, statement))).min();
        let long = long.expect("two");
        // Quadratic throughout would be 64 times as much. Quotients, each of which may fault, take
        // some 20 times, the others less.
        assert!(long < once * 25, "{name}: {once:?} and {long:?}");
    }
}

/// What the checker says about a program, and CPU time.
fn checked_in(source: &str) -> (Vec<String>, Duration) {
    let mut sources = Sources::new();
    let (tree, found) = parse_text("long.com", source, &mut sources);
    assert!(!has_errors(&found));
    let start = cpu::of_thread();
    let (_, found) = check(&tree);
    let took = cpu::of_thread() - start;
    (found.iter().map(|one| format!("{} {}", one.code, one.message)).collect(), took)
}

/// Tests of as many messages, and tests of as many components.
#[test]
fn tests_of_messages_take_time_by_their_number() {
    let branches = |count: usize, branch: &dyn Fn(usize) -> String| -> String {
        (0..count).map(|i| if i == 0 { branch(i) } else { format!("ELS{}", branch(i)) }).collect()
    };
    let of_messages = |count: usize| {
        let names: Vec<String> = (0..count).map(|i| format!("IN A{i} OUT B{i}")).collect();
        let all = branches(count, &|i| format!("IF ?A{i} THEN ?A{i}; !B{i}\n"));
        format!(
            "INTERFACE I; {{ {} }} END I;\nCOMPONENT Server OFFERS I;\n  IMPLEMENTATION I;\n\
             BEGIN WHILE ?ANY DO\n{all}END END END I;\nEND Server;\nCOMPONENT Main; END Main;\n",
            names.join(" | ")
        )
    };
    let of_components = |count: usize| {
        let variables: String = (0..count).map(|i| format!("s{i}: Server; ")).collect();
        let made: String = (0..count).map(|i| format!("NEW(s{i});\n")).collect();
        let tests: String =
            (0..count).map(|i| format!("s{i}!A; IF s{i}?B THEN s{i}?B END;\n")).collect();
        format!(
            "INTERFACE I; {{ IN A OUT B }} END I;\nCOMPONENT Server OFFERS I;\n\
             IMPLEMENTATION I;\nBEGIN WHILE ?A DO ?A; !B END END I;\nEND Server;\n\
             COMPONENT Main;\n  VARIABLE {variables}\nBEGIN\n{made}{tests}END Main;\n"
        )
    };
    // The protocol has a state for each message, and each may be followed by all others: to read it
    // is quadratic, to check as many tests against it was cubic.
    type Shape<'s> = (&'s str, u32, &'s dyn Fn(usize) -> String);
    let shapes: [Shape<'_>; 2] =
        [("messages", 120, &of_messages), ("components", 30, &of_components)];
    const FEW: usize = 250;
    const TIMES: usize = 8;
    for (name, times_max, source) in shapes {
        let least = |source: String| (0..3).map(|_| checked_in(&source)).min_by_key(|it| it.1);
        let (_, once) = least(source(FEW)).expect("three");
        let (found, long) = least(source(TIMES * FEW)).expect("three");
        assert!(found.is_empty(), "{name}: {found:?}");
        assert!(long < once * times_max, "{name}: {once:?} and {long:?}");
    }
}

/// A loop is iterated as often as its states change: here once for each message.
#[test]
fn a_routine_whose_order_is_not_checked_says_so() {
    let source = |count: usize| {
        let names: Vec<String> = (0..count).map(|i| format!("OUT A{i}")).collect();
        let tests: String =
            (0..count).rev().map(|i| format!("IF s?A{i} THEN s?A{i} END;\n")).collect();
        format!(
            "INTERFACE I; {} END I;\nCOMPONENT Server OFFERS I;\n  IMPLEMENTATION I;\n\
             BEGIN {} END I;\nEND Server;\n\
             COMPONENT Main;\n  VARIABLE s: Server; n: INTEGER;\nBEGIN\n  NEW(s);\n\
             WHILE n < 9 DO INC(n);\n{tests}END;\n s?A1; s?A1\nEND Main;\n",
            names.join(" "),
            (0..count).map(|i| format!("!A{i}")).collect::<Vec<_>>().join("; "),
        )
    };
    let (few, _) = checked_in(&source(20));
    assert!(few.iter().any(|one| one.starts_with("protocol A1 cannot follow A1")), "{few:?}");
    let (many, _) = checked_in(&source(500));
    assert_eq!(many.len(), 1, "{many:?}");
    assert!(many[0].starts_with("more-findings the order of messages is not checked"), "{many:?}");
}
