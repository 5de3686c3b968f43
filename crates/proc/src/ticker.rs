//! What sets the flag when a slice is over, where slices are spans of time.
//!
//! Checkpoints test a byte, which has to be set while the loop is busy running a process. A signal
//! would do, but signals belong to the whole OS process and interrupt other system calls, and
//! reading the clock at checkpoints would dominate a hot loop. So **this is a thread**: the only
//! way left. It ticks only while a slice runs: when it has found nothing running for a few ticks
//! it parks until the next slice begins. A host whose slices are counts, as a simulation's are, has
//! none.
//!
//! The thread shares two words with the loop, `running` and `parked`. `running` is written by the
//! loop before each slice (`Release`, with the thread's `Acquire`) and cleared after it. `parked`
//! is set by the thread before its last read of `running`, and read by the loop after it has set
//! `running` (both `SeqCst`: one of the two sees the other).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

/// Ticks without a slice before the thread parks.
const IDLE_TICKS: u32 = 4;

struct Shared {
    /// The number of the slice that runs, 0 between slices.
    running: AtomicU64,
    parked: AtomicBool,
    stop: AtomicBool,
}

/// The address of a worker's flag.
struct Flag(*const AtomicU8);

// SAFETY: the flag is atomic, and the ticker, which ends its thread when dropped, does not outlive
// the worker: both are in one `Runner`, the ticker first.
unsafe impl Send for Flag {}

/// Sets a flag when a slice has run for a span.
pub(crate) struct Ticker {
    shared: Arc<Shared>,
    slices: u64,
    thread: Option<JoinHandle<()>>,
    handle: Option<Thread>,
}

impl Ticker {
    /// A ticker for a flag, which has to outlive it.
    pub(crate) fn new(flag: *const AtomicU8, span: Duration) -> std::io::Result<Ticker> {
        let shared = Arc::new(Shared {
            running: AtomicU64::new(0),
            parked: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        });
        let (flag, theirs) = (Flag(flag), shared.clone());
        let builder = std::thread::Builder::new().name("slices".to_owned());
        let thread = builder.spawn(move || tick(&flag, &theirs, span))?;
        let handle = Some(thread.thread().clone());
        Ok(Ticker { shared, slices: 0, thread: Some(thread), handle })
    }

    /// A slice begins.
    pub(crate) fn begin(&mut self) {
        self.slices += 1;
        self.shared.running.store(self.slices, Ordering::SeqCst);
        if self.shared.parked.load(Ordering::SeqCst)
            && let Some(handle) = &self.handle
        {
            handle.unpark();
        }
    }

    /// The slice is over.
    pub(crate) fn end(&mut self) {
        self.shared.running.store(0, Ordering::Release);
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        if let Some(handle) = &self.handle {
            handle.unpark();
        }
        if let Some(thread) = self.thread.take() {
            // It cannot have panicked.
            let _ = thread.join();
        }
    }
}

/// A slice is cut off at the second tick it sees: after one span at least, two at most.
fn tick(flag: &Flag, shared: &Shared, span: Duration) {
    let (mut seen, mut idle) = (0, 0);
    while !shared.stop.load(Ordering::SeqCst) {
        let running = shared.running.load(Ordering::Acquire);
        if running != 0 && running == seen {
            // SAFETY: the flag outlives the ticker, see `Flag`.
            unsafe { (*flag.0).store(1, Ordering::Relaxed) };
        }
        seen = running;
        idle = if running == 0 { idle + 1 } else { 0 };
        if idle > IDLE_TICKS {
            park(shared);
            idle = 0;
        }
        // Not a sleep: it would delay the end of the worker.
        std::thread::park_timeout(span);
    }
}

/// Waits for the next slice.
fn park(shared: &Shared) {
    shared.parked.store(true, Ordering::SeqCst);
    while shared.running.load(Ordering::SeqCst) == 0 && !shared.stop.load(Ordering::SeqCst) {
        std::thread::park();
    }
    shared.parked.store(false, Ordering::SeqCst);
}
