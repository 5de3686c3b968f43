//! Nodes that are processes of the command.

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::ops::Range;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tidemill_stat::Snapshot;

use super::{Folder, tidemill};

/// A running process, killed when the test ends, however it ends.
pub struct Running {
    pub child: Child,
    /// What it prints.
    pub out: String,
    /// What it logs.
    pub log: String,
    base: std::path::PathBuf,
}

impl Running {
    /// Starts `tidemill run`; its counters and what it prints go to the folder.
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

    /// Lines that it has printed.
    pub fn lines(&self) -> usize {
        fs::read(&self.out).map_or(0, |bytes| bytes.iter().filter(|&&byte| byte == b'\n').count())
    }

    /// How often a text is in its log.
    pub fn logged(&self, text: &str) -> usize {
        fs::read_to_string(&self.log).map_or(0, |log| log.matches(text).count())
    }

    /// The addresses of its nodes, once so many have started.
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

    /// Memory that is resident, in KiB.
    pub fn resident_kib(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let text = fs::read_to_string(path).expect("it runs");
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
        line.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number")
    }

    /// The sum of all counters whose names end like this.
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

/// Ports below those that the system gives to who asks for any: no client of another test has one.
const PORTS: Range<u32> = 16_384..32_768;

/// Addresses whose ports were free a moment ago, for datagrams and for connections. No two calls of
/// a process give the same before all have been given.
pub fn free_addresses(count: usize) -> Vec<String> {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    let next = || {
        // Processes that run side by side begin far from each other.
        let at = std::process::id().wrapping_mul(641);
        let at = at.wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed));
        format!("127.0.0.1:{}", PORTS.start + at % (PORTS.end - PORTS.start))
    };
    let is_free = |at: &String| {
        UdpSocket::bind(at.as_str()).is_ok() && TcpListener::bind(at.as_str()).is_ok()
    };
    std::iter::repeat_with(next).filter(is_free).take(count).collect()
}

/// Waits until something is so, at most half a minute.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) -> Duration {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
    began.elapsed()
}

/// For how long a test that may last is to last: `SOAK_SECONDS`, set by `cargo xtask soak`.
pub fn seconds() -> Option<u64> {
    std::env::var("SOAK_SECONDS").ok()?.parse().ok()
}
