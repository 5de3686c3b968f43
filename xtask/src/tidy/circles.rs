//! Files of a crate that need each other: their number may only fall. `cargo xtask circles` shows
//! the names that make a circle.

use super::findings::Findings;
use crate::circles::{crates, find};
use crate::tree::Tree;

/// The remaining circles of a crate. Lower the numbers when a circle is broken.
struct Allowed {
    folder: &'static str,
    /// Files that are in some circle.
    files: usize,
    /// Files of the largest circle.
    largest: usize,
}

const ALLOWED: [Allowed; 6] = [
    Allowed { folder: "crates/cl", files: 11, largest: 3 },
    Allowed { folder: "crates/fabric", files: 5, largest: 3 },
    Allowed { folder: "crates/overlog", files: 6, largest: 3 },
    Allowed { folder: "crates/proc", files: 6, largest: 2 },
    Allowed { folder: "crates/relation", files: 5, largest: 3 },
    Allowed { folder: "crates/tidemill", files: 2, largest: 2 },
];

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    for (folder, sources) in crates(tree) {
        let allowed = ALLOWED.iter().find(|allowed| allowed.folder == folder);
        let allowed = allowed.map_or((0, 0), |allowed| (allowed.files, allowed.largest));
        compare(folder, &sources, allowed, findings);
    }
}

fn compare(
    folder: &str,
    sources: &[(&str, &str)],
    allowed: (usize, usize),
    findings: &mut Findings,
) {
    let circles = find(sources);
    let files = circles.iter().map(|circle| circle.size()).sum();
    let largest = circles.first().map_or(0, |circle| circle.size());
    if (files, largest) == allowed {
        return;
    }
    let found = format!("{files} files in circles, {largest} in the largest");
    let limit = format!("{} and {}", allowed.0, allowed.1);
    let message = if files > allowed.0 || largest > allowed.1 {
        let ring = circles.first().map_or(String::new(), |circle| circle.ring());
        format!("{found}; allowed are {limit}: {ring}")
    } else {
        format!("{found}; lower what is allowed ({limit}) in {}", file!())
    };
    findings.add(&format!("{folder}/src"), 1, message);
}

#[cfg(test)]
mod tests {
    use super::*;

    const CIRCLE: [(&str, &str); 2] =
        [("a.rs", "use crate::b::B; pub struct A;"), ("b.rs", "use crate::a::A; pub struct B;")];

    fn compared(allowed: (usize, usize)) -> String {
        let mut findings = Findings::default();
        compare("crates/x", &CIRCLE, allowed, &mut findings);
        findings.0.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn more_is_not_allowed() {
        let one = "crates/x/src:1: 2 files in circles, 2 in the largest; allowed are 0 and 0: \
                   a.rs -> b.rs -> a.rs";
        assert_eq!(compared((0, 0)), one);
        assert_eq!(compared((2, 2)), "");
    }

    #[test]
    fn less_is_to_be_kept() {
        assert!(compared((4, 2)).contains("lower what is allowed (4 and 2)"));
        assert!(compared((3, 3)).contains("lower what is allowed"));
    }
}
