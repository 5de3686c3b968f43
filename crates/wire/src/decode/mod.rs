//! The table decoder: walks a message's bytes by the schema's tables and feeds a [`Sink`].
//!
//! It needs no compilation, takes any schema at once, and is the reference for any faster decoder.
//!
//! ```text
//!            +---------------- next tag <----------------+
//!            v                                           |
//!  at end? --> pop a frame, end_sub --------------------->
//!     | no                                               |
//!     +--> known, fitting wire type: scalar, string ----->
//!     |                              sub: push a frame -->
//!     +--> else: skip, unknown -------------------------->
//! ```
//! A frame is what must be restored at the end of a sub-message. The walk does not recurse: input
//! cannot exhaust the stack, and the state of the machine is its fields.

mod error;
mod group;

pub use error::{DecodeError, ErrorKind};

use crate::schema::{
    FIELD_NUMBER_MAX, FieldId, FieldType, MessageId, Scalar, Schema, Slot, WireType,
};
use crate::sink::{Flow, Sink};
use crate::varint::{self, VarintError};

/// How deep sub-messages and unknown groups may nest, unless set otherwise.
pub const DEPTH_MAX: usize = 100;

/// Bytes that a message may have, unless set otherwise: 2 GiB, less one.
pub const BYTES_MAX: usize = i32::MAX as usize;

/// Decodes messages of one schema; see the module.
#[derive(Clone, Copy, Debug)]
pub struct Decoder<'s> {
    schema: &'s Schema,
    depth_max: usize,
    bytes_max: usize,
}

impl<'s> Decoder<'s> {
    /// A decoder with the usual limits.
    pub fn new(schema: &'s Schema) -> Decoder<'s> {
        Decoder { schema, depth_max: DEPTH_MAX, bytes_max: BYTES_MAX }
    }

    /// Sets how deep sub-messages and unknown groups may nest.
    pub fn depth_max(self, depth_max: usize) -> Decoder<'s> {
        Decoder { depth_max, ..self }
    }

    /// Sets how many bytes a message may have.
    pub fn bytes_max(self, bytes_max: usize) -> Decoder<'s> {
        Decoder { bytes_max, ..self }
    }

    /// Walks `input`, which is one whole message of type `message`.
    ///
    /// The sink has seen all events before the place of an error.
    pub fn decode<'a, S: Sink<'a>>(
        &self,
        message: MessageId,
        input: &'a [u8],
        sink: &mut S,
    ) -> Result<(), DecodeError> {
        let mut machine = Machine {
            schema: self.schema,
            depth_max: self.depth_max,
            input,
            pos: 0,
            end: input.len(),
            message,
            frames: Vec::new(),
            tag_offset: 0,
            number: 0,
            sink,
        };
        let result = match input.len() > self.bytes_max {
            true => Err(ErrorKind::TooLarge),
            false => machine.run(),
        };
        result.map_err(|kind| machine.error(kind))
    }
}

/// What the end of a sub-message restores.
#[derive(Clone, Copy)]
struct Frame {
    /// The field that the sub-message is the value of.
    field: FieldId,
    message: MessageId,
    end: usize,
    /// The number of a group, which ends with a tag.
    group: Option<u32>,
    /// Where the field's tag begins.
    start: usize,
}

struct Machine<'s, 'a, 'k, S> {
    schema: &'s Schema,
    depth_max: usize,
    input: &'a [u8],
    /// Next byte to read; never beyond `end`.
    pos: usize,
    /// Where the message being read ends; never beyond an outer one's end.
    end: usize,
    message: MessageId,
    frames: Vec<Frame>,
    /// Where the tag of the current field begins.
    tag_offset: usize,
    /// The current field; 0 while its tag is being read.
    number: u32,
    sink: &'k mut S,
}

type Step<T = ()> = Result<T, ErrorKind>;

fn told(flow: Flow) -> Step {
    flow.map_err(|_| ErrorKind::Stopped)
}

