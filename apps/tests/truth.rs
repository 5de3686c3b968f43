//! Facts about packets are preserved: their length, when they were captured, that a capture is
//! broken, and what the kernel did to them.

use std::net::UdpSocket;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::common::{Folder, graph_of, on_the_system, run_for, without_devices};
use tidemill_apps::capture::{CaptureReader, CaptureWriter, Ended, Format, Frame};
use tidemill_packet::drive;
use tidemill_packet::engine::{Engine, EngineKind, Note, Options, Rest};
use tidemill_packet::flow::load_text;
use tidemill_packet::graph::Graph;

/// Writes a capture of frames with times and lengths.
fn write_frames(path: &str, format: Format, frames: &[Frame]) {
    let file = std::fs::File::create(path).expect("writable");
    let mut writer = CaptureWriter::new(file, format).expect("writable");
    for frame in frames {
        writer.write(frame.time_ns, &frame.bytes, frame.length).expect("writable");
    }
}

/// The time, length and bytes of a packet.
type Read = (i64, u32, Vec<u8>);

/// The packets of a capture, and how it ends.
fn read_frames(path: &str) -> (Vec<Read>, Ended) {
    let file = std::fs::File::open(path).expect("a capture");
    let mut reader = CaptureReader::new(file).expect("a capture");
    let (mut frame, mut frames) = (Frame::default(), Vec::new());
    loop {
        match reader.next(&mut frame) {
            Ok(()) => frames.push((frame.time_ns, frame.length, frame.bytes.clone())),
            Err(ended) => return (frames, ended),
        }
    }
}

/// Breathes until all is done; returns the notes, and the engine in its final state.
fn run(kind: EngineKind, text: &str) -> (Vec<Note>, Engine) {
    let mut engine = Engine::new(Options { kind, ..Options::default() });
    engine.set_time(0, 1_700_000_000_000_000_000);
    engine.configure(graph_of(text)).expect("it starts");
    for _ in 0..100_000 {
        if engine.breathe() == Rest::Finished {
            return (engine.take_notes(), engine);
        }
    }
    panic!("it does not end");
}

const ENGINES: [EngineKind; 2] = [EngineKind::Compiled, EngineKind::Dispatch];

/// Frames that the capture has only a part of; the first at the epoch.
fn cut_frames() -> Vec<Frame> {
    let frame = |at: u32| Frame {
        bytes: vec![at as u8; 20 + at as usize],
        time_ns: i64::from(at) * 1_000_000_001,
        length: if at.is_multiple_of(3) { 20 + at } else { 1000 + at },
    };
    (0..40).map(frame).collect()
}

