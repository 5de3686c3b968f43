//! Graphs and captures for the tests of apps.
#![allow(dead_code, reason = "not every test that shares this module uses all of it")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tidemill_apps::capture::{CaptureReader, CaptureWriter, Format, Frame};
use tidemill_diag::Sources;
use tidemill_event::{Loop, Os, Sim};
use tidemill_packet::drive::{self, Driver, World};
use tidemill_packet::engine::{Engine, Options, Rest};
use tidemill_packet::flow::{self, load_text};
use tidemill_packet::graph::Graph;

/// A world of one engine.
pub struct Only(pub Driver);

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

/// The graph of a text that is right.
pub fn graph_of(text: &str) -> Graph {
    let mut sources = Sources::new();
    let options = flow::Options::default();
    let catalogue = tidemill_apps::catalogue();
    let loaded = load_text("test.flow", text, &options, &catalogue, &mut sources);
    let found: String = loaded.diagnostics.iter().map(|one| sources.render(one)).collect();
    loaded.graph.unwrap_or_else(|| panic!("{found}\n{text}"))
}

/// An engine on the system's loop.
pub fn on_the_system() -> (Only, Loop<Only>) {
    let host = Os::with_seed(1).expect("an event queue");
    (Only(Driver::new(Engine::new(Options::default()))), Loop::new(Box::new(host)))
}

/// Lets time pass.
pub fn run_for(world: &mut Only, events: &mut Loop<Only>, ms: u64) {
    let end = events.now() + Duration::from_millis(ms);
    events.run_until(world, end);
}

/// Runs a graph to its end in virtual time, without faults and without losing a packet; what the
/// app `app` counted, if there is one.
pub fn run_to_end(text: &str) -> Vec<(String, u64)> {
    let mut events = Loop::new(Box::new(Sim::new(1)));
    let mut world = Only(Driver::new(Engine::new(Options::default())));
    drive::configure(&mut world, &mut events, graph_of(text)).unwrap_or_else(|why| panic!("{why}"));
    events.run(&mut world);
    let engine = &mut world.0.engine;
    assert_eq!(engine.take_notes(), [], "no app fails");
    let counts = engine.app_stats("app").unwrap_or_default();
    engine.configure(Graph::new()).expect("all apps can go");
    assert_eq!(engine.pool_stats().alive(), 0, "a packet is lost");
    counts
}

/// A folder that is removed after the test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tidemill-apps-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    /// A path in it, as text.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("text").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Writes a capture.
pub fn write(path: &str, format: Format, frames: &[Vec<u8>]) {
    let file = std::fs::File::create(path).expect("writable");
    let mut writer = CaptureWriter::new(file, format).expect("writable");
    for (at, bytes) in (1..).zip(frames) {
        writer.write(at * 1_000_000, bytes, bytes.len() as u32).expect("writable");
    }
    writer.flush().expect("writable");
}

/// The packets of a capture.
pub fn read(path: impl AsRef<Path>) -> Vec<Vec<u8>> {
    let file = std::fs::File::open(path).expect("a capture");
    let mut reader = CaptureReader::new(file).expect("a capture");
    let (mut frame, mut frames) = (Frame::default(), Vec::new());
    while reader.next(&mut frame).is_ok() {
        frames.push(frame.bytes.clone());
    }
    frames
}

/// `count` frames of all kinds.
pub fn frames(count: usize) -> Vec<Vec<u8>> {
    let mut random = tidemill_stdx::rng::Rng::new(7);
    let frame = |at: usize| {
        let (host, length) = (random.range(1..=9), random.range(0..=1400));
        let tag = ["", "vlan 42 ", "vlan 42 vlan 7 "][at % 3];
        let upper = match at % 4 {
            0 => format!("udp {} > 53", 1000 + at),
            1 => format!("tcp {} > 80", 1000 + at),
            2 => format!("icmp echo 1 {at}"),
            _ => "proto 47".to_owned(),
        };
        let ends = "02:00:00:00:00:01 > 02:00:00:00:00:02";
        let text = format!("{ends} {tag}ip 10.0.0.{host} > 10.0.0.99 {upper} bytes {length}");
        tidemill_apps::frame::parse(&text).unwrap_or_else(|why| panic!("{why}: {text}"))
    };
    (0..count).map(frame).collect()
}

/// A test of devices that could not have them: a failure where the process may administer the
/// network, otherwise the test is skipped.
pub fn without_devices(why: impl std::fmt::Display) {
    assert!(!may_administer_networks(), "{why}");
    println!("skipped: {why}");
}

/// Whether the process has CAP_NET_ADMIN and CAP_NET_RAW.
fn may_administer_networks() -> bool {
    const WANTED: u64 = 1 << 12 | 1 << 13;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .is_some_and(|set| set & WANTED == WANTED)
}
