//! What a program writes, and what becomes of it when nobody can read it any more.
//!
//! The run-time gathers the program's output and hands it to a [`Tap`]. The first failure (a
//! closed pipe, a full disk) is kept, and somebody is *called*: a byte in a pipe that the loop
//! watches, for a program that only writes comes to no other point where it could be asked.

use std::io::{PipeWriter, Write};

use tidemill_proc::console::Sink;

use crate::journal::SharedJournal;

/// The sink of a program's output: the data of its run.
pub(crate) struct Tap {
    to: SharedJournal,
    bell: PipeWriter,
}

impl Tap {
    /// Writes to the console of `to`; after a failure a byte is written to `bell`, too.
    pub(crate) fn new(to: SharedJournal, bell: PipeWriter) -> Tap {
        Tap { to, bell }
    }
}

impl Sink for Tap {
    fn write(&mut self, bytes: &[u8]) {
        let mut journal = self.to.get_mut();
        if journal.console.has_failed() {
            return;
        }
        journal.console.write(bytes);
        if journal.console.has_failed() {
            // If it cannot be rung the run ends when the program does.
            let _ = self.bell.write_all(&[1]);
        }
    }
}
