//! Relations as CSV files.

use std::fmt::Debug;
use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

pub struct Folder(PathBuf);

impl Folder {
    pub fn new(path: &str) -> Folder {
        Folder(PathBuf::from(path))
    }

    pub fn has(&self, relation: &str) -> bool {
        self.file(relation).exists()
    }

    fn file(&self, relation: &str) -> PathBuf {
        self.0.join(format!("{relation}.csv"))
    }

    /// The rows of a relation.
    pub fn rows<K: FromStr<Err: Debug>>(&self, relation: &str) -> Vec<Vec<K>> {
        let text = fs::read_to_string(self.file(relation)).expect("a file of facts");
        let row = |line: &str| {
            line.split(',').map(|field| field.parse().expect("a field")).collect::<Vec<K>>()
        };
        text.lines().map(row).collect()
    }

    /// The rows of a relation of two columns.
    pub fn pairs(&self, relation: &str) -> Vec<(i32, i32)> {
        self.rows::<i32>(relation).into_iter().map(|row| (row[0], row[1])).collect()
    }
}
