//! Names that are close to one that does not exist.

use super::{FUNCTIONS, Function, FunctionId};
use crate::types::TypeSet;

/// The functions whose names are closest to `name`, at most three, the closest first.
pub fn suggestions(name: &str) -> Vec<&'static str> {
    closest(name, FUNCTIONS.iter().map(|function| function.name))
}

impl Function {
    /// A function that does much the same and takes arguments of these types.
    pub fn instead(&self, arguments: &[TypeSet]) -> Option<&'static Function> {
        let others = self.see.iter().filter_map(|name| FunctionId::from_name(name));
        others.map(FunctionId::function).find(|other| other.result_type(arguments).is_ok())
    }
}

/// Those of `candidates` that `name` may be a misspelling of, at most three, the closest first.
pub fn closest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Vec<&'c str> {
    /// Longer words are no names of ours, and not worth the work.
    const LENGTH_MAX: usize = 64;
    if name.len() > LENGTH_MAX {
        return Vec::new();
    }
    let wanted = name.to_ascii_lowercase();
    let tolerance = (wanted.len() / 3).max(1);
    let mut close: Vec<_> = (candidates.into_iter())
        .map(|candidate| (distance(&wanted, &candidate.to_ascii_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= tolerance)
        .collect();
    close.sort_unstable();
    close.into_iter().take(3).map(|(_, candidate)| candidate).collect()
}

/// Levenshtein distance: the fewest insertions, deletions and replacements of bytes.
fn distance(a: &str, b: &str) -> usize {
    let b = b.as_bytes();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
