//! The expansion of macros, as the preprocessor of C does it, on whole words.
//!
//! The name of a macro with parameters is one only where `(` follows, possibly on a later line.
//! Commas separate its arguments, except in parentheses. They are expanded first, then put into
//! the value, in which further macros are then expanded.

use std::iter::Peekable;
use std::vec::IntoIter;

use super::{EXPANDED_MAX, MACRO_DEPTH_MAX, Macro, Preprocessor, TOKENS_MAX};
use crate::ast::MacroUse;
use crate::lex::{Sym, Token, TokenKind};
use tidemill_diag::{Diagnostic, Span};

/// What is being expanded.
pub(super) struct Expansion {
    /// The use in the text.
    used: Span,
    /// The macros around the place.
    open: Vec<usize>,
    /// Macros and arguments around it.
    depth: usize,
    /// A macro in its own value is no error and stays, as in conditions.
    is_condition: bool,
}

impl Preprocessor<'_> {
    /// Passes on one token of the text, expanded, and with it the arguments in the tokens after it.
    pub(super) fn pass(&mut self, mut token: Token, rest: &mut Peekable<IntoIter<Token>>) {
        if let Some(error) = token.error.take() {
            self.report(*error);
        }
        if token.kind == TokenKind::Comment {
            return;
        }
        if self.out.tokens.len() >= TOKENS_MAX {
            let message = "the program has more than 20 million tokens";
            return self.stop(Diagnostic::error("program-too-large", token.span, message));
        }
        let Some(found) = self.lookup(&token) else {
            self.out.tokens.push(token);
            return;
        };
        let mut used = token.span;
        let mut arguments = Vec::new();
        if self.macros[found].parameters.is_some() {
            self.skip_comments(rest);
            if !rest.peek().is_some_and(|next| next.kind == TokenKind::Sym(Sym::LParen)) {
                self.out.tokens.push(token);
                return;
            }
            let Some(call) = self.call(rest) else { return self.report_open_call(found, used) };
            used = call.iter().fold(used, |used, token| used.to(token.span));
            arguments = call;
        }
        let Macro { name, defined, .. } = &self.macros[found];
        self.out.macro_uses.push(MacroUse { name: name.clone(), used, defined: *defined });
        let mut out = std::mem::take(&mut self.out.tokens);
        let from = out.len();
        let mut place = Expansion { used, open: Vec::new(), depth: 0, is_condition: false };
        self.expand(found, &arguments, &mut place, &mut out);
        if let Some(expansion) = out.get_mut(from) {
            expansion.first = token.first;
        }
        self.out.tokens = out;
    }

    /// The expansion of a condition at `used`.
    pub(super) fn expand_condition(&mut self, tokens: &[Token], used: Span) -> Vec<Token> {
        let mut place = Expansion { used, open: Vec::new(), depth: 0, is_condition: true };
        let mut out = Vec::new();
        self.expand_all(tokens, &mut place, &mut out);
        out
    }

    fn skip_comments(&mut self, rest: &mut Peekable<IntoIter<Token>>) {
        while let Some(comment) = rest.next_if(|next| next.kind == TokenKind::Comment) {
            if let Some(error) = comment.error {
                self.report(*error);
            }
        }
    }

    /// The tokens from `(` to its `)`; none if a directive or the end of the file comes before.
    fn call(&mut self, rest: &mut Peekable<IntoIter<Token>>) -> Option<Vec<Token>> {
        let is_end = |token: &Token| {
            token.kind == TokenKind::End || token.first && token.kind == TokenKind::Sym(Sym::Hash)
        };
        let mut call = Vec::new();
        let mut depth = 0;
        while let Some(mut token) = rest.next_if(|next| !is_end(next)) {
            if let Some(error) = token.error.take() {
                self.report(*error);
            }
            match token.kind {
                TokenKind::Comment => continue,
                TokenKind::Sym(Sym::LParen) => depth += 1,
                TokenKind::Sym(Sym::RParen) => depth -= 1,
                _ => {}
            }
            call.push(token);
            if depth == 0 {
                return Some(call);
            }
        }
        None
    }

    fn report_open_call(&mut self, it: usize, used: Span) {
        let Macro { name, defined, .. } = &self.macros[it];
        let message = format!("the arguments of macro `{name}` do not end");
        let error = Diagnostic::error("macro-arguments", used, message)
            .label(*defined, format!("macro `{name}` is defined here"))
            .help("close them with `)`; no directive may stand among them");
        self.report(error);
    }

    /// The macro that a token names.
    fn lookup(&self, token: &Token) -> Option<usize> {
        self.current.get(token.kind.word()?).copied()
    }

    /// Expands tokens of a value, of an argument or of a condition.
    fn expand_all(&mut self, tokens: &[Token], place: &mut Expansion, out: &mut Vec<Token>) {
        let mut at = 0;
        while let Some(token) = tokens.get(at)
            && !self.stopped
        {
            at += 1;
            self.count(token);
            if place.is_condition && place.depth == 0 {
                place.used = token.span;
            }
            let call = match self.lookup(token) {
                None => None,
                Some(it) if place.is_condition && place.open.contains(&it) => None,
                Some(it) if self.macros[it].parameters.is_none() => Some((it, 0)),
                Some(it) => call_length(&tokens[at..]).map(|length| (it, length)),
            };
            match call {
                None => out.push(Token { first: false, error: None, ..token.clone() }),
                Some((it, length)) => {
                    self.expand(it, &tokens[at..at + length], place, out);
                    at += length;
                }
            }
        }
    }

    /// Counts a token that is read or copied in an expansion; at the limit all reading stops.
    fn count(&mut self, token: &Token) {
        self.expanded += weight(&token.kind);
        if self.expanded > EXPANDED_MAX {
            let message = "macros expand to more than a million tokens";
            self.stop(Diagnostic::error("macro-too-large", token.span, message));
        }
    }

    /// Adds the value of a macro with the arguments of `call`, its tokens from `(` to `)`.
    fn expand(&mut self, it: usize, call: &[Token], place: &mut Expansion, out: &mut Vec<Token>) {
        if place.open.contains(&it) || place.depth >= MACRO_DEPTH_MAX {
            return self.stop_nesting(it, place, out);
        }
        place.depth += 1;
        if let Some(value) = self.value(it, call, place) {
            place.open.push(it);
            self.expand_all(&value, place, out);
            place.open.pop();
        }
        place.depth -= 1;
    }

    /// The value of a macro with its arguments in place; none if their number is wrong.
    fn value(&mut self, it: usize, call: &[Token], place: &mut Expansion) -> Option<Vec<Token>> {
        let mut arguments = Vec::new();
        if let Some(parameters) = self.macros[it].parameters.as_ref().map(Vec::len) {
            let given = arguments_of(call, parameters);
            if given.len() != parameters {
                self.report_argument_count(it, call, given.len(), place);
                return None;
            }
            for argument in given {
                let mut expanded = Vec::new();
                self.expand_all(argument, place, &mut expanded);
                arguments.push(expanded);
            }
        }
        let mut value = Vec::new();
        for index in 0..self.macros[it].body.len() {
            if self.stopped {
                break;
            }
            let Macro { parameters, body, .. } = &self.macros[it];
            let token = &body[index];
            let word = token.kind.word().unwrap_or("");
            let names = parameters.as_deref().unwrap_or_default();
            match names.iter().position(|name| **name == *word) {
                Some(parameter) => {
                    let argument = &arguments[parameter];
                    argument.iter().for_each(|token| self.count(token));
                    value.extend_from_slice(argument);
                }
                None => value.push(Token { span: place.used, ..token.clone() }),
            }
        }
        Some(value)
    }

    fn report_argument_count(&mut self, it: usize, call: &[Token], given: usize, at: &Expansion) {
        let Macro { name, defined, parameters, .. } = &self.macros[it];
        let names = parameters.as_deref().unwrap_or_default();
        let span = call.iter().map(|token| token.span).reduce(Span::to).unwrap_or(at.used);
        let count = names.len();
        let message = format!("macro `{name}` takes {count} arguments, not {given}");
        let error = Diagnostic::error("macro-arguments", span, message)
            .label(*defined, format!("macro `{name}` is defined here"))
            .help(format!("write `{name}({})`", names.join(", ")));
        self.report(error);
    }

    fn stop_nesting(&mut self, it: usize, place: &Expansion, out: &mut Vec<Token>) {
        let Macro { name, defined, .. } = &self.macros[it];
        let kind = TokenKind::Name(name.as_str().into());
        out.push(Token { kind, span: place.used, first: false, error: None });
        let error = if place.open.contains(&it) {
            let message = format!("macro `{name}` contains itself");
            Diagnostic::error("macro-recursion", place.used, message)
        } else {
            let message = format!("macros nest deeper than {MACRO_DEPTH_MAX}");
            Diagnostic::error("macro-too-large", place.used, message)
        };
        let error = error.label(*defined, format!("macro `{name}` is defined here"));
        self.report(error);
    }
}

