//! Ranges of extension numbers and of reserved numbers; reserved names.

use super::{Parsed, Parser};
use crate::proto::lex::TokenKind;
use crate::proto::places::Ranges;
use crate::schema::draft::{ExtensionRangeDraft, RangeDraft};
use crate::schema::features::Features;
use crate::schema::problem::ElementId;
use crate::schema::{EnumId, FIELD_NUMBER_MAX, MessageId, Name};

impl Parser<'_> {
    /// `extensions 100 to 199, 1000 to max [options];`.
    pub(super) fn extensions(&mut self, id: MessageId) -> Parsed {
        self.advance();
        let mut ranges = vec![self.field_range()?];
        while self.take_sign(b',') {
            ranges.push(self.field_range()?);
        }
        let mut options = None;
        self.bracket_options(&mut options, None)?;
        let features = Features::default();
        let draft = |range| ExtensionRangeDraft { range, options: options.clone(), features };
        let drafts: Vec<_> = ranges.into_iter().map(draft).collect();
        self.draft.message_mut(id).extension_ranges.extend(drafts);
        self.end_statement()
    }

    /// `reserved 1, 5 to 9;` or `reserved "a", "b";` or, in editions, `reserved a, b;`.
    pub(super) fn reserved_in_message(&mut self, id: MessageId) -> Parsed {
        self.advance();
        if self.token().kind != TokenKind::Integer {
            let names = self.reserved_names()?;
            self.draft.message_mut(id).reserved_names.extend(names);
            return self.end_statement();
        }
        loop {
            let range = self.field_range()?;
            self.draft.message_mut(id).reserved_ranges.push(range);
            if !self.take_sign(b',') {
                return self.end_statement();
            }
        }
    }

    pub(super) fn reserved_in_enum(&mut self, id: EnumId) -> Parsed {
        self.advance();
        let is_number = matches!(self.token().kind, TokenKind::Integer | TokenKind::Sign(b'-'));
        if !is_number {
            let names = self.reserved_names()?;
            self.draft.enum_mut(id).reserved_names.extend(names);
            return self.end_statement();
        }
        loop {
            let (start, range) = self.signed("a number")?;
            let end = match self.take_word("to") {
                false => start,
                true if self.take_word("max") => i32::MAX,
                true => self.signed("a number or `max`")?.0,
            };
            let place =
                self.place(Ranges { name: (range.0, self.previous().end), ..Ranges::default() });
            self.draft.enum_mut(id).reserved_ranges.push(RangeDraft { start, end, place });
            if !self.take_sign(b',') {
                return self.end_statement();
            }
        }
    }

    /// Parses a range of field numbers to one with an exclusive end.
    fn field_range(&mut self) -> Parsed<RangeDraft> {
        let (start, range) = self.integer("a number")?;
        let end = match self.take_word("to") {
            false => start,
            true if self.take_word("max") => u64::from(FIELD_NUMBER_MAX),
            true => self.integer("a number or `max`")?.0,
        };
        let range = (range.0, self.previous().end);
        // Numbers out of range stay out of range.
        let clamp = |number: u64| i32::try_from(number).unwrap_or(i32::MAX - 1);
        let place = self.place(Ranges { name: range, ..Ranges::default() });
        Ok(RangeDraft { start: clamp(start), end: clamp(end).saturating_add(1), place })
    }

    fn reserved_names(&mut self) -> Parsed<Vec<(Name, ElementId)>> {
        let mut names = Vec::new();
        loop {
            let token = self.token();
            let (name, range) = match token.kind {
                TokenKind::String => {
                    let (name, range) = self.text("a name")?;
                    if self.edition.has_features() {
                        let message = "reserved names stand without quotes in editions";
                        self.error("reserved-name", range, message);
                    }
                    (name.into(), range)
                }
                TokenKind::Word => {
                    let (name, range) = self.name("a name")?;
                    if !self.edition.has_features() {
                        let message = "reserved names stand in quotes";
                        self.error("reserved-name", range, message);
                        self.help(format!("reserved \"{name}\";"));
                    }
                    (name, range)
                }
                _ => return Err(self.expected("a name or a number")),
            };
            let place = self.place(Ranges { name: range, ..Ranges::default() });
            names.push((name, place));
            if !self.take_sign(b',') {
                return Ok(names);
            }
        }
    }
}
