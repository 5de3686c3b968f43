//! The sources of texts.

use std::io;
use std::path::{Path, PathBuf};

use tidemill_stdx::sort;
use tidemill_stdx::sorted::SortedMap;

/// Finds texts by the names that imports use.
pub trait Files {
    /// The text of a file and its name for users; `None` if there is no such file.
    fn read(&self, name: &str) -> Option<(String, io::Result<String>)>;

    /// The names of files that could be imported, for hints; need not be complete.
    fn names(&self) -> Vec<String>;

    /// The places searched, for hints.
    fn roots(&self) -> String;
}

/// Folders, in the order of the search.
#[derive(Clone, Default, Debug)]
pub struct Folders {
    /// The folders.
    pub roots: Vec<PathBuf>,
}

/// The maximal number of names listed for hints.
const NAMES_MAX: usize = 5000;
/// The maximal depth of folders listed for hints.
const DEPTH_MAX: usize = 8;

impl Folders {
    /// The file that is imported under a name.
    pub fn path_of(&self, name: &str) -> Option<PathBuf> {
        self.roots.iter().map(|root| inside(root, name)).find(|path| path.exists())
    }

    /// The name under which a file is imported, if one of the folders has it.
    pub fn name_of(&self, path: &Path) -> Option<String> {
        self.roots.iter().find_map(|root| {
            let root = if root == Path::new("") { Path::new(".") } else { root };
            let inner = match path.strip_prefix(root) {
                Ok(inner) => inner,
                Err(_) if root == Path::new(".") && path.is_relative() => path,
                Err(_) => return None,
            };
            let parts: Option<Vec<&str>> = inner
                .components()
                .map(|part| match part {
                    std::path::Component::Normal(name) => name.to_str(),
                    _ => None,
                })
                .collect();
            parts.filter(|parts| !parts.is_empty()).map(|parts| parts.join("/"))
        })
    }
}

/// The path of a file in a folder.
fn inside(root: &Path, name: &str) -> PathBuf {
    if root == Path::new(".") || root == Path::new("") {
        PathBuf::from(name)
    } else {
        root.join(name)
    }
}

impl Files for Folders {
    fn read(&self, name: &str) -> Option<(String, io::Result<String>)> {
        self.roots.iter().find_map(|root| {
            let path = inside(root, name);
            match std::fs::read_to_string(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                result => Some((path.display().to_string(), result)),
            }
        })
    }

    fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for root in &self.roots {
            list(root, "", 0, &mut names);
        }
        names
    }

    fn roots(&self) -> String {
        let roots: Vec<String> = self.roots.iter().map(|root| root.display().to_string()).collect();
        roots.join(", ")
    }
}

fn list(folder: &Path, prefix: &str, depth: usize, names: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.flatten().collect();
    sort::by_key(&mut entries, std::fs::DirEntry::file_name);
    for entry in entries {
        let file_name = entry.file_name();
        let Some(name) = file_name.to_str() else { continue };
        if names.len() >= NAMES_MAX || name.starts_with('.') {
            continue;
        }
        let inner = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < DEPTH_MAX && name != "target" => {
                list(&entry.path(), &inner, depth + 1, names);
            }
            Ok(kind) if !kind.is_dir() && name.ends_with(".proto") => names.push(inner),
            _ => {}
        }
    }
}

/// Texts in memory, by name.
#[derive(Clone, Default, Debug)]
pub struct Texts {
    /// Names and texts.
    pub texts: SortedMap<String, String>,
}

impl<N: Into<String>, T: Into<String>> FromIterator<(N, T)> for Texts {
    fn from_iter<I: IntoIterator<Item = (N, T)>>(texts: I) -> Texts {
        let own = |(name, text): (N, T)| (name.into(), text.into());
        Texts { texts: texts.into_iter().map(own).collect() }
    }
}

impl Files for Texts {
    fn read(&self, name: &str) -> Option<(String, io::Result<String>)> {
        self.texts.get(name).map(|text| (name.to_owned(), Ok(text.clone())))
    }

    fn names(&self) -> Vec<String> {
        self.texts.keys().cloned().collect()
    }

    fn roots(&self) -> String {
        "memory".into()
    }
}
