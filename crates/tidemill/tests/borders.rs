//! Programs of several kinds: packets and components exchange tuples with the rules of the program.

mod crashes;
mod flows;
mod latency;
mod rules;
mod stages;
mod tables;

use tidemill::console::Console;
use tidemill::program::{LoadOptions, Program};
use tidemill::run::{EngineKind, PacketOptions, Report, RunOptions};
use tidemill::sim::{SimOptions, Simulation};
use tidemill::tape::taped;
use tidemill_diag::Diagnostic;

const GRAPH: &str = "
src :: Generator { frames: [\"hex 01\", \"hex 0202\", \"hex 03\", \"hex 04\"] }
rules :: Rules
out :: Sink
copy :: Sink
src -> rules
rules -> out
rules -> copy";

/// All packets go to one end, some to another; one to an unknown output, and one is not bytes.
const RULES: &str = "
materialize(seen, infinity, infinity, keys(2)).
r1 seen(@N, Bytes) :- packet(@N, Input, Bytes).
r2 send(@N, \"out\", Bytes) :- packet(@N, \"src\", Bytes).
r3 send(@N, \"copy\", Bytes) :- packet(@N, \"src\", Bytes), Bytes == b\"\\x02\\x02\".
r4 send(@N, \"copy\", 7) :- packet(@N, \"src\", Bytes), Bytes == b\"\\x03\".
r5 send(@N, f_strcat(\"no\", \"where\"), Bytes) :- packet(@N, \"src\", Bytes), Bytes == b\"\\x04\".
watch(seen).";

fn load(rules: &str, graph: &str) -> Program {
    let texts = [("a.flow", graph), ("a.olg", rules)];
    let options = LoadOptions { injected: Some(Default::default()), ..LoadOptions::default() };
    Program::of_texts(&texts, &options)
}

fn found(program: &Program) -> String {
    program.diagnostics.iter().map(|one| program.sources.render(one)).collect()
}

/// The message of the first of these errors, the texts of its labels, and its help.
fn first_error(
    program: &Program,
    is_one: impl Fn(&Diagnostic) -> bool,
) -> (String, Vec<String>, String) {
    let mut all = program.diagnostics.iter().filter(|one| one.is_error());
    let error = all.find(|one| is_one(one)).unwrap_or_else(|| panic!("{}", found(program)));
    let spans = std::iter::once(error.span).chain(error.labels.iter().map(|(span, _)| *span));
    let places = spans.map(|span| {
        let name = program.sources.name(span.file);
        format!("{name}: {}", program.sources.slice(span))
    });
    (error.message.clone(), places.collect(), error.help.clone().unwrap_or_default())
}

/// Nodes of a test have ports of their own.
fn options(engine: EngineKind) -> RunOptions {
    let mut options = RunOptions { seed: Some(1), ..RunOptions::default() };
    options.nodes.listen = tidemill::run::Listen::Address("localhost:0".to_owned());
    options.packets = PacketOptions { engine, ..PacketOptions::default() };
    options
}

fn received(report: &Report, link: &str) -> u64 {
    let packets = report.packets.as_ref().expect("a graph");
    let link = packets.links.iter().find(|(name, _)| name.contains(link));
    link.map(|(_, stats)| stats.rx_packets).unwrap_or_else(|| panic!("{:?}", packets.links))
}

#[test]
fn packets_are_events_of_the_rules_and_what_they_derive_are_packets() {
    for engine in [EngineKind::Compiled, EngineKind::Dispatch] {
        let program = load(RULES, GRAPH);
        assert_eq!(found(&program), "");
        let options = options(engine);
        let registry = options.registry.clone();
        let (console, data, notes) = taped();
        let report = program.run(options, console).expect("it runs");
        assert_eq!(notes.text(), "");
        assert!(report.is_well());
        let (out, copy) = (received(&report, "->out."), received(&report, "->copy."));
        assert_eq!((out, copy), (4, 1));
        let summary = report.nodes.expect("nodes");
        assert_eq!(summary.tables, [("seen".to_owned(), 4)]);
        assert!(data.text().contains("i - seen(\"localhost:"), "{}", data.text());
        let counters = registry.snapshot().counters;
        let count = |name: &str| {
            let name = format!("border/rules/{name}");
            counters.iter().find(|(other, _)| **other == name).map(|(_, count)| *count)
        };
        let names = ["events", "verdicts", "dropped_no_output", "dropped_no_bytes"];
        assert_eq!(names.map(count), [Some(4), Some(5), Some(1), Some(1)]);
    }
}

#[test]
fn rules_that_are_slow_hold_packets_back_and_all_are_counted() {
    let graph = "src :: Source { packets: 20000, size: 64 }\nrules :: Rules\nsrc -> rules";
    let rules = "
        materialize(count, infinity, 1, keys(1)).
        r1 count(@N, C) :- packet(@N, Port, Bytes), prior(@N, P), C := P + 1.
        materialize(prior, infinity, 1, keys(1)).
        prior(@NODE, 0).
        r2 prior(@N, C) :- count(@N, C).";
    let options = options(EngineKind::Compiled);
    let registry = options.registry.clone();
    let report = load(rules, graph).run(options, Console::silent()).expect("it runs");
    let packets = report.packets.expect("a graph");
    let (_, link) = &packets.links[0];
    let counters = registry.snapshot().counters;
    let events = counters.iter().find(|(name, _)| **name == *"border/rules/events");
    let events = events.map_or(0, |(_, count)| *count);
    assert_eq!(events, link.rx_packets);
    assert_eq!(link.rx_packets + link.tx_drops, 20_000, "{link:?}");
    assert!(report.nodes.is_some_and(|nodes| nodes.turns >= events));
}

/// Frames of UDP to the ports 1 to 4, from 10.0.0.1.
fn udp_frames() -> String {
    let frame = |port: u8| {
        format!(
            "\"hex 02000000000202000000000108004500001e00004000401100000a0000010a000002\
             100000{port:02x}000a0000{port:02x}{port:02x}\""
        )
    };
    (1..=4).map(frame).collect::<Vec<_>>().join(", ")
}

#[test]
fn fields_are_columns_and_verdicts_send_the_packets_themselves() {
    let graph = format!(
        "src :: Generator {{ frames: [{}, \"hex 00\"] }}
        rules :: Rules {{ fields: \"ip.src, udp.dport, len, udp.payload\", event: \"seen\" }}
        a :: Sink
        b :: Sink
        src -> rules
        rules -> a
        rules -> b",
        udp_frames()
    );
    // 1 goes to both ends, 2 is held and sent later, 3 is sent too late, 4 is dropped.
    let rules = "
        materialize(later, 1, infinity, keys(2)).
        r1 send(@N, \"a\", Id) :- seen(@N, Port, Id, From, To, Len, Payload), To == 1.
        r2 send(@N, \"b\", Id) :- seen(@N, Port, Id, From, To, Len, Payload), To == 1,
            From == b\"\\x0a\\x00\\x00\\x01\", Len == 44, Payload == b\"\\x01\\x01\".
        r3 hold(@N, Port, Id, 5) :- seen(@N, Port, Id, From, To, Len, Payload), To == 2.
        r4 later(@N, Id) :- seen(@N, Port, Id, From, To, Len, Payload), To > 1, To < 4.
        r5 send(@N, \"b\", Id) :- later(@N, Id).
        r6 plain(@N, Len) :- seen(@N, Port, Id, From, To, Len, Payload), From == null.
        watchmod(plain, \"c\").";
    let program = load(rules, &graph);
    assert_eq!(found(&program), "");
    let options = options(EngineKind::Compiled);
    let registry = options.registry.clone();
    let (console, data, notes) = taped();
    let report = program.run(options, console).expect("it runs");
    assert_eq!(notes.text(), "");
    assert_eq!((received(&report, "->a."), received(&report, "->b.")), (1, 2));
    assert!(data.text().contains(" c r6 plain(\"localhost:") && data.text().contains(", 1)"));
    let counters = registry.snapshot().counters;
    let count = |name: &str| {
        let name = format!("border/rules/{name}");
        counters.iter().find(|(other, _)| **other == name).map(|(_, count)| *count)
    };
    assert_eq!(["events", "verdicts", "stale"].map(count), [Some(5), Some(3), Some(1)]);
    // The packet whose time is not over is held still, and all others are freed.
    assert_eq!(report.packets.expect("a graph").packets.alive(), 1);
}

/// A packet that is held for three seconds, and sent each half second of four.
#[test]
fn held_packets_are_sent_as_often_as_rules_say() {
    let graph = "src :: Generator { frames: [\"hex 01\"], packets: 1 }
        rules :: Rules { fields: \"len\" }
        end :: Sink
        src -> rules -> end";
    let rules = "
        materialize(kept, infinity, infinity, keys(2)).
        r1 hold(@N, Port, Id, 2) :- packet(@N, Port, Id, Len).
        r2 kept(@N, Id, Port) :- packet(@N, Port, Id, Len).
        r3 hold(@N, Port, Id, 2) :- periodic(@N, E, 1.1, 1), kept(@N, Id, Port).
        r4 send(@N, \"end\", Id) :- periodic(@N, E, 0.5, 8), kept(@N, Id, _).";
    let program = load(rules, graph);
    assert_eq!(found(&program), "");
    let options = SimOptions { end_ns: Some(5_000_000_000), ..SimOptions::default() };
    let simulation = Simulation::new(program, options).expect("it is right");
    let report = simulation.run(Console::silent()).expect("it runs");
    let count = |name: &str| report.borders.iter().find(|(other, _)| other == name).map(|it| it.1);
    assert_eq!(["rules/verdicts", "rules/stale"].map(count), [Some(6), Some(2)]);
    assert_eq!(received(&report, "->end."), 6);
    assert_eq!(report.packets.expect("a graph").packets.alive(), 0);
}

#[test]
fn fields_have_types_and_names_that_are_checked() {
    let graph = |fields: &str| {
        format!("src :: Source {{ packets: 1 }}\nr :: Rules {{ fields: \"{fields}\" }}\nsrc -> r")
    };
    let wrong = |rules: &str, fields: &str| {
        let program = load(rules, &graph(fields));
        assert!(program.has_errors());
        found(&program)
    };
    let rules = "r1 x(@N, Len + 1) :- packet(@N, Port, Id, Len). watch(x).";
    assert!(!load(rules, &graph("len")).has_errors(), "{}", found(&load(rules, &graph("len"))));
    let text = wrong(rules, "lens");
    assert!(text.contains("packets have no field `lens`; is `len` meant?"), "{text}");
    let text = wrong(rules, "len, time");
    assert!(text.contains("has 4 columns, and not 5"), "{text}");
    assert!(text.contains("it is `packet(@N, Port, Id, Len, Time)`"), "{text}");
}

/// Settings that rules change: a limit at a time, its deletion, and invalid ones.
#[test]
fn rules_change_settings_of_apps_and_see_refusals() {
    let graph = "src :: Generator { frames: [\"hex 01\"], packets: 100000, rate: 1000 }
        cut :: Truncate { length: 100 }
        end :: Sink
        src -> cut -> end";
    let rules = "
        materialize(wish, infinity, infinity, keys(2, 3)).
        w1 wish(@N, \"cut\", \"length\", 77) :- periodic(@N, E, 0.05, 1).
        w2 wish(@N, \"cut\", \"length\", \"much\") :- periodic(@N, E, 0.15, 1).
        w3 wish(@N, \"cut\", \"lenght\", 7) :- periodic(@N, E, 0.2, 1).
        w4 wish(@N, \"cute\", \"length\", 7) :- periodic(@N, E, 0.25, 1).
        w5 delete wish(@N, \"cut\", \"length\", V) :- periodic(@N, E, 0.4, 1),
            wish(@N, \"cut\", \"length\", V).
        c1 flow::config(@N, App, Key, Value) :- wish(@N, App, Key, Value).
        r1 no(@N, App, Key, Value, Why) :- flow::refused(@N, App, Key, Value, Why).
        watchmod(no, \"c\").";
    let program = load(rules, graph);
    assert_eq!(found(&program), "");
    let mut options = options(EngineKind::Compiled);
    options.end_ns = Some(800_000_000);
    let (console, data, notes) = taped();
    program.run(options, console).expect("it runs");
    let text = data.text();
    for refused in [
        "\"cut\", \"length\", \"much\", ",
        "\"cut\", \"lenght\", 7, ",
        "\"cute\", \"length\", 7, \"the graph has no app `cute`\")",
    ] {
        assert!(text.contains(refused), "{refused} in\n{text}");
    }
    let reloaded = notes.text().matches("reloaded: ").count();
    let refused = notes.text().matches(" is refused: ").count();
    assert_eq!((reloaded, refused), (2, 3), "{}", notes.text());
}

#[test]
fn settings_need_a_graph_and_its_refusals_have_five_columns() {
    let rules = "f1 flow::config(@N, \"a\", \"k\", 1) :- go(@N).";
    let alone = Program::of_text("a.olg", rules, &LoadOptions::default());
    assert!(found(&alone).contains("there are none"), "{}", found(&alone));
    let rules = format!("{rules} f2 x(@N) :- flow::refused(@N, A). watch(x).");
    let program = load(&rules, "src :: Source { packets: 1 }\nend :: Sink\nsrc -> end");
    assert!(found(&program).contains("`flow::refused` has 5 columns"), "{}", found(&program));
}

/// What rules and facts write as constants is known before the run.
#[test]
fn constants_are_apps_keys_and_values_of_the_graph() {
    let graph = "src :: Source { packets: 1 }
        rl :: RateLimiter { rate: 1000, burst: 100 }
        end :: Sink
        src -> rl -> end";
    let error = |rules: &str| first_error(&load(rules, graph), |one| one.code == "border");
    for (row, message, places, help) in [
        ("\"rll\", \"rate\", 5", "the graph has no app `rll`", "\"rll\"", "is `rl` meant?"),
        (
            "\"rl\", \"raate\", 5",
            "`rl`, a RateLimiter, has no key `raate`",
            "\"raate\"",
            "is `rate` meant?",
        ),
        ("\"rl\", \"rate\", \"abc\"", "`rate`: ", "\"abc\"", ""),
        ("\"rl\", \"rate\", null", "it is no value of a setting", "null", ""),
    ] {
        let fact = format!("flow::config(@NODE, {row}).");
        let rule = format!("r1 flow::config(@N, {row}) :- go(@N).");
        for rules in [&fact, &rule] {
            let (found, labels, hint) = error(rules);
            assert!(found.starts_with(message), "{found}");
            assert_eq!(labels, [format!("a.olg: {places}"), "a.flow: rl".to_owned()]);
            assert_eq!(hint, help, "{rules}");
        }
    }
    let right = "flow::config(@NODE, \"rl\", \"rate\", 5).
        r1 flow::config(@N, App, \"burst\", 7) :- some(@N, App).
        r2 delete flow::config(@N, \"rll\", K, V) :- go(@N), flow::config(@N, \"rll\", K, V).";
    assert!(!load(right, graph).has_errors(), "{}", found(&load(right, graph)));
}

#[test]
fn constant_ports_of_verdicts_are_outputs() {
    let graph = "src :: Source { packets: 1 }
        a :: Rules
        b :: Rules { event: \"other\" }
        left :: Sink
        right :: Sink
        src -> a -> left
        b -> right";
    let rules = |port: &str| {
        format!(
            "r1 send(@N, {port:?}, B) :- packet(@N, P, B). r2 send(@N, P, B) :- other(@N, P, B)."
        )
    };
    for port in ["left", "right"] {
        assert_eq!(found(&load(&rules(port), graph)), "");
    }
    let error = |port| first_error(&load(&rules(port), graph), |one| one.code == "border");
    let (message, places, help) = error("lefd");
    assert_eq!(message, "no link of `a` leads to `lefd`");
    assert_eq!(places, ["a.olg: \"lefd\"", "a.flow: a"]);
    assert_eq!(help, "is `left` meant? ports go by the apps at the other ends");
    assert_eq!(error("output").2, "its outputs are left, right");
}

/// Components beside a graph open apps `Outside`.
#[test]
fn literal_names_of_apps_that_components_open_are_checked() {
    let component = |name: &str| {
        format!(
            "COMPONENT {{ENTRYPOINT}} Main REQUIRES Packets;
             BEGIN Packets!Open(\"{name}\"); Packets?Opened END Main;"
        )
    };
    let graph = "src :: Outside\nout :: Sink\nsrc -> out";
    let load = |name: &str| {
        let text = component(name);
        Program::of_texts(&[("a.flow", graph), ("a.com", &text)], &LoadOptions::default())
    };
    assert_eq!(found(&load("src")), "");
    let error = |name| first_error(&load(name), |one| one.code == "border");
    let (message, places, help) = error("srcc");
    assert_eq!(message, "the packet graph has no `srcc :: Outside`");
    assert_eq!(places, ["a.com: \"srcc\"", "a.flow: src"]);
    assert_eq!(help, "is `src` meant?");
    let (_, places, help) = error("out");
    assert_eq!(places[1], "a.flow: out");
    assert_eq!(help, "components reach the packets of an app Outside");
    assert_eq!(error("elsewhere").2, "add `elsewhere :: Outside` to the graph");
}

/// Nothing says how many columns such an event has, so it has those it comes with.
#[test]
fn events_that_are_only_watched_are_shown_as_they_come() {
    let graph = "src :: Generator { frames: [\"hex 01\"], packets: 2 }
        rules :: Rules { fields: \"len\" }
        src -> rules";
    let rules = "
        c1 flow::config(@N, \"src\", f_strcat(\"len\", \"ght\"), 7) :- periodic(@N, E, 0, 1).
        watch(packet). watch(send). watch(hold). watch(flow::refused). watch(stage::fault).
        watch(program::refused).";
    let program = load(rules, graph);
    assert!(!program.has_errors(), "{}", found(&program));
    let (console, data, _) = taped();
    program.run(options(EngineKind::Compiled), console).expect("it runs");
    let text = data.text();
    for part in ["\"src\", 0, 1)", "\"src\", 1, 1)", ", \"src\", \"lenght\", 7, "] {
        assert_eq!(text.matches(part).count(), 1, "{part} in\n{text}");
    }
}

#[test]
fn sides_that_do_not_fit_are_found_when_they_are_loaded() {
    let wrong = |rules: &str, graph: &str| {
        let program = load(rules, graph);
        assert!(program.has_errors());
        let error = program.diagnostics.iter().find(|one| one.code == "border").expect("found");
        let label = error.labels.first().map(|(span, _)| program.sources.slice(*span).to_owned());
        (error.message.clone(), label, error.help.clone().unwrap_or_default())
    };
    let few = "r1 seen(@N) :- packet(@N, Port). watch(seen).";
    let (message, label, _) = wrong(few, GRAPH);
    assert!(message.ends_with("has 2 columns, and not 3"), "{message}");
    assert_eq!(label.as_deref(), Some("packet"));
    let (message, _, help) = wrong("r1 seen(@N) :- paket(@N, P, B). watch(seen).", GRAPH);
    assert!(message.contains("as `packet`, which they do not have"), "{message}");
    assert!(help.contains("is `paket` meant?"), "{help}");
    let named = GRAPH.replace(":: Rules", ":: Rules { event: \"frame\", verdict: \"out\" }");
    let table = "materialize(frame, infinity, infinity, keys(1)). frame(@NODE, \"\", b\"\").";
    let (message, ..) = wrong(table, &named);
    assert!(message.contains("is a table, and packets are events"), "{message}");
    let alone = Program::of_text("a.flow", GRAPH, &LoadOptions::default());
    assert!(found(&alone).contains("the rules of the program, which has none"));
}

/// A packet that no verdict can send is lost: so a verdict that is named, or that an output needs,
/// has to be there.
#[test]
fn verdicts_are_relations_of_the_rules() {
    let graph = |settings: &str, output: &str| {
        format!("src :: Source {{ packets: 1 }}\nr :: Rules {settings}\nsrc -> r {output}")
    };
    let error = |rules: &str, settings: &str, output: &str| {
        first_error(&load(rules, &graph(settings, output)), |one| one.code == "border")
    };
    let fields = "{ fields: \"len\", verdict: \"sendd\" }";
    let rules = "r1 send(@N, \"end\", Id) :- packet(@N, Port, Id, Len).";
    for output in ["", "-> end :: Sink"] {
        let (message, places, help) = error(rules, fields, output);
        assert_eq!(message, "`r` sends the packets of `sendd`, which the rules do not have");
        assert_eq!(places, ["a.flow: r", "a.olg: send"]);
        assert_eq!(help, "is `send` meant? `verdict` names it");
    }
    let counts = "r1 seen(@N, Bytes) :- packet(@N, Port, Bytes). watch(seen).";
    let (.., help) = error(counts, "{ verdict: \"elsewhere\" }", "");
    assert_eq!(help, "write a rule with `elsewhere(@N, Port, Bytes)` as its head");
    let (message, ..) = error(counts, "", "-> end :: Sink");
    assert_eq!(message, "`r` sends the packets of `send`, which the rules do not have");
    // What they hold is what the app takes.
    for (settings, head, wrong) in [
        ("", "send(@N, \"end\", 5)", "3 of `send` is int64, and `r` takes the bytes of a packet"),
        ("", "send(@N, 7, Bytes)", "2 of `send` is int64, and `r` takes the name of a port"),
        (
            "{ fields: \"len\" }",
            "send(@N, \"end\", \"x\")",
            "3 of `send` is string, and `r` takes the number of a packet",
        ),
        (
            "{ fields: \"len\" }",
            "hold(@N, Port, Bytes, \"x\")",
            "4 of `hold` is string, and `r` takes a number of seconds",
        ),
    ] {
        let len = if settings.is_empty() { "" } else { ", Len" };
        let mut rules = format!("r1 {head} :- packet(@N, Port, Bytes{len}).");
        if head.starts_with("hold") {
            rules += &format!(" r2 send(@N, \"end\", Bytes) :- packet(@N, Port, Bytes{len}).");
        }
        let (message, places, _) = error(&rules, settings, "-> end :: Sink");
        assert!(message.starts_with(&format!("column {wrong} there: ")), "{message}");
        let name = head.split('(').next().unwrap_or_default();
        assert_eq!(places, ["a.flow: r".to_owned(), format!("a.olg: {name}")]);
    }
    // Sinks.
    for settings in ["", "{ verdict: \"\" }"] {
        assert_eq!(found(&load(counts, &graph(settings, ""))), "");
    }
    assert_eq!(found(&load(rules, &graph("{ fields: \"len\", verdict: \"\" }", ""))), "");
}

#[test]
fn components_run_beside_rules_and_end_the_run() {
    let rules = "materialize(tick, infinity, 1, keys(1)).
        r1 tick(@N, C) :- periodic(@N, E, 0.01, 0), C := 1. watchmod(tick, \"i\").";
    let component = "COMPONENT Main REQUIRES SystemTime; VARIABLE now: INTEGER;
        BEGIN SystemTime!Wait(100); SystemTime?Passed; WRITE(\"done\"); WRITELINE END Main;";
    let texts = [("a.olg", rules), ("a.com", component)];
    let program = Program::of_texts(&texts, &LoadOptions::default());
    assert!(!program.has_errors(), "{}", found(&program));
    let (console, data, notes) = taped();
    let report = program.run(options(EngineKind::Compiled), console).expect("it runs");
    assert_eq!(notes.text(), "");
    assert!(report.is_well());
    let text = data.text();
    assert!(text.ends_with("done\n") && text.contains(" i - tick("), "{text}");
    assert!(report.nodes.is_some() && report.components.is_some() && report.packets.is_none());
}

/// Rules may be the only source of packets: the app needs no links to it, and no event.
#[test]
fn rules_send_packets_of_their_own() {
    let rules = "r1 send(@N, \"end\", b\"0123456789abcdef\") :- periodic(@N, E, 0.05, 3).";
    let program = load(rules, "rules :: Rules -> end :: Sink");
    assert_eq!(found(&program), "");
    let options = SimOptions { end_ns: Some(1_000_000_000), ..SimOptions::default() };
    let simulation = Simulation::new(program, options).expect("it is right");
    let report = simulation.run(Console::silent()).expect("it runs");
    let links = &report.packets.expect("a graph").links;
    assert_eq!((links[0].1.rx_packets, links[0].1.rx_bytes), (3, 48), "{links:?}");
}