/// How many tokens reach from `(`, with which they begin, to its `)`.
fn call_length(tokens: &[Token]) -> Option<usize> {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Sym(Sym::LParen) => depth += 1,
            TokenKind::Sym(Sym::RParen) => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (at > 0).then_some(at + 1);
        }
    }
    None
}

/// The arguments between the parentheses of a call. Nothing between them is one empty argument of
/// a macro that has parameters.
fn arguments_of(call: &[Token], parameters: usize) -> Vec<&[Token]> {
    let inside = &call[1..call.len() - 1];
    if inside.is_empty() && parameters == 0 {
        return Vec::new();
    }
    let mut depth = 0;
    let is_separator = |token: &Token| {
        match token.kind {
            TokenKind::Sym(Sym::LParen) => depth += 1,
            TokenKind::Sym(Sym::RParen) => depth -= 1,
            _ => {}
        }
        depth == 0 && token.kind == TokenKind::Sym(Sym::Comma)
    };
    inside.split(is_separator).collect()
}

/// The weight of a token out of a macro: more for long texts.
fn weight(kind: &TokenKind) -> usize {
    match kind {
        TokenKind::Str(text) => 1 + text.len() / 64,
        TokenKind::Bytes(bytes) => 1 + bytes.len() / 64,
        kind => 1 + kind.word().map_or(0, |word| word.len() / 64),
    }
}
