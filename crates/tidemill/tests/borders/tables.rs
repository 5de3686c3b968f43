//! Tables of apps that rules read and write.

use super::found;
use tidemill::program::{LoadOptions, Program};
use tidemill::run::Report;
use tidemill::script::parse;
use tidemill::sim::{SimOptions, Simulation};
use tidemill::tape::taped;
use tidemill_diag::Sources;

/// Counts by source, and drops packets from sources that rules name.
const GATE: &str = "
    app Gate {
        ports { input in; output out; }
        table seen exact(source: ipv4) -> (packets: u64) {
            writer kernel; size 4096; full evict; expire 2; report 1;
        }
        table blocked exact(source: ipv4) -> (class: u8) { writer program; size 3; }
        on packet(in) {
            when ipv4 {
                find blocked(ipv4.source) { drop blocked; }
                find seen(ipv4.source) { count seen.packets; refresh seen; }
                else { insert seen(ipv4.source) -> (1); }
            }
            send out;
        }
    }
    gate :: Gate
    out :: Sink
    src -> gate -> out
";

/// Frames from these hosts of 10.0.0.0/16, and the gate for them.
fn graph(hosts: impl Iterator<Item = u32>, config: &str) -> String {
    let frame = |host: u32| {
        let (high, low) = (host >> 8, host & 255);
        format!(
            "\"02:00:00:00:00:01 > 02:00:00:00:00:09 ip 10.0.{high}.{low} > 10.1.0.1 udp 1 > 2\""
        )
    };
    let frames: Vec<String> = hosts.map(frame).collect();
    format!("src :: Generator {{ frames: [{}]{config} }}\n{GATE}", frames.join(", "))
}

fn load(rules: &str, graph: &str) -> Program {
    Program::of_texts(&[("a.olg", rules), ("a.flow", graph)], &LoadOptions::default())
}

/// The output, the notes, and the result.
fn sim(rules: &str, graph: &str, script: &str) -> (String, String, Report) {
    let program = load(rules, graph);
    assert_eq!(found(&program), "");
    let mut simulation = Simulation::new(program, SimOptions::default()).expect("it can");
    let mut sources = Sources::new();
    let file = sources.add("a.sim", script.to_owned());
    let (script, errors) = parse(file, script);
    assert!(errors.is_empty(), "{errors:?}");
    let unsuited = simulation.script(&script, &sources);
    assert!(unsuited.is_empty(), "{unsuited:?}");
    let (console, data, notes) = taped();
    let report = simulation.run(console).expect("it runs");
    assert!(report.is_well(), "{}\n{}", data.text(), notes.text());
    (data.text(), notes.text(), report)
}

#[test]
fn a_script_does_not_write_what_a_kernel_fills() {
    let rules = "watchmod(gate::seen, \"id\"). watchmod(gate::blocked, \"id\").";
    let program = load(rules, &graph(std::iter::once(1), ""));
    let mut simulation = Simulation::new(program, SimOptions::default()).expect("it can");
    let mut sources = Sources::new();
    let text = "at 1 inject 0 gate::blocked(NODE, b\"\\x0a\\x00\\x00\\x01\", 1)\n\
                at 2 inject 0 gate::seen(NODE, b\"\\x0a\\x00\\x00\\x01\", 1)\n\
                at 3 fact * gate::seen(NODE, b\"\\x0a\\x00\\x00\\x01\", 1)\n";
    let file = sources.add("a.sim", text);
    let (script, errors) = parse(file, text);
    assert!(errors.is_empty(), "{errors:?}");
    let unsuited = simulation.script(&script, &sources);
    let unsuited: String = unsuited.iter().map(|one| sources.render(one)).collect();
    let why = "error[script-tuple]: `gate::seen` is a table of the system, which alone writes it";
    assert_eq!(unsuited, format!("a.sim:2:15: {why}\na.sim:3:13: {why}\n"));
}

