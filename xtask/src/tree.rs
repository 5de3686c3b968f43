//! The text files of the workspace, read once: every check is a function of such a tree, so tests
//! use small ones in memory.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// Files by their path from the root, with `/` between folders.
#[derive(Default)]
pub struct Tree {
    files: BTreeMap<String, String>,
}

/// Folders with a leading dot that belong to the project.
const DOTTED: [&str; 2] = [".ci", ".cargo"];

impl Tree {
    /// Reads all text files below `root`, except built, hidden and fetched ones.
    ///
    /// # Errors
    /// A folder or file that cannot be read.
    pub fn read(root: &Path) -> io::Result<Tree> {
        let mut tree = Tree::default();
        tree.read_folder(root, "")?;
        Ok(tree)
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            let kind = entry.file_type()?;
            if kind.is_dir() {
                let hidden = name.starts_with('.') && !DOTTED.contains(&name.as_str());
                if !hidden && name != "target" && name != "node_modules" {
                    self.read_folder(&entry.path(), &format!("{path}/"))?;
                }
            } else if kind.is_file()
                && let Ok(text) = String::from_utf8(std::fs::read(entry.path())?)
            {
                self.files.insert(path, text);
            }
        }
        Ok(())
    }

    /// A tree of these files.
    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Tree {
        let own = |&(path, text): &(&str, &str)| (path.to_owned(), text.to_owned());
        Tree { files: files.iter().map(own).collect() }
    }

    /// All files in the order of their paths.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The text of one file.
    pub fn get(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// The number of files.
    pub fn len(&self) -> usize {
        self.files.len()
    }
}
