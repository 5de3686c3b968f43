//! Checks the maps: files and folders that they name exist, and files define the names that
//! directly follow them.

use super::findings::Findings;
use crate::tree::Tree;

/// Pages that lead through the source.
const MAPS: [&str; 2] = ["ARCHITECTURE.md", "docs/walk-through.md"];

/// The kinds of items that a name after a file may refer to.
const ITEMS: [&str; 7] = ["fn", "struct", "enum", "trait", "type", "const", "static"];

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    for map in MAPS {
        let text = tree.get(map).unwrap_or_default();
        check_paths(tree, (map, text), findings);
        check_names(tree, (map, text), findings);
    }
}

fn check_paths(tree: &Tree, (map, text): (&str, &str), findings: &mut Findings) {
    for (i, line) in text.lines().enumerate() {
        for name in line.split('`').skip(1).step_by(2).filter(|name| is_path(name)) {
            if !tree.files().any(|(file, _)| leads_to(file, name)) {
                findings.add(map, i + 1, format!("there is no `{name}`"));
            }
        }
    }
}

/// Checks names in the form `` `a/b.rs`: `name`, `name` ``, which may continue on the next line.
fn check_names(tree: &Tree, (map, text): (&str, &str), findings: &mut Findings) {
    // The file of the expected names, and the text required between it and them.
    let (mut file, mut expected) = (None, ":");
    let mut between = String::new();
    for (i, line) in text.lines().enumerate() {
        // Quotes are paired per line, as the fences of code blocks are odd in number.
        for (number, part) in line.split('`').enumerate() {
            if number % 2 == 0 {
                between.push_str(part);
                continue;
            }
            let follows = std::mem::take(&mut between).trim() == expected;
            if is_path(part) && part.ends_with(".rs") {
                (file, expected) = (Some(part), ":");
                continue;
            }
            file = file.filter(|_| follows && is_name(part));
            expected = ",";
            if let Some(path) = file.filter(|path| !is_defined(tree, path, part)) {
                findings.add(map, i + 1, format!("`{path}` defines no `{part}`"));
            }
        }
    }
}

/// Whether a file named by a path defines an item of that name, or no such file exists, which
/// another check reports.
fn is_defined(tree: &Tree, path: &str, name: &str) -> bool {
    let mut texts = tree.files().filter(|(file, _)| leads_to(file, path)).peekable();
    texts.peek().is_none() || texts.any(|(_, text)| defines(text, name))
}

/// Whether a quoted name is that of a file of ours or of a folder.
fn is_path(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    let is_named = [".rs", ".proto", "/"].iter().any(|end| name.ends_with(end));
    is_named && !name.starts_with('.') && name.chars().all(is_plain)
}

/// Whether a quoted text may be the name of an item.
fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_letter)
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Whether a text of Rust defines an item of that name.
fn defines(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let item = before.trim_end().rsplit(|c| !is_letter(c)).next();
        before.ends_with(' ')
            && !after.starts_with(is_letter)
            && item.is_some_and(|item| ITEMS.contains(&item))
    })
}

/// Whether a file is, or is in, what a name refers to. A path that has been named in full is often
/// abbreviated to its end later.
fn leads_to(file: &str, name: &str) -> bool {
    let (file, name) = (format!("/{file}"), format!("/{name}"));
    if name.ends_with('/') { file.contains(&name) } else { file.ends_with(&name) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;
    use super::check;

    fn with(map: &str) -> String {
        let code = "pub fn run() {}\nfn runs<T>() {}\nconst WAIT_MAX: u32 = 1;\n// fn-like step\n";
        let files = [("ARCHITECTURE.md", map), ("crates/a/src/b.rs", code), ("ab/c.proto", "")];
        found(check, &files)
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

    #[test]
    fn names_behind_a_file_are_defined_there() {
        assert_eq!(
            with("`a/src/b.rs`: `run`, `runs`,\n  `WAIT_MAX`; `step`, and `b.rs`:\n`run`"),
            ""
        );
        assert_eq!(with("`b.rs`: it does `step`\n`b.rs`, `step`\n`b.rs`: `run` calls `step`"), "");
        assert_eq!(
            with("`b.rs`: `ru`\n`src/b.rs`: `run`, `step`\nthen `b.rs`:\n  `WAIT`"),
            "ARCHITECTURE.md:1: `b.rs` defines no `ru`\n\
             ARCHITECTURE.md:2: `src/b.rs` defines no `step`\n\
             ARCHITECTURE.md:4: `b.rs` defines no `WAIT`\n"
        );
        let walk = [("docs/walk-through.md", "`b.rs`: `stop`"), ("a/b.rs", "fn run() {}")];
        assert_eq!(found(check, &walk), "docs/walk-through.md:1: `b.rs` defines no `stop`\n");
    }
}
