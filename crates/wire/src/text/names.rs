//! Names of fields in text: of groups, and type URLs.

use crate::schema::{FieldId, FieldType, Schema};

/// True for a byte that a type URL may contain between brackets.
pub(super) fn is_of_url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_./-~!$&()*+,;=%".contains(&byte)
}

/// The name of a group's type, if text writes that instead of the field's: the type is declared
/// beside the field and has its name, as in `optional group Name = 1 {}`.
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
