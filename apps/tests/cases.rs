//! Captures in, captures out: `tests/packets/NAME.case` has the frames for the ports of an app and
//! the expected frames, in text. `BLESS=1` rewrites the expected ones.
//!
//! ```text
//! app RateLimiter { rate: 1000 }
//! in input                       a capture is made of the frames below
//! 02:...
//! out output                     and so is one of the frames that leave
//! counts                         what the app counted
//! ```
//! Each port has a capture of its own, in both formats, read and written by the apps for that.

use std::fmt::Write;
use std::path::Path;

use tidemill_apps::capture::{CaptureReader, CaptureWriter, Format, Frame};
use tidemill_apps::frame;
use tidemill_diag::Sources;
use tidemill_event::{Loop, Sim};
use tidemill_packet::drive::{self, Driver, World};
use tidemill_packet::engine::{Engine, EngineKind, Options, Rest};
use tidemill_packet::flow::{self, load_text};
use tidemill_support::files;
use tidemill_support::golden::Golden;

#[derive(Default)]
struct Case {
    app: String,
    ins: Vec<(String, Vec<String>)>,
    outs: Vec<String>,
    comments: String,
}

fn read(text: &str) -> Case {
    let mut case = Case::default();
    let text = text.split("\ncounts\n").next().unwrap_or(text);
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line.starts_with("//") {
            writeln!(case.comments, "{line}").expect("a string");
        } else if let Some(app) = line.strip_prefix("app ") {
            case.app = app.to_owned();
        } else if let Some(port) = line.strip_prefix("in ") {
            case.ins.push((port.to_owned(), Vec::new()));
        } else if let Some(port) = line.strip_prefix("out ") {
            case.outs.push(port.to_owned());
        } else if case.outs.is_empty() && line != "counts" {
            let (_, frames) = case.ins.last_mut().expect("frames follow a port");
            frames.push(line.to_owned());
        }
    }
    case
}

struct Only(Driver);

impl World for Only {
    fn driver(&mut self) -> &mut Driver {
        &mut self.0
    }

    fn breathed(&mut self, events: &mut Loop<Only>, rest: Rest) {
        if rest == Rest::Finished {
            events.stop();
        }
    }
}

/// Runs a case through captures; the case as it should be written.
fn run(case: &Case, format: Format, kind: EngineKind, folder: &Path) -> String {
    let word = if format == Format::Pcap { "pcap" } else { "pcapng" };
    let mut text = format!("app :: {}\n", case.app);
    for (number, (port, frames)) in case.ins.iter().enumerate() {
        let path = folder.join(format!("in{number}.{word}"));
        let file = std::fs::File::create(&path).expect("writable");
        let mut writer = CaptureWriter::new(file, format).expect("writable");
        for (at, text) in (1..).zip(frames) {
            let bytes = frame::parse(text).unwrap_or_else(|why| panic!("{why}: {text}"));
            writer.write(at * 1_000_000, &bytes, bytes.len() as u32).expect("writable");
        }
        writeln!(text, "in{number} :: PcapReader {{ file: \"{}\" }} -> app.{port}", path.display())
            .expect("a string");
    }
    let out = |number: usize| folder.join(format!("out{number}.{word}"));
    for (number, port) in case.outs.iter().enumerate() {
        let path = out(number).display().to_string();
        let writer = format!("PcapWriter {{ file: \"{path}\", format: \"{word}\" }}");
        writeln!(text, "out{number} :: {writer}\napp.{port} -> out{number}").expect("a string");
    }
    let counts = run_graph(&text, kind);
    let mut result = format!("{}app {}\n", case.comments, case.app);
    for (port, frames) in &case.ins {
        writeln!(result, "in {port}\n{}", frames.join("\n")).expect("a string");
    }
    for (number, port) in case.outs.iter().enumerate() {
        writeln!(result, "out {port}").expect("a string");
        let file = std::fs::File::open(out(number)).expect("it was written");
        let mut reader = CaptureReader::new(file).expect("a capture");
        let mut frame = Frame::default();
        while reader.next(&mut frame).is_ok() {
            writeln!(result, "{}", frame::describe(&frame.bytes)).expect("a string");
        }
    }
    writeln!(result, "counts").expect("a string");
    for (name, count) in counts {
        writeln!(result, "{name} {count}").expect("a string");
    }
    result
}

/// Runs a graph to its end; what `app` counted. No packet is lost on the way.
fn run_graph(text: &str, kind: EngineKind) -> Vec<(String, u64)> {
    let mut sources = Sources::new();
    let options = flow::Options::default();
    let catalogue = tidemill_apps::catalogue();
    let loaded = load_text("case.flow", text, &options, &catalogue, &mut sources);
    let found: String = loaded.diagnostics.iter().map(|one| sources.render(one)).collect();
    let graph = loaded.graph.unwrap_or_else(|| panic!("{found}\n{text}"));
    let mut events = Loop::new(Box::new(Sim::new(1)));
    let mut world = Only(Driver::new(Engine::new(Options { kind, ..Options::default() })));
    drive::configure(&mut world, &mut events, graph).unwrap_or_else(|why| panic!("{why}"));
    events.run(&mut world);
    let engine = &mut world.0.engine;
    assert_eq!(engine.take_notes(), [], "no app fails");
    engine.flush();
    let mut counts = engine.app_stats("app").expect("the app is there");
    counts.sort();
    engine.configure(tidemill_packet::graph::Graph::new()).expect("all apps can go");
    assert_eq!(engine.pool_stats().alive(), 0, "a packet is lost");
    counts
}

#[test]
fn every_case_comes_out_as_expected() {
    let folder = std::env::temp_dir().join(format!("tidemill-cases-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("writable");
    let mut golden = Golden::default();
    for path in files("tests/packets", "case", 15) {
        let case = read(&tidemill_support::text(&path));
        // By the loop, and by native code from the other format.
        let result = run(&case, Format::Pcap, EngineKind::Dispatch, &folder);
        let compiled = run(&case, Format::Pcapng, EngineKind::Compiled, &folder);
        assert_eq!(compiled, result, "{}", path.display());
        golden.check(&path, result);
    }
    std::fs::remove_dir_all(&folder).expect("removable");
}

#[test]
fn frames_as_text_survive_mutation() {
    let mut random = tidemill_stdx::rng::Rng::new(5);
    let text =
        "02:00:00:00:00:01 > 02:00:00:00:00:02 vlan 5 ip 10.0.0.1 > 10.0.0.2 udp 7 > 53 bytes 9";
    let good = frame::parse(text).expect("a frame");
    for _ in 0..20_000 {
        let mut bytes = good.clone();
        for _ in 0..random.below(4) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.next_u64() as u8;
        }
        bytes.truncate(random.below(bytes.len() as u64 + 1) as usize);
        let text = frame::describe(&bytes);
        assert_eq!(frame::parse(&text).as_ref(), Ok(&bytes), "{text}");
    }
}
