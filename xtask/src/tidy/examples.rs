//! Every example explains itself and is a test.

use std::collections::BTreeSet;

use super::findings::Findings;
use crate::tree::Tree;

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    let folder = |path: &'_ str| -> Option<String> {
        let (name, _) = path.strip_prefix("examples/")?.split_once('/')?;
        Some(format!("examples/{name}"))
    };
    let folders: BTreeSet<String> = tree.files().filter_map(|(path, _)| folder(path)).collect();
    for folder in folders {
        let readme = format!("{folder}/README.md");
        if tree.get(&readme).is_none() {
            findings.add(&readme, 1, "an example says what it shows and how to run it");
        }
        let name = folder.trim_start_matches("examples/");
        let is_there = |ending: &str| tree.get(&format!("{folder}/{name}.{ending}")).is_some();
        if is_there("com") || is_there("flow") || is_there("c") {
            let output = format!("{folder}/test.out");
            let is_simulated = tree.get(&format!("{folder}/test.sim")).is_some();
            if !is_simulated && !tree.get(&output).is_some_and(|text| text.ends_with('\n')) {
                findings.add(
                    &output,
                    1,
                    "an example of components, apps or C says what comes of it",
                );
            }
            if !is_simulated {
                continue;
            }
        }
        if is_there("proto") {
            // Sessions in pages are tests.
            if tree.get(&readme).is_some_and(|text| !text.contains("```console\n")) {
                findings.add(&readme, 1, "an example of messages has a session");
            }
            continue;
        }
        let script = format!("{folder}/test.sim");
        let command = format!("# tidemill sim {folder}");
        if !tree.get(&script).is_some_and(|text| text.starts_with(&command)) {
            findings.add(&script, 1, format!("the first line is the command: `{command}...`"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;
    use super::check;

    #[test]
    fn examples_have_a_page_and_a_test() {
        let files = [
            ("examples/a/a.olg", ""),
            ("examples/a/README.md", ""),
            ("examples/a/test.sim", "# tidemill sim examples/a/a.olg\nat 1 end\n"),
            ("examples/b/b.olg", ""),
            ("examples/b/test.sim", "at 1 end\n"),
            ("examples/c/README.md", ""),
            ("examples/c/c.com", ""),
            ("examples/c/test.out", "printed\n"),
            ("examples/d/README.md", ""),
            ("examples/d/d.com", ""),
            ("examples/e/README.md", ""),
            ("examples/e/e.flow", ""),
            ("examples/e/test.out", "a.pcap\n"),
            ("examples/f/README.md", ""),
            ("examples/f/f.proto", ""),
        ];
        let found = found(check, &files);
        assert_eq!(found.lines().count(), 4, "{found}");
        assert!(found.contains("examples/b/README.md:1:"));
        assert!(found.contains("examples/b/test.sim:1:"));
        assert!(found.contains("examples/d/test.out:1:"));
        assert!(found.contains("examples/f/README.md:1:"));
    }
}
