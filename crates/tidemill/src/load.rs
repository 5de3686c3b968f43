//! Loading programs: from files to what a node can run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tidemill_overlog::ast;
use tidemill_overlog::exports::no_source;
use tidemill_overlog::parse::{parse_files, parse_text};
use tidemill_overlog::pre::{self, Disk};
use tidemill_overlog::program;
use tidemill_overlog::stage::Registry;
use tidemill_overlog::{Options, compile};
use tidemill_stdx::diag::{Diagnostic, Sources, Span, has_errors};
use tidemill_wire::proto::{Compiled, Spans};

use crate::borders::schemas::Schemas;
use crate::schemas::{is_schema, load_schemas};

/// What a file holds, by its ending in any case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileKind {
    /// `.olg`.
    Rules,
    /// `.com`, `.cl`.
    Components,
    /// `.flow`.
    Packets,
    /// `.proto`, `.fds`.
    Schemas,
}

impl FileKind {
    /// The kind of a file; `None` if its ending names none.
    pub fn of(path: &Path) -> Option<FileKind> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match ending.as_str() {
            "olg" => FileKind::Rules,
            "com" | "cl" => FileKind::Components,
            "flow" => FileKind::Packets,
            "proto" | "fds" => FileKind::Schemas,
            _ => return None,
        })
    }

    /// What such files hold.
    pub fn name(self) -> &'static str {
        match self {
            FileKind::Rules => "rules",
            FileKind::Components => "components",
            FileKind::Packets => "packet graphs",
            FileKind::Schemas => "schemas",
        }
    }
}

/// What to load and how.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Macros defined before the first line, `NAME=VALUE` each.
    pub defines: Vec<String>,
    /// Where included files are looked for besides the folder of the including file.
    pub include_dirs: Vec<PathBuf>,
    /// The operators that `stage` may name, beside those of schemas.
    pub operators: Arc<Registry>,
    /// Relations whose insertions other nodes may send, beside those that the program exports.
    pub exports: Vec<String>,
    /// Relations whose tuples come from the command line or a script, where that is known: then
    /// relations that nothing derives or inserts are warned of.
    pub injected: Option<BTreeSet<String>>,
}

/// A loaded program.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The texts that spans point into.
    pub sources: Sources,
    /// The tree, as far as it could be read.
    pub tree: ast::Program,
    /// The program; `None` if there are errors.
    pub program: Option<program::Compiled>,
    /// The operators of its stages, those of its schemas among them: for the run.
    pub operators: Arc<Registry>,
    /// What was found, errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// Loads the files of one program: rules, and the schemas that they know. Whatever is wrong is a
/// diagnostic.
pub fn load(files: &[PathBuf], options: &LoadOptions) -> Loaded {
    let is_rules = |file: &&PathBuf| FileKind::of(file) == Some(FileKind::Rules);
    let has_rules = files.iter().any(|file| is_rules(&file));
    let is_schema = |file: &&PathBuf| has_rules && is_schema(file);
    let schemas: Vec<PathBuf> = files.iter().filter(is_schema).cloned().collect();
    let compiled = match schemas.is_empty() {
        true => Default::default(),
        false => load_schemas(&schemas, &options.include_dirs),
    };
    let Compiled { sources, diagnostics, schema, spans } = compiled;
    let mut loaded = Loaded { sources, diagnostics, ..Loaded::default() };
    let others = files.iter().filter(|file| !is_rules(file) && !is_schema(file));
    others.for_each(|file| loaded.refuse(file));
    let rules: Vec<PathBuf> = files.iter().filter(is_rules).cloned().collect();
    if rules.is_empty() {
        return loaded;
    }
    let (tree, found) = parse_files(&rules, &options.sources(), &Disk, &mut loaded.sources);
    loaded.compiled(tree, found, options, Schemas::new(schema, spans))
}

/// Loads a program of rules from a text, which diagnostics call `name`.
pub fn load_text(name: &str, text: &str, options: &LoadOptions) -> Loaded {
    let mut loaded = Loaded::default();
    let (tree, found) = parse_text(name, text, &options.sources(), &Disk, &mut loaded.sources);
    loaded.compiled(tree, found, options, Schemas::new(None, Spans::default()))
}

