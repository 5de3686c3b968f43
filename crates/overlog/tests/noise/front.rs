//! The front end alone: the parser, its diagnostics and the formatter.

use tidemill_diag::{Diagnostic, FileId, Sources, has_errors};
use tidemill_overlog::ast::{Program, Rule, Source, Statement};
use tidemill_overlog::fmt::format;
use tidemill_overlog::parse::parse_text;
use tidemill_overlog::pre::{MemoryFiles, Options};

/// The maximum of diagnostics of one source: 100 errors, 100 warnings, and that there are more.
const DIAGNOSTICS_MAX: usize = 201;

/// Panics if a diagnostic points outside its source or has no text.
pub fn check_diagnostics(diagnostics: &[Diagnostic], sources: &Sources) {
    for diagnostic in diagnostics {
        let labels = diagnostic.labels.iter().map(|(span, _)| *span);
        for span in labels.chain([diagnostic.span]) {
            let text = sources.text(span.file);
            assert!(span.start <= span.end, "{diagnostic:?}");
            assert!(text.get(span.start as usize..span.end as usize).is_some(), "{diagnostic:?}");
        }
        assert!(!sources.render(diagnostic).is_empty());
    }
}

/// Panics if a rule or a table's declaration, printed as a source, is not the same tree again.
/// Returns the number of them.
pub fn check_printed(program: &Program) -> usize {
    let (options, none) = (Options::default(), MemoryFiles::default());
    let mut count = 0;
    for statement in program.flat() {
        let (tree, printed) = match statement {
            Statement::Rule(rule) => {
                let rule = Rule { label: None, ..rule.clone() };
                let printed = Source(&rule).to_string();
                (Statement::Rule(rule), printed)
            }
            Statement::Materialize(it) => (statement.clone(), Source(it).to_string()),
            _ => continue,
        };
        let mut sources = Sources::new();
        let (again, found) = parse_text("printed", &printed, &options, &none, &mut sources);
        assert!(!has_errors(&found), "{printed}: {found:?}");
        let first = Program { statements: vec![tree], ..Program::default() };
        assert_eq!(again.to_string(), first.to_string(), "{printed}");
        count += 1;
    }
    count
}

/// The tree of `text` as text, if it is valid.
fn tree(text: &str) -> Option<String> {
    let mut sources = Sources::new();
    let none = MemoryFiles::default();
    let (program, diagnostics) =
        parse_text("p.olg", text, &Options::default(), &none, &mut sources);
    assert!(diagnostics.len() <= DIAGNOSTICS_MAX, "{}", diagnostics.len());
    check_diagnostics(&diagnostics, &sources);
    if !has_errors(&diagnostics) {
        check_printed(&program);
    }
    let tree = program.to_string();
    (!has_errors(&diagnostics)).then_some(tree)
}

/// Parses and formats `text`: the formatted text is stable under formatting, and has the same tree.
/// Returns the tree if it is valid.
pub fn check(text: &str) -> Option<String> {
    let tree_before = tree(text);
    if let Ok(formatted) = format(FileId(0), text) {
        let again = format(FileId(0), &formatted).expect("the same tokens");
        assert_eq!(formatted, again);
        if tree_before.is_some() {
            assert_eq!(tree(&formatted), tree_before);
        }
    }
    tree_before
}
