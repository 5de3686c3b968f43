//! The measured part of a run in this process: CPU and wall time, and how far memory rose.

use std::fs;
use std::time::Instant;

use crate::clock::cpu_seconds;

/// What one run took, and what it came to.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// User and system time of all threads.
    pub cpu_s: f64,
    pub wall_s: f64,
    /// The most memory that was resident at once, above what was when it began.
    pub peak_bytes: f64,
    /// Hops, a sum, a count.
    pub result: u64,
}

/// Measures this work.
///
/// # Errors
/// What the work says, or that the kernel tells nothing of memory.
pub fn measured(work: impl FnOnce() -> Result<u64, String>) -> Result<Measured, String> {
    // The peak starts anew; where that is not allowed, it is the peak of the process.
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

/// Memory that programs can still have, in bytes.
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