/// A counter of an app.
fn count(report: &Report, app: &str, counter: &str) -> u64 {
    let packets = report.packets.as_ref().expect("a graph");
    let (_, counts) = packets.apps.iter().find(|(name, _)| name == app).expect("counted");
    counts.iter().find(|(name, _)| name == counter).map_or(0, |(_, count)| *count)
}

#[test]
fn entries_that_come_and_go_are_changes_and_values_are_reported() {
    let rules = "watchmod(gate::seen, \"id\").";
    // Three packets a second: for three seconds each third is from the second host, then all are
    // from the third, while the others expire.
    let hosts = [1, 1, 2].into_iter().cycle().take(9).chain(std::iter::repeat_n(3, 15));
    let (text, notes, _) = sim(rules, &graph(hosts, ", rate: 3"), "at 9 end");
    assert_eq!(notes, "");
    for (host, all) in [(1, 6), (2, 3), (3, 15)] {
        let of_host = format!("- gate::seen(\"n0:1\", b\"\\x0a\\x00\\x00\\x0{host}\", ");
        let changes: Vec<(f64, &str, u64)> = text
            .lines()
            .filter_map(|line| {
                let (before, packets) = line.split_once(&of_host)?;
                let mut words = before.split(' ');
                let (time, _, letter) = (words.next()?, words.next()?, words.next()?);
                Some((time.parse().ok()?, letter, packets.trim_end_matches(')').parse().ok()?))
            })
            .collect();
        // A row is inserted with the first packet, replaced when its values are reported, and
        // deleted.
        let (came, rest) = changes.split_first().expect("it came");
        assert_eq!((came.1, came.2), ("i", 1), "{text}");
        let (mut known, mut reported) = (1, came.0);
        let (replaced, went) = rest.as_chunks::<2>();
        for [went, came] in replaced {
            assert_eq!((went.1, went.2, came.1), ("d", known, "i"), "{text}");
            // Each second, and when the graph has finished.
            assert!(came.0.fract() == 0.0 || came.2 == all, "{text}");
            assert!(came.2 > known && came.0 > reported, "{text}");
            (known, reported) = (came.2, came.0);
        }
        assert!(known == all && replaced.len() >= 2, "{text}");
        // The last one is still there, as time ends with the packets.
        let went: Vec<(&str, u64)> = went.iter().map(|(_, letter, it)| (*letter, *it)).collect();
        let expected = if host < 3 { vec![("d", all)] } else { Vec::new() };
        assert_eq!(went, expected, "{text}");
    }
}

#[test]
fn changes_wait_in_the_table_while_many_events_wait() {
    let rules = "materialize(slow, infinity, infinity, keys(1, 2)).
        s1 slow(@N, S) :- gate::seen(@N, S, P).";
    // All arrive in one batch of breaths, and a quarter of them fills the inbox.
    let graph = graph(0..4000, "");
    let script = "at 0.5 expect 0 gate::seen(NODE, _, 1) count 4000
        at 0.5 expect 0 slow(NODE, _) count 4000
        at 0.5 end";
    let (_, _, report) = sim(rules, &graph, script);
    assert_eq!(count(&report, "gate", "seen_inserted"), 4000);
}

