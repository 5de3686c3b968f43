//! Extensions: within the ranges of their message, with unique numbers, as declared.

use tidemill_stdx::hash::{Map, Set};

use super::{Check, option};
use crate::schema::draft::{ExtensionRangeDraft, FieldDraft};
use crate::schema::features::Edition;
use crate::schema::problem::Part;
use crate::schema::raw;
use crate::schema::{FieldId, FieldType, MessageId, Scalar};

/// Numbers of fields of `google.protobuf.ExtensionRangeOptions`.
const DECLARATION: u32 = 2;
const VERIFICATION: u32 = 3;

/// One declaration of a range.
#[derive(Default)]
struct Declared {
    number: i32,
    full_name: Option<String>,
    type_name: Option<String>,
    reserved: bool,
    repeated: bool,
}

impl Check<'_> {
    pub(super) fn extensions(&mut self) {
        let draft = self.draft;
        let mut seen: Map<(MessageId, i32), FieldId> = Map::default();
        for id in draft.field_ids() {
            let field = draft.field(id);
            let (true, Some(message)) = (field.is_extension(), field.message) else { continue };
            let at = (field.file, field.place, Part::Number);
            if let Some(&other) = seen.get(&(message, field.number)) {
                let other = draft.field(other);
                let text = format!(
                    "extension `{}` has number {}, as `{}` has",
                    field.name, field.number, other.name
                );
                self.error("duplicate-number", at, text);
                self.label((other.file, other.place, Part::Number), "it is taken here");
            } else {
                seen.insert((message, field.number), id);
            }
            self.extension(field, message);
        }
        for id in draft.message_ids() {
            let mut names = Set::default();
            for range in &draft.message(id).extension_ranges {
                self.declarations(id, range, &mut names);
            }
        }
    }

    fn extension(&mut self, field: &FieldDraft, extendee: MessageId) {
        let message = self.draft.message(extendee);
        let at = |part| (field.file, field.place, part);
        let mut ranges = message.extension_ranges.iter();
        let inside = |range: &&ExtensionRangeDraft| {
            (range.range.start..range.range.end).contains(&field.number)
        };
        match ranges.find(inside) {
            None => {
                let text = format!(
                    "`{}` gives no number {} to extensions",
                    message.full_name, field.number
                );
                self.error("extension-number", at(Part::Number), text);
                let ranges: Vec<String> = message
                    .extension_ranges
                    .iter()
                    .map(|one| format!("{} to {}", one.range.start, one.range.end - 1))
                    .collect();
                if ranges.is_empty() {
                    self.help("it has no extensions at all")
                } else {
                    self.help(format!("it has numbers {}", ranges.join(", ")))
                }
            }
            // As in `protoc`, the declarations of `descriptor.proto` are documentation only.
            Some(_) if is_of_descriptors(&message.full_name) => {}
            Some(range) => self.as_declared(field, range),
        }
        if option(&message.options, 1) == Some(1) {
            let optional = !field.is_repeated() && field.cardinality as u8 != 2;
            if !optional || !matches!(field.ty, Some(FieldType::Message(_))) {
                let text = "extensions of a message set are optional messages".into();
                self.error("message-set", at(Part::Type), text);
            }
        }
        if self.edition(field.file) == Edition::Proto3 && !is_options(&message.full_name) {
            let text = "in proto3 only options are extended".into();
            self.error("extend-proto3", at(Part::Other), text);
        }
    }

    fn as_declared(&mut self, field: &FieldDraft, range: &ExtensionRangeDraft) {
        let declared = declarations(range);
        if declared.is_empty() && option(&range.options, VERIFICATION) != Some(0) {
            return;
        }
        let at = (field.file, field.place, Part::Number);
        let Some(one) = declared.iter().find(|one| one.number == field.number) else {
            let text = format!("number {} is not declared for extensions", field.number);
            self.error("extension-declaration", at, text);
            return;
        };
        let around = match field.scope {
            Some(id) => self.draft.message(id).full_name.to_string(),
            None => self.draft.file(field.file).package.clone().unwrap_or_default(),
        };
        let full_name = match around.as_str() {
            "" => format!(".{}", field.name),
            around => format!(".{around}.{}", field.name),
        };
        let type_name = match field.ty {
            Some(FieldType::Scalar(scalar)) => scalar.name().to_owned(),
            _ => {
                self.draft.full_name_of_type(field).map_or(String::new(), |name| format!(".{name}"))
            }
        };
        let text = if one.reserved {
            Some(format!("number {} is reserved", field.number))
        } else if one.full_name.as_ref().is_some_and(|name| *name != full_name) {
            let name = one.full_name.as_deref().unwrap_or("");
            Some(format!("number {} is declared for `{name}`", field.number))
        } else if one.type_name.as_ref().is_some_and(|name| *name != type_name) {
            let name = one.type_name.as_deref().unwrap_or("");
            Some(format!("number {} is declared with type `{name}`", field.number))
        } else if one.repeated != field.is_repeated() {
            Some(format!("number {} is declared with another label", field.number))
        } else {
            None
        };
        if let Some(text) = text {
            self.error("extension-declaration", at, text);
        }
    }

    /// `names` are those that are declared for the message so far.
    fn declarations(
        &mut self,
        id: MessageId,
        range: &ExtensionRangeDraft,
        names: &mut Set<String>,
    ) {
        let declared = declarations(range);
        let at = (self.draft.message(id).file, range.range.place, Part::Name);
        if !declared.is_empty() && option(&range.options, VERIFICATION) == Some(1) {
            let text = "a range with declarations is verified".into();
            self.error("extension-declaration", at, text);
        }
        for (index, one) in declared.iter().enumerate() {
            let inside = (range.range.start..range.range.end).contains(&one.number);
            let twice = declared[..index].iter().any(|other| other.number == one.number)
                || one.full_name.as_ref().is_some_and(|name| !names.insert(name.clone()));
            let named = one.full_name.is_some() == one.type_name.is_some();
            let text = if !inside {
                format!("declared number {} is not in the range", one.number)
            } else if twice {
                format!("number {} or its name is declared twice", one.number)
            } else if !named || one.full_name.is_none() && !one.reserved {
                format!("declared number {} needs a name and a type", one.number)
            } else if one.full_name.as_ref().is_some_and(|name| !is_full_name(name)) {
                format!("the name declared for {} is no full name with a dot in front", one.number)
            } else if one
                .type_name
                .as_ref()
                .is_some_and(|name| Scalar::from_name(name).is_none() && !is_full_name(name))
            {
                format!("the type declared for {} is no full name with a dot in front", one.number)
            } else {
                continue;
            };
            self.error("extension-declaration", at, text);
        }
    }
}

