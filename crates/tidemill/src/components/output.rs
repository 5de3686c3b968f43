//! What a program writes, and what becomes of it when nobody can read it any more.
//!
//! The run-time gathers the program's output and hands it to a [`Tap`]. The first failure (a
//! closed pipe, a full disk) is kept, and somebody is *called*: a byte in a pipe that the loop
//! watches, for a program that only writes comes to no other point where it could be asked.

use std::cell::RefCell;
use std::io::{self, PipeWriter, Write};
use std::rc::Rc;

use tidemill_proc::console::Sink;

/// Why output could not be written, if so.
pub(super) type Failure = Rc<RefCell<Option<io::Error>>>;

/// The sink of a program's output.
pub(super) struct Tap {
    to: Box<dyn Write>,
    failure: Failure,
    bell: PipeWriter,
}

impl Tap {
    /// Writes to `to`; after a failure a byte is written to `bell`, too.
    pub(super) fn new(to: Box<dyn Write>, failure: Failure, bell: PipeWriter) -> Tap {
        Tap { to, failure, bell }
    }
}

impl Sink for Tap {
    fn write(&mut self, bytes: &[u8]) {
        if self.failure.borrow().is_some() {
            return;
        }
        if let Err(error) = self.to.write_all(bytes).and_then(|()| self.to.flush()) {
            *self.failure.borrow_mut() = Some(error);
            // If it cannot be rung the run ends when the program does.
            let _ = self.bell.write_all(&[1]);
        }
    }
}
