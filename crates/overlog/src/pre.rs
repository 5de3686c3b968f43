//! The preprocessor: files in, one stream of tokens out.
//!
//! ```text
//! #define NAME VALUE      NAME becomes the tokens of VALUE, up to the end of the line
//! #define NAME(A, B) VALUE      NAME(x, y z) becomes VALUE with x for A and y z for B
//! #undef NAME
//! #include "file"         looked for beside the including file, then in each `-I` directory
//! #ifdef NAME / #ifndef NAME / #if CONDITION / #elif CONDITION / #else / #endif
//! #error TEXT / #warning TEXT
//! # NUMBER "file"         passed over, as are #line and #pragma: output of a C preprocessor
//! ```
//!
//! It works on tokens, so a macro cannot glue or split words, and strings and comments are safe.
//! `-D NAME=VALUE` defines before the first line; without `=VALUE` the value is `1`. A `\` at the
//! end of a line continues it.
//!
//! A token out of a macro has the span of the macro's use, except that of an argument, which keeps
//! its own; [`MacroUse`] says where the macro was defined. Text switched off by a condition is not
//! checked for malformed literals. A file that begins with `#ifndef NAME` may be included while it
//! is read: once NAME is defined, there is nothing in it.
//!
//! Hostile sources end in a diagnostic, not in a full memory: macros and includes nest to a limit,
//! and their expansion has a limit too.

mod condition;
mod directive;
mod expand;
mod files;

pub use files::{Disk, Files, MemoryFiles, NoFiles};

use crate::ast::MacroUse;
use crate::lex::{Sym, Token, TokenKind, lex};
use std::path::PathBuf;
use tidemill_diag::{Diagnostic, FileId, Sources, Span, add_limited};
use tidemill_stdx::sorted::SortedMap;

/// Macros within macros.
const MACRO_DEPTH_MAX: usize = 64;
/// Files within files.
const INCLUDE_DEPTH_MAX: usize = 64;
/// Includes of one program altogether.
const INCLUDES_MAX: usize = 10_000;
/// Tokens of one program that come out of macros.
const EXPANDED_MAX: usize = 1_000_000;
/// Tokens of one program altogether.
const TOKENS_MAX: usize = 20_000_000;
/// Errors after which the preprocessor reads no further; also the maximum of warnings kept.
const DIAGNOSTICS_MAX: usize = 100;
/// Bytes of one file; spans count in 32 bits.
const FILE_BYTES_MAX: usize = 1 << 30;

/// The command-line options of a program's sources.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// `-D NAME=VALUE`, as one string each.
    pub defines: Vec<String>,
    /// `-I DIR`.
    pub include_dirs: Vec<PathBuf>,
}

/// The output of the preprocessor for one file and its includes.
#[derive(Debug, Default)]
pub struct Preprocessed {
    /// Without comments and directives; the last is [`TokenKind::End`].
    pub tokens: Vec<Token>,
    /// In the order of use.
    pub macro_uses: Vec<MacroUse>,
    /// The errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// Preprocesses the file at `path` with a fresh set of macros.
pub fn preprocess_file(
    path: &std::path::Path,
    options: &Options,
    files: &dyn Files,
    sources: &mut Sources,
) -> (FileId, Preprocessed) {
    let mut pre = Preprocessor::new(options, files, sources);
    let (file, text_is_there) = match files.read(path) {
        Ok(text) => (pre.sources.add(path.display().to_string(), text), true),
        Err(error) => {
            let file = pre.sources.add(path.display().to_string(), "");
            let message = format!("cannot read the file: {error}");
            pre.report(Diagnostic::error("file-unreadable", start_of(file), message));
            (file, false)
        }
    };
    if text_is_there {
        pre.run(file, files::normal(path));
    }
    (file, pre.finish(file))
}

/// Preprocesses `text`, named `name` in diagnostics; its includes are searched from the current
/// directory.
pub fn preprocess_text(
    name: &str,
    text: &str,
    options: &Options,
    files: &dyn Files,
    sources: &mut Sources,
) -> (FileId, Preprocessed) {
    let mut pre = Preprocessor::new(options, files, sources);
    let file = pre.sources.add(name, text);
    pre.run(file, PathBuf::from(name));
    (file, pre.finish(file))
}

fn start_of(file: FileId) -> Span {
    Span { file, start: 0, end: 0 }
}

/// A macro and its value.
struct Macro {
    name: String,
    /// The names in parentheses right after its name; `None` without parentheses.
    parameters: Option<Vec<Box<str>>>,
    body: Vec<Token>,
    /// The name in its definition.
    defined: Span,
}

/// A file that is being read.
struct Including {
    path: PathBuf,
    file: FileId,
}

/// One condition that is not closed yet.
struct Conditional {
    /// The `#ifdef`, `#ifndef` or `#if`.
    span: Span,
    /// The lines around it count.
    outer: bool,
    /// The lines now read count.
    active: bool,
    /// Some of its lines have counted.
    taken: bool,
    else_seen: bool,
}

struct Preprocessor<'a> {
    options: &'a Options,
    files: &'a dyn Files,
    sources: &'a mut Sources,
    /// All macros ever defined, and the current one of each name.
    macros: Vec<Macro>,
    current: SortedMap<String, usize>,
    out: Preprocessed,
    /// The files being read, outermost first.
    including: Vec<Including>,
    /// Files already read, so that one included twice is kept once.
    known: SortedMap<PathBuf, FileId>,
    includes: usize,
    expanded: usize,
    /// A limit was hit: nothing more is read.
    stopped: bool,
}

