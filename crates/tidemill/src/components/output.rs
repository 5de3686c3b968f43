//! What a program writes, and what becomes of it when nobody can read it any more.
//!
//! The run-time gathers the program's output and hands it to a [`Tap`]. The first failure (a
//! closed pipe, a full disk) is kept, and somebody is *called*: a byte in a pipe that the loop
//! watches, for a program that only writes comes to no other point where it could be asked.

use std::io::{PipeWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tidemill_proc::console::Sink;

use crate::journal::SharedJournal;

/// Whom a failure to write is told.
pub(crate) enum Bell {
    /// A loop that waits for the system: a byte is written.
    Pipe(PipeWriter),
    /// A loop that does not wait.
    Flag(Arc<AtomicBool>),
}

/// The sink of a program's output: the data of its run.
pub(crate) struct Tap {
    to: SharedJournal,
    bell: Bell,
}

impl Tap {
    /// Writes to the console of `to`; after a failure `bell` is rung.
    pub(crate) fn new(to: SharedJournal, bell: Bell) -> Tap {
        Tap { to, bell }
    }
}

/// The sink of one of several nodes: whole lines, with the name of the node before them.
pub(crate) struct Named {
    name: String,
    line: Vec<u8>,
    to: Tap,
}

/// A line that is longer is written in pieces.
const LINE_BYTES_MAX: usize = 1 << 16;

impl Named {
    pub(crate) fn new(name: String, to: Tap) -> Named {
        Named { name, line: Vec::new(), to }
    }

    fn end_line(&mut self) {
        let mut whole = format!("{}: ", self.name).into_bytes();
        whole.append(&mut self.line);
        whole.push(b'\n');
        self.to.write(&whole);
    }
}

impl Sink for Named {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            match byte {
                b'\n' => self.end_line(),
                byte => self.line.push(byte),
            }
            if self.line.len() >= LINE_BYTES_MAX {
                self.end_line();
            }
        }
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        if !self.line.is_empty() {
            self.end_line();
        }
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
            match &mut self.bell {
                Bell::Pipe(pipe) => drop(pipe.write_all(&[1])),
                // Relaxed: a wish, which nothing else is published with.
                Bell::Flag(flag) => flag.store(true, Ordering::Relaxed),
            }
        }
    }
}
