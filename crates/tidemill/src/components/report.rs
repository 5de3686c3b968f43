//! Faults in the form that users and scripts read:
//! `FILE:LINE:COLUMN: fault[CODE]: REASON (COMPONENT/PATH, PROCESS)`.

use tidemill_proc::fault::{Fault, Reports};

use crate::journal::SharedJournal;
use crate::lines::{LineKind, Writer};

/// Writes reports as notes.
pub(crate) struct Reporter {
    pub(crate) journal: SharedJournal,
    /// The name of the node, if there are several.
    pub(crate) node: String,
}

impl Reports for Reporter {
    fn fault(&mut self, fault: &Fault) {
        let text = fault_text(fault, &self.node);
        self.note(LineKind::Note, text);
    }

    fn deadlock(&mut self, waiting: u64, some: &[String]) {
        let mut text = deadlock_text(waiting, some);
        if !self.node.is_empty() {
            text = format!("{}: {text}", self.node);
        }
        self.note(LineKind::Failure, format!("tidemill: {text}"));
    }
}

impl Reporter {
    fn note(&self, kind: LineKind, text: String) {
        self.journal.get_mut().remark((Writer::of(&self.node), kind), text);
    }
}

/// A fault in one line, at a node if there are several.
pub(super) fn fault_text(fault: &Fault, node: &str) -> String {
    let position = fault.position;
    let file = if fault.file.is_empty() { "?" } else { &fault.file };
    let (line, column) = (position.line.max(1), position.column.max(1));
    let (code, reason) = (fault.reason.code(), &fault.message);
    let (path, process) = (&fault.path, &fault.process);
    let slash = if node.is_empty() { "" } else { "/" };
    format!("{file}:{line}:{column}: fault[{code}]: {reason} ({node}{slash}{path}, {process})")
}

/// The waiting processes, one per line after the first.
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
