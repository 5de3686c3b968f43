//! Files of keys: made, and read with a look at who else can read them.
//!
//! What is in them says [`tidemill_fabric::seal::keys`].

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

/// The mode of a file with a secret: nobody but its owner reads or writes it.
const MODE: u32 = 0o600;

/// The longest file of keys that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A secret that was made.
#[derive(Debug)]
pub enum Made {
    /// A fleet's key.
    FleetKey {
        /// What its file contains.
        text: String,
    },
    /// A node's identity.
    Identity {
        /// What its file contains.
        text: String,
        /// What others know it by.
        public: PublicKey,
    },
}

impl Made {
    /// What its file contains.
    pub fn text(&self) -> &str {
        match self {
            Made::FleetKey { text } | Made::Identity { text, .. } => text,
        }
    }
}

/// Makes a fleet key.
///
/// # Errors
/// The system gives no randomness.
pub fn fleet_key() -> Result<Made, String> {
    Ok(Made::FleetKey { text: format!("{}\n", encode(&random()?)) })
}

/// Makes an identity.
///
/// # Errors
/// The system gives no randomness.
pub fn identity() -> Result<Made, String> {
    let secret = random()?;
    let public = Identity::new(secret).public();
    let text = format!("# public: {public}\n{}\n", encode(&secret));
    Ok(Made::Identity { text, public })
}

fn random() -> Result<[u8; KEY_BYTES], String> {
    let mut bytes = [0; KEY_BYTES];
    let filled = Os::new().and_then(|mut os| os.fill_entropy(&mut bytes));
    filled.map_err(|error| format!("the system gives no randomness: {error}"))?;
    Ok(bytes)
}

/// Writes a secret to a file that is not there yet and that nobody else can read.
///
/// # Errors
/// Why it cannot be written; a file that is there stays as it is.
pub fn write(path: &Path, text: &str) -> Result<(), String> {
    let written = || -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    written().map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// The files of `--key` and `--peers`, which may change while nodes run.
#[derive(Clone, Debug)]
pub struct KeyFiles {
    /// Of the fleet.
    pub key: PathBuf,
    /// Of those who are heard.
    pub peers: Option<PathBuf>,
}

/// Files of keys, and what they were when they were last read.
#[derive(Debug)]
pub(crate) struct KeyWatch {
    files: KeyFiles,
    marks: [Mark; 2],
}

impl KeyWatch {
    /// They have just been read.
    pub(crate) fn new(files: KeyFiles) -> KeyWatch {
        let marks = files.marks();
        KeyWatch { files, marks }
    }

    /// Reads them if they have changed.
    pub(crate) fn look(&mut self) -> Option<Result<Seal, String>> {
        let has_changed = self.files.marks() != self.marks;
        has_changed.then(|| self.read())
    }

    /// Reads them.
    pub(crate) fn read(&mut self) -> Result<Seal, String> {
        // Before reading: what is written meanwhile is another change.
        self.marks = self.files.marks();
        seal(&self.files.key, None, self.files.peers.as_ref())
    }
}

impl KeyFiles {
    fn marks(&self) -> [Mark; 2] {
        [mark(&self.key), self.peers.as_deref().and_then(mark)]
    }
}

/// Reads what `--key`, `--identity` and `--peers` name.
///
/// # Errors
/// What is wrong with a file, with its path.
pub fn seal(
    key: &Path,
    identity: Option<&PathBuf>,
    peers: Option<&PathBuf>,
) -> Result<Seal, String> {
    let wrong = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let keys = FleetKeys::parse(&secret(key)?).map_err(|error| wrong(key, &error))?;
    let identity =
        identity.map(|path| Identity::parse(&secret(path)?).map_err(|error| wrong(path, &error)));
    let known = peers.map(|path| {
        let text = open(path).and_then(|file| text(file, path))?;
        KnownPeers::parse(&text, |name| canonical(name).into_owned())
            .map_err(|error| wrong(path, &error))
    });
    Ok(Seal { keys, identity: identity.transpose()?, known: known.transpose()? })
}

/// Reads what `--token-file` names.
///
/// # Errors
/// What is wrong with the file, with its path.
pub fn token(path: &Path) -> Result<Token, String> {
    Token::parse(&secret(path)?).map_err(|error| format!("{}: {error}", path.display()))
}

/// The text of a file that nobody but its owner can read.
fn secret(path: &Path) -> Result<String, String> {
    let file = open(path)?;
    // Of the file that is open: another one may have the name in the next moment.
    let metadata = file.metadata().map_err(|error| unreadable(path, &error))?;
    let mode = metadata.mode() & 0o777;
    if metadata.is_file() && mode & !MODE != 0 {
        let path = path.display();
        return Err(format!("{path}: others can read it (mode {mode:03o}): chmod 600 {path}"));
    }
    text(file, path)
}

fn open(path: &Path) -> Result<File, String> {
    File::open(path).map_err(|error| unreadable(path, &error))
}

fn text(file: File, path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let read = file.take(FILE_BYTES_MAX).read_to_string(&mut text);
    read.map_err(|error| unreadable(path, &error))?;
    Ok(text)
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    format!("cannot read {}: {error}", path.display())
}
