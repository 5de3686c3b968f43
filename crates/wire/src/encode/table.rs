//! Messages into bytes by the schema's tables, backwards in one pass: what is in a sub-message is
//! written before its length, which is known then.
//!
//! It needs no compilation and is the reference for the native encoder. Fields are written
//! ascending by number, extensions among them, then unknown fields as they came. Entries of maps
//! have key and value always; extensions of a set of messages are its items.

use std::fmt;

use super::back::Back;
use super::packed::Varints;
use crate::message::layout::{FieldLayout, Layouts, RecordLayout, Shape};
use crate::message::map::map_of;
use crate::message::present::{Backwards, Present};
use crate::message::read::{cell_at, entry_fields, sorted_entries};
use crate::message::record::{List, Record, Slot, View};
use crate::message::{MapOrder, MessageRef};
use crate::schema::{FieldId, FieldType, Scalar, Schema, Tag, WireType};
use crate::varint;

/// How deep messages may nest that are encoded: more than any decoder takes by itself.
pub const DEPTH_MAX: usize = 1000;

/// Bytes that an encoded message may have.
pub const BYTES_MAX: usize = i32::MAX as usize;

/// Why a message was not encoded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EncodeError {
    /// A required field is not there: its path by names from the outermost message.
    MissingRequired {
        /// The names, joined by dots.
        path: String,
    },
    /// Messages nest deeper than [`DEPTH_MAX`].
    TooDeep,
    /// It would have 2 GiB or more.
    TooLarge,
    /// The message is of another schema than the encoder, or of a type it was not made for.
    WrongMessage,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EncodeError::MissingRequired { path } => write!(f, "required field {path} is missing"),
            EncodeError::TooDeep => write!(f, "messages nest deeper than {DEPTH_MAX}"),
            EncodeError::TooLarge => f.write_str("the message would have 2 GiB or more"),
            EncodeError::WrongMessage => f.write_str("the encoder is for other messages"),
        }
    }
}

impl std::error::Error for EncodeError {}

/// Encodes messages of any type; see the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Encoder {
    pub(super) order: MapOrder,
    pub(super) check_required: bool,
}

impl Encoder {
    /// An encoder that writes maps in the order in which they are stored and does not ask for
    /// required fields.
    pub fn new() -> Encoder {
        Encoder::default()
    }

    /// Sets the order of entries of maps; by key, equal messages have equal bytes, but for the
    /// order of unknown fields.
    pub fn map_order(self, order: MapOrder) -> Encoder {
        Encoder { order, ..self }
    }

    /// Refuses messages that lack required fields.
    pub fn check_required(self) -> Encoder {
        Encoder { check_required: true, ..self }
    }

    /// The encoded message.
    ///
    /// # Errors
    /// It nests too deep or is too large; a required field is missing, if that is asked for.
    pub fn encode(&self, message: MessageRef<'_>) -> Result<Vec<u8>, EncodeError> {
        let mut out = Vec::new();
        self.append(message, &mut out)?;
        Ok(out)
    }

    /// Appends the encoded message to `out`; nothing if there is an error.
    ///
    /// # Errors
    /// As [`Encoder::encode`].
    pub fn append(&self, message: MessageRef<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let pass = self.pass(message)?;
        let Some(record) = message.record else { return Ok(()) };
        pass.append(message.layout, record, 0, out)
    }

    /// Bytes that the encoded message takes.
    ///
    /// # Errors
    /// As [`Encoder::encode`].
    pub fn len(&self, message: MessageRef<'_>) -> Result<usize, EncodeError> {
        let pass = self.pass(message)?;
        message.record.map_or(Ok(0), |record| pass.measure(message.layout, record, 0))
    }

    fn pass<'m>(&self, message: MessageRef<'m>) -> Result<Pass<'m>, EncodeError> {
        if self.check_required
            && let Some(path) = message.missing_required()
        {
            return Err(EncodeError::MissingRequired { path });
        }
        Ok(Pass::new(message.schema, self.order))
    }
}

/// What a walk over one message goes by.
#[derive(Clone, Copy)]
pub(crate) struct Pass<'s> {
    schema: &'s Schema,
    layouts: &'s Layouts,
    order: MapOrder,
}

