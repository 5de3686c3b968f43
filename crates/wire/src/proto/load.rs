//! Loading files as one schema, by their paths.

use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};

use tidemill_diag::{Diagnostic, Span};
use tidemill_stdx::sorted::SortedMap;

use super::compile::{Compiled, compile_with};
use super::files::{Files, Folders};

/// Loads files as one schema. Imports are searched in `include_dirs`, or, if there are none, in the
/// current folder and in those of the files. Files ending in `.fds` are sets of descriptors, all
/// others texts. Errors are diagnostics.
///
/// A file that is in none of the folders is found by its own path, and its folder is searched after
/// all others.
pub fn load(files: &[PathBuf], include_dirs: &[PathBuf]) -> Compiled {
    let mut folders = Folders { roots: include_dirs.to_vec() };
    if folders.roots.is_empty() {
        folders.roots.push(PathBuf::from("."));
        for file in files {
            add_folder(&mut folders, file);
        }
    }
    let mut given = Given { folders, files: SortedMap::new() };
    let (mut names, mut sets, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for file in files {
        let shown = file.display().to_string();
        if !is_descriptors(file) {
            match given.name(file) {
                Ok(name) => names.push(name),
                Err(shadowed) => failed.push((shown, shadowed.to_string())),
            }
            continue;
        }
        match std::fs::read(file) {
            Ok(bytes) => sets.push((shown, bytes)),
            Err(error) => failed.push((shown, format!("the file cannot be read: {error}"))),
        }
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let sets: Vec<(&str, &[u8])> = sets.iter().map(|(name, bytes)| (&**name, &**bytes)).collect();
    let mut compiled = compile_with(&names, &sets, &given);
    for (name, message) in failed {
        let span = Span { file: compiled.sources.add(name, ""), start: 0, end: 0 };
        compiled.diagnostics.push(Diagnostic::error("file-unreadable", span, message));
        compiled.schema = None;
    }
    compiled
}

/// Folders, and the requested files, which come before files of the same name in a folder.
struct Given {
    folders: Folders,
    files: SortedMap<String, PathBuf>,
}

/// An import by the name of a file would be of another.
#[derive(Debug)]
struct Shadowed {
    name: String,
    other: PathBuf,
}

impl fmt::Display for Shadowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shadowed { name, other } = self;
        write!(
            f,
            "`{name}` is `{}` by the order of the folders: give that file, or its folder later",
            other.display()
        )
    }
}

impl Given {
    /// The name that a file is compiled by.
    ///
    /// # Errors
    /// An import by its name would be of another file.
    fn name(&mut self, file: &Path) -> Result<String, Shadowed> {
        let inside = self.folders.name_of(file);
        if inside.is_none() {
            add_folder(&mut self.folders, file);
        }
        let Some(name) = inside.clone().or_else(|| self.folders.name_of(file)) else {
            return Ok(file.display().to_string());
        };
        let Some(other) = self.folders.path_of(&name).filter(|other| !is_same(other, file)) else {
            return Ok(name);
        };
        if inside.is_some() {
            return Err(Shadowed { name, other });
        }
        let normal = |part| match part {
            Component::Normal(part) => part.to_str(),
            _ => None,
        };
        let parts: Vec<&str> = file.components().filter_map(normal).collect();
        let name = parts.join("/");
        self.files.insert(name.clone(), file.to_owned());
        Ok(name)
    }
}

impl Files for Given {
    fn read(&self, name: &str) -> Option<(String, io::Result<String>)> {
        match self.files.get(name) {
            Some(path) => Some((path.display().to_string(), std::fs::read_to_string(path))),
            None => self.folders.read(name),
        }
    }

    fn names(&self) -> Vec<String> {
        self.folders.names()
    }

    fn roots(&self) -> String {
        self.folders.roots()
    }
}

/// True if both are one file, or if that is not known.
fn is_same(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => true,
    }
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
