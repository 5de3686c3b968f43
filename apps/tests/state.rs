//! A new setting does not cost an app what it knows, and what it knows has limits.

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{Folder, graph_of, read, write};
use tidemill_apps::capture::Format;
use tidemill_apps::frame;
use tidemill_packet::engine::{Engine, EngineKind, Options, Refused, Rest};
use tidemill_packet::fanout::Fanout;

fn count(engine: &Engine, app: &str, name: &str) -> u64 {
    let all = engine.app_stats(app).expect("the app");
    all.iter().find(|(own, _)| own == name).map_or(0, |(_, count)| *count)
}

fn frame(text: &str) -> Vec<u8> {
    let text = format!("02:00:00:00:00:01 > 02:00:00:00:00:02 {text}");
    frame::parse(&text).unwrap_or_else(|why| panic!("{why}: {text}"))
}

fn inject(engine: &mut Engine, port: &str, text: &str) {
    let packet = engine.pool().packet_of(&frame(text)).expect("a packet");
    engine.inject("app", port, packet).expect("the link");
    engine.breathe();
}

/// An app between sources that send nothing and sinks, by its ports.
fn around(app: &str, ins: &[&str], outs: &[&str]) -> String {
    let mut text = format!("app :: {app}\n");
    for port in ins {
        text += &format!("no_{port} :: Outside\nno_{port}.output -> app.{port}\n");
    }
    for port in outs {
        text += &format!("to_{port} :: Sink\napp.{port} -> to_{port}.in\n");
    }
    text
}

const ENGINES: [EngineKind; 2] = [EngineKind::Compiled, EngineKind::Dispatch];

fn start(kind: EngineKind, text: &str) -> Engine {
    let mut engine = Engine::new(Options { kind, ..Options::default() });
    engine.set_time(1_000_000_000, 0);
    engine.configure(graph_of(text)).expect("it starts");
    engine
}

/// Changes the graph; the app continues.
fn change(engine: &mut Engine, text: &str) {
    let changes = engine.configure(graph_of(text)).expect("it goes on");
    assert_eq!(changes.reconfigured, ["app"], "{changes:?}");
    assert!(changes.restarted.is_empty() && changes.started.is_empty(), "{changes:?}");
}

#[test]
fn a_nat_keeps_its_mappings() {
    let nat = |settings: &str| {
        let app = format!("Nat44 {{ address: \"192.0.2.1\", {settings} }}");
        around(&app, &["inside", "outside"], &["inside", "outside"])
    };
    for kind in ENGINES {
        let mut engine = start(kind, &nat("first_port: 5000, last_port: 5009"));
        inject(&mut engine, "inside", "ip 10.0.0.1 > 9.9.9.9 udp 7 > 53 bytes 4");
        inject(&mut engine, "inside", "ip 10.0.0.2 > 9.9.9.9 udp 7 > 53 bytes 4");
        change(&mut engine, &nat("first_port: 5001, last_port: 5002, timeout: 100"));
        assert_eq!(count(&engine, "app", "mappings"), 2);
        inject(&mut engine, "outside", "ip 9.9.9.9 > 192.0.2.1 udp 53 > 5000 bytes 4");
        assert_eq!(count(&engine, "to_inside", "taken_packets"), 1, "the first mapping lives");
        // 5001 is the second's, so one is left, and then none.
        inject(&mut engine, "inside", "ip 10.0.0.3 > 9.9.9.9 udp 7 > 53 bytes 4");
        inject(&mut engine, "inside", "ip 10.0.0.4 > 9.9.9.9 udp 7 > 53 bytes 4");
        assert_eq!(count(&engine, "app", "mappings"), 3);
        assert_eq!(count(&engine, "app", "drop_no_port"), 1);
        // When all have expired, only the two of the range are allocated.
        engine.set_time(200_000_000_000, 0);
        engine.breathe();
        assert_eq!(count(&engine, "app", "mappings"), 0);
        for host in 1..=3 {
            let text = format!("ip 10.0.1.{host} > 9.9.9.9 udp 7 > 53 bytes 4");
            inject(&mut engine, "inside", &text);
        }
        assert_eq!(count(&engine, "app", "mappings"), 2);
    }
}

