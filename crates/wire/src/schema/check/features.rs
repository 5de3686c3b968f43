//! Features that do not fit the fields that set them.

use super::{Check, option_part, own_feature};
use crate::schema::FieldType;
use crate::schema::draft::{FieldDraft, MaybeOptions};
use crate::schema::features::Presence;
use crate::schema::problem::{ElementId, Part};
use crate::schema::{FileId, MessageId, Scalar};

/// Number of the feature set in `google.protobuf.FieldOptions`.
const FEATURES: u32 = 21;

/// The features, from number 1 on.
const NAMES: [&str; 8] = [
    "field_presence",
    "enum_type",
    "repeated_field_encoding",
    "utf8_validation",
    "message_encoding",
    "json_format",
    "enforce_naming_style",
    "default_symbol_visibility",
];

/// The class of this field, if its fields cannot have such a presence.
fn without_presence(field: &FieldDraft, presence: u64) -> Option<&'static str> {
    let is_message = field.ty.and_then(FieldType::message).is_some();
    match presence {
        _ if field.oneof.is_some() => Some("of a oneof"),
        _ if field.is_repeated() => Some("that are repeated"),
        _ if field.is_extension() => Some("that are extensions"),
        2 if is_message => Some("that are messages"),
        _ => None,
    }
}

impl Check<'_> {
    pub(super) fn field_features(&mut self, field: &FieldDraft) {
        if !self.edition(field.file).has_features() {
            return;
        }
        if field.is_extension() && field.features.presence == Presence::Required {
            let at = (field.file, field.place, Part::Name);
            self.error("required", at, format!("extension `{}` is required", field.name));
        }
        let in_map = field.scope.is_some_and(|id| self.draft.message(id).map_entry);
        if field.options.is_none() || in_map && !field.is_extension() {
            return;
        }
        let own = |feature| own_feature(&field.options, FEATURES, feature);
        let names = [
            "features.field_presence",
            "features.repeated_field_encoding",
            "features.utf8_validation",
            "features.message_encoding",
        ];
        let mut found: Vec<(&str, String)> = Vec::new();
        if let Some(what) = own(1).and_then(|presence| without_presence(field, presence)) {
            found.push((names[0], format!("fields {what} cannot say how absence shows")));
        }
        if let Some(encoding) = own(3) {
            let packable = field.ty.is_some_and(FieldType::is_packable);
            if !field.is_repeated() {
                found.push((names[1], "only repeated fields say how they are written".into()));
            } else if encoding == 1 && !packable {
                found.push((names[1], "only numbers, bools and enums can be packed".into()));
            }
        }
        if own(4).is_some() && !self.holds(field, |ty| ty == FieldType::Scalar(Scalar::String)) {
            found.push((names[2], "only strings say whether they are UTF-8".into()));
        }
        if own(5).is_some() {
            let map = field.ty.and_then(FieldType::message).is_some_and(|id| self.is_map(id));
            let message = field.ty.and_then(FieldType::message).is_some();
            if !message || map {
                found.push((names[3], "only messages say how they are delimited".into()));
            }
        }
        self.unset_features((field.file, field.place), &field.options, FEATURES);
        for (name, text) in found {
            let at = (field.file, field.place, option_part(&field.options, name));
            self.error("feature", at, text);
        }
    }

    /// Refuses features of an element that are set to the value for those that are not set.
    pub(super) fn unset_features(
        &mut self,
        (file, element): (FileId, ElementId),
        options: &MaybeOptions,
        features: u32,
    ) {
        if options.is_none() || !self.edition(file).has_features() {
            return;
        }
        for (number, name) in (1..).zip(NAMES) {
            if own_feature(options, features, number) == Some(0) {
                let part = option_part(options, &format!("features.{name}"));
                let text = format!("feature `{name}` is set to a value that says nothing");
                self.error("feature", (file, element, part), text);
            }
        }
    }

    fn is_map(&self, id: MessageId) -> bool {
        self.draft.message(id).map_entry
    }

    /// True if the type of the field, or of a part of the map that it is, passes the test.
    fn holds(&self, field: &FieldDraft, test: impl Fn(FieldType) -> bool) -> bool {
        let Some(ty) = field.ty else { return true };
        match ty.message().filter(|&id| self.is_map(id)) {
            None => test(ty),
            Some(entry) => {
                let parts = &self.draft.message(entry).fields;
                parts.iter().filter_map(|&part| self.draft.field(part).ty).any(test)
            }
        }
    }
}
