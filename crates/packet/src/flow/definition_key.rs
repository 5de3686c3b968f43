//! Keys in definitions of apps, and documentation.

use super::code::ast::{KeyDef, RangeDef};
use super::definition_table::TYPES_HELP;
use super::lex::TokenKind;
use super::literal::Literal;
use super::parse::Parser;
use crate::app::Value;

/// How a range is written.
const RANGE_HELP: &str = "write `key: u16 from 1 to 10`, either end alone, or `else \"why\"` after";

impl Parser<'_> {
    /// The lines `/// ...` before the current token, without the slashes.
    pub(super) fn documentation(&self) -> String {
        let start = self.token().start;
        let before = self.at.checked_sub(1).map_or(0, |at| self.tokens[at].end);
        let first = self.comments.partition_point(|comment| comment.start < before);
        let between = self.comments[first..].iter().take_while(|comment| comment.start < start);
        let lines = between.filter(|comment| comment.begins_line).filter_map(|comment| {
            let text = self.source_of(comment).trim_end().strip_prefix("///")?;
            (!text.starts_with('/')).then_some(text)
        });
        lines.flat_map(|line| [line, "\n"]).collect()
    }

    fn is_word_before_name(&self, word: &str) -> bool {
        let next = self.tokens.get(self.at + 1).map(|next| &next.kind);
        self.source() == word && next == Some(&TokenKind::Name)
    }

    /// `from least to most else "message"`; nothing inside, if there is none.
    fn range(&mut self) -> Option<Option<RangeDef>> {
        let span = self.span();
        let least =
            if self.word("from") { Some(self.number("a number", RANGE_HELP)?) } else { None };
        let most = if self.word("to") { Some(self.number("a number", RANGE_HELP)?) } else { None };
        if least.is_none() && most.is_none() {
            return Some(None);
        }
        let span = span.to(self.before());
        let mut message = None;
        if self.word("else") {
            let Some(Literal::Text(text)) = self.literal() else {
                self.expected("a text", RANGE_HELP);
                return None;
            };
            self.advance();
            message = Some(text);
        }
        Some(Some(RangeDef { least, most, message, span }))
    }

    /// After an error parsing continues after the keys.
    pub(super) fn key_definitions(&mut self, keys: &mut Vec<KeyDef>) {
        while !self.takes(&TokenKind::Mark(')')) {
            let key = self.key_definition();
            let is_right = key.is_some();
            keys.extend(key);
            if is_right
                && (self.takes(&TokenKind::Mark(',')) || self.kind() == &TokenKind::Mark(')'))
            {
                continue;
            }
            if is_right {
                self.expected("`,` or `)`", "keys are separated by commas");
            }
            while !matches!(self.kind(), TokenKind::Mark(')' | '{') | TokenKind::End) {
                self.advance();
            }
            self.takes(&TokenKind::Mark(')'));
            return;
        }
    }

    fn key_definition(&mut self) -> Option<KeyDef> {
        let about = self.documentation();
        let is_const = self.is_word_before_name("const") && self.word("const");
        let called = self.name("a key", "write `key: type` or `key: type = default`")?;
        let name = if self.word("as") {
            self.name("a name", "write `key as name: type`")?
        } else {
            called.clone()
        };
        self.mark(':', "write `key: type`")?;
        let kind = self.name("a type", TYPES_HELP)?;
        let range = self.range()?;
        let mut default = None;
        if self.takes(&TokenKind::Mark('=')) {
            default = self.key_default();
        }
        Some(KeyDef { about, called, name, kind, is_const, range, default })
    }

    /// The default of a key. After an error parsing continues at the next key.
    fn key_default(&mut self) -> Option<Value> {
        let value = self.literal().map(Literal::value);
        match value {
            Some(_) => self.advance(),
            None => {
                self.expected("a default", "a default is a number, a text, true or false");
                while !matches!(self.kind(), TokenKind::Mark(',' | ')' | '{') | TokenKind::End) {
                    self.advance();
                }
            }
        }
        value
    }
}
