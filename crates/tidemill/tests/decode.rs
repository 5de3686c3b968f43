//! Messages in packets as events of rules: valid and invalid messages, and checks at load.

use tidemill::program::{LoadOptions, Program};
use tidemill::run::{EngineKind, Listen, PacketOptions, RunOptions};
use tidemill::tape::taped;

const SCHEMA: &str = "syntax = \"proto3\";
package p;
message Place { double latitude = 1; }
message Reading {
  uint64 device = 1;
  Place place = 2;
  float celsius = 3;
  repeated Place places = 4;
}";

/// A frame of UDP with a payload, both as hexadecimal digits.
fn frame(payload: &str) -> String {
    let length = payload.len() / 2;
    format!(
        "\"hex 02000000000202000000000108004500{:04x}00004000401100000a0000010a000002\
         10001388{:04x}0000{payload}\"",
        28 + length,
        8 + length
    )
}

/// Device 7 at 48.5 with 21.5; device 8 without more; truncated; a device of 2^63; a frame of ARP.
fn frames() -> String {
    let payloads = ["080712090900000000004048401d0000ac41", "0808", "08", "0880808080808080808001"];
    let frames: Vec<String> = payloads.iter().map(|payload| frame(payload)).collect();
    format!("{}, \"hex 020000000002020000000001080600\"", frames.join(", "))
}

fn graph(settings: &str) -> String {
    format!(
        "src :: Generator {{ frames: [{}] }}
        read :: Decode {{ type: \"p.Reading\", {settings} }}
        rest :: Sink
        src -> read
        read.rest -> rest",
        frames()
    )
}

fn load(rules: &str, graph: &str) -> Program {
    let texts = [("a.proto", SCHEMA), ("a.flow", graph), ("a.olg", rules)];
    let options = LoadOptions { injected: Some(Default::default()), ..LoadOptions::default() };
    Program::of_texts(&texts, &options)
}

fn found(program: &Program) -> String {
    program.diagnostics.iter().map(|one| program.sources.render(one)).collect()
}

const SETTINGS: &str = "fields: \"ip.src, udp.dport\",
    select: \"device, place.latitude, celsius\", event: \"reading\"";
const RULES: &str = "r1 seen(@N, f_addrText(From), Port, Device, Latitude, Celsius) :-
        reading(@N, From, Port, Device, Latitude, Celsius).
    watchmod(seen, \"c\").";

#[test]
fn messages_are_events_and_the_rest_goes_on_and_is_counted() {
    for engine in [EngineKind::Compiled, EngineKind::Dispatch] {
        let program = load(RULES, &graph(SETTINGS));
        assert_eq!(found(&program), "");
        let mut options = RunOptions { seed: Some(1), ..RunOptions::default() };
        options.nodes.listen = Listen::Address("localhost:0".to_owned());
        options.packets = PacketOptions { engine, ..PacketOptions::default() };
        let registry = options.registry.clone();
        let (console, data, notes) = taped();
        let report = program.run(options, console).expect("it runs");
        assert_eq!(notes.text(), "");
        assert!(report.is_well());
        let text = data.text();
        assert!(text.contains(", \"10.0.0.1\", 5000, 7, 48.5, 21.5)"), "{text}");
        assert!(text.contains(", \"10.0.0.1\", 5000, 8, null, 0.0)"), "{text}");
        let packets = report.packets.expect("a graph");
        assert_eq!(packets.links[1].1.rx_packets, 3, "{:?}", packets.links);
        assert_eq!(packets.packets.alive(), 0);
        let counters = registry.snapshot().counters;
        let count = |name: &str| {
            let name = format!("border/read/{name}");
            counters.iter().find(|(other, _)| **other == name).map(|(_, count)| *count)
        };
        let names =
            ["messages", "rest", "failed_truncated", "failed_out_of_range", "failed_absent"];
        assert_eq!(names.map(count), [Some(2), Some(3), Some(1), Some(1), Some(1)]);
    }
}

#[test]
fn all_fields_are_in_order_and_the_rest_is_optional() {
    let rules = "r1 seen(@N, Device, Place, Celsius, Places) :-
            reading(@N, Device, Place, Celsius, Places).
        watchmod(seen, \"c\").";
    let graph = graph("event: \"reading\"")
        .replace("read.rest -> rest", "other :: Source { packets: 1 }\nother -> rest");
    let program = load(rules, &graph);
    assert_eq!(found(&program), "");
    let mut options = RunOptions::default();
    options.nodes.listen = Listen::Address("localhost:0".to_owned());
    let registry = options.registry.clone();
    let (console, data, _) = taped();
    let _report = program.run(options, console).expect("it runs");
    assert!(data.text().contains(", 7, [48.5], 21.5, [])"), "{}", data.text());
    let counters = registry.snapshot().counters;
    let dropped = counters.iter().find(|(name, _)| **name == *"border/read/dropped_no_rest");
    assert_eq!(dropped.map(|(_, count)| *count), Some(3));
}

#[test]
fn both_sides_are_shown_of_what_does_not_fit() {
    let wrong = |rules: &str, settings: &str| {
        let program = load(rules, &graph(settings));
        assert!(program.has_errors(), "{settings}");
        found(&program)
    };
    let cases = [
        ("select: \"devise\", event: \"e\"", "is `device` meant?"),
        ("select: \"place.longitude\", event: \"e\"", "message `p.Place` has no field `longitude`"),
        ("select: \"celsius.x\", event: \"e\"", "`celsius` is no message"),
        ("select: \"places.latitude\", event: \"e\"", "`places` is there several times"),
        ("event: \"readin\"", "is `reading` meant?"),
        ("event: \"reading\"", "has 6 columns, and not 5"),
        ("event: \"e\", output: \"x.csv\"", "and not both"),
        ("fields: \"ip.src\"", "say `event`, or `output`"),
        ("from: \"udp.dport\", event: \"e\"", "one field that is bytes"),
        ("output: \"x.pcap\"", "holds frames"),
        ("select: \"device, device\", output: \"x.csv\"", "two columns `device`"),
    ];
    for (settings, message) in cases {
        let text = wrong(RULES, settings);
        assert!(text.contains(message), "{settings}:\n{text}");
    }
    assert!(wrong(RULES, "event: \"reading\"").contains("used here"));
    // The types of columns are known from the schema and from the packet.
    let number = RULES.replace("Device, Latitude, Celsius) :-", "f_strlen(Device), 1, 2) :-");
    let text = wrong(&number, SETTINGS);
    assert!(text.contains("`f_strlen` takes string here, not int64"), "{text}");
    assert!(text.contains("a.proto:5:10: note: it has its type from here"), "{text}");
    let text = wrong(RULES, &SETTINGS.replace("ip.src, udp.dport", "udp.dport, ip.src"));
    assert!(text.contains("`f_addrText` takes bytes here, not null|int64"), "{text}");
    let text = wrong(RULES, &SETTINGS.replace("event", "select: \"x\", event"));
    assert!(text.contains("select"), "{text}");
}

#[test]
fn the_types_belong_to_the_program() {
    let texts = [("a.flow", graph(SETTINGS)), ("a.olg", RULES.to_owned())];
    let texts: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (*name, &**text)).collect();
    let text = found(&Program::of_texts(&texts, &LoadOptions::default()));
    assert!(text.contains("`p.Reading` needs a schema"), "{text}");
    let text = found(&load(RULES, &graph(SETTINGS).replace("p.Reading", "p.Readings")));
    assert!(text.contains("there is `p.Reading`"), "{text}");
}
