//! Two drivers for the same store, with the same clients: one in components over a pore, one native
//! (`outlet`). And a round trip to another process, compared with C: with sides that sleep at once
//! when there is nothing to read, and with sides that poll for a while first; each has a processor
//! of its own, if there are two.
//!
//! The store is on a thread of its own and sleeps at its doorbell. Beside the writers a timer is
//! due every millisecond: a driver that blocks the loop delays it.

use std::cell::Cell;
use std::io::{self, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tidemill::console::{Console, Form};
use tidemill::program::{LoadOptions, Program};
use tidemill::run::{ComponentOptions, Prepared, RunOptions};
use tidemill::tape::Tape;
use tidemill_pore::adaptive_poll::AdaptivePoll;
use tidemill_pore::memfd::{Memfd, Shape};
use tidemill_pore::xenstore::outlet::Outlet;
use tidemill_pore::xenstore::server::{Server, Settings};
use tidemill_pore::xenstore::wire::Type;
use tidemill_pore::{Error, Pore};

use crate::extent::Extent;
use crate::measure::{Measured, measured};
use crate::report::{Better, Report, Row};
use crate::tool;

const DRIVER: &str = include_str!("../../apps/drivers/xenstore.com");
const CLIENTS: &str = include_str!("../cl/pores.com");
/// The parts of the native driver alone, and those shared by all pores.
const OUTLET_NATIVE: [&str; 3] = [
    include_str!("../../crates/pore/src/xenstore/outlet.rs"),
    include_str!("../../crates/tidemill/src/components/system/xenstore/mod.rs"),
    include_str!("../../crates/tidemill/src/components/system/xenstore/outlets.rs"),
];
const PORE_NATIVE: [&str; 5] = [
    include_str!("../../crates/tidemill/src/components/system/pore/mod.rs"),
    include_str!("../../crates/tidemill/src/components/system/pore/client.rs"),
    include_str!("../../crates/tidemill/src/components/system/pore/open.rs"),
    include_str!("../../crates/tidemill/src/components/system/pore/state.rs"),
    include_str!("../../crates/tidemill/src/components/system/pore/wake.rs"),
];
const DRIVERS: [&str; 2] = ["pore", "outlet"];
/// The size of a message in a round trip.
const MESSAGE_BYTES: usize = 64;

/// Measures all of it.
///
/// # Errors
/// A driver fails, or the store has wrong contents.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    lines(report);
    if let Some(seconds) = extent.seconds {
        return endure(seconds, report);
    }
    let (count, runs) = if extent.small { (20, 1) } else { (1000, 25) };
    for writers in [1, 3, 10, 25] {
        for size in [1, 100] {
            compare(&Case { writers, size, count, seconds: 0 }, runs, report)?;
        }
    }
    round_trip(extent, report)
}

#[derive(Clone, Copy, Debug)]
struct Case {
    writers: u64,
    size: u64,
    count: u64,
    seconds: u64,
}

/// One run of one driver.
struct Outcome {
    measured: Measured,
    /// Until the last writer had finished: the end of the concurrent timer comes later.
    wall_s: f64,
    late_ms: f64,
    /// The number of sleeps of the loop per write, and of preemptions.
    sleeps: f64,
    cuts: f64,
    component_bytes: u64,
}

/// Lines of code of each driver, without blank lines, comments and tests.
fn lines(report: &mut Report) {
    let native = |texts: &[&str]| texts.iter().map(|text| code_lines(text)).sum::<usize>();
    let component = component_lines(DRIVER);
    report.note(&format!(
        "lines of code: pore {component} in components, {} native for pores of every kind; \
         outlet 0 in components, {} native for this driver alone",
        native(&PORE_NATIVE),
        native(&OUTLET_NATIVE)
    ));
}

