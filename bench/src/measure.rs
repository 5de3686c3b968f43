//! Measures a part of a run in this process: CPU and wall time, and the increase of memory.

use std::fs;
use std::time::Instant;

use crate::clock::cpu_seconds;

/// The cost of one run, and its result.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// User and system time of all threads.
    pub cpu_s: f64,
    pub wall_s: f64,
    /// The peak of resident memory, above the initial value.
    pub peak_bytes: f64,
    /// The result: hops, a sum, a count.
    pub result: u64,
}

/// Measures this work.
///
/// # Errors
/// Those of the work, or the kernel does not report memory.
pub fn measured(work: impl FnOnce() -> Result<u64, String>) -> Result<Measured, String> {
    // Resets the peak; where that is not permitted, it is that of the whole process.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let before = memory("VmRSS:")?;
    let wall = Instant::now();
    let (cpu_s, result) = cpu_seconds(work);
    let wall_s = wall.elapsed().as_secs_f64();
    let peak_bytes = memory("VmHWM:")? - before;
    Ok(Measured { cpu_s, wall_s, peak_bytes, result: result? })
}

/// A line of the process's status, in bytes.
fn memory(field: &str) -> Result<f64, String> {
    kilobytes("/proc/self/status", field)
}

/// The memory available to programs, in bytes.
pub fn available() -> Result<f64, String> {
    kilobytes("/proc/meminfo", "MemAvailable:")
}

fn kilobytes(file: &str, field: &str) -> Result<f64, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(field)?.split_whitespace().next()?.parse::<f64>().ok());
    value.map(|value| value * 1024.0).ok_or_else(|| format!("{file} has no {field}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_was_touched_and_freed_is_in_the_peak() {
        let bytes = 64 << 20;
        let one = measured(|| {
            let block = vec![1u8; std::hint::black_box(bytes)];
            Ok(std::hint::black_box(&block).iter().map(|&byte| u64::from(byte)).sum())
        });
        let one = one.expect("measured");
        assert_eq!(one.result, bytes as u64);
        assert!(one.peak_bytes > 0.8 * bytes as f64, "{one:?}");
        assert!(one.cpu_s > 0.0 && one.wall_s > 0.0, "{one:?}");
    }
}