impl<'s> Pass<'s> {
    pub(crate) fn new(schema: &'s Schema, order: MapOrder) -> Pass<'s> {
        Pass { schema, layouts: schema.layouts(), order }
    }

    /// Bytes that a record takes.
    fn measure(
        self,
        layout: &RecordLayout,
        record: Record,
        depth: usize,
    ) -> Result<usize, EncodeError> {
        if depth > DEPTH_MAX {
            return Err(EncodeError::TooDeep);
        }
        let mut size: usize = record.unknown().iter().map(|view| view.len as usize).sum();
        for (id, field, slot) in Present::of(self.layouts, layout, Some(record)) {
            let tag = self.schema.wire_field(id).tag.as_bytes().len();
            size += match (field.record, field.shape) {
                (Some(of), _) => {
                    let of = self.layouts.record(of);
                    let mut sum = 0;
                    for &inner in self.records(field, slot).iter() {
                        sum += self.measure_sub(layout, field, of, inner, tag, depth)?;
                    }
                    sum
                }
                (None, Shape::Single) => tag + cell_len(field.ty, slot),
                (None, _) if self.schema.wire_field(id).packed => {
                    // SAFETY: the slot of a repeated field that is stored holds a list.
                    let list: List = unsafe { slot.cast().read() };
                    let inner = match Varints::of(field.ty) {
                        // SAFETY: of such numbers.
                        Some(kind) => unsafe { kind.measure(list.start, list.len as usize) },
                        None => list.len as usize * field.cell.bytes() as usize,
                    };
                    tag + varint::len(inner as u64) + inner
                }
                (None, _) => cells(field, slot).map(|at| tag + cell_len(field.ty, at)).sum(),
            };
        }
        if size > BYTES_MAX { Err(EncodeError::TooLarge) } else { Ok(size) }
    }

    fn measure_sub(
        self,
        outer: &RecordLayout,
        field: &FieldLayout,
        of: &RecordLayout,
        record: Record,
        tag: usize,
        depth: usize,
    ) -> Result<usize, EncodeError> {
        if let FieldType::Group(_) = field.ty {
            return Ok(2 * tag + self.measure(of, record, depth + 1)?);
        }
        let inner = self.measure(of, record, depth + 1)?;
        let around = if outer.message_set { 4 + varint::len(field.number.into()) } else { tag };
        Ok(around + varint::len(inner as u64) + inner)
    }

    /// Appends a record, inside of so many others, to `out`.
    pub(crate) fn append(
        self,
        layout: &RecordLayout,
        record: Record,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let mut back = Back::behind(out);
        self.write(layout, record, depth, &mut back);
        back.finish()
    }

    fn write(self, layout: &RecordLayout, record: Record, depth: usize, out: &mut Back<'_>) {
        if depth > DEPTH_MAX {
            return out.fail(EncodeError::TooDeep);
        }
        for view in record.unknown().iter().rev() {
            // SAFETY: views live as long as the message.
            out.bytes(unsafe { view.bytes() });
        }
        for (id, field, slot) in Backwards::of(self.layouts, layout, record) {
            let wire = self.schema.wire_field(id);
            let tag = &wire.tag;
            match (field.record, field.shape) {
                (Some(of), _) => {
                    let of = self.layouts.record(of);
                    for &inner in self.records(field, slot).iter().rev() {
                        self.write_sub(layout, field, of, inner, tag, depth, out);
                    }
                }
                (None, Shape::Single) => {
                    write_cell(field.ty, slot, out);
                    out.tag(tag);
                }
                (None, _) if wire.packed => {
                    let behind = out.len();
                    // SAFETY: the slot of a repeated field that is stored holds a list.
                    let list: List = unsafe { slot.cast().read() };
                    match Varints::of(field.ty) {
                        // SAFETY: of such numbers.
                        Some(kind) => unsafe { out.varints(kind, list.start, list.len as usize) },
                        None => write_as_they_lie(field, &list, out),
                    }
                    out.varint(out.since(behind));
                    out.tag(tag);
                }
                (None, _) => {
                    for at in cells(field, slot).rev() {
                        write_cell(field.ty, at, out);
                        out.tag(tag);
                    }
                }
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "a value at its place, and where it goes")]
    fn write_sub(
        self,
        outer: &RecordLayout,
        field: &FieldLayout,
        of: &RecordLayout,
        record: Record,
        tag: &Tag,
        depth: usize,
        out: &mut Back<'_>,
    ) {
        if let FieldType::Group(_) = field.ty {
            out.tag(&Tag::new(field.number, WireType::EndGroup));
            self.write(of, record, depth + 1, out);
            return out.tag(tag);
        }
        if outer.message_set {
            out.bytes(&[0x0c]);
        }
        let behind = out.len();
        self.write(of, record, depth + 1, out);
        out.varint(out.since(behind));
        if outer.message_set {
            // group Item = 1 { required uint32 type_id = 2; required bytes message = 3; }
            out.bytes(&[0x1a]);
            out.varint(field.number.into());
            return out.bytes(&[0x0b, 0x10]);
        }
        out.tag(tag);
    }

    fn records(self, field: &FieldLayout, slot: Slot) -> Records<'s> {
        // SAFETY: the slot is stored and holds what its shape says.
        unsafe {
            match field.shape {
                Shape::Single => Records::Stored(slot.cast::<[Record; 1]>().as_ref()),
                Shape::List => Records::Stored(slot.cast::<List>().read().values()),
                Shape::Map if self.order == MapOrder::Stored => {
                    Records::Stored(map_of(slot).records())
                }
                Shape::Map => {
                    let (_, key, ..) = entry_fields(self.schema, field);
                    Records::Sorted(sorted_entries(map_of(slot).records(), key))
                }
            }
        }
    }
}

enum Records<'m> {
    Stored(&'m [Record]),
    Sorted(Vec<Record>),
}

impl std::ops::Deref for Records<'_> {
    type Target = [Record];

