//! The last notes of a run.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

/// The number of notes kept of a run: the last ones, as a failure ends it.
const NOTES_MAX: usize = 8;
/// Their maximum size in bytes.
const NOTES_BYTES_MAX: usize = 1 << 12;

/// A stream that keeps its last bytes.
#[derive(Clone, Default)]
pub(super) struct LastBytes(Rc<RefCell<Vec<u8>>>);

impl LastBytes {
    /// The last complete lines.
    pub(super) fn lines(&self) -> Vec<String> {
        let bytes = self.0.borrow();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().collect();
        let first = lines.len().saturating_sub(NOTES_MAX);
        lines[first..].iter().map(|line| (*line).to_owned()).collect()
    }
}

impl Write for LastBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut kept = self.0.borrow_mut();
        kept.extend_from_slice(bytes);
        if kept.len() > 2 * NOTES_BYTES_MAX {
            let old = kept.len() - NOTES_BYTES_MAX;
            // Skips up to the end of a line.
            let rest = kept[old..].iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            kept.drain(..old + rest);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept() {
        let mut notes = LastBytes::default();
        for number in 0..10_000 {
            writeln!(notes, "line {number}").expect("memory");
        }
        assert!(notes.0.borrow().len() <= 2 * NOTES_BYTES_MAX);
        let lines = notes.lines();
        assert_eq!(lines.len(), NOTES_MAX);
        assert_eq!((lines[0].as_str(), lines[7].as_str()), ("line 9992", "line 9999"));
    }
}
