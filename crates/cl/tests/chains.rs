//! Declarations that need each other in long chains, and interfaces of very many messages: what
//! they cost grows with their number, and no chain exhausts the stack.

use std::time::Duration;

use tidemill_cl::check::check;
use tidemill_cl::compile::{Checkpoints, Choices, compile};
use tidemill_cl::ir::Program;
use tidemill_cl::lower::lower;
use tidemill_cl::parse::parse_text;
use tidemill_diag::{Sources, has_errors};
use tidemill_support::cpu;

/// The text for one of many.
type Part<'p> = &'p dyn Fn(usize) -> String;

fn each(count: usize, part: Part<'_>) -> Vec<String> {
    (0..count).map(part).collect()
}

/// The diagnostics of a program.
fn found(source: &str) -> String {
    let mut sources = Sources::new();
    let (tree, mut found) = parse_text("chain.com", source, &mut sources);
    found.extend(check(&tree).1);
    found.iter().map(|it| sources.render(it)).collect()
}

fn lowered(source: &str, sources: &mut Sources) -> Program {
    let (tree, mut found) = parse_text("chain.com", source, sources);
    let (checked, more) = check(&tree);
    found.extend(more);
    assert!(!has_errors(&found), "{}", sources.render(&found[0]));
    lower(&checked)
}

/// The least CPU time of three times.
fn least(work: &dyn Fn()) -> Duration {
    let times = (0..3).map(|_| {
        let start = cpu::of_thread();
        work();
        cpu::of_thread() - start
    });
    times.min().expect("three")
}

/// On a thread with a third of the usual stack.
fn on_little_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(700_000);
    thread.spawn(work).expect("a thread").join().expect("no panic");
}

/// Constants of which each is computed from the next one.
fn constants(count: usize, last: &str) -> String {
    let all = each(count, &|i| format!("C{i} = C{} + 1;", i + 1)).join(" ");
    format!("COMPONENT Main; CONSTANT {all} C{count} = {last}; BEGIN WRITE(C0) END Main;")
}

#[test]
fn a_chain_of_constants_may_be_of_any_length() {
    on_little_stack(|| {
        assert_eq!(found(&constants(50_000, "1")), "");
        // Its value is there: C0 is 50,001.
        let sum = constants(50_000, "1; Zero = 1 DIV (C0 - 50001)");
        assert!(found(&sum).contains("division by zero"));
    });
}

#[test]
fn a_cycle_of_constants_may_be_of_any_length() {
    on_little_stack(|| {
        let expected = "chain.com:1:26: error[constant]: the value of `C0` needs itself\n  \
                        help: constants that need each other have no value\n";
        assert_eq!(found(&constants(50_000, "C0")), expected);
        assert_eq!(found(&constants(50_000, "2 * (C0 - C0)")), expected);
    });
}

/// Procedures of which each calls the one before or the one behind it, and reads a variable of
/// the procedure around all of them.
fn procedures(count: usize, callee: &dyn Fn(usize) -> usize) -> String {
    let one = |i: usize| match callee(i) {
        callee if callee < count => format!("PROCEDURE P{i}; BEGIN INC(n); P{callee} END P{i};\n"),
        _ => format!("PROCEDURE P{i}; BEGIN INC(n) END P{i};\n"),
    };
    let all = each(count, &one).concat();
    format!(
        "COMPONENT Main; PROCEDURE Outer; VARIABLE n: INTEGER;\n{all}\
         BEGIN P0; P{} END Outer; BEGIN Outer END Main;",
        count - 1
    )
}

#[test]
fn chains_of_calls_take_time_by_their_length() {
    let shapes: [(&str, &dyn Fn(usize) -> usize); 3] = [
        ("to the one before", &|i| i.wrapping_sub(1)),
        ("to the one behind", &|i| i + 1),
        ("round", &|i| (i + 1) % 500),
    ];
    for (name, callee) in shapes {
        let time = |count| {
            let source = procedures(count, callee);
            least(&|| drop(lowered(&source, &mut Sources::new())))
        };
        let (once, long) = (time(500), time(4000));
        // Quadratic would be 64 times as much.
        assert!(long < once * 20, "{name}: {once:?} and {long:?}");
    }
}

/// An interface that gives the choice between many messages, with what its server and its client
/// do.
fn alternatives(count: usize, serve: Part<'_>, send: Part<'_>) -> String {
    let messages = each(count, &|i| format!("IN A{i}")).join(" | ");
    let (tests, sends) = (each(count, serve).concat(), each(count, send).concat());
    format!(
        "INTERFACE I; {{ {messages} }} END I;\n\
         COMPONENT S OFFERS I; IMPLEMENTATION I;\n\
         BEGIN WHILE ~?FINISH DO {tests} END END I; END S;\n\
         COMPONENT Main; VARIABLE s: S; BEGIN NEW(s); {sends} END Main;"
    )
}

#[test]
fn interfaces_of_many_messages_take_time_by_what_may_follow_what() {
    let none = |_| String::new();
    let serve = |i| format!("IF ?A{i} THEN ?A{i} END; ");
    let send = |i| format!("s!A{i}; ");
    let shapes: [(&str, Part<'_>, Part<'_>); 3] =
        [("declared", &none, &none), ("served", &serve, &none), ("sent", &none, &send)];
    for (name, serve, send) in shapes {
        let time = |count| {
            let source = alternatives(count, serve, send);
            least(&|| {
                let mut sources = Sources::new();
                let ir = lowered(&source, &mut sources);
                let choices = Choices {
                    checkpoints: Checkpoints::Flag,
                    several: false,
                    listing: false,
                    observed: false,
                };
                drop(compile(&ir, &sources, 1, &choices).expect("code can be made"));
            })
        };
        let (once, long) = (time(200), time(1600));
        // There are 64 times as many pairs, which cost little each: it takes some 11 times as long.
        assert!(long < once * 24, "{name}: {once:?} and {long:?}");
    }
}
