//! Rules beside a graph on several workers: each flow sees what it sees with one.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;

use tidemill::program::{LoadOptions, Program};
use tidemill::run::{Clock, Listen, Report, RunOptions};
use tidemill::tape::taped;
use tidemill_apps::capture::{CaptureWriter, Format};

/// The time of the first packet, in nanoseconds since the epoch.
const BEGIN_NS: i64 = 1_700_000_000_000_000_000;
const FLOWS: u8 = 60;
const ROUNDS: u16 = 20;

/// A file that is removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, ending: &str) -> Scratch {
        let name = format!("tidemill-{}-mixed-{name}.{ending}", std::process::id());
        Scratch(std::env::temp_dir().join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A frame of UDP of a flow; its IP identification is the number of the round.
fn frame(flow: u8, round: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    frame.extend([0x45, 0, 0, 46]);
    frame.extend(round.to_be_bytes());
    frame.extend([0, 0, 64, 17, 0, 0, 10, 0, 0, flow, 10, 1, 0, 1]);
    frame.extend((1000 + u16::from(flow)).to_be_bytes());
    frame.extend([0, 53, 0, 26, 0, 0]);
    frame.extend([flow; 18]);
    frame
}

/// A capture of all flows: a round takes 100 ms.
fn capture(name: &str) -> Scratch {
    let scratch = Scratch::new(name, "pcap");
    let file = File::create(&scratch.0).expect("a file");
    let mut writer = CaptureWriter::new(file, Format::Pcap).expect("it can be written");
    for round in 0..ROUNDS {
        for flow in 0..FLOWS {
            let time_ns = i64::from(round) * 100_000_000 + i64::from(flow) * 1_300_000;
            let frame = frame(flow, round);
            let length = frame.len();
            writer.write(BEGIN_NS + time_ns, &frame, length as u32).expect("it can be written");
        }
    }
    scratch
}

/// The result of a run: its lines without times, its report, and its notes.
struct Ran {
    lines: Vec<String>,
    report: Report,
    notes: String,
}

impl Ran {
    /// A counter of a border.
    fn count(&self, name: &str) -> u64 {
        let found = self.report.borders.iter().find(|(known, _)| known == name);
        found.unwrap_or_else(|| panic!("{name}: {:?}", self.report.borders)).1
    }

    fn received(&self, link: &str) -> u64 {
        let packets = self.report.packets.as_ref().expect("a graph");
        let link = packets.links.iter().find(|(name, _)| name.contains(link));
        link.map(|(_, stats)| stats.rx_packets).unwrap_or_else(|| panic!("{:?}", packets.links))
    }

    /// The lines of each flow, which is their first column after the location, in order.
    fn flows(&self) -> BTreeMap<String, Vec<String>> {
        let mut flows: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for line in &self.lines {
            let flow = line.split(", ").nth(1).unwrap_or(line).trim_end_matches(')');
            flows.entry(flow.to_owned()).or_default().push(line.clone());
        }
        flows
    }
}

fn run_files(texts: &[(&str, &str)], workers: u32, clock: Clock) -> Ran {
    let program = Program::of_texts(texts, &LoadOptions::default());
    let found: String = program.diagnostics.iter().map(|one| program.sources.render(one)).collect();
    assert!(!program.has_errors(), "{found}");
    let mut options = RunOptions { clock, ..RunOptions::default() };
    options.nodes.workers = workers;
    options.nodes.listen = Listen::Address("localhost:0".to_owned());
    // Not in the name of a column.
    options.nodes.address = Some("n0:1".to_owned());
    let (console, data, notes) = taped();
    let report = program.run(options, console).expect("it runs");
    let lines = data.text();
    // `TIME NODE LETTER RULE TUPLE`
    let lines = lines.lines().filter_map(|line| line.splitn(5, ' ').nth(4));
    Ran { lines: lines.map(str::to_owned).collect(), report, notes: notes.text() }
}

fn run(graph: &str, rules: &str, workers: u32) -> Ran {
    run_files(&[("a.flow", graph), ("a.olg", rules)], workers, Clock::Own)
}

/// Runs with one worker and with several, which see the same of each flow. Returns both runs.
fn compare(graph: &str, rules: &str, workers: u32) -> (Ran, Ran) {
    let (one, several) = (run(graph, rules, 1), run(graph, rules, workers));
    let alive = [&one, &several].map(|ran| {
        assert_eq!(ran.notes, "");
        assert!(ran.report.is_well());
        ran.report.packets.as_ref().expect("a graph").packets.alive()
    });
    assert_eq!(alive[0], alive[1]);
    assert_eq!(one.flows(), several.flows(), "{workers} workers");
    (one, several)
}

/// All counters of an app's border.
fn counts(ran: &Ran, app: &str) -> Vec<(String, u64)> {
    let of_app = |(name, _): &&(String, u64)| name.starts_with(&format!("{app}/"));
    ran.report.borders.iter().filter(of_app).cloned().collect()
}

#[test]
fn packets_of_all_workers_are_events_of_the_rules() {
    let capture = capture("sink");
    let graph = format!(
        "src :: PcapReader {{ file: {:?} }}
         rules :: Rules {{ fields: \"ip.src, ip.id, time\" }}
         src -> rules",
        capture.0
    );
    // Rules see a packet in its time, to the grain of a capture.
    let rules = "
        r1 got(@N, f_addrText(From), Id, Time, f_now() - Time < 0.002s) :-
            packet(@N, Port, _, From, Id, Time).
        watchmod(got, \"c\").";
    for workers in [2, 3] {
        let (one, several) = compare(&graph, rules, workers);
        let all = u64::from(FLOWS) * u64::from(ROUNDS);
        assert_eq!(several.lines.len() as u64, all);
        assert!(several.lines.iter().all(|line| line.ends_with("true)")), "{}", several.lines[0]);
        assert_eq!(several.count("rules/events"), all);
        assert_eq!(counts(&one, "rules"), counts(&several, "rules"));
    }
}

/// A packet of each flow is dropped, one sent twice, and each third held until the next comes.
const VERDICTS: &str = "
    materialize(held, infinity, infinity, keys(2)).
    r1 send(@N, \"out\", Id) :- packet(@N, Port, Id, From, Number), Number % 3 == 0, Number > 0.
    r2 send(@N, \"copy\", Id) :- packet(@N, Port, Id, From, Number), Number == 6.
    r3 hold(@N, Port, Id, 1.0) :- packet(@N, Port, Id, From, Number), Number % 3 == 1.
    r4 held(@N, From, Id) :- packet(@N, Port, Id, From, Number), Number % 3 == 1.
    r5 send(@N, \"out\", First) :- packet(@N, Port, Id, From, Number), Number % 3 == 2,
        held(@N, From, First).
    r6 send(@N, \"out\", Id) :- packet(@N, Port, Id, From, Number), Number % 3 == 2.
    r7 delete held(@N, From, First) :- packet(@N, Port, Id, From, Number), Number % 3 == 2,
        held(@N, From, First).
    r8 send(@N, \"out\", Id - 1) :- packet(@N, Port, Id, From, Number), Number == 9.
    r9 send(@N, f_strcat(\"no\", \"where\"), Id) :- packet(@N, Port, Id, From, Number),
        Number == 0.";

#[test]
fn verdicts_come_back_to_the_packets() {
    let capture = capture("verdicts");
    let rules = VERDICTS.replace("\"out\"", "\"again\"")
        + "\nr20 got(@N, f_addrText(From), Number) :- again(@N, Port, Id, From, Number).
           watchmod(got, \"c\").";
    let graph = "src :: PcapReader { file: FILE }
         rules :: Rules { fields: \"ip.src, ip.id\" }
         again :: Rules { fields: \"ip.src, ip.id\", event: \"again\", verdict: \"\" }
         copy :: Sink
         src -> rules
         rules -> again
         rules -> copy"
        .replace("FILE", &format!("{:?}", capture.0));
    let (one, several) = compare(&graph, &rules, 3);
    let sent = u64::from(FLOWS) * u64::from((1..ROUNDS).count() as u16);
    assert!(several.lines.len() as u64 >= sent - u64::from(FLOWS), "{}", several.lines.len());
    assert_eq!(several.received("->copy."), u64::from(FLOWS));
    assert!(several.count("rules/stale") > 0 && several.count("rules/dropped_no_output") > 0);
    assert_eq!(counts(&one, "rules"), counts(&several, "rules"));
}

/// Frames that rules make go to the instance of their flow, whose state they find there.
#[test]
fn frames_of_rules_go_to_the_instance_of_their_flow() {
    let capture = capture("frames");
    let out = Scratch::new("frames-out", "pcap");
    let graph = format!(
        "src :: PcapReader {{ file: {:?} }}
         rules :: Rules
         end :: PcapWriter {{ file: {:?} }}
         src -> rules
         rules -> end",
        capture.0, out.0
    );
    let rules = "r1 send(@N, \"end\", Bytes) :- packet(@N, Port, Bytes).";
    let sizes = [1, 3].map(|workers| {
        let ran = run(&graph, rules, workers);
        assert_eq!(ran.notes, "");
        assert_eq!(ran.received("->end."), u64::from(FLOWS) * u64::from(ROUNDS));
        std::fs::metadata(&out.0).expect("a capture").len()
    });
    assert_eq!(sizes[0], sizes[1]);
}

/// A rule changes the setting of an app while packets come.
#[test]
fn settings_reach_all_instances() {
    let capture = capture("settings");
    let graph = format!(
        "src :: PcapReader {{ file: {:?} }}
         begin :: Rules {{ fields: \"ip.src, ip.id\", event: \"begin\", verdict: \"go\" }}
         cut :: Truncate {{ length: 60 }}
         rules :: Rules {{ fields: \"ip.src, ip.id, caplen\" }}
         src -> begin
         begin -> cut
         cut -> rules",
        capture.0
    );
    let rules = "
        r1 go(@N, \"cut\", Id) :- begin(@N, Port, Id, From, Number).
        r2 flow::config(@N, \"cut\", \"length\", 50) :- begin(@N, Port, Id, From, 7).
        r3 flow::config(@N, f_strcat(\"no\", \"body\"), \"length\", 50) :-
            begin(@N, Port, Id, From, 7).
        r4 got(@N, f_addrText(From), Number, Length) :- packet(@N, Port, Id, From, Number, Length),
            Number != 7.
        watchmod(got, \"c\").";
    let (one, several) = (run(&graph, rules, 1), run(&graph, rules, 3));
    assert_eq!(one.flows(), several.flows());
    assert!(several.notes.contains("app nobody: `length` is refused"), "{}", several.notes);
    let cut = several.lines.iter().filter(|line| line.ends_with(", 50)")).count();
    assert_eq!(cut, usize::from(FLOWS) * usize::from(ROUNDS - 8));
}

const SCHEMA: &str = "syntax = \"proto3\";
package p;
message Reading { uint64 device = 1; }";

/// Messages of ten flows, and other packets.
fn messages(settings: &str) -> String {
    let frames: Vec<String> = (0..20)
        .map(|flow| {
            let payload = if flow % 2 == 0 { format!("08{flow:02x}") } else { "ff".to_owned() };
            let length = payload.len() / 2;
            format!(
                "\"hex 02000000000202000000000108004500{:04x}00004000401100000a0000{flow:02x}\
                 0a00000210001388{:04x}0000{payload}\"",
                28 + length,
                8 + length
            )
        })
        .collect();
    format!(
        "src :: Generator {{ frames: [{}], packets: 2000 }}
         read :: Decode {{ type: \"p.Reading\", {settings} }}
         rest :: Sink
         src -> read
         read.rest -> rest",
        frames.join(", ")
    )
}

#[test]
fn messages_of_all_workers_are_events_of_the_rules() {
    let graph = messages("fields: \"ip.src\", event: \"reading\"");
    let rules = "
        materialize(last, infinity, infinity, keys(2, 3)).
        r1 last(@N, f_addrText(From), Device) :- reading(@N, From, Device).
        watchmod(last, \"i\").";
    let texts = [("a.proto", SCHEMA), ("a.flow", graph.as_str()), ("a.olg", rules)];
    let ran = [1, 3].map(|workers| run_files(&texts, workers, Clock::Own));
    for ran in &ran {
        assert_eq!(ran.notes, "");
        assert_eq!(ran.flows().len(), 10);
        let rest = ran.received("rest->rest.");
        assert_eq!(ran.count("read/messages") + rest + ran.dropped(), 2000);
    }
    assert_eq!(ran[0].flows(), ran[1].flows());
}

impl Ran {
    /// Packets that links had no room for.
    fn dropped(&self) -> u64 {
        let packets = self.report.packets.as_ref().expect("a graph");
        packets.links.iter().map(|(_, stats)| stats.tx_drops).sum()
    }
}

/// Messages of all workers are in one file, beside rules and without any.
#[test]
fn messages_of_all_workers_are_in_one_file() {
    let out = Scratch::new("messages", "jsonl");
    let name = out.0.file_name().and_then(|name| name.to_str()).expect("a name");
    let graph = messages(&format!("select: \"device\", output: {name:?}"));
    let rules = "materialize(none, infinity, 1, keys(1)).";
    for workers in [1, 3] {
        for texts in [
            vec![("a.proto", SCHEMA), ("a.flow", graph.as_str())],
            vec![("a.proto", SCHEMA), ("a.flow", graph.as_str()), ("a.olg", rules)],
        ] {
            let program = Program::of_texts(&texts, &LoadOptions::default());
            let mut options = RunOptions::default();
            options.nodes.workers = workers;
            options.nodes.listen = Listen::Address("localhost:0".to_owned());
            options.components.root = Some(std::env::temp_dir());
            let (console, _, notes) = taped();
            let report = program.run(options, console).expect("it runs");
            assert_eq!(notes.text(), "");
            let lines = std::fs::read_to_string(&out.0).expect("a file");
            let messages = report.borders.iter().find(|(name, _)| name == "read/messages");
            assert_eq!(lines.lines().count() as u64, messages.expect("a counter").1);
            assert!(lines.lines().all(|line| line.starts_with("{\"device\":")), "{lines}");
            std::fs::remove_file(&out.0).expect("a file");
        }
    }
}

/// Rules that are slower than the packets hold them back at all workers.
#[test]
fn a_flood_is_held_back_and_all_are_counted() {
    let frames: Vec<String> = (0..50)
        .map(|at| {
            let ends = "02:00:00:00:00:01 > 02:00:00:00:00:02";
            format!("\"{ends} ip 10.0.0.{at} > 10.1.0.1 udp 7 > 9\"")
        })
        .collect();
    let graph = format!(
        "src :: Generator {{ frames: [{}], packets: 60000 }}
         rules :: Rules {{ fields: \"ip.src\" }}
         out :: Sink
         src -> rules
         rules -> out",
        frames.join(", ")
    );
    let rules = "
        materialize(sum, infinity, infinity, keys(2)).
        materialize(prior, infinity, infinity, keys(2)).
        r1 sum(@N, From, C) :- packet(@N, Port, Id, From), prior(@N, From, P), C := P + 1.
        r2 prior(@N, From, C) :- sum(@N, From, C).
        r3 prior(@N, From, 1) :- packet(@N, Port, Id, From), notin prior(@N, From, _).
        r4 send(@N, \"out\", Id) :- packet(@N, Port, Id, From).";
    let ran = run_files(&[("a.flow", &graph), ("a.olg", rules)], 3, Clock::Own);
    assert_eq!(ran.notes, "");
    let events = ran.count("rules/events");
    let lost = ran.link_drops("->out.");
    assert_eq!(events + ran.dropped() - lost, 60000);
    assert_eq!(ran.received("->out.") + lost, events);
    assert_eq!(ran.count("rules/verdicts"), events);
    assert_eq!(ran.count("workers/dropped_stale"), 0);
}

impl Ran {
    fn link_drops(&self, link: &str) -> u64 {
        let packets = self.report.packets.as_ref().expect("a graph");
        let link = packets.links.iter().find(|(name, _)| name.contains(link));
        link.map_or(0, |(_, stats)| stats.tx_drops)
    }
}

/// A violation ends all workers, however many packets are left.
#[test]
fn a_violation_ends_all_workers() {
    let graph = "src :: Source { size: 64 }
        rules :: Rules { fields: \"len\" }
        src -> rules";
    let rules = "r1 violation(@N, Id) :- packet(@N, Port, Id, Length), Id == 1000.";
    let ran = run_files(&[("a.flow", graph), ("a.olg", rules)], 2, Clock::Own);
    let nodes = ran.report.nodes.as_ref().expect("nodes");
    assert!(!nodes.is_well(), "{}", ran.notes);
}

/// So does the end time of a run whose sources never end.
#[test]
fn the_end_of_time_ends_all_workers() {
    let frame = |at: u8| format!("\"hex 0200000000{at:02x}0200000000ffffff\"");
    let frames: Vec<String> = (0..20).map(frame).collect();
    let graph = format!(
        "src :: Generator {{ frames: [{}], packets: 100000000, rate: 10000 }}
         rules :: Rules {{ fields: \"len\" }}
         out :: Sink
         src -> rules -> out",
        frames.join(", ")
    );
    let rules = "r1 send(@N, \"out\", Id) :- packet(@N, Port, Id, Length).";
    let texts = [("a.flow", graph.as_str()), ("a.olg", rules)];
    let program = Program::of_texts(&texts, &LoadOptions::default());
    let mut options = RunOptions { end_ns: Some(300_000_000), ..RunOptions::default() };
    options.nodes.workers = 3;
    options.nodes.listen = Listen::Address("localhost:0".to_owned());
    let began = std::time::Instant::now();
    let (console, _, notes) = taped();
    let report = program.run(options, console).expect("it runs");
    assert!(began.elapsed().as_secs() < 20);
    assert_eq!(notes.text(), "");
    assert!(report.is_well());
    let counters: BTreeMap<String, u64> = report.borders.iter().cloned().collect();
    let (packets, verdicts) = (counters["rules/events"], counters["rules/verdicts"]);
    // The last ones are under way.
    assert!(verdicts > 100 && verdicts <= packets, "{counters:?}");
}

#[test]
fn what_workers_cannot_share_is_said() {
    let socket = "socket :: UnixSocket { listen: \"/tmp/tidemill-no\", peer: \"/tmp/one\" }
        rules :: Rules { fields: \"len\" }
        socket -> rules";
    let program = Program::of_texts(
        &[("a.flow", socket), ("a.olg", "r1 got(@N, L) :- packet(@N, Port, Id, L).")],
        &LoadOptions::default(),
    );
    let mut options = RunOptions { end_ns: Some(1), ..RunOptions::default() };
    options.nodes.workers = 2;
    options.nodes.listen = Listen::Address("localhost:0".to_owned());
    let (console, _, notes) = taped();
    let _ = program.run(options, console);
    let note = "one worker only: app `socket` cannot take a part of the flows";
    assert!(notes.text().contains(note), "{}", notes.text());
}

/// What rules write to a table is in the tables of all workers.
#[test]
fn tables_of_rules_reach_all_instances() {
    let capture = capture("tables");
    let gate = "app Gate {
            ports { input in; output out; }
            table blocked exact(source: ipv4) { writer program; size 40; }
            on packet(in) {
                when ipv4 { find blocked(ipv4.source) { drop blocked; } }
                send out;
            }
        }";
    let graph = format!(
        "{gate}
         src :: PcapReader {{ file: {:?} }}
         both :: Tee
         seen :: Rules {{ fields: \"ip.src, ip.id\", event: \"seen\" }}
         gate :: Gate
         rules :: Rules {{ fields: \"ip.src, ip.id\" }}
         src -> both
         both -> seen
         both -> gate -> rules",
        capture.0
    );
    // Every second source is blocked, and one of them not for long.
    let rules = "
        materialize(odd, infinity, infinity, keys(2)).
        r1 gate::blocked(@N, From) :- odd(@N, From).
        r2 odd(@N, From) :- seen(@N, Port, Id, From, 5), f_mod(f_uintBE(From, 0, 4), 2) == 1.
        r3 delete odd(@N, From) :- seen(@N, Port, Id, From, 12), f_addrText(From) == \"10.0.0.7\".
        r4 got(@N, f_addrText(From), Number) :- packet(@N, Port, Id, From, Number),
            Number != 5, Number != 12.
        watchmod(got, \"c\").";
    let (_, several) = compare(&graph, rules, 3);
    let of = |flow: &str| several.flows().get(flow).map_or(0, Vec::len);
    // Rounds 0 to 4, and after the deletion those from 13 on.
    assert_eq!((of("\"10.0.0.8\""), of("\"10.0.0.9\""), of("\"10.0.0.7\"")), (18, 5, 12));
}

/// Tables that kernels write are parts, and rules would want the whole.
#[test]
fn tables_of_kernels_are_for_one_worker() {
    let graph = "app Meter {
            ports { input in; output out; }
            table seen exact(source: ipv4) -> (packets: u64) { writer kernel; size 64; }
            on packet(in) {
                when ipv4 {
                    find seen(ipv4.source) { count seen.packets; }
                    else { insert seen(ipv4.source) -> (1); }
                }
                send out;
            }
        }
        src :: Generator {
            frames: [\"02:00:00:00:00:01 > 02:00:00:00:00:02 ip 10.0.0.1 > 10.1.0.1 udp 7 > 9\"]
        }
        meter :: Meter
        out :: Sink
        src -> meter -> out";
    let rules = "r1 got(@N, Source) :- meter::seen(@N, Source, Packets). watchmod(got, \"c\").";
    let ran = run(graph, rules, 2);
    let note = "tidemill: one worker only: rules read `meter::seen`, of which each worker would \
                have a part\n";
    assert_eq!(ran.notes, note);
    assert_eq!(ran.lines.len(), 1, "{:?}", ran.lines);
}

/// Counts the packets of its flow, sends each on, and prints the count when it ends. `PUT` is done
/// with each packet.
const METER: &str = "
    COMPONENT Meter REQUIRES PacketsREQUIRED;
      VARIABLE packet: TEXT; isSent: BOOLEAN; source, packets: INTEGER;
    BEGIN
      packets := 0;
      Packets!Open(\"link\"); Packets?Opened
    ACTIVITY {EXCLUSIVE}
      Packets!Receive;
      WHILE ~(Packets?FINISH) DO
        Packets?Packet(packet);
        source := INTEGER(packet[29]);
        INC(packets);
        Packets!Send(packet); Packets?Sent(isSent);
        PUT
        Packets!Receive
      END
    FINALLY
      WRITE(source); WRITE(\" sent \"); WRITE(packets); WRITELINE
    END Meter;";

fn meter(required: &str, put: &str) -> String {
    METER.replace("REQUIRED", required).replace("PUT", put)
}

/// A graph with a component for each flow of a capture.
fn metered(capture: &Scratch) -> String {
    format!(
        "src :: PcapReader {{ file: {:?} }}
         flows :: Script {{ component: \"Meter\", per: \"ip.src\" }}
         out :: Sink
         src -> flows.link
         flows.link -> out",
        capture.0
    )
}

/// Runs a program with components with a number of workers.
fn run_program(texts: &[(&str, &str)], workers: u32) -> Ran {
    let program = Program::of_texts(texts, &LoadOptions::default());
    let found: String = program.diagnostics.iter().map(|one| program.sources.render(one)).collect();
    assert!(!program.has_errors(), "{found}");
    let mut options = RunOptions::default();
    options.nodes.workers = workers;
    options.nodes.listen = Listen::Address("localhost:0".to_owned());
    options.components.workers = Some(workers);
    let (console, data, notes) = taped();
    let report = program.run(options, console).expect("it runs");
    let lines = data.text().lines().map(str::to_owned).collect();
    Ran { lines, report, notes: notes.text() }
}

/// Runs a program; returns the sorted lines of its output, its notes and its report.
fn output(texts: &[(&str, &str)], workers: u32) -> (Vec<String>, String, Report) {
    let Ran { mut lines, report, notes } = run_program(texts, workers);
    lines.sort_unstable();
    (lines, notes, report)
}

#[test]
fn components_of_flows_run_at_each_worker() {
    let capture = capture("components");
    let (graph, meter) = (metered(&capture), meter("", ""));
    let texts = [("a.flow", graph.as_str()), ("a.com", meter.as_str())];
    let [one, several] = [1, 3].map(|workers| output(&texts, workers));
    assert_eq!(one.0.len(), usize::from(FLOWS));
    assert_eq!(one.0, several.0);
    assert_eq!((one.1.as_str(), several.1.as_str()), ("", ""));
    let packets = |report: &Report| report.packets.clone().expect("a graph");
    let (one, several) = (packets(&one.2), packets(&several.2));
    assert_eq!(one.apps, several.apps);
    assert_eq!(one.links[1].1.rx_packets, u64::from(FLOWS) * u64::from(ROUNDS));
    assert_eq!(one.links[1].1.rx_packets, several.links[1].1.rx_packets);
}

/// What components of flows put comes to the rules, in the order of each flow.
#[test]
fn components_of_flows_reach_the_rules() {
    let capture = capture("puts");
    let interface = "INTERFACE RulesOfFlows;
        { IN seen(source, packets: INTEGER) OUT Taken }
        END RulesOfFlows;";
    let put = "RulesOfFlows!seen(source, packets); RulesOfFlows?Taken;";
    let (graph, meter) = (metered(&capture), meter(", RulesOfFlows", put));
    let meter = format!("{interface}\n{meter}");
    let rules = "r1 got(@N, Source, Packets) :- seen(@N, Source, Packets). watchmod(got, \"c\").";
    let texts = [("a.flow", graph.as_str()), ("a.com", meter.as_str()), ("a.olg", rules)];
    let [one, several] = [1, 3].map(|workers| run_files(&texts, workers, Clock::Own));
    assert_eq!(several.notes, "");
    assert_eq!(one.lines.len(), usize::from(FLOWS) * usize::from(ROUNDS));
    assert_eq!(one.flows(), several.flows());
    assert_eq!(counts(&one, "RulesOfFlows"), counts(&several, "RulesOfFlows"));
}

/// What one worker has to do for all is noted.
#[test]
fn components_that_share_something_are_at_one_worker() {
    let capture = capture("shared");
    let (graph, meter) = (metered(&capture), meter(", FileSystem", ""));
    let texts = [("a.flow", graph.as_str()), ("a.com", meter.as_str())];
    let (lines, notes, _) = output(&texts, 3);
    assert_eq!(lines.len(), usize::from(FLOWS));
    let note = "tidemill: the graph has one instance: component Meter uses FileSystem, which one \
                worker has\n";
    assert_eq!(notes, note);
}

/// A run ends with its entry component, while the instances of the graph go on.
#[test]
fn the_entry_component_ends_all_workers() {
    let graph = "src :: Generator { frames: [\"hex 00\"], packets: 1000000, rate: 1000 }
        out :: Sink
        src -> out";
    let main = "COMPONENT {ENTRYPOINT} Main REQUIRES SystemTime;
        BEGIN
          SystemTime!Wait(300); SystemTime?Passed;
          WRITE(\"over\"); WRITELINE
        END Main;";
    let (lines, notes, report) = output(&[("a.flow", graph), ("a.com", main)], 3);
    assert_eq!((lines, notes), (vec!["over".to_owned()], String::new()));
    assert!(report.is_well());
    assert!(report.packets.expect("a graph").links[0].1.rx_packets > 100);
}

/// A component gets the packets of all workers, and what it sends goes to all.
#[test]
fn a_component_exchanges_packets_with_all_workers() {
    let capture = capture("outside");
    let graph = format!(
        "src :: PcapReader {{ file: {:?} }}
         far :: Outside
         out :: Sink
         src -> far.input
         far.output -> out",
        capture.0
    );
    let count = u64::from(FLOWS) * u64::from(ROUNDS);
    let main = "COMPONENT {ENTRYPOINT} Main REQUIRES Packets, SystemTime;
        VARIABLE i: INTEGER; packet: TEXT; isSent: BOOLEAN;
        BEGIN
          Packets!Open(\"far\"); Packets?Opened;
          FOR i := 1 TO COUNT DO
            Packets!Receive; Packets?Packet(packet);
            WRITE(INTEGER(packet[29])); WRITE(\" \"); WRITE(INTEGER(packet[19])); WRITELINE;
            Packets!Send(packet); Packets?Sent(isSent);
            IF ~isSent THEN WRITE(\"lost\"); WRITELINE END
          END;
          SystemTime!Wait(100); SystemTime?Passed
        END Main;";
    let main = main.replace("COUNT", &count.to_string());
    for workers in [1, 3] {
        let texts = [("a.flow", graph.as_str()), ("a.com", main.as_str())];
        let ran = run_program(&texts, workers);
        assert_eq!(ran.notes, "");
        assert_eq!(ran.received("->out."), count);
        let mut next = vec![0; usize::from(FLOWS)];
        for line in &ran.lines {
            let (flow, round) = line.split_once(' ').expect("two numbers");
            let (flow, round): (usize, u16) = (flow.parse().unwrap(), round.parse().unwrap());
            assert_eq!(round, next[flow], "flow {flow} with {workers} workers");
            next[flow] += 1;
        }
        assert!(next.iter().all(|next| *next == ROUNDS));
    }
}
