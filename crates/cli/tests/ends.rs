//! A run ends in time, whatever its processes do: after `--for`, and by signals.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Folder, tidemill};

const ENDLESS: &str = "COMPONENT Main;
  VARIABLE i: INTEGER;
  BEGIN WRITE(\"begun\"); WRITELINE; WHILE TRUE DO i := (i + 1) MOD 7 END
END Main;
";

/// The delay of a loaded machine, beyond the 100 ms in which a run ends.
const LATE: Duration = Duration::from_secs(5);

fn start(folder: &Folder, arguments: &[&str]) -> Child {
    let file = folder.file("endless.com", ENDLESS);
    let mut command = tidemill();
    command.arg("run").args(arguments).arg(file).env("XDG_RUNTIME_DIR", folder.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts")
}

/// Waits for an orderly end in time.
fn ends(mut child: Child, what: &str) {
    let since = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            break status;
        }
        if since.elapsed() > LATE {
            child.kill().expect("it runs");
            panic!("{what}: it goes on");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let mut text = String::new();
    child.stdout.take().expect("piped").read_to_string(&mut text).expect("text");
    assert_eq!((status.code(), text.as_str()), (Some(0), "begun\n"), "{what}");
}

const ENGINES: [&[&str]; 6] = [
    &[],
    &["--no-checkpoints"],
    &["--engine", "interpret"],
    &["--engine", "interpret", "--no-checkpoints"],
    &["--workers", "2", "--no-checkpoints"],
    &["--seed", "3"],
];

#[test]
fn a_time_ends_runs_of_every_kind() {
    let folder = Folder::new();
    for engine in ENGINES {
        let arguments = [engine, &["--for", "0.2"]].concat();
        ends(start(&folder, &arguments), &arguments.join(" "));
    }
}

#[test]
fn one_signal_ends_runs_of_every_kind() {
    let folder = Folder::new();
    for engine in ENGINES {
        for signal in ["-TERM", "-INT"] {
            let child = start(&folder, engine);
            // By then it is in the loop, or about to enter it.
            std::thread::sleep(Duration::from_millis(700));
            let id = child.id().to_string();
            let sent = Command::new("kill").args([signal, &id]).status().expect("kill starts");
            assert!(sent.success());
            ends(child, &format!("{signal} {}", engine.join(" ")));
        }
    }
}