#[test]
fn a_full_nat_answers_at_once() {
    let app = "Nat44 { address: \"192.0.2.1\", timeout: 10 }";
    let text = around(app, &["inside", "outside"], &["inside", "outside"]);
    let mut engine = start(EngineKind::Compiled, &text);
    let mut packet = frame("ip 10.0.0.0 > 9.9.9.9 udp 7 > 53 bytes 4");
    let mut send = |engine: &mut Engine, host: u32| {
        packet[26..30].copy_from_slice(&Ipv4Addr::from(0x0a00_0000 + host).octets());
        let packet = engine.pool().packet_of(&packet).expect("a packet");
        engine.inject("app", "inside", packet).expect("the link");
        engine.breathe();
    };
    let ports = 65535 - 1024 + 1;
    (0..ports).for_each(|host| send(&mut engine, host));
    assert_eq!(count(&engine, "app", "mappings"), u64::from(ports));
    let since = Instant::now();
    (0..50_000).for_each(|host| send(&mut engine, 1_000_000 + host));
    assert_eq!(count(&engine, "app", "drop_no_port"), 50_000);
    // A search one by one would test 64512 ports.
    assert!(since.elapsed() < Duration::from_secs(10), "{:?}", since.elapsed());
    // Used ports live on, and free ones are found at once.
    engine.set_time(6_000_000_000, 0);
    (100..ports).for_each(|host| send(&mut engine, host));
    engine.set_time(12_000_000_000, 0);
    engine.breathe();
    assert_eq!(count(&engine, "app", "mappings"), u64::from(ports) - 100);
    (0..200).for_each(|host| send(&mut engine, 2_000_000 + host));
    assert_eq!(count(&engine, "app", "mappings"), u64::from(ports));
    assert_eq!(count(&engine, "app", "drop_no_port"), 50_100);
}

const FIRST: &str = "ip 10.0.0.1 > 10.0.0.2 id 1 mf proto 17 bytes 8";
const LAST: &str = "ip 10.0.0.1 > 10.0.0.2 id 1 offset 8 proto 17 bytes 8 from 8";

#[test]
fn a_datagram_is_completed_after_a_change() {
    let app =
        |settings: &str| around(&format!("Reassemble {{ {settings} }}"), &["input"], &["output"]);
    for kind in ENGINES {
        let mut engine = start(kind, &app("timeout: 30"));
        inject(&mut engine, "input", FIRST);
        change(&mut engine, &app("timeout: 60, datagrams: 5"));
        inject(&mut engine, "input", LAST);
        assert_eq!(count(&engine, "app", "completed"), 1);
    }
}

#[test]
fn fragments_have_a_budget_and_hold_no_packets() {
    let app = around("Reassemble { bytes: 20000 }", &["input"], &["output"]);
    let mut engine = start(EngineKind::Compiled, &app);
    let alive = engine.pool_stats().alive();
    for id in 1..=500 {
        let text = format!("ip 10.0.0.1 > 10.0.0.2 id {id} mf proto 17 bytes 1000");
        inject(&mut engine, "input", &text);
        assert_eq!(engine.pool_stats().alive(), alive, "fragments are kept at their size");
        assert!(count(&engine, "app", "kept_bytes") <= 20000);
    }
    let incomplete = count(&engine, "app", "incomplete");
    assert!((15..=20).contains(&incomplete), "{incomplete}");
    assert_eq!(count(&engine, "app", "drop_too_many"), 500 - incomplete);
    // The newest are still there.
    let last = "ip 10.0.0.1 > 10.0.0.2 id 500 offset 1000 proto 17 bytes 8";
    inject(&mut engine, "input", last);
    assert_eq!(count(&engine, "app", "completed"), 1);
    let none = around("Reassemble { bytes: 100 }", &["input"], &["output"]);
    let catalogue = tidemill_apps::catalogue();
    let mut sources = tidemill_diag::Sources::new();
    let options = tidemill_packet::flow::Options::default();
    let loaded =
        tidemill_packet::flow::load_text("a.flow", &none, &options, &catalogue, &mut sources);
    assert!(loaded.graph.is_none(), "less than one datagram");
}