fn code_lines(text: &str) -> usize {
    let code = text.split("#[cfg(test)]").next().unwrap_or(text).lines().map(str::trim);
    code.filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

fn component_lines(text: &str) -> usize {
    let (mut depth, mut count) = (0, 0);
    for line in text.lines().map(str::trim) {
        let outside = depth == 0;
        depth += line.matches("(*").count();
        depth -= line.matches("*)").count().min(depth);
        count += usize::from(outside && !line.is_empty() && !line.starts_with("(*"));
    }
    count
}

/// A folder with a store; both are removed on drop.
struct Store {
    folder: PathBuf,
    _server: Server,
}

impl Store {
    fn new() -> Result<Store, String> {
        let folder = std::env::temp_dir().join(format!("tidemill-pores-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", folder.display());
        std::fs::create_dir_all(&folder).map_err(|error| failed(&error))?;
        let pages = folder.join("pages");
        // The indexes soon pass 2^32.
        let settings = Settings { pages, streams: None, first_index: u32::MAX - 4000, domain: 0 };
        let server = Server::start(settings).map_err(|error| failed(&error))?;
        Ok(Store { folder, _server: server })
    }

    /// Checks what the writers of a case have written.
    fn check(&self, case: &Case) -> Result<(), String> {
        let socket = UnixStream::connect(self.folder.join("pages"));
        let socket = socket.map_err(|error| error.to_string())?;
        let mut outlet = Outlet::page(socket).map_err(|error| error.to_string())?;
        for number in 1..=case.writers {
            let path = format!("/bench/{number}\0");
            let value = outlet.request(Type::Read, 0, path.as_bytes());
            let value = value.map_err(|failure| failure.to_string())?;
            let expected = (0..case.size).map(|i| 97 + ((i + number) % 26) as u8);
            if !expected.eq(value.iter().copied()) {
                return Err(format!("{path}: {} bytes are there, or others", value.len()));
            }
        }
        Ok(())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn one(place: &Store, driver: &str, case: &Case) -> Result<Outcome, String> {
    let text = format!("{DRIVER}\n{CLIENTS}");
    let program = Program::of_text("pores.com", &text, &LoadOptions::default());
    if program.has_errors() {
        return Err(program.diagnostics.iter().map(|one| program.sources.render(one)).collect());
    }
    let Case { writers, size, count, seconds } = *case;
    let numbers = [writers, size, count, seconds].map(|number| number.to_string());
    let words = [driver, "xenstore", "pages"].map(str::to_owned);
    let components = ComponentOptions {
        arguments: words.into_iter().chain(numbers).collect(),
        root: Some(place.folder.clone()),
        ..ComponentOptions::default()
    };
    let options = RunOptions { components, ..RunOptions::default() };
    let prepared = Prepared::new(program, options).map_err(|error| error.to_string())?;
    let (data, notes) = (Tape::default(), Tape::default());
    let err = Box::new(notes.clone());
    let mut ended = None;
    let before = switches()?;
    let (start, first_output) = (Instant::now(), Rc::new(Cell::new(None)));
    let out = Box::new(Stamped { tape: data.clone(), at: first_output.clone() });
    let measured = measured(|| {
        ended = Some(
            prepared.run(Console::new(Form::Text, out, err)).map_err(|error| error.to_string())?,
        );
        let (data, notes) = (data.text(), notes.text());
        data.trim().parse().map_err(|_| format!("{driver}: {data} {notes}"))
    })?;
    let after = switches()?;
    let per_write = |at: usize| (after[at] - before[at]) / measured.result as f64;
    let (sleeps, cuts) = (per_write(0), per_write(1));
    if seconds == 0 && measured.result != writers * count {
        return Err(format!("{driver}: {} writes of {}", measured.result, writers * count));
    }
    place.check(case)?;
    let ended = ended.ok_or("it has not run")?;
    let late_ms = ended.timer_late_max.as_secs_f64() * 1e3;
    let first_output: Instant = first_output.get().ok_or("it has said nothing")?;
    let wall_s = (first_output - start).as_secs_f64();
    let component_bytes = ended.components.map_or(0, |components| components.peak_bytes);
    Ok(Outcome { measured, wall_s, late_ms, sleeps, cuts, component_bytes })
}

/// Writes to a tape, and records when it began.
struct Stamped {
    tape: Tape,
    at: Rc<Cell<Option<Instant>>>,
}

impl Write for Stamped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.at.set(self.at.get().or_else(|| Some(Instant::now())));
        self.tape.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.tape.flush()
    }
}

/// The number of voluntary and involuntary context switches of this thread.
fn switches() -> Result<[f64; 2], String> {
    let text = std::fs::read_to_string("/proc/thread-self/status");
    let text = text.map_err(|error| format!("/proc/thread-self/status: {error}"))?;
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let value = line.and_then(|line| line.trim().parse().ok());
        value.ok_or_else(|| format!("/proc/thread-self/status has no {name}"))
    };
    Ok([value("voluntary_ctxt_switches:")?, value("nonvoluntary_ctxt_switches:")?])
}

fn compare(case: &Case, runs: usize, report: &mut Report) -> Result<(), String> {
    let place = Store::new()?;
    let mut outcomes: [Vec<Outcome>; 2] = Default::default();
    for _ in 0..runs {
        for (driver, outcomes) in DRIVERS.into_iter().zip(&mut outcomes) {
            outcomes.push(one(&place, driver, case)?);
        }
    }
    let name = format!("{}x{}", case.writers, case.size);
    let row = |driver: usize, metric, unit, figure: fn(&Outcome) -> f64| {
        let figures = outcomes[driver].iter().map(figure).collect();
        let who = if driver == 0 { "tidemill" } else { "outlet" };
        Row::median("pores", &name, who, (metric, unit), figures)
    };
    let wall = [0, 1].map(|at| row(at, "wall_ms", "ms", |one| one.wall_s * 1e3));
    report.case(&wall, Better::Low);
    let percent = (wall[1].value - wall[0].value) / wall[1].value * 100.0;
    report.row(&wall[0].with(("difference", "%"), percent));
    // The spread of single pairs of runs.
    let pairs = outcomes[0]
        .iter()
        .zip(&outcomes[1])
        .map(|(pore, outlet)| (1.0 - pore.wall_s / outlet.wall_s) * 100.0);
    let (least, most) = pairs.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), one| {
        (one.min(least), one.max(most))
    });
    for (metric, value) in [("difference_min", least), ("difference_max", most)] {
        report.row(&wall[0].with((metric, "%"), value));
    }
    for (metric, unit, figure) in [
        ("cpu_s", "s", (|one| one.measured.cpu_s) as fn(&Outcome) -> f64),
        ("timer_late_ms", "ms", |one| one.late_ms),
        ("sleeps_per_write", "", |one| one.sleeps),
        ("cuts_per_write", "", |one| one.cuts),
    ] {
        for driver in [0, 1] {
            report.row(&row(driver, metric, unit, figure));
        }
    }
    Ok(())
}

