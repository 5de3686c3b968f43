//! What a search costs the machine.

use std::fs;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// User and system time of the process so far.
pub(super) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    // Neither is negative.
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The most memory that the process has had at once, if the kernel says so.
pub(super) fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes << 10)
}
