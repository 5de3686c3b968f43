//! Rules with conditions that bound a column derive what they derive without an index, in the same
//! order, and fail as often.

use std::fmt::Write;

use tidemill_stdx::rng::Rng;

use crate::harness::Network;

/// Conditions on `X` and `Z` of `a` and `Y` of `b`.
const CONDITIONS: [&[&str]; 14] = [
    &["Y >= X", "Y < X + 5"],
    &["X + Z > Y", "Y <= Z"],
    &["Y in (X, Z]"],
    &["Y in [X, Z)", "Y < 9"],
    &["Y - 2 > X"],
    &["Z + 3 <= Y", "X < Y"],
    &["X <= Y && Y - Z < 2"],
    // These fail for some rows, before or after the bound.
    &["Y + X < 9", "Y > Z"],
    &["Y > Z", "Y + X < 9"],
    &["10 / Y > X", "Y > Z"],
    &["Y > 10 / X", "Y < Z"],
    &["Y < Z", "Y > 10 / X"],
    // Values of other types.
    &["Y < 3.5", "Y > X"],
    &["Y >= 0x3I", "Y <= Z"],
];

/// A program with an event rule and a view; `wrap` is put around each condition.
fn program(conditions: &[&str], hint: &str, wrap: impl Fn(&str) -> String) -> String {
    let conditions: Vec<String> = conditions.iter().map(|one| wrap(one)).collect();
    let conditions = conditions.join(", ");
    format!(
        "materialize(a, infinity, infinity, keys(2, 3)).
        materialize(b, infinity, infinity, keys(2, 3)).
        materialize(c, infinity, infinity, keys(2, 3)).
        materialize(near, infinity, infinity, keys(2, 3, 4)).
        {hint}
        v1 near(@N, X, Y, Z) :- a(@N, X, Z), b(@N, Y, G), {conditions}.
        v2 near(@N, X, Y, Z) :- c(@N, X, Z), a(@N, Z, G), b(@N, Y, G), {conditions}.
        e1 found(@N, X, Y) :- ask(@N, X, Z), b(@N, Y, G), {conditions}.
        e2 found(@N, X, Y) :- ask(@N, X, Z), a(@N, Z, G), b(@N, Y, G), {conditions}.
        watch(near). watch(found)."
    )
}

fn value(random: &mut Rng, kind: u64) -> String {
    match (kind, random.below(12)) {
        (1, 0) => "9223372036854775807".to_owned(),
        (1, 1) => "-9223372036854775808".to_owned(),
        (2, 0) => "2.5".to_owned(),
        (2, 1) => "\"NIL\"".to_owned(),
        (2, 2) => "0x0000000000000000000000000000000000000004I".to_owned(),
        (2, 3) => "2.000000000s".to_owned(),
        _ => random.below(12).to_string(),
    }
}

/// What changes and what is asked, the same for each program.
fn run(network: &mut Network, random: &mut Rng, kind: u64) -> String {
    for _ in 0..6 {
        for _ in 0..random.below(16) {
            let table = ["a", "b", "b", "c"][random.below(4) as usize];
            let (first, second) = (value(random, kind), value(random, kind));
            let tuple = format!("{table}(\"n0:1\", {first}, {second})");
            if random.below(4) == 0 {
                network.delete(0, &tuple);
            } else {
                network.inject(0, &tuple);
            }
        }
        network.run_for(1.0);
        let (x, z) = (value(random, kind), value(random, kind));
        network.inject(0, &format!("ask(\"n0:1\", {x}, {z})")).run_for(1.0);
    }
    let mut text = network.lines.borrow().join("\n");
    for row in network.rows(0, "near") {
        let _ = writeln!(text, "{row}");
    }
    text
}

#[test]
fn bounds_change_no_result() {
    let (mut derived, mut failed) = (0, 0);
    for seed in 0..120 {
        let conditions = CONDITIONS[seed as usize % CONDITIONS.len()];
        let kind = seed / 3 % 3;
        let hint = ["", "index(b, \"ordered\", keys(3, 2))."][seed as usize % 2];
        let bounded = program(conditions, hint, str::to_owned);
        let plain = program(conditions, "", |condition| format!("(({condition}) == true)"));
        let [with, without] = [&bounded, &plain].map(|program| {
            let mut network = Network::new(program, 1, seed);
            run(&mut network, &mut Rng::new(seed), kind)
        });
        assert_eq!(with, without, "seed {seed}\n{bounded}");
        derived += with.lines().count();
        failed += with.matches("FAILED").count();
    }
    assert!(derived > 5000 && failed > 50, "{derived} lines, {failed} failures");
}
