//! Selections of fields: a tree, read from paths.

use std::fmt;

use tidemill_stdx::hash::Map;

use crate::schema::{Definitions, FieldId, MessageId};

/// The selected fields of a message, and of the messages in it.
#[derive(Clone, Debug)]
pub(crate) enum Selection {
    /// Everything.
    All,
    /// These fields, and what is selected in each.
    Some(Map<FieldId, Selection>),
}

/// A path that names no field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SelectError {
    /// The path.
    pub path: String,
    /// The message that was reached.
    pub message: String,
    /// The name that is no field there; empty if the field before has no fields.
    pub name: String,
}

impl fmt::Display for SelectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SelectError { path, message, name } = self;
        write!(f, "`{path}` is no path: `{message}` has no field `{name}`")
    }
}

impl std::error::Error for SelectError {}

impl Selection {
    pub(crate) fn of(
        schema: &Definitions,
        message: MessageId,
        paths: &[impl AsRef<str>],
    ) -> Result<Selection, SelectError> {
        let mut selection = Selection::Some(Map::default());
        for path in paths {
            selection.add(schema, message, path.as_ref())?;
        }
        Ok(selection)
    }

    /// These fields with all that is in them.
    pub(crate) fn of_fields(fields: Vec<FieldId>) -> Selection {
        Selection::Some(fields.into_iter().map(|id| (id, Selection::All)).collect())
    }

    fn add(
        &mut self,
        schema: &Definitions,
        root: MessageId,
        path: &str,
    ) -> Result<(), SelectError> {
        let (mut at, mut message) = (self, Some(root));
        let mut where_ = schema.full_name(root).to_owned();
        for name in names(path) {
            let field = message.and_then(|message| find(schema, message, name));
            let field = field.ok_or_else(|| SelectError {
                path: path.to_owned(),
                message: where_.clone(),
                name: name.to_owned(),
            })?;
            message = schema.field(field).field_type().message();
            where_ = message.map_or(name.to_owned(), |id| schema.full_name(id).to_owned());
            at = match at {
                // All of it is selected already; the rest of the path is only validated.
                Selection::All => at,
                Selection::Some(fields) => {
                    fields.entry(field).or_insert_with(|| Selection::Some(Map::default()))
                }
            };
            // A part of the values of a map is of no use without their keys.
            if let (Selection::Some(fields), Some(entry)) = (&mut *at, message)
                && schema.message(entry).is_map_entry()
                && let Some(key) = schema.field_by_number(entry, 1)
            {
                fields.entry(key).or_insert(Selection::All);
            }
        }
        *at = Selection::All;
        Ok(())
    }

    /// The selection in a field; `None` if the field is not selected.
    pub(crate) fn of_field(&self, field: FieldId) -> Option<&Selection> {
        match self {
            Selection::All => Some(&Selection::All),
            Selection::Some(fields) => fields.get(&field),
        }
    }
}

/// The names of a path; that of an extension is in brackets and has dots.
fn names(path: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    path.split(move |c| {
        inside = (inside || c == '[') && c != ']';
        c == '.' && !inside
    })
}

fn find(schema: &Definitions, message: MessageId, name: &str) -> Option<FieldId> {
    match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(name) => {
            let id = schema.extension_by_name(name)?;
            (schema.field(id).message() == message).then_some(id)
        }
        None => schema.field_by_name(message, name),
    }
}
