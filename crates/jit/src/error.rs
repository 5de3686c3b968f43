//! Errors, and whose fault they are.

use std::fmt;
use std::io;

/// Why a function or module could not be made.
#[derive(Debug)]
pub enum Error {
    /// This machine cannot be compiled for.
    Machine(String),
    /// The generator wrote code that breaks the rules of the representation; found when
    /// [`Options::verify`](crate::Options::verify) is on.
    Invalid {
        /// The function.
        function: String,
        /// The error, beside the text of the function.
        text: String,
    },
    /// The generator left a block without a last instruction, or added to it after that.
    Unfinished {
        /// The function.
        function: String,
        /// The block and what it lacks.
        text: String,
    },
    /// The generator used a feature that the compiler does not have on this machine.
    Unsupported {
        /// The function.
        function: String,
        /// The missing feature.
        text: String,
    },
    /// The function exceeds what the compiler can handle.
    TooLarge {
        /// The function.
        function: String,
    },
    /// The function was declared and never defined.
    Undefined {
        /// The function.
        function: String,
    },
    /// The function was defined twice, or defined though it is imported.
    Twice {
        /// The function.
        function: String,
    },
    /// The parts of the module are too far from each other for the instructions between them.
    TooFar {
        /// The function or blob with the reference.
        place: String,
    },
    /// The operating system gave no memory for code.
    Memory(io::Error),
    /// The map file for `perf` could not be written.
    PerfMap(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Machine(text) => write!(f, "no code can be made for this machine: {text}"),
            Error::Invalid { function, text } => write!(f, "`{function}` is not valid:\n{text}"),
            Error::Unfinished { function, text } => write!(f, "`{function}`: {text}"),
            Error::Unsupported { function, text } => write!(f, "`{function}` needs {text}"),
            Error::TooLarge { function } => write!(f, "`{function}` is too large"),
            Error::Undefined { function } => write!(f, "`{function}` is declared, not defined"),
            Error::Twice { function } => write!(f, "`{function}` has a definition already"),
            Error::TooFar { place } => write!(f, "`{place}` refers to something too far away"),
            Error::Memory(error) => write!(f, "no memory for code: {error}"),
            Error::PerfMap(error) => write!(f, "the map for perf: {error}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Memory(error) | Error::PerfMap(error) => Some(error),
            _ => None,
        }
    }
}
