//! Loading files as one schema, by their paths.

use std::path::{Path, PathBuf};

use tidemill_stdx::diag::{Diagnostic, Span};

use super::{Compiled, Folders, compile_with};

/// Loads files as one schema. Imports are looked for in `include_dirs`, or, if there are none,
/// in the current folder and in those of the files. Files ending in `.fds` are sets of descriptors,
/// all others texts. Whatever is wrong is a diagnostic.
pub fn load(files: &[PathBuf], include_dirs: &[PathBuf]) -> Compiled {
    let mut folders = Folders { roots: include_dirs.to_vec() };
    if folders.roots.is_empty() {
        folders.roots.push(PathBuf::from("."));
        for file in files {
            add_folder(&mut folders, file);
        }
    }
    let (mut names, mut sets, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for file in files {
        let shown = file.display().to_string();
        if !is_descriptors(file) {
            if folders.name_of(file).is_none() {
                add_folder(&mut folders, file);
            }
            names.push(folders.name_of(file).unwrap_or(shown));
            continue;
        }
        match std::fs::read(file) {
            Ok(bytes) => sets.push((shown, bytes)),
            Err(error) => failed.push((shown, error)),
        }
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let sets: Vec<(&str, &[u8])> = sets.iter().map(|(name, bytes)| (&**name, &**bytes)).collect();
    let mut compiled = compile_with(&names, &sets, &folders);
    for (name, error) in failed {
        let span = Span { file: compiled.sources.add(name, ""), start: 0, end: 0 };
        let message = format!("the file cannot be read: {error}");
        compiled.diagnostics.push(Diagnostic::error("file-unreadable", span, message));
        compiled.schema = None;
    }
    compiled
}

fn is_descriptors(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("fds"))
}

fn add_folder(folders: &mut Folders, file: &Path) {
    let folder = file.parent().unwrap_or(Path::new("")).to_owned();
    let known = folder.as_os_str().is_empty() || folders.roots.contains(&folder);
    if !known {
        folders.roots.push(folder);
    }
}