/// Many writers for long: reports the course of memory. Also the lateness of a thread that only
/// sleeps, which is that of the machine itself.
fn endure(seconds: u64, report: &mut Report) -> Result<(), String> {
    let place = Store::new()?;
    let short = Case { writers: 25, size: 100, count: 1000, seconds: 1 };
    for case in [short, Case { seconds, ..short }] {
        let sleeper = Sleeper::start()?;
        let outcome = one(&place, "pore", &case)?;
        let bare = sleeper.stop();
        let name = format!("25x100 for {} s", case.seconds);
        let row = |who: &str, metric, value, unit| {
            Row::new("pores", &name, who, (metric, unit), (value, 1))
        };
        let rate = outcome.measured.result as f64 / outcome.wall_s;
        report.row(&row("tidemill", "per_s", rate, "1/s"));
        report.row(&row("tidemill", "peak_bytes", outcome.component_bytes as f64, "bytes"));
        report.row(&row("tidemill", "resident_bytes", outcome.measured.peak_bytes, "bytes"));
        report.row(&row("tidemill", "timer_late_ms", outcome.late_ms, "ms"));
        report.row(&row("thread", "timer_late_ms", bare.as_secs_f64() * 1e3, "ms"));
    }
    Ok(())
}

/// A thread that sleeps a millisecond at a time, and records by how much it was late.
struct Sleeper {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Duration>,
}

impl Sleeper {
    fn start() -> Result<Sleeper, String> {
        let stop = Arc::new(AtomicBool::new(false));
        let theirs = stop.clone();
        let thread = std::thread::Builder::new().name("sleeper".to_owned());
        let thread = thread.spawn(move || {
            let (span, mut late_max) = (Duration::from_millis(1), Duration::ZERO);
            while !theirs.load(Ordering::Relaxed) {
                let start = Instant::now();
                std::thread::sleep(span);
                late_max = late_max.max(start.elapsed().saturating_sub(span));
            }
            late_max
        });
        Ok(Sleeper { stop, thread: thread.map_err(|error| error.to_string())? })
    }

