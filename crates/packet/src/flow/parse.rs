//! From tokens to a tree. It never fails: after an error parsing continues at the next item.

use std::ops::Range;

use tidemill_diag::{Diagnostic, FileId, Span, given_up};
use tidemill_stdx::hash::Map;

use super::code::ast::Definition;
pub use super::code::ast::Word;
use super::lex::{Lexed, Token, TokenKind, lex};
use crate::app::Value;

/// Findings of one file at most.
const DIAGNOSTICS_MAX: usize = 100;

/// Lists within lists.
const DEPTH_MAX: u32 = 64;

/// A value as it is written.
#[derive(Clone, PartialEq, Debug)]
pub enum Written {
    /// A literal.
    Literal(Value),
    /// `$NAME`, without the `$`.
    Parameter(Word),
    /// A list.
    List(Vec<Written>),
}

/// `key: value`.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// The key.
    pub key: Word,
    /// The value.
    pub value: Written,
    /// The span of the value.
    pub span: Span,
}

/// `:: Type { ... }`.
#[derive(Clone, PartialEq, Debug)]
pub struct Declares {
    /// The type.
    pub kind: Word,
    /// The config.
    pub entries: Vec<Entry>,
}

/// A stop of a chain.
#[derive(Clone, PartialEq, Debug)]
pub struct Stop {
    /// The app.
    pub app: Word,
    /// The port, if it is named.
    pub port: Option<Word>,
    /// Its declaration, if it is one.
    pub declares: Option<Declares>,
}

/// An item of a file.
#[derive(Clone, PartialEq, Debug)]
pub enum Item {
    /// `#include "file"`.
    Include(Word),
    /// `#define NAME value`.
    Define(Word, Written),
    /// The definition of an app type.
    App(Box<Definition>),
    /// A declaration, or links.
    Chain(Vec<Stop>),
}

/// The contents of a file.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    /// The items, each with its first byte.
    pub items: Vec<(u32, Item)>,
    /// The errors.
    pub diagnostics: Vec<Diagnostic>,
}

/// The tree of a text.
pub fn parse(file: FileId, text: &str) -> Parsed {
    let mut parser = Parser::new(file, text, 0..text.len());
    let mut items = Vec::new();
    while parser.kind() != &TokenKind::End && parser.found.len() < DIAGNOSTICS_MAX {
        let (start, before) = (parser.token().start, parser.at);
        match parser.item() {
            Some(item) => items.push((start, item)),
            None => parser.recover(before),
        }
    }
    Parsed { items, diagnostics: parser.limited() }
}

/// The definition at `place` of a text, with the values of its parameters, and its errors.
pub fn parse_definition(
    (file, text): (FileId, &str),
    place: Range<usize>,
    values: &Map<String, Value>,
) -> (Option<Definition>, Vec<Diagnostic>) {
    let mut parser = Parser { values: Some(values), ..Parser::new(file, text, place) };
    let made = parser.definition();
    (made, parser.limited())
}

/// The value that `text` is; nothing if it is none.
pub fn parse_value(text: &str) -> Option<Value> {
    let mut parser = Parser::new(FileId(0), text, 0..text.len());
    let value = parser.value(0)?;
    let ended = parser.kind() == &TokenKind::End;
    literal(value).filter(|_| ended && parser.found.is_empty())
}

fn literal(value: Written) -> Option<Value> {
    match value {
        Written::Literal(value) => Some(value),
        Written::Parameter(_) => None,
        Written::List(values) => {
            values.into_iter().map(literal).collect::<Option<Vec<Value>>>().map(Value::List)
        }
    }
}

/// A parser at a token.
pub(super) struct Parser<'t> {
    file: FileId,
    pub(super) text: &'t str,
    pub(super) tokens: Vec<Token>,
    pub(super) at: usize,
    /// Comments, by place.
    pub(super) comments: Vec<Token>,
    found: Vec<Diagnostic>,
    /// The length of the chain of `else if` up to the current branch.
    pub(super) chained: u32,
    /// The values of the parameters of a definition, once known.
    pub(super) values: Option<&'t Map<String, Value>>,
}

