//! The last lines of the log, for readers inside the program.
//!
//! Lines are numbered from 1. A reader keeps the number of the last line that it has seen and reads
//! those [after](lines_after) it; checking whether there are any costs one load.

use super::Level;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Lines that are kept.
pub const TAIL_LINES: usize = 256;

/// A line that was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogLine {
    /// The level.
    pub level: Level,
    /// The topic.
    pub topic: String,
    /// The file that logged it.
    pub file: String,
    /// The line in that file.
    pub line: u32,
    /// The text with its fields.
    pub text: String,
}

/// The log is the process's, and so are its last lines; the lock is held for a copy.
static LINES: Mutex<VecDeque<LogLine>> = Mutex::new(VecDeque::new());

/// The number of lines so far. Written under the lock of [`LINES`], so Relaxed: a reader of a new
/// number takes the lock to read the line.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// Keeps a line.
pub(super) fn keep(line: LogLine) {
    let mut lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    if lines.len() == TAIL_LINES {
        lines.pop_front();
    }
    lines.push_back(line);
    COUNT.fetch_add(1, Ordering::Relaxed);
}

/// The number of the last line, or 0.
pub fn last_line() -> u64 {
    COUNT.load(Ordering::Relaxed)
}

/// The lines after that number that are still kept, the oldest first, and the number of the last.
pub fn lines_after(number: u64) -> (Vec<LogLine>, u64) {
    let lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    let last = last_line();
    let new = usize::try_from(last.saturating_sub(number)).unwrap_or(usize::MAX);
    let skip = lines.len().saturating_sub(new);
    (lines.iter().skip(skip).cloned().collect(), last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, topic: &str) -> LogLine {
        let (level, file) = (Level::Warn, "a.rs".to_owned());
        LogLine { level, topic: topic.to_owned(), file, line: 7, text: text.to_owned() }
    }

    /// Lines of this test among those of others in this process.
    fn own(lines: Vec<LogLine>) -> Vec<String> {
        lines.into_iter().filter(|line| line.topic == "tail").map(|line| line.text).collect()
    }

    #[test]
    fn a_reader_finds_what_came_after_its_last_line() {
        let before = last_line();
        keep(line("one", "tail"));
        keep(line("two", "tail"));
        let (lines, last) = lines_after(before);
        assert_eq!(own(lines), ["one", "two"]);
        keep(line("three", "tail"));
        assert_eq!(own(lines_after(last).0), ["three"]);
        for _ in 0..2 * TAIL_LINES {
            keep(line("", "noise"));
        }
        assert!(lines_after(before).0.len() <= TAIL_LINES);
    }
}
