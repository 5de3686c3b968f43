//! Paths into a message: `position.latitude`, `samples[2]`, `labels[site]`; `samples[]` uses the
//! index that the client has set before, as its language cannot concatenate texts.

use std::borrow::Cow;

use tidemill_diag::nearest;
use tidemill_wire::message::{MapRef, MessageMut};
use tidemill_wire::schema::Field;
use tidemill_wire::{FieldId, FieldType, Label, MessageId, MessageRef, Scalar, Schema, Value};

/// Why a path, or the value at its end, is invalid, as text.
pub(super) type PathError = String;

/// The maximum number of parts of a path: the nesting limit of messages.
const PARTS_MAX: usize = 100;

/// A part of a path: a field, and the text in brackets after it.
struct Part<'p> {
    field: FieldId,
    at: Option<Cow<'p, str>>,
}

/// A path into messages of one type, with at least one part.
pub(super) struct Path<'p> {
    parts: Vec<Part<'p>>,
}

/// The result of following a path.
pub(super) enum PathTarget<'m> {
    Value(Value<'m>),
    /// The list or map has no such element.
    Nothing(PathError),
}

impl<'p> Path<'p> {
    /// Parses a path; checks that each field exists, and that brackets follow lists and maps only.
    pub(super) fn parse(
        schema: &Schema,
        outermost: MessageId,
        text: &'p str,
        index: i64,
    ) -> Result<Path<'p>, PathError> {
        let (mut parts, mut rest, mut of) = (Vec::new(), text, Some(outermost));
        loop {
            if parts.len() == PARTS_MAX {
                return Err(format!("a path has more than {PARTS_MAX} parts"));
            }
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            let Some(message) = of else {
                return Err(format!("what is before `{name}` in `{text}` is no message"));
            };
            let field = field_of(schema, message, name)?;
            let (at, after) = match after.strip_prefix('[') {
                None => (None, after),
                Some(inside) => match inside.split_once(']') {
                    Some(("", after)) => (Some(Cow::Owned(index.to_string())), after),
                    Some((at, after)) => (Some(Cow::Borrowed(at)), after),
                    None => return Err(format!("`]` is missing in `{text}`")),
                },
            };
            of = next_message(schema, schema.field(field), at.is_some())?;
            parts.push(Part { field, at });
            match after.strip_prefix('.') {
                Some(more) => rest = more,
                None if after.is_empty() => return Ok(Path { parts }),
                None => return Err(format!("`{after}` makes no sense in `{text}`")),
            }
        }
    }

    /// The field at its end, and whether the path selects an element of it.
    fn last(&self) -> (FieldId, bool) {
        let last = &self.parts[self.parts.len() - 1];
        (last.field, last.at.is_some())
    }

    /// The field that has the type of the value at its end.
    pub(super) fn value_field<'s>(&self, schema: &'s Schema) -> Result<&'s Field, PathError> {
        let (id, is_inside) = self.last();
        let field = schema.field(id);
        match (field.label() == Label::Repeated, is_inside, map_of(schema, field)) {
            (true, true, Some((_, value))) => Ok(schema.field(value)),
            (true, false, _) => {
                Err(format!("`{}` holds several values: say which, in brackets", field.name()))
            }
            _ => Ok(field),
        }
    }

    /// The value at its end; a field that is not set has its default.
    pub(super) fn follow<'m>(&self, message: MessageRef<'m>) -> Result<PathTarget<'m>, PathError> {
        let (mut at, mut parts) = (message, self.parts.iter().peekable());
        loop {
            let Some(part) = parts.next() else { return Ok(PathTarget::Nothing(String::new())) };
            let value = at.get(part.field).map_err(|error| error.to_string())?;
            let value = match (part.at.as_deref(), value) {
                (None, value) => value,
                (Some(text), Value::List(list)) => {
                    let index = index_of(text)?;
                    match list.get(index) {
                        Some(value) => value,
                        None => return Ok(PathTarget::Nothing(beyond(index, list.len()))),
                    }
                }
                (Some(text), Value::Map(map)) => match entry(at.schema(), map, text)? {
                    Some(value) => value,
                    None => return Ok(PathTarget::Nothing(format!("the map has no key `{text}`"))),
                },
                (Some(_), _) => return Err("only lists and maps have brackets".to_owned()),
            };
            match (parts.peek(), value) {
                (None, value) => return Ok(PathTarget::Value(value)),
                (Some(_), Value::Message(inside)) => at = inside,
                (Some(_), _) => return Err("what is before a point is no message".to_owned()),
            }
        }
    }

    /// Whether the field at its end and each message on the path are set.
    pub(super) fn is_set(&self, message: MessageRef<'_>) -> Result<bool, PathError> {
        let (mut at, mut parts) = (message, self.parts.iter().peekable());
        while let Some(part) = parts.next() {
            let one = Path { parts: vec![Part { field: part.field, at: part.at.clone() }] };
            let has = at.has(part.field).map_err(|error| error.to_string())?;
            let value = match one.follow(at)? {
                PathTarget::Value(value) if has => value,
                _ => return Ok(false),
            };
            match (parts.peek(), value) {
                (Some(_), Value::Message(inside)) => at = inside,
                (Some(_), _) => return Ok(false),
                (None, _) => {}
            }
        }
        Ok(true)
    }

    /// Sets the value at its end. Messages on the path are created; the index after the last
    /// element of a list appends one.
    pub(super) fn set(&self, message: MessageMut<'_>, value: Value<'_>) -> Result<(), PathError> {
        write(message, &self.parts, Edit::Set(value))
    }

    /// Clears the field or element at its end.
    pub(super) fn clear(&self, message: MessageMut<'_>) -> Result<(), PathError> {
        if !self.is_set(message.as_ref())? {
            return Ok(());
        }
        write(message, &self.parts, Edit::Clear)
    }
}