    fn deref(&self) -> &[Record] {
        match self {
            Records::Stored(records) => records,
            Records::Sorted(records) => records,
        }
    }
}

fn cells(field: &FieldLayout, slot: Slot) -> impl DoubleEndedIterator<Item = Slot> + use<> {
    // SAFETY: the slot of a repeated field that is stored holds a list.
    let list: List = unsafe { slot.cast().read() };
    let cell = field.cell;
    (0..list.len as usize).map(move |index| cell_at(cell, &list, index))
}

/// The numbers of a packed list that take as many bytes in memory as they do there.
fn write_as_they_lie(field: &FieldLayout, list: &List, out: &mut Back<'_>) {
    let width = field.cell.bytes() as usize;
    // SAFETY: the list has such cells, and lives as long as the message.
    let bytes = unsafe { std::slice::from_raw_parts(list.start, list.len as usize * width) };
    if cfg!(target_endian = "little") {
        return out.bytes(bytes);
    }
    for cell in bytes.rchunks(width) {
        let mut number = [0; 8];
        number[..width].copy_from_slice(cell);
        number[..width].reverse();
        out.bytes(&number[..width]);
    }
}

/// A value as its wire type sees it.
enum Raw<'m> {
    Varint(u64),
    Fixed32(u32),
    Fixed64(u64),
    Bytes(&'m [u8]),
}

#[inline]
fn raw<'m>(ty: FieldType, at: Slot) -> Raw<'m> {
    // SAFETY: a cell that is stored holds what its type says.
    unsafe {
        let signed = || i64::from(at.cast::<i32>().read());
        match ty {
            FieldType::Enum(_) => Raw::Varint(signed() as u64),
            FieldType::Message(_) | FieldType::Group(_) => Raw::Bytes(&[]),
            FieldType::Scalar(scalar) => match scalar {
                Scalar::Int32 => Raw::Varint(signed() as u64),
                Scalar::Sint32 => Raw::Varint(varint::zigzag(signed())),
                Scalar::Uint32 => Raw::Varint(at.cast::<u32>().read().into()),
                Scalar::Int64 | Scalar::Uint64 => Raw::Varint(at.cast().read()),
                Scalar::Sint64 => Raw::Varint(varint::zigzag(at.cast().read())),
                Scalar::Bool => Raw::Varint(at.read().into()),
                Scalar::Float | Scalar::Fixed32 | Scalar::Sfixed32 => {
                    Raw::Fixed32(at.cast().read())
                }
                Scalar::Double | Scalar::Fixed64 | Scalar::Sfixed64 => {
                    Raw::Fixed64(at.cast().read())
                }
                Scalar::String | Scalar::Bytes => Raw::Bytes(at.cast::<View>().read().bytes()),
            },
        }
    }
}

#[inline]
fn cell_len(ty: FieldType, at: Slot) -> usize {
    match raw(ty, at) {
        Raw::Varint(value) => varint::len(value),
        Raw::Fixed32(_) => 4,
        Raw::Fixed64(_) => 8,
        Raw::Bytes(bytes) => varint::len(bytes.len() as u64) + bytes.len(),
    }
}

#[inline]
fn write_cell(ty: FieldType, at: Slot, out: &mut Back<'_>) {
    match raw(ty, at) {
        Raw::Varint(value) => out.varint(value),
        Raw::Fixed32(value) => out.fixed32(value),
        Raw::Fixed64(value) => out.fixed64(value),
        Raw::Bytes(bytes) => {
            out.bytes(bytes);
            out.varint(bytes.len() as u64);
        }
    }
}

/// An entry of a map whose value its closed enum does not have, as an unknown field of the message
/// with the map: what was stored of it, then its own unknown fields.
pub(crate) fn odd_entry(
    schema: &Schema,
    map: &FieldLayout,
    of: &RecordLayout,
    entry: Record,
) -> Result<Vec<u8>, EncodeError> {
    let mut raw = Vec::new();
    let mut out = Back::behind(&mut raw);
    for view in entry.unknown().iter().rev() {
        // SAFETY: views live as long as the message.
        out.bytes(unsafe { view.bytes() });
    }
    let stored = |id: &&FieldId| entry.bit(schema.layouts().field(**id));
    for &id in of.fields.iter().rev().filter(stored) {
        let field = schema.layouts().field(id);
        write_cell(field.ty, entry.place(field), &mut out);
        out.tag(&schema.wire_field(id).tag);
    }
    out.varint(out.len() as u64);
    out.tag(&Tag::new(map.number, WireType::Length));
    out.finish()?;
    Ok(raw)
}
