//! Parsing tokens to the tree, and the entry points of the front end.
//!
//! The parser is written by hand, one function per rule of the grammar. It always yields a
//! [`Program`]: a malformed statement is reported and left out, and parsing resumes at the next `,`
//! inside it to find further errors, then after its `.`. A caller that gets errors should stop
//! there: later checks would miss the statements left out.
//!
//! | part | holds |
//! |---|---|
//! | `parse/statement.rs` | statements, rules and their terms |
//! | `parse/functor.rs` | relations with arguments, aggregates |
//! | `parse/expr.rs` | values and conditions, and how they bind |
//! | `parse/resolve.rs` | namespaces |
//! | `parse/older.rs` | `p@X(Y)` |
//!
//! Nesting has a limit, so that no source can exhaust the stack, here or later.

mod expr;
mod functor;
mod older;
mod resolve;
mod statement;

use crate::ast::{Functor, MacroUse, Program, Statement, note_macros};
use crate::lex::{Sym, Token, TokenKind};
use crate::pre::{
    Files, MemoryFiles, NoFiles, Options, Preprocessed, preprocess_file, preprocess_text,
};
use std::path::PathBuf;
use tidemill_diag::{Diagnostic, FileId, Sources, Span, add_limited};
use tidemill_stdx::sort;

/// The maximal nesting of expressions, lists and namespaces in the text.
const NESTING_MAX: usize = 100;
/// The maximal height of an expression's tree: a chain of operators is as high as it is long.
const HEIGHT_MAX: usize = 400;
/// Errors after which a file is given up; also the maximum of warnings kept.
const DIAGNOSTICS_MAX: usize = 100;
/// The help for a `?` without parentheses around its parts.
const CONDITIONAL: &str = "write `(condition ? value : value)`";

/// Parses the files of one program, each with its own macros, and resolves names over all.
///
/// The files are added to `sources`, as are the texts of `-D` and of includes. A file that cannot
/// be read is a diagnostic.
pub fn parse_files(
    paths: &[PathBuf],
    options: &Options,
    files: &dyn Files,
    sources: &mut Sources,
) -> (Program, Vec<Diagnostic>) {
    Join::of_files(paths, options, files, sources).finish()
}

/// Parses one program from `text`, named `name` in diagnostics.
pub fn parse_text(
    name: &str,
    text: &str,
    options: &Options,
    files: &dyn Files,
    sources: &mut Sources,
) -> (Program, Vec<Diagnostic>) {
    let mut join = Join::default();
    join.add(preprocess_text(name, text, options, files, sources));
    join.finish()
}

/// Parses one tuple as it is printed, `name(value, ...)`, with or without a final `.`; names are
/// taken as global. `None` goes with an error.
pub fn parse_tuple(
    name: &str,
    text: &str,
    options: &Options,
    sources: &mut Sources,
) -> (Option<Functor>, Vec<Diagnostic>) {
    let none = MemoryFiles::default();
    let (_, pre) = preprocess_text(name, text, options, &none, sources);
    let mut parser = Parser::new(pre);
    let tuple = parser.lone_tuple().ok();
    let mut diagnostics = parser.finish();
    tidy(&mut diagnostics);
    (tuple, diagnostics)
}

/// Several files and texts that are joined into one program.
#[derive(Clone, Debug, Default)]
pub struct Join {
    program: Program,
    diagnostics: Vec<Diagnostic>,
}

impl Join {
    /// Parses files; see [`parse_files`].
    pub fn of_files(
        paths: &[PathBuf],
        options: &Options,
        files: &dyn Files,
        sources: &mut Sources,
    ) -> Join {
        let mut join = Join::default();
        for path in paths {
            join.add(preprocess_file(path, options, files, sources));
        }
        join
    }

    /// Adds a text, named `name` in diagnostics; what it includes is refused.
    pub fn add_text(&mut self, name: &str, text: &str, options: &Options, sources: &mut Sources) {
        self.add(preprocess_text(name, text, options, &NoFiles, sources));
    }

