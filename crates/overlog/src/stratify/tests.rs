//! The order of views, and cycles that have none.

use crate::compile::testing::{compiled, errors};

/// The visible heads of each stratum, in order.
fn strata(text: &str) -> Vec<Vec<String>> {
    let plan = compiled(text).plan;
    let visible = |heads: &[_]| -> Vec<String> {
        let relations = heads.iter().map(|head| plan.relation(*head));
        relations.filter(|relation| !relation.hidden).map(|it| it.name.clone()).collect()
    };
    let heads = plan.strata.iter().map(|stratum| visible(&stratum.heads));
    heads.filter(|heads| !heads.is_empty()).collect()
}

/// Tables of a location and one column, hard state.
fn with_tables(names: &str, rules: &str) -> String {
    let table = |name: char| format!("materialize({name}, infinity, infinity, keys(1, 2)).\n");
    names.chars().map(table).collect::<String>() + rules
}

#[test]
fn what_is_needed_comes_first_and_program_order_decides_the_rest() {
    let text = with_tables(
        "abcde",
        "c(@N, X) :- b(@N, X). e(@N, X) :- a(@N, X). d(@N, X) :- a(@N, X), notin c(@N, X). \
         b(@N, X) :- a(@N, X).",
    );
    assert_eq!(strata(&text), [["e"], ["b"], ["c"], ["d"]]);
}

#[test]
fn heads_that_need_each_other_share_a_stratum() {
    let text = with_tables(
        "abcd",
        "b(@N, X) :- a(@N, X). b(@N, X) :- c(@N, X). c(@N, X) :- b(@N, X), X > 1. \
         d(@N, X) :- a(@N, X), notin c(@N, X).",
    );
    assert_eq!(strata(&text), [vec!["b", "c"], vec!["d"]]);
}

#[test]
fn negation_on_a_cycle_is_refused_and_the_cycle_printed() {
    let text =
        with_tables("abc", "r1 b(@N, X) :- a(@N, X), notin c(@N, X). r2 c(@N, X) :- b(@N, X).");
    let found = errors(&text);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].code, "unstratified");
    assert_eq!(found[0].message, "a cycle through negation: c -> b -> c");
    let labels: Vec<&str> = found[0].labels.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(labels, ["rule r1 needs the absence of this", "rule r2 depends on this"]);
}

#[test]
fn a_count_on_a_cycle_is_refused() {
    let text = with_tables("ab", "a(@N, a_COUNT<*>) :- b(@N, X). b(@N, X) :- a(@N, X).");
    assert_eq!(errors(&text)[0].message, "a cycle through an aggregate: b -> a -> b");
}

#[test]
fn a_minimum_that_is_alone_on_its_cycle_is_legal() {
    let text = with_tables("ab", "a(@N, a_MIN<X>) :- b(@N, X). b(@N, X) :- a(@N, Y), X := Y + 1.");
    assert_eq!(strata(&text), [["a", "b"]]);
}

/// Each of the two cycles has one minimum, though all heads depend on each other.
#[test]
fn two_minima_on_cycles_of_their_own_are_legal() {
    let text = with_tables(
        "abc",
        "a(@N, a_MIN<X>) :- c(@N, X). b(@N, a_MAX<X>) :- c(@N, X). \
         c(@N, X) :- a(@N, X). c(@N, X) :- b(@N, X).",
    );
    assert_eq!(strata(&text), [["a", "b", "c"]]);
}

#[test]
fn two_minima_on_one_cycle_are_refused() {
    let text = with_tables("ab", "a(@N, a_MIN<X>) :- b(@N, X). b(@N, a_MAX<X>) :- a(@N, X).");
    assert_eq!(errors(&text)[0].code, "unstratified");
}

#[test]
fn edges_of_event_rules_and_to_other_nodes_do_not_count() {
    let text = with_tables(
        "abc",
        "b(@N, X) :- a(@N, X), notin c(@N, X). c(@X, N) :- b(@N, X). \
         a(@N, X) :- tick(@N), b(@N, X).",
    );
    assert_eq!(errors(&text), []);
}
