//! Messages, and their statements other than fields.

use super::{Around, Failed, Parsed, Parser, push_few};
use crate::proto::lex::TokenKind;
use crate::proto::places::Ranges;
use crate::schema::draft::{MessageDraft, OneofDraft, Visibility};
use crate::schema::uninterpreted::{OptionText, OptionValue, TextRange};
use crate::schema::{FIELD_NUMBER_MAX, MessageId, Name};
use tidemill_stdx::sorted::SortedSet;

/// The maximal nesting of messages, as in protoc.
const MESSAGE_DEPTH_MAX: usize = 31;

impl Parser<'_> {
    pub(super) fn message(&mut self, around: Around, visibility: Visibility) -> Parsed {
        self.advance();
        let (name, range) = self.name("the name of a message")?;
        let id = self.declare_message(around, name, range, visibility);
        self.message_body(id)
    }

    /// Enters a message where it is declared; its body comes later.
    pub(super) fn declare_message(
        &mut self,
        around: Around,
        name: Name,
        range: TextRange,
        visibility: Visibility,
    ) -> MessageId {
        let place = self.place(Ranges { name: range, ..Ranges::default() });
        let id = self.draft.push_message(MessageDraft {
            name,
            file: self.file,
            parent: around.message(),
            visibility,
            place,
            ..MessageDraft::default()
        });
        match around {
            Around::File => self.draft.file_mut(self.file).messages.push(id),
            Around::Message(parent) => push_few(&mut self.draft.message_mut(parent).messages, id),
        }
        id
    }

    pub(super) fn message_body(&mut self, id: MessageId) -> Parsed {
        if self.depth >= MESSAGE_DEPTH_MAX {
            let open = self.token();
            self.skip_block();
            let message = format!("messages nest more than {MESSAGE_DEPTH_MAX} deep");
            self.error("too-deep", open.range(), message);
            return Ok(());
        }
        let first = self.members.len();
        let result = self.block(|parser| parser.message_statement(id));
        self.draft.message_mut(id).fields = self.members[first..].to_vec();
        self.members.truncate(first);
        self.add_synthetic_oneofs(id);
        self.widen_message_set(id);
        result
    }

    /// In a message set `max` is the greatest `int32`, not the greatest field number.
    fn widen_message_set(&mut self, id: MessageId) {
        let message = self.draft.message_mut(id);
        let texts = message.options.iter().flat_map(|options| &options.text);
        let is_set = |text: &OptionText| {
            let yes = OptionValue::Identifier("true".into());
            text.is("message_set_wire_format") && text.value == yes
        };
        if !texts.into_iter().any(is_set) {
            return;
        }
        let ranges = message.extension_ranges.iter_mut().map(|one| &mut one.range);
        for range in ranges.chain(&mut message.reserved_ranges) {
            if range.end == FIELD_NUMBER_MAX as i32 + 1 {
                range.end = i32::MAX;
            }
        }
    }

    fn message_statement(&mut self, id: MessageId) -> Parsed {
        let token = self.token();
        let around = Around::Message(id);
        if let Some(visibility) = self.visibility() {
            return self.visible(visibility, around);
        }
        // A field whose type has one of these names needs a label, or a dot before the name.
        match self.bytes(token) {
            b"message" => self.message(around, Visibility::Unset),
            b"enum" => self.enumeration(around, Visibility::Unset),
            b"extend" => self.extend(around),
            b"extensions" => self.extensions(id),
            b"reserved" => self.reserved_in_message(id),
            b"option" => {
                let mut options = self.draft.message_mut(id).options.take();
                let result = self.option_statement(&mut options);
                self.draft.message_mut(id).options = options;
                result
            }
            b"oneof" => self.oneof(id),
            _ => self.field(around, None),
        }
    }

    fn oneof(&mut self, message: MessageId) -> Parsed {
        self.advance();
        let (name, range) = self.name("the name of a oneof")?;
        let place = self.place(Ranges { name: range, ..Ranges::default() });
        let oneof = OneofDraft { name, message, place, ..OneofDraft::default() };
        let id = self.draft.push_oneof(oneof);
        push_few(&mut self.draft.message_mut(message).oneofs, id);
        self.block(|parser| {
            if parser.at_word("option") {
                let mut options = parser.draft.oneof_mut(id).options.take();
                let result = parser.option_statement(&mut options);
                parser.draft.oneof_mut(id).options = options;
                return result;
            }
            let token = parser.token();
            let label = matches!(parser.slice(token), "required" | "optional" | "repeated");
            // `optional` may also be the name of a type: then a name and `=` follow.
            if label && parser.second().kind == TokenKind::Word {
                let message = "fields of a oneof have no label";
                let Failed = parser.error("label", token.range(), message);
                parser.advance();
            }
            parser.field(Around::Message(message), Some(id))
        })
    }

    /// `extend Message { field* }`.
    pub(super) fn extend(&mut self, around: Around) -> Parsed {
        self.advance();
        let (extendee, range) = self.path("the name of a message")?;
        let mut any = false;
        let start = range;
        let result = self.block(|parser| {
            any = true;
            parser.extension(around, &extendee, range)
        });
        if !any && result.is_ok() {
            self.error("empty-extend", start, "this extends nothing: fields are missing");
        }
        result
    }

    /// Adds, in `proto3`, a oneof for each `optional` field, after the others.
    fn add_synthetic_oneofs(&mut self, id: MessageId) {
        let message = self.draft.message(id);
        let optional: Vec<_> = message
            .fields
            .iter()
            .copied()
            .filter(|&field| self.draft.field(field).proto3_optional)
            .collect();
        if optional.is_empty() {
            return;
        }
        let fields = message.fields.iter().map(|&field| &self.draft.field(field).name);
        let names = fields.chain(message.oneofs.iter().map(|&one| &self.draft.oneof(one).name));
        // Only names that begin so can clash with those made below, as those of `a` and `_a` do.
        let may_clash = names.filter(|name| name.starts_with(['_', 'X']));
        let mut names: SortedSet<String> = may_clash.map(Name::to_string).collect();
        let check = !names.is_empty();
        let mut name = String::new();
        for field in optional {
            let draft = self.draft.field(field);
            name.clear();
            name.push_str(if draft.name.starts_with('_') { "" } else { "_" });
            name.push_str(&draft.name);
            while names.contains(&name) {
                name.insert(0, 'X');
            }
            if check {
                names.insert(name.clone());
            }
            let place = draft.place;
            let oneof = OneofDraft {
                name: name.as_str().into(),
                message: id,
                synthetic: true,
                place,
                ..OneofDraft::default()
            };
            let oneof = self.draft.push_oneof(oneof);
            self.draft.message_mut(id).oneofs.push(oneof);
            self.draft.field_mut(field).oneof = Some(oneof);
        }
    }
}
