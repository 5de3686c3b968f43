//! Packets and components of the program: an instance of a component for each flow.

use std::collections::BTreeMap;

use super::{EngineKind, found, options};
use tidemill::program::{LoadOptions, Program};
use tidemill::run::Report;
use tidemill::tape::taped;
use tidemill_stat::{Counter, Registry};

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

/// What apps named `script` count.
const NAMES: [&str; 15] = [
    "taken",
    "received",
    "sent",
    "not_sent",
    "flows",
    "alive",
    "ended_idle",
    "ended",
    "failed",
    "dropped_no_room",
    "dropped_no_memory",
    "dropped_queue_full",
    "dropped_not_open",
    "dropped_ended",
    "dropped_failed",
];

/// Counters, which are there as long as somebody holds them.
struct Counts(Vec<(&'static str, Counter)>);

impl Counts {
    fn of(registry: &Registry) -> Counts {
        let counter = |name| (name, registry.counter(&format!("border/script/{name}")));
        Counts(NAMES.map(counter).into_iter().collect())
    }

    /// Those that are not 0. Each packet taken has been received or dropped.
    fn read(&self) -> BTreeMap<&'static str, u64> {
        let all = || self.0.iter().map(|(name, counter)| (*name, counter.get()));
        let sum = |is_it: fn(&str) -> bool| -> u64 {
            all().filter(|(name, _)| is_it(name)).map(|(_, count)| count).sum()
        };
        let went = sum(|name| name == "received" || name.starts_with("dropped_"));
        assert_eq!(sum(|name| name == "taken"), went, "{:?}", all().collect::<Vec<_>>());
        all().filter(|(_, count)| *count > 0).collect()
    }
}

/// What it writes, what it notes, what it counts, and how it ends.
fn run(
    components: &str,
    graph: &str,
) -> (String, String, BTreeMap<&'static str, u64>, Report) {
    let program = load(components, graph);
    assert_eq!(found(&program), "");
    let options = options(EngineKind::Compiled);
    let counts = Counts::of(&options.registry);
    let (console, data, notes) = taped();
    let report = program.run(options, console).expect("it runs");
    (data.text(), notes.text(), counts.read(), report)
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
    assert_eq!(counts, [("ended", 3), ("flows", 3), ("received", 6), ("taken", 6)].into());
    let (text, _, counts, _) = run(METER, &graph(&[1, 2, 1], "component: \"Meter\""));
    assert_eq!(text, "3 packets, 126 bytes\n", "{counts:?}");
}