    fn add(&mut self, (file, mut pre): (FileId, Preprocessed)) {
        self.program.files.push(file);
        self.program.macro_uses.append(&mut pre.macro_uses);
        let mut parser = Parser::new(pre);
        self.program.statements.append(&mut parser.program());
        self.diagnostics.append(&mut parser.finish());
    }

    /// The program, and the errors and warnings in it.
    pub fn finish(mut self) -> (Program, Vec<Diagnostic>) {
        resolve::resolve(&mut self.program.statements);
        older::settle(&mut self.program.statements);
        self.program.note_macros(&mut self.diagnostics);
        tidy(&mut self.diagnostics);
        (self.program, self.diagnostics)
    }
}

/// Orders findings by place and drops duplicates.
fn tidy(diagnostics: &mut Vec<Diagnostic>) {
    sort::by_key(diagnostics, |it| (it.span.file, it.span.start));
    diagnostics.dedup();
}

/// An error that has been reported.
#[derive(Debug)]
struct Failed;

type Parsed<T> = Result<T, Failed>;

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    macro_uses: Vec<MacroUse>,
    diagnostics: Vec<Diagnostic>,
    /// The place of the last error, as an index of `tokens`: one error per place.
    last_error: Option<usize>,
    /// The nesting of the part being read.
    nesting: usize,
    /// The number of open namespaces.
    spaces: usize,
    /// The height of the expression read last.
    height: usize,
    /// The expression read last was in parentheses.
    wrapped: bool,
}

impl Parser {
    fn new(pre: Preprocessed) -> Parser {
        Parser {
            tokens: pre.tokens,
            at: 0,
            macro_uses: pre.macro_uses,
            diagnostics: pre.diagnostics,
            last_error: None,
            nesting: 0,
            spaces: 0,
            height: 0,
            wrapped: false,
        }
    }

    fn finish(mut self) -> Vec<Diagnostic> {
        note_macros(&self.macro_uses, &mut self.diagnostics);
        self.diagnostics
    }

    /// All statements to the end of the tokens.
    fn program(&mut self) -> Vec<Statement> {
        let mut statements = Vec::new();
        while !self.is_end() {
            self.statements(&mut statements);
            if self.is(Sym::RBrace) {
                let stray = self.error("unexpected-token", "`}` closes no namespace");
                let _ = self.fail::<()>(stray);
                self.next();
            }
        }
        statements
    }

    fn lone_tuple(&mut self) -> Parsed<Functor> {
        let mut tuple = self.functor(functor::Position::Tuple)?;
        self.eat(Sym::Dot);
        if !self.is_end() {
            return self.expected("the end of the tuple", "write one tuple, `name(value, ...)`");
        }
        tuple.location = tuple.location.or(Some(0));
        tuple.name.resolved = tuple.name.written.trim_start_matches("::").into();
        Ok(tuple)
    }

    // Looking at tokens. The last one is `End` and is never passed, so `at` is always inside.

    fn token(&self) -> &Token {
        &self.tokens[self.at]
    }

    fn kind(&self) -> &TokenKind {
        &self.token().kind
    }

