//! Some fields of a message, by paths such as `device, position.latitude`.

use tidemill_diag::nearest;
use tidemill_overlog::stage::Column;
use tidemill_relation::{Type, TypeSet};
use tidemill_wire::proto::Spans;
use tidemill_wire::{FieldId, FieldType, Label, MessageId, Schema};

use super::columns;
use super::direction::Direction;

/// Fields of a message, and of messages nested in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selection {
    /// The paths as written, trimmed.
    pub(super) names: Vec<String>,
    /// The fields along each path.
    pub(super) paths: Vec<Vec<FieldId>>,
}

/// Why a path is invalid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrongPath {
    /// The error.
    pub message: String,
    /// The hint.
    pub help: String,
    /// The message up to which it could be followed.
    pub at: MessageId,
}

impl Selection {
    /// The fields of a list of paths, separated by commas.
    ///
    /// # Errors
    /// The first invalid path.
    pub fn parse(schema: &Schema, message: MessageId, text: &str) -> Result<Selection, WrongPath> {
        let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
        let paths = names.iter().map(|name| path(schema, message, name));
        let paths = paths.collect::<Result<Vec<_>, _>>()?;
        Ok(Selection { names, paths })
    }

    /// The columns of the selected fields.
    pub(crate) fn columns(&self, schema: &Schema, spans: &Spans) -> Vec<Column> {
        let of_path = |(name, path): (&String, &Vec<FieldId>)| {
            let &last = path.last()?;
            let types = columns::types(schema.field(last), Direction::Decode);
            // A message on the path may be missing.
            let types = if path.len() > 1 { types.union(TypeSet::of(Type::Null)) } else { types };
            Some(Column { name: name.clone().into(), types, source: spans.field(last) })
        };
        self.names.iter().zip(&self.paths).filter_map(of_path).collect()
    }
}

/// The columns of all fields of a message.
pub(crate) fn all_columns(schema: &Schema, message: MessageId, spans: &Spans) -> Vec<Column> {
    columns::of(schema, message, Direction::Decode, spans)
}

fn path(schema: &Schema, outermost: MessageId, name: &str) -> Result<Vec<FieldId>, WrongPath> {
    let (mut at, mut fields) = (outermost, Vec::new());
    let mut parts = name.split('.').peekable();
    while let Some(part) = parts.next() {
        let wrong = |message: String, help: String| WrongPath { message, help, at };
        let Some(id) = schema.field_by_name(at, part) else {
            return Err(unknown(schema, at, part));
        };
        fields.push(id);
        if parts.peek().is_none() {
            break;
        }
        let field = schema.field(id);
        let (whole, is_one) = (fields_text(name, &fields), field.label() != Label::Repeated);
        at = match field.field_type() {
            FieldType::Message(inside) | FieldType::Group(inside) if is_one => inside,
            FieldType::Message(_) | FieldType::Group(_) => {
                let message = format!("`{whole}` is there several times, and has no one `{name}`");
                return Err(wrong(message, format!("select all of `{whole}`, which is a list")));
            }
            _ => {
                let message = format!("`{whole}` is no message, so nothing is in it");
                return Err(wrong(message, format!("select `{whole}`")));
            }
        };
    }
    Ok(fields)
}

/// The beginning of a path up to the last of these fields.
fn fields_text(name: &str, fields: &[FieldId]) -> String {
    name.split('.').take(fields.len()).collect::<Vec<_>>().join(".")
}

fn unknown(schema: &Schema, at: MessageId, part: &str) -> WrongPath {
    let of_message = schema.message(at);
    let names = || of_message.fields().iter().map(|&id| schema.field(id).name());
    let help = match (nearest(part, names()), names().next()) {
        (Some(close), _) => format!("is `{close}` meant?"),
        (None, Some(_)) => format!("its fields are {}", names().collect::<Vec<_>>().join(", ")),
        (None, None) => "it has no fields".to_owned(),
    };
    let message = match part {
        "" => "a name is missing between commas or points".to_owned(),
        part => format!("message `{}` has no field `{part}`", of_message.full_name()),
    };
    WrongPath { message, help, at }
}
