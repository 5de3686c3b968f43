//! Nodes that are processes of the command.

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::ops::Range;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tidemill_stat::Snapshot;

use super::{Folder, tidemill};

/// A running process, which is killed when the test ends or panics.
pub struct Running {
    pub child: Child,
    /// The file of its output.
    pub out: String,
    /// The file of its log.
    pub log: String,
    base: std::path::PathBuf,
}

impl Running {
    /// Starts `tidemill run`; its counters and output go to the folder.
    pub fn start(folder: &Folder, name: &str, arguments: &[&str]) -> Running {
        let out = folder.file(name, "");
        let log = folder.file(&format!("{name}.log"), "");
        let [file, notes] = [&out, &log].map(|path| fs::File::create(path).expect("a file"));
        let mut command: Command = tidemill();
        command.arg("run").args(arguments).env("XDG_RUNTIME_DIR", folder.path());
        command.stdin(Stdio::null()).stdout(file).stderr(notes);
        let child = command.spawn().expect("the program starts");
        Running { child, out, log, base: folder.path().join("tidemill") }
    }

    /// The number of printed lines.
    pub fn lines(&self) -> usize {
        fs::read(&self.out).map_or(0, |bytes| bytes.iter().filter(|&&byte| byte == b'\n').count())
    }

    /// The number of occurrences of a text in its log.
    pub fn logged(&self, text: &str) -> usize {
        fs::read_to_string(&self.log).map_or(0, |log| log.matches(text).count())
    }

    /// The addresses of its nodes, once `count` have started.
    pub fn addresses(&self, count: usize) -> Vec<String> {
        let started = || {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            let address = |node: usize| {
                let line = log.lines().find_map(|line| line.strip_prefix(&format!("{node} ")));
                line.map(str::to_owned)
            };
            (0..count).map_while(address).collect::<Vec<String>>()
        };
        wait_until("the nodes start", || started().len() == count);
        started()
    }

    /// Resident memory, in KiB.
    pub fn resident_kib(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let text = fs::read_to_string(path).expect("it runs");
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
        line.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number")
    }

    /// The sum of all counters whose names have this ending.
    pub fn counter(&self, ending: &str) -> u64 {
        let Ok(snapshot) = Snapshot::open_in(&self.base, self.child.id()) else { return 0 };
        let named = snapshot.counters.iter().filter(|(name, _)| name.ends_with(ending));
        named.map(|(_, value)| value).sum()
    }

    /// Sends a signal, by its name.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status();
        assert!(status.is_ok_and(|status| status.success()), "kill -s {name}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ports below the ephemeral range: no client of another test has one.
const PORTS: Range<u32> = 16_384..32_768;

/// Addresses whose ports were free a moment ago, for datagrams and for connections. Two calls in a
/// process return the same only after all have been used.
pub fn free_addresses(count: usize) -> Vec<String> {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    let next = || {
        // Concurrent processes start far apart.
        let at = std::process::id().wrapping_mul(641);
        let at = at.wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed));
        format!("127.0.0.1:{}", PORTS.start + at % (PORTS.end - PORTS.start))
    };
    let is_free = |at: &String| {
        UdpSocket::bind(at.as_str()).is_ok() && TcpListener::bind(at.as_str()).is_ok()
    };
    std::iter::repeat_with(next).filter(is_free).take(count).collect()
}

/// Waits until a condition holds, at most half a minute.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) -> Duration {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "timed out waiting until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
    began.elapsed()
}

/// The duration of tests with a variable length: `SOAK_SECONDS`, set by `cargo xtask soak`.
pub fn seconds() -> Option<u64> {
    tidemill_support::variable("SOAK_SECONDS")
}