    /// The kind of the token `ahead` of the next.
    fn ahead(&self, ahead: usize) -> &TokenKind {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)].kind
    }

    fn span(&self) -> Span {
        self.token().span
    }

    /// The span from `start` to the end of the token consumed last.
    fn since(&self, start: Span) -> Span {
        start.to(self.previous())
    }

    fn previous(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    fn is_end(&self) -> bool {
        *self.kind() == TokenKind::End
    }

    fn is(&self, sym: Sym) -> bool {
        *self.kind() == TokenKind::Sym(sym)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.kind(), TokenKind::Name(text) if **text == *word)
    }

    fn ahead_is(&self, ahead: usize, sym: Sym) -> bool {
        *self.ahead(ahead) == TokenKind::Sym(sym)
    }

    // Consuming tokens.

    fn next(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    fn eat(&mut self, sym: Sym) -> bool {
        let found = self.is(sym);
        if found {
            self.next();
        }
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.next();
        }
        found
    }

    /// Consumes `sym`, which `form` shows in its place.
    fn expect(&mut self, sym: Sym, form: &str) -> Parsed<()> {
        if self.eat(sym) { Ok(()) } else { self.expected(&format!("`{}`", sym.text()), form) }
    }

    // Reporting.

    /// An error at the next token, still to be reported.
    fn error(&self, code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, self.span(), message)
    }

    /// Reports an error, unless one was reported at this very token.
    fn fail<T>(&mut self, error: Diagnostic) -> Parsed<T> {
        if self.last_error != Some(self.at) {
            self.last_error = Some(self.at);
            self.report(error);
        }
        Err(Failed)
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        if !add_limited(&mut self.diagnostics, DIAGNOSTICS_MAX, diagnostic) {
            // Stops parsing.
            self.at = self.tokens.len() - 1;
        }
    }

    /// Fails because something else was expected here; `help` is the hint.
    fn expected<T>(&mut self, what: &str, help: &str) -> Parsed<T> {
        let found = self.kind().describe();
        let error = self.error("unexpected-token", format!("expected {what}, found {found}"));
        let is_bare_choice = self.is(Sym::Question);
        self.fail(error.help(if is_bare_choice { CONDITIONAL } else { help }))
    }

    /// Runs `part` one level deeper, or fails where that is too deep.
    fn nested<T>(&mut self, part: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.nesting >= NESTING_MAX {
            return self.too_deep();
        }
        self.nesting += 1;
        let done = part(self);
        self.nesting -= 1;
        done
    }

    fn too_deep<T>(&mut self) -> Parsed<T> {
        let error = self.error("nesting-too-deep", "this is nested too deep");
        self.fail(error.help("name a part of it with `:=`"))
    }

    // Recovery from errors.

    /// Skips to the next `,` or closing bracket that belongs to the list being read, or to what
    /// ends the statement.
    fn skip_item(&mut self) {
        let mut depth = 0usize;
        loop {
            match self.kind() {
                TokenKind::End | TokenKind::Sym(Sym::Dot | Sym::If) => return,
                TokenKind::Sym(Sym::LParen | Sym::LBracket | Sym::LBrace) => depth += 1,
                TokenKind::Sym(Sym::RParen | Sym::RBracket | Sym::RBrace) if depth == 0 => return,
                TokenKind::Sym(Sym::RParen | Sym::RBracket | Sym::RBrace) => depth -= 1,
                TokenKind::Sym(Sym::Comma) if depth == 0 => return,
                _ => {}
            }
            if self.starts_statement() {
                return;
            }
            self.next();
        }
    }

    /// Skips after the `.` that ends the statement which began at token `from`; stops before what
    /// looks like the next one, and before the `}` of the namespace around it.
    fn skip_statement(&mut self, from: usize) {
        let mut braces = 0usize;
        loop {
            match self.kind() {
                TokenKind::End => return,
                TokenKind::Sym(Sym::LBrace) => braces += 1,
                TokenKind::Sym(Sym::RBrace) if braces == 0 && self.spaces > 0 => return,
                TokenKind::Sym(Sym::RBrace) => braces = braces.saturating_sub(1),
                TokenKind::Sym(Sym::Dot) => return self.next(),
                _ if self.at > from && self.starts_statement() => return,
                _ => {}
            }
            self.next();
        }
    }

    /// Items between `open`, already consumed, and `close`. Resumes after a malformed one, and
    /// fails after the last.
    fn items<T>(
        &mut self,
        close: Sym,
        mut item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        let mut failed = false;
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            let item = item(self);
            let right = item.is_ok();
            items.extend(item);
            if right && !self.is(Sym::Comma) && !self.is(close) {
                let what = format!("`,` or `{}`", close.text());
                let _ = self.expected::<()>(&what, "a `,` or an operator is missing before it");
                failed = true;
            }
            if !right || failed {
                failed = true;
                self.skip_item();
            }
            if self.eat(Sym::Comma) {
                continue;
            }
            if self.is(close) {
                break;
            }
            return Err(Failed);
        }
        self.next();
        if failed { Err(Failed) } else { Ok(items) }
    }
}
