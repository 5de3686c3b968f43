//! Encoding in two passes: the first measures, the second writes exactly the bytes measured.
//!
//! The caller gives a closure that puts a message's fields, in any order, into a [`Writer`]; it
//! is called twice and must put the same fields both times.
//!
//! ```text
//! measure: put, put_message( put, put_message( put ) ), put   keeps sizes, outermost first
//! write:   the same calls take the sizes from there
//! ```
//! So no length is moved or patched, and the size is known before memory is taken. Fields are
//! checked against the schema's types; a mismatch is a bug of the program that no input can cause,
//! and panics.

mod back;
mod error;
mod length;
#[cfg(feature = "native")]
pub mod native;
mod packed;
mod sink;
mod steps;
pub mod table;
pub(crate) mod walk;

pub use back::EncodeBuffer;
pub use sink::BinarySink;
pub(crate) use steps::Steps;

use crate::schema::{FieldId, FieldType, Label, Scalar, Schema, WireField, WireType};
use crate::varint;

/// The encoded message.
pub fn to_vec(schema: &Schema, put: impl Fn(&mut Writer<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    append(schema, &mut out, put);
    out
}

/// Appends the encoded message to `out`.
pub fn append(schema: &Schema, out: &mut Vec<u8>, put: impl Fn(&mut Writer<'_>)) {
    let mut writer = Writer::measuring(schema);
    put(&mut writer);
    out.reserve_exact(writer.size);
    let before = out.len();
    let expected = before + writer.size;
    writer.pass = Pass::Write;
    writer.out = std::mem::take(out);
    put(&mut writer);
    assert_eq!(writer.out.len(), expected, "both passes put the same fields");
    *out = writer.out;
}

/// Bytes that the encoded message takes.
pub fn len(schema: &Schema, put: impl FnOnce(&mut Writer<'_>)) -> usize {
    let mut writer = Writer::measuring(schema);
    put(&mut writer);
    writer.size
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pass {
    Measure,
    Write,
}

/// Takes the fields of one message; see the module.
///
/// A field of [`Label::Implicit`] is left out where its value is zero or empty. A number put alone
/// into a packed field is a list of one: [`Writer::put_packed`] is shorter for many. Enums take
/// their number as an `i32`.
/// Every method panics where the field is not of the type that it is for.
#[derive(Debug)]
pub struct Writer<'s> {
    schema: &'s Schema,
    pass: Pass,
    /// Bytes measured so far.
    size: usize,
    /// Sizes of nested parts in the order in which they begin.
    sizes: Vec<usize>,
    /// The next of `sizes` that the write pass needs.
    next: usize,
    out: Vec<u8>,
}

impl<'s> Writer<'s> {
    fn measuring(schema: &'s Schema) -> Writer<'s> {
        let (sizes, out) = (Vec::new(), Vec::new());
        Writer { schema, pass: Pass::Measure, size: 0, sizes, next: 0, out }
    }

    /// The schema whose fields are put.
    pub fn schema(&self) -> &'s Schema {
        self.schema
    }

    /// Puts an `int64`, `sint64` or `sfixed64`.
    pub fn put_i64(&mut self, field: FieldId, value: i64) {
        self.put_number(field, value);
    }

    /// Puts a `uint64` or `fixed64`.
    pub fn put_u64(&mut self, field: FieldId, value: u64) {
        self.put_number(field, value);
    }

    /// Puts an `int32`, `sint32` or `sfixed32`.
    pub fn put_i32(&mut self, field: FieldId, value: i32) {
        self.put_number(field, value);
    }

    /// Puts a `uint32` or `fixed32`.
    pub fn put_u32(&mut self, field: FieldId, value: u32) {
        self.put_number(field, value);
    }

    /// Puts a `double`.
    pub fn put_f64(&mut self, field: FieldId, value: f64) {
        self.put_number(field, value);
    }

    /// Puts a `float`.
    pub fn put_f32(&mut self, field: FieldId, value: f32) {
        self.put_number(field, value);
    }

    /// Puts a `bool`.
    pub fn put_bool(&mut self, field: FieldId, value: bool) {
        self.put_number(field, value);
    }

    /// Puts a `string`.
    pub fn put_string(&mut self, field: FieldId, value: &str) {
        self.put_text(field, Scalar::String, value.as_bytes());
    }

    /// Puts `bytes`.
    pub fn put_bytes(&mut self, field: FieldId, value: &[u8]) {
        self.put_text(field, Scalar::Bytes, value);
    }

    /// Puts a message, whose fields `put` puts.
    pub fn put_message(&mut self, field: FieldId, put: impl FnOnce(&mut Self)) {
        let def = self.schema.wire_field(field);
        assert!(def.ty.message().is_some(), "{} is no message", self.name(field));
        if let FieldType::Group(_) = def.ty {
            return self.put_group(field, put);
        }
        match self.pass {
            Pass::Measure => {
                let place = self.sizes.len();
                self.sizes.push(0);
                let before = self.size;
                put(self);
                self.sizes[place] = self.size - before;
                self.size += def.tag.as_bytes().len() + varint::len(self.sizes[place] as u64);
            }
            Pass::Write => {
                let size = self.next_size();
                self.write_tag(def);
                varint::write(&mut self.out, size as u64);
                let before = self.out.len();
                put(self);
                assert_eq!(self.out.len() - before, size, "both passes put the same fields");
            }
        }
    }

    /// Puts a list of numbers, under one length if the field is packed; nothing if there are none.
    pub fn put_packed<T: Number>(&mut self, field: FieldId, values: impl IntoIterator<Item = T>) {
        let def = self.schema.wire_field(field);
        assert!(def.label == Label::Repeated, "{} is not repeated", self.name(field));
        if !def.packed {
            return values.into_iter().for_each(|value| self.put_number(field, value));
        }
        let schema = self.schema;
        let raw = |value: T| raw(schema, field, value);
        match self.pass {
            Pass::Measure => {
                let size = values.into_iter().map(|value| raw(value).len()).sum();
                self.sizes.push(size);
                if size > 0 {
                    self.size += def.tag.as_bytes().len() + varint::len(size as u64) + size;
                }
            }
            Pass::Write => {
                let size = self.next_size();
                if size > 0 {
                    self.write_tag(def);
                    varint::write(&mut self.out, size as u64);
                    values.into_iter().for_each(|value| raw(value).write(&mut self.out));
                }
            }
        }
    }

    #[inline]
    fn put_number<T: Number>(&mut self, field: FieldId, value: T) {
        let def = self.schema.wire_field(field);
        if def.packed {
            return self.put_packed(field, [value]);
        }
        let raw = raw(self.schema, field, value);
        if def.label == Label::Implicit && raw.is_zero() {
            return;
        }
        match self.pass {
            Pass::Measure => self.size += def.tag.as_bytes().len() + raw.len(),
            Pass::Write => {
                self.write_tag(def);
                raw.write(&mut self.out);
            }
        }
    }

    fn put_text(&mut self, field: FieldId, scalar: Scalar, value: &[u8]) {
        let def = self.schema.wire_field(field);
        assert!(
            def.ty == FieldType::Scalar(scalar),
            "{} is no {}",
            self.name(field),
            scalar.name()
        );
        if def.label == Label::Implicit && value.is_empty() {
            return;
        }
        let length = value.len() as u64;
        match self.pass {
            Pass::Measure => {
                self.size += def.tag.as_bytes().len() + varint::len(length) + value.len();
            }
            Pass::Write => {
                self.write_tag(def);
                varint::write(&mut self.out, length);
                self.out.extend_from_slice(value);
            }
        }
    }

    /// A group needs no size: its end is a tag as long as that of its start.
    fn put_group(&mut self, field: FieldId, put: impl FnOnce(&mut Self)) {
        let tag = self.schema.wire_field(field).tag.as_bytes();
        match self.pass {
            Pass::Measure => {
                put(self);
                self.size += 2 * tag.len();
            }
            Pass::Write => {
                self.out.extend_from_slice(tag);
                put(self);
                // Start and end differ in the lowest bits of the first byte.
                let [first, rest @ ..] = tag else { return };
                let end = WireType::StartGroup as u8 ^ WireType::EndGroup as u8;
                self.out.push(first ^ end);
                self.out.extend_from_slice(rest);
            }
        }
    }

    fn name(&self, field: FieldId) -> &'s str {
        self.schema.field(field).name()
    }

    fn next_size(&mut self) -> usize {
        let size = self.sizes.get(self.next).expect("both passes put the same fields");
        self.next += 1;
        *size
    }

    #[inline]
    fn write_tag(&mut self, def: &WireField) {
        self.out.extend_from_slice(def.tag.as_bytes());
    }
}

/// A value by its wire type.
#[derive(Clone, Copy)]
enum Raw {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
}

impl Raw {
    fn len(self) -> usize {
        match self {
            Raw::Varint(value) => varint::len(value),
            Raw::Fixed64(_) => 8,
            Raw::Fixed32(_) => 4,
        }
    }

    fn is_zero(self) -> bool {
        match self {
            Raw::Varint(value) | Raw::Fixed64(value) => value == 0,
            Raw::Fixed32(value) => value == 0,
        }
    }

    fn write(self, out: &mut Vec<u8>) {
        match self {
            Raw::Varint(value) => varint::write(out, value),
            Raw::Fixed64(value) => out.extend_from_slice(&value.to_le_bytes()),
            Raw::Fixed32(value) => out.extend_from_slice(&value.to_le_bytes()),
        }
    }
}

fn raw<T: Number>(schema: &Schema, field: FieldId, value: T) -> Raw {
    let raw = match schema.wire_field(field).ty {
        FieldType::Scalar(scalar) => value.raw(scalar),
        FieldType::Enum(_) => value.raw(Scalar::Int32),
        FieldType::Message(_) | FieldType::Group(_) => None,
    };
    raw.unwrap_or_else(|| {
        let name = schema.field(field).name();
        panic!("{name} does not take a {}", std::any::type_name::<T>())
    })
}

/// The types of numbers that fields take; `i64` for `int64`, `sint64` and `sfixed64`, and so on.
#[allow(private_bounds)]
pub trait Number: Copy + ToRaw {}

trait ToRaw {
    /// The encoding of `self` as this scalar, if it is one.
    fn raw(self, scalar: Scalar) -> Option<Raw>;
}

macro_rules! number {
    ($ty:ty, $value:ident, $($scalar:ident => $raw:expr),+) => {
        impl Number for $ty {}
        impl ToRaw for $ty {
            #[inline]
            fn raw(self, scalar: Scalar) -> Option<Raw> {
                let $value = self;
                Some(match scalar {
                    $(Scalar::$scalar => $raw,)+
                    _ => return None,
                })
            }
        }
    };
}

number!(i64, value,
    Int64 => Raw::Varint(value as u64),
    Sint64 => Raw::Varint(varint::zigzag(value)),
    Sfixed64 => Raw::Fixed64(value as u64));
number!(u64, value,
    Uint64 => Raw::Varint(value),
    Fixed64 => Raw::Fixed64(value));
number!(i32, value,
    Int32 => Raw::Varint(i64::from(value) as u64),
    Sint32 => Raw::Varint(varint::zigzag(i64::from(value))),
    Sfixed32 => Raw::Fixed32(value as u32));
number!(u32, value,
    Uint32 => Raw::Varint(u64::from(value)),
    Fixed32 => Raw::Fixed32(value));
number!(f64, value, Double => Raw::Fixed64(value.to_bits()));
number!(f32, value, Float => Raw::Fixed32(value.to_bits()));
number!(bool, value, Bool => Raw::Varint(u64::from(value)));
