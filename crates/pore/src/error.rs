//! Errors of pores, and whose fault they are.

use std::{fmt, io};

/// Why an operation was refused or failed.
#[derive(Debug)]
pub enum Error {
    /// The caller's: the pore belongs to another owner.
    NotOwner,
    /// The caller's: there is no such pore, any more or yet.
    NoSuchPore,
    /// The caller's: an offset or length outside the pore's memory.
    OutOfBounds {
        /// Where it should begin.
        offset: u64,
        /// Bytes.
        length: u64,
        /// Bytes there are.
        size: u64,
    },
    /// The caller's: what was to be written is not what the kind takes.
    Malformed(&'static str),
    /// The other side's: an index claims more than the ring holds.
    BadIndex {
        /// The index of the other side.
        theirs: u32,
        /// The index on our side.
        ours: u32,
        /// Bytes of the ring.
        size: u32,
    },
    /// The other side's: the length of a message does not fit its ring.
    BadLength(u32),
    /// The other side's: what it offered is not a pore of this kind.
    BadOffer(&'static str),
    /// The other side is gone.
    PeerGone,
    /// The kind does not have this operation, or the machine not this kind.
    Unsupported(&'static str),
    /// The system's.
    System(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotOwner => f.write_str("the pore belongs to another owner"),
            Error::NoSuchPore => f.write_str("there is no such pore"),
            Error::OutOfBounds { offset, length, size } => {
                write!(f, "{length} bytes at {offset} are outside the {size} bytes of the pore")
            }
            Error::Malformed(what) => f.write_str(what),
            Error::BadIndex { theirs, ours, size } => {
                write!(f, "bad ring index: {theirs} against {ours} in a ring of {size} bytes")
            }
            Error::BadLength(length) => write!(f, "bad length of a message: {length}"),
            Error::BadOffer(what) => write!(f, "the other side's offer is refused: {what}"),
            Error::PeerGone => f.write_str("the other side has gone"),
            Error::Unsupported(what) => f.write_str(what),
            Error::System(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::System(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::System(error)
    }
}

impl From<rustix::io::Errno> for Error {
    fn from(error: rustix::io::Errno) -> Error {
        Error::System(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error as _;

    #[test]
    fn errors_say_what_was_wrong_and_whose_fault_it_was() {
        let outside = Error::OutOfBounds { offset: 8, length: 4, size: 10 };
        assert_eq!(outside.to_string(), "4 bytes at 8 are outside the 10 bytes of the pore");
        let index = Error::BadIndex { theirs: 9, ours: 1, size: 4 };
        assert_eq!(index.to_string(), "bad ring index: 9 against 1 in a ring of 4 bytes");
        assert!(index.source().is_none());
        let system = Error::from(io::Error::from(io::ErrorKind::NotFound));
        assert_eq!(system.to_string(), "entity not found");
        assert!(system.source().is_some());
    }
}