impl<'t> Parser<'t> {
    /// A parser of the tokens at `place` of a text, at the first of them.
    fn new(file: FileId, text: &'t str, place: Range<usize>) -> Parser<'t> {
        let Lexed { tokens, comments, diagnostics: found } = lex(file, text, place);
        Parser { file, text, tokens, at: 0, comments, found, chained: 0, values: None }
    }
}

impl Parser<'_> {
    pub(super) fn token(&self) -> &Token {
        // The last token is `End`, and nothing goes beyond it.
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    pub(super) fn kind(&self) -> &TokenKind {
        &self.token().kind
    }

    pub(super) fn span(&self) -> Span {
        self.span_of(self.token())
    }

    pub(super) fn span_of(&self, token: &Token) -> Span {
        Span { file: self.file, start: token.start, end: token.end }
    }

    /// The span of the token before this one.
    pub(super) fn before(&self) -> Span {
        self.span_of(&self.tokens[self.at.saturating_sub(1)])
    }

    /// Whether nothing more is to be found.
    pub(super) fn is_full(&self) -> bool {
        self.found.len() >= DIAGNOSTICS_MAX
    }

    /// The findings up to the limit. A last one says that there are more, or that the rest was not
    /// read.
    fn limited(mut self) -> Vec<Diagnostic> {
        let left_out = match self.found.get(DIAGNOSTICS_MAX) {
            Some(first) => Some(first.span),
            None => (self.is_full() && self.kind() != &TokenKind::End)
                .then(|| self.span_of(self.token())),
        };
        self.found.truncate(DIAGNOSTICS_MAX);
        self.found.extend(left_out.map(|span| given_up(DIAGNOSTICS_MAX, span)));
        self.found
    }

    pub(super) fn source(&self) -> &str {
        self.source_of(self.token())
    }

    pub(super) fn source_of(&self, token: &Token) -> &str {
        &self.text[token.start as usize..token.end as usize]
    }

    pub(super) fn advance(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    pub(super) fn takes(&mut self, kind: &TokenKind) -> bool {
        let is = self.kind() == kind;
        if is {
            self.advance();
        }
        is
    }

    /// Reports what was expected here. An invalid token has been reported already.
    pub(super) fn expected(&mut self, what: &str, help: &str) {
        if self.kind() == &TokenKind::Invalid {
            return;
        }
        let found = match self.kind() {
            TokenKind::End => "the end of the file".to_owned(),
            _ => format!("`{}`", self.source().chars().take(40).collect::<String>()),
        };
        let message = format!("expected {what}, found {found}");
        let diagnostic = Diagnostic::error("unexpected-token", self.span(), message);
        self.found.push(diagnostic.help(help));
    }

    /// Continues at the next item: a name or directive at the beginning of a line.
    fn recover(&mut self, before: usize) {
        if self.at == before {
            self.advance();
        }
        while self.kind() != &TokenKind::End && !self.begins_item() {
            self.advance();
        }
    }

    /// Whether an item may begin here: a name or directive at the beginning of a line. An entry of
    /// a config that was not closed is no item.
    fn begins_item(&self) -> bool {
        let begins = matches!(self.kind(), TokenKind::Name | TokenKind::Directive);
        begins && self.token().begins_line && !self.begins_entry()
    }

    fn begins_entry(&self) -> bool {
        let next = self.tokens.get(self.at + 1).map(|next| &next.kind);
        self.kind() == &TokenKind::Name && next == Some(&TokenKind::Mark(':'))
    }

    /// Continues at the next entry of a config, or after it. Returns whether there may be more
    /// entries.
    fn recover_entry(&mut self) -> bool {
        while self.kind() != &TokenKind::End && !self.begins_item() {
            if self.takes(&TokenKind::Mark('}')) {
                return false;
            }
            if self.begins_entry() {
                return true;
            }
            self.advance();
        }
        false
    }

    fn item(&mut self) -> Option<Item> {
        match self.kind() {
            TokenKind::Directive => self.directive(),
            TokenKind::Name if self.begins_definition() => {
                self.definition().map(|made| Item::App(Box::new(made)))
            }
            TokenKind::Name => self.chain(),
            _ => {
                self.expected("an app", "write `name :: Type { key: value }` or `from -> to`");
                None
            }
        }
    }

    fn directive(&mut self) -> Option<Item> {
        match self.source() {
            "#include" => {
                self.advance();
                let span = self.span();
                let TokenKind::Text(text) = self.kind().clone() else {
                    self.expected("a file in quotes", "write #include \"parts.flow\"");
                    return None;
                };
                self.advance();
                Some(Item::Include(Word { text, span }))
            }
            "#define" => {
                self.advance();
                let name = self.name("the name of a parameter", "write #define NAME value")?;
                Some(Item::Define(name, self.value(0)?))
            }
            other => {
                let message = format!("there is no directive `{other}`");
                let diagnostic = Diagnostic::error("unknown-directive", self.span(), message);
                self.found.push(diagnostic.help("there are #include and #define"));
                None
            }
        }
    }

    pub(super) fn name(&mut self, what: &str, help: &str) -> Option<Word> {
        if self.kind() != &TokenKind::Name {
            self.expected(what, help);
            return None;
        }
        let word = Word { text: self.source().to_owned(), span: self.span() };
        self.advance();
        Some(word)
    }

    fn chain(&mut self) -> Option<Item> {
        let mut stops = vec![self.stop()?];
        while self.takes(&TokenKind::Arrow) {
            stops.push(self.stop()?);
        }
        if let [Stop { declares: None, app, .. }] = stops.as_slice() {
            let message = format!("`{}` is neither declared nor linked", app.text);
            let diagnostic = Diagnostic::error("lonely-name", app.span, message);
            let help = format!("write `{} :: Type` or `{0} -> ...`", app.text);
            self.found.push(diagnostic.help(help));
            return None;
        }
        Some(Item::Chain(stops))
    }

    fn stop(&mut self) -> Option<Stop> {
        // An arrow at the end of a line takes no definition from the next one.
        if self.token().begins_line && self.begins_definition() {
            self.expected("the name of an app", "a link joins apps: `from -> to`");
            return None;
        }
        let app = self.name("the name of an app", "a link joins apps: `from -> to`")?;
        let port = if self.takes(&TokenKind::Mark('.')) {
            Some(self.name("the name of a port", "write `app.port`")?)
        } else {
            None
        };
        let declares = if self.takes(&TokenKind::Is) { Some(self.declares()?) } else { None };
        Some(Stop { app, port, declares })
    }

    fn declares(&mut self) -> Option<Declares> {
        let kind = self.name("the type of the app", "`tidemill apps` lists the types")?;
        let mut entries = Vec::new();
        let mut open = self.takes(&TokenKind::Mark('{'));
        while open && !self.takes(&TokenKind::Mark('}')) {
            // An app stays declared whatever the errors in its config.
            open = match self.entry() {
                Some(entry) => {
                    entries.push(entry);
                    self.separated() || self.recover_entry()
                }
                None => self.recover_entry(),
            };
        }
        Some(Declares { kind, entries })
    }

    /// Whether a comma or the end of the config follows an entry.
    fn separated(&mut self) -> bool {
        let separated = self.takes(&TokenKind::Mark(',')) || self.kind() == &TokenKind::Mark('}');
        if !separated {
            self.expected("`,` or `}`", "entries are separated by commas");
        }
        separated
    }

    fn entry(&mut self) -> Option<Entry> {
        let key = self.name("a key", "write `key: value`, or close the config with `}`")?;
        if !self.takes(&TokenKind::Mark(':')) {
            self.expected("`:`", "write `key: value`");
            return None;
        }
        let start = self.span();
        let value = self.value(0)?;
        let last = &self.tokens[self.at - 1];
        let span = Span { end: last.end, ..start };
        Some(Entry { key, value, span })
    }

    pub(super) fn value(&mut self, depth: u32) -> Option<Written> {
        let value = match self.kind() {
            TokenKind::Parameter => {
                let text = self.source()[1..].to_owned();
                Written::Parameter(Word { text, span: self.span() })
            }
            TokenKind::Mark('[') if depth < DEPTH_MAX => return self.list(depth),
            _ => {
                let Some(literal) = self.literal() else {
                    let help =
                        "values are numbers, \"texts\", true, false, $NAME, and lists [a, b]";
                    self.expected("a value", help);
                    return None;
                };
                Written::Literal(literal.value())
            }
        };
        self.advance();
        Some(value)
    }

    fn list(&mut self, depth: u32) -> Option<Written> {
        self.advance();
        let mut values = Vec::new();
        while !self.takes(&TokenKind::Mark(']')) {
            values.push(self.value(depth + 1)?);
            if !self.takes(&TokenKind::Mark(',')) && self.kind() != &TokenKind::Mark(']') {
                self.expected("`,` or `]`", "values of a list are separated by commas");
                return None;
            }
        }
        Some(Written::List(values))
    }
}
