//! Faults in the form that users and scripts read:
//! `FILE:LINE:COLUMN: fault[CODE]: REASON (COMPONENT/PATH, PROCESS)`.

use tidemill_proc::fault::{Fault, Reports};

use crate::journal::SharedJournal;

/// Writes reports as notes.
pub(crate) struct Reporter {
    /// Names of the source files.
    pub(crate) files: Vec<String>,
    pub(crate) journal: SharedJournal,
}

impl Reports for Reporter {
    fn fault(&mut self, fault: &Fault) {
        self.journal.get_mut().console.note(fault_text(&self.files, fault));
    }

    fn deadlock(&mut self, waiting: u64, some: &[String]) {
        let text = deadlock_text(waiting, some);
        self.journal.get_mut().console.note(format_args!("tidemill: {text}"));
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
