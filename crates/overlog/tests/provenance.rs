//! The records of traced rules, as users see them.

use tidemill_event::Conditions;
use tidemill_overlog::fleet::{self, NodeId};
use tidemill_overlog::node::{Event, RECORDED_MAX};
use tidemill_relation::text::{DisplayTuple, parse_tuple};
use tidemill_relation::tuple_id::Naming;
use tidemill_relation::{OwnedValue, Value};

use crate::harness::{Network, program};

/// The id of a tuple in text form.
fn id(tuple: &str) -> String {
    let (name, columns): (String, Vec<OwnedValue>) = parse_tuple(tuple).unwrap();
    Naming::new(&name).id(columns.iter().map(OwnedValue::get)).to_string()
}

/// The executions at a node as `RULE KIND INPUT -> OUTPUT`, with `away` for outputs that were sent,
/// sorted; ids of these tuples as the tuples, others as `?`.
fn executions(network: &Network, node: u32, tuples: &[&str]) -> Vec<String> {
    let ids: Vec<String> = tuples.iter().map(|tuple| id(tuple)).collect();
    let name = |value: &Value<'_>| {
        let text = value.as_int().map_or_else(String::new, |id| id.to_string());
        ids.iter().position(|it| *it == text).map_or("?", |at| tuples[at]).to_owned()
    };
    let mut found = Vec::new();
    let nodes = network.world.fleet_ref();
    fleet::rows(nodes, NodeId(node), "sys::ruleExec", |row| {
        let [_, rule, input, output, remote, _, _, kind] = row else { panic!("{row:?}") };
        let away = if remote.equal(&Value::Bool(true)) { " away" } else { "" };
        let text = |value: &Value<'_>| value.as_str().unwrap_or("?").to_owned();
        let (rule, kind, input, output) = (text(rule), text(kind), name(input), name(output));
        found.push(format!("{rule} {kind} {input} -> {output}{away}"));
    });
    found.sort();
    found
}

/// The sources of a tuple in the record of a node.
fn sources(network: &Network, node: u32, tuple: &str) -> Vec<String> {
    let id = id(tuple);
    let rows = network.rows(node, "sys::tuple").into_iter();
    let of_tuple = |row: String| {
        let (_, columns): (String, Vec<OwnedValue>) = parse_tuple(&row).unwrap();
        let text = |at: usize| DisplayTuple::new("", [columns[at].get()].into_iter()).to_string();
        (text(1) == format!("({id})")).then(|| {
            assert_eq!(text(1), text(3), "a tuple has one id everywhere");
            columns[2].get().as_str().unwrap().to_owned()
        })
    };
    rows.filter_map(of_tuple).collect()
}

