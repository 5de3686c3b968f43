//! Packets and components of the program: an instance of a component for each flow.

use std::collections::BTreeMap;

use super::{EngineKind, found, options};
use tidemill::program::{LoadOptions, Program};
use tidemill::run::Report;
use tidemill::tape::taped;

/// Counts the bytes of its flow, and says at its end how many they were.
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

fn load(components: &str, graph: &str) -> Program {
    let texts = [("a.com", components), ("a.flow", graph)];
    Program::of_texts(&texts, &LoadOptions::default())
}

/// What the app `script` has counted, but for zeros. Each packet taken was received or dropped.
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

/// What it writes, what it notes, what it counts, and how it ends.
fn run(
    components: &str,
    graph: &str,
) -> (String, String, BTreeMap<String, u64>, Report) {
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

/// UDP from the ports that are named.
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
    let per = "component: \"Meter\", per: \"ip.src, ip.dst, proto, src port, dst port\"";
    let (text, notes, counts, report) = run(METER, &graph(&[1, 2, 1, 3, 1, 2], per));
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
