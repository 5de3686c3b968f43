//! From files to a checked program.

use std::path::{Path, PathBuf};

use tidemill_cl::check::check;
use tidemill_cl::lower::lower;
use tidemill_cl::parse::parse_files;
use tidemill_cl::{ast, ir};
use tidemill_diag::{Diagnostic, FileId, Sources, Span, has_errors};

use crate::load::FileKind;

/// A loaded program.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The texts that spans point into.
    pub sources: Sources,
    /// How many files the program has; they are the first of the sources.
    pub files: u32,
    /// The tree, as far as it could be read.
    pub tree: ast::Program,
    /// The program; `None` if there are errors.
    pub program: Option<ir::Program>,
    /// What was found, errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// Loads the files of one program. Whatever is wrong is a diagnostic.
pub fn load(files: &[PathBuf]) -> Loaded {
    let mut loaded = Loaded { files: files.len() as u32, ..Loaded::default() };
    let texts: Vec<(String, Result<String, Unreadable>)> =
        files.iter().map(|path| (path.display().to_string(), read(path))).collect();
    let mut wrong = Vec::new();
    for (name, text) in texts {
        let (text, problem) = match text {
            Ok(text) => (text, None),
            Err(problem) => (String::new(), Some(problem)),
        };
        let file = loaded.sources.add(name, text);
        if let Some(Unreadable { code, message, help }) = problem {
            let error = Diagnostic::error(code, Span { file, start: 0, end: 0 }, message);
            wrong.push(if help.is_empty() { error } else { error.help(help) });
        }
    }
    match wrong.is_empty() {
        true => loaded.compiled(),
        false => Loaded { diagnostics: wrong, ..loaded },
    }
}

/// Loads a program from a text, which diagnostics call `name`.
pub fn load_text(name: &str, text: &str) -> Loaded {
    let mut loaded = Loaded::default();
    loaded.sources.add(name, text);
    loaded.files = 1;
    loaded.compiled()
}

struct Unreadable {
    code: &'static str,
    message: String,
    help: &'static str,
}

fn read(path: &Path) -> Result<String, Unreadable> {
    let unreadable = |message: String| Unreadable { code: "file-unreadable", message, help: "" };
    match FileKind::of(path) {
        Some(FileKind::Components) => {}
        None => {
            return Err(Unreadable {
                code: "file-kind",
                message: "the ending of this file names no kind".to_owned(),
                help: "components are in files that end in `.com` or `.cl`",
            });
        }
        Some(kind) => {
            return Err(Unreadable {
                code: "file-kind",
                message: format!("{} and components cannot form one program yet", kind.name()),
                help: "run them each by itself",
            });
        }
    }
    let bytes = std::fs::read(path)
        .map_err(|error| unreadable(format!("cannot read the file: {error}")))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        unreadable(format!("the file is no UTF-8 text: byte {at} does not belong to one"))
    })
}

impl Loaded {
    /// With the program of the sources, unless there are errors.
    fn compiled(mut self) -> Loaded {
        let files: Vec<FileId> = (0..self.files).map(FileId).collect();
        let (tree, found) = parse_files(&files, &self.sources);
        self.diagnostics.extend(found);
        if !has_errors(&self.diagnostics) {
            let (checked, found) = check(&tree);
            self.diagnostics.extend(found);
            if !has_errors(&self.diagnostics) {
                self.verified(lower(&checked));
            }
        }
        self.tree = tree;
        self
    }

    /// Takes a program that keeps what the generator relies on. One that does not is our mistake,
    /// and told as such.
    fn verified(&mut self, program: ir::Program) {
        let wrong = ir::verify::verify(&program);
        let Some(first) = wrong.first() else {
            self.program = Some(program);
            return;
        };
        let span = Span { file: FileId(0), start: 0, end: 0 };
        let message = format!("the compiler made code that is wrong: {first}");
        let help = "this is a mistake in Tidemill, not in the program: please report it";
        self.diagnostics.push(Diagnostic::error("internal", span, message).help(help));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(loaded: &Loaded) -> String {
        loaded.diagnostics.iter().map(|one| loaded.sources.render(one)).collect()
    }

    #[test]
    fn what_is_no_component_is_a_diagnostic() {
        let files = ["no-such-file.com", "x.txt", "y.olg"].map(PathBuf::from);
        let loaded = load(&files);
        assert!(loaded.program.is_none());
        let text = rendered(&loaded);
        assert!(text.contains("no-such-file.com:1:1: error[file-unreadable]"), "{text}");
        assert!(text.contains("x.txt:1:1: error[file-kind]"), "{text}");
        assert!(text.contains("y.olg:1:1: error[file-kind]: rules and components"), "{text}");
    }

    #[test]
    fn several_files_are_one_program() {
        let folder = std::env::temp_dir().join(format!("tidemill-load-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let (one, two) = (folder.join("a.com"), folder.join("b.Com"));
        let greeter = "INTERFACE Greet; IN Hello END Greet;\n\
            COMPONENT Greeter OFFERS Greet; IMPLEMENTATION Greet; BEGIN ?Hello END Greet;\n\
            END Greeter;\n";
        let main = "COMPONENT Main; VARIABLE g: Greeter; BEGIN NEW(g); g!Hello END Main;\n";
        std::fs::write(&one, greeter).expect("written");
        std::fs::write(&two, main).expect("written");
        let both = load(&[one.clone(), two.clone()]);
        assert!(both.program.is_some(), "{}", rendered(&both));
        assert!(load(&[two]).program.is_none());
        std::fs::remove_dir_all(folder).expect("removed");
    }
}