impl LoadOptions {
    fn sources(&self) -> pre::Options {
        let include_dirs = self.include_dirs.clone();
        pre::Options { defines: self.defines.clone(), include_dirs }
    }
}

impl Loaded {
    /// With the program of a tree, unless there are errors.
    fn compiled(
        mut self,
        tree: ast::Program,
        found: Vec<Diagnostic>,
        options: &LoadOptions,
        schemas: Schemas,
    ) -> Loaded {
        self.diagnostics.extend(found);
        let mut operators = Registry::clone(&options.operators);
        if schemas.is_some() {
            operators.set_messages(Arc::new(schemas.clone()));
        }
        operators.add_family(Arc::new(schemas));
        self.operators = Arc::new(operators);
        if !has_errors(&self.diagnostics) {
            let injected = &options.injected;
            let operators = self.operators.clone();
            let options = Options { operators, exports: options.exports.clone() };
            let (program, found) = compile(&tree, &self.sources, &options);
            self.diagnostics.extend(found);
            if let Some(injected) = injected {
                let mut unsourced = no_source(&tree, &options, injected);
                // A name that looks like a slip has its warning already.
                unsourced.retain(|one| self.diagnostics.iter().all(|it| it.span != one.span));
                self.diagnostics.extend(unsourced);
            }
            self.program = program.filter(|_| !has_errors(&self.diagnostics));
        }
        self.tree = tree;
        self
    }

    /// Says that a file holds neither rules nor anything that they know.
    fn refuse(&mut self, path: &Path) {
        let file = self.sources.add(path.display().to_string(), "");
        let span = Span { file, start: 0, end: 0 };
        self.diagnostics.push(match FileKind::of(path) {
            None => Diagnostic::error("file-kind", span, "the ending of this file names no kind")
                .help("rules are in files that end in `.olg`"),
            Some(kind) => {
                let message = format!("{} are not supported in this version", kind.name());
                Diagnostic::error("file-kind", span, message)
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_count_in_any_case() {
        let kind = |name: &str| FileKind::of(Path::new(name));
        assert_eq!(kind("a.olg"), Some(FileKind::Rules));
        assert_eq!(kind("a.b.OLG"), Some(FileKind::Rules));
        assert_eq!(kind("A.Com"), Some(FileKind::Components));
        assert_eq!(kind("x.fds"), Some(FileKind::Schemas));
        assert_eq!(kind("olg"), None);
        assert_eq!(kind("a.txt"), None);
    }

    #[test]
    fn unknown_kinds_and_missing_files_are_diagnostics() {
        let files = ["no-such-file.olg", "x.txt", "y.flow"].map(PathBuf::from);
        let loaded = load(&files, &LoadOptions::default());
        assert!(loaded.program.is_none());
        let text: String =
            loaded.diagnostics.iter().map(|one| loaded.sources.render(one)).collect();
        assert!(text.contains("x.txt:1:1: error[file-kind]"), "{text}");
        assert!(text.contains("y.flow:1:1: error[file-kind]: packet graphs"), "{text}");
        assert!(text.contains("no-such-file.olg:1:1: error[file-unreadable]"), "{text}");
    }

    #[test]
    fn what_has_no_source_is_warned_of_once() {
        let options = LoadOptions { injected: Some(BTreeSet::new()), ..LoadOptions::default() };
        let text = "materialize(table, infinity, infinity, keys(1)). table(\"a:1\").
            watch(tables). watch(other). r1 out(@N) :- table(@N), never(@N). watch(out).";
        let loaded = load_text("p.olg", text, &options);
        let codes: Vec<_> = loaded.diagnostics.iter().map(|it| (it.code, it.span.start)).collect();
        let at = |word: &str| text.find(word).unwrap() as u32;
        let expected = [
            ("undefined-relation", at("tables")),
            ("no-source", at("other")),
            ("no-source", at("never")),
        ];
        assert_eq!(codes, expected, "{:?}", loaded.diagnostics);
    }
}
