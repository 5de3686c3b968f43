//! CPU time of the process, which does not depend on other processes.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// User and system time of all threads so far.
pub fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The CPU seconds of `work`, and its result.
pub fn cpu_seconds<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = cpu_time();
    let result = work();
    ((cpu_time() - start).as_secs_f64(), result)
}

/// The median of the figures.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
