//! Counters of a run as other processes read them: in mapped files, which are removed with the run.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Folder, PING, status, stderr, tidemill};
use tidemill_stat::Snapshot;

fn start(folder: &Folder, arguments: &[&str]) -> Child {
    let file = folder.file("ping.olg", PING);
    tidemill()
        .args(["run", &file])
        .args(arguments)
        .env("XDG_RUNTIME_DIR", folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts")
}

/// Reads until a condition holds, at most ten seconds.
fn read_until(base: &Path, pid: u32, is_so: impl Fn(&Snapshot) -> bool) -> Snapshot {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let snapshot = Snapshot::open_in(base, pid);
        match snapshot {
            Ok(snapshot) if is_so(&snapshot) => return snapshot,
            other => assert!(Instant::now() < deadline, "{other:?}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The sum over all nodes.
fn nodes(snapshot: &Snapshot, counter: &str) -> u64 {
    let of = |name: &str| name.starts_with("node/localhost:") && name.ends_with(counter);
    snapshot.counters.iter().filter(|(name, _)| of(name)).map(|(_, value)| value).sum()
}

#[test]
fn counters_are_read_while_a_program_runs_and_go_with_it() {
    let folder = Folder::new();
    let base = folder.path().join("tidemill");
    let mut child = start(&folder, &["--nodes", "3", "--for", "3"]);
    let pid = child.id();
    let first = read_until(&base, pid, |seen| seen.counter("table/pongs/rows") == Some(3));
    assert_eq!(first.problems, [""; 0]);
    let next = read_until(&base, pid, |seen| nodes(seen, "/received") >= 4);
    assert!(nodes(&next, "/turns") > nodes(&first, "/turns"));
    assert!(nodes(&next, "/sent") >= 4 && nodes(&next, "/rx_tuples") >= 4, "{next:?}");
    assert!(next.counter("rule/p1/fired") >= Some(3), "{next:?}");
    assert!(next.counter("turn/node/count") >= Some(9), "{next:?}");
    assert!(next.counter("loop/0/waits") > first.counter("loop/0/waits"), "{next:?}");
    // Three nodes, each with its drop reasons, and nothing was dropped.
    let of_node = |name: &&String| name.starts_with("node/") && name.ends_with("/malformed");
    let malformed = next.counters.keys().filter(of_node);
    assert_eq!(malformed.count(), 3);
    assert_eq!(nodes(&next, "/malformed") + nodes(&next, "/dropped_queue_full"), 0);
    assert!(child.wait().expect("ends").success());
    assert!(Snapshot::open_in(&base, pid).is_err());
    assert!(!base.join(pid.to_string()).exists());
}

#[test]
fn what_a_killed_run_left_goes_at_the_next_start() {
    let folder = Folder::new();
    let base = folder.path().join("tidemill");
    let mut killed = start(&folder, &["--nodes", "1"]);
    read_until(&base, killed.id(), |seen| seen.counter("table/pongs/rows").is_some());
    killed.kill().expect("killed");
    killed.wait().expect("ends");
    assert!(base.join(killed.id().to_string()).exists());
    assert!(start(&folder, &["--nodes", "1", "--for", "0.1"]).wait().expect("ends").success());
    assert_eq!(std::fs::read_dir(&base).expect("there").count(), 0);
}

#[test]
fn without_a_place_for_files_a_program_runs_with_one_warning() {
    let folder = Folder::new();
    let file = folder.file("ping.olg", PING);
    // A file in place of the folder.
    let output = tidemill()
        .args(["run", &file, "--nodes", "2", "--for", "1.5"])
        .env("XDG_RUNTIME_DIR", &file)
        .output()
        .expect("starts");
    assert_eq!(status(&output), 0);
    let notes = stderr(&output);
    assert!(
        notes.starts_with("tidemill: warning: other processes cannot read the counters"),
        "{notes}"
    );
    assert_eq!(notes.matches("warning").count(), 1, "{notes}");
}
