//! Functions that one cannot read at a glance.
//!
//! The sources are formatted, so a function ends at the next `}` that stands as deep as its head.
//! A function that is better left whole, such as a table with a short arm for each case, says so in
//! a comment directly above its head or in it: `// One piece: an arm for each instruction.`

use super::findings::Findings;
use crate::circles::crates;
use crate::tree::Tree;

/// The maximum number of lines of a function, head and end included.
const LINES_MAX: usize = 60;

/// The beginning of the comment of a function that is left whole.
const ONE_PIECE: &str = "// One piece: ";

/// A long function.
#[derive(PartialEq, Eq, Debug)]
struct Long<'s> {
    name: &'s str,
    /// Of its head, from 1.
    line: usize,
    lines: usize,
}

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    for (folder, sources) in crates(tree) {
        list(folder, &sources, findings);
    }
}

fn list(folder: &str, sources: &[(&str, &str)], findings: &mut Findings) {
    for (file, text) in sources.iter().filter(|(file, _)| !is_test(file)) {
        for Long { name, line, lines } in long(text) {
            let message = format!("`{name}` has {lines} lines; the limit is {LINES_MAX}");
            findings.add(&format!("{folder}/src/{file}"), line, message);
        }
    }
}

fn is_test(file: &str) -> bool {
    file.split('/').any(|part| part == "tests" || part == "tests.rs")
}

/// The functions of a source that are too long and do not say why; those of its tests do not count.
fn long(text: &str) -> Vec<Long<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        if lines[at].trim() == "#[cfg(test)]"
            && let Some(next) = lines.get(at + 1).filter(|next| next.ends_with('{'))
        {
            at = end_of(&lines, at + 1, indent(next)) + 1;
            continue;
        }
        if let Some(name) = head(lines[at]) {
            let length = end_of(&lines, at, indent(lines[at])) - at + 1;
            if length > LINES_MAX && !is_one_piece(&lines, at) {
                found.push(Long { name, line: at + 1, lines: length });
            }
        }
        at += 1;
    }
    found
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// The name of the function whose head begins in this line.
fn head(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let word = |word: &str| {
        matches!(word, "const" | "async" | "unsafe" | "extern" | "pub" | "default")
            || word.starts_with(['"', '('])
            || word.starts_with("pub(")
            || word.ends_with(')')
    };
    let name = after.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    (before.split_whitespace().all(word) && !name.is_empty()).then_some(name)
}

/// The line where the item that begins in this line ends: its `}`, or, without a body, its `;`.
fn end_of(lines: &[&str], start: usize, indent: &str) -> usize {
    if lines[start].ends_with('}') || lines[start].ends_with(';') {
        return start;
    }
    let ends = |line: &&str| {
        let own = line.strip_prefix(indent).filter(|own| !own.starts_with(char::is_whitespace));
        own.is_some_and(|own| own == "}" || own.ends_with(';'))
    };
    let rest = lines[start + 1..].iter().position(ends);
    rest.map_or(lines.len() - 1, |rest| start + 1 + rest)
}

/// Whether a comment in the lines directly above a head, or in the head, says why the function is
/// left whole.
fn is_one_piece(lines: &[&str], head: usize) -> bool {
    let says = |line: &&str| line.trim_start().starts_with(ONE_PIECE);
    let attached = |line: &&&str| line.trim_start().starts_with(['/', '#']);
    let above = lines[..head].iter().rev().take_while(attached);
    let opened = lines[head..].iter().position(|line| line.ends_with('{')).unwrap_or(0);
    let within = lines[head..].iter().take(opened + 2);
    above.chain(within).any(says)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function of this number of lines, after what stands above it.
    fn function(above: &str, lines: usize) -> String {
        format!("{above}fn f() {{\n{}}}\n", "    g();\n".repeat(lines - 2))
    }

    fn lengths(text: &str) -> Vec<usize> {
        long(text).iter().map(|long| long.lines).collect()
    }

    #[test]
    fn long_functions_are_found() {
        assert_eq!(lengths(&function("", 60)), []);
        assert_eq!(long(&function("", 61)), [Long { name: "f", line: 1, lines: 61 }]);
        let method = "impl A {\n    pub(super) const unsafe fn f(\n        a: u8,\n    ) {\n"
            .to_owned()
            + &"        g();\n".repeat(60)
            + "    }\n}\n";
        assert_eq!(long(&method), [Long { name: "f", line: 2, lines: 64 }]);
        // Two short ones, a declaration, and a word that only looks like a head.
        let short = function("trait T {\n    fn f(\n        a: u8,\n    );\n}\n", 40);
        assert_eq!(lengths(&format!("{short}{short}// a fn f of many lines\n")), []);
    }

    #[test]
    fn a_reason_is_enough() {
        assert_eq!(lengths(&function("// One piece: a table.\n#[inline]\n", 99)), []);
        let within = function("", 99).replacen("    g", "    // One piece: a table.\n    g", 1);
        assert_eq!(lengths(&within), []);
        assert_eq!(lengths(&function("// One piece: another.\n\n", 99)), [99]);
        assert_eq!(lengths(&function("// Long.\n", 99)), [99]);
    }

    #[test]
    fn tests_may_be_long() {
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "    g();\n".repeat(9));
        assert_eq!(lengths(&(tests.clone() + &function("", 61))), [61]);
        let inner = function("    ", 70).replace("\n}", "\n    }");
        let within = tests.replacen("    g();\n", &inner, 1);
        assert_eq!(lengths(&within), []);
        assert!(is_test("node/tests.rs") && is_test("tests/a.rs") && !is_test("test.rs"));
    }

    #[test]
    fn functions_of_tests_are_not_listed() {
        let text = function("", 61);
        let mut findings = Findings::default();
        list("crates/x", &[("a.rs", &text), ("tests.rs", &text)], &mut findings);
        let found: String = findings.0.iter().map(ToString::to_string).collect();
        assert_eq!(found, "crates/x/src/a.rs:1: `f` has 61 lines; the limit is 60");
    }
}