#[test]
fn counters_go_on_with_another_setting() {
    let udp = "ip 10.0.0.1 > 10.0.0.2 udp 7 > 53 bytes 4";
    for kind in ENGINES {
        for (before, after, name, expected) in [
            ("Filter { expr: \"tcp\" }", "Filter { expr: \"udp\" }", "drop_not_matched", 1),
            ("Filter { expr: \"udp\" }", "Filter { expr: \"tcp\" }", "matched", 1),
            ("Filter { expr: \"udp\" }", "Filter { expr: \"ip\" }", "matched", 2),
            ("VlanUntag { tag: 4 }", "VlanUntag { tag: 5 }", "drop_other_tag", 2),
            ("Touch { offset: 9000 }", "Touch { offset: 8000 }", "drop_too_short", 2),
            ("Truncate { length: 9 }", "Truncate { length: 8 }", "cut", 2),
            ("Fragment { mtu: 68 }", "Fragment { mtu: 1500 }", "cut", 0),
        ] {
            let text = |app: &str| around(app, &["input"], &["output"]);
            let mut engine = start(kind, &text(before));
            inject(&mut engine, "input", udp);
            change(&mut engine, &text(after));
            inject(&mut engine, "input", udp);
            assert_eq!(count(&engine, "app", name), expected, "{after} {kind:?}");
        }
    }
}

#[test]
fn what_has_passed_counts_after_a_change() {
    let one = "ip 10.0.0.1 > 10.0.0.2 udp 7 > 53 bytes 18";
    for kind in ENGINES {
        let sample =
            |every| around(&format!("Sample {{ every: {every} }}"), &["input"], &["output"]);
        let mut engine = start(kind, &sample(3));
        (0..2).for_each(|_| inject(&mut engine, "input", one));
        assert_eq!(count(&engine, "app", "drop_not_sampled"), 1);
        change(&mut engine, &sample(2));
        inject(&mut engine, "input", one);
        assert_eq!(count(&engine, "app", "drop_not_sampled"), 1, "the third is one of two");
        let limit = |burst| {
            let app = format!("RateLimiter {{ rate: 1, burst: {burst} }}");
            around(&app, &["input"], &["output"])
        };
        let mut engine = start(kind, &limit(100));
        inject(&mut engine, "input", one);
        change(&mut engine, &limit(1000));
        inject(&mut engine, "input", one);
        assert_eq!(count(&engine, "app", "drop_over_rate"), 1, "40 bytes are left");
    }
}

#[test]
fn an_instance_limits_to_its_part_of_a_rate() {
    let one = "ip 10.0.0.1 > 10.0.0.2 udp 7 > 53 bytes 18";
    for (instances, dropped) in [(1, 0), (3, 1)] {
        for kind in ENGINES {
            let fanout = Fanout::all(instances, &[]).remove(0);
            let mut engine = Engine::new(Options { kind, fanout, ..Options::default() });
            let limit = |rate| {
                let app = format!("RateLimiter {{ rate: {rate}, burst: 100 }}");
                around(&app, &["input"], &["output"])
            };
            engine.configure(graph_of(&limit(3))).expect("it starts");
            change(&mut engine, &limit(300));
            for ms in [1000, 1500, 1700] {
                engine.set_time(ms * 1_000_000, 0);
                inject(&mut engine, "input", one);
            }
            assert_eq!(count(&engine, "app", "drop_over_rate"), dropped, "{instances}");
        }
    }
}

#[test]
fn a_bridge_keeps_its_addresses_after_a_change() {
    let app = |settings: &str| {
        let app = format!("LearningBridge {{ {settings} }}");
        around(&app, &["a", "b", "c"], &["a", "b", "c"])
    };
    let mut engine = start(EngineKind::Compiled, &app("age: 300"));
    inject(&mut engine, "a", "ip 1.1.1.1 > 2.2.2.2 udp 7 > 53");
    change(&mut engine, &app("age: 200, addresses: 1"));
    let back = "02:00:00:00:00:02 > 02:00:00:00:00:01 ip 2.2.2.2 > 1.1.1.1 udp 53 > 7";
    let back = frame::parse(back);
    let packet = engine.pool().packet_of(&back.expect("a frame")).expect("a packet");
    engine.inject("app", "b", packet).expect("the link");
    engine.breathe();
    assert_eq!(count(&engine, "to_a", "taken_packets"), 1);
    assert_eq!(count(&engine, "to_c", "taken_packets"), 1, "only what was sent to all");
}

