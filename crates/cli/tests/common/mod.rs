//! Shared helpers for the tests of the command.
#![allow(dead_code)]

pub mod device;
pub mod example;
pub mod node;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use tidemill_apps::capture::{CaptureWriter, Format};
pub use tidemill_support::root;

/// The command.
pub fn tidemill() -> Command {
    Command::new(env!("CARGO_BIN_EXE_tidemill"))
}

/// Reports on standard error that a test is skipped, why, and how many have been so far; not
/// through the macros, whose output the harness captures.
pub fn skipped(what: &str, reason: &str) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
    let _ = writeln!(std::io::stderr(), "skipped ({count} in all so far): {what}: {reason}");
}

/// The README, the book, and the pages of the examples, sorted.
pub fn all_pages() -> Vec<PathBuf> {
    let mut all = vec![root().join("README.md")];
    pages(&root().join("docs"), &mut all);
    pages(&root().join("examples"), &mut all);
    all.sort();
    all
}

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
}

/// Runs the command with arguments separated by blanks.
pub fn run(arguments: &str) -> Output {
    tidemill().args(arguments.split_whitespace()).output().expect("the command starts")
}

/// The exit status, which must not be a signal.
pub fn status(output: &Output) -> i32 {
    output.status.code().expect("no signal")
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

/// A folder that is removed after the test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tidemill-test-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    /// Writes a file; returns its path as text.
    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.to_str().expect("text").to_owned()
    }

    /// Writes a capture of one packet.
    pub fn capture(&self, name: &str, time_ns: i64, packet: &[u8]) -> PathBuf {
        let path = self.path().join(name);
        let file = std::fs::File::create(&path).expect("a file");
        let mut writer = CaptureWriter::new(file, Format::Pcap).expect("written");
        writer.write(time_ns, packet, packet.len() as u32).expect("written");
        path
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Each node pings the landmark once a second.
pub const PING: &str = "\
materialize(pongs, infinity, 1, keys(1)).
pongs(NODE, 0).
p1 ping(@Peer, Node, E) :- periodic(@Node, E, 1), Peer := LANDMARK.
p2 pong(@Node, E) :- ping(@Peer, Node, E).
p3 pongs(@Node, Count + 1) :- pong(@Node, _), pongs(@Node, Count).
watchmod(pongs, \"i\").
watchmod(ping, \"s\").
";
