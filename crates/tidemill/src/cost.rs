//! The resources used by this process.

use std::fs;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The user and system time so far.
pub(crate) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    // Neither part is negative.
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The peak memory in use, if the kernel reports it.
pub fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
