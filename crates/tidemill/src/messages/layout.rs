//! Listings of the layout of a message in memory, and of its decoder's machine code.

use std::fmt::Write;

use tidemill_wire::decode::{Listing, Native, Tables};
use tidemill_wire::message::Shape;
use tidemill_wire::schema::FieldType;
use tidemill_wire::{MessageId, Schema, Wants};

use crate::error::Error;

/// The machine code of a decoder of that type and all types nested in it, for a sink of all events.
///
/// # Errors
/// The code generator does not support this machine.
pub fn decoder_listing(schema: &Schema, message: MessageId) -> Result<String, Error> {
    let tables = Tables::new(schema);
    let native = Native::with_listing(schema, &tables, Wants::ALL, Listing::Kept);
    let native = native.map_err(Error::program)?;
    native.prepare(message).map_err(Error::program)?;
    let name = schema.full_name(message);
    Ok(format!("{name}: decoder\n\n{}", native.listing(message).unwrap_or_default()))
}

/// A line for the record, and one for each of its fields: number, name, type, offset, size and
/// presence bit.
pub fn layout_text(schema: &Schema, message: MessageId) -> String {
    let layouts = schema.layouts();
    let record = layouts.record(message);
    let mut out = String::new();
    let words = record.presence_words();
    let plural = if words == 1 { "" } else { "s" };
    // Writing to memory cannot fail.
    let _ = writeln!(
        out,
        "{}: {} bytes, {words} word{plural} of presence bits",
        schema.full_name(message),
        record.bytes
    );
    let _ = writeln!(out, "{:>9}  {:<24} {:<24} offset bytes  bit", "number", "field", "type");
    for &id in &record.fields {
        let field = layouts.field(id);
        let _ = writeln!(
            out,
            "{:>9}  {:<24} {:<24} {:>6} {:>5} {:>4}",
            field.number,
            schema.field(id).name(),
            type_text(schema, field.ty, field.shape),
            field.offset,
            field.slot_bytes(),
            field.bit
        );
    }
    out
}

fn type_text(schema: &Schema, ty: FieldType, shape: Shape) -> String {
    let one = |ty| match ty {
        FieldType::Scalar(scalar) => scalar.name().to_owned(),
        FieldType::Enum(id) => schema.enum_def(id).full_name().to_string(),
        FieldType::Message(id) | FieldType::Group(id) => schema.full_name(id).to_owned(),
    };
    match (shape, ty) {
        (Shape::Single, ty) => one(ty),
        (Shape::Map, FieldType::Message(entry)) => {
            let of = |number| schema.field_by_number(entry, number);
            let text = |id| one(schema.field(id).field_type());
            let part = |number| of(number).map_or_else(String::new, text);
            format!("map<{}, {}>", part(1), part(2))
        }
        (_, ty) => format!("repeated {}", one(ty)),
    }
}
