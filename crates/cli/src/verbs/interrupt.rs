//! Signals by which the user or the system ends a run.

use std::fs;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::pipe;

use tidemill::run::DRAIN_MAX;

use crate::report::Reporter;
use crate::status::Status;

/// The time for a run to end after a signal, before the process is ended.
const GRACE: Duration = Duration::from_millis(80);

/// The processor time after which the first thread is busy, not waiting for others.
const WORKING: Duration = Duration::from_millis(50);

/// The tick of the kernel's process times, the same on all platforms.
const TICK: Duration = Duration::from_millis(10);

/// The effect of SIGTERM; SIGINT always ends the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnTerminate {
    /// Ends the run as SIGINT does.
    End,
    /// The run completes pending work, then ends.
    Drain,
}

/// Signals that end the run. The second signal ends the process at once.
pub struct Interrupt {
    /// Set by a signal.
    pub requested: Arc<AtomicBool>,
    /// Readable after a signal.
    pub stream: UnixStream,
    /// Readable instead after a SIGTERM that drains.
    pub drain: Option<UnixStream>,
    /// The last signal.
    signal: Arc<AtomicUsize>,
    /// The run has ended by itself.
    over: Arc<AtomicBool>,
}

impl Interrupt {
    /// Installs the handlers.
    pub fn new(on_terminate: OnTerminate) -> io::Result<Interrupt> {
        let (stream, write) = UnixStream::pair()?;
        let (requested, signal) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        // Set by any signal: the next one ends the process.
        let signalled = Arc::new(AtomicBool::new(false));
        let mut drain = None;
        for number in [SIGINT, SIGTERM] {
            flag::register_conditional_default(number, signalled.clone())?;
            flag::register_usize(number, signal.clone(), number as usize)?;
            flag::register(number, signalled.clone())?;
            if number == SIGTERM && on_terminate == OnTerminate::Drain {
                let (read, write) = UnixStream::pair()?;
                pipe::register(number, write)?;
                drain = Some(read);
            } else {
                flag::register(number, requested.clone())?;
                pipe::register(number, write.try_clone()?)?;
            }
        }
        Ok(Interrupt { requested, stream, drain, signal, over: Arc::default() })
    }

    /// Ends the process some 100 ms after a signal if its first thread, which calls this, is still
    /// busy with `work`: for what cannot be interrupted, such as building a large index.
    pub fn insist(&self, work: &'static str, report: Reporter) -> io::Result<()> {
        let (mut signals, write) = UnixStream::pair()?;
        for number in [SIGINT, SIGTERM] {
            pipe::register(number, write.try_clone()?)?;
        }
        let (over, signal) = (self.over.clone(), self.signal.clone());
        let (requested, drains) = (self.requested.clone(), self.drain.is_some());
        let end = move || {
            if !matches!(signals.read(&mut [0]), Ok(1)) {
                return;
            }
            if drains && status_of(&signal) == Status::Terminated {
                let end = Instant::now() + DRAIN_MAX;
                // Acquire, paired with the Release in `over`.
                while !over.load(Ordering::Acquire) && Instant::now() < end {
                    thread::sleep(Duration::from_millis(5));
                }
                // Relaxed: the flag publishes no other data.
                requested.store(true, Ordering::Relaxed);
            }
            let (began, worked) = (Instant::now(), processor_time());
            // Acquire, paired with the Release in `over`: the output of the run has been written.
            while !over.load(Ordering::Acquire) {
                if began.elapsed() >= GRACE && processor_time() >= worked + WORKING {
                    report.error(&format!("interrupted in the middle of {work}"));
                    std::process::exit(status_of(&signal) as i32);
                }
                thread::sleep(Duration::from_millis(5));
            }
        };
        thread::Builder::new().name("interrupt".to_owned()).spawn(end).map(drop)
    }

    /// That work is over: the rest may take as long as it needs.
    pub fn over(&self) {
        self.over.store(true, Ordering::Release);
    }

    /// The status of an interrupted run.
    pub fn status(&self) -> Status {
        status_of(&self.signal)
    }
}

fn status_of(signal: &AtomicUsize) -> Status {
    // Relaxed: the handler stored it before the event that led here.
    match signal.load(Ordering::Relaxed) as i32 {
        SIGTERM => Status::Terminated,
        _ => Status::Interrupted,
    }
}

/// The processor time of the first thread so far, from the kernel.
fn processor_time() -> Duration {
    let path = format!("/proc/self/task/{}/stat", std::process::id());
    let text = fs::read_to_string(path).unwrap_or_default();
    // The name of the process, in parentheses, may contain anything; utime and stime are the 14th
    // and 15th field.
    let fields = text.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let ticks: u32 = fields.skip(11).take(2).filter_map(|field| field.parse::<u32>().ok()).sum();
    TICK * ticks
}