#[test]
fn lengths_and_times_survive_apps_and_filters_ask_for_them() {
    let folder = Folder::new();
    let [before, after] = ["in", "out"].map(|name| folder.path(name));
    let frames = cut_frames();
    let apps = "VlanTag { tag: 5 } -> two :: VlanUntag { tag: 5 } -> three :: Truncate \
                { length: 19 } -> four :: Filter { expr: \"EXPR\" }";
    for kind in ENGINES {
        for format in [Format::Pcap, Format::Pcapng] {
            write_frames(&before, format, &frames);
            for (expr, least, most) in [
                ("greater 1000", 1000, u32::MAX),
                ("less 999", 0, 999),
                ("len > 1020", 1021, u32::MAX),
                ("len = 20", 20, 20),
            ] {
                let (notes, engine) = run(
                    kind,
                    &format!(
                        "in :: PcapReader {{ file: \"{before}\" }} -> one :: {}
                         four -> out :: PcapWriter {{ file: \"{after}\" }}",
                        apps.replace("EXPR", expr)
                    ),
                );
                assert_eq!(notes, []);
                let count = |app: &str, name: &str| {
                    let all = engine.app_stats(app).expect("the app");
                    all.iter().find(|(own, _)| own == name).map_or(0, |(_, count)| *count)
                };
                // 40 without every third.
                assert_eq!((count("in", "cut"), count("three", "cut")), (26, 40));
                drop(engine);
                let expected: Vec<_> = frames
                    .iter()
                    .filter(|frame| (least..=most).contains(&frame.length))
                    .map(|frame| (frame.time_ns, frame.length, frame.bytes[..19].to_vec()))
                    .collect();
                assert!(!expected.is_empty());
                assert_eq!(read_frames(&after), (expected, Ended::Fine), "{expr} {kind:?}");
            }
        }
    }
}

/// As tcpdump filters a capture, times and lengths included.
#[test]
fn tcpdump_copies_as_we_do() {
    let folder = Folder::new();
    let [before, ours, theirs] = ["in", "ours", "theirs"].map(|name| folder.path(name));
    write_frames(&before, Format::Pcap, &cut_frames());
    for expr in ["greater 1000", "less 40", "len >= 1003 and len < 1009", "ether[0] > 5", ""] {
        let words = ["-Z", "root", "-r", &before, "-w", &theirs, expr];
        let Ok(output) = Command::new("tcpdump").args(words).output() else {
            return println!("skipped: no tcpdump");
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = format!(
            "in :: PcapReader {{ file: \"{before}\" }} -> f :: Filter {{ expr: \"{expr}\" }}
             f -> out :: PcapWriter {{ file: \"{ours}\" }}"
        );
        drop(run(EngineKind::Compiled, &text));
        let micros = |(frames, ended): (Vec<(i64, u32, Vec<u8>)>, Ended)| {
            // Theirs has no more.
            let frames = frames.into_iter().map(|(ns, length, it)| (ns / 1000, length, it));
            (frames.collect::<Vec<_>>(), ended)
        };
        assert_eq!(micros(read_frames(&ours)), micros(read_frames(&theirs)), "{expr}");
    }
}

#[test]
fn what_has_no_time_gets_that_of_its_writing() {
    let folder = Folder::new();
    let path = folder.path("out");
    let text = "src :: Source { packets: 2, size: 60 } src -> out :: PcapWriter { file: \"PATH\" }";
    for kind in ENGINES {
        drop(run(kind, &text.replace("PATH", &path)));
        let (frames, _) = read_frames(&path);
        let expected = (1_700_000_000_000_000_000, 60, vec![0; 60]);
        assert_eq!(frames, [expected.clone(), expected]);
    }
}

/// A capture of five packets, then something that is none.
fn broken(format: Format, path: &str, tail: &[u8]) {
    write_frames(path, format, &cut_frames()[..5]);
    let mut bytes = std::fs::read(path).expect("written");
    bytes.extend(tail);
    std::fs::write(path, bytes).expect("writable");
}

#[test]
fn a_broken_capture_ends_with_what_it_had_and_is_not_read_again() {
    let folder = Folder::new();
    let [before, after] = ["in", "out"].map(|name| folder.path(name));
    let other_link = [1u32, 20, 105, 0, 20].map(u32::to_le_bytes).concat();
    for (format, tail, why) in [
        (Format::Pcap, &[0xff; 40][..], "impossibly long"),
        (Format::Pcap, &[0; 9], "breaks off"),
        (Format::Pcapng, &[6, 0, 0, 0, 13, 0, 0, 0, 1, 2, 3, 4, 5], "impossible length"),
        (Format::Pcapng, &[6, 0, 0], "breaks off"),
        (Format::Pcapng, &other_link, "link type 105"),
    ] {
        for (kind, times) in [(ENGINES[0], 1), (ENGINES[1], 0), (ENGINES[0], 3)] {
            broken(format, &before, tail);
            let (notes, engine) = run(
                kind,
                &format!(
                    "in :: PcapReader {{ file: \"{before}\", times: {times} }}
                     in -> out :: PcapWriter {{ file: \"{after}\" }}"
                ),
            );
            let [Note::Failed { app, fault, restart_in_ns: None }] = &notes[..] else {
                panic!("{why}: {notes:?}")
            };
            assert_eq!(app, "in");
            assert!(fault.message.contains(why), "{why}: {fault}");
            assert_eq!(engine.out_of_order(), ["in"]);
            assert!(engine.app_stats("in").expect("its counters").len() >= 2);
            drop(engine);
            let (frames, ended) = read_frames(&after);
            assert_eq!((frames.len(), ended), (5, Ended::Fine), "{why}, {times} times");
        }
    }
}

#[test]
fn captures_of_other_links_are_refused_at_once() {
    let folder = Folder::new();
    let path = folder.path("in");
    for format in [Format::Pcap, Format::Pcapng] {
        write_frames(&path, format, &cut_frames());
        let mut bytes = std::fs::read(&path).expect("written");
        let at = if format == Format::Pcap { 20 } else { 28 + 8 };
        assert_eq!(bytes[at..at + 2], [1, 0]);
        // IEEE 802.11
        bytes[at] = 105;
        std::fs::write(&path, &bytes).expect("writable");
        let refused = CaptureReader::new(&bytes[..]).err();
        let why = "the capture is not of Ethernet but of link type 105";
        assert_eq!(refused, Some(Ended::Invalid(why.to_owned())), "{format:?}");
        let mut engine = Engine::new(Options::default());
        let text = format!("in :: PcapReader {{ file: \"{path}\" }} -> end :: Sink");
        assert!(engine.configure(graph_of(&text)).is_err());
    }
}

/// Held by the one pair of devices there is: two with the same address would share the route.
static ONE_PAIR: Mutex<()> = Mutex::new(());

/// A pair of devices that is removed after the test.
struct Veth(String, #[expect(dead_code, reason = "held")] MutexGuard<'static, ()>);

impl Veth {
    fn new(name: &str) -> Result<Veth, String> {
        let guard = ONE_PAIR.lock().unwrap_or_else(PoisonError::into_inner);
        let name = format!("{name}{}", std::process::id() % 10_000);
        let ip = |words: String| {
            let output = Command::new("ip").args(words.split(' ')).output();
            let output = output.map_err(|error| format!("ip: {error}"))?;
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            if output.status.success() { Ok(()) } else { Err(said) }
        };
        ip(format!("link add {name}a type veth peer name {name}b"))?;
        let veth = Veth(name.clone(), guard);
        for end in ["a", "b"] {
            let path = format!("/proc/sys/net/ipv6/conf/{name}{end}/disable_ipv6");
            let _ = std::fs::write(path, "1");
            ip(format!("link set {name}{end} up"))?;
        }
        for end in ["a", "b"] {
            wait_until_up(&format!("{name}{end}"))?;
        }
        // Nothing answers there, so its address is given.
        ip(format!("address add 10.213.77.1/24 dev {name}a"))?;
        ip(format!("neighbour add 10.213.77.2 lladdr 02:00:00:00:00:09 dev {name}a"))?;
        Ok(veth)
    }
}

/// Waits until the kernel has seen the other end and sends: it does so some time after both ends
/// are set up, and drops what is sent before.
fn wait_until_up(interface: &str) -> Result<(), String> {
    let path = format!("/sys/class/net/{interface}/operstate");
    for _ in 0..500 {
        let state = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        std::thread::sleep(std::time::Duration::from_millis(20));
        if state.trim() == "up" {
            return Ok(());
        }
    }
    Err(format!("{interface} does not come up"))
}

impl Drop for Veth {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["link", "delete", &format!("{}a", self.0)]).output();
    }
}

#[test]
fn the_kernels_checksums_are_completed_and_its_drops_counted() {
    let veth = match Veth::new("tmc") {
        Ok(veth) => veth,
        Err(why) => return without_devices(why),
    };
    let folder = Folder::new();
    let path = folder.path("out");
    let text = format!(
        "in :: RawSocket {{ interface: \"{}b\" }}
         in -> out :: PcapWriter {{ file: \"{path}\" }}",
        veth.0
    );
    let (mut world, mut events) = on_the_system();
    if let Err(why) = drive::configure(&mut world, &mut events, graph_of(&text)) {
        return without_devices(why);
    }
    run_for(&mut world, &mut events, 20);
    let socket = UdpSocket::bind("10.213.77.1:0").expect("a port");
    for length in [1, 2, 100, 1000] {
        socket.send_to(&vec![7; length], "10.213.77.2:9").expect("sent");
    }
    run_for(&mut world, &mut events, 100);
    // More than the kernel keeps for a socket, while the graph does not breathe.
    for _ in 0..5000 {
        socket.send_to(&[8; 1400], "10.213.77.2:9").expect("sent");
    }
    run_for(&mut world, &mut events, 200);
    let counts = world.0.engine.app_stats("in").expect("the app");
    let drops = counts.iter().find(|(name, _)| name == "kernel_drops").map(|(_, count)| *count);
    world.0.engine.configure(Graph::new()).expect("it can go");
    let (frames, _) = read_frames(&path);
    let udp: Vec<_> = frames.iter().filter(|(.., it)| it[12..14] == [8, 0]).collect();
    assert!(udp.len() >= 5, "{} frames", udp.len());
    // A busy machine drops some before the socket, which the sending end counts.
    let path = format!("/sys/class/net/{}a/statistics/tx_dropped", veth.0);
    let sent = std::fs::read_to_string(&path).expect("the kernel counts");
    let unsent: u64 = sent.trim().parse().expect("a number");
    let all = drops.map(|drops| drops + unsent + udp.len() as u64);
    assert_eq!(all, Some(5004), "none is unaccounted for");
    for (_, _, frame) in udp {
        let ip = tidemill_apps::net::ipv4(frame).expect("IPv4");
        let segment = &frame[ip.payload()..ip.end()];
        let mut bare = segment.to_vec();
        bare[6..8].fill(0);
        let sum = tidemill_apps::net::transport_checksum(ip.source, ip.destination, 17, &bare);
        assert_eq!(segment[6..8], sum.to_be_bytes(), "{} bytes", segment.len());
    }
}

#[test]
fn filters_know_what_this_machine_sent() {
    let veth = match Veth::new("tmd") {
        Ok(veth) => veth,
        Err(why) => return without_devices(why),
    };
    for kind in ENGINES {
        let text = format!(
            "a :: RawSocket {{ interface: \"{0}a\" }} b :: RawSocket {{ interface: \"{0}b\" }}
             a -> sent :: Filter {{ expr: \"outbound and udp\" }} -> one :: Sink
             b -> came :: Filter {{ expr: \"inbound and udp\" }} -> two :: Sink
             sent.rest -> not :: Filter {{ expr: \"inbound and udp\" }} -> three :: Sink",
            veth.0
        );
        let mut engine = Engine::new(Options { kind, ..Options::default() });
        if let Err(why) = engine.configure(graph_of(&text)) {
            return without_devices(why);
        }
        let socket = UdpSocket::bind("10.213.77.1:0").expect("a port");
        for _ in 0..5 {
            socket.send_to(b"look", "10.213.77.2:9").expect("sent");
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
        (0..10).for_each(|_| _ = engine.breathe());
        let taken = |sink: &str| engine.app_stats(sink).expect("the sink")[0].clone();
        let expected = |count| ("taken_packets".to_owned(), count);
        assert_eq!(["one", "two", "three"].map(taken), [5, 5, 0].map(expected), "{kind:?}");
    }
}

#[test]
fn broadcasts_follow_the_mask() {
    let frame = |last: u8| {
        let ends = "02:00:00:00:00:01 > 02:00:00:00:00:02";
        format!("\"{ends} ip 10.0.0.1 > 192.168.1.{last} udp 7 > 9\"")
    };
    let frames = [255, 7, 0].map(frame).join(", ");
    let text = |settings: &str| {
        format!(
            "src :: Generator {{ frames: [{frames}] }}
             src -> f :: Filter {{ expr: \"ip broadcast\"{settings} }} -> end :: Sink"
        )
    };
    for kind in ENGINES {
        for (settings, count) in [("", 0), (", netmask: \"255.255.255.0\"", 2)] {
            let (_, engine) = run(kind, &text(settings));
            let taken = &engine.app_stats("end").expect("the sink")[0];
            assert_eq!(taken.1, count, "{settings:?}");
        }
        // Another mask is another filter, for code too.
        let mut engine = Engine::new(Options { kind, ..Options::default() });
        engine.configure(graph_of(&text(""))).expect("it starts");
        engine.configure(graph_of(&text(", netmask: \"255.255.255.0\""))).expect("it goes on");
        (0..10).for_each(|_| _ = engine.breathe());
        assert_eq!(engine.app_stats("end").expect("the sink")[0].1, 2);
    }
}

/// All packets of the files of `folder` in order of their names, and how many are in each.
fn read_all(folder: &str) -> (Vec<Read>, Vec<usize>) {
    let files = std::fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    paths.sort();
    let (mut all, mut counts) = (Vec::new(), Vec::new());
    for path in paths {
        let (frames, ended) = read_frames(path.to_str().expect("text"));
        assert_eq!(ended, Ended::Fine, "{}", path.display());
        counts.push(frames.len());
        all.extend(frames);
    }
    (all, counts)
}

#[test]
fn captures_may_have_limits() {
    let frames = cut_frames();
    let expected: Vec<_> =
        frames.iter().map(|frame| (frame.time_ns, frame.length, frame.bytes.clone())).collect();
    for (format, word) in [(Format::Pcap, "pcap"), (Format::Pcapng, "pcapng")] {
        for (settings, expected_counts) in [
            ("rotate: 10", Some(vec![10; 4])),
            ("rotate: 10, files: 2", Some(vec![10; 2])),
            ("rotate_bytes: 1", Some(vec![1; 40])),
            ("rotate_bytes: 1, files: 1", Some(vec![1])),
            ("rotate_bytes: 500", None),
            ("rotate_bytes: 500, rotate: 3", None),
            ("snap: 30", Some(vec![40])),
        ] {
            let folder = Folder::new();
            let (before, within) = (folder.path("in"), folder.path("out"));
            std::fs::create_dir(&within).expect("a folder");
            write_frames(&before, format, &frames);
            for app in ["PcapWriter", "PcapTap"] {
                let out = format!("{within}/out.{word}");
                let text = format!(
                    "in :: PcapReader {{ file: \"{before}\" }} -> out :: {app} {{ file: \"{out}\", \
                     format: \"{word}\", {settings} }}"
                );
                let end = if app == "PcapTap" { " -> end :: Sink" } else { "" };
                drop(run(EngineKind::Compiled, &format!("{text}{end}")));
                let (found, counts) = read_all(&within);
                let context = format!("{app} {settings} {counts:?}");
                if let Some(expected) = &expected_counts {
                    assert_eq!(&counts, expected, "{context}");
                }
                let kept = &expected[expected.len() - found.len()..];
                let snap = if settings.starts_with("snap") { 30 } else { usize::MAX };
                for ((time, length, bytes), found) in kept.iter().zip(&found) {
                    let cut = bytes[..bytes.len().min(snap)].to_vec();
                    assert_eq!(&(*time, *length, cut), found, "{context}");
                }
                assert!(settings.contains("files") || found.len() == 40, "{context}");
                for file in std::fs::read_dir(&within).expect("a folder") {
                    let file = file.expect("a file");
                    let bytes = file.metadata().expect("a file").len();
                    assert!(!settings.contains("500") || bytes <= 500, "{context}");
                    assert_eq!(file.file_name() == *format!("out.{word}"), snap == 30);
                    std::fs::remove_file(file.path()).expect("it goes");
                }
            }
        }
    }
}

#[test]
fn the_name_of_a_capture_decides_its_format() {
    let (folder, frames) = (Folder::new(), cut_frames());
    let before = folder.path("in");
    write_frames(&before, Format::Pcap, &frames);
    for (name, format, is_pcapng) in [
        ("a.pcapng", "", true),
        ("b.PcapNG", ", rotate: 1000", true),
        ("c.pcap", "", false),
        ("d", "", false),
        ("e.pcapng", ", format: \"pcap\"", false),
        ("f.pcap", ", format: \"pcapng\"", true),
    ] {
        for app in ["PcapWriter", "PcapTap"] {
            let end = if app == "PcapTap" { " -> end :: Sink" } else { "" };
            let out = folder.path(name);
            let text = format!(
                "in :: PcapReader {{ file: \"{before}\" }} \
                 -> out :: {app} {{ file: \"{out}\"{format} }}{end}"
            );
            drop(run(EngineKind::Compiled, &text));
            let rotated = folder.path("b-00001.PcapNG");
            let bytes = std::fs::read(if format.contains("rotate") { rotated } else { out });
            let begins_pcapng =
                bytes.expect("a capture").starts_with(&0x0A0D_0D0A_u32.to_le_bytes());
            assert_eq!(begins_pcapng, is_pcapng, "{app} {name} {format}");
        }
    }
}

#[test]
fn limits_of_captures_are_checked() {
    for (settings, error) in [
        ("snap: 0", "it is from 1 to 262144 bytes"),
        ("snap: 262145", "it is from 1 to 262144 bytes"),
        ("files: 3", "it needs `rotate_bytes` or `rotate`: else there is one file"),
        ("format: \"cap\"", "the formats are \"pcap\" and \"pcapng\""),
    ] {
        let text = format!("src :: Source -> out :: PcapWriter {{ file: \"out\", {settings} }}");
        let mut sources = tidemill_diag::Sources::new();
        let options = tidemill_packet::flow::Options::default();
        let catalogue = tidemill_apps::catalogue();
        let loaded = load_text("a.flow", &text, &options, &catalogue, &mut sources);
        let messages: Vec<_> = loaded.diagnostics.iter().map(|one| &one.message).collect();
        assert!(messages.iter().any(|message| message.contains(error)), "{settings}: {messages:?}");
    }
}
