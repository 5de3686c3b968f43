//! Why a program cannot run.

use std::{fmt, io};

/// Why a program cannot run, with a message for users.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// It cannot be compiled: it has errors, or the code generator does not support this machine.
    /// Other options change nothing.
    Program(String),
    /// It does not fit its options: several nodes would share a device, or nodes would accept
    /// messages from strangers.
    Options(String),
    /// It cannot start: a port is in use, or a file or device is not there.
    Start(String),
    /// The system fails at run time: it has no event queue or threads, or a file cannot be written.
    System(String),
}

impl Error {
    /// A `Program` error.
    pub(crate) fn program(reason: impl fmt::Display) -> Error {
        Error::Program(reason.to_string())
    }

    /// A `Start` error.
    pub(crate) fn start(reason: impl fmt::Display) -> Error {
        Error::Start(reason.to_string())
    }

    /// The host provides no random numbers.
    pub(crate) fn no_random(error: io::Error) -> Error {
        Error::Start(format!("no random numbers: {error}"))
    }

    /// A `System` error.
    pub(crate) fn system(reason: impl fmt::Display) -> Error {
        Error::System(reason.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Error::Program(text)
        | Error::Options(text)
        | Error::Start(text)
        | Error::System(text)) = self;
        out.write_str(text)
    }
}

impl std::error::Error for Error {}
