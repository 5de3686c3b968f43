//! Fields and extensions one by one.

use super::{Check, option, option_part, options_below};
use crate::schema::default::default_value;
use crate::schema::draft::{Cardinality, FieldDraft};
use crate::schema::features::{Edition, EnumKind, Presence};
use crate::schema::problem::Part;
use crate::schema::{FIELD_NUMBER_MAX, FieldId, FieldType, Name, Scalar};

/// Numbers of fields of `google.protobuf.FieldOptions`.
const CTYPE: usize = 1;
const PACKED: usize = 2;
const LAZY: usize = 5;
const JSTYPE: usize = 6;
const WEAK: usize = 10;
const UNVERIFIED_LAZY: usize = 15;

impl Check<'_> {
    pub(super) fn field(&mut self, id: FieldId) {
        let field = self.draft.field(id);
        self.field_number(field);
        self.label_of(field);
        self.default(field);
        self.field_options(field);
        self.json_name(field);
        self.field_features(field);
        self.entry_type(field);
        if let Some(FieldType::Enum(id)) = field.ty {
            let found = self.draft.enum_(id);
            let closed = found.features.enum_kind == EnumKind::Closed;
            let implicit = field.features.presence == Presence::Implicit
                && !field.is_repeated()
                && field.oneof.is_none()
                && !field.is_extension();
            let proto3 = self.edition(field.file) == Edition::Proto3;
            // The parts of a map's entry have the features of the map.
            if closed && (implicit || proto3 && !field.is_extension()) {
                let text = format!(
                    "enum `{}` is closed: a field without presence cannot hold it",
                    found.full_name
                );
                self.error("closed-enum", (field.file, field.place, Part::Type), text);
            }
        }
    }

    /// Checks that only the map itself uses its entry message as type.
    fn entry_type(&mut self, field: &FieldDraft) {
        let Some(id) = field.ty.and_then(FieldType::message) else { return };
        let entry = self.draft.message(id);
        let own = entry.parent == field.scope
            && entry.file == field.file
            && field.is_repeated()
            && !field.is_extension()
            && entry.name == *entry_name(&field.name);
        if entry.map_entry && !own {
            let text = format!("`{}` is the entry of a map, and no type to be used", entry.name);
            self.error("map-entry", (field.file, field.place, Part::Type), text);
            self.help("declare a message with a key and a value");
        }
    }

    fn field_number(&mut self, field: &FieldDraft) {
        let at = (field.file, field.place, Part::Number);
        let name = &field.name;
        let message_set = field.is_extension()
            && field
                .message
                .is_some_and(|id| option(&self.draft.message(id).options, 1) == Some(1));
        let text = || format!("field `{name}` cannot have number {}", field.number);
        if field.number < 1 || field.number > FIELD_NUMBER_MAX as i32 && !message_set {
            self.error("field-number", at, text());
            self.help(format!("numbers go from 1 to {FIELD_NUMBER_MAX}"));
        } else if (19_000..20_000).contains(&field.number) {
            self.error("field-number", at, text());
            self.help("numbers 19000 to 19999 belong to implementations");
        }
    }

    fn label_of(&mut self, field: &FieldDraft) {
        let at = (field.file, field.place, Part::Name);
        let edition = self.edition(field.file);
        if field.cardinality == Cardinality::Required {
            if edition == Edition::Proto3 {
                let text =
                    format!("field `{}` is required, which proto3 does not have", field.name);
                self.error("required", at, text);
                self.help("remove `required`");
            } else if field.is_extension() {
                self.error("required", at, format!("extension `{}` is required", field.name));
            }
        }
        if matches!(field.ty, Some(FieldType::Group(_)))
            && edition == Edition::Proto3
            && self.draft.file(field.file).descriptor.is_some()
        {
            self.error("group", at, "proto3 has no groups".into());
        }
    }

    fn default(&mut self, field: &FieldDraft) {
        let Some(default) = field.default_text() else { return };
        let at = (field.file, field.place, Part::Name);
        let name = &field.name;
        if self.edition(field.file) == Edition::Proto3 {
            let text = format!("field `{name}` has a default, which proto3 does not have");
            self.error("default", at, text);
        } else if field.is_repeated() {
            self.error("default", at, format!("repeated field `{name}` has a default"));
        } else if field.features.presence == Presence::Implicit
            && field.oneof.is_none()
            && !field.is_extension()
        {
            let text = format!("field `{name}` has a default but no presence");
            self.error("default", at, text);
            self.help("set `features.field_presence = EXPLICIT`");
        }
        match field.ty {
            Some(FieldType::Message(_) | FieldType::Group(_)) => {
                self.error(
                    "default",
                    at,
                    format!("field `{name}` is a message: it has no default"),
                );
            }
            Some(FieldType::Enum(id)) => {
                let found = self.draft.enum_(id);
                if !found.values.iter().any(|value| value.name == default) {
                    let text = format!("enum `{}` has no value `{default}`", found.full_name);
                    self.error("default", at, text);
                }
            }
            Some(ty @ FieldType::Scalar(_)) if default_value(self.draft, ty, default).is_none() => {
                self.error("default", at, format!("the default of `{name}` is not of its type"));
            }
            Some(FieldType::Scalar(_)) | None => {}
        }
    }

    fn field_options(&mut self, field: &FieldDraft) {
        if field.options.is_none() {
            return;
        }
        let edition = self.edition(field.file);
        let set: [_; UNVERIFIED_LAZY + 1] = options_below(&field.options);
        let get = |number: usize| set[number];
        let at = |name: &str| (field.file, field.place, option_part(&field.options, name));
        let scalar = match field.ty {
            Some(FieldType::Scalar(scalar)) => Some(scalar),
            _ => None,
        };
        if get(PACKED).is_some() {
            let packable = field.is_repeated() && field.ty.is_some_and(FieldType::is_packable);
            if edition.has_features() {
                self.error("packed", at("packed"), "editions have no option `packed`".into());
                self.help("use `features.repeated_field_encoding`");
            } else if get(PACKED) == Some(1) && !packable {
                let text = "only repeated numbers, bools and enums can be packed".into();
                self.error("packed", at("packed"), text);
            }
        }
        for (number, name) in [(LAZY, "lazy"), (UNVERIFIED_LAZY, "unverified_lazy")] {
            let lazy = matches!(field.ty, None | Some(FieldType::Message(_)));
            if get(number) == Some(1) && !lazy {
                let text = "only messages can be lazy, and no groups".into();
                self.error("lazy", at(name), text);
            }
        }
        let wide = matches!(
            scalar,
            Some(
                Scalar::Int64
                    | Scalar::Uint64
                    | Scalar::Sint64
                    | Scalar::Fixed64
                    | Scalar::Sfixed64
            )
        );
        if get(JSTYPE).is_some_and(|value| value != 0) && !wide {
            self.error("jstype", at("jstype"), "`jstype` is for integers of 64 bits".into());
        }
        if get(CTYPE).is_some() && edition >= Edition::Edition2024 {
            self.error("ctype", at("ctype"), "`ctype` went with edition 2024".into());
            self.help("use `features.(pb.cpp).string_type`");
        }
        if get(WEAK) == Some(1) && edition >= Edition::Edition2024 {
            self.error("weak", at("weak"), "weak fields went with edition 2024".into());
        }
    }
}

/// The message of a map's entries, by the name of the map.
pub fn entry_name(field: &str) -> Name {
    let mut after_underscore = true;
    let capitals = field.bytes().filter_map(|byte| {
        let capital = std::mem::replace(&mut after_underscore, byte == b'_');
        let byte = if capital { byte.to_ascii_uppercase() } else { byte };
        (byte != b'_').then_some(byte)
    });
    Name::collect(capitals.chain(*b"Entry")).unwrap_or_default()
}
