//! The promises of the front page: licences that exist, and tests that CI runs with the same
//! command.

use super::findings::Findings;
use crate::tree::Tree;

const LICENCES: [(&str, &str); 2] = [
    ("LICENSE-MIT", "Permission is hereby granted"),
    ("LICENSE-APACHE", "Version 2.0, January 2004"),
];
const PAGES: [&str; 4] = ["README.md", "ARCHITECTURE.md", "STYLE.md", "CHANGELOG.md"];
const CI: &str = ".ci/run";
const TEST: &str = "cargo test";

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    for (path, phrase) in LICENCES {
        if !tree.get(path).is_some_and(|text| text.contains(phrase)) {
            findings.add(path, 1, "the text of the licence is missing");
        }
    }
    for path in PAGES {
        if tree.get(path).is_none() {
            findings.add(path, 1, "the page is missing");
        }
    }
    same_tests(tree, findings);
}

/// The first `cargo test` of a block of commands in the README is a line of CI.
fn same_tests(tree: &Tree, findings: &mut Findings) {
    let readme = tree.get("README.md").unwrap_or_default();
    let Some((line, command)) = commands(readme).find(|(_, text)| text.starts_with(TEST)) else {
        findings.add("README.md", 1, format!("no command runs the tests (`{TEST} ...`)"));
        return;
    };
    let ci = tree.get(CI).unwrap_or_default();
    if !ci.lines().any(|line| line.trim() == command) {
        findings.add("README.md", line, format!("`{command}` is not what {CI} runs"));
    }
}

/// The lines between fences, without the prompt and a comment at the end.
fn commands(page: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    page.lines().enumerate().filter_map(move |(i, line)| {
        if line.starts_with("```") {
            fenced = !fenced;
            return None;
        }
        let command = line.split(" # ").next().unwrap_or(line).trim();
        fenced.then(|| (i + 1, command.trim_start_matches("$ ")))
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;
    use super::check;

    const MIT: (&str, &str) = ("LICENSE-MIT", "Permission is hereby granted\n");
    const APACHE: (&str, &str) = ("LICENSE-APACHE", "Version 2.0, January 2004\n");

    fn with(readme: &str, ci: &str) -> String {
        let pages = [("STYLE.md", ""), ("ARCHITECTURE.md", ""), ("CHANGELOG.md", "")];
        let mut files = vec![MIT, APACHE, ("README.md", readme), (".ci/run", ci)];
        files.extend(pages);
        found(check, &files)
    }

    #[test]
    fn ci_runs_the_commands_of_the_readme() {
        let readme =
            "cargo test in words\n```sh\ncargo run # go\n$ cargo test --all   # test\n```\n";
        assert_eq!(with(readme, "set -e\ncargo test --all\n"), "");
        assert_eq!(
            with(readme, "set -e\ncargo test\n"),
            "README.md:4: `cargo test --all` is not what .ci/run runs\n"
        );
        assert!(with("no commands\n", "cargo test\n").contains("no command runs the tests"));
    }

    #[test]
    fn licences_and_pages_are_there() {
        let missing = found(check, &[MIT, ("README.md", "```\ncargo test\n```\n")]);
        for page in ["LICENSE-APACHE:1:", "STYLE.md:1:", "README.md:2:"] {
            assert!(missing.contains(page), "{missing}");
        }
        assert!(!missing.contains("LICENSE-MIT"));
    }
}
