//! Packet graphs on the command line.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

fn tidemill(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tidemill")).args(args).output().expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A file of its own for a test.
fn file(name: &str, content: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tidemill-flow-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("writable");
    let path = folder.join(name);
    fs::write(&path, content).expect("writable");
    path
}

const GRAPH: &str = "src :: Source { packets: $N, size: 60 }\n\
    cut :: Truncate { length: 14 }\n\
    end :: Sink\n\
    src -> cut -> end\n";

#[test]
fn a_graph_runs_until_its_sources_are_done() {
    let path = file("run.flow", GRAPH);
    let path = path.display().to_string();
    let ended = tidemill(&["run", &path, "-D", "N=5000", "--stats", "--engine", "dispatch"]);
    let err = text(&ended.stderr);
    assert!(ended.status.success(), "{err}");
    assert!(err.contains("packets: 5000 created, 0 alive"), "{err}");
    assert!(
        err.contains("link cut.output->end.cut: 5000 packets, 70000 bytes, 0 dropped"),
        "{err}"
    );
}

#[test]
fn check_reports_what_is_missing() {
    let path = file("check.flow", GRAPH);
    let path = path.display().to_string();
    let checked = tidemill(&["check", &path]);
    assert_eq!(checked.status.code(), Some(1));
    let err = text(&checked.stderr);
    let expected = format!("{path}:1:26: error[unknown-parameter]: parameter `N` is not defined");
    assert!(err.starts_with(&expected), "{err}");
    assert!(tidemill(&["check", &path, "-D", "N=1"]).status.success());
}

#[test]
fn explain_draws_and_fmt_lays_out() {
    let path = file("explain.flow", &GRAPH.replace(" :: ", "::"));
    let path = path.display().to_string();
    let drawn = text(&tidemill(&["explain", &path, "-D", "N=1"]).stdout);
    assert!(drawn.contains("breath\n\nsrc cut end\n"), "{drawn}");
    assert!(drawn.contains("sends to app cut :: Truncate"), "{drawn}");
    assert!(!drawn.contains("steps"), "{drawn}");
    for (form, start) in [("dot", "digraph"), ("mermaid", "flowchart"), ("svg", "<svg")] {
        let drawn = text(&tidemill(&["explain", &path, "-D", "N=1", "--form", form]).stdout);
        assert!(drawn.starts_with(start) && drawn.contains("Truncate"), "{drawn}");
    }
    assert_eq!(tidemill(&["fmt", "--check", &path]).status.code(), Some(1));
    assert!(tidemill(&["fmt", &path]).status.success());
    assert_eq!(fs::read_to_string(&path).expect("readable"), GRAPH);
}

#[test]
fn explain_counts_the_steps_of_handlers() {
    let program = "app Two {
        ports { input in; input back; output out; }
        table t exact(a: u8) -> (n: u32) { writer kernel; size 8; expire 9; }
        on packet(in) { for i in 0..10 { mark += byte(i); } send out; }
        on packet(back) { drop never; }
        on expire(t) { t.n = 1; }
        on tick { find t(1) { refresh t; } }
    }
    src :: Source { packets: 3 }  two :: Two  other :: Source { packets: 1 }  end :: Sink
    src -> two.in  other -> two.back  two -> end\n";
    let path = file("steps.flow", program).display().to_string();
    let drawn = text(&tidemill(&["explain", &path]).stdout);
    let (_, steps) = drawn.split_once("steps of handlers, of 4096 at most\n\n").expect(&drawn);
    let mut lines = steps.lines().map(|line| line.split_once(": ").unwrap_or((line, "")));
    let mut next = |handler: &str, least: u32, most: u32| {
        let (name, steps) = lines.next().expect("another handler");
        assert_eq!(name, handler, "{drawn}");
        assert!((least..=most).contains(&steps.parse().expect("a number")), "{drawn}");
    };
    next("Two packet(in)", 60, 200);
    next("Two packet(back)", 1, 3);
    next("Two expire(t)", 3, 5);
    next("Two tick", 5, 9);
}

#[test]
fn the_catalogue_lists_and_describes() {
    let list = text(&tidemill(&["apps"]).stdout);
    assert!(list.lines().any(|line| line.starts_with("PcapReader ")), "{list}");
    let one = text(&tidemill(&["apps", "ratelimiter"]).stdout);
    assert!(one.contains("rate: an integer, must be given"), "{one}");
    assert_eq!(tidemill(&["apps", "Nothing"]).status.code(), Some(1));
}

#[test]
fn a_file_that_is_not_there_ends_with_status_1() {
    let graph = "src :: PcapReader { file: \"no-such.pcap\" } -> end :: Sink\n";
    let path = file("missing.flow", graph).display().to_string();
    let ended = tidemill(&["run", &path]);
    assert_eq!(ended.status.code(), Some(1));
    let err = text(&ended.stderr);
    assert!(err.contains("src: cannot read `no-such.pcap`"), "{err}");
}

#[test]
fn a_hangup_reloads_by_difference() {
    hang_up("reload.flow", &[]);
}

#[test]
fn a_changed_file_is_read_again() {
    reload("watch.flow", &["--watch"], |_| {});
}

#[test]
fn so_it_does_beside_components() {
    let waits = "COMPONENT Main REQUIRES SystemTime;
        BEGIN SystemTime!Wait(60000); SystemTime?Passed END Main;";
    let path = file("reload.com", waits).display().to_string();
    hang_up("beside.flow", &[&path]);
}

/// A graph continues with another config, alone or beside programs.
fn hang_up(name: &str, beside: &[&str]) {
    reload(name, beside, |child| {
        let sent = Command::new("kill").args(["-HUP", &child.id().to_string()]).status();
        assert!(sent.expect("kill is there").success());
    });
}

/// The same, if it is reloaded by itself or after `signal`.
fn reload(name: &str, beside: &[&str], signal: impl FnOnce(&Child)) {
    let before = "src :: Generator { frames: [\"hex 00\"], packets: 1000000, rate: 1000 }\n\
        cut :: Truncate { length: 14 }\nend :: Sink\nsrc -> cut -> end\n";
    let path = file(name, before);
    let mut child = Command::new(env!("CARGO_BIN_EXE_tidemill"))
        .args(["run", &path.display().to_string(), "--for", "3", "--stats"])
        .args(beside)
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    std::thread::sleep(Duration::from_millis(1000));
    fs::write(&path, before.replace("length: 14", "length: 20")).expect("writable");
    signal(&child);
    let status = child.wait().expect("it ends");
    let mut err = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().expect("piped"), &mut err)
        .expect("readable");
    assert!(status.success(), "{err}");
    assert!(err.contains("reloaded: 2 apps kept, 1 reconfigured, 0 restarted"), "{err}");
    // The source continued where it was.
    let line = err.lines().find(|line| line.starts_with("link src.output->cut.input"));
    let packets: u64 = line
        .and_then(|line| line.split_whitespace().nth(2)?.parse().ok())
        .unwrap_or_else(|| panic!("{err}"));
    // A loaded machine may end it late.
    assert!((2000..=3500).contains(&packets), "{err}");
}
