//! Messages into values: all fields by number, or some that are selected.

use tidemill_relation::limits::{NESTING_MAX, VALUE_BYTES_MAX};
use tidemill_relation::{SeqBuilder, Value};
use tidemill_wire::decode::{Listing, Native, Strings, Tables};
use tidemill_wire::{self as wire, Decoder, FieldId, Message, MessageId, MessageRef, Schema};

use super::counts::{Failed, Reason};
use super::loaded::Schemas;
use super::select::Selection;

/// The memory limit of one message: a multiple of the largest value.
const MESSAGE_BYTES_MAX: usize = 4 * VALUE_BYTES_MAX;
/// The capacity kept from one message to the next.
const KEPT_BYTES: usize = 64 << 10;

/// Decodes messages of one type.
pub(crate) struct MessageReader {
    schemas: Schemas,
    schema: Schema,
    message: MessageId,
    selected: Option<Selected>,
    /// The previous message, whose memory is reused.
    kept: Option<Message<'static>>,
}

impl MessageReader {
    /// Reads all fields.
    pub(crate) fn new(schemas: &Schemas, schema: &Schema, message: MessageId) -> MessageReader {
        let (schemas, schema) = (schemas.clone(), schema.clone());
        MessageReader { schemas, schema, message, selected: None, kept: None }
    }

    /// Reads the selected fields; all others are skipped.
    pub(crate) fn selecting(
        schemas: &Schemas,
        schema: &Schema,
        message: MessageId,
        selection: &Selection,
    ) -> MessageReader {
        let selected = Selected::new(schema, message, selection);
        MessageReader { selected: Some(selected), ..MessageReader::new(schemas, schema, message) }
    }

    /// Appends the fields of the encoded message `bytes`; lists in them nest at most `depth` deep.
    pub(crate) fn read(
        &mut self,
        bytes: &[u8],
        out: &mut SeqBuilder,
        depth: usize,
    ) -> Result<(), Failed> {
        let mut message = match self.kept.take() {
            Some(message) => message.recycle(),
            None => Message::with_limit(&self.schema, self.message, MESSAGE_BYTES_MAX)?,
        };
        let decoder = match &self.selected {
            None => self.schemas.decoder(&self.schema),
            Some(selected) => selected.decoder(&self.schema),
        };
        let decoded = message.decode_with(&decoder, bytes);
        let done = match (decoded, &self.selected) {
            (Ok(()), None) => fields(message.as_ref(), out, depth),
            (Ok(()), Some(selected)) => {
                let mut paths = selected.selection.paths.iter();
                paths.try_for_each(|path| follow(message.as_ref(), path, out, depth))
            }
            (Err(error), _) => Err(Failed::new(error.kind.into(), error.to_string())),
        };
        let mut message = message.recycle();
        message.shrink(KEPT_BYTES);
        self.kept = Some(message);
        done
    }
}

/// The selected fields, and tables that decode only these.
struct Selected {
    selection: Selection,
    tables: Tables,
    native: Option<Native>,
}

impl Selected {
    fn new(schema: &Schema, message: MessageId, selection: &Selection) -> Selected {
        // The names have been resolved before, so each leads to a field.
        let tables = Tables::select(schema, message, &selection.names);
        let tables = tables.unwrap_or_else(|_| Tables::new(schema));
        let native = Native::for_messages(schema, &tables, Strings::Viewed, Listing::Dropped).ok();
        Selected { selection: selection.clone(), tables, native }
    }

    fn decoder<'s>(&'s self, schema: &'s Schema) -> Decoder<'s> {
        let decoder = Decoder::with(schema, &self.tables);
        match &self.native {
            Some(native) => decoder.native(native),
            None => decoder,
        }
    }
}

/// Appends the field at a path; null, if a message on the path is missing.
fn follow(
    message: MessageRef<'_>,
    path: &[FieldId],
    out: &mut SeqBuilder,
    depth: usize,
) -> Result<(), Failed> {
    let Some((&first, rest)) = path.split_first() else { return Ok(()) };
    if rest.is_empty() {
        return field(message, first, out, depth);
    }
    match message.get(first)? {
        wire::Value::Message(inside) if message.has(first)? => follow(inside, rest, out, depth),
        _ => {
            out.push(Value::Null);
            Ok(())
        }
    }
}