#[test]
fn a_turn_is_seen_as_a_whole_or_refused_as_a_whole() {
    let rules = "
        one(@N, A, C) :- go(@N, A, B, C).
        two(@N, B, C) :- go(@N, A, B, C).
        r1 gate::blocked(@N, A, C) :- go(@N, A, B, C).
        r2 gate::blocked(@N, B, C) :- go(@N, A, B, C).
        r3 delete gate::blocked(@N, A, C) :- free(@N, A), gate::blocked(@N, A, C).
        r4 no(@N, App, Table, Row, Why) :- flow::refused(@N, App, Table, Row, Why).
        watchmod(no, \"c\").";
    let graph = graph([1, 2].into_iter(), ", packets: 40, rate: 10");
    let script = "
        at 0.5 inject 0 go(NODE, b\"\\x0a\\x00\\x00\\x01\", b\"\\x0a\\x00\\x00\\x05\", 7)
        at 0.6 expect 0 gate::blocked(NODE, _, 7) count 2
        # There is room for one more.
        at 1.5 inject 0 go(NODE, b\"\\x0a\\x00\\x00\\x08\", b\"\\x0a\\x00\\x00\\x09\", 7)
        at 1.6 expect 0 gate::blocked(NODE, _, _) count 2
        # One of the rows that are replaced does not fit.
        at 2.5 inject 0 go(NODE, b\"\\x0a\\x00\\x00\\x01\", b\"\\x0a\\x00\\x00\\x05\", 256)
        at 2.6 expect 0 gate::blocked(NODE, _, 7) count 2
        at 2.7 inject 0 go(NODE, b\"\\x0a\\x00\\x00\\x01\", b\"\\x0a\\x00\\x00\\x05\", 9)
        at 2.8 expect 0 gate::blocked(NODE, _, 9) count 2
        at 2.9 inject 0 free(NODE, b\"\\x0a\\x00\\x00\\x01\")
        at 3.0 expect 0 gate::blocked(NODE, _, _) count 1
        at 5 end";
    let (text, notes, report) = sim(rules, &graph, script);
    let refused = |host: u8, class: u16, why: &str| {
        let row = format!("[b\"\\x0a\\x00\\x00\\x{host:02x}\", {class}]");
        format!("no(\"n0:1\", \"gate\", \"blocked\", {row}, \"{why}\")")
    };
    for line in [
        refused(8, 7, "there is no room beyond 3 entries"),
        refused(1, 256, "256 is no number of 8 bits: `class`"),
    ] {
        assert!(text.contains(&line), "{line} in\n{text}\n{notes}");
    }
    // The first host sent packets at 0, 0.2 and 0.4, and from 3.0 to 3.8.
    assert_eq!(count(&report, "gate", "drop_blocked"), 12);
    assert_eq!(
        (count(&report, "gate", "blocked_entries"), count(&report, "out", "taken_packets")),
        (1, 28)
    );
}

#[test]
fn what_rules_wrote_outlives_the_app_and_what_the_kernel_wrote_does_not() {
    let rules = "gate::blocked(NODE, f_ip(\"10.0.0.1\"), 1).
        watchmod(gate::seen, \"id\").";
    let graph = graph([1, 2].into_iter(), ", packets: 80, rate: 10");
    let script = "
        at 1 expect 0 gate::seen(NODE, _, _) count 1
        at 2.05 kill 0 app gate
        # Packets wait for 100 ms; then no one is seen but who comes.
        at 2.5 expect 0 gate::seen(NODE, b\"\\x0a\\x00\\x00\\x02\", _)
        at 3 expect 1 gate::blocked(NODE, _, _) count 1
        at 3 crash 1
        at 3.1 restart 1
        at 3.5 expect 1 gate::blocked(NODE, _, _) count 1
        at 7.9 end";
    let program = load(rules, &graph);
    assert_eq!(found(&program), "");
    let run = || {
        let program = load(rules, &graph);
        let options = SimOptions { nodes: 2, ..SimOptions::default() };
        let mut simulation = Simulation::new(program, options).expect("it can");
        let mut sources = Sources::new();
        let file = sources.add("a.sim", script.to_owned());
        let (script, errors) = parse(file, script);
        assert!(errors.is_empty(), "{errors:?}");
        assert!(simulation.script(&script, &sources).is_empty());
        let (console, data, notes) = taped();
        let report = simulation.run(console).expect("it runs");
        assert!(report.is_well(), "{}\n{}", data.text(), notes.text());
        (data.text(), notes.text(), report)
    };
    let (text, notes, report) = run();
    // Every inserted row but the last was deleted, whichever crash it was.
    let changes = |letter: &str, node: &str| text.matches(&format!("{node} {letter} - ")).count();
    assert_eq!(changes("i", "n0:1"), changes("d", "n0:1") + 1, "{text}");
    assert!(notes.contains("gate: restarted"), "{notes}");
    // Not a single packet of the first host passed.
    let (blocked, passed) =
        (count(&report, "gate", "drop_blocked"), count(&report, "out", "taken_packets"));
    assert!(blocked > 0 && passed > 0);
    assert!(!text.contains("\\x00\\x00\\x01\""), "{text}");
    let (again, ..) = run();
    assert_eq!(again, text);
}

#[test]
fn prefixes_and_masks_are_columns() {
    let graph = "
        app Route {
            ports { input in; output out; }
            table nets prefix(net: ipv4) -> (hop: mac) { writer program; size 8; }
            table acl ternary(source: ipv4, port: u16) -> (pass: bool) { writer program; size 8; }
            counter routed;
            on packet(in) {
                when ipv4 {
                    find nets(ipv4.destination) { count routed; }
                    when udp {
                        find acl(ipv4.source, udp.destination) {
                            if acl.pass { send out; }
                            drop denied;
                        }
                    }
                }
                drop unknown;
            }
        }
        src :: Generator { packets: 40, rate: 10, frames: [
            \"02:00:00:00:00:01 > 02:00:00:00:00:09 ip 10.0.0.1 > 10.1.0.1 udp 1 > 53\",
            \"02:00:00:00:00:01 > 02:00:00:00:00:09 ip 10.0.0.1 > 10.2.0.1 udp 1 > 54\"] }
        route :: Route
        out :: Sink
        src -> route -> out";
    let rules = "route::nets(NODE, f_ip(\"10.1.0.0\"), 16, f_mac(\"02:00:00:00:00:07\")).
        route::acl(NODE, f_ip(\"10.0.0.0\"), 53, f_ip(\"255.0.0.0\"), 65535, 2, true).
        route::acl(NODE, f_ip(\"10.0.0.0\"), 0, f_ip(\"255.0.0.0\"), 0, 1, false).
        r1 route::nets(@N, f_ip(\"10.2.0.0\"), 33, f_mac(\"02:00:00:00:00:07\")) :- go(@N).
        r2 no(@N, Why) :- flow::refused(@N, App, Table, Row, Why).
        watchmod(no, \"c\").";
    let (text, notes, report) = sim(rules, graph, "at 1 inject 0 go(NODE)\nat 6 end");
    assert!(text.contains("\"a prefix of 33 bits; the column has 32\""), "{text}{notes}");
    // The first packet arrived before the facts.
    let counts = ["routed", "drop_denied"].map(|name| count(&report, "route", name));
    let passed = count(&report, "out", "taken_packets");
    assert_eq!((counts, passed), ([20, 20], 20), "{notes}");
}

/// Two rows that are one entry would be deleted with the first of them.
#[test]
fn bits_that_do_not_count_are_refused() {
    let graph = "
        app Route {
            ports { input in; output out; }
            table nets prefix(net: ipv4) -> (hop: u8) { writer program; size 8; }
            table acl ternary(a: u16, b: bool) { writer program; size 8; }
            counter routed;
            on packet(in) { when ipv4 { find nets(ipv4.destination) { count routed; } } send out; }
        }
        src :: Generator { packets: 40, rate: 10, frames: [
            \"02:00:00:00:00:01 > 02:00:00:00:00:09 ip 10.0.0.1 > 10.1.0.1 udp 1 > 53\"] }
        route :: Route
        out :: Sink
        src -> route -> out";
    let rules = "r1 route::nets(@N, f_ip(A), Bits, 1) :- add(@N, A, Bits).
        r2 delete route::nets(@N, A, Bits, X) :- remove(@N, T, Bits), A := f_ip(T),
            route::nets(@N, A, Bits, X).
        r3 route::acl(@N, 257, true, 255, true, 0) :- add(@N, \"10.1.0.0\", 16).
        r4 no(@N, Row, Why) :- flow::refused(@N, App, Table, Row, Why).
        watchmod(no, \"c\").";
    let script = "at 0.5 inject 0 add(NODE, \"10.1.0.0\", 16)
        at 1 inject 0 add(NODE, \"10.1.0.9\", 16)
        at 2 inject 0 remove(NODE, \"10.1.0.9\", 16)
        at 3 expect 0 route::nets(NODE, _, _, _) count 1
        at 3 expect 0 route::acl(NODE, _, _, _, _, _) count 0
        at 6 end";
    let (text, notes, report) = sim(rules, graph, script);
    let beyond = "[b\"\\x0a\\x01\\x00\\x09\", 16, 1], \"`net` has bits beyond its prefix; \
                  `f_net` clears them\"";
    assert!(text.contains(beyond), "{text}{notes}");
    assert!(text.contains("\"`a` has bits that are not in its mask\""), "{text}{notes}");
    assert!(text.contains("2 met, 0 failed"), "{text}{notes}");
    assert_eq!(count(&report, "route", "routed"), 35, "{notes}");
}

#[test]
fn what_does_not_fit_is_found_on_both_sides() {
    let graph = graph([1].into_iter(), "");
    let error = |rules: &str| {
        let program = load(rules, &graph);
        let error = program.diagnostics.iter().find(|one| one.is_error());
        let error = error.unwrap_or_else(|| panic!("{rules}"));
        let label = error.labels.first().map(|(span, _)| program.sources.slice(*span).to_owned());
        let place = program.sources.slice(error.span).to_owned();
        let help = error.help.clone().unwrap_or_default();
        (error.message.clone(), place, label.unwrap_or_default(), help)
    };
    let form = "it is `gate::blocked(@N, Source, Class)`";
    for (rules, message, place, label, help) in [
        (
            "r1 gate::seen(@N, S, 1) :- go(@N, S).",
            "the kernel of app `gate` writes `gate::seen`, and rules only read it",
            "gate::seen",
            "seen",
            "declare it with `writer program;`, or name a relation of your own",
        ),
        (
            "r1 delete gate::seen(@N, S, P) :- go(@N), gate::seen(@N, S, P).",
            "the kernel of app `gate` writes `gate::seen`, and rules only read it",
            "gate::seen",
            "seen",
            "declare it with `writer program;`, or name a relation of your own",
        ),
        (
            "gate::seen(NODE, f_ip(\"10.0.0.1\"), 1).",
            "the kernel of app `gate` writes `gate::seen`, and rules only read it",
            "gate::seen",
            "seen",
            "declare it with `writer program;`, or name a relation of your own",
        ),
        (
            "watch(gate::seen). export(gate::seen).",
            "the kernel of app `gate` writes `gate::seen`, and rules only read it",
            "gate::seen",
            "seen",
            "declare it with `writer program;`, or name a relation of your own",
        ),
        (
            "r1 gate::blocked(@N, S) :- go(@N, S).",
            "`gate::blocked` has 3 columns, not 2",
            "gate::blocked(@N, S)",
            "blocked",
            form,
        ),
        (
            "r1 gate::blocked(N, @S, 1) :- go(@N, S).",
            "the location of `gate::blocked` is its first column",
            "gate::blocked(N, @S, 1)",
            "blocked",
            form,
        ),
        (
            "r1 gate::blocked(@N, \"10.0.0.1\", 1) :- go(@N).",
            "column 2 of `gate::blocked` is bytes, and this is string",
            "\"10.0.0.1\"",
            "blocked",
            "`f_ip` and `f_mac` make the bytes of an address of its text",
        ),
        (
            "gate::blocked(NODE, f_ip(\"10.0.0.1\"), true).",
            "column 3 of `gate::blocked` is int64, and this is bool",
            "true",
            "blocked",
            form,
        ),
        (
            "materialize(gate::blocked, 10, 10, keys(2)). r1 x(@N) :- gate::blocked(@N, S, C).",
            "`gate::blocked` is declared already",
            "gate::blocked",
            "blocked",
            "leave this statement out",
        ),
        (
            "r1 x(@N) :- gate::blokced(@N, S, C).",
            "app `gate` has no table `blokced`",
            "gate::blokced",
            "seen",
            "is blocked meant?",
        ),
        (
            "r1 x(@N) :- gate::blocked(@N, S, C), flow::refused(@N, A).",
            "`flow::refused` has 5 columns",
            "flow::refused",
            "",
            "it is `flow::refused(@N, App, Key, Value, Reason)`",
        ),
    ] {
        let (is, at, with, and) = error(rules);
        assert_eq!((&*is, &*at, &*with, &*and), (message, place, label, help), "{rules}");
    }
    // Relations under other apps' names are the program's own.
    let own = load("materialize(src::seen, 10, 10, keys(1)). src::seen(NODE, 1).", &graph);
    assert_eq!(found(&own), "");
}

#[test]
fn tables_that_programs_write_report_nothing() {
    let graph = graph([1].into_iter(), "").replace("size 3;", "size 3; report 1;");
    let program = load("watch(gate::blocked).", &graph);
    assert!(
        found(&program).contains("`blocked` is written by the program, which knows its values"),
        "{}",
        found(&program)
    );
}

/// Rules write the routes of IPv6, and read which flows there are.
#[test]
fn addresses_of_ipv6_are_their_bytes() {
    let graph = "
        app Router {
            ports { input in; output out; }
            table routes prefix(net: ipv6) -> (via: ipv6) { writer program; size 16; }
            table rules ternary(source: ipv6) -> (is_on: bool) { writer program; size 16; }
            table seen exact(source: ipv6, destination: ipv6, port: u16) -> (via: ipv6) {
                writer kernel; size 64;
            }
            on packet(in) {
                when ipv6 {
                    find rules(ipv6.source) { if !rules.is_on { drop denied; } }
                    find routes(ipv6.destination) {
                        var port = 0;
                        when udp { port = udp.destination; }
                        insert seen(ipv6.source, ipv6.destination, port) -> (routes.via);
                        send out;
                    }
                }
                drop no_route;
            }
        }
        router :: Router
        out :: Sink
        src -> router -> out";
    let frames = [("1", "7", 53), ("1", "8", 54), ("f1", "8", 55)].map(|(source, net, port)| {
        format!(
            "\"hex 02000000000902000000000186dd6000000000081140\
             20010db80000000000000000000000{source:0>2}20010db8000{net}00000000000000000007\
             0001{port:04x}00080000\""
        )
    });
    let graph = format!("src :: Generator {{ frames: [{}], rate: 3 }} {graph}", frames.join(", "));
    let rules = "
        materialize(flow_seen, infinity, infinity, keys(1,2,3,4)).
        router::routes(NODE, f_ip(\"2001:db8::\"), 32, f_ip(\"fe80::1\")).
        router::routes(NODE, f_ip(\"2001:db8:7::7\"), 128, f_ip(\"fe80::2\")).
        router::rules(NODE, f_ip(\"::f0\"), f_ip(\"::f0\"), 1, false).
        r1 flow_seen(@N, f_addrText(Source), f_addrText(Via), Port) :-
            router::seen(@N, Source, _, Port, Via).
        watchmod(flow_seen, \"i\").";
    let (text, notes, report) = sim(rules, &graph, "at 3 end");
    assert_eq!(notes, "");
    for seen in ["\"fe80::2\", 53)", "\"fe80::1\", 54)"] {
        assert!(text.contains(&format!("flow_seen(\"n0:1\", \"2001:db8::1\", {seen}")), "{text}");
    }
    assert_eq!(count(&report, "router", "drop_denied"), 1, "{text}");
}
