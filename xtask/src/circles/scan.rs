//! Scans one source file for the graph of uses: the items of its modules, their imports, and the
//! paths named by its code.
//!
//! A scanner of words, not a parser: it recognises braces, `mod`, `use`, the words that begin
//! items, and paths. Code for tests only is skipped.

use std::collections::BTreeSet;

use crate::tidy::code_only;

/// A module, as the path from the root of its crate.
pub(super) type Module = Vec<String>;

/// `use path as name`, or `use path::*`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Import {
    /// The module that contains it.
    pub inside: Module,
    pub path: Vec<String>,
    /// The name in the module; `None` for a glob.
    pub name: Option<String>,
    pub visible: Visible,
}

/// Whether an import is for the module's own code or passes names on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Visible {
    Here,
    Elsewhere,
}

/// The contents of a file.
#[derive(Default, Debug)]
pub(super) struct Source {
    /// Items by the module that contains them.
    pub items: BTreeSet<(Module, String)>,
    pub imports: Vec<Import>,
    /// Paths of two words or more outside of `use`, with the module that contains them.
    pub paths: BTreeSet<(Module, Vec<String>)>,
    /// All words outside of `use`.
    pub words: BTreeSet<String>,
    /// Test modules in files of their own.
    pub test_modules: Vec<Module>,
}

/// Words that begin a named item.
const ITEMS: [&str; 9] =
    ["fn", "struct", "enum", "trait", "type", "const", "static", "union", "macro_rules"];

/// Scans the file of `module`.
pub(super) fn scan(module: &[String], source: &str) -> Source {
    let code = code_only(source);
    let mut scan = Scan {
        tokens: tokens(&code),
        at: 0,
        inside: module.to_vec(),
        open: vec![Brace::Module],
        found: Source::default(),
    };
    while scan.at < scan.tokens.len() {
        scan.step();
    }
    scan.found
}

/// Words (names and keywords), `::`, and all other characters one by one.
fn tokens(code: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (token, tail) = rest.split_at(length);
        tokens.push(token);
        rest = tail.trim_start();
    }
    tokens
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The construct of an open brace.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Brace {
    Module,
    Other,
}

struct Scan<'c> {
    tokens: Vec<&'c str>,
    at: usize,
    inside: Module,
    open: Vec<Brace>,
    found: Source,
}

