//! Bodies of several locations.

use tidemill_relation::plan::{On, Step};

use crate::compile::testing::{compiled, errors};

const TABLES: &str = "
    materialize(p, infinity, infinity, keys(1, 2)).
    materialize(q, infinity, infinity, keys(1, 2)).
    materialize(soft, 30, infinity, keys(1, 2)).
    materialize(out, infinity, infinity, keys(1, 2)).
";

/// The joins and derivation of each strand: `trigger: table, !table -> head`.
fn strands(rules: &str) -> Vec<String> {
    let plan = compiled(&format!("{TABLES}{rules}")).plan;
    let name = |id| plan.relation(id).name.as_str();
    let describe = |strand: &tidemill_relation::plan::Strand| {
        let joined: Vec<String> = strand
            .steps
            .iter()
            .filter_map(|step| match step {
                Step::Join(lookup) => Some(name(lookup.relation).to_owned()),
                Step::Absent(lookup) => Some(format!("!{}", name(lookup.relation))),
                _ => None,
            })
            .collect();
        let trigger = name(strand.trigger.relation);
        format!("{trigger}: {} -> {}", joined.join(", "), name(strand.output.relation))
    };
    plan.strands.iter().map(describe).collect()
}

#[test]
fn each_location_is_visited_as_its_address_becomes_known() {
    let found = strands("r x(@Z) :- e(@A, B), q(@Z, 1), p(@B, Z), p(@A, B).");
    assert_eq!(found, ["e: p -> r::1", "r::1: p -> r::2", "r::2: q -> x"]);
}

#[test]
fn a_head_elsewhere_needs_no_step_of_its_own() {
    assert_eq!(strands("r x(@B) :- e(@A, B), p(@A, B)."), ["e: p -> x"]);
}

#[test]
fn a_negation_waits_for_what_another_node_knows_and_goes_back() {
    let found = strands("r x(@A, C) :- e(@A, B), notin p(@A, C), q(@B, C).");
    assert_eq!(found, ["e:  -> r::1", "r::1: q -> r::2", "r::2: !p -> x"]);
}

#[test]
fn rules_of_one_name_ship_under_different_names() {
    let found = strands("r x(@B) :- e(@A, B), p(@B, _). r y(@B) :- e(@A, B), q(@B, _).");
    assert_eq!(found, ["e:  -> r::1", "r::1: p -> x", "e:  -> r::2", "r::2: q -> y"]);
}

#[test]
fn each_table_of_a_rule_that_fires_on_changes_starts_a_route() {
    let found = strands("r x(@A) :- p(@A, B), q(@B, A).");
    assert_eq!(found, ["p:  -> r::1", "r::1: q -> x", "q:  -> r::2", "r::2: p -> x"]);
}

#[test]
fn soft_state_is_shipped_into_a_table_of_its_lifetime() {
    let rule = "r out(@B, A) :- soft(@A, B), p(@B, A).";
    let plan = compiled(&format!("{TABLES}{rule}")).plan;
    let shipped = plan.relation(plan.find("r::1").expect("a hidden table"));
    assert!(shipped.is_soft());
    assert_eq!(shipped.table().and_then(|spec| spec.lifetime_ns), Some(30_000_000_000));
}

#[test]
fn hard_state_is_exported_by_views() {
    let compiled = compiled(&format!("{TABLES}r out(@B, A) :- p(@A, B), q(@B, A)."));
    let name = |id| compiled.plan.relation(id).name.as_str();
    let exports: Vec<_> =
        compiled.exports.iter().map(|export| (name(export.out), name(export.into))).collect();
    assert_eq!(exports, [("r!out", "r::1")]);
    assert!(compiled.plan.strands.is_empty());
    let wire: Vec<&str> = compiled.wire.iter().map(|id| name(*id)).collect();
    assert_eq!(wire, ["out", "p", "q", "r::1", "soft"]);
}

/// `NODE` is the node on which the event occurred, also in what another node computes.
#[test]
fn what_the_node_knows_of_itself_is_shipped() {
    let plan = compiled(&format!("{TABLES}r x(@B, NODE_ID) :- e(@A, B), p(@B, _).")).plan;
    let [first, second] = &plan.strands[..] else { panic!("two strands") };
    assert!(first.steps.iter().any(|step| matches!(step, Step::Let(..))));
    assert!(second.steps.iter().all(|step| matches!(step, Step::Join(_))));
    assert_eq!(second.trigger.on, On::Event);
}

#[test]
fn an_aggregate_may_be_taken_at_the_last_location_only() {
    let last = "r x(@A, a_COUNT<*>) :- e(@A, B), q(@B, C).";
    assert_eq!(strands(last), ["e:  -> r::1", "r::1: q -> x"]);
    let scattered = "r x(@A, a_COUNT<*>) :- e(@A), p(@A, B), q(@B, C).";
    assert_eq!(errors(&format!("{TABLES}{scattered}"))[0].code, "aggregate-location");
}

#[test]
fn a_location_that_nothing_names_is_unroutable() {
    let found = errors(&format!("{TABLES}r x(@A) :- e(@A), p(@B, A)."));
    assert_eq!(found[0].code, "unroutable");
    assert!(found[0].message.contains("`B`"), "{}", found[0].message);
}

/// Views start where a route leads from, whatever comes first in the text.
#[test]
fn views_find_a_place_to_start_from() {
    let found = compiled(&format!("{TABLES}r out(@A, C) :- q(@B, C), p(@A, B), notin p(@A, C)."));
    assert_eq!(found.exports.len(), 2);
}
