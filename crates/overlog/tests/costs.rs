//! The costs of rules, and when they are measured.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tidemill_event::Sim;
use tidemill_overlog::fleet::{self, NodeId, World};
use tidemill_overlog::node::{Engine, Profile, Worker};
use tidemill_relation::cost::Cost;

use crate::harness::{Network, program};

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
}

/// A clock that advances by 10 ns on each read.
fn clock() -> u64 {
    NOW.set(NOW.get() + 10);
    NOW.get()
}

/// `ask` finds 3 of 5 rows of `t` by an index, and each of these looks up one of `u`; `big` is a
/// view over both.
const JOIN: &str = r#"
    materialize(t, infinity, infinity, keys(1, 2, 3)).
    materialize(u, infinity, infinity, keys(1, 2)).
    materialize(big, infinity, infinity, keys(1, 2, 3)).
    t("n0:1", 1, 10). t("n0:1", 1, 11). t("n0:1", 1, 12). t("n0:1", 2, 10). t("n0:1", 3, 10).
    u("n0:1", 10, "a"). u("n0:1", 11, "b").
    r1 found(@N, X, W) :- ask(@N, X), t(@N, X, Y), u(@N, Y, W).
    r2 done(@N, X) :- found(@N, X, W), W == "a".
    v1 big(@N, X, W) :- t(@N, X, Y), u(@N, Y, W).
"#;

fn costs(profile: &Profile) -> BTreeMap<(String, String), Cost> {
    let of_rules = profile.costs.iter().filter_map(|(spot, cost)| match &spot.worker {
        Worker::Rule { rule, part, .. } => {
            Some(((spot.turn.clone(), format!("{rule} {part}")), *cost))
        }
        Worker::Operator(_) | Worker::Engine(_) => None,
    });
    of_rules.collect()
}

