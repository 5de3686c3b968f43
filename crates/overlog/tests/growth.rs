//! The cost of a program grows with its rows, not with their square.

use std::time::Duration;

use crate::harness::Network;
use tidemill_support::cpu;

/// The CPU time of a program whose event `ins` occurs `rows` times, in one turn.
fn taken(program: &str, rows: usize) -> Duration {
    let source = format!(
        "g1 ins(@N, 1) :- periodic(@N, _, 1, 1).\n\
         g2 ins(@N, I + 1) :- ins(@N, I), I < {rows}.\n{program}"
    );
    let mut network = Network::new(&source, 1, 1);
    let start = cpu::of_thread();
    network.run_for(5.0);
    cpu::of_thread() - start
}

/// Eight times the rows take less than a fourth of what their square would.
fn grows_by_its_rows(program: &str) {
    const ROWS: usize = 3000;
    let once = (0..3).map(|_| taken(program, ROWS)).min().expect("three");
    let more = taken(program, 8 * ROWS);
    assert!(more < once * 16, "{program}: {once:?} and {more:?}");
}

/// A key with few values, for each of which the latest row wins.
#[test]
fn many_rows_for_the_place_of_one() {
    let latest = "materialize(t, infinity, infinity, keys(2)).
        materialize(latest, infinity, infinity, keys(2)).
        t1 t(@N, I, I % 3) :- ins(@N, I).
        v1 latest(@N, X, I) :- t(@N, I, X).";
    grows_by_its_rows(latest);
    grows_by_its_rows(&format!(
        "{latest} d1 delete t(@N, I, _) :- periodic(@N, _, 2, 1), t(@N, I, _)."
    ));
}

/// A condition that selects the row.
#[test]
fn equations_between_rows() {
    let tables = "materialize(t, infinity, infinity, keys(2)).
        materialize(u, infinity, infinity, keys(2)).
        materialize(w, infinity, infinity, keys(2, 3)).
        t1 t(@N, I) :- ins(@N, I).
        u1 u(@N, J) :- ins(@N, I), J := I - 1.";
    for condition in ["J == I", "J == I + 1", "I - 2 == J", "7 - J == 5 - I + 1"] {
        grows_by_its_rows(&format!("{tables} w1 w(@N, I, J) :- u(@N, I), t(@N, J), {condition}."));
        let later = "q(@N, 0) :- periodic(@N, _, 2, 1). q(@N, I + 1) :- q(@N, I), u(@N, I).";
        grows_by_its_rows(&format!(
            "{tables} {later} o1 o(@N, J) :- q(@N, I), t(@N, J), {condition}."
        ));
    }
}

/// Conditions that bound the rows.
#[test]
fn ranges_between_rows() {
    let tables = "materialize(t, infinity, infinity, keys(2)).
        materialize(u, infinity, infinity, keys(2)).
        materialize(w, infinity, infinity, keys(2, 3)).
        t1 t(@N, I * 3) :- ins(@N, I).
        u1 u(@N, J) :- ins(@N, I), J := I * 3 - 1.";
    for conditions in ["J >= I, J < I + 5", "J in [I - 2, I + 2)", "J + 4 > I && J - 1 <= I"] {
        let later = "q(@N, 0) :- periodic(@N, _, 2, 1). q(@N, I + 1) :- q(@N, I), I < 9000.";
        grows_by_its_rows(&format!(
            "{tables} {later} o1 o(@N, J) :- q(@N, I), u(@N, J), {conditions}."
        ));
    }
    let view = "w1 w(@N, I, J) :- u(@N, I), t(@N, J), J >= I, J < I + 5.";
    grows_by_its_rows(&format!("{tables} {view}"));
}

/// Equal rows of a bag, each of which is reported when the bag is emptied.
#[test]
fn equal_rows_of_a_bag() {
    grows_by_its_rows(
        "materialize(t, infinity, infinity, keys()).
        t1 t(@N, 7) :- ins(@N, I).
        d1 delete t(@N, X) :- periodic(@N, _, 2, 1), t(@N, X).",
    );
}
