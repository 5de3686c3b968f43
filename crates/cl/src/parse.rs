//! Tokens to the tree.
//!
//! The parser is written by hand, one function per production of the grammar. It always yields a
//! tree: a wrong statement is reported and left out, a wrong value or type in a declaration is an
//! error node, and parsing continues after it. Callers that get errors should stop there: later
//! checks would miss what is left out.
//!
//! | part | holds |
//! |---|---|
//! | `parse/declarations.rs` | components, interfaces, bodies, types |
//! | `parse/statements.rs` | sequences and statements |
//! | `parse/expressions.rs` | values, designators, and how they bind |
//! | `parse/recovery.rs` | messages of errors, and where parsing continues |
//!
//! Nesting has a limit, so that no source can exhaust the stack, here or later.

mod declarations;
mod expressions;
mod recovery;
pub(crate) mod relatives;
mod statements;

use crate::ast::{File, Ident, Program};
use crate::lex::{Lexed, Token, TokenKind, lex};
use recovery::Parsed;
use tidemill_diag::{Diagnostic, FileId, MORE_FINDINGS, Sources, Span};
use tidemill_stdx::sort;

/// How deep components, statements and expressions nest in the text, taken together.
const NESTING_MAX: usize = 120;
/// How high an expression's tree grows: a chain of operators is as high as it is long.
const HEIGHT_MAX: usize = 400;
/// Findings after which a file is given up.
const DIAGNOSTICS_MAX: usize = 100;

/// Parses the files of one program, in the order of the command line.
pub fn parse_files(files: &[FileId], sources: &Sources) -> (Program, Vec<Diagnostic>) {
    let mut program = Program::default();
    let mut diagnostics = Vec::new();
    for &file in files {
        let (tree, mut found) = parse_file(file, sources.text(file));
        program.files.push(tree);
        diagnostics.append(&mut found);
    }
    (program, diagnostics)
}

/// Adds `text` to `sources` under `name` and parses it as a program of one file.
pub fn parse_text(name: &str, text: &str, sources: &mut Sources) -> (Program, Vec<Diagnostic>) {
    let file = sources.add(name, text);
    parse_files(&[file], sources)
}

/// Parses the text of one file. The diagnostics are in the order of their places.
pub fn parse_file(file: FileId, text: &str) -> (File, Vec<Diagnostic>) {
    if u32::try_from(text.len()).is_err() {
        let span = Span { file, start: 0, end: 0 };
        let error = Diagnostic::error("file-too-large", span, "the file is larger than 4 GiB");
        return (File { file, definitions: Vec::new() }, vec![error]);
    }
    let mut parser = Parser::new(file, text, lex(file, text));
    let definitions = parser.file();
    let mut diagnostics = parser.diagnostics;
    sort::by_key(&mut diagnostics, |it| it.span.start);
    diagnostics.dedup();
    if let Some(span) = parser.given_up {
        let message = format!("the file is given up after {DIAGNOSTICS_MAX} errors");
        diagnostics.push(Diagnostic::error(MORE_FINDINGS, span, message));
    }
    (File { file, definitions }, diagnostics)
}

/// The name of something whose END names it again.
struct Open {
    name: String,
    /// The keyword and the name that it began with.
    span: Span,
}

struct Parser<'a> {
    file: FileId,
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    diagnostics: Vec<Diagnostic>,
    /// Where the last error was reported, as an index of `tokens`: one error per place.
    last_error: Option<usize>,
    /// The first error that is not reported, because there are too many.
    given_up: Option<Span>,
    /// How deep the part being read is nested.
    nesting: usize,
    /// The height of the expression, designator or type read last.
    height: usize,
    /// What is still open and needs its END and name, innermost last.
    open: Vec<Open>,
}

impl<'a> Parser<'a> {
    fn new(file: FileId, text: &'a str, lexed: Lexed) -> Parser<'a> {
        let Lexed { tokens, mut diagnostics, .. } = lexed;
        let given_up = diagnostics.get(DIAGNOSTICS_MAX).map(|it| it.span);
        diagnostics.truncate(DIAGNOSTICS_MAX);
        Parser {
            file,
            text,
            tokens,
            at: 0,
            diagnostics,
            last_error: None,
            given_up,
            nesting: 0,
            height: 0,
            open: Vec::new(),
        }
    }

    // Looking at tokens. The last one is `End` and is never passed, so `at` is always inside.

    fn kind(&self) -> TokenKind {
        self.tokens[self.at].kind
    }

    /// The kind of the token `ahead` of the next.
    fn ahead(&self, ahead: usize) -> TokenKind {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)].kind
    }

    fn is(&self, kind: TokenKind) -> bool {
        self.kind() == kind
    }

    fn is_one_of(&self, kinds: &[TokenKind]) -> bool {
        kinds.contains(&self.kind())
    }

    fn span_at(&self, at: usize) -> Span {
        let token = self.tokens[at.min(self.tokens.len() - 1)];
        Span { file: self.file, start: token.start, end: token.end }
    }

    fn span(&self) -> Span {
        self.span_at(self.at)
    }

    /// The token consumed last.
    fn previous(&self) -> Span {
        self.span_at(self.at.saturating_sub(1))
    }

    /// The span from `start` to the end of the token consumed last.
    fn since(&self, start: Span) -> Span {
        start.to(self.previous())
    }

    fn text_at(&self, at: usize) -> &'a str {
        let token = self.tokens[at.min(self.tokens.len() - 1)];
        &self.text[token.start as usize..token.end as usize]
    }

    /// The text of the next token.
    fn slice(&self) -> &'a str {
        self.text_at(self.at)
    }

    // Consuming tokens.

    fn next(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.is(kind);
        if found {
            self.next();
        }
        found
    }

    /// Consumes `kind`, which `form` shows in its place.
    fn expect(&mut self, kind: TokenKind, form: &str) -> Parsed<()> {
        if self.eat(kind) || self.eat_lower_case(kind) {
            return Ok(());
        }
        self.expected(&format!("`{}`", kind.text()), form)
    }

    /// Consumes a name; `what` describes what it names.
    fn ident(&mut self, what: &str) -> Parsed<Ident> {
        if !self.is(TokenKind::Ident) {
            return self.expected(what, self.name_help());
        }
        let name = Ident { text: self.slice().to_string(), span: self.span() };
        self.next();
        Ok(name)
    }

    /// One or more items with commas between them.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat(TokenKind::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }
}
