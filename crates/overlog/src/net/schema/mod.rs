//! A program's own messages: one per relation, and the identity that they give it.
//!
//! The text that `tidemill schema` prints is a whole `.proto` file:
//!
//! ```text
//! syntax = "proto3";
//! package <first file>;           `-` and whatever else no identifier has becomes `_`
//! message <relation> { ... }      sorted by message name; the n-th is relation number n
//! message Value ... Values ... Envelope ... Tuple ... Fragment ... Ack
//! ```
//! The shared messages always follow at the end, so that the file explains every byte of a
//! datagram. The identity is the first 8 bytes of the text's SHA-256, kept as a little-endian
//! number: as `fixed64` they have the same order on the wire as in the hash. Two programs of one
//! identity agree in all that they send.
//!
//! [`ProgramSchema::encode_body`] and [`ProgramSchema::decode_body`] turn tuples into these
//! messages and back.

mod body;
#[cfg(test)]
mod tests;

use sha2::{Digest, Sha256};
use tidemill_stdx::sort;
use tidemill_stdx::sorted::SortedMap;
use tidemill_wire::{
    FieldId, FieldType, Label, MessageId, Scalar, Schema, SchemaBuilder, SchemaError,
};

pub use body::BodyError;

use crate::net::protocol::{Fields, ValueFields};

/// The type of a column on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ColumnType {
    /// Integers, as `sint64`.
    Int,
    /// Doubles.
    Double,
    /// Truth values.
    Bool,
    /// Texts and addresses.
    Str,
    /// Bytes.
    Bytes,
    /// Ring identifiers, as 20 bytes, most significant first.
    Id,
    /// Times, as `sfixed64` of nanoseconds since the epoch.
    Time,
    /// Intervals, as `sint64` of nanoseconds.
    Interval,
    /// Lists, vectors, matrices, and columns of several types, as `Value`.
    Value,
}

impl ColumnType {
    fn field_type(self, value: MessageId) -> FieldType {
        FieldType::Scalar(match self {
            ColumnType::Int | ColumnType::Interval => Scalar::Sint64,
            ColumnType::Double => Scalar::Double,
            ColumnType::Bool => Scalar::Bool,
            ColumnType::Str => Scalar::String,
            ColumnType::Bytes | ColumnType::Id => Scalar::Bytes,
            ColumnType::Time => Scalar::Sfixed64,
            ColumnType::Value => return FieldType::Message(value),
        })
    }
}

/// One relation of a program.
#[derive(Clone, Debug)]
struct Relation {
    name: String,
    message: MessageId,
    columns: Box<[Column]>,
}

#[derive(Clone, Copy, Debug)]
struct Column {
    ty: ColumnType,
    field: FieldId,
}

/// The messages of a program; see the module.
#[derive(Clone, Debug)]
pub struct ProgramSchema {
    schema: Schema,
    fields: Fields,
    text: String,
    program: u64,
    /// Number `n` stands at `n - 1`.
    relations: Vec<Relation>,
    by_name: SortedMap<String, u32>,
}

impl ProgramSchema {
    /// The messages of a program whose first file is `file`, a name or a path.
    ///
    /// # Errors
    /// Two relations that give one message (`a::b` beside `a__b`), a name that is no identifier.
    pub fn new<'r>(
        file: &str,
        relations: impl IntoIterator<Item = (&'r str, &'r [ColumnType])>,
    ) -> Result<ProgramSchema, SchemaError> {
        let mut sorted: Vec<(String, &str, &[ColumnType])> = relations
            .into_iter()
            .map(|(name, columns)| (name.replace("::", "__"), name, columns))
            .collect();
        sort::by(&mut sorted, |a, b| a.0.cmp(&b.0));
        let mut builder = SchemaBuilder::new(package(file));
        let messages: Vec<MessageId> =
            sorted.iter().map(|(message, ..)| builder.message(message)).collect();
        let fields = Fields::declare(&mut builder);
        let relations: Vec<Relation> = sorted
            .iter()
            .zip(messages)
            .map(|(&(_, name, columns), message)| {
                declare_relation(&mut builder, &fields.value, name, message, columns)
            })
            .collect();
        let schema = builder.build()?;
        let text = schema.to_string();
        let by_name = (1..).zip(&relations).map(|(number, r)| (r.name.clone(), number)).collect();
        Ok(ProgramSchema { program: identity(&text), schema, fields, text, relations, by_name })
    }

    /// The `.proto` text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The identity, as in [`crate::net::envelope::Envelope::program`].
    pub fn program(&self) -> u64 {
        self.program
    }

    /// Number of relations; they are numbered from 1.
    pub fn len(&self) -> u32 {
        self.relations.len() as u32
    }

    /// True for a program without relations.
    pub fn is_empty(&self) -> bool {
        self.relations.is_empty()
    }

    /// The number of a relation.
    pub fn number(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    /// The name of a relation.
    pub fn name(&self, number: u32) -> Option<&str> {
        self.relation(number).map(|relation| relation.name.as_str())
    }

    /// The number of columns of a relation.
    pub fn columns(&self, number: u32) -> Option<usize> {
        self.relation(number).map(|relation| relation.columns.len())
    }

    fn relation(&self, number: u32) -> Option<&Relation> {
        self.relations.get((number as usize).checked_sub(1)?)
    }
}

/// The file's name without folders and ending, as an identifier.
fn package(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let package: String =
        stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    match package.as_bytes().first() {
        Some(first) if !first.is_ascii_digit() => package,
        _ => format!("_{package}"),
    }
}

fn identity(text: &str) -> u64 {
    let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    let [a, b, c, d, e, f, g, h, ..] = hash;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

fn declare_relation(
    builder: &mut SchemaBuilder,
    value: &ValueFields,
    name: &str,
    message: MessageId,
    columns: &[ColumnType],
) -> Relation {
    let columns = (1..)
        .zip(columns)
        .map(|(number, &ty)| {
            let name = format!("a{number}");
            let ty_on_wire = ty.field_type(value.message);
            Column { ty, field: builder.field(message, name, number, ty_on_wire, Label::Optional) }
        })
        .collect();
    Relation { name: name.into(), message, columns }
}
