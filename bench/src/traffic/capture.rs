//! Captures, generated for a run and removed after it.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use tidemill_support::traffic::{Plan, Truth};

/// Its name in its folder.
pub const CAPTURE: &str = "in.pcap";

/// A capture generated for this run, removed on drop.
pub struct Capture {
    folder: PathBuf,
    /// Its true contents.
    pub truth: Truth,
}

impl Capture {
    /// Generates a capture in a folder of its own.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn make(name: &str, plan: &Plan) -> Result<Capture, String> {
        let name = format!("tidemill-traffic-{}-{}", std::process::id(), name.replace(' ', "-"));
        let folder = std::env::temp_dir().join(name);
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(&folder).map_err(failed)?;
        let mut output = BufWriter::new(File::create(folder.join(CAPTURE)).map_err(failed)?);
        let truth = plan.write(&mut output).and_then(|truth| output.flush().map(|()| truth));
        Ok(Capture { truth: truth.map_err(failed)?, folder })
    }

    /// The path of the capture.
    pub fn file(&self) -> PathBuf {
        self.folder.join(CAPTURE)
    }

    /// Its folder, also for the output of its readers.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        // It is in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
