//! `unsafe` is confined to a few crates, and to two files of another one; the roots of all others
//! forbid it.

use super::findings::Findings;
use super::rust::code_only;
use crate::tree::Tree;

/// Folders that may contain unsafe code.
const MAY: [&str; 14] = [
    "crates/stdx/",
    "crates/stat/",
    "crates/event/",
    "crates/jit/",
    "crates/wire/",
    "crates/wire-c/",
    "crates/pore/",
    "crates/proc/",
    "crates/packet/",
    "crates/filter/",
    "crates/relation/",
    "bench/",
    "fuzz/",
    "python/",
];

/// Files of crates whose other code must not be unsafe: the path from the component language to the
/// run-time, which trusts it. The roots deny it for the rest.
const FILES: [&str; 2] = ["crates/cl/src/compile/mod.rs", "crates/cl/src/interpret/access.rs"];

const FORBID: &str = "#![forbid(unsafe_code)]";
const DENY: &str = "#![deny(unsafe_code)]";

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    for (path, text) in tree.files().filter(|(path, _)| path.ends_with(".rs")) {
        if MAY.iter().any(|folder| path.starts_with(folder)) || FILES.contains(&path) {
            continue;
        }
        let code = code_only(text);
        for (i, line) in code.lines().enumerate() {
            if words(line).any(|word| word == "unsafe") {
                findings.add(path, i + 1, "`unsafe` is not allowed in this crate");
            }
        }
        let root = path.ends_with("src/lib.rs") || path.ends_with("src/main.rs");
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let has_some = root && FILES.iter().any(|file| file.starts_with(folder));
        let rule = if has_some { DENY } else { FORBID };
        if root && !code.lines().any(|line| line.trim() == rule) {
            findings.add(path, 1, format!("no unsafe code here: say `{rule}`"));
        }
    }
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;
    use super::check;

    #[test]
    fn unsafe_code_stays_where_it_may_be() {
        let code = "//! unsafe in words\n#![forbid(unsafe_code)]\nfn f() { unsafe { g() } }\n";
        assert_eq!(
            found(check, &[("crates/overlog/src/lib.rs", code)]),
            "crates/overlog/src/lib.rs:3: `unsafe` is not allowed in this crate\n"
        );
        assert_eq!(found(check, &[("crates/jit/src/lib.rs", code)]), "");
        let denied = "#![deny(unsafe_code)]\nfn f() {}\n";
        assert_eq!(found(check, &[("crates/cl/src/lib.rs", denied)]), "");
        assert_eq!(found(check, &[("crates/cl/src/interpret/access.rs", code)]), "");
    }

    #[test]
    fn the_others_forbid_it() {
        let found = found(
            check,
            &[
                ("crates/cli/src/main.rs", "//! x\nfn main() {}\n"),
                ("crates/cli/src/other.rs", "fn f() {}\n"),
                ("crates/stdx/src/lib.rs", "//! x\n"),
            ],
        );
        assert_eq!(found.lines().count(), 1, "{found}");
        assert!(found.starts_with("crates/cli/src/main.rs:1: no unsafe code here: say `#![forbid"));
    }
}
