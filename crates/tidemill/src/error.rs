//! Why a program does not run.

use std::fmt;

/// Why a program does not run, with what a person reads of it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// It cannot be compiled, or not for what is wanted: it has errors, or no code can be made for
    /// this machine. Other options change nothing.
    Program(String),
    /// It does not go with its options: several nodes would share a device, or nodes would hear
    /// strangers.
    Options(String),
    /// It cannot start: a port is in use, or a file or device is not there.
    Start(String),
    /// The system fails what runs: it gives no event queue or threads, or writes no file.
    System(String),
}

impl Error {
    /// Of a program.
    pub(crate) fn program(reason: impl fmt::Display) -> Error {
        Error::Program(reason.to_string())
    }

    /// Of the system.
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