#[test]
fn sources_go_on_from_where_they_are() {
    let folder = Folder::new();
    let path = folder.path("in");
    let frames: Vec<Vec<u8>> = (0..10).map(|at| vec![at; 60]).collect();
    write(&path, Format::Pcap, &frames);
    let source = |packets: u64, size: u32| format!("Source {{ packets: {packets}, size: {size} }}");
    let reader = |times: u64| format!("PcapReader {{ file: \"{path}\", times: {times} }}");
    let generator = |packets: u64| {
        let frame = "02:00:00:00:00:01 > 02:00:00:00:00:02 ip 1.1.1.1 > 2.2.2.2 udp 7 > 53";
        format!("Generator {{ frames: [\"{frame}\"], packets: {packets} }}")
    };
    for kind in ENGINES {
        for (before, after, expected) in [
            (source(100, 60), source(120, 61), 120),
            (source(100, 60), source(30, 60), 100),
            (reader(1), reader(3), 30),
            (generator(10), generator(25), 25),
        ] {
            let text = |app: &str| format!("app :: {app} app -> end :: Sink");
            let mut engine = start(kind, &text(&before));
            (0..20).for_each(|_| _ = engine.breathe());
            change(&mut engine, &text(&after));
            (0..20).for_each(|_| _ = engine.breathe());
            assert_eq!(count(&engine, "end", "taken_packets"), expected, "{after} {kind:?}");
        }
    }
}

#[test]
fn a_reader_that_is_killed_goes_on_where_it_was() {
    let folder = Folder::new();
    let path = folder.path("in");
    let frames: Vec<Vec<u8>> = (0..1000_u16).map(|at| at.to_be_bytes().repeat(30)).collect();
    write(&path, Format::Pcap, &frames);
    for kind in ENGINES {
        for times in [1, 2] {
            let graph = format!(
                "app :: PcapReader {{ file: \"{path}\", times: {times} }} app -> end :: Sink"
            );
            let mut engine = start(kind, &graph);
            engine.breathe();
            let first = count(&engine, "end", "taken_packets");
            assert!(first > 0 && first < 1000, "{first}");
            for ms in [1_200, 1_600] {
                assert!(engine.kill("app") && !engine.kill("app"));
                engine.set_time(ms * 1_000_000, 0);
                engine.breathe();
            }
            (0..20).for_each(|_| _ = engine.breathe());
            assert_eq!(count(&engine, "end", "taken_packets"), 1000 * times, "{kind:?}");
            // One that is done brings nothing more.
            assert!(engine.kill("app"));
            engine.set_time(3_000_000_000, 0);
            (0..20).for_each(|_| _ = engine.breathe());
            assert_eq!(count(&engine, "end", "taken_packets"), 1000 * times, "{kind:?}");
        }
    }
}

#[test]
fn a_tap_writes_on_into_its_capture() {
    let folder = Folder::new();
    let path = folder.path("out");
    let app = |every: u64| {
        around(&format!("PcapTap {{ file: \"{path}\", every: {every} }}"), &["input"], &["output"])
    };
    let mut engine = start(EngineKind::Compiled, &app(1));
    inject(&mut engine, "input", "ip 1.1.1.1 > 2.2.2.2 udp 7 > 53");
    change(&mut engine, &app(2));
    for _ in 0..4 {
        inject(&mut engine, "input", "ip 1.1.1.1 > 2.2.2.2 udp 7 > 53");
    }
    drop(engine);
    assert_eq!(read(&path).len(), 3);
}

/// Another form of the same file is another capture, for all instances of a graph.
#[test]
fn a_tap_with_another_form_begins_its_file_anew() {
    for instances in [1, 2] {
        let folder = Folder::new();
        let path = folder.path("out");
        let app = |format: &str| {
            let tap = format!("PcapTap {{ file: \"{path}\", format: \"{format}\" }}");
            around(&tap, &["input"], &["output"])
        };
        let mut all: Vec<Engine> = Fanout::all(instances, &[])
            .into_iter()
            .map(|fanout| {
                let mut engine = Engine::new(Options { fanout, ..Options::default() });
                engine.configure(graph_of(&app("pcap"))).expect("it starts");
                engine
            })
            .collect();
        inject(&mut all[0], "input", "ip 1.1.1.1 > 2.2.2.2 udp 7 > 53");
        for engine in &mut all {
            change(engine, &app("pcapng"));
            inject(engine, "input", "ip 1.1.1.1 > 2.2.2.2 udp 7 > 53");
        }
        drop(all);
        let bytes = std::fs::read(&path).expect("a capture");
        assert_eq!(bytes[..4], [0x0a, 0x0d, 0x0d, 0x0a], "it is pcapng");
        assert_eq!(read(&path).len() as u32, instances);
    }
}

