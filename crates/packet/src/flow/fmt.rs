//! The formatter behind `tidemill fmt`.
//!
//! It moves white space and nothing else. One item to a line; a config stays on its line unless its
//! first key stood on a line of its own: then each key does; so too a list and its values. A chain
//! that was broken before an arrow stays broken there. Definitions of apps keep their lines.
//! Empty lines are kept, several as one; comments stay after what they stood after, or on a line
//! of their own.

use std::ops::Range;

use tidemill_diag::{Diagnostic, FileId, has_errors};
use tidemill_stdx::hash::Set;
use tidemill_stdx::sort;

use super::fmt_body::{Body, Space};
use super::lex::{Token, TokenKind, lex};
use super::parse::{Item, parse};

/// Columns that keys and broken chains are indented by.
const INDENT: &str = "    ";

/// The source `text` in the one style.
///
/// # Errors
/// The errors of the parser.
pub fn format(file: FileId, text: &str) -> Result<String, Vec<Diagnostic>> {
    let text = text.replace("\r\n", "\n");
    let parsed = parse(file, &text);
    if has_errors(&parsed.diagnostics) {
        return Err(parsed.diagnostics);
    }
    let items: Set<u32> = parsed.items.iter().map(|(start, _)| *start).collect();
    let tokens = all_tokens(file, &text);
    let definitions = parsed.items.iter().filter_map(|(start, item)| match item {
        Item::App(made) => Some(*start..*start + made.source.len() as u32),
        _ => None,
    });
    let definitions = definitions.collect();
    let printer = Printer {
        text: &text,
        items,
        definitions,
        body: Body::default(),
        out: String::new(),
        open: Vec::new(),
    };
    let out = printer.print(&tokens);
    // Never let a defect of the formatter change a source.
    let same = words(&text, &tokens) == words(&out, &all_tokens(file, &out));
    Ok(if same { out } else { text })
}

/// Tokens and comments by place, without the end.
fn all_tokens(file: FileId, text: &str) -> Vec<Token> {
    let mut lexed = lex(file, text, 0..text.len());
    lexed.tokens.pop();
    lexed.tokens.append(&mut lexed.comments);
    sort::by_key(&mut lexed.tokens, |token| token.start);
    lexed.tokens
}

fn words<'t>(text: &'t str, tokens: &[Token]) -> Vec<&'t str> {
    tokens.iter().map(|token| source(text, token)).collect()
}

fn source<'t>(text: &'t str, token: &Token) -> &'t str {
    text[token.start as usize..token.end as usize].trim_end()
}

struct Printer<'t> {
    text: &'t str,
    /// Where items begin.
    items: Set<u32>,
    /// The ranges of definitions of apps.
    definitions: Vec<Range<u32>>,
    /// The state within the definition that is printed.
    body: Body,
    out: String,
    open: Vec<Open>,
}

/// A brace or bracket that has not been closed yet.
struct Open {
    /// Its contents are on lines of their own.
    is_broken: bool,
    is_list: bool,
}

impl Printer<'_> {
    fn print(mut self, tokens: &[Token]) -> String {
        for (at, token) in tokens.iter().enumerate() {
            let before = at.checked_sub(1).map(|at| &tokens[at]);
            let lines = before.map_or(0, |before| self.lines_between(before, token));
            if let Some(before) = before
                && self
                    .definitions
                    .iter()
                    .any(|range| range.start < token.start && range.contains(&token.start))
            {
                self.in_body(before, token, lines);
                continue;
            }
            self.body = Body::default();
            let closes = matches!(token.kind, TokenKind::Mark('}' | ']'));
            if closes && self.open.pop().is_some_and(|open| open.is_broken) {
                self.line(0, &self.indent());
            } else if let Some(before) = before {
                self.space(before, token, lines);
            }
            self.out.push_str(source(self.text, token));
            if let TokenKind::Mark(mark @ ('{' | '[')) = token.kind {
                let mut rest = tokens[at + 1..].iter();
                let next = rest.find(|next| next.kind != TokenKind::Comment);
                let is_broken = next.is_some_and(|next| self.lines_between(token, next) > 0);
                self.open.push(Open { is_broken, is_list: mark == '[' });
            }
        }
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out
    }

    /// A token of a definition.
    fn in_body(&mut self, before: &Token, token: &Token, lines: usize) {
        let (was, is) = (source(self.text, before), source(self.text, token));
        match self.body.space((before, was), token, lines) {
            Space::None => {}
            Space::Blanks(count) => self.out.push_str(&" ".repeat(count)),
            Space::Lines(lines, levels) => self.line(lines, &INDENT.repeat(levels)),
        }
        self.out.push_str(is);
    }

    fn lines_between(&self, before: &Token, token: &Token) -> usize {
        self.text[before.end as usize..token.start as usize].matches('\n').count()
    }

    /// Of a line that begins here.
    fn indent(&self) -> String {
        INDENT.repeat(self.open.iter().filter(|open| open.is_broken).count())
    }

    /// Ends the line; one empty line stays if there were several ends.
    fn line(&mut self, lines: usize, indent: &str) {
        self.out.push_str(if lines > 1 { "\n\n" } else { "\n" });
        self.out.push_str(indent);
    }

    /// The space between two tokens.
    fn space(&mut self, before: &Token, token: &Token, lines: usize) {
        let indent = &self.indent();
        let is_item = self.items.contains(&token.start);
        let after_line_comment =
            before.kind == TokenKind::Comment && source(self.text, before).starts_with("//");
        if token.kind == TokenKind::Comment {
            return match lines {
                0 => self.out.push_str("  "),
                _ => self.line(lines, indent),
            };
        }
        if is_item || after_line_comment || before.kind == TokenKind::Comment && lines > 0 {
            return self.line(lines, indent);
        }
        if token.kind == TokenKind::Arrow && lines > 0 {
            return self.line(1, INDENT);
        }
        let is_first = matches!(before.kind, TokenKind::Mark('{' | '['));
        let begins = is_first || before.kind == TokenKind::Mark(',');
        let inner = self.open.last().filter(|open| open.is_broken && begins);
        if inner.is_some_and(|open| open.is_list || token.kind == TokenKind::Name) {
            return self.line(if is_first { 1 } else { lines }, indent);
        }
        if !is_tight(&before.kind, &token.kind) {
            self.out.push(' ');
        }
    }
}

/// Whether two tokens are printed without a blank between them.
fn is_tight(before: &TokenKind, token: &TokenKind) -> bool {
    let after = matches!(before, TokenKind::Mark('.' | '['));
    let ahead = matches!(token, TokenKind::Mark('.' | ',' | ':' | ']'));
    after || ahead || (before, token) == (&TokenKind::Mark('{'), &TokenKind::Mark('}'))
}
