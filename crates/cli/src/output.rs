//! Data on standard output.
//!
//! A closed reader (`| head`) is no error: the command ends silently. Any other write error, such
//! as a full disk, is reported and gives status 1.

use std::io::{self, ErrorKind, Write};

use crate::status::Status;

/// Buffers the output of a verb.
#[derive(Debug, Default)]
pub struct Out {
    failure: Option<io::Error>,
}

impl Out {
    /// Standard output.
    pub fn new() -> Out {
        Out::default()
    }

    /// Writes and flushes a text.
    pub fn write(&mut self, text: &str) {
        if self.failure.is_none() {
            let mut stdout = io::stdout().lock();
            let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
            self.failure = written.err();
        }
    }

    /// Whether a write has failed, so that more output is pointless.
    pub fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// The status of a verb that has otherwise succeeded.
    pub fn finish(self) -> Status {
        self.failure.map_or(Status::Fine, |failure| explain_failure(&failure))
    }
}

/// The status of a write error.
pub fn explain_failure(failure: &io::Error) -> Status {
    if failure.kind() == ErrorKind::BrokenPipe {
        return Status::Fine;
    }
    let _ = writeln!(io::stderr(), "tidemill: cannot write to standard output: {failure}");
    Status::Failed
}
