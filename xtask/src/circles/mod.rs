//! Circles of files: the files of a crate that need each other.
//!
//! A file *uses* another if its code names something that the other defines: by a private `use`,
//! or by a path (`module::item`). Names are followed through re-exports to the file with the
//! definition, so
//! * `mod child;` and `pub use child::Name;` are no uses (a module that only lists its children
//!   uses none of them), unless the code of the file also says `Name`;
//! * `super::Name` is a use of the parent only if the parent defines `Name`.
//!
//! Methods are not followed: what is called on a value belongs to the file that defines its type.
//! Tests may use what they like. A *circle* is a strongly connected component of more than one
//! file.

mod resolve;
mod scan;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use crate::tree::Tree;
use resolve::Sources;

/// Files that need each other, and the names that make them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Circle {
    /// Uses within the circle, by user and used file.
    uses: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
}

impl Circle {
    pub fn size(&self) -> usize {
        self.uses.len()
    }

    /// A shortest cycle from the first file, as a starting point.
    pub fn ring(&self) -> String {
        let Some(first) = self.uses.keys().next() else { return String::new() };
        let mut before: BTreeMap<&str, &str> = BTreeMap::new();
        let mut queue = VecDeque::from([first.as_str()]);
        while let Some(file) = queue.pop_front() {
            for other in self.uses[file].keys() {
                if other == first {
                    let mut ring = vec![first.as_str()];
                    let mut at = file;
                    while at != first {
                        ring.push(at);
                        at = before[at];
                    }
                    ring.push(first);
                    ring.reverse();
                    return ring.join(" -> ");
                }
                if !before.contains_key(other.as_str()) {
                    before.insert(other, file);
                    queue.push_back(other);
                }
            }
        }
        String::new()
    }
}

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (file, used) in &self.uses {
            writeln!(f, "    {file}")?;
            for (other, names) in used {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                writeln!(f, "      -> {other}: {}", names.join(", "))?;
            }
        }
        Ok(())
    }
}

/// The sources of a crate: the folder (`crates/wire`), and its files by their paths below `src/`.
pub fn crates(tree: &Tree) -> BTreeMap<&str, Vec<(&str, &str)>> {
    let mut crates: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for (path, text) in tree.files() {
        if let Some((folder, file)) = path.split_once("/src/")
            && (folder.starts_with("crates/") || matches!(folder, "apps" | "bench" | "xtask"))
            && file.ends_with(".rs")
        {
            crates.entry(folder).or_default().push((file, text));
        }
    }
    crates
}

/// The circles of a crate, largest first.
pub fn find(files: &[(&str, &str)]) -> Vec<Circle> {
    let sources = Sources::of(files.iter().copied());
    let names: Vec<&str> = sources.names().collect();
    let uses: Uses<'_> = names.iter().map(|&name| (name, sources.uses(name))).collect();
    let mut circles: Vec<Circle> = components(&uses)
        .into_iter()
        .filter(|files| files.len() > 1)
        .map(|files| {
            let within = |file: &&str| {
                let used = uses[file].iter().filter(|(other, _)| files.contains(*other));
                let used = used.map(|(other, names)| ((*other).to_owned(), names.clone()));
                ((*file).to_owned(), used.collect())
            };
            Circle { uses: files.iter().map(within).collect() }
        })
        .collect();
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.size()));
    circles
}

type Uses<'g> = BTreeMap<&'g str, BTreeMap<&'g str, BTreeSet<String>>>;

/// Strongly connected components (Tarjan, "Depth-first search and linear graph algorithms", 1972).
fn components<'g>(uses: &'g Uses<'g>) -> Vec<BTreeSet<&'g str>> {
    let mut search = Search {
        uses,
        index: BTreeMap::new(),
        low: BTreeMap::new(),
        stack: Vec::new(),
        found: Vec::new(),
    };
    for &file in uses.keys() {
        if !search.index.contains_key(file) {
            search.visit(file);
        }
    }
    search.found
}

struct Search<'g> {
    uses: &'g Uses<'g>,
    /// Files in the order of discovery.
    index: BTreeMap<&'g str, usize>,
    /// The first file on the stack that a file leads back to.
    low: BTreeMap<&'g str, usize>,
    /// Files whose component is not complete.
    stack: Vec<&'g str>,
    found: Vec<BTreeSet<&'g str>>,
}

impl<'g> Search<'g> {
    /// Recurses once a file: a crate has some hundred at most.
    fn visit(&mut self, file: &'g str) {
        let index = self.index.len();
        self.index.insert(file, index);
        let mut low = index;
        self.stack.push(file);
        for &other in self.uses[file].keys() {
            if !self.index.contains_key(other) {
                self.visit(other);
                low = low.min(self.low[other]);
            } else if self.stack.contains(&other) {
                low = low.min(self.index[other]);
            }
        }
        self.low.insert(file, low);
        if low == index {
            let start = self.stack.iter().rposition(|&other| other == file).unwrap_or(0);
            self.found.push(self.stack.drain(start..).collect());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn circles_are_found_and_shown() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; mod d; mod e;"),
            ("a.rs", "use crate::b::B;\npub struct A;"),
            ("b.rs", "pub struct B; fn f() { crate::c::g() }"),
            ("c.rs", "use crate::a::A; pub fn g() {}"),
            ("d.rs", "use crate::{a::A, e::E}; pub struct D;"),
            ("e.rs", "use super::d::D; pub struct E;"),
        ];
        let circles = find(&files);
        assert_eq!(circles.iter().map(super::Circle::size).collect::<Vec<_>>(), [3, 2]);
        assert_eq!(circles[0].ring(), "a.rs -> b.rs -> c.rs -> a.rs");
        assert_eq!(
            circles[1].to_string(),
            "    d.rs\n      -> e.rs: E\n    e.rs\n      -> d.rs: D\n"
        );
    }

    #[test]
    fn a_parent_that_only_lists_its_children_is_in_no_circle() {
        let files = [
            ("a/mod.rs", "mod b; pub use b::B; pub struct A;"),
            ("a/b.rs", "use super::A; pub struct B(A);"),
        ];
        assert!(find(&files).is_empty());
        let needs = [("a/mod.rs", "mod b; pub struct A(b::B);"), files[1]];
        assert_eq!(find(&needs).len(), 1);
    }

    #[test]
    fn tests_may_look_anywhere() {
        let files = [
            ("a.rs", "pub struct A; #[cfg(test)] mod tests { use crate::b::B; }"),
            ("b.rs", "use crate::a::A; pub struct B;"),
        ];
        assert!(find(&files).is_empty());
    }
}