enum Edit<'v> {
    Set(Value<'v>),
    Clear,
}

fn write(mut message: MessageMut<'_>, parts: &[Part<'_>], edit: Edit<'_>) -> Result<(), PathError> {
    let Some((part, rest)) = parts.split_first() else { return Ok(()) };
    let says = |error: tidemill_wire::AccessError| error.to_string();
    let schema = message.as_ref().schema().clone();
    let Some(text) = part.at.as_deref() else {
        return match (rest, edit) {
            ([], Edit::Set(value)) => message.set(part.field, value).map_err(says),
            ([], Edit::Clear) => message.clear(part.field).map_err(says),
            (_, edit) => write(message.message_mut(part.field).map_err(says)?, rest, edit),
        };
    };
    if let Some((key, _)) = map_of(&schema, schema.field(part.field)) {
        let key = key_of(schema.field(key), text)?;
        let mut map = message.map_mut(part.field).map_err(says)?;
        return match (rest, edit) {
            ([], Edit::Set(value)) => map.insert(key, value).map_err(says),
            ([], Edit::Clear) => map.remove(key).map(drop).map_err(says),
            (_, edit) => write(map.message_mut(key).map_err(says)?, rest, edit),
        };
    }
    let index = index_of(text)?;
    let mut list = message.list_mut(part.field).map_err(says)?;
    let length = list.len();
    if index > length {
        return Err(beyond(index, length));
    }
    match (rest, edit) {
        ([], Edit::Set(value)) if index == length => list.push(value).map_err(says),
        ([], Edit::Set(value)) => list.set(index, value).map_err(says),
        ([], Edit::Clear) => list.remove(index).map_err(says),
        (_, edit) if index == length => write(list.push_message().map_err(says)?, rest, edit),
        (_, edit) => write(list.message_mut(index).map_err(says)?, rest, edit),
    }
}

fn beyond(index: usize, length: usize) -> PathError {
    format!("the list has {length} values, and none at {index}")
}

fn field_of(schema: &Schema, message: MessageId, name: &str) -> Result<FieldId, PathError> {
    schema.field_by_name(message, name).ok_or_else(|| {
        let of_message = schema.message(message);
        let names = of_message.fields().iter().map(|&id| schema.field(id).name());
        let close = nearest(name, names).map(|close| format!("; is `{close}` meant?"));
        let close = close.unwrap_or_default();
        format!("message `{}` has no field `{name}`{close}", of_message.full_name())
    })
}

/// The message in which a path continues.
fn next_message(
    schema: &Schema,
    field: &Field,
    has_brackets: bool,
) -> Result<Option<MessageId>, PathError> {
    let is_list = field.label() == Label::Repeated;
    if has_brackets && !is_list {
        return Err(format!("`{}` is no list or map, so nothing stands in brackets", field.name()));
    }
    let ty = match map_of(schema, field) {
        Some((_, value)) => schema.field(value).field_type(),
        None => field.field_type(),
    };
    Ok(match ty {
        FieldType::Message(id) | FieldType::Group(id) if has_brackets == is_list => Some(id),
        _ => None,
    })
}

/// The key and value fields of a map.
fn map_of(schema: &Schema, field: &Field) -> Option<(FieldId, FieldId)> {
    match field.field_type() {
        FieldType::Message(entry)
            if field.label() == Label::Repeated && schema.message(entry).is_map_entry() =>
        {
            match schema.message(entry).fields() {
                &[key, value] => Some((key, value)),
                _ => None,
            }
        }
        _ => None,
    }
}

