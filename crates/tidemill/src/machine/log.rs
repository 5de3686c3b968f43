//! The last lines of the log, with the times of their turns, for `sys::log`.

use std::collections::VecDeque;

use tidemill_stdx::log::{self, LogLine, TAIL_LINES};

/// Lines with their times, in ns since the epoch.
#[derive(Default)]
pub(super) struct Log {
    lines: VecDeque<(i64, LogLine)>,
    /// The number of the last line read.
    last: u64,
}

impl Log {
    /// Reads the lines written since the last call, at this time. Without any, costs one
    /// comparison.
    pub(super) fn read(&mut self, wall_ns: i64) {
        if log::last_line() == self.last {
            return;
        }
        let (lines, last) = log::lines_after(self.last);
        self.last = last;
        self.lines.extend(lines.into_iter().map(|line| (wall_ns, line)));
        let over = self.lines.len().saturating_sub(TAIL_LINES);
        self.lines.drain(..over);
    }

    /// The lines, oldest first.
    pub(super) fn lines(&self) -> impl Iterator<Item = &(i64, LogLine)> {
        self.lines.iter()
    }
}
