//! How often conditions of those that wait are evaluated: only where what they read has been
//! written. The interpreter, which knows nothing of that, evaluates all of them at each release.

use super::compare::{Limits, conditions, difference, load};

const WAITERS: u64 = 200;
const STEPS: u64 = 100;

/// Processes wait for `condition`, meanwhile another one does `step` again and again, each time
/// with the monitor taken anew, and then lets them go.
fn program(condition: &str, step: &str) -> String {
    format!(
        "INTERFACE Gate; IN Pass(n: INTEGER) OUT Passed END Gate;
         COMPONENT Board OFFERS Gate;
           VARIABLE open[i: INTEGER]: BOOLEAN; all: BOOLEAN; name: TEXT;
             count, waiting: INTEGER; list[i: INTEGER]: INTEGER {{ARRAY}};
           PROCEDURE Count;
           BEGIN INC(count); list[count MOD 10] := count
           END Count;
           PROCEDURE Work;
             VARIABLE i: INTEGER;
           BEGIN
             BEGIN {{EXCLUSIVE}} AWAIT(waiting = {WAITERS}) END;
             FOR i := 1 TO {STEPS} DO BEGIN {{EXCLUSIVE}} {step} END END;
             BEGIN {{EXCLUSIVE}}
               all := TRUE; name := \"open\"; FOR i := 1 TO {WAITERS} DO open[i] := TRUE END
             END
           END Work;
           IMPLEMENTATION Gate;
             VARIABLE n: INTEGER;
           BEGIN
             ?Pass(n);
             BEGIN {{EXCLUSIVE}} INC(waiting); AWAIT({condition}) END;
             !Passed
           END Gate;
         BEGIN NEW(list, 10)
         ACTIVITY Work
         END Board;
         COMPONENT Client REQUIRES Gate;
           VARIABLE n: INTEGER;
           BEGIN n := RANDOM(1, {WAITERS})
           ACTIVITY {{EXCLUSIVE}} Gate!Pass(n); Gate?Passed
         END Client;
         COMPONENT {{ENTRYPOINT}} Main;
           VARIABLE b: Board; c[i: INTEGER]: Client; i: INTEGER;
         BEGIN
           NEW(b);
           FOR i := 1 TO {WAITERS} DO NEW(c[i]); CONNECT(Gate(c[i]), b) END;
           FOR i := 1 TO {WAITERS} DO DELETE(c[i]) END;
           WRITE(\"done\")
         END Main;"
    )
}

/// How many conditions are evaluated by compiled code, and by the interpreter.
fn evaluated(condition: &str, step: &str) -> (u64, u64) {
    let source = program(condition, step);
    let program = load(&source).unwrap_or_else(|wrong| panic!("{wrong}\n{source}"));
    for seed in [None, Some(3)] {
        assert_eq!(difference(&program, seed, Limits::SMALL), None, "{condition}, {step}");
    }
    conditions(&program, Limits::SMALL)
}

#[test]
fn conditions_are_evaluated_where_what_they_read_is_written() {
    for condition in ["all", "all AND (n > 0)", "EXISTS(open[n])", "LENGTH(name) > 3"] {
        for step in
            ["INC(count)", "Count", "list[3] := list[3] + 1", "IF count > 0 THEN DEC(count) END"]
        {
            let (compiled, interpreted) = evaluated(condition, step);
            assert!(compiled < 10 * WAITERS, "{condition}, {step}: {compiled} evaluated");
            assert!(
                interpreted >= compiled,
                "{condition}, {step}: {interpreted} by the interpreter"
            );
        }
    }
    let (_, interpreted) = evaluated("EXISTS(open[n])", "INC(count)");
    assert!(interpreted > WAITERS * STEPS, "{interpreted}: the other way looks at all");
}

#[test]
fn conditions_are_evaluated_where_procedures_write_what_they_read() {
    for (condition, step) in [
        ("EXISTS(open[n + 0 * count])", "Count"),
        ("EXISTS(open[n]) OR (list[3] < 0)", "Count"),
        ("EXISTS(open[n]) OR (waiting < 0)", "INC(waiting)"),
    ] {
        let (compiled, _) = evaluated(condition, step);
        assert!(compiled > WAITERS * STEPS, "{condition}, {step}: {compiled} evaluated");
    }
}