/// Appends the fields of a message by number; lists in them nest at most `depth` deep.
fn fields(message: MessageRef<'_>, out: &mut SeqBuilder, depth: usize) -> Result<(), Failed> {
    let schema = message.schema();
    let mut all = schema.message(message.message_type()).fields().iter();
    all.try_for_each(|&id| field(message, id, out, depth))
}

/// Appends a field of a message.
fn field(
    message: MessageRef<'_>,
    id: FieldId,
    out: &mut SeqBuilder,
    depth: usize,
) -> Result<(), Failed> {
    let schema = message.schema();
    if schema.field(id).has_presence() && !message.has(id)? {
        out.push(Value::Null);
        return Ok(());
    }
    push(message.get(id)?, out, depth).map_err(|failed| match failed {
        FieldError::OutOfRange(number) => {
            let name = schema.field(id).name();
            let text = format!("field {name} is {number}, above 9223372036854775807");
            Failed::new(Reason::OutOfRange, text)
        }
        FieldError::Failed(failed) => failed,
    })?;
    if out.bytes() > VALUE_BYTES_MAX { Err(too_large()) } else { Ok(()) }
}

/// What is wrong with a value, without the field's name.
enum FieldError {
    OutOfRange(u64),
    Failed(Failed),
}

impl From<Failed> for FieldError {
    fn from(failed: Failed) -> FieldError {
        FieldError::Failed(failed)
    }
}

fn too_large() -> Failed {
    Failed::new(Reason::TooLarge, format!("a value has more than {VALUE_BYTES_MAX} bytes"))
}

fn push(value: wire::Value<'_>, out: &mut SeqBuilder, depth: usize) -> Result<(), FieldError> {
    out.push(match value {
        wire::Value::F64(number) => Value::Double(number),
        wire::Value::F32(number) => Value::Double(number.into()),
        wire::Value::I64(number) => Value::Int(number),
        wire::Value::U64(number) => {
            Value::Int(i64::try_from(number).map_err(|_| FieldError::OutOfRange(number))?)
        }
        wire::Value::I32(number) | wire::Value::Enum(number) => Value::Int(number.into()),
        wire::Value::U32(number) => Value::Int(number.into()),
        wire::Value::Bool(truth) => Value::Bool(truth),
        wire::Value::String(text) => Value::Str(text),
        wire::Value::Bytes(bytes) => Value::Bytes(bytes),
        wire::Value::Message(message) => {
            return list(out, depth, |list, depth| Ok(fields(message, list, depth)?));
        }
        wire::Value::List(values) => {
            return list(out, depth, |list, depth| {
                for value in values.iter() {
                    push(value, list, depth)?;
                    within(list)?;
                }
                Ok(())
            });
        }
        wire::Value::Map(entries) => {
            return list(out, depth, |list_of_entries, depth| {
                for (key, value) in entries.iter() {
                    list(list_of_entries, depth, |entry, depth| {
                        push(key, entry, depth)?;
                        push(value, entry, depth)
                    })?;
                    within(list_of_entries)?;
                }
                Ok(())
            });
        }
    });
    Ok(())
}

fn within(list: &SeqBuilder) -> Result<(), Failed> {
    if list.bytes() > VALUE_BYTES_MAX { Err(too_large()) } else { Ok(()) }
}

/// Appends a list filled by `fill`, one level deeper.
fn list(
    out: &mut SeqBuilder,
    depth: usize,
    fill: impl FnOnce(&mut SeqBuilder, usize) -> Result<(), FieldError>,
) -> Result<(), FieldError> {
    let Some(depth) = depth.checked_sub(1) else {
        let text = format!("messages nest deeper than values may, which is {NESTING_MAX}");
        return Err(Failed::new(Reason::TooDeep, text).into());
    };
    let mut list = SeqBuilder::new();
    fill(&mut list, depth)?;
    out.push(Value::List(list.as_seq()));
    Ok(())
}
