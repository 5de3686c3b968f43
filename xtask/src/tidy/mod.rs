//! The checks. Each takes a tree and adds its findings; all run, so one run shows everything.

mod circles;
mod examples;
mod findings;
mod floors;
mod form;
mod functions;
mod manifest;
mod map;
mod promises;
mod rust;
mod unsafety;

use crate::tree::Tree;
use findings::{Finding, Findings};
pub use rust::code_only;

const CHECKS: [fn(&Tree, &mut Findings); 8] = [
    floors::check,
    circles::check,
    unsafety::check,
    form::check,
    functions::check,
    promises::check,
    map::check,
    examples::check,
];

/// All violations, by file and line.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Findings::default();
    for check in CHECKS {
        check(tree, &mut findings);
    }
    findings.0.sort();
    findings.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings of one check on a tree of these files, a line each.
    pub(super) fn found(check: fn(&Tree, &mut Findings), files: &[(&str, &str)]) -> String {
        let mut findings = Findings::default();
        check(&Tree::of(files), &mut findings);
        findings.0.sort();
        findings.0.iter().map(|finding| format!("{finding}\n")).collect()
    }

    #[test]
    fn findings_are_sorted_and_complete() {
        let tree = Tree::of(&[
            ("crates/stdx/Cargo.toml", "[dependencies]\ntidemill-event.workspace = true\n"),
            ("crates/stdx/src/lib.rs", "pub fn f() {} \n"),
        ]);
        let all: Vec<String> = check(&tree).iter().map(Finding::to_string).collect();
        assert!(all.iter().any(|one| one.starts_with("crates/stdx/Cargo.toml:2: ")), "{all:?}");
        assert!(all.iter().any(|one| one.starts_with("crates/stdx/src/lib.rs:1: ")), "{all:?}");
        assert!(all.is_sorted_by_key(|one| one.split(':').next().unwrap_or("").to_owned()));
    }
}
