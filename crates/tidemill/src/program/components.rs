//! The components of a program.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use tidemill_cl::check::check_with;
use tidemill_cl::ir;
use tidemill_cl::lower::lower;
use tidemill_cl::parse::parse_files;
use tidemill_diag::{Diagnostic, FileId, Sources, Span, has_errors};

use super::Program;
use crate::borders::components::Operators;

/// Reads files of components; each that cannot be read is an error.
pub(super) fn read_files(
    paths: &[PathBuf],
    sources: &mut Sources,
) -> (Vec<FileId>, Vec<Diagnostic>) {
    let (mut ids, mut unreadable) = (Vec::new(), Vec::new());
    for path in paths {
        let (text, problem) = match read(path) {
            Ok(text) => (text, None),
            Err(problem) => (String::new(), Some(problem)),
        };
        let file = sources.add(path.display().to_string(), text);
        ids.push(file);
        let span = Span { file, start: 0, end: 0 };
        let error =
            |problem: FileError| Diagnostic::error("file-unreadable", span, problem.to_string());
        unreadable.extend(problem.map(error));
    }
    (ids, unreadable)
}

impl Program {
    pub(super) fn read_components<'t>(
        &mut self,
        texts: impl Iterator<Item = &'t (&'t str, &'t str)>,
    ) {
        let ids: Vec<FileId> = texts.map(|(name, text)| self.sources.add(*name, *text)).collect();
        self.lower_components(&ids);
    }

    /// Parses, checks and lowers the files of components, as far as there are no errors.
    pub(super) fn lower_components(&mut self, files: &[FileId]) {
        let Some(last) = files.last() else { return };
        self.components.files = last.0 + 1;
        let (tree, mut found) = parse_files(files, &self.sources);
        if !has_errors(&found) {
            let (checked, more) = check_with(&tree, &(&self.made_by_rules | &self.made_by_apps));
            found.extend(more);
            if !has_errors(&found) {
                match verified(lower(&checked)) {
                    Ok(program) => {
                        self.operators = Operators::new(&program, &tree);
                        self.components.program = Some(program);
                    }
                    Err(error) => found.push(error),
                }
            }
        }
        self.diagnostics.extend(found);
        self.components.tree = tree;
    }
}

/// Why a file has no text.
#[derive(Debug)]
enum FileError {
    /// It cannot be read.
    Unreadable(io::Error),
    /// It is no UTF-8 from this byte on.
    NoText(usize),
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileError::Unreadable(error) => write!(f, "cannot read the file: {error}"),
            FileError::NoText(at) => {
                write!(f, "the file is no UTF-8 text: byte {at} does not belong to one")
            }
        }
    }
}

fn read(path: &Path) -> Result<String, FileError> {
    let bytes = std::fs::read(path).map_err(FileError::Unreadable)?;
    String::from_utf8(bytes).map_err(|error| FileError::NoText(error.utf8_error().valid_up_to()))
}

/// Verifies that a program has the properties that the code generator relies on. A failure is a bug
/// of ours, and reported as such.
fn verified(program: ir::Program) -> Result<ir::Program, Diagnostic> {
    let Err(wrong) = ir::verify::verify(&program) else { return Ok(program) };
    let first = wrong.iter().next().map(ToString::to_string).unwrap_or_default();
    let span = Span { file: FileId(0), start: 0, end: 0 };
    let message = format!("the compiler made code that is wrong: {first}");
    let help = "this is a mistake in Tidemill, not in the program: please report it";
    Err(Diagnostic::error("internal", span, message).help(help))
}
