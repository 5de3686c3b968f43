//! CPU time of the process, which does not depend on other processes.

/// User and system time of all threads so far.
pub use tidemill_support::cpu::of_process as cpu_time;

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