fn index_of(text: &str) -> Result<usize, PathError> {
    text.trim().parse().map_err(|_| format!("`{text}` is no place in a list, which counts from 0"))
}

fn entry<'m>(schema: &Schema, map: MapRef<'m>, text: &str) -> Result<Option<Value<'m>>, PathError> {
    let Some((key, _)) = map_of(schema, schema.field(map.field())) else { return Ok(None) };
    map.get(key_of(schema.field(key), text)?).map_err(|error| error.to_string())
}

/// Parses a key of a map.
fn key_of<'t>(field: &Field, text: &'t str) -> Result<Value<'t>, PathError> {
    let number =
        |parsed: Option<Value<'t>>| parsed.ok_or_else(|| format!("`{text}` is no key of this map"));
    match field.field_type() {
        FieldType::Scalar(Scalar::String) => Ok(Value::String(text)),
        FieldType::Scalar(Scalar::Bool) => number(text.parse().ok().map(Value::Bool)),
        FieldType::Scalar(Scalar::Int32 | Scalar::Sint32 | Scalar::Sfixed32) => {
            number(text.parse().ok().map(Value::I32))
        }
        FieldType::Scalar(Scalar::Uint32 | Scalar::Fixed32) => {
            number(text.parse().ok().map(Value::U32))
        }
        FieldType::Scalar(Scalar::Uint64 | Scalar::Fixed64) => {
            number(text.parse().ok().map(Value::U64))
        }
        _ => number(text.parse().ok().map(Value::I64)),
    }
}

#[cfg(test)]
mod tests {
    use tidemill_stdx::rng::Rng;
    use tidemill_wire::{Message, SchemaBuilder};

    use super::*;

    fn schema() -> (Schema, MessageId) {
        let mut builder = SchemaBuilder::new("p");
        let node = builder.message("Node");
        builder.field(node, "number", 1, Scalar::Int64, Label::Implicit);
        builder.field(node, "next", 2, FieldType::Message(node), Label::Optional);
        builder.field(node, "all", 3, FieldType::Message(node), Label::Repeated);
        builder.field(node, "names", 4, Scalar::String, Label::Repeated);
        (builder.build().expect("a schema"), node)
    }

    #[test]
    fn a_path_makes_what_is_on_its_way_and_finds_it_again() {
        let (schema, node) = schema();
        let mut message = Message::new(&schema, node).expect("a message");
        let path = Path::parse(&schema, node, "next.all[0].next.number", 0).expect("a path");
        assert_eq!(path.is_set(message.as_ref()), Ok(false));
        path.set(message.as_mut(), Value::I64(5)).expect("set");
        assert_eq!(path.is_set(message.as_ref()), Ok(true));
        let found = path.follow(message.as_ref());
        assert!(matches!(found, Ok(PathTarget::Value(Value::I64(5)))));
        let beyond = Path::parse(&schema, node, "next.all[].number", 1).expect("a path");
        assert!(matches!(beyond.follow(message.as_ref()), Ok(PathTarget::Nothing(_))));
        Path::parse(&schema, node, "next", 0).expect("a path").clear(message.as_mut()).expect("it");
        assert_eq!(path.is_set(message.as_ref()), Ok(false));
        let deep = ["next"; PARTS_MAX + 1].join(".");
        assert!(Path::parse(&schema, node, &deep, 0).is_err());
    }

    /// Every request of a client gets a response.
    #[test]
    fn no_path_is_too_strange() {
        let (schema, node) = schema();
        let pieces = ["next", "all", "names", "number", ".", "[", "]", "0", "7", "-1", "é", "[0]"];
        let mut message = Message::with_limit(&schema, node, 1 << 16).expect("a message");
        let mut rng = Rng::new(1);
        let mut parsed = 0;
        for _ in 0..20_000 {
            let count = 1 + rng.next_u64() % 7;
            let piece = |_| pieces[(rng.next_u64() % pieces.len() as u64) as usize];
            let text: String = (0..count).map(piece).collect();
            let index = rng.next_u64() as i64 % 4;
            let Ok(path) = Path::parse(&schema, node, &text, index) else { continue };
            parsed += 1;
            let _ = path.follow(message.as_ref());
            let _ = path.is_set(message.as_ref());
            let _ = path.value_field(&schema);
            match rng.next_u64() % 4 {
                0 => drop(path.clear(message.as_mut())),
                1 => drop(path.set(message.as_mut(), Value::String("text"))),
                _ => drop(path.set(message.as_mut(), Value::I64(index))),
            }
        }
        assert!(parsed > 1000, "{parsed}");
    }
}
