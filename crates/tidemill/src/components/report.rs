//! Faults in the form that users and scripts read:
//! `FILE:LINE:COLUMN: fault[CODE]: REASON (COMPONENT/PATH, PROCESS)`.

use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;

use tidemill_proc::fault::{Fault, Reports};

/// Where faults and notes are written, at once.
pub(super) type Notes = Rc<RefCell<Box<dyn Write>>>;

/// Writes a line of notes. If nobody reads them there is nobody to tell.
pub(super) fn note(notes: &Notes, line: &str) {
    let mut notes = notes.borrow_mut();
    let _ = notes.write_all(format!("{line}\n").as_bytes()).and_then(|()| notes.flush());
}

/// Writes reports.
pub(super) struct Reporter {
    /// Names of the source files.
    pub(super) files: Vec<String>,
    pub(super) notes: Notes,
}

impl Reports for Reporter {
    fn fault(&mut self, fault: &Fault) {
        note(&self.notes, &fault_text(&self.files, fault));
    }

    fn deadlock(&mut self, waiting: u64, some: &[String]) {
        note(&self.notes, &format!("tidemill: {}", deadlock_text(waiting, some)));
    }
}

/// A fault in one line.
pub(super) fn fault_text(files: &[String], fault: &Fault) -> String {
    let position = fault.position;
    let file = files.get(position.file as usize).map_or("?", String::as_str);
    let (line, column) = (position.line.max(1), position.column.max(1));
    let (code, reason) = (fault.reason.code(), &fault.message);
    let (path, process) = (&fault.path, &fault.process);
    format!("{file}:{line}:{column}: fault[{code}]: {reason} ({path}, {process})")
}

/// Who waits, a line each below the first.
pub(super) fn deadlock_text(waiting: u64, some: &[String]) -> String {
    let processes = if waiting == 1 { "process waits" } else { "processes wait" };
    let mut text = format!("{waiting} {processes} for what cannot come any more:");
    for process in some {
        text.push_str(&format!("\n  {process}"));
    }
    if (some.len() as u64) < waiting {
        text.push_str(&format!("\n  and {} more", waiting - some.len() as u64));
    }
    text
}