#[test]
fn an_execution_says_what_started_it_and_what_it_joined() {
    let source = r#"
        materialize(a, infinity, infinity, keys(1, 2)).
        materialize(b, infinity, infinity, keys(1, 2)).
        materialize(out, infinity, infinity, keys(1, 2)).
        a("n0:1", 1). a("n0:1", 2). b("n0:1", 1).
        trace(out).
        r1 out(@N, X) :- ask(@N), a(@N, X), b(@N, X), notin out(@N, X).
        r2 delete b(@N, X) :- out(@N, X).
        r3 unseen(@N) :- ask(@N).
    "#;
    let mut network = Network::new(source, 1, 1);
    network.run_to(0.1).inject(0, r#"ask("n0:1")"#).run_for(1.0);
    let tuples = [r#"ask("n0:1")"#, r#"a("n0:1", 1)"#, r#"b("n0:1", 1)"#, r#"out("n0:1", 1)"#];
    // Deletions are not recorded, and `ask` is not traced.
    assert_eq!(network.rows(0, "b"), [""; 0]);
    assert_eq!(
        executions(&network, 0, &tuples),
        [
            r#"r1 EVENT ask("n0:1") -> out("n0:1", 1)"#,
            r#"r1 PRECOND a("n0:1", 1) -> out("n0:1", 1)"#,
            r#"r1 PRECOND b("n0:1", 1) -> out("n0:1", 1)"#,
        ]
    );
    for tuple in tuples {
        assert_eq!(sources(&network, 0, tuple), ["n0:1"], "{tuple}");
    }
    assert_eq!(sources(&network, 0, r#"a("n0:1", 2)"#), [""; 0]);
    let exec = network.rows(0, "sys::ruleExec");
    assert!(exec.iter().all(|row| row.contains("0.100000000t, 0.100000000t")), "{exec:?}");
}

#[test]
fn what_a_traced_relation_starts_is_recorded_too() {
    let source = r#"
        trace(b).
        r1 b(@N, X) :- a(@N, X).
        r2 c(@N, X) :- b(@N, X).
        r3 d(@N, X) :- c(@N, X).
    "#;
    let mut network = Network::new(source, 1, 1);
    network.inject(0, r#"a("n0:1", 1)"#).run_for(1.0);
    let tuples = [r#"a("n0:1", 1)"#, r#"b("n0:1", 1)"#, r#"c("n0:1", 1)"#];
    assert_eq!(
        executions(&network, 0, &tuples),
        [r#"r1 EVENT a("n0:1", 1) -> b("n0:1", 1)"#, r#"r2 EVENT b("n0:1", 1) -> c("n0:1", 1)"#,]
    );
}

#[test]
fn behind_a_minimum_stands_the_row_that_wins_and_behind_a_count_all() {
    let source = r#"
        materialize(t, infinity, infinity, keys(1, 2)).
        t("n0:1", 5). t("n0:1", 3). t("n0:1", 4).
        trace(least). trace(count).
        r1 least(@N, a_MIN<X>) :- ask(@N), t(@N, X).
        r2 count(@N, a_COUNT<*>) :- ask(@N), t(@N, X).
    "#;
    let mut network = Network::new(source, 1, 1);
    network.run_to(0.1).inject(0, r#"ask("n0:1")"#).run_for(1.0);
    let [ask, least, count] = [r#"ask("n0:1")"#, r#"least("n0:1", 3)"#, r#"count("n0:1", 3)"#];
    let t = [3, 4, 5].map(|x| format!(r#"t("n0:1", {x})"#));
    let tuples = [ask, least, count, &t[0], &t[1], &t[2]];
    assert_eq!(
        executions(&network, 0, &tuples),
        [
            r#"r1 EVENT ask("n0:1") -> least("n0:1", 3)"#,
            r#"r1 PRECOND t("n0:1", 3) -> least("n0:1", 3)"#,
            r#"r2 EVENT ask("n0:1") -> count("n0:1", 3)"#,
            r#"r2 PRECOND t("n0:1", 3) -> count("n0:1", 3)"#,
            r#"r2 PRECOND t("n0:1", 4) -> count("n0:1", 3)"#,
            r#"r2 PRECOND t("n0:1", 5) -> count("n0:1", 3)"#,
        ]
    );
}

const PATHS: &str = r#"
    materialize(link, infinity, infinity, keys(1, 2, 3)).
    materialize(path, infinity, infinity, keys(1, 2, 3)).
    materialize(reach, infinity, infinity, keys(1)).
    r1 path(@N, X, Y) :- link(@N, X, Y).
    r2 path(@N, X, Z) :- link(@N, X, Y), path(@N, Y, Z), X != Z.
    r3 reach(@N, a_COUNT<*>) :- path(@N, X, Y).
"#;

#[test]
fn views_record_the_rows_that_a_row_was_derived_from() {
    let source = format!("{PATHS} trace(path). trace(reach).");
    let mut network = Network::new(&source, 1, 1);
    network.inject(0, r#"link("n0:1", 1, 2)"#).inject(0, r#"link("n0:1", 2, 3)"#).run_for(1.0);
    let name = |name: &str, x: i64, y: i64| format!(r#"{name}("n0:1", {x}, {y})"#);
    let links = [name("link", 1, 2), name("link", 2, 3)];
    let paths = [name("path", 1, 2), name("path", 2, 3), name("path", 1, 3)];
    let counts = [1, 3].map(|count| format!(r#"reach("n0:1", {count})"#));
    let tuples: Vec<&str> = links.iter().chain(&paths).chain(&counts).map(|it| &**it).collect();
    let found = executions(&network, 0, &tuples);
    let expected = [
        format!("r1 EVENT {} -> {}", links[0], paths[0]),
        format!("r1 EVENT {} -> {}", links[1], paths[1]),
        // The row inserted in the commit, here the path, triggered it.
        format!("r2 EVENT {} -> {}", paths[1], paths[2]),
        format!("r2 PRECOND {} -> {}", links[0], paths[2]),
    ];
    for line in expected {
        assert!(found.contains(&line), "{line} in {found:#?}");
    }
    // An aggregate over a table is executed in two parts: the group, then its row.
    for line in [
        format!("r3 EVENT {} -> ?", paths[0]),
        format!("r3 EVENT ? -> {}", counts[0]),
        format!("r3 EVENT ? -> {}", counts[1]),
    ] {
        assert!(found.contains(&line), "{line} in {found:#?}");
    }
    let before = found.len();
    // Removals are not recorded, but the count changes.
    network.delete(0, &links[1]).run_for(1.0);
    assert_eq!(network.rows(0, "path").len(), 1);
    let after = executions(&network, 0, &tuples);
    let more: Vec<&String> = after.iter().filter(|it| !it.starts_with("r3")).collect();
    assert_eq!(more.len(), found.iter().filter(|it| !it.starts_with("r3")).count());
    assert!(after.len() >= before);
}

#[test]
fn tracing_changes_no_other_row() {
    let links: Vec<String> = (0..60u64)
        .map(|at| format!(r#"link("n0:1", {}, {})"#, at * 7 % 20, (at * 13 + at / 7) % 20))
        .collect();
    let run = |source: &str| {
        let mut network = Network::new(source, 1, 1);
        for (at, link) in links.iter().enumerate() {
            network.inject(0, link);
            if at % 9 == 8 {
                network.run_for(0.1).delete(0, &links[at / 2]);
            }
        }
        network.run_for(1.0);
        let node = network.world.fleet_ref().node(NodeId(0)).expect("it lives");
        // No turn is for the record alone.
        let turns = node.counters().turns;
        (network.rows(0, "path"), network.rows(0, "reach"), network.rows(0, "seen"), turns)
    };
    let source = format!(
        "{PATHS}
         materialize(seen, infinity, infinity, keys(1, 2)).
         r4 seen(@N, Y) :- path(@N, X, Y), link(@N, Y, Z), f_rand() >= 0."
    );
    let plain = run(&source);
    assert!(plain.0.len() > 30 && plain.2.len() > 5);
    assert_eq!(
        run(&format!("{source} trace(path). trace(reach). trace(seen). trace(link).")),
        plain
    );
}

/// Rows are made of the record when the turn ends, if rules read them, or when something else reads
/// the tables, perhaps much later: they are the same.
#[test]
fn the_record_is_the_same_whenever_its_rows_are_made() {
    let rules = r#"
        materialize(peer, infinity, infinity, keys(1, 2)).
        materialize(heard, 2, 20, keys(1, 2, 3)).
        materialize(most, infinity, infinity, keys(1)).
        materialize(known, infinity, infinity, keys(1, 2)).
        trace(tell). trace(heard). trace(most). trace(known).
        peer("n0:1", "n1:1"). peer("n0:1", "n2:1"). peer("n1:1", "n2:1"). peer("n2:1", "n0:1").
        r1 tell(@P, N, X) :- word(@N, X), peer(@N, P), X < 30.
        r2 heard(@N, From, X) :- tell(@N, From, X).
        r3 word(@N, X + 7) :- tell(@N, _, X).
        r4 most(@N, a_MAX<X>) :- heard(@N, _, X).
        r5 known(@P, N) :- peer(@N, P), most(@P, X), X > 3.
        r6 count(@N, X, a_COUNT<*>) :- word(@N, X), heard(@N, _, _).
    "#;
    let run = |more: &str, tables: &str| {
        let conditions = Conditions { loss: 0.1, ..Conditions::default() };
        let source = format!("{rules}{more}{tables}");
        let mut network = Network::under(conditions, &source, 3, 5);
        network.run_to(0.1);
        for x in 0..12 {
            network.inject(x % 3, &format!(r#"word("n{}:1", {x})"#, x % 3));
            // Some turns have passed, or many.
            if x % 5 == 4 {
                network.run_for(0.3);
            }
        }
        network.run_for(3.0);
        let of_record = ["sys::ruleExec", "sys::tuple", "sys::content"];
        let rows = |node| of_record.map(|table| network.rows(node, table));
        (0..3).map(rows).collect::<Vec<_>>()
    };
    let reads = "r9 never(@N, R) :- asked(@N), sys::ruleExec(@N, R, _, _, _, _, _, _).";
    let sized = "materialize(sys::ruleExec, infinity, 30, keys(1, 2, 3, 4, 5, 6, 7, 8)).
        materialize(sys::tuple, 1, infinity, keys(2, 3, 4)).";
    for tables in ["", sized] {
        let (late, at_once) = (run("", tables), run(reads, tables));
        let count = |rows: &[[Vec<String>; 3]]| rows.iter().flatten().map(Vec::len).sum::<usize>();
        assert!(count(&late) > 150, "{}", count(&late));
        assert_eq!(late, at_once);
    }
}

#[test]
fn views_across_nodes_lead_to_the_node_where_their_rows_were_derived() {
    let source = r#"
        materialize(link, infinity, infinity, keys(1, 2)).
        materialize(known, infinity, infinity, keys(1, 2)).
        trace(known).
        r1 known(@Y, X) :- link(@X, Y).
    "#;
    let mut network = Network::new(source, 2, 1);
    network.inject(0, r#"link("n0:1", "n1:1")"#).run_for(2.0);
    let (link, known) = (r#"link("n0:1", "n1:1")"#, r#"known("n1:1", "n0:1")"#);
    assert_eq!(network.rows(1, "known"), [known]);
    assert_eq!(executions(&network, 0, &[link, known]), [format!("r1 EVENT {link} -> ? away")]);
    assert_eq!(executions(&network, 1, &[link, known]), [format!("r1 EVENT ? -> {known}")]);
    // The row that was shipped has one id at both.
    let column = |node: u32, at: usize| {
        let rows = network.rows(node, "sys::ruleExec");
        let (_, columns): (String, Vec<OwnedValue>) = parse_tuple(&rows[0]).unwrap();
        columns[at].get().as_int().unwrap()
    };
    let shipped = column(0, 3);
    assert_eq!(shipped, column(1, 2));
    let row = format!(r#"sys::tuple("n1:1", {shipped}, "n0:1", {shipped})"#);
    assert!(network.rows(1, "sys::tuple").contains(&row));
}

/// A chain of nodes that forward a word, and rules that walk from the end to its origin.
const CHAIN: &str = r#"
    materialize(next, infinity, infinity, keys(1)).
    materialize(done, infinity, infinity, keys(1, 2)).
    materialize(root, infinity, infinity, keys(1, 2, 3)).
    materialize(step, infinity, infinity, keys(1, 2, 3)).
    next("n0:1", "n1:1"). next("n1:1", "n2:1"). next("n2:1", "n3:1").
    trace(word).
    r1 word(@M, W) :- word(@N, W), next(@N, M).
    r2 done(@N, W) :- word(@N, W), notin next(@N, _).

    w1 walk(@N, N, I) :- done(@N, W), I := f_tupleId("done", [N, W]).
    w2 made(@S, R, J) :- walk(@N, R, I), sys::tuple(@N, I, S, J).
    w3 found(@N, R, I, a_COUNT<*>) :- made(@N, R, I), sys::ruleExec(@N, _, _, I, _, _, _, "EVENT").
    w4 walk(@N, R, J) :- made(@N, R, I), sys::ruleExec(@N, _, J, I, _, _, _, "EVENT").
    w5 step(@R, N, J) :- made(@N, R, I), sys::ruleExec(@N, "r1", J, I, true, _, _, "EVENT").
    w6 root(@R, N, I) :- found(@N, R, I, 0).
"#;

#[test]
fn rules_walk_from_an_output_to_its_origin_across_lossy_nodes() {
    let run = || {
        let conditions = Conditions { loss: 0.1, ..Conditions::default() };
        let mut network = Network::under(conditions, CHAIN, 4, 3);
        network.run_to(0.1);
        for word in 0..20 {
            network.inject(0, &format!(r#"word("n0:1", {word})"#)).run_for(0.05);
        }
        network.run_for(5.0);
        let all = ["done", "root", "step", "sys::ruleExec", "sys::tuple"];
        let rows = |node| all.map(|table| network.rows(node, table));
        (0..4).map(rows).collect::<Vec<_>>()
    };
    let first = run();
    let [done, root, steps, ..] = &first[3];
    assert!(done.len() > 5 && done.len() < 20, "some are lost: {}", done.len());
    assert!(root.len() > 2, "{root:?}");
    for row in root {
        let (_, columns): (String, Vec<OwnedValue>) = parse_tuple(row).unwrap();
        assert_eq!(columns[1].get().as_str(), Some("n0:1"), "{row}");
        let words = (0..20).map(|word| id(&format!(r#"word("n0:1", {word})"#)));
        let given = columns[2].get().as_int().unwrap().to_string();
        assert!(words.into_iter().any(|word| word == given), "{row}");
    }
    assert!(steps.len() >= 3 * root.len());
    assert_eq!(run(), first, "the same program and seed: the same bytes");
}

#[test]
fn a_tuple_that_was_received_has_its_sender_as_source() {
    let mut network = Network::new(CHAIN, 2, 1);
    network.run_to(0.1).inject(0, r#"word("n0:1", 1)"#).run_for(1.0);
    assert_eq!(sources(&network, 0, r#"word("n0:1", 1)"#), ["n0:1"]);
    assert_eq!(sources(&network, 0, r#"word("n1:1", 1)"#), ["n0:1"]);
    assert_eq!(sources(&network, 1, r#"word("n1:1", 1)"#), ["n0:1"]);
    assert_eq!(sources(&network, 1, r#"next("n1:1", "n2:1")"#), ["n1:1"]);
}

#[test]
fn the_record_has_a_size_limit_and_the_oldest_leave() {
    let source = r#"
        materialize(sys::ruleExec, infinity, 4, keys(1, 2, 3, 4, 5, 6, 7, 8)).
        materialize(sys::tuple, infinity, 3, keys(2, 3, 4)).
        trace(b).
        r1 b(@N, X) :- a(@N, X).
    "#;
    let mut network = Network::new(source, 1, 1);
    for x in 0..50 {
        network.inject(0, &format!(r#"a("n0:1", {x})"#)).run_for(0.01);
    }
    let kept = network.rows(0, "sys::ruleExec");
    assert_eq!(kept.len(), 4);
    assert!(kept.iter().any(|row| row.contains(&id(r#"b("n0:1", 49)"#))), "{kept:?}");
    assert_eq!(network.rows(0, "sys::tuple").len(), 3);
    let plain = program("trace(b). r1 b(@N, X) :- a(@N, X).");
    for table in ["sys::ruleExec", "sys::tuple"] {
        let relation = plain.plan().find(table).expect("there although no rule reads it");
        let spec = plain.plan().relation(relation).table().expect("a table");
        assert_eq!(spec.size_max, Some(100_000));
    }
}

#[test]
fn a_turn_records_so_much_and_counts_the_rest() {
    let source = r#"
        materialize(t, infinity, infinity, keys(1, 2)).
        trace(out).
        r1 out(@N, X, Y) :- ask(@N), t(@N, X), t(@N, Y).
    "#;
    let mut network = Network::new(source, 1, 1);
    for x in 0..200 {
        network.inject(0, &format!(r#"t("n0:1", {x})"#));
    }
    network.run_for(0.1).inject(0, r#"ask("n0:1")"#).run_for(0.1);
    let node = network.world.fleet_ref().node(NodeId(0)).expect("it lives");
    // The event and two rows for each of 40,000 results, of which 200 join a row with itself.
    assert_eq!(RECORDED_MAX, 100_000);
    assert_eq!(node.counters().dropped_records, 3 * 40_000 - 100_000);
    assert!(network.rows(0, "sys::ruleExec").len() <= 100_000);
}

#[test]
fn a_commit_notes_so_many_derivations_of_views_and_counts_the_rest() {
    let source = r#"
        materialize(t, infinity, infinity, keys(1, 2)).
        materialize(go, infinity, infinity, keys(1)).
        materialize(pair, infinity, infinity, keys(1, 2, 3)).
        trace(pair).
        r1 pair(@N, X, Y) :- go(@N), t(@N, X), t(@N, Y).
    "#;
    let mut network = Network::new(source, 1, 1);
    for x in 0..320 {
        network.inject(0, &format!(r#"t("n0:1", {x})"#));
    }
    network.run_for(0.1).inject(0, r#"go("n0:1")"#).run_for(0.1);
    assert_eq!(network.rows(0, "pair").len(), 320 * 320);
    let node = network.world.fleet_ref().node(NodeId(0)).expect("it lives");
    // Of 102,400 derivations 2400 are not recorded, nor two thirds of the inputs of the others.
    assert_eq!(node.counters().dropped_records, 2_400 + 3 * 100_000 - 100_000);
}

#[test]
fn over_connections_the_sender_is_the_node_too() {
    let source = r#"
        trace(word).
        r1 word(@M, W) :- send(@N, M, W).
    "#;
    let mut network = Network::of_streams(source, 2);
    let [from, to] = [0, 1].map(|node| {
        let address = network.world.fleet_ref().address(NodeId(node));
        address.expect("a node").to_owned()
    });
    network.inject(0, &format!(r#"send("{from}", "{to}", 1)"#));
    let word = format!(r#"word("{to}", 1)"#);
    for _ in 0..100 {
        network.run_for(0.05);
        if !sources(&network, 1, &word).is_empty() {
            break;
        }
    }
    assert_eq!(sources(&network, 1, &word), [from]);
}

#[test]
fn what_the_record_starts_is_not_recorded() {
    let source = r#"
        materialize(seen, infinity, infinity, keys(1, 2, 3)).
        trace(b). trace(e). trace(seen).
        r1 b(@N, X) :- a(@N, X).
        r2 e(@N, R, I) :- sys::ruleExec(@N, R, I, _, _, _, _, _).
        r3 f(@N, R, I) :- e(@N, R, I).
        r4 seen(@N, R, I) :- f(@N, R, I).
        r5 seen(@N, "tuple", I) :- sys::tuple(@N, I, _, _).
    "#;
    let mut network = Network::new(source, 1, 1);
    network.inject(0, r#"a("n0:1", 1)"#).run_for(1.0);
    assert_eq!(
        executions(&network, 0, &[r#"a("n0:1", 1)"#, r#"b("n0:1", 1)"#]),
        [r#"r1 EVENT a("n0:1", 1) -> b("n0:1", 1)"#]
    );
    assert_eq!(network.rows(0, "seen").len(), 3);
}

#[test]
fn a_program_without_a_trace_has_no_record() {
    let mut network = Network::new("r1 b(@N, X) :- a(@N, X).", 1, 1);
    network.inject(0, r#"a("n0:1", 1)"#).run_for(1.0);
    assert!(network.world.fleet_ref().program().compiled.traces.is_none());
    assert!(network.world.fleet_ref().program().plan().find("sys::ruleExec").is_none());
    // Tracing does not enlarge events of programs without traces.
    assert!(size_of::<Event>() <= 40);
}

#[test]
fn the_record_survives_another_program_and_goes_on() {
    let source = "trace(b). r1 b(@N, X) :- a(@N, X).";
    let mut network = Network::new(source, 1, 1);
    network.inject(0, r#"a("n0:1", 1)"#).run_for(1.0);
    network.replace("trace(b). r2 b(@N, X) :- a(@N, X).");
    network.inject(0, r#"a("n0:1", 2)"#).run_for(1.0);
    let tuples = [r#"a("n0:1", 1)"#, r#"a("n0:1", 2)"#, r#"b("n0:1", 1)"#, r#"b("n0:1", 2)"#];
    assert_eq!(
        executions(&network, 0, &tuples),
        [r#"r1 EVENT a("n0:1", 1) -> b("n0:1", 1)"#, r#"r2 EVENT a("n0:1", 2) -> b("n0:1", 2)"#,]
    );
}
