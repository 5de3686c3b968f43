//! Forwarders: graphs of ours, and C.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tidemill::program::{LoadOptions, Program};
use tidemill::run::{Prepared, RunOptions};
use tidemill::tape::taped;
use tidemill_stat::Registry;

use super::lab::{FAR, Lab, NEAR, enter};
use super::sender::pin;

/// The CPU of forwarders.
const CPU: usize = 1;

/// What is done with a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    Bridge,
    Nat,
}

/// The kind of device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Many frames in a system call.
    Calls,
    /// A packet ring with blocks.
    Ring,
    Xdp,
}

impl Way {
    pub const ALL: [Way; 3] = [Way::Calls, Way::Ring, Way::Xdp];

    pub fn name(self) -> &'static str {
        match self {
            Way::Calls => "mmsg",
            Way::Ring => "ring",
            Way::Xdp => "xdp",
        }
    }

    fn app(self, device: &str) -> String {
        match self {
            Way::Calls => format!("RawSocket {{ interface: \"{device}\" }}"),
            Way::Ring => format!("RawSocket {{ interface: \"{device}\", block_ms: 1 }}"),
            Way::Xdp => format!("XdpSocket {{ interface: \"{device}\" }}"),
        }
    }
}

/// A contender.
pub enum Forwarder<'a> {
    Ours { way: Way, work: Work },
    C { program: &'a Path, way: Way, work: Work },
}

/// A forwarder that runs.
pub enum Running {
    /// On a thread of its own: its number, what stops it, and the counters.
    Thread {
        id: i32,
        stop: UnixStream,
        registry: Registry,
        thread: JoinHandle<Result<(), String>>,
    },
    Process(Child),
}

impl Forwarder<'_> {
    /// Starts it.
    ///
    /// # Errors
    /// It does not start.
    pub fn start(&self, lab: &Lab) -> Result<Running, String> {
        match self {
            Forwarder::Ours { way, work } => start(graph(*way, *work), lab),
            Forwarder::C { program, way, work } => {
                let work = if *work == Work::Nat { "nat" } else { "bridge" };
                let mut command = Command::new("ip");
                command.args(["netns", "exec", &lab.forwarder(), "taskset", "-c"]);
                command.arg(CPU.to_string()).arg(program).args([way.name(), work, NEAR, FAR]);
                let child = command.stdout(Stdio::piped()).spawn();
                let mut child = child.map_err(|error| format!("ip: {error}"))?;
                let mut line = [0; 6];
                let out = child.stdout.as_mut().ok_or("no output")?;
                out.read_exact(&mut line).map_err(|_| "it does not start")?;
                Ok(Running::Process(child))
            }
        }
    }
}

fn graph(way: Way, work: Work) -> String {
    let (near, far) = (way.app(NEAR), way.app(FAR));
    let links = match work {
        Work::Bridge => "near -> far\nfar -> near",
        Work::Nat => {
            "nat :: Nat44 { address: \"192.0.2.1\" }
             near -> nat.inside\nnat.outside -> far
             far -> nat.outside\nnat.inside -> near"
        }
    };
    format!("near :: {near}\nfar :: {far}\n{links}\n")
}

/// Runs a graph on a thread of its own.
fn start(graph: String, lab: &Lab) -> Result<Running, String> {
    let space = lab.forwarder();
    let (stop, stopped) = UnixStream::pair().map_err(|error| error.to_string())?;
    let (started, starts) = mpsc::channel();
    let registry = Registry::in_memory();
    let counters = registry.clone();
    let run = move || {
        enter(&space)?;
        pin(CPU);
        let program = Program::of_text("forward.flow", &graph, &LoadOptions::default());
        if let Some(first) = program.diagnostics.first().filter(|_| program.has_errors()) {
            return Err(program.sources.render(first));
        }
        let options =
            RunOptions { stop: Some(stopped.into()), registry: counters, ..RunOptions::default() };
        let prepared = Prepared::new(program, options).map_err(|error| error.to_string())?;
        let _ = started.send(rustix::thread::gettid().as_raw_nonzero().get());
        let (console, _, notes) = taped();
        let report = prepared.run(console).map_err(|error| error.to_string())?;
        if report.is_well() { Ok(()) } else { Err(notes.text()) }
    };
    let thread = thread::spawn(run);
    match starts.recv_timeout(Duration::from_secs(20)) {
        Ok(id) => Ok(Running::Thread { id, stop, registry, thread }),
        Err(_) => Err(match thread.join() {
            Ok(Err(what)) => what,
            _ => "it does not start".to_owned(),
        }),
    }
}

impl Running {
    /// CPU seconds so far, of it and of what the kernel does on its CPU beside it.
    ///
    /// # Errors
    /// It has ended.
    pub fn cpu_s(&self) -> Result<f64, String> {
        let own = match self {
            Running::Thread { id, .. } => run_ns(&format!("/proc/self/task/{id}"))?,
            Running::Process(child) => run_ns(&format!("/proc/{}", child.id()))?,
        };
        let kernel = kernel_thread(&format!("ksoftirqd/{CPU}"));
        Ok((own + kernel.map_or(Ok(0), |path| run_ns(&path))?) as f64 / 1e9)
    }

    /// Frames that the counters say were not forwarded, since the start; none for C.
    pub fn counted_losses(&self) -> Option<u64> {
        let Running::Thread { registry, .. } = self else { return None };
        // They are published while packets move, and some time after.
        thread::sleep(Duration::from_millis(300));
        let lost = |name: &str| {
            name.ends_with("/drops") || name.contains("/drop_") || name.ends_with("kernel_drops")
        };
        Some(registry.counters("").iter().filter(|(name, _)| lost(name)).map(|(_, n)| n).sum())
    }

    /// Ends it.
    ///
    /// # Errors
    /// It has not run well.
    pub fn stop(self) -> Result<(), String> {
        match self {
            Running::Thread { stop, thread, .. } => {
                drop(stop);
                thread.join().map_err(|_| "it panics".to_owned())?
            }
            Running::Process(mut child) => {
                let pid = Pid::from_child(&child);
                kill_process(pid, Signal::TERM).map_err(|error| error.to_string())?;
                let mut line = String::new();
                let out = child.stdout.take().ok_or("no output")?;
                BufReader::new(out).read_line(&mut line).map_err(|error| error.to_string())?;
                let status = child.wait().map_err(|error| error.to_string())?;
                if status.success() { Ok(()) } else { Err(format!("it ends with {status}")) }
            }
        }
    }
}

/// The time that a thread has run, in nanoseconds.
fn run_ns(folder: &str) -> Result<u64, String> {
    let path = format!("{folder}/schedstat");
    let text = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let first = text.split_whitespace().next().and_then(|word| word.parse().ok());
    first.ok_or_else(|| format!("{path}: `{text}`"))
}

/// The folder of a thread of the kernel, if it can be seen.
fn kernel_thread(name: &str) -> Option<String> {
    let entries = fs::read_dir("/proc").ok()?.flatten();
    let mut folders = entries.map(|entry| entry.path());
    let is = |path: &std::path::PathBuf| {
        fs::read_to_string(path.join("comm")).is_ok_and(|text| text.trim() == name)
    };
    folders.find(is).map(|path| path.display().to_string())
}
