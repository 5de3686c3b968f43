//! Compiles files and all their imports to a schema.

use std::io;

use tidemill_diag::{self as diag, Diagnostic, Severity, Sources, Span, nearest};
use tidemill_stdx::hash::Map;
use tidemill_stdx::sort;

use super::files::{Files, Texts};
use super::places::Places;
use super::spans::Spans;
use super::{hint, lex, options, parse, wellknown};
use crate::schema::draft::Draft;
use crate::schema::link::link;
use crate::schema::problem::{ElementId, Part, Problem};
use crate::schema::{FileId, Schema, check, descriptor, freeze};

/// The maximal number of files of a schema.
const FILES_MAX: usize = 10_000;

/// The result of compiling texts.
#[derive(Debug, Default)]
pub struct Compiled {
    /// The texts that spans point into.
    pub sources: Sources,
    /// Errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// The schema; `None` if there are errors.
    pub schema: Option<Schema>,
    /// The positions of its messages and fields in the texts.
    pub spans: Spans,
}

/// Compiles the files of those names and all their imports.
pub fn compile(names: &[&str], files: &dyn Files) -> Compiled {
    compile_with(names, &[], files)
}

/// As [`compile`], with the files of serialized descriptor sets, which may be imported or named
/// themselves. Each set comes with its name in diagnostics.
pub fn compile_with(names: &[&str], sets: &[(&str, &[u8])], files: &dyn Files) -> Compiled {
    let mut loader = Loader::new(files);
    for (name, bytes) in sets {
        loader.descriptor_set(name, bytes);
    }
    for name in names {
        loader.root(name);
    }
    loader.finish()
}

struct Loader<'f> {
    files: &'f dyn Files,
    sources: Sources,
    diagnostics: Vec<Diagnostic>,
    draft: Draft,
    places: Places,
    problems: Vec<Problem>,
    /// The tokens of one text; reused for the next.
    tokens: Vec<lex::Token>,
    /// By file of the draft: its text; files from descriptors have none.
    texts: Vec<diag::FileId>,
    loaded: Map<String, FileId>,
}

