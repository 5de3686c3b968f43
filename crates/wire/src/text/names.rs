//! Names of fields in text: of groups, and type URLs.

use crate::schema::{FieldId, FieldType, Schema};

/// What a type URL may have between brackets.
pub(super) fn is_of_url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_./-~!$&()*+,;=%".contains(&byte)
}

/// The name of the type of a group, where text has that instead of the field's: the type is
/// declared beside the field and has its name, as `optional group Name = 1 {}` makes it.
pub(super) fn group_name(schema: &Schema, id: FieldId) -> Option<&str> {
    let field = schema.field(id);
    let FieldType::Group(message) = field.field_type() else { return None };
    let (group, home) = (schema.message(message), schema.message(field.message()));
    let (scope, file) = match field.extension_file() {
        Some(file) => (field.extension_scope(), file),
        None => (Some(field.message()), home.file()),
    };
    let beside = group.parent() == scope && group.file() == file;
    (beside && group.name().eq_ignore_ascii_case(field.name())).then(|| group.name())
}