impl<'a, S: Sink<'a>> Machine<'_, 'a, '_, S> {
    fn run(&mut self) -> Step {
        let root = self.message;
        told(self.sink.start_message(root))?;
        loop {
            while self.pos < self.end {
                self.field()?;
            }
            let Some(frame) = self.frames.pop() else {
                return told(self.sink.end_message(root));
            };
            if let Some(number) = frame.group {
                // The bytes end before the group does: its own tag is at fault.
                self.message = frame.message;
                (self.tag_offset, self.number) = (frame.start, number);
                return Err(self.short());
            }
            self.message = frame.message;
            self.end = frame.end;
            told(self.sink.end_sub(frame.field))?;
        }
    }

    #[inline]
    fn field(&mut self) -> Step {
        self.tag_offset = self.pos;
        self.number = 0;
        let (number, wire_type) = self.tag()?;
        self.number = number;
        let slot = self.schema.slot(self.message, number);
        match slot {
            Some(slot) => self.known(slot, wire_type),
            None => self.unknown(number, wire_type),
        }
    }

    #[inline]
    fn tag(&mut self) -> Step<(u32, WireType)> {
        let tag = self.varint()?;
        let number = tag >> 3;
        if number == 0 || number > u64::from(FIELD_NUMBER_MAX) {
            return Err(ErrorKind::BadFieldNumber);
        }
        let wire_type = WireType::from_tag(tag).ok_or(ErrorKind::BadWireType)?;
        Ok((number as u32, wire_type))
    }

    #[inline]
    fn known(&mut self, slot: Slot, wire_type: WireType) -> Step {
        match slot.kind {
            FieldType::Scalar(scalar) => self.known_scalar(slot, scalar, wire_type),
            // Numbers without a name are values here; who wants them apart asks the enum.
            FieldType::Enum(_) => self.known_scalar(slot, Scalar::Int32, wire_type),
            FieldType::Message(message) if wire_type == WireType::Length => {
                self.sub_message(slot.field, message)
            }
            FieldType::Group(message) if wire_type == WireType::StartGroup => {
                self.group(slot.field, message)
            }
            _ => self.unknown(self.number, wire_type),
        }
    }

    #[inline]
    fn known_scalar(&mut self, slot: Slot, scalar: Scalar, wire_type: WireType) -> Step {
        match wire_type {
            _ if scalar.wire_type() == wire_type => self.scalar(slot.field, scalar),
            WireType::Length if slot.packable => self.packed(slot.field, scalar),
            _ => self.unknown(self.number, wire_type),
        }
    }

    #[inline]
    fn scalar(&mut self, field: FieldId, scalar: Scalar) -> Step {
        let flow = match scalar {
            Scalar::Double => {
                let value = f64::from_le_bytes(self.fixed()?);
                self.sink.f64(field, value)
            }
            Scalar::Float => {
                let value = f32::from_le_bytes(self.fixed()?);
                self.sink.f32(field, value)
            }
            Scalar::Int64 => {
                let value = self.varint()? as i64;
                self.sink.i64(field, value)
            }
            Scalar::Uint64 => {
                let value = self.varint()?;
                self.sink.u64(field, value)
            }
            Scalar::Int32 => {
                let value = self.varint()? as i32;
                self.sink.i32(field, value)
            }
            Scalar::Uint32 => {
                let value = self.varint()? as u32;
                self.sink.u32(field, value)
            }
            Scalar::Fixed64 => {
                let value = u64::from_le_bytes(self.fixed()?);
                self.sink.u64(field, value)
            }
            Scalar::Fixed32 => {
                let value = u32::from_le_bytes(self.fixed()?);
                self.sink.u32(field, value)
            }
            Scalar::Sfixed64 => {
                let value = i64::from_le_bytes(self.fixed()?);
                self.sink.i64(field, value)
            }
            Scalar::Sfixed32 => {
                let value = i32::from_le_bytes(self.fixed()?);
                self.sink.i32(field, value)
            }
            Scalar::Bool => {
                let value = self.varint()? != 0;
                self.sink.bool(field, value)
            }
            Scalar::Sint64 => {
                let value = varint::unzigzag(self.varint()?);
                self.sink.i64(field, value)
            }
            Scalar::Sint32 => {
                // Bits above the 32nd have no place, as in any 32-bit varint.
                let value = varint::unzigzag(self.varint()? & u64::from(u32::MAX)) as i32;
                self.sink.i32(field, value)
            }
            Scalar::String => return self.string(field),
            Scalar::Bytes => return self.bytes(field),
        };
        told(flow)
    }

    fn string(&mut self, field: FieldId) -> Step {
        let text = std::str::from_utf8(self.slice()?).map_err(|_| ErrorKind::InvalidUtf8)?;
        told(self.sink.start_string(field, text.len()))?;
        told(self.sink.string(field, text))?;
        told(self.sink.end_string(field))
    }

    fn bytes(&mut self, field: FieldId) -> Step {
        let bytes = self.slice()?;
        told(self.sink.start_bytes(field, bytes.len()))?;
        told(self.sink.bytes(field, bytes))?;
        told(self.sink.end_bytes(field))
    }

    fn packed(&mut self, field: FieldId, scalar: Scalar) -> Step {
        let length = self.length()?;
        let outer_end = std::mem::replace(&mut self.end, self.pos + length);
        while self.pos < self.end {
            // An element that runs over the end of the list is the list's fault.
            self.scalar(field, scalar).map_err(|kind| match kind {
                ErrorKind::Truncated | ErrorKind::PastParent => ErrorKind::PackedLength,
                other => other,
            })?;
        }
        self.end = outer_end;
        Ok(())
    }

    fn sub_message(&mut self, field: FieldId, message: MessageId) -> Step {
        let length = self.length()?;
        if self.frames.len() >= self.depth_max {
            return Err(ErrorKind::TooDeep);
        }
        told(self.sink.start_sub(field))?;
        self.push_frame(field, message, None);
        self.end = self.pos + length;
        Ok(())
    }

    fn group(&mut self, field: FieldId, message: MessageId) -> Step {
        if self.frames.len() >= self.depth_max {
            return Err(ErrorKind::TooDeep);
        }
        told(self.sink.start_sub(field))?;
        self.push_frame(field, message, Some(self.number));
        Ok(())
    }

    fn push_frame(&mut self, field: FieldId, message: MessageId, group: Option<u32>) {
        let start = self.tag_offset;
        self.frames.push(Frame { field, message: self.message, end: self.end, group, start });
        self.message = message;
    }

    /// The end tag of a group whose fields are known.
    fn end_group(&mut self, number: u32) -> Step {
        let frame = self.frames.pop_if(|frame| frame.group == Some(number));
        let frame = frame.ok_or(ErrorKind::EndGroup)?;
        self.message = frame.message;
        told(self.sink.end_sub(frame.field))
    }

    /// Skips a field whose tag has been read.
    #[cold]
    fn unknown(&mut self, number: u32, wire_type: WireType) -> Step {
        match wire_type {
            WireType::StartGroup => self.skip_group(number)?,
            WireType::EndGroup => return self.end_group(number),
            _ => self.skip_plain(wire_type)?,
        }
        let raw = &self.input[self.tag_offset..self.pos];
        told(self.sink.unknown(number, raw))
    }

    /// Skips a value of any wire type that is no group.
    fn skip_plain(&mut self, wire_type: WireType) -> Step {
        match wire_type {
            WireType::Varint => self.varint().map(drop),
            WireType::Fixed64 => self.fixed::<8>().map(drop),
            WireType::Fixed32 => self.fixed::<4>().map(drop),
            WireType::Length => self.slice().map(drop),
            WireType::StartGroup | WireType::EndGroup => Err(ErrorKind::EndGroup),
        }
    }

    #[inline]
    fn varint(&mut self) -> Step<u64> {
        match varint::read(&self.input[self.pos..self.end]) {
            Ok((value, length)) => {
                self.pos += length;
                Ok(value)
            }
            Err(VarintError::TooLong) => Err(ErrorKind::VarintTooLong),
            Err(VarintError::Truncated) => Err(self.short()),
        }
    }

    #[inline]
    fn fixed<const N: usize>(&mut self) -> Step<[u8; N]> {
        match self.input[self.pos..self.end].first_chunk::<N>() {
            Some(&bytes) => {
                self.pos += N;
                Ok(bytes)
            }
            None => Err(self.short()),
        }
    }

    /// A length that fits into the current message.
    #[inline]
    fn length(&mut self) -> Step<usize> {
        let length = self.varint()?;
        match length > (self.end - self.pos) as u64 {
            true => Err(self.short()),
            false => Ok(length as usize),
        }
    }

    #[inline]
    fn slice(&mut self) -> Step<&'a [u8]> {
        let length = self.length()?;
        let slice = &self.input[self.pos..self.pos + length];
        self.pos += length;
        Ok(slice)
    }

    /// What it is called to need bytes beyond `end`: more input could help, or nothing can.
    #[cold]
    fn short(&self) -> ErrorKind {
        match self.end == self.input.len() {
            true => ErrorKind::Truncated,
            false => ErrorKind::PastParent,
        }
    }
}
