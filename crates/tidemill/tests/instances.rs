//! Several workers with an instance of a packet graph each.

use std::path::PathBuf;

use tidemill::error::Error;
use tidemill::program::{LoadOptions, Program};
use tidemill::run::{Report, RunOptions};
use tidemill::tape::taped;

fn run(text: &str, workers: u32) -> Result<(Report, String), Error> {
    let program = Program::of_text("a.flow", text, &LoadOptions::default());
    let found: String = program.diagnostics.iter().map(|one| program.sources.render(one)).collect();
    assert!(!program.has_errors(), "{found}");
    let mut options = RunOptions::default();
    options.nodes.workers = workers;
    let (console, _, notes) = taped();
    let report = program.run(options, console)?;
    Ok((report, notes.text()))
}

/// A graph of frames of a hundred flows.
fn graph(rest: &str) -> String {
    let ends = |at: u8| format!("02:00:00:00:00:01 > 02:00:00:00:00:02 ip 10.0.0.{at} > 10.1.0.1");
    let frames: Vec<String> = (0..100).map(|at| format!("{:?}", ends(at) + " udp 7 > 9")).collect();
    format!("src :: Generator {{ frames: [{}], packets: 20000 }}\n{rest}", frames.join(", "))
}

/// A capture that is removed on drop.
struct Capture(PathBuf);

impl Capture {
    fn new(name: &str) -> Capture {
        let name = format!("tidemill-{}-{name}.pcap", std::process::id());
        Capture(std::env::temp_dir().join(name))
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn the_report_is_that_of_all() {
    let out = Capture::new("instances");
    let rest = format!("out :: PcapWriter {{ file: {:?} }}\nsrc -> out", out.0);
    let (one, notes) = run(&graph(&rest), 1).expect("it runs");
    assert_eq!(notes, "");
    let bytes = std::fs::metadata(&out.0).expect("a capture").len();
    for workers in [2, 5] {
        let (all, notes) = run(&graph(&rest), workers).expect("it runs");
        assert_eq!(notes, "");
        let links = |report: &Report| report.packets.as_ref().expect("a graph").links.clone();
        assert_eq!(links(&all), links(&one));
        assert_eq!(std::fs::metadata(&out.0).expect("a capture").len(), bytes);
    }
}

#[test]
fn an_app_for_all_flows_is_refused() {
    let text = "socket :: UnixSocket { listen: \"/tmp/no\", peer: \"/tmp/one\" }\n\
                end :: Sink\nsocket -> end";
    let error = run(text, 2).expect_err("it is one socket").to_string();
    assert!(error.contains("app `socket` cannot take a part of the flows"), "{error}");
}

#[test]
fn a_pipe_is_not_divided() {
    let pipe = Capture::new("pipe");
    let path = pipe.0.to_str().expect("text");
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.is_ok_and(|made| made.success()));
    // Held open, so that readers need not wait.
    let open = || std::fs::OpenOptions::new().read(true).write(true).open(path);
    let held = open().expect("a pipe");
    let text = format!("src :: PcapReader {{ file: {path:?} }}\nend :: Sink\nsrc -> end");
    let error = run(&text, 2).expect_err("one can read it").to_string();
    assert!(error.contains("is a pipe, which one worker can read"), "{error}");
    drop(held);
}

#[test]
fn an_instance_that_cannot_start_ends_the_run() {
    let rest = "nat :: Nat44 { address: \"198.51.100.1\", first_port: 2000, last_port: 2002 }\n\
                none :: Sink\nout :: Sink\nback :: Source { packets: 1 }\n\
                src -> nat.inside\nnat.outside -> out\nback -> nat.outside\nnat.inside -> none";
    let error = run(&graph(rest), 4).expect_err("there are three ports").to_string();
    assert!(error.contains("there are fewer ports than workers"), "{error}");
    let (report, _) = run(&graph(rest), 3).expect("it runs");
    assert!(report.is_well());
}
