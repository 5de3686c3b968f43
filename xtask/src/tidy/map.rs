//! The map is right: files and folders that ARCHITECTURE.md names exist.

use super::findings::Findings;
use crate::tree::Tree;

const MAP: &str = "ARCHITECTURE.md";

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    for (i, line) in tree.get(MAP).unwrap_or_default().lines().enumerate() {
        for name in line.split('`').skip(1).step_by(2).filter(|name| is_path(name)) {
            if !tree.files().any(|(file, _)| leads_to(file, name)) {
                findings.add(MAP, i + 1, format!("there is no `{name}`"));
            }
        }
    }
}

/// Whether a name in back quotes is that of a file of ours or of a folder.
fn is_path(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    let is_named = [".rs", ".proto", "/"].iter().any(|end| name.ends_with(end));
    is_named && !name.starts_with('.') && name.chars().all(is_plain)
}

/// Whether a file is, or is in, what a name stands for. What has been named with its whole path is
/// often meant by the end of it further on.
fn leads_to(file: &str, name: &str) -> bool {
    let (file, name) = (format!("/{file}"), format!("/{name}"));
    if name.ends_with('/') { file.contains(&name) } else { file.ends_with(&name) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;
    use super::check;

    fn with(map: &str) -> String {
        found(check, &[("ARCHITECTURE.md", map), ("crates/a/src/b.rs", ""), ("ab/c.proto", "")])
    }

    #[test]
    fn what_is_named_exists() {
        assert_eq!(with("`crates/a/src/b.rs`, then `b.rs` and `src/`\n`.proto`, `x y.rs`"), "");
        assert_eq!(
            with("first\n`crates/a/src/c.rs`, `b/c.proto`, `rc/`"),
            "ARCHITECTURE.md:2: there is no `b/c.proto`\n\
             ARCHITECTURE.md:2: there is no `crates/a/src/c.rs`\n\
             ARCHITECTURE.md:2: there is no `rc/`\n"
        );
    }
}
