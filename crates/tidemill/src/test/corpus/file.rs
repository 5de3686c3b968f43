//! The file of a corpus.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// The maximum size of the file in bytes.
const BYTES_MAX: u64 = 4 << 20;

/// Reads the file; `None` if there is none yet. It will be replaced, so its folder must be
/// writable.
///
/// # Errors
/// It cannot be read or replaced, is too large, or is not text.
pub(in crate::test) fn read(path: &Path) -> Result<Option<String>, Error> {
    let name = path.display();
    let failed = |what: &str, error| Error::System(format!("{name}: cannot {what}: {error}"));
    let new = new_name(path);
    File::create(&new).map_err(|error| failed("write", error))?;
    fs::remove_file(&new).map_err(|error| failed("write", error))?;
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("read", error)),
    };
    let mut text = String::new();
    let read = file.take(BYTES_MAX + 1).read_to_string(&mut text);
    let bytes = read.map_err(|error| failed("read", error))?;
    if bytes as u64 > BYTES_MAX {
        let most = BYTES_MAX >> 20;
        return Err(Error::System(format!("{name}: a corpus has at most {most} MiB")));
    }
    Ok(Some(text))
}

/// Replaces the file at once: a reader sees all of the old text or of the new one.
///
/// # Errors
/// It cannot be written.
pub(in crate::test) fn replace(path: &Path, text: &str) -> Result<(), Error> {
    let new = new_name(path);
    let write = || {
        let mut file = File::create(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    write().map_err(|error| Error::System(format!("{}: cannot write: {error}", path.display())))
}

/// The name of the new file until it is complete.
fn new_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    PathBuf::from(name)
}
