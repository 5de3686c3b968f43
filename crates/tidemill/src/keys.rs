//! Key files: created, and read with a check of their permissions.
//!
//! For their contents see [`tidemill_fabric::seal::keys`].

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use tidemill_event::{Host, Os};
use tidemill_fabric::seal::keys::{FleetKeys, Identity, KEY_BYTES, KnownPeers, PublicKey, encode};
pub use tidemill_fabric::token::Token;
use tidemill_overlog::fleet::Seal;
use tidemill_overlog::net::address::canonical;

use crate::watched::{Mark, mark};

/// The mode of a file with a secret: only its owner can read or write it.
const MODE: u32 = 0o600;

/// The maximum size of a key file in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Why a key cannot be created, or a key file is unusable.
#[derive(Debug)]
pub enum KeyFileError {
    /// The system provides no randomness.
    NoRandomness(io::Error),
    /// The file cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// The file cannot be written, or exists.
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// Users other than its owner can read the secret.
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The file does not contain a key, token or list of peers.
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, and in which line.
        reason: String,
    },
}

impl fmt::Display for KeyFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyFileError::NoRandomness(error) => {
                write!(f, "the system gives no randomness: {error}")
            }
            KeyFileError::Unreadable { path, error } => {
                write!(f, "cannot read {}: {error}", path.display())
            }
            KeyFileError::Unwritable { path, error } => {
                write!(f, "cannot write {}: {error}", path.display())
            }
            KeyFileError::Exposed { path, mode } => {
                let path = path.display();
                write!(f, "{path}: others can read it (mode {mode:03o}): chmod 600 {path}")
            }
            KeyFileError::Malformed { path, reason } => write!(f, "{}: {reason}", path.display()),
        }
    }
}

impl std::error::Error for KeyFileError {}

/// A new secret.
#[derive(Debug)]
pub enum Made {
    /// A fleet's key.
    FleetKey {
        /// The contents of its file.
        text: String,
    },
    /// A node's identity.
    Identity {
        /// The contents of its file.
        text: String,
        /// Its public key.
        public: PublicKey,
    },
}

impl Made {
    /// The contents of its file.
    pub fn text(&self) -> &str {
        match self {
            Made::FleetKey { text } | Made::Identity { text, .. } => text,
        }
    }
}

/// Makes a fleet key.
///
/// # Errors
/// The system provides no randomness.
pub fn fleet_key() -> Result<Made, KeyFileError> {
    Ok(Made::FleetKey { text: format!("{}\n", encode(&random()?)) })
}

/// Makes an identity.
///
/// # Errors
/// The system provides no randomness.
pub fn identity() -> Result<Made, KeyFileError> {
    let secret = random()?;
    let public = Identity::new(secret).public();
    let text = format!("# public: {public}\n{}\n", encode(&secret));
    Ok(Made::Identity { text, public })
}

fn random() -> Result<[u8; KEY_BYTES], KeyFileError> {
    let mut bytes = [0; KEY_BYTES];
    let filled = Os::new().and_then(|mut os| os.fill_entropy(&mut bytes));
    filled.map_err(KeyFileError::NoRandomness)?;
    Ok(bytes)
}

/// Writes a secret to a new file that only its owner can read.
///
/// # Errors
/// The file cannot be written; an existing one is unchanged.
pub fn write(path: &Path, text: &str) -> Result<(), KeyFileError> {
    let written = || -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    written().map_err(|error| KeyFileError::Unwritable { path: path.to_owned(), error })
}

/// The files of `--key` and `--peers`, which may change while nodes run.
#[derive(Clone, Debug)]
pub struct KeyFiles {
    /// The fleet key.
    pub key: PathBuf,
    /// The public keys of accepted peers.
    pub peers: Option<PathBuf>,
}

/// Key files, with their state when they were last read.
#[derive(Debug)]
pub(crate) struct KeyWatch {
    files: KeyFiles,
    marks: [Mark; 2],
}

impl KeyWatch {
    /// Starts to watch files that have just been read.
    pub(crate) fn new(files: KeyFiles) -> KeyWatch {
        let marks = files.marks();
        KeyWatch { files, marks }
    }

    /// Reads the files if they have changed.
    pub(crate) fn look(&mut self) -> Option<Result<Seal, KeyFileError>> {
        let has_changed = self.files.marks() != self.marks;
        has_changed.then(|| self.read())
    }

    /// Reads the files.
    pub(crate) fn read(&mut self) -> Result<Seal, KeyFileError> {
        // Before reading, so that a concurrent write counts as another change.
        self.marks = self.files.marks();
        seal(&self.files.key, None, self.files.peers.as_ref())
    }
}

impl KeyFiles {
    fn marks(&self) -> [Mark; 2] {
        [mark(&self.key), self.peers.as_deref().and_then(mark)]
    }
}

/// Reads the files of `--key`, `--identity` and `--peers`.
///
/// # Errors
/// What is wrong with a file, with its path.
pub fn seal(
    key: &Path,
    identity: Option<&PathBuf>,
    peers: Option<&PathBuf>,
) -> Result<Seal, KeyFileError> {
    let keys = FleetKeys::parse(&secret(key)?).map_err(malformed(key))?;
    let identity = identity.map(|path| Identity::parse(&secret(path)?).map_err(malformed(path)));
    let known = peers.map(|path| {
        let text = open(path).and_then(|file| text(file, path))?;
        KnownPeers::parse(&text, |name| canonical(name).into_owned()).map_err(malformed(path))
    });
    Ok(Seal { keys, identity: identity.transpose()?, known: known.transpose()? })
}

/// Reads the file of `--token-file`.
///
/// # Errors
/// What is wrong with the file, with its path.
pub fn token(path: &Path) -> Result<Token, KeyFileError> {
    Token::parse(&secret(path)?).map_err(malformed(path))
}

/// The text of a file that only its owner can read.
fn secret(path: &Path) -> Result<String, KeyFileError> {
    let file = open(path)?;
    // Of the open file: its name may refer to another one by now.
    let metadata = file.metadata().map_err(unreadable(path))?;
    let mode = metadata.mode() & 0o777;
    if metadata.is_file() && mode & !MODE != 0 {
        return Err(KeyFileError::Exposed { path: path.to_owned(), mode });
    }
    text(file, path)
}

fn open(path: &Path) -> Result<File, KeyFileError> {
    File::open(path).map_err(unreadable(path))
}

fn text(file: File, path: &Path) -> Result<String, KeyFileError> {
    let mut text = String::new();
    let read = file.take(FILE_BYTES_MAX).read_to_string(&mut text);
    read.map_err(unreadable(path))?;
    Ok(text)
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> KeyFileError {
    |error| KeyFileError::Unreadable { path: path.to_owned(), error }
}

fn malformed<E: ToString>(path: &Path) -> impl FnOnce(E) -> KeyFileError {
    |error| KeyFileError::Malformed { path: path.to_owned(), reason: error.to_string() }
}
