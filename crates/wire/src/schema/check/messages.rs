//! Numbers and names of a message: unique, not reserved, within bounds.

use super::{Check, is_identifier, option, option_part};
use crate::schema::draft::{MessageDraft, RangeDraft};
use crate::schema::features::Edition;
use crate::schema::problem::{ElementId, Part};
use crate::schema::{FIELD_NUMBER_MAX, FieldId, FieldType, FileId, MessageId, Name, Scalar};
use tidemill_stdx::sorted::SortedMap;

/// Numbers of fields of `google.protobuf.MessageOptions`.
const MESSAGE_SET: u32 = 1;
const FEATURES: u32 = 12;

impl Check<'_> {
    pub(super) fn message(&mut self, id: MessageId) {
        let draft = self.draft;
        let message = draft.message(id);
        let at = (message.file, message.place, Part::Name);
        let message_set = option(&message.options, MESSAGE_SET) == Some(1);
        if option_part(&message.options, "map_entry") != Part::Name {
            let part = option_part(&message.options, "map_entry");
            let text = "`map_entry` is not set by hand".to_owned();
            self.error("map-entry", (at.0, at.1, part), text);
            self.help("write `map<Key, Value> name = 1;`");
        }
        if message_set {
            self.message_set(message);
        }
        self.unset_features((message.file, message.place), &message.options, FEATURES);
        self.numbers(message);
        self.field_names(message);
        self.ranges(message, message_set);
        for &oneof in &message.oneofs {
            let oneof_draft = draft.oneof(oneof);
            if !self.has_members[oneof.index()] {
                let text = format!("oneof `{}` has no fields", oneof_draft.name);
                self.error("empty-oneof", (message.file, oneof_draft.place, Part::Name), text);
            }
        }
        if message.map_entry {
            self.map_entry(message);
        }
    }

    fn message_set(&mut self, message: &MessageDraft) {
        let part = option_part(&message.options, "message_set_wire_format");
        let at = (message.file, message.place, part);
        if self.edition(message.file) == Edition::Proto3 {
            self.error("message-set", at, "proto3 has no message sets".into());
        }
        if !message.fields.is_empty() {
            let text = format!("message set `{}` has fields", message.name);
            self.error("message-set", at, text);
            self.help("a message set has extensions only");
        }
        if message.extension_ranges.is_empty() {
            let text = format!("message set `{}` has no numbers for extensions", message.name);
            self.warn("message-set", at, text);
            self.help("extensions 4 to max;");
        }
    }

    fn numbers(&mut self, message: &MessageDraft) {
        let draft = self.draft;
        if !self.may_clash(message) {
            return;
        }
        let mut seen: SortedMap<i32, FieldId> = SortedMap::new();
        for &id in &message.fields {
            let field = draft.field(id);
            let at = (field.file, field.place, Part::Number);
            if let Some(&other) = seen.get(&field.number) {
                let other = draft.field(other);
                let text = format!(
                    "field `{}` has number {}, as `{}` has",
                    field.name, field.number, other.name
                );
                self.error("duplicate-number", at, text);
                self.label((other.file, other.place, Part::Number), "it is taken here");
                if let Some(free) = free_number(message, |number| {
                    message.fields.iter().any(|&id| draft.field(id).number == number)
                }) {
                    self.help(format!("the next free number is {free}"));
                }
            } else {
                seen.insert(field.number, id);
            }
            let inside = |range: &&RangeDraft| (range.start..range.end).contains(&field.number);
            if let Some(range) = message.reserved_ranges.iter().find(inside) {
                let text =
                    format!("field `{}` has the reserved number {}", field.name, field.number);
                self.error("reserved-number", at, text);
                self.label((message.file, range.place, Part::Name), "it is reserved here");
            }
            let ranges = message.extension_ranges.iter().map(|one| &one.range);
            if let Some(range) = ranges.clone().find(inside) {
                let text = format!(
                    "field `{}` has number {}, which is for extensions",
                    field.name, field.number
                );
                self.error("extension-number", at, text);
                self.label((message.file, range.place, Part::Name), "it is given away here");
            }
        }
    }

    /// A fast check: most messages reserve nothing and have no duplicate number.
    fn may_clash(&self, message: &MessageDraft) -> bool {
        let number = |id: &FieldId| self.draft.field(*id).number;
        let ascend = |two: &[FieldId]| number(&two[0]) < number(&two[1]);
        if !message.reserved_ranges.is_empty() || !message.extension_ranges.is_empty() {
            return true;
        }
        if message.fields.windows(2).all(ascend) {
            return false;
        }
        let mut numbers: Vec<i32> = message.fields.iter().map(number).collect();
        numbers.sort_unstable();
        numbers.windows(2).any(|two| two[0] == two[1])
    }

    fn field_names(&mut self, message: &MessageDraft) {
        let draft = self.draft;
        for (index, (name, place)) in message.reserved_names.iter().enumerate() {
            let at = (message.file, *place, Part::Name);
            self.reserved_name(name, at, &message.reserved_names[..index]);
            for &id in &message.fields {
                let field = draft.field(id);
                if field.name == *name {
                    let text = format!("field `{name}` has a reserved name");
                    self.error("reserved-name", (field.file, field.place, Part::Name), text);
                    self.label(at, "it is reserved here");
                }
            }
        }
    }

    pub(super) fn reserved_name(
        &mut self,
        name: &str,
        at: (FileId, ElementId, Part),
        before: &[(Name, ElementId)],
    ) {
        if before.iter().any(|(other, _)| other == name) {
            self.error("duplicate-reserved", at, format!("name `{name}` is reserved twice"));
        } else if !is_identifier(name) {
            self.warn("reserved-name", at, format!("`{name}` is no name that could be used"));
        }
    }

    fn ranges(&mut self, message: &MessageDraft, message_set: bool) {
        let file = message.file;
        let highest = if message_set { i32::MAX } else { FIELD_NUMBER_MAX as i32 + 1 };
        let extension = || message.extension_ranges.iter().map(|one| &one.range);
        if self.edition(file) == Edition::Proto3
            && let Some(range) = extension().next()
        {
            let at = (file, range.place, Part::Name);
            self.error("extension-range", at, "proto3 messages have no extensions".into());
            self.help("use a field of type google.protobuf.Any, or proto2");
        }
        for (index, range) in extension().enumerate() {
            self.bounds(file, range, highest, "extension-range");
            let before = extension().take(index);
            self.overlaps(file, range, before, "extension-range");
        }
        for (index, range) in message.reserved_ranges.iter().enumerate() {
            self.bounds(file, range, i32::MAX, "reserved-range");
            let before = message.reserved_ranges[..index].iter();
            self.overlaps(file, range, before, "reserved-range");
            self.overlaps(file, range, extension(), "reserved-range");
        }
    }

    fn bounds(&mut self, file: FileId, range: &RangeDraft, highest: i32, code: &'static str) {
        let at = (file, range.place, Part::Name);
        if range.start < 1 {
            self.error(code, at, "ranges begin at 1 or above".into());
        } else if range.end <= range.start {
            self.error(code, at, "the range ends before it begins".into());
        } else if range.end > highest {
            let most = highest - 1;
            self.error(code, at, format!("the range goes beyond {most}"));
        }
    }

    fn overlaps<'r>(
        &mut self,
        file: FileId,
        range: &RangeDraft,
        mut others: impl Iterator<Item = &'r RangeDraft>,
        code: &'static str,
    ) {
        let meets = |other: &&RangeDraft| range.start < other.end && other.start < range.end;
        if let Some(other) = others.find(meets) {
            let at = (file, range.place, Part::Name);
            self.error(code, at, "the range overlaps another".into());
            self.label((file, other.place, Part::Name), "the other is here");
        }
    }

    fn map_entry(&mut self, entry: &MessageDraft) {
        let draft = self.draft;
        let [key, value] = entry.fields.as_slice() else {
            let at = (entry.file, entry.place, Part::Name);
            self.error("map-entry", at, "the entries of a map have a key and a value".into());
            return;
        };
        let (key, value) = (draft.field(*key), draft.field(*value));
        let fits = match key.ty {
            Some(FieldType::Scalar(scalar)) => {
                !matches!(scalar, Scalar::Double | Scalar::Float | Scalar::Bytes)
            }
            None => true,
            Some(_) => false,
        };
        if !fits {
            let at = (key.file, key.place, Part::Type);
            self.error("map-key", at, "a map has integers, bools or strings as keys".into());
        }
        if let Some(FieldType::Enum(id)) = value.ty
            && draft.enum_(id).values.first().is_some_and(|first| first.number != 0)
        {
            let name = &draft.enum_(id).full_name;
            let text = format!("the first value of enum `{name}` is not 0, as in a map it must");
            self.error("map-value", (value.file, value.place, Part::Type), text);
        }
    }
}

/// The lowest usable number above those of all fields.
fn free_number(message: &MessageDraft, used: impl Fn(i32) -> bool) -> Option<i32> {
    let taken = |number: i32| {
        let inside = |range: &RangeDraft| (range.start..range.end).contains(&number);
        used(number)
            || (19_000..20_000).contains(&number)
            || message.reserved_ranges.iter().any(inside)
            || message.extension_ranges.iter().any(|one| inside(&one.range))
    };
    (1..=message.fields.len() as i32 + 1000).find(|&number| !taken(number))
}
