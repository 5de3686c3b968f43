//! Nodes with rules, components and a graph, many of them in one simulation.

use tidemill::error::Error;
use tidemill::program::{LoadOptions, Program};
use tidemill::run::{Listen, Report, RunOptions};
use tidemill::sim::{FaultOptions, SimOptions, Simulation};
use tidemill::tape::taped;
use tidemill_diag::Sources;

const GRAPH: &str = "
src :: Generator { frames: [\"hex 01\", \"hex 02\", \"hex 03\"] }
rules :: Rules
out :: Sink
src -> rules
rules -> out";

const RULES: &str = "
materialize(seen, infinity, infinity, keys(2)).
materialize(peer, infinity, infinity, keys(2)).
r1 seen(@N, Bytes) :- packet(@N, Input, Bytes).
r2 send(@N, \"out\", Bytes) :- packet(@N, \"src\", Bytes).
r3 hello(@LANDMARK, N) :- periodic(@N, E, 1, 1).
r4 peer(@N, From) :- hello(@N, From).";

/// Waits, writes, and counts in a state of its own.
const COMPONENT: &str = "
COMPONENT Main REQUIRES SystemTime;
  VARIABLE i: INTEGER;
BEGIN
  FOR i := 1 TO 3 DO
    SystemTime!Wait(1000); SystemTime?Passed;
    WRITE(\"tick \"); WRITE(i); WRITELINE
  END
END Main;";

fn load(texts: &[(&str, &str)]) -> Program {
    let program = Program::of_texts(texts, &LoadOptions::default());
    let found: String = program.diagnostics.iter().map(|one| program.sources.render(one)).collect();
    assert!(!program.has_errors(), "{found}");
    program
}

fn mix() -> Program {
    load(&[("a.olg", RULES), ("a.flow", GRAPH), ("a.com", COMPONENT)])
}

fn simulated(program: Program, options: SimOptions, script: &str) -> (String, String, Report) {
    let mut simulation = Simulation::new(program, options).expect("it can");
    let mut sources = Sources::new();
    let file = sources.add("a.sim", script.to_owned());
    let (script, errors) = tidemill::script::parse(file, script);
    assert!(errors.is_empty());
    assert!(simulation.script(&script, &sources).is_empty());
    let (console, data, notes) = taped();
    let report = simulation.run(console).expect("it runs");
    (data.text(), notes.text(), report)
}

#[test]
fn each_node_has_all_parts() {
    let options = || SimOptions { nodes: 5, seed: 3, ..SimOptions::default() };
    let (text, notes, report) = simulated(mix(), options(), "");
    assert_eq!(notes, "");
    assert!(report.is_well());
    for node in 0..5 {
        for tick in 1..=3 {
            assert!(text.contains(&format!("n{node}:1: tick {tick}\n")), "{text}");
        }
    }
    let summary = report.nodes.expect("nodes");
    assert_eq!(summary.tables, [("seen".to_owned(), 15), ("peer".to_owned(), 5)]);
    assert_eq!(report.components.expect("components").counts.components.created, 5);
    let links = report.packets.expect("a graph").links;
    assert_eq!(links.iter().map(|(_, link)| link.rx_packets).collect::<Vec<_>>(), [15, 15]);
    // Bit for bit.
    assert_eq!(simulated(mix(), options(), "").0, text);
}

#[test]
fn a_node_that_crashes_has_nothing_left_and_begins_anew() {
    let options =
        SimOptions { nodes: 3, end_ns: Some(10_000_000_000), seed: 3, ..SimOptions::default() };
    let script =
        "at 1.5 crash 1\nat 2.2 restart 1\nat 1.5 crash 2\nat 9 expect 1 seen(NODE, _) count 3";
    let (text, notes, report) = simulated(mix(), options, script);
    assert_eq!(notes, "");
    let ticks = |node: u32| text.matches(&format!("n{node}:1: tick ")).count();
    assert_eq!((ticks(0), ticks(1), ticks(2)), (3, 1 + 3, 1), "{text}");
    let summary = report.nodes.expect("nodes");
    assert_eq!((summary.alive, summary.expectations_met), (2, 1));
    assert_eq!(summary.elapsed_ns, 10_000_000_000);
}

#[test]
fn components_and_graphs_alone_have_nodes_too() {
    let program = load(&[("a.com", COMPONENT)]);
    let (text, _, report) = simulated(program, SimOptions::default(), "");
    let (ticks, summary) = text.split_at(text.find("summary").expect("the last line"));
    assert_eq!(ticks, "tick 1\ntick 2\ntick 3\n");
    assert!(summary.starts_with("summary: 1 nodes (1 alive), ") && report.is_well(), "{text}");
    let options = || SimOptions { nodes: 2, ..SimOptions::default() };
    let (text, _, report) = simulated(load(&[("a.com", COMPONENT)]), options(), "");
    assert!(text.contains("n1:1: tick 3\n") && text.contains("\nsummary: 2 nodes (2 alive), 3."));
    assert_eq!(report.components.expect("components").counts.components.created, 2);
    let graph = "src :: Source { packets: 7 }\nend :: Sink\nsrc -> end";
    let (text, _, report) = simulated(load(&[("a.flow", graph)]), options(), "");
    assert!(text.starts_with("summary: 2 nodes"), "{text}");
    assert_eq!(report.packets.expect("a graph").links[0].1.rx_packets, 14);
}

#[test]
fn a_fault_names_the_node_and_fails_the_run() {
    let component = "COMPONENT Main; VARIABLE i: INTEGER; BEGIN i := 0; i := 1 DIV i END Main;";
    let options = SimOptions { nodes: 2, ..SimOptions::default() };
    let (_, notes, report) = simulated(load(&[("a.com", component)]), options, "");
    assert!(!report.is_well());
    assert!(notes.contains("(n0:1/Main") && notes.contains("(n1:1/Main"), "{notes}");
}

#[test]
fn several_nodes_run_on_one_loop() {
    let mut options = RunOptions { seed: Some(1), ..RunOptions::default() };
    options.nodes.listen = Listen::Nodes(3);
    let (console, data, notes) = taped();
    let report = mix().run(options, console).expect("it runs");
    assert!(report.is_well(), "{}", notes.text());
    assert_eq!(data.text().matches(": tick 3\n").count(), 3, "{}", data.text());
    let summary = report.nodes.expect("nodes");
    assert_eq!(summary.tables, [("seen".to_owned(), 9), ("peer".to_owned(), 3)]);
    let graph = "tap :: PcapWriter { file: \"x.pcap\" }\nsrc :: Source { packets: 1 }\nsrc -> tap";
    let mut options = RunOptions::default();
    options.nodes.listen = Listen::Nodes(2);
    let refused = load(&[("a.flow", graph)]).run(options, tidemill::console::Console::silent());
    let why = "several nodes cannot share app `tap` of \"x.pcap\": run one node";
    assert_eq!(refused.expect_err("it is shared"), Error::Options(why.to_owned()));
}

/// A rule network of many nodes with a component and a graph each.
#[test]
fn many_nodes_are_cheap() {
    let options = SimOptions { nodes: 200, end_ns: Some(5_000_000_000), ..SimOptions::default() };
    let (text, _, report) = simulated(mix(), options, "");
    assert_eq!(text.matches(": tick 3\n").count(), 200);
    assert_eq!(report.nodes.expect("nodes").tables[0], ("seen".to_owned(), 600));
}

#[test]
fn a_part_of_a_node_is_killed_and_the_rest_goes_on() {
    let component = "
COMPONENT Main REQUIRES SystemTime;
  VARIABLE w: Work; tries: INTEGER;
  COMPONENT Work REQUIRES SystemTime;
  BEGIN SystemTime!Wait(100000); SystemTime?Passed
  END Work;
BEGIN
  NEW(w); CONNECT(SystemTime(w), SystemTime);
  AWAIT(FAILED(w)); WRITE(\"lost\"); WRITELINE
END Main;";
    let graph = "src :: Generator { frames: [\"hex 01\"], packets: 1000, rate: 10 }
        end :: Sink
        src -> end";
    let script =
        "at 1 kill 0 component Main/w\nat 1 kill * app src\nat 2 kill 1 app nobody\nat 3 end";
    let options = SimOptions { nodes: 2, ..SimOptions::default() };
    let program = load(&[("a.com", component), ("a.flow", graph)]);
    let (text, notes, _) = simulated(program, options, script);
    assert_eq!(text.matches(": lost\n").count(), 1, "{text}\n{notes}");
    assert!(
        notes.contains("fault[killed]: it was killed from outside (n0:1/Main/w, outside)"),
        "{notes}"
    );
    assert_eq!(
        notes.matches("app src: killed from outside; it restarts in 100 ms").count(),
        2,
        "{notes}"
    );
    assert_eq!(notes.matches("src: restarted").count(), 2, "{notes}");
    assert!(notes.contains("a.sim:3:1: node 1 has no app nobody that runs"), "{notes}");
}

/// Rules that use a component with an instance for each key; it fails now and then.
const ASKING: &str = "
materialize(answered, infinity, infinity, keys(2, 3)).
stage(\"cl:Double\", ask, answer, keys(2)).
a1 ask(@N, K, 4) :- periodic(@N, E, 0.5, 20), K := 1.
a2 answered(@N, K, V) :- answer(@N, K, V).
f1 broken(@N, R) :- stage::fault(@N, C, K, R).
watchmod(broken, \"h\").";

const ASKED: &str = "
INTERFACE Asking;
  { IN Ask(key, value: INTEGER) { OUT Answer(key, value: INTEGER) } OUT Done }
END Asking;
COMPONENT Double OFFERS Asking;
  VARIABLE n: INTEGER;
  IMPLEMENTATION Asking;
    VARIABLE k, v: INTEGER;
  BEGIN
    WHILE ?Ask DO
      ?Ask(k, v);
      BEGIN {EXCLUSIVE} INC(n); ASSERT(n < 4); v := v * 2 + n END;
      !Answer(k, v); !Done
    END
  END Asking;
END Double;";

#[test]
fn stages_of_components_live_and_die_with_their_node() {
    let run = || {
        let program = load(&[("a.olg", ASKING), ("a.com", ASKED)]);
        let options =
            SimOptions { nodes: 2, end_ns: Some(12_000_000_000), ..SimOptions::default() };
        // Node 1 is down for some time; an instance at node 0 is killed in its second input.
        let script = "at 3.2 crash 1\nat 5 restart 1\nat 2.7 kill 0 component Double\n\
                      at 11 expect * answered(NODE, 1, _) count 3";
        simulated(program, options, script)
    };
    let (text, notes, report) = run();
    assert!(notes.contains("fault[killed]: it was killed from outside (n0:1/Double"), "{notes}");
    assert_eq!(
        text.matches("broken(\"n0:1\", \"it was killed from outside\")").count(),
        1,
        "{text}"
    );
    assert!(text.matches("broken(\"n1:1\", \"assertion failed\")").count() >= 3, "{text}");
    let summary = report.nodes.expect("nodes");
    assert_eq!((summary.alive, summary.expectations_met), (2, 2));
    assert_eq!(run().0, text);
}

/// Files written by components of a simulation are in memory: each node has its own over those of
/// the folder, and keeps them in its next life.
#[test]
fn files_of_a_simulation_are_copies() {
    let components = "
        COMPONENT Main REQUIRES FileSystem, SystemTime;
          VARIABLE line: TEXT;
          PROCEDURE Show;
          BEGIN
            FileSystem!Open(\"diary\"); FileSystem?Done; FileSystem!ReadLine;
            WHILE FileSystem?Line DO
              FileSystem?Line(line); WRITE(line); WRITE(\" \"); FileSystem!ReadLine
            END;
            FileSystem?EOF; WRITELINE
          END Show;
        BEGIN
          Show; FileSystem!SetPosition(6); FileSystem!WriteText(\"again\"); FileSystem!Close;
          Show; SystemTime!Wait(5000); SystemTime?Passed
        END Main;";
    let rules = "r1 note(@N) :- periodic(@N, E, 100).";
    let folder = std::env::temp_dir().join(format!("tidemill-copies-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("0")).expect("a folder");
    std::fs::create_dir_all(folder.join("1")).expect("a folder");
    let content = "first\n";
    ["0", "1"].iter().for_each(|node| {
        std::fs::write(folder.join(node).join("diary"), content).expect("written");
    });
    let program = load(&[("a.com", components), ("a.olg", rules)]);
    let root = Some(folder.clone());
    let options = SimOptions { nodes: 2, root, end_ns: Some(4_000_000_000), ..Default::default() };
    let (text, _, _) = simulated(program, options, "at 1 crash 1\nat 2 restart 1\n");
    let of = |node: &str| -> Vec<&str> {
        text.lines().filter_map(|line| line.strip_prefix(node)).collect()
    };
    assert_eq!(of("n0:1: "), ["first ", "first again "]);
    assert_eq!(of("n1:1: "), ["first ", "first again ", "first again ", "first again "]);
    let diary = std::fs::read_to_string(folder.join("0/diary")).expect("it is there");
    assert_eq!(diary, content);
    std::fs::remove_dir_all(&folder).expect("it is there");
}

/// Counters of borders include the lives of crashed nodes.
#[test]
fn counts_of_borders_outlive_crashes() {
    let options = || SimOptions { nodes: 3, end_ns: Some(4_000_000_000), ..Default::default() };
    let events = |script: &str| {
        let (_, _, report) = simulated(mix(), options(), script);
        let borders = report.borders;
        borders.iter().find(|(name, _)| name == "rules/events").map(|(_, count)| *count)
    };
    assert_eq!(events(""), Some(3 * 3));
    assert_eq!(events("at 1 crash 1\nat 2 restart 1\nat 3 crash 1\nat 3 crash 2"), Some(4 * 3));
}

/// What a crash takes from a stage of components, and from deliveries that wait for a component.
#[test]
fn what_a_crash_takes_is_counted() {
    let rules = "
        stage(\"cl:Echo\", ask, answer, keys(2)).
        r1 ask(@N, K, V) :- given(@N, K, V).
        r2 heard(@N, K, V) :- answer(@N, K, V).
        r3 tick(@N, E) :- periodic(@N, E, 0.1).
        watch(heard).";
    let components = "
        INTERFACE Work; { IN A(k, n: INTEGER) { OUT B(k, n: INTEGER) } OUT Done } END Work;
        INTERFACE RulesTicks; { IN Next ( OUT tick(change: CHARACTER; e: INTEGER) | OUT End ) }
        END RulesTicks;
        COMPONENT Echo OFFERS Work REQUIRES SystemTime;
          IMPLEMENTATION Work; VARIABLE k, n: INTEGER;
          BEGIN {EXCLUSIVE} WHILE ?A DO
              ?A(k, n); SystemTime!Wait(300); SystemTime?Passed; !B(k, n); !Done
            END
          END Work;
        END Echo;
        COMPONENT {ENTRYPOINT} Main REQUIRES RulesTicks, SystemTime;
          VARIABLE c: CHARACTER; e: INTEGER;
        BEGIN
          WHILE TRUE DO
            RulesTicks!Next; RulesTicks?tick(c, e);
            SystemTime!Wait(1000); SystemTime?Passed
          END
        END Main;";
    let run = |script: &str| {
        let injected = LoadOptions {
            injected: Some(["given".to_owned()].into_iter().collect()),
            ..LoadOptions::default()
        };
        let program = Program::of_texts(&[("a.olg", rules), ("a.com", components)], &injected);
        let options = SimOptions { end_ns: Some(5_000_000_000), ..SimOptions::default() };
        simulated(program, options, script).2.borders
    };
    let count = |borders: &[(String, u64)], name: &str| {
        borders.iter().find(|(known, _)| known == name).map(|(_, count)| *count)
    };
    let inputs = "at 1 inject 0 given(NODE, 1, 7)\nat 1 inject 0 given(NODE, 1, 8)\n\
        at 1 inject 0 given(NODE, 2, 9)\n";
    // Two keys are in progress, and an input waits; then one of three is done, or all.
    for (at, out, lost) in [("1.01", 0, 3), ("1.4", 2, 1), ("2", 3, 0)] {
        let borders = run(&format!("{inputs}at {at} crash 0"));
        let of_stage = |name: &str| count(&borders, &format!("cl:Echo/{name}"));
        assert_eq!((of_stage("out"), of_stage("lost")), (Some(out), Some(lost)), "{borders:?}");
    }
    // A component takes one tick of each ten.
    let borders = run("at 2.55 crash 0");
    let [out, lost] = ["out", "lost"].map(|name| count(&borders, &format!("RulesTicks/{name}")));
    let ticks = out.zip(lost).map(|(out, lost)| out + lost);
    assert!((24..=26).contains(&ticks.unwrap_or(0)), "{borders:?}");
    assert!(lost.is_some_and(|lost| lost > 20), "{borders:?}");
}

/// Node 1 sends node 0 a text of 16 * 2^steps bytes.
const LONG: &str = "
materialize(got, infinity, infinity, keys(2)).
g1 grow(@N, \"0123456789abcdef\", Steps) :- start(@N, Steps).
g2 grow(@N, T + T, Steps - 1) :- grow(@N, T, Steps), Steps > 0.
g3 long(@LANDMARK, T) :- grow(@N, T, 0).
r1 got(@N, f_strlen(T)) :- long(@N, T).
watchmod(got, \"i\").";

/// What does not fit a datagram goes in fragments, which meet the conditions of the network.
#[test]
fn long_tuples_cross_a_simulated_network() {
    let sim = |script: &str, seed: u64, loss: f64| {
        let faults = FaultOptions { loss, ..FaultOptions::default() };
        let options = SimOptions { nodes: 2, seed, faults, ..SimOptions::default() };
        let options_of_load = LoadOptions {
            injected: Some(["start".to_owned()].into_iter().collect()),
            ..LoadOptions::default()
        };
        let program = Program::of_texts(&[("a.olg", LONG)], &options_of_load);
        assert!(!program.has_errors());
        let (text, notes, report) = simulated(program, options, script);
        assert_eq!(notes, "");
        let rows: String =
            text.split_inclusive('\n').filter(|line| line.contains("got(")).collect();
        (rows, report.nodes.expect("nodes"))
    };
    let quarter = "at 1 inject 1 start(NODE, 14)\n";
    for seed in 1..=5 {
        let (text, summary) = sim(quarter, seed, 0.0);
        assert!(text.contains(", 262144)"), "{text}");
        // It is there when its last fragment is, at the latency of the network.
        let at: f64 = text.split(' ').next().and_then(|at| at.parse().ok()).expect("a time");
        assert!((1.010..=1.050).contains(&at), "{text}");
        assert!(summary.messages > 200 && summary.bytes > 262_144, "{summary}");
        assert_eq!(sim(quarter, seed, 0.0), (text, summary));
    }
    // Without one of its fragments it is lost, as by UDP.
    let (text, summary) = sim(quarter, 1, 0.2);
    assert_eq!(text, "");
    assert!(summary.tables.contains(&("got".to_owned(), 0)));
    assert!(summary.dropped.contains(&("fragment_timeout".to_owned(), 1)), "{summary}");
    // So it is with a node that crashes meanwhile.
    let crash = "at 1 inject 1 start(NODE, 14)\nat 1.005 crash 0\nat 1.2 restart 0\n\
                 at 2 inject 1 start(NODE, 14)\n";
    let (text, _) = sim(crash, 1, 0.0);
    assert_eq!(text.matches(", 262144)").count(), 1, "{text}");
    assert!(text.starts_with("2.0"), "{text}");
    // The limit of a message is that of the real network.
    let (text, summary) = sim("at 1 inject 1 start(NODE, 16)\n", 1, 0.0);
    assert_eq!((text.as_str(), summary.messages), ("", 0), "{summary}");
    assert_eq!(summary.dropped, [("unsendable".to_owned(), 1)]);
}

/// Crashed nodes stay in the sums of links, apps, rules and components.
#[test]
fn ended_lives_are_in_the_report() {
    let options = || SimOptions { nodes: 3, end_ns: Some(4_000_000_000), ..Default::default() };
    let report = |script: &str| simulated(mix(), options(), script).2;
    let lives = |report: &Report, lives: u64| {
        let packets = report.packets.as_ref().expect("a graph");
        let links: Vec<u64> = packets.links.iter().map(|(_, link)| link.rx_packets).collect();
        assert_eq!(links, [3 * lives, 3 * lives]);
        let of_sink = packets.apps.iter().find(|(name, _)| name == "out").expect("a sink");
        assert!(of_sink.1.contains(&("taken_packets".to_owned(), 3 * lives)), "{of_sink:?}");
        let counts = &report.components.as_ref().expect("components").counts.components;
        assert_eq!(counts.created, lives);
    };
    lives(&report(""), 3);
    let report = report("at 1.5 crash 1\nat 2 restart 1\nat 3.5 crash 1\nat 3.5 crash 2");
    lives(&report, 4);
    let summary = report.nodes.expect("nodes");
    // Rows are those of the node that lives.
    assert_eq!((summary.alive, &*summary.tables[0].0, summary.tables[0].1), (1, "seen", 3));
    // r1 and r2 for each packet, r3 once for each life, r4 for each of its tuples.
    assert_eq!(summary.rules.fired, 4 * (3 + 3 + 1 + 1));
}

/// Packets that an app holds when it is killed are lost, which it counts, as all others.
#[test]
fn an_app_that_is_killed_goes_on_counting() {
    let graph = "
        src :: Generator { frames: [\"hex 01\"], packets: 100, rate: 100 }
        hold :: Delay { seconds: 0.3 }
        end :: Sink
        src -> hold -> end";
    let run = |script: &str| {
        let options = SimOptions { end_ns: Some(3_000_000_000), ..SimOptions::default() };
        let (_, _, report) = simulated(load(&[("a.flow", graph)]), options, script);
        let packets = report.packets.expect("a graph");
        let count = |app: &str, counter: &str| {
            let app = packets.apps.iter().find(|(name, _)| name == app).expect("an app");
            app.1.iter().find(|(name, _)| name == counter).map_or(0, |(_, count)| *count)
        };
        let [taken, lost] = [count("end", "taken_packets"), count("hold", "drop_lost")];
        assert_eq!(packets.links[1].1.rx_packets, taken);
        (packets.links[0].1.rx_packets, taken, lost, count("hold", "kept"))
    };
    assert_eq!(run(""), (100, 100, 0, 0));
    // The counters of a sink go on.
    assert_eq!(run("at 0.6 kill 0 app end"), (100, 100, 0, 0));
    // About thirty packets are held.
    let (sent, taken, lost, kept) = run("at 0.6 kill 0 app hold");
    assert_eq!((sent, taken + lost, kept), (100, 100, 0));
    assert!((25..=35).contains(&lost), "{lost}");
}
