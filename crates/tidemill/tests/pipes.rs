//! Pipes as input of captures and of stages: read once, as they come, and nothing waits for them.

use std::fs::{OpenOptions, remove_file};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

use rustix::fs::{CWD, Mode, mkfifoat};
use tidemill::error::Error;
use tidemill::program::{LoadOptions, Program};
use tidemill::run::{Listen, Report, RunOptions};
use tidemill::sim::SimOptions;
use tidemill::tape::taped;
use tidemill_apps::capture::{CaptureWriter, Format};

/// A named pipe; removed on drop.
struct Pipe(PathBuf);

impl Pipe {
    fn new(name: &str) -> Pipe {
        let path = std::env::temp_dir().join(format!("tidemill-{name}-{}", std::process::id()));
        let _ = remove_file(&path);
        mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).expect("a pipe");
        Pipe(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }

    /// Writes pieces to the pipe, one every 0.3 seconds.
    fn write(&self, pieces: Vec<Vec<u8>>) -> JoinHandle<()> {
        let path = self.0.clone();
        spawn(move || {
            let mut pipe = OpenOptions::new().write(true).open(path).expect("it opens");
            for piece in pieces {
                sleep(Duration::from_millis(300));
                pipe.write_all(&piece).expect("written");
            }
        })
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let _ = remove_file(&self.0);
    }
}

fn load(rules: &str, graph: Option<&str>) -> Program {
    let texts: Vec<(&str, &str)> =
        [("a.olg", rules)].into_iter().chain(graph.map(|graph| ("a.flow", graph))).collect();
    let program = Program::of_texts(&texts, &LoadOptions::default());
    let found: String = program.diagnostics.iter().map(|one| program.sources.render(one)).collect();
    assert!(!program.has_errors(), "{found}");
    program
}

fn run(program: Program, end_ns: Option<u64>) -> (String, String, Report) {
    let mut options = RunOptions { end_ns, ..RunOptions::default() };
    options.nodes.listen = Listen::Address("localhost:0".to_owned());
    let (console, data, notes) = taped();
    let report = program.run(options, console).expect("it runs");
    (data.text(), notes.text(), report)
}

/// When a line with these words came, in seconds.
fn time_of(text: &str, words: &str) -> f64 {
    let line = text.lines().find(|line| line.contains(words));
    let line = line.unwrap_or_else(|| panic!("{words} in {text}"));
    line.split(' ').next().and_then(|time| time.parse().ok()).expect("a time")
}

fn capture(format: Format) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = CaptureWriter::new(&mut bytes, format).expect("it can be written");
    for second in 0..3 {
        let time_ns = 1_700_000_000_000_000_000 + second * 1_000_000_000;
        writer.write(time_ns, &[7; 60], 60).expect("it can be written");
    }
    drop(writer);
    bytes
}

fn graph(pipe: &Pipe, more: &str) -> String {
    format!(
        "src :: PcapReader {{ file: {:?}{more} }}
         rules :: Rules {{ fields: \"time\" }}
         src -> rules",
        pipe.path()
    )
}

const PACKETS: &str = "r1 seen(@N, Id) :- packet(@N, Port, Id, Time).
    t1 tick(@N, E) :- periodic(@N, E, 0.1).
    watchmod(seen, \"c\"). watchmod(tick, \"h\").";

/// The second piece begins within a packet.
#[test]
fn a_capture_comes_through_a_pipe() {
    for (name, format) in [("pcap", Format::Pcap), ("pcapng", Format::Pcapng)] {
        let (pipe, bytes) = (Pipe::new(name), capture(format));
        let (first, second) = bytes.split_at(bytes.len() - 90);
        let writes = pipe.write(vec![first.to_vec(), second.to_vec()]);
        let (text, notes, report) = run(load(PACKETS, Some(&graph(&pipe, ""))), None);
        writes.join().expect("no panic");
        assert!(report.is_well(), "{notes}");
        assert_eq!(text.matches(" c r1 seen(").count(), 3, "{text}{notes}");
        let times = ["0)", "1)", "2)"].map(|id| time_of(&text, &format!(", {id}")));
        assert!(times[0] > 0.2 && times[2] - times[0] > 0.2, "{times:?}");
        // Timers of rules come meanwhile.
        assert!(time_of(&text, " h t1 tick(") < times[0], "{text}");
    }
}

#[test]
fn a_pipe_is_read_once_and_in_no_simulation() {
    let pipe = Pipe::new("once");
    let mut options = RunOptions::default();
    options.nodes.listen = Listen::Address("localhost:0".to_owned());
    let (console, ..) = taped();
    let refused = load(PACKETS, Some(&graph(&pipe, ", times: 2"))).run(options, console);
    let refused = refused.expect_err("it cannot").to_string();
    assert!(refused.contains("is a pipe, which is read once"), "{refused}");
    let (console, ..) = taped();
    let simulated = load(PACKETS, Some(&graph(&pipe, ""))).sim(SimOptions::default(), console);
    let Err(Error::Options(refused)) = simulated else { panic!("{simulated:?}") };
    assert!(refused.contains("app `src` reads a pipe"), "{refused}");
}

/// The second piece begins within a field in quotes.
#[test]
fn a_stage_reads_a_pipe_and_nothing_waits_for_it() {
    let pipe = Pipe::new("csv");
    let rules = format!(
        "stage(\"CSV\", load, row).
         l1 load(@N, {:?}) :- periodic(@N, E, 0, 1).
         t1 tick(@N, E) :- periodic(@N, E, 0.1).
         watchmod(row, \"s\"). watchmod(tick, \"h\").",
        pipe.path()
    );
    let pieces = ["Eling,1785\n\"Wood", "bridge\",1793\nlast,1"];
    let writes = pipe.write(pieces.map(|piece| piece.as_bytes().to_vec()).to_vec());
    let (text, notes, _) = run(load(&rules, None), Some(1_200_000_000));
    writes.join().expect("no panic");
    assert_eq!(notes, "");
    let times = ["\"Eling\", 1785)", "\"Woodbridge\", 1793)", "\"last\", 1)"];
    let times = times.map(|words| time_of(&text, words));
    assert!(times[0] > 0.2 && times[1] - times[0] > 0.2 && times[2] >= times[1], "{times:?}");
    assert!(text.matches(" h t1 tick(").count() >= 9, "{text}");
    let (console, data, notes) = taped();
    let options = SimOptions { end_ns: Some(1_000_000_000), ..SimOptions::default() };
    load(&rules, None).sim(options, console).expect("it runs");
    assert!(notes.text().contains("a simulation reads no pipes"), "{}", notes.text());
    assert!(!data.text().contains(" s - row("), "{}", data.text());
}
