//! Checks the programs in the book, the README and the pages of the examples: a block marked `olg`,
//! `cl` or `flow` must be free of errors, one also marked `wrong` must have one.

use std::process::Command;

use crate::common::{all_pages, root};

/// A program in a page.
struct Block {
    line: usize,
    /// The language, also the ending of its files.
    kind: String,
    wrong: bool,
    /// The next block is another file of the same program.
    joined: bool,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    for (i, line) in page.lines().enumerate() {
        match line.strip_prefix("```") {
            Some("") => open = false,
            Some(kind) => {
                let (language, rest) = kind.split_once(' ').unwrap_or((kind, ""));
                open = matches!(language, "olg" | "cl" | "flow");
                if open {
                    let (wrong, joined) = (rest.contains("wrong"), rest.contains("joined"));
                    let (line, kind) = (i + 1, language.to_owned());
                    blocks.push(Block { line, kind, wrong, joined, text: String::new() });
                }
            }
            None => {
                if let Some(block) = blocks.last_mut().filter(|_| open) {
                    block.text.push_str(line);
                    block.text.push('\n');
                }
            }
        }
    }
    blocks
}

#[test]
fn programs_in_pages_are_right() {
    let all = all_pages();

    let folder = std::env::temp_dir().join(format!("tidemill-book-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut checked = 0;
    let mut failures = String::new();
    for page in &all {
        let text = std::fs::read_to_string(page).expect("a page");
        let mut files = Vec::new();
        for block in blocks(&text) {
            let file = folder.join("block").with_extension(&block.kind);
            std::fs::write(&file, &block.text).expect("written");
            files.push(file);
            if block.joined {
                continue;
            }
            let output = Command::new(env!("CARGO_BIN_EXE_tidemill"))
                .arg("check")
                .args(files.drain(..))
                .output()
                .expect("the program starts");
            checked += 1;
            let wanted = if block.wrong { 1 } else { 0 };
            if output.status.code() != Some(wanted) {
                let errors = String::from_utf8_lossy(&output.stderr);
                failures += &format!("{}:{}: {errors}\n", page.display(), block.line);
            }
        }
    }
    std::fs::remove_dir_all(&folder).expect("removed");
    assert!(failures.is_empty(), "{failures}");
    assert!(checked > 10, "only {checked} programs found");
}

#[test]
fn blocks_are_found() {
    let page = "a\n```olg\np.\n```\n```sh\nx\n```\n```olg wrong\nq\nr\n```\n";
    let found: Vec<_> = blocks(page).iter().map(|b| (b.line, b.wrong, b.text.clone())).collect();
    assert_eq!(found, [(2, false, "p.\n".to_owned()), (8, true, "q\nr\n".to_owned())]);
}

/// The Rust programs of a page are examples of the library, which are compiled.
#[test]
fn programs_in_rust_are_examples() {
    let page = std::fs::read_to_string(root().join("docs/book/embedding.md")).expect("a page");
    for name in ["simulate", "serve"] {
        let file = root().join(format!("crates/tidemill/examples/{name}.rs"));
        let text = std::fs::read_to_string(file).expect("an example");
        assert!(page.contains(&format!("```rust\n{text}```\n")), "{name}.rs is not as in the page");
    }
    assert_eq!(page.matches("```rust").count(), 2);
}

/// The page of functions agrees with the catalogue.
#[test]
fn functions_in_the_page_are_those_of_the_program() {
    let page = std::fs::read_to_string(root().join("docs/book/functions.md")).expect("a page");
    let page = page.replace("\\|", "|");
    let output = Command::new(env!("CARGO_BIN_EXE_tidemill"))
        .arg("functions")
        .output()
        .expect("the program starts");
    let list = String::from_utf8(output.stdout).expect("text");
    let signatures: Vec<&str> =
        list.lines().map(str::trim).filter(|line| line.starts_with("f_")).collect();
    assert!(signatures.len() > 40, "{list}");
    for line in signatures {
        assert!(page.contains(&format!("`{line}`")), "`{line}` is not in the page");
    }
}

/// The README's program of rules is the example that its session runs.
#[test]
fn the_readme_shows_an_example() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).expect(path);
    let shown = blocks(&read("README.md")).into_iter().find(|block| block.kind == "olg");
    assert_eq!(shown.expect("a program").text, read("examples/routes/routes.olg"));
}
