//! The wish of the user or the system that the run ends.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::pipe;

use crate::Status;

/// How long a run may go on after a signal before it is ended from outside.
const PATIENCE: Duration = Duration::from_millis(80);

/// Processor time of the first thread after which it is working, and not waiting for others.
const WORKING: Duration = Duration::from_millis(50);

/// A tick of the times that the kernel tells; it is the same on all of its platforms.
const TICK: Duration = Duration::from_millis(10);

/// The wish that the run ends. Who asks twice ends it at once, whatever it does.
pub struct Interrupt {
    /// Becomes true.
    pub asked: Arc<AtomicBool>,
    /// Becomes readable.
    pub stream: UnixStream,
    /// The signal.
    signal: Arc<AtomicUsize>,
    /// The run has come to its end by itself.
    over: Arc<AtomicBool>,
}

impl Interrupt {
    /// From now on.
    pub fn new() -> io::Result<Interrupt> {
        let (stream, write) = UnixStream::pair()?;
        let (asked, signal) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        for number in [SIGINT, SIGTERM] {
            flag::register_conditional_default(number, asked.clone())?;
            flag::register_usize(number, signal.clone(), number as usize)?;
            flag::register(number, asked.clone())?;
            pipe::register(number, write.try_clone()?)?;
        }
        Ok(Interrupt { asked, stream, signal, over: Arc::default() })
    }

    /// Ends the process some 100 ms after a signal if its first thread, on which this is called,
    /// works on: for what cannot be interrupted, such as the building of a large index.
    pub fn insist(&self) -> io::Result<()> {
        let (mut told, write) = UnixStream::pair()?;
        for number in [SIGINT, SIGTERM] {
            pipe::register(number, write.try_clone()?)?;
        }
        let (over, signal) = (self.over.clone(), self.signal.clone());
        let end = move || {
            if !matches!(told.read(&mut [0]), Ok(1)) {
                return;
            }
            let (began, worked) = (Instant::now(), processor_time());
            // Acquire, with the Release of `over`: what the run has written is written.
            while !over.load(Ordering::Acquire) {
                if began.elapsed() >= PATIENCE && processor_time() >= worked + WORKING {
                    let note = "tidemill: interrupted in the middle of a turn\n";
                    // If standard error is gone there is nobody to tell.
                    let _ = io::stderr().write_all(note.as_bytes());
                    std::process::exit(status_of(&signal) as i32);
                }
                thread::sleep(Duration::from_millis(5));
            }
        };
        thread::Builder::new().name("interrupt".to_owned()).spawn(end).map(drop)
    }

    /// The run is over: what is left to do may take as long as it needs.
    pub fn over(&self) {
        self.over.store(true, Ordering::Release);
    }

    /// How an interrupted run ends.
    pub fn status(&self) -> Status {
        status_of(&self.signal)
    }
}

fn status_of(signal: &AtomicUsize) -> Status {
    // Relaxed: written by a handler before anything that led here.
    match signal.load(Ordering::Relaxed) as i32 {
        SIGTERM => Status::Terminated,
        _ => Status::Interrupted,
    }
}

/// The processor time of the first thread so far, as the kernel counts it.
fn processor_time() -> Duration {
    let path = format!("/proc/self/task/{}/stat", std::process::id());
    let text = fs::read_to_string(path).unwrap_or_default();
    // The name of the process, in parentheses, may hold anything; utime and stime are the 14th
    // and 15th field.
    let fields = text.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let ticks: u32 = fields.skip(11).take(2).filter_map(|field| field.parse::<u32>().ok()).sum();
    TICK * ticks
}
