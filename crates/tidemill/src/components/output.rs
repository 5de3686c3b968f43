//! The output of a program, and what happens when it cannot be written.
//!
//! The run-time buffers the program's output and passes it to a [`Tap`]. The first failure (a
//! closed pipe, a full disk) is kept, and the loop is woken through a [`Bell`]: a program that only
//! writes reaches no other point at which the loop could check for it.

use std::io::{PipeWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tidemill_proc::console::Sink;

use crate::journal::SharedJournal;

/// Signals a write failure.
pub(crate) enum Bell {
    /// For a loop that waits in the kernel: a byte is written to a pipe that it watches.
    Pipe(PipeWriter),
    /// For a loop that does not wait.
    Flag(Arc<AtomicBool>),
}

/// The sink of a program's output, which passes it to the data of the run.
pub(crate) struct Tap {
    to: SharedJournal,
    bell: Bell,
}

impl Tap {
    /// Writes to the console of `to`; rings `bell` on a failure.
    pub(crate) fn new(to: SharedJournal, bell: Bell) -> Tap {
        Tap { to, bell }
    }
}

/// The sink of one of several nodes: writes whole lines, prefixed by the name of the node.
pub(crate) struct Named {
    name: String,
    line: Vec<u8>,
    to: Tap,
}

/// The maximum length of a line; longer ones are split.
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
            // If ringing fails, the run ends when the program does.
            match &mut self.bell {
                Bell::Pipe(pipe) => drop(pipe.write_all(&[1])),
                // Relaxed: the flag publishes no other data.
                Bell::Flag(flag) => flag.store(true, Ordering::Relaxed),
            }
        }
    }
}