/// A missing capture, a missing folder: the graph continues unchanged.
#[test]
fn what_cannot_be_had_leaves_the_apps_as_they_are() {
    let folder = Folder::new();
    let captured = folder.path("in.pcap");
    write(&captured, Format::Pcap, &[frame("ip 10.0.0.1 > 10.0.0.2 udp 1 > 2")]);
    let text = |input: &str, output: &str, tap: &str, socket: &str| {
        let path = |name: &str| folder.path(name);
        format!(
            "src :: PcapReader {{ file: \"{}\" }} tap :: PcapTap {{ file: \"{}\" }} \
             out :: PcapWriter {{ file: \"{}\" }} src -> tap -> out \
             unix :: UnixSocket {{ listen: \"{}\" }} no :: Outside no -> unix",
            path(input),
            path(tap),
            path(output),
            path(socket)
        )
    };
    for kind in ENGINES {
        let mut engine = start(kind, &text("in.pcap", "out.pcap", "tap.pcap", "socket"));
        let refused = engine.configure(graph_of(&text("no.pcap", "no/out", "no/tap", "no/socket")));
        let Err(Refused::Faults(faults)) = refused else { panic!("it starts") };
        let apps: Vec<&str> = faults.iter().map(|(app, _)| app.as_str()).collect();
        assert_eq!(apps, ["src", "tap", "out", "unix"]);
        assert!(engine.take_notes().is_empty(), "no app has failed");
        // Nothing is left behind by a change of which a part cannot be had.
        engine.configure(graph_of(&text("no.pcap", "new.pcap", "new.tap", "new"))).unwrap_err();
        let left =
            ["new.pcap", "new.tap", "new"].map(|name| Path::new(&folder.path(name)).exists());
        assert_eq!(left, [false; 3]);
        engine.breathe();
        engine.stop();
        assert_eq!(read(folder.path("out.pcap")).len(), 1, "packets go where they went");
    }
}

#[test]
fn a_capture_is_a_file_or_a_pipe_that_nothing_waits_for() {
    let folder = Folder::new();
    let pipe = folder.path("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo starts");
    assert!(made.success());
    let graph = |file: &str, more: &str| {
        graph_of(&format!("src :: PcapReader {{ file: \"{file}\"{more} }} src -> end :: Sink"))
    };
    let refusal = |file: &str, more: &str| {
        let refused = Engine::new(Options::default()).configure(graph(file, more)).unwrap_err();
        refused.to_string()
    };
    let file = folder.path(".");
    let expected = format!("src: cannot read `{file}`: neither a file nor a pipe");
    assert_eq!(refusal(&file, ""), expected);
    let expected = format!("src: `{pipe}` is a pipe, which is read once: leave out `times`");
    assert_eq!(refusal(&pipe, ", times: 2"), expected);
    let mut engine = Engine::new(Options::default());
    engine.configure(graph(&pipe, "")).unwrap();
    assert_eq!(engine.breathe(), Rest::Asleep);
}

#[test]
fn a_delay_keeps_packets_for_their_time() {
    let delay =
        |settings: &str| around(&format!("Delay {{ {settings} }}"), &["input"], &["output"]);
    let taken = |engine: &Engine| count(engine, "to_output", "taken_packets");
    for kind in ENGINES {
        let mut engine = start(kind, &delay("seconds: 0.5"));
        inject(&mut engine, "input", "ip 10.0.0.1 > 9.9.9.9 udp 7 > 53 bytes 4");
        assert_eq!(count(&engine, "app", "kept"), 1);
        assert_eq!(engine.breathe(), Rest::Until(1_500_000_000));
        engine.set_time(1_499_999_999, 0);
        inject(&mut engine, "input", "ip 10.0.0.2 > 9.9.9.9 udp 7 > 53 bytes 4");
        assert_eq!(taken(&engine), 0);
        engine.set_time(1_500_000_000, 0);
        while let Rest::Busy = engine.breathe() {}
        assert_eq!((taken(&engine), count(&engine, "app", "kept")), (1, 1));
        // What is kept leaves by the new delay, and what comes by the new limits.
        change(&mut engine, &delay("seconds: 2, packets: 1"));
        inject(&mut engine, "input", "ip 10.0.0.3 > 9.9.9.9 udp 7 > 53 bytes 4");
        assert_eq!(count(&engine, "app", "drop_full"), 1);
        engine.set_time(3_499_999_999, 0);
        while let Rest::Busy = engine.breathe() {}
        assert_eq!((taken(&engine), count(&engine, "app", "kept")), (2, 0));
        // At the end nothing waits any more.
        inject(&mut engine, "input", "ip 10.0.0.4 > 9.9.9.9 udp 7 > 53 bytes 4");
        engine.flush();
        assert_eq!((taken(&engine), count(&engine, "app", "kept_bytes")), (3, 0));
    }
}
