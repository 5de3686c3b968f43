//! Shared helpers of tests; no product depends on them.

#![forbid(unsafe_code)]

pub mod cases;
pub mod cpu;
pub mod descriptors;
pub mod draw;
pub mod golden;
pub mod ipfix;
pub mod mutate;
pub mod traffic;
pub mod trickle;

use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The folder of the project.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What a variable of the environment is set to, such as the number of cases that a test tries;
/// nothing, if it is not set or not of that form.
pub fn variable<T: FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}

/// The files with this ending in a folder of the project, and not below it, by name. There must be
/// `count_min` of them, so that a corpus cannot vanish.
pub fn files(folder: &str, ending: &str, count_min: usize) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder));
    let entries = entries.unwrap_or_else(|error| panic!("{folder}: {error}"));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|it| it == ending));
    paths.sort();
    assert!(paths.len() >= count_min, "{folder} has shrunk: {paths:?}");
    paths
}

/// The last part of a path.
pub fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).expect("a name in UTF-8")
}

/// The text of an existing file.
pub fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