/// True for `.a.b`; as in protoc a part may begin with a digit.
fn is_full_name(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    name.strip_prefix('.').is_some_and(|rest| rest.split('.').all(is_part))
}

fn is_options(full_name: &str) -> bool {
    let Some(name) = full_name.strip_prefix("google.protobuf.") else { return false };
    matches!(
        name,
        "FileOptions"
            | "MessageOptions"
            | "FieldOptions"
            | "OneofOptions"
            | "ExtensionRangeOptions"
            | "EnumOptions"
            | "EnumValueOptions"
            | "ServiceOptions"
            | "MethodOptions"
            | "StreamOptions"
    )
}

/// True for the options messages of `descriptor.proto`.
fn is_of_descriptors(full_name: &str) -> bool {
    full_name == "google.protobuf.FeatureSet" || is_options(full_name)
}

fn declarations(range: &ExtensionRangeDraft) -> Vec<Declared> {
    let Some(options) = &range.options else { return Vec::new() };
    let bytes =
        if options.source_bytes.is_empty() { &options.bytes } else { &options.source_bytes };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    raw::lengths(bytes, DECLARATION)
        .map(|one| Declared {
            number: raw::last_varint(one, 1).unwrap_or(0) as i32,
            full_name: raw::lengths(one, 2).last().map(text),
            type_name: raw::lengths(one, 3).last().map(text),
            reserved: raw::last_varint(one, 5) == Some(1),
            repeated: raw::last_varint(one, 6) == Some(1),
        })
        .collect()
}