impl<'a> Preprocessor<'a> {
    fn new(options: &'a Options, files: &'a dyn Files, sources: &'a mut Sources) -> Self {
        let mut pre = Preprocessor {
            options,
            files,
            sources,
            macros: Vec::new(),
            current: SortedMap::new(),
            out: Preprocessed::default(),
            including: Vec::new(),
            known: SortedMap::new(),
            includes: 0,
            expanded: 0,
            stopped: false,
        };
        options.defines.iter().for_each(|define| pre.define_option(define));
        pre
    }

    fn finish(mut self, file: FileId) -> Preprocessed {
        let end = self.sources.text(file).len().min(u32::MAX as usize) as u32;
        let span = Span { file, start: end, end };
        self.out.tokens.push(Token { kind: TokenKind::End, span, first: true, error: None });
        self.out
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.stopped |= !add_limited(&mut self.out.diagnostics, DIAGNOSTICS_MAX, diagnostic);
    }

    /// Reports a limit and stops reading.
    fn stop(&mut self, diagnostic: Diagnostic) {
        if !self.stopped {
            self.stopped = true;
            self.report(diagnostic);
        }
    }

    fn define_option(&mut self, define: &str) {
        let (name, value) = define.split_once('=').unwrap_or((define, "1"));
        let file = self.sources.add("-D", format!("{name}={value}"));
        let span = Span { file, start: 0, end: name.len() as u32 };
        let mut tokens = lex(file, &format!("{name}={value}"), 0).into_iter();
        let whole_name = tokens.next().filter(|token| token.kind.word() == Some(name));
        if whole_name.is_none() {
            let message = format!("`{name}` cannot be defined");
            let help = "write -D NAME=VALUE, NAME of letters, digits and `_`";
            self.report(Diagnostic::error("bad-directive", span, message).help(help));
            return;
        }
        self.define(name, span, None, tokens.skip(1));
    }

    /// Defines a macro; errors in its value are reported here, once.
    fn define(
        &mut self,
        name: &str,
        defined: Span,
        parameters: Option<Vec<Box<str>>>,
        value: impl Iterator<Item = Token>,
    ) {
        let mut body = Vec::new();
        for mut token in value {
            if let Some(error) = token.error.take() {
                self.report(*error);
            }
            if !matches!(token.kind, TokenKind::Comment | TokenKind::End) {
                body.push(token);
            }
        }
        let new = self.macros.len();
        self.macros.push(Macro { name: name.into(), parameters, body, defined });
        let Some(old) = self.current.insert(name.into(), new) else { return };
        let (old, new) = (&self.macros[old], &self.macros[new]);
        let is_same = old.parameters == new.parameters
            && old.body.iter().map(|t| &t.kind).eq(new.body.iter().map(|t| &t.kind));
        if !is_same {
            let message = format!("macro `{name}` is defined anew");
            let warning = Diagnostic::warning("macro-redefined", defined, message)
                .label(old.defined, "it had another value here")
                .help("guard it with `#ifndef`, or `#undef` it first");
            self.report(warning);
        }
    }

    /// Reads one file to its end.
    fn run(&mut self, file: FileId, path: PathBuf) {
        if self.sources.text(file).len() > FILE_BYTES_MAX {
            let message = "the file is larger than 1 GiB";
            return self.stop(Diagnostic::error("file-too-large", start_of(file), message));
        }
        let tokens = lex(file, self.sources.text(file), 0);
        self.including.push(Including { path, file });
        let mut conditionals = Vec::new();
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next()
            && !self.stopped
            && token.kind != TokenKind::End
        {
            if token.first && token.kind == TokenKind::Sym(Sym::Hash) {
                let mut line = Vec::new();
                while let Some(next) = tokens.next_if(|t| !(t.first || t.kind == TokenKind::End)) {
                    line.push(next);
                }
                self.directive(token.span, line, &mut conditionals);
            } else if is_active(&conditionals) {
                self.pass(token, &mut tokens);
            }
        }
        if let Some(open) = conditionals.last()
            && !self.stopped
        {
            let message = "this condition is not closed in its file";
            self.report(
                Diagnostic::error("unbalanced-conditional", open.span, message)
                    .help("end it with `#endif`"),
            );
        }
        self.including.pop();
    }
}

fn is_active(conditionals: &[Conditional]) -> bool {
    conditionals.last().is_none_or(|it| it.active)
}

#[cfg(test)]
mod tests;
