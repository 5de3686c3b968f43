//! CPU time, for tests of what work costs: what others take of the machine does not count.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// That of the calling thread, since some start.
pub fn of_thread() -> Duration {
    of(ClockId::ThreadCPUTime)
}

/// That of all threads of the process, since some start.
pub fn of_process() -> Duration {
    of(ClockId::ProcessCPUTime)
}

fn of(clock: ClockId) -> Duration {
    Duration::try_from(clock_gettime(clock)).expect("CPU time is not negative")
}
