//! The input of engines: relations as CSV files, which all engines read.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tidemill_stdx::hash::hash_u64;

/// Texts that live as long as the process: here they can be found, and are no leaks.
static KEPT: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

/// Facts over numbers of nodes.
#[derive(Clone, Debug, Default)]
pub struct Facts(Vec<Relation>);

/// The facts of one relation.
#[derive(Clone, Debug)]
pub struct Relation {
    pub name: &'static str,
    pub arity: usize,
    /// Row by row.
    pub cells: Vec<i32>,
}

impl Facts {
    /// Adds the rows of another relation.
    pub fn with<const N: usize>(
        mut self,
        name: &'static str,
        rows: impl IntoIterator<Item = [i32; N]>,
    ) -> Facts {
        let cells = rows.into_iter().flatten().collect();
        self.0.push(Relation { name, arity: N, cells });
        self
    }

    pub fn iter(&self) -> impl Iterator<Item = &Relation> {
        self.0.iter()
    }
}

/// The representation of the number of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keys {
    /// The number itself: dense small integers.
    Near,
    /// Random integers of 62 bits.
    Far,
    /// Random texts.
    Text,
}

impl Keys {
    /// The name for peers that are programs.
    pub fn name(self) -> &'static str {
        match self {
            Keys::Near => "near",
            Keys::Far => "far",
            Keys::Text => "text",
        }
    }

    fn write(self, number: i32, seed: u64, out: &mut String) {
        use std::fmt::Write;
        let drawn = hash_u64(seed ^ number as u64) >> 2;
        let written = match self {
            Keys::Near => write!(out, "{number}"),
            Keys::Far => write!(out, "{drawn}"),
            Keys::Text => write!(out, "node-{drawn:x}"),
        };
        debug_assert!(written.is_ok(), "a text takes all");
    }
}

/// A folder with a file for each relation, removed on drop.
#[derive(Debug)]
pub struct Files {
    folder: PathBuf,
}

impl Files {
    /// Writes the facts of a case.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn write(name: &str, facts: &Facts, keys: Keys, seed: u64) -> Result<Files, String> {
        let name = format!("tidemill-datalog-{}-{name}", std::process::id());
        let files = Files { folder: std::env::temp_dir().join(name) };
        let failed = |error: std::io::Error| format!("{}: {error}", files.folder.display());
        fs::create_dir_all(&files.folder).map_err(failed)?;
        for relation in facts.iter() {
            let mut text = String::new();
            for row in relation.cells.chunks(relation.arity) {
                for (at, &cell) in row.iter().enumerate() {
                    text += if at == 0 { "" } else { "," };
                    keys.write(cell, seed, &mut text);
                }
                text.push('\n');
            }
            fs::write(files.file(relation.name), text).map_err(failed)?;
        }
        Ok(files)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn file(&self, relation: &str) -> PathBuf {
        self.folder.join(format!("{relation}.csv"))
    }

    /// The text of a relation's file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn text(&self, relation: &str) -> Result<String, String> {
        fs::read_to_string(self.file(relation)).map_err(|error| format!("{relation}: {error}"))
    }

    /// The text of a relation's file, for engines that need `'static` keys: it is small, and stays
    /// until the process ends.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn kept_text(&self, relation: &str) -> Result<&'static str, String> {
        let text: &'static str = self.text(relation)?.leak();
        KEPT.lock().unwrap_or_else(PoisonError::into_inner).push(text);
        Ok(text)
    }

    /// The rows of a relation, in the form of engines of this process.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn rows<K: Key, const N: usize>(&self, relation: &str) -> Result<Vec<[K; N]>, String> {
        let text = self.kept_text(relation)?;
        let row = |line: &'static str| {
            let mut fields = line.split(',').map(K::read);
            let row: [Option<K>; N] = std::array::from_fn(|_| fields.next().flatten());
            let row: Option<Vec<K>> = row.into_iter().collect();
            row.and_then(|row| <[K; N]>::try_from(row).ok()).ok_or(format!("{relation}: {line}"))
        };
        text.lines().map(row).collect()
    }

    /// The rows of a relation of two columns.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn pairs<K: Key>(&self, relation: &str) -> Result<Vec<(K, K)>, String> {
        Ok(self.rows(relation)?.into_iter().map(|[a, b]| (a, b)).collect())
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // It is in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A key in the form of engines of this process: all copy it.
pub trait Key: Copy + Ord + std::hash::Hash + 'static {
    fn read(field: &'static str) -> Option<Self>;
}

impl Key for i32 {
    fn read(field: &'static str) -> Option<i32> {
        field.parse().ok()
    }
}

impl Key for i64 {
    fn read(field: &'static str) -> Option<i64> {
        field.parse().ok()
    }
}

impl Key for &'static str {
    fn read(field: &'static str) -> Option<&'static str> {
        Some(field)
    }
}
