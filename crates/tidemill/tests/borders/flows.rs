//! Packets and components of the program: an instance of a component for each flow.

use std::collections::BTreeMap;

use super::{EngineKind, first_error, found, options};
use tidemill::program::{LoadOptions, Program};
use tidemill::run::Report;
use tidemill::script::parse;
use tidemill::sim::{SimOptions, Simulation};
use tidemill::tape::taped;
use tidemill_diag::Sources;

/// Counts the bytes of its flow, and prints the count when it ends.
const METER: &str = "COMPONENT Meter REQUIRES Packets;
  VARIABLE packet: TEXT; packets, bytes: INTEGER;
  BEGIN
    packets := 0; bytes := 0;
    Packets!Open(\"src\"); Packets?Opened
  ACTIVITY {EXCLUSIVE}
    Packets!Receive;
    WHILE ~(Packets?FINISH) DO
      Packets?Packet(packet);
      INC(packets); INC(bytes, LENGTH(packet));
      Packets!Receive
    END
  FINALLY
    WRITE(packets); WRITE(\" packets, \"); WRITE(bytes); WRITE(\" bytes\"); WRITELINE
  END Meter;";

const PER: &str = "component: \"Meter\", per: \"ip.src, ip.dst, proto, src port, dst port\"";

fn load(components: &str, graph: &str) -> Program {
    let texts = [("a.com", components), ("a.flow", graph)];
    Program::of_texts(&texts, &LoadOptions::default())
}

/// The nonzero counters of the app `script`. Each packet taken was received or dropped.
fn counts(report: &Report) -> BTreeMap<String, u64> {
    let packets = report.packets.as_ref().expect("a graph");
    let script = packets.apps.iter().find(|(name, _)| name == "script").expect("counted");
    let counts: BTreeMap<String, u64> = script.1.iter().cloned().collect();
    let went = counts.iter().filter(|(name, _)| *name == "received" || name.contains("dropped_"));
    assert_eq!(counts["taken"], went.map(|(_, count)| count).sum::<u64>(), "{counts:?}");
    counts.into_iter().filter(|(_, count)| *count > 0).collect()
}

fn expected<const COUNT: usize>(counts: [(&str, u64); COUNT]) -> BTreeMap<String, u64> {
    counts.map(|(name, count)| (name.to_owned(), count)).into()
}

/// Its output, its notes, its counters, and its result.
fn run(components: &str, graph: &str) -> (String, String, BTreeMap<String, u64>, Report) {
    let program = load(components, graph);
    assert_eq!(found(&program), "");
    let options = options(EngineKind::Compiled);
    let (console, data, notes) = taped();
    let report = program.run(options, console).expect("it runs");
    (data.text(), notes.text(), counts(&report), report)
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// UDP from these ports.
fn graph(ports: &[u16], config: &str) -> String {
    let frame = |port: &u16| {
        format!("\"02:00:00:00:00:01 > 02:00:00:00:00:09 ip 10.0.0.1 > 10.0.0.9 udp {port} > 7\"")
    };
    let frames: Vec<String> = ports.iter().map(frame).collect();
    format!(
        "src :: Generator {{ frames: [{}], packets: {} }}
        script :: Script {{ {config} }}
        src -> script",
        frames.join(", "),
        ports.len()
    )
}

#[test]
fn each_flow_has_an_instance_that_ends_with_the_graph() {
    let (text, notes, counts, report) = run(METER, &graph(&[1, 2, 1, 3, 1, 2], PER));
    assert_eq!(notes, "");
    assert_eq!(
        sorted(&text),
        ["1 packets, 42 bytes", "2 packets, 84 bytes", "3 packets, 126 bytes"],
        "{counts:?}"
    );
    assert!(report.is_well());
    assert_eq!(counts, expected([("ended", 3), ("flows", 3), ("received", 6), ("taken", 6)]));
    let (text, _, counts, _) = run(METER, &graph(&[1, 2, 1], "component: \"Meter\""));
    assert_eq!(text, "3 packets, 126 bytes\n", "{counts:?}");
}

/// An instance that fails while it ends has failed, and has not ended as well.
#[test]
fn each_instance_ends_once() {
    let failing = METER.replace("FINALLY\n", "FINALLY\n    ASSERT(packets < 0);\n");
    for config in [PER.to_owned(), format!("{PER}, idle: 1")] {
        let (_, notes, counts, _) = run(&failing, &graph(&[1, 2, 3], &config));
        assert_eq!(notes.matches("assertion failed").count(), 3, "{notes}");
        let all = expected([("failed", 3), ("flows", 3), ("received", 3), ("taken", 3)]);
        assert_eq!(counts, all, "{config}");
    }
}

#[test]
fn an_instance_that_waits_without_asking_for_the_end_ends_there() {
    let plain = METER.replace("WHILE ~(Packets?FINISH) DO", "WHILE TRUE DO");
    let (text, notes, counts, _) = run(&plain, &graph(&[1, 2, 1], PER));
    assert_eq!(notes, "");
    assert_eq!(sorted(&text), ["1 packets, 42 bytes", "2 packets, 84 bytes"]);
    assert_eq!(counts, expected([("ended", 2), ("flows", 2), ("received", 3), ("taken", 3)]));
}

#[test]
fn what_an_instance_sends_goes_on_and_bytes_are_as_they_came() {
    let pass = "COMPONENT Meter REQUIRES Packets; VARIABLE packet: TEXT; isSent: BOOLEAN;
      BEGIN Packets!Open(\"src -> out\"); Packets?Opened
      ACTIVITY {EXCLUSIVE}
        WHILE TRUE DO
          Packets!Receive; Packets?Packet(packet);
          Packets!Send(packet); Packets?Sent(isSent);
          ASSERT(isSent);
          Packets!Send(packet); Packets?Sent(isSent)
        END
      END Meter;";
    let graph = format!("{}\nout :: Sink\nscript -> out", graph(&[1, 2, 1, 2], PER));
    let (_, notes, counts, report) = run(pass, &graph);
    assert_eq!(notes, "");
    assert_eq!(super::received(&report, "->out."), 8);
    let all = [("ended", 2), ("flows", 2), ("received", 4), ("sent", 8), ("taken", 4)];
    assert_eq!(counts, expected(all));
}

#[test]
fn an_instance_ends_with_its_body_and_the_next_packet_makes_another() {
    // Each takes two packets.
    let two = "COMPONENT Meter REQUIRES Packets; VARIABLE packet: TEXT; i: INTEGER;
      BEGIN
        Packets!Open(\"src\"); Packets?Opened;
        FOR i := 1 TO 2 DO Packets!Receive; Packets?Packet(packet) END
      FINALLY WRITE(\"two\"); WRITELINE
      END Meter;";
    let (text, notes, counts, _) = run(two, &graph(&[1, 1, 1, 2, 1, 2], PER));
    assert_eq!((&*notes, &*text), ("", "two\ntwo\ntwo\n"));
    assert_eq!(counts, expected([("ended", 3), ("flows", 3), ("received", 6), ("taken", 6)]));
    // If an instance takes none, no further one is made.
    let none = "COMPONENT Meter REQUIRES Packets; BEGIN END Meter;";
    let (_, _, counts, _) = run(none, &graph(&[1, 1, 2], PER));
    assert_eq!(counts.get("dropped_ended"), Some(&3), "{counts:?}");
    assert_eq!(counts.get("ended"), counts.get("flows"), "{counts:?}");
}

#[test]
fn a_fault_ends_its_flow_only() {
    let fails = METER.replace("INC(packets);", "INC(packets); ASSERT(packets < 2);");
    let (text, notes, counts, report) = run(&fails, &graph(&[1, 2, 1, 1, 3, 1], PER));
    assert_eq!(
        notes.matches("fault[assertion]: assertion failed (Meter, ACTIVITY)").count(),
        1,
        "{notes}"
    );
    assert!(report.is_well());
    // The queue of the failed instance is dropped; later packets make another.
    assert_eq!(sorted(&text).last(), Some(&"2 packets, 42 bytes"), "{text}");
    assert_eq!(
        (counts["failed"], counts["received"] + counts["dropped_failed"]),
        (1, 6),
        "{counts:?}"
    );
}

#[test]
fn flows_and_what_waits_for_them_are_limited() {
    let config = format!("{PER}, flows_max: 2");
    let (_, _, counts, _) = run(METER, &graph(&[1, 2, 3, 4, 1, 3], &config));
    let all = [("dropped_no_room", 3), ("ended", 2), ("flows", 2), ("received", 3), ("taken", 6)];
    assert_eq!(counts, expected(all));
    // This one takes none for a second.
    let slow = "COMPONENT Meter REQUIRES Packets, SystemTime; VARIABLE packet: TEXT;
      BEGIN
        Packets!Open(\"src\"); Packets?Opened; SystemTime!Wait(1000); SystemTime?Passed
      ACTIVITY {EXCLUSIVE}
        WHILE TRUE DO Packets!Receive; Packets?Packet(packet) END
      END Meter;";
    let config = format!("{PER}, queue_max: 3");
    let (_, _, counts, _) = run(slow, &graph(&[1, 1, 1, 1, 1, 2], &config));
    let all =
        [("dropped_queue_full", 2), ("ended", 2), ("flows", 2), ("received", 4), ("taken", 6)];
    assert_eq!(counts, expected(all));
    // An instance that keeps up loses none, however small its queue is.
    let config = "component: \"Meter\", queue_max: 1";
    let graph = format!(
        "src :: Source {{ packets: 20000 }}\nscript :: Script {{ {config} }}\nsrc -> script"
    );
    let (text, _, counts, report) = run(METER, &graph);
    let link = &report.packets.expect("a graph").links[0].1;
    assert_eq!(counts["received"] + link.tx_drops, 20_000, "{counts:?}");
    assert_eq!(
        text,
        format!("{0} packets, {1} bytes\n", counts["received"], counts["received"] * 60)
    );
}

#[test]
fn an_instance_has_the_inputs_that_it_opens() {
    let both = "COMPONENT Meter REQUIRES Packets; VARIABLE packet: TEXT;
      BEGIN
        Packets!Open(\"src\"); Packets?Opened
      ACTIVITY {EXCLUSIVE}
        WHILE TRUE DO Packets!Receive; Packets?Packet(packet) END
      END Meter;";
    let graph = format!(
        "{}\nother :: Source {{ packets: 5 }}\nother -> script",
        graph(&[1, 1], "component: \"Meter\"")
    );
    let (_, notes, counts, _) = run(both, &graph);
    assert_eq!(notes, "");
    let all = [("dropped_not_open", 5), ("ended", 1), ("flows", 1), ("received", 2), ("taken", 7)];
    // The blocking packets count when it receives the next, or when it ends.
    let mut summed = counts.clone();
    let ended = summed.remove("dropped_ended").unwrap_or(0);
    *summed.entry("dropped_not_open".to_owned()).or_default() += ended;
    assert_eq!(summed, expected(all));
}

#[test]
fn a_flow_without_packets_ends_and_killing_what_is_there_loses_no_count() {
    // Ten packets a second, of five flows in turn: two of them every tenth second only.
    let ports: Vec<u16> = (0..100).map(|at| if at < 10 { at % 5 } else { at % 3 }).collect();
    let config = format!("{PER}, idle: 2");
    let graph = graph(&ports, &config).replace("packets: 100", "packets: 100, rate: 10");
    let pass = METER.replace("INC(packets);", "INC(packets); ASSERT(packets < 40);");
    let sim = |script: &str, nodes| {
        let program = load(&pass, &graph);
        let options = SimOptions { nodes, end_ns: Some(20_000_000_000), ..SimOptions::default() };
        let mut simulation = Simulation::new(program, options).expect("it can");
        let mut sources = Sources::new();
        let file = sources.add("a.sim", script.to_owned());
        let (script, errors) = parse(file, script);
        assert!(errors.is_empty());
        assert!(simulation.script(&script, &sources).is_empty());
        let (console, data, notes) = taped();
        let report = simulation.run(console).expect("it runs");
        (data.text(), notes.text(), counts(&report))
    };
    let (text, notes, all) = sim("at 19 end", 1);
    assert_eq!(notes, "");
    assert_eq!(all, expected([("ended_idle", 5), ("flows", 5), ("received", 100), ("taken", 100)]));
    assert_eq!(text.matches("2 packets, 84 bytes").count(), 2, "{text}");
    // An instance and the app are killed, and a node comes and goes.
    let script = "at 3.05 kill 0 component Meter\nat 5.05 kill 0 app script\nat 6.05 crash 1\n\
                  at 8 restart 1\nat 19 end";
    let (text, notes, all) = sim(script, 2);
    assert_eq!(notes.matches("fault[killed]").count(), 1, "{notes}");
    assert_eq!(notes.matches("app script: killed from outside").count(), 1, "{notes}");
    // The instance of the crashed node could not print anything.
    let ended = all["ended_idle"] + all["failed"];
    assert!(ended < all["flows"] && !all.contains_key("alive"), "{all:?}");
    assert!(all["failed"] >= 4 && all["taken"] > 200, "{all:?}");
    assert_eq!(sim(script, 2), (text, notes, all));
}

/// The same component with an interface of its own.
fn offering(component: &str) -> String {
    let offers = component.replace("REQUIRES", "OFFERS Asked REQUIRES");
    let serves = "IMPLEMENTATION Asked; BEGIN ?X END Asked; BEGIN";
    format!("INTERFACE Asked; IN X END Asked;\n{}", offers.replacen("BEGIN", serves, 1))
}

fn error(components: &str, graph: &str) -> (String, Vec<String>, String) {
    first_error(&load(components, graph), |_| true)
}

#[test]
fn what_does_not_fit_is_an_error_of_both_sides() {
    let fine = graph(&[1], PER);
    assert_eq!(found(&load(METER, &fine)), "");
    let (message, places, help) = error(METER, &fine.replace("\"Meter\"", "\"Meters\""));
    assert_eq!(message, "the program has no component `Meters`");
    assert_eq!((places, &*help), (vec!["a.flow: script".to_owned()], "there is `Meter`"));
    let offers = offering(METER);
    let (message, places, _) = error(&offers, &fine);
    assert_eq!(message, "`Meter` offers `Asked`, which nothing requires");
    assert_eq!(places, ["a.flow: script", "a.com: Asked"]);
    let (message, places, _) = error("COMPONENT Meter; BEGIN END Meter;", &fine);
    assert_eq!(message, "`Meter` does not require `Packets`, and gets no packet");
    assert_eq!(places, ["a.flow: script", "a.com: Meter"]);
    let (message, places, help) = error(&METER.replace("\"src\"", "\"srcs\""), &fine);
    assert_eq!(message, "no link of `script` leads from or to `srcs`");
    assert_eq!(places, ["a.com: \"srcs\"", "a.flow: script"]);
    assert_eq!(help, "is `src` meant? ports go by the apps at the other ends");
    let (message, ..) = error(&METER.replace("\"src\"", "\"src -> out\""), &fine);
    assert_eq!(message, "no link of `script` leads from or to `out`");
    let alone = Program::of_text("a.flow", &fine, &LoadOptions::default());
    assert!(found(&alone).contains("runs a component of the program, and that has none"));
    // An interface that the system does not offer is not connected.
    let lonely = format!(
        "INTERFACE Other; IN X END Other;\n{}",
        METER.replace("REQUIRES", "REQUIRES Other,")
    );
    let (message, _, help) = error(&lonely, &fine);
    assert!(message.contains("Other is no interface of the system"), "{message}");
    assert!(help.contains("a stage or app makes Meter"), "{help}");
    let wrong = |config: &str| {
        let program = Program::of_text("a.flow", &graph(&[1], config), &LoadOptions::default());
        found(&program)
    };
    for (config, expected) in [
        (
            "component: \"Meter\", per: \"ip.scr\"",
            "packets have no field `ip.scr`; is `ip.src` meant?",
        ),
        ("per: \"ip.src\"", "say `component`, or `file`"),
        ("component: \"Meter\", file: \"x.com\"", "say one of them"),
        ("component: \"Meter\", flows_max: 0", "it must be 1 at least"),
        ("component: \"Meter\", queue_max: 0", "it must be 1 at least"),
    ] {
        assert!(wrong(config).contains(expected), "{}", wrong(config));
    }
}

#[test]
fn a_program_of_its_own_has_an_instance_for_each_flow_too() {
    let folder = std::env::temp_dir().join(format!("tidemill-flows-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("meter.com");
    let pass =
        "COMPONENT Meter REQUIRES Packets; VARIABLE packet: TEXT; i: INTEGER; isSent: BOOLEAN;
      BEGIN
        Packets!Open(\"src -> out\"); Packets?Opened;
        FOR i := 1 TO 2 DO
          Packets!Receive; Packets?Packet(packet); Packets!Send(packet); Packets?Sent(isSent)
        END;
        Packets!Close
      FINALLY
        Packets!Open(\"out\"); Packets?Opened; Packets!Send(\"over\"); Packets?Sent(isSent)
      END Meter;";
    std::fs::write(&file, pass).expect("written");
    let config = |more: &str| format!("file: \"{}\", per: \"ip.src, sport\"{more}", file.display());
    let graph = |more: &str| {
        let graph = graph(&[1, 2, 1, 1, 1, 3], &config(more));
        format!("{graph}\nout :: Sink\nscript -> out")
    };
    for engine in [EngineKind::Compiled, EngineKind::Dispatch] {
        let program = Program::of_text("a.flow", &graph(""), &LoadOptions::default());
        assert_eq!(found(&program), "");
        let report = program.run(options(engine), tidemill::console::Console::silent());
        let report = report.expect("it runs");
        // Two flows still wait for their second packet.
        assert_eq!(super::received(&report, "->out."), 8);
        let all =
            [("alive", 2), ("ended", 2), ("flows", 4), ("received", 6), ("sent", 8), ("taken", 6)];
        assert_eq!(counts(&report), expected(all));
    }
    let graph = graph(", idle: 1").replace("packets: 6", "packets: 6, rate: 1");
    let program = Program::of_text("a.flow", &graph, &LoadOptions::default());
    let options = SimOptions { end_ns: Some(20_000_000_000), ..SimOptions::default() };
    let report = program.sim(options, tidemill::console::Console::silent()).expect("it runs");
    let counts = counts(&report);
    // Packets of two flows come too late for the previous one. The last ends with the run.
    let all = [
        ("alive", 1),
        ("ended_idle", 5),
        ("flows", 6),
        ("received", 6),
        ("sent", 11),
        ("taken", 6),
    ];
    assert_eq!(counts, expected(all));
    std::fs::write(&file, offering(pass)).expect("written");
    let program = Program::of_text("a.flow", &graph, &LoadOptions::default());
    let refused =
        program.run(super::options(EngineKind::Compiled), tidemill::console::Console::silent());
    let why = refused.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(why.contains("Meter offers Asked, which nothing requires"), "{why}");
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn an_instance_reaches_the_rules_as_any_component_does() {
    let telling = format!(
        "INTERFACE RulesSeen; {{ IN flow(packets: INTEGER) OUT Taken }} END RulesSeen;\n{}",
        METER.replace("REQUIRES Packets", "REQUIRES Packets, RulesSeen").replace(
            "WRITE(packets);",
            "RulesSeen!flow(packets); RulesSeen?Taken; WRITE(packets);"
        )
    );
    let rules = "
        materialize(seen, infinity, infinity, keys(2)).
        r1 seen(@N, Packets) :- flow(@N, Packets).
        watchmod(seen, \"i\").
        r2 flow::config(@N, f_strcat(\"scr\", \"ipt\"), \"idle\", 5) :- periodic(@N, E, 0.01, 1).
        r3 no(@N, Reason) :- flow::refused(@N, App, Key, Value, Reason).
        watch(no).";
    let graph = graph(&[1, 2, 1, 3], PER).replace("packets: 4", "packets: 4, rate: 40");
    let texts = [("a.com", &*telling), ("a.flow", &*graph), ("a.olg", rules)];
    let program = Program::of_texts(&texts, &LoadOptions::default());
    assert_eq!(found(&program), "");
    let (console, data, notes) = taped();
    let report = program.run(options(EngineKind::Compiled), console).expect("it runs");
    let text = data.text();
    assert!(report.is_well(), "{}", notes.text());
    let all = [("ended", 3), ("flows", 3), ("received", 4), ("taken", 4)];
    assert_eq!(counts(&report), expected(all), "{text}");
    // Two of them say the same.
    assert_eq!(text.matches("seen(").count(), 2, "{text}");
    assert!(text.contains("how it runs components is settled"), "{text}");
}
