//! Data on standard output.
//!
//! A reader that went away (`| head`) is no failure: the command ends in silence. Anything else
//! that prevents writing, such as a full disk, is reported and gives status 1.

use std::io::{self, ErrorKind, Write};

use crate::status::Status;

/// Gathers the output of a verb.
#[derive(Debug, Default)]
pub struct Out {
    failure: Option<io::Error>,
}

impl Out {
    /// Standard output.
    pub fn new() -> Out {
        Out::default()
    }

    /// Writes a text, at once.
    pub fn write(&mut self, text: &str) {
        if self.failure.is_none() {
            let mut stdout = io::stdout().lock();
            let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
            self.failure = written.err();
        }
    }

    /// True if there is no point in writing more.
    pub fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// How the verb ends if all else went well.
    pub fn finish(self) -> Status {
        self.failure.map_or(Status::Fine, |failure| explain_failure(&failure))
    }
}

/// What it means that data could not be written.
pub fn explain_failure(failure: &io::Error) -> Status {
    if failure.kind() == ErrorKind::BrokenPipe {
        return Status::Fine;
    }
    let _ = writeln!(io::stderr(), "tidemill: cannot write to standard output: {failure}");
    Status::Failed
}