impl<'f> Loader<'f> {
    fn new(files: &'f dyn Files) -> Loader<'f> {
        Loader {
            files,
            sources: Sources::new(),
            diagnostics: Vec::new(),
            draft: Draft::new(),
            places: Places::default(),
            problems: Vec::new(),
            tokens: Vec::new(),
            texts: Vec::new(),
            loaded: Map::default(),
        }
    }

    fn descriptor_set(&mut self, name: &str, bytes: &[u8]) {
        let text = self.sources.add(name, "");
        let mark = self.draft.mark();
        let read = descriptor::read_set(&mut self.draft, bytes);
        if let Err(error) = &read {
            self.draft.truncate(mark);
            let span = hint::whole(text);
            self.diagnostics.push(Diagnostic::error("descriptor", span, error.to_string()));
        }
        self.texts.resize(self.draft.files.len(), text);
        for file in read.unwrap_or_default() {
            self.loaded.insert(self.draft.file(file).name.clone(), file);
        }
    }

    /// Loads a file that the caller names.
    fn root(&mut self, name: &str) {
        if !self.loaded.contains_key(name) && !self.load(name) {
            let file = self.sources.add(name, "");
            let message = format!("there is no file `{name}`");
            let help = hint::for_import(name, self.files);
            let diagnostic = Diagnostic::error("file-unreadable", hint::whole(file), message);
            self.diagnostics.push(diagnostic.help(help));
        }
    }

    /// Loads a file with its imports, as far as they exist; false if it does not exist.
    fn load(&mut self, name: &str) -> bool {
        let Some(first) = self.parse(name) else { return false };
        let mut waiting = vec![first];
        while let Some(file) = waiting.pop() {
            let names: Vec<String> =
                self.draft.file(file).dependencies.iter().map(|one| one.name.clone()).collect();
            for name in names {
                if self.loaded.contains_key(&name) || self.draft.files.len() >= FILES_MAX {
                    continue;
                }
                waiting.extend(self.parse(&name));
            }
        }
        true
    }

    fn parse(&mut self, name: &str) -> Option<FileId> {
        let parts = || name.split('/');
        if name.contains('\\') || parts().any(|part| matches!(part, "" | "." | "..")) {
            return None;
        }
        let (shown, text) = match self.files.read(name) {
            Some((shown, text)) => (shown, text),
            None => (name.to_owned(), Ok(wellknown::text(name)?.to_owned())),
        };
        let text = text.map_err(|error| unreadable(&error)).and_then(|text| {
            if text.len() > lex::BYTES_MAX { Err("the file is too long".into()) } else { Ok(text) }
        });
        let file = match text {
            Ok(text) => {
                let source = self.sources.add(shown, text);
                self.parse_text(name, source)
            }
            Err(error) => {
                let source = self.sources.add(shown, "");
                let message = format!("the file cannot be read: {error}");
                let span = hint::whole(source);
                self.diagnostics.push(Diagnostic::error("file-unreadable", span, message));
                self.parse_text(name, source)
            }
        };
        self.loaded.insert(name.to_owned(), file);
        Some(file)
    }

    fn parse_text(&mut self, name: &str, source: diag::FileId) -> FileId {
        self.texts.push(source);
        let text = self.sources.text(source);
        let Loader { tokens, draft, places, problems, .. } = self;
        parse::parse(name, text, tokens, draft, places, problems)
    }

    fn finish(mut self) -> Compiled {
        let mark = self.draft.mark();
        let hidden = !self.loaded.contains_key(wellknown::DESCRIPTOR);
        if hidden && let Some(text) = wellknown::text(wellknown::DESCRIPTOR) {
            let source = self.sources.add(wellknown::DESCRIPTOR, text);
            self.parse_text(wellknown::DESCRIPTOR, source);
        }
        // Further problems could follow from what could not be parsed.
        let parsed = !self.problems.iter().any(|problem| !problem.warning);
        let mut linked = link(&mut self.draft, &mut self.problems);
        options::interpret_options(&mut self.draft, &mut linked, &mut self.problems);
        if parsed {
            check::check(&self.draft, &mut self.problems);
            linked.imports.report_unused(&self.draft, &mut self.problems);
        }
        if hidden {
            self.draft.truncate(mark);
        }
        self.report();
        let spans = Spans::new(
            self.draft.messages.iter().map(|one| self.span(one.file, one.place, Part::Name)),
            self.draft.fields.iter().map(|one| self.span(one.file, one.place, Part::Name)),
        );
        let schema = (!diag::has_errors(&self.diagnostics)).then(|| {
            let count = self.draft.files.len();
            let order: Vec<FileId> =
                linked.imports.order().iter().copied().filter(|id| id.index() < count).collect();
            freeze(self.draft, &order)
        });
        Compiled { sources: self.sources, diagnostics: self.diagnostics, schema, spans }
    }

    /// Reports the problems as diagnostics, by file and position; warnings of well-known files are
    /// left out.
    fn report(&mut self) {
        let mut problems = std::mem::take(&mut self.problems);
        let is_unknown = |problem: &&Problem| problem.code == parse::UNKNOWN_SYNTAX;
        let unknown: Vec<FileId> = problems.iter().filter(is_unknown).map(|one| one.file).collect();
        // The rules of its language for the rest of such a file are unknown.
        problems.retain(|one| is_unknown(&one) || !unknown.contains(&one.file));
        for problem in &mut problems {
            self.add_hint(problem);
        }
        let mut found: Vec<Diagnostic> = Vec::new();
        for problem in problems {
            let severity = if problem.warning { Severity::Warning } else { Severity::Error };
            let span = self.span(problem.file, problem.place, problem.part);
            let label = problem
                .label
                .map(|(file, place, part, message)| (self.span(file, place, part), message));
            found.push(Diagnostic {
                severity,
                code: problem.code,
                message: problem.message,
                span,
                labels: label.into_iter().collect(),
                help: problem.help,
            });
        }
        sort::by_key(&mut found, |one| (one.span.file.0, one.span.start));
        found.dedup();
        self.diagnostics.extend(found);
    }

    fn span(&self, file: FileId, place: ElementId, part: Part) -> Span {
        let text = self.texts.get(file.index()).copied().unwrap_or(diag::FileId(0));
        let (start, end) = self.places.range(place, part);
        Span { file: text, start, end }
    }

    /// Adds a hint to an undeclared name: the file that declares it.
    fn add_hint(&self, problem: &mut Problem) {
        let Some(subject) = problem.subject.take() else { return };
        if problem.help.is_some() {
            return;
        }
        problem.help = match problem.code {
            "missing-import" => Some(hint::for_import(&subject, self.files)),
            "unknown-name" => match hint::file_with(&subject, self.files) {
                Some(file) => Some(format!("`{file}` declares it: import \"{file}\";")),
                None => self.similar_type(&subject).map(|name| format!("is `{name}` meant?")),
            },
            _ => None,
        };
    }

    fn similar_type(&self, name: &str) -> Option<&str> {
        let messages = self.draft.messages.iter().filter(|one| !one.map_entry);
        let names = messages
            .map(|message| &*message.name)
            .chain(self.draft.enums.iter().map(|one| &*one.name))
            .chain(crate::schema::Scalar::ALL.iter().map(|scalar| scalar.name()));
        nearest(name.rsplit('.').next()?, names)
    }
}

/// The errors of a text that can be found without its imports, at places in `file`.
pub(super) fn syntax_errors(file: diag::FileId, text: &str) -> Vec<Diagnostic> {
    if text.len() > lex::BYTES_MAX {
        let span = hint::whole(file);
        return vec![Diagnostic::error("file-unreadable", span, "the file is too long")];
    }
    let nothing = Texts::default();
    let mut loader = Loader::new(&nothing);
    let source = loader.sources.add("", text);
    loader.parse_text("", source);
    loader.report();
    let mut errors: Vec<Diagnostic> =
        loader.diagnostics.into_iter().filter(Diagnostic::is_error).collect();
    for error in &mut errors {
        error.span.file = file;
        error.labels.iter_mut().for_each(|(span, _)| span.file = file);
    }
    errors
}

/// Why a text could not be read.
fn unreadable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::InvalidData => {
            "it is no UTF-8 text (names of descriptor sets end in `.fds`)".into()
        }
        _ => error.to_string(),
    }
}