/// The costs of two requests, after the facts are inserted.
fn asked(interprets: bool) -> Network {
    let mut network = Network::new(JOIN, 1, 1);
    if interprets {
        let mut program = program(JOIN);
        program.interpret();
        fleet::replace(&mut network.world, &mut network.events, Arc::new(program)).unwrap();
    }
    network.run_to(0.1);
    network.world.fleet().measure(clock);
    network.inject(0, r#"ask("n0:1", 1)"#).inject(0, r#"ask("n0:1", 1)"#).run_for(0.1);
    network
}

#[test]
fn the_probes_of_a_known_join_are_known_compiled_and_interpreted() {
    for interprets in [false, true] {
        let network = asked(interprets);
        let profile = network.world.fleet_ref().profile();
        let costs = costs(&profile);
        let of = |part: &str| costs[&("event ask".to_owned(), part.to_owned())];
        // Three rows of `t`, and two of them find a row of `u`.
        let joined = Cost { fired: 2, derived: 4, probes: 10, ns: 20 };
        assert_eq!(of("r1 on event ask"), joined, "{interprets}");
        let filtered = Cost { fired: 4, derived: 2, probes: 0, ns: 40 };
        assert_eq!(of("r2 on event found"), filtered, "{interprets}");
        assert_eq!(costs.len(), 2, "{costs:?}");
    }
}

#[test]
fn what_is_measured_adds_up_to_what_is_counted() {
    let mut network = Network::new(JOIN, 1, 1);
    network.world.fleet().measure(clock);
    network.run_to(0.1);
    for x in 1..4 {
        network.inject(0, &format!(r#"ask("n0:1", {x})"#)).run_for(0.1);
    }
    let fleet = network.world.fleet_ref();
    let node = fleet.node(NodeId(0)).unwrap();
    let (mut fired, mut derived) = (0, 0);
    let profile = fleet.profile();
    let rules = fleet.rule_costs();
    assert!(profile.rules().into_iter().all(|(rule, cost)| rules.get(rule) == Some(&cost)));
    for (rule, cost) in rules {
        if rule != "v1" {
            (fired, derived) = (fired + cost.fired, derived + cost.derived);
        }
    }
    let counted = node.counters().rules.iter().map(|rule| (rule.fired, rule.derived));
    let counted = counted.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    assert_eq!((fired, derived), counted);
    assert!(fired > 3, "{fired}");
    // The facts were one commit, so each result of the view was found from `u`, or from `t`.
    let view = profile.rules().get("v1").copied().expect("it ran");
    assert_eq!((view.fired, view.derived), (7, 4), "{view:?}");
    let begun = profile.costs.iter().filter(|(spot, _)| {
        spot.worker == Worker::Engine(Engine::Begin) && spot.turn != "turn under way"
    });
    let turns: u64 = begun.map(|(_, cost)| cost.fired).sum();
    assert_eq!(turns, node.counters().turns);
}

#[test]
fn costs_outlive_nodes_and_programs() {
    let mut network = asked(false);
    let before = costs(&network.world.fleet_ref().profile());
    network.crash(0).restart(0).run_for(0.1);
    network.inject(0, r#"ask("n0:1", 1)"#).run_for(0.1);
    network.replace(&format!("{JOIN} r3 more(@N) :- ask(@N, X)."));
    network.inject(0, r#"ask("n0:1", 1)"#).run_for(0.1);
    let after = costs(&network.world.fleet_ref().profile());
    let fired = |of: &BTreeMap<(String, String), Cost>, part: &str| {
        of.get(&("event ask".to_owned(), part.to_owned())).map_or(0, |cost| cost.fired)
    };
    assert_eq!((fired(&before, "r1 on event ask"), fired(&after, "r1 on event ask")), (2, 4));
    assert_eq!((fired(&before, "r3 on event ask"), fired(&after, "r3 on event ask")), (0, 1));
    let fleet = network.world.fleet_ref();
    assert_eq!(fleet.rule_costs(), fleet.profile().rules());
    assert_eq!(fleet.rule_costs().get("r1").map(|cost| cost.fired), Some(4));
}

/// Without a profile and a program that reads the time, there is no clock.
#[test]
fn nothing_is_measured_where_no_rule_reads_the_time() {
    let tick = "r1 tick(@N, E) :- periodic(@N, E, 0.01, 5).";
    let counts = "r2 x(@N, R, F) :- sys::rule(@N, R, F, _, _).";
    let times = "r2 x(@N, R, Ns) :- sys::rule(@N, R, _, _, Ns).";
    let looked_up = "r2 x(@N, R) :- tick(@N, _), sys::rule(@N, R, _, _, Ns), Ns > 5.";
    for (more, is_measured) in [("", false), (counts, false), (times, true), (looked_up, true)] {
        let source = format!("{tick} {more}");
        let mut network = Network::of_streams(&source, 1);
        network.run_for(0.1);
        let fleet = network.world.fleet_ref();
        assert_eq!(fleet.is_measuring(), is_measured, "{more}");
        assert_eq!(fleet.profile() == Profile::default(), !is_measured, "{more}");
        // In a simulation no time passes within a turn.
        let mut simulated = Network::on(Sim::new(1), &source, 1, 1);
        simulated.run_for(0.1);
        assert!(!simulated.world.fleet_ref().is_measuring(), "{more}");
    }
}

#[test]
fn rules_read_how_long_rules_took_and_in_a_simulation_nothing() {
    let source = "
        materialize(took, infinity, infinity, keys(1, 2)).
        r1 tick(@N, E) :- periodic(@N, E, 0.01).
        r2 took(@N, R, Ns) :- sys::rule(@N, R, _, _, Ns).";
    let mut network = Network::of_streams(source, 1);
    network.run_for(1.3);
    let rows = network.rows(0, "took");
    let ns = rows.iter().find_map(|row| row.split(", \"r1\", ").nth(1));
    let ns: u64 = ns.and_then(|ns| ns.trim_end_matches(')').parse().ok()).expect("a time");
    assert!(ns > 0, "{rows:?}");
    let mut simulated = Network::on(Sim::new(1), source, 1, 1);
    simulated.world.fleet().measure(clock);
    simulated.run_for(1.3);
    let rows = simulated.rows(0, "took");
    assert!(rows.iter().all(|row| row.ends_with(", null)")) && rows.len() == 2, "{rows:?}");
}

#[test]
fn tools_have_it_measured_while_they_look() {
    let mut network = Network::of_streams("r1 tick(@N, E) :- periodic(@N, E, 0.01).", 1);
    network.run_for(0.05);
    fleet::look_at_costs(&mut network.world, &mut network.events);
    network.run_for(2.0);
    fleet::look_at_costs(&mut network.world, &mut network.events);
    network.run_for(1.5);
    assert!(network.world.fleet_ref().is_measuring());
    let end = network.events.now() + Duration::from_secs(10);
    while network.world.fleet_ref().is_measuring() {
        assert!(network.events.now() < end, "it is still measured");
        network.run_for(0.1);
    }
    let profile = network.world.fleet_ref().profile();
    let measured = profile.rules().get("r1").copied().expect("it ran");
    network.run_for(0.1);
    assert_eq!(network.world.fleet_ref().profile(), profile);
    assert!(measured.fired > 100 && measured.ns > 0, "{measured:?}");
}