    fn stop(self) -> Duration {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

/// A round trip to another process, with ours or C on our side.
fn round_trip(extent: Extent, report: &mut Report) -> Result<(), String> {
    let peer = match extent.peers.then(build_peer) {
        Some(Ok(peer)) => peer,
        Some(Err(reason)) => {
            report.note(&format!("c: absent: {reason}"));
            return Ok(());
        }
        None => return Ok(()),
    };
    let (count, runs) = if extent.small { (1000, 1) } else { (100_000, 7) };
    for waiting in [Waiting::Asleep, Waiting::Polling] {
        let mut figures: [Vec<f64>; 2] = Default::default();
        for _ in 0..runs {
            figures[0].push(ours(&peer, count, waiting)?);
            let words = ["both", &count.to_string(), waiting.peer_ns()];
            let printed = tool::stdout_of(Command::new(&peer).args(words), "c")?;
            let text = printed.trim();
            figures[1].push(text.parse().map_err(|_| format!("c says `{text}`"))?);
        }
        let case = match waiting {
            Waiting::Asleep => "round-trip",
            Waiting::Polling => "round-trip-polled",
        };
        let rows: Vec<Row> = ["tidemill", "c"]
            .into_iter()
            .zip(figures)
            .map(|(who, figures)| Row::median("pores", case, who, ("ns", "ns"), figures))
            .collect();
        report.case(&rows, Better::Low);
    }
    Ok(())
}

/// How both sides of a round trip wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// They sleep at once, and are woken by a ring.
    Asleep,
    /// They poll for a while, then sleep.
    Polling,
}

impl Waiting {
    /// The poll time of the side in C: the maximum of ours.
    fn peer_ns(self) -> &'static str {
        match self {
            Waiting::Asleep => "0",
            Waiting::Polling => "200000",
        }
    }
}

fn build_peer() -> Result<PathBuf, String> {
    let program = tool::target("c")?.join("roundtrip");
    tool::cc(&program, "c/roundtrip.c", &[]).map(|()| program)
}

/// A child process that is killed on drop.
struct Echo(Child);

impl Drop for Echo {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Nanoseconds of a round trip with our side here and C on the other.
fn ours(peer: &Path, count: u64, waiting: Waiting) -> Result<f64, String> {
    let failed = |error: &dyn std::fmt::Display| format!("round trip: {error}");
    let path = std::env::temp_dir().join(format!("tidemill-echo-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).map_err(|error| failed(&error))?;
    let echo = Command::new(peer).arg("echo").arg(&path).arg(waiting.peer_ns()).spawn();
    let _echo = Echo(echo.map_err(|error| failed(&error))?);
    let (socket, _) = listener.accept().map_err(|error| failed(&error))?;
    let _ = std::fs::remove_file(&path);
    let pore = Memfd::offer_to(socket, Shape::Bytes, 4096).map_err(|error| failed(&error))?;
    // In a thread, so that later work is not pinned to one processor.
    let round_trips = || {
        keep_to_the_first()?;
        let start = Instant::now();
        round_trips(pore, count, waiting)?;
        Ok::<_, Error>(start.elapsed())
    };
    let took = std::thread::scope(|scope| scope.spawn(round_trips).join());
    let took = took.map_err(|_| failed(&"it panicked"))?.map_err(|error| failed(&error))?;
    Ok(took.as_nanos() as f64 / count as f64)
}

/// Pins this thread to the first of its processors, if there are two: the other side has the
/// second. See `roundtrip.c`.
fn keep_to_the_first() -> io::Result<()> {
    let all = sched_getaffinity(None)?;
    let first = (0..CpuSet::MAX_CPU).find(|&at| all.is_set(at));
    if let (2.., Some(first)) = (all.count(), first) {
        let mut one = CpuSet::new();
        one.set(first);
        sched_setaffinity(None, &one)?;
    }
    Ok(())
}

fn round_trips(mut pore: Memfd, count: u64, waiting: Waiting) -> Result<(), Error> {
    let (mut message, mut answer) = ([0u8; MESSAGE_BYTES], Vec::new());
    let mut policy = AdaptivePoll::default();
    for i in 0..count {
        message[0] = i as u8;
        pore.write(&message)?;
        if pore.is_ring_due() {
            pore.ring()?;
        }
        answer.clear();
        if waiting == Waiting::Polling {
            pore.wait(&mut policy)?;
        }
        while pore.read(MESSAGE_BYTES - answer.len(), &mut answer)? == 0 {
            pore.sleep()?;
        }
        if answer != message {
            return Err(Error::BadOffer("another answer"));
        }
    }
    Ok(())
}