impl<'c> Scan<'c> {
    fn peek(&self, ahead: usize) -> &'c str {
        self.tokens.get(self.at + ahead).copied().unwrap_or("")
    }

    fn step(&mut self) {
        let at_item = self.open.last() == Some(&Brace::Module);
        match self.peek(0) {
            "#" if self.is_for_tests() => self.skip_test_item(),
            "mod" if at_item && is_name(self.peek(1)) => {
                let name = self.peek(1).to_owned();
                self.found.items.insert((self.inside.clone(), name.clone()));
                if self.peek(2) == "{" {
                    self.inside.push(name);
                    self.open.push(Brace::Module);
                }
                self.at += 3;
            }
            "use"
                if self.at == 0
                    || matches!(self.tokens[self.at - 1], ";" | "{" | "}" | "]" | ")" | "pub") =>
            {
                self.import();
            }
            "{" => {
                self.open.push(Brace::Other);
                self.at += 1;
            }
            "}" => {
                if self.open.pop() == Some(Brace::Module) {
                    self.inside.pop();
                }
                self.at += 1;
            }
            word if is_name(word) => {
                if at_item && ITEMS.contains(&word) {
                    let ahead = if self.peek(1) == "!" { 2 } else { 1 };
                    let name = self.peek(ahead);
                    if is_name(name) && !ITEMS.contains(&name) {
                        self.found.items.insert((self.inside.clone(), name.to_owned()));
                    }
                }
                self.path();
            }
            _ => self.at += 1,
        }
    }

    /// Whether an attribute `#[cfg(test)]`, or a similar one, begins here.
    fn is_for_tests(&self) -> bool {
        let words: Vec<&str> = self.tokens[self.at..].iter().copied().take(7).collect();
        matches!(words[..], ["#", "[", "cfg", "(", "test", ")", ..])
            || matches!(words[..], ["#", "[", "cfg", "(", "all", "(", "test"])
            || matches!(words[..], ["#", "[", "test", "]", ..])
    }

    /// Skips the attributes and the item that begin here.
    fn skip_test_item(&mut self) {
        while self.peek(0) == "#" {
            self.at += 1;
            self.skip_group("[", "]");
        }
        let mut name = None;
        while self.at < self.tokens.len() {
            match self.peek(0) {
                "mod" => name = Some(self.peek(1).to_owned()),
                "(" => {
                    self.skip_group("(", ")");
                    continue;
                }
                "{" => return self.skip_group("{", "}"),
                ";" | "," => {
                    let module = name.map(|name| [&self.inside[..], &[name]].concat());
                    self.found.test_modules.extend(module);
                    self.at += 1;
                    return;
                }
                // An attribute on the last field or arm of a construct.
                "}" => return,
                _ => {}
            }
            self.at += 1;
        }
    }

    fn skip_group(&mut self, open: &str, close: &str) {
        let mut depth = 0;
        while self.at < self.tokens.len() {
            let token = self.peek(0);
            self.at += 1;
            if token == open {
                depth += 1;
            } else if token == close {
                depth -= 1;
                if depth == 0 {
                    return;
                }
            }
        }
    }

    fn import(&mut self) {
        let before = self.at.checked_sub(1).map_or("", |before| self.tokens[before]);
        let visible =
            if matches!(before, "pub" | ")") { Visible::Elsewhere } else { Visible::Here };
        self.at += 1;
        self.import_tree(&mut Vec::new(), visible);
        self.at += 1;
    }

    /// One tree of imports below `prefix`; ends at `,`, `}` or `;`.
    fn import_tree(&mut self, prefix: &mut Vec<String>, visible: Visible) {
        let depth = prefix.len();
        let mut name = None;
        let mut is_group = false;
        loop {
            match self.peek(0) {
                "{" => {
                    is_group = true;
                    self.at += 1;
                    while !matches!(self.peek(0), "}" | "") {
                        self.import_tree(prefix, visible);
                        if self.peek(0) == "," {
                            self.at += 1;
                        }
                    }
                }
                "," | ";" | "" => break,
                "}" if !is_group => break,
                "}" => is_group = true,
                "as" => {
                    self.at += 1;
                    name = Some(self.peek(0).to_owned());
                }
                "self" if depth > 0 => {}
                "::" => {}
                word => prefix.push(word.to_owned()),
            }
            let closed = self.peek(0) == "}";
            self.at += 1;
            if closed {
                break;
            }
        }
        if !is_group {
            let is_glob = prefix.last().is_some_and(|last| last == "*");
            let mut path = prefix.clone();
            if is_glob {
                path.pop();
            }
            let last = path.last().cloned();
            let name = if is_glob { None } else { name.or(last) };
            self.found.imports.push(Import { inside: self.inside.clone(), path, name, visible });
        }
        prefix.truncate(depth);
    }

    /// A path or a single word.
    fn path(&mut self) {
        // `pub(in some::module)` is a visibility and uses nothing.
        let is_visibility = self.at > 0
            && self.tokens[self.at - 1] == "in"
            && self.at > 2
            && self.tokens[self.at - 3] == "pub";
        let continues = self.at > 0 && self.tokens[self.at - 1] == "::";
        let mut path = vec![self.peek(0).to_owned()];
        self.at += 1;
        while self.peek(0) == "::" && is_name(self.peek(1)) {
            path.push(self.peek(1).to_owned());
            self.at += 2;
        }
        if is_visibility || continues {
            return;
        }
        self.found.words.insert(path[0].clone());
        if path.len() > 1 {
            self.found.paths.insert((self.inside.clone(), path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(source: &str) -> Source {
        scan(&["a".to_owned()], source)
    }

    #[test]
    fn imports_are_read_with_groups_names_and_globs() {
        let found =
            of("use crate::b::{self, c::{D, E as F}, G};\npub(crate) use super::*;\nuse x;");
        let lines: Vec<String> = found
            .imports
            .iter()
            .map(|import| {
                format!("{} {:?} {:?}", import.path.join("::"), import.name, import.visible)
            })
            .collect();
        assert_eq!(
            lines,
            [
                "crate::b Some(\"b\") Here",
                "crate::b::c::D Some(\"D\") Here",
                "crate::b::c::E Some(\"F\") Here",
                "crate::b::G Some(\"G\") Here",
                "super None Elsewhere",
                "x Some(\"x\") Here",
            ]
        );
    }

    #[test]
    fn items_are_those_of_modules() {
        let found =
            of("pub const fn f() { struct Inner; }\nmod m { enum E {} }\nimpl S { fn g() {} }");
        let names: Vec<String> = found
            .items
            .iter()
            .map(|(module, name)| format!("{}::{name}", module.join("::")))
            .collect();
        assert_eq!(names, ["a::f", "a::m", "a::m::E"]);
    }

    #[test]
    fn what_tests_have_is_left_out() {
        let found = of(
            "#[cfg(test)]\nmod tests;\n#[cfg(test)]\nmod more { use crate::b; fn f() { b::c() } }\n\
                        #[cfg(test)]\nuse crate::d;\nfn g(x: crate::e::E) {}",
        );
        assert!(found.imports.is_empty(), "{found:?}");
        assert_eq!(found.test_modules, [["a", "tests"]]);
        let paths: Vec<String> = found.paths.iter().map(|(_, path)| path.join("::")).collect();
        assert_eq!(paths, ["crate::e::E"]);
    }
}
