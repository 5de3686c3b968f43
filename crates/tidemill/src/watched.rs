//! Watches files for changes.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tidemill_stdx::hash::hash_bytes;

/// Metadata that changes when a file is written or replaced.
pub(crate) type Mark = Option<(u64, u64, u64, i64, i64)>;

/// The mark of a file; `None` if it does not exist.
pub(crate) fn mark(path: &Path) -> Mark {
    let file = std::fs::metadata(path).ok()?;
    Some((file.dev(), file.ino(), file.size(), file.mtime(), file.mtime_nsec()))
}

/// Files, with their state at the last check.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    files: Vec<(PathBuf, Mark, Option<u64>)>,
}

impl Watched {
    /// Starts to watch files that have just been read.
    pub(crate) fn new(files: Vec<PathBuf>) -> Watched {
        let file = |path: PathBuf| {
            let (mark, content) = (mark(&path), content(&path));
            (path, mark, content)
        };
        Watched { files: files.into_iter().map(file).collect() }
    }

    /// Whether the content of a file has changed since the last call.
    pub(crate) fn have_changed(&mut self) -> bool {
        let mut changed = false;
        for (path, old, before) in &mut self.files {
            let now = mark(path);
            if now == *old {
                continue;
            }
            *old = now;
            // A file that is just being replaced is checked again next time.
            let Some(content) = content(path) else { continue };
            changed |= before.replace(content) != Some(content);
        }
        changed
    }
}

/// A hash of the content of a file.
fn content(path: &Path) -> Option<u64> {
    std::fs::read(path).ok().map(|bytes| hash_bytes(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_content_is_a_change() {
        let path = std::env::temp_dir().join(format!("tidemill-watched-{}", std::process::id()));
        std::fs::write(&path, "one").expect("written");
        let mut watched = Watched::new(vec![path.clone(), "/nowhere".into()]);
        assert!(!watched.have_changed());
        std::fs::write(&path, "one").expect("written");
        assert!(!watched.have_changed());
        std::fs::write(&path, "two").expect("written");
        assert!(watched.have_changed());
        assert!(!watched.have_changed());
        std::fs::remove_file(&path).expect("it is there");
        assert!(!watched.have_changed());
        std::fs::write(&path, "two").expect("written");
        assert!(!watched.have_changed());
        std::fs::remove_file(&path).expect("it is there");
    }
}
