//! Messages into bytes by machine code that is made for their type, backwards in one pass.
//!
//! The bytes are written from the end of a buffer towards its front: when the content of a
//! sub-message is written, its length is known and goes before it. So a record is read once, and
//! nothing is measured, moved or patched.
//!
//! ```text
//!   buffer   [ free ............ | tag len | content of a sub-message | later fields ]
//!            limit             p ->  <- writing goes this way                       end
//! ```
//! One function per message type, `encode(context, record, p, depth, message) -> p`, 0 for an
//! error. It is compiled when the first message of the type is encoded (`functions.rs`), so a type
//! of a large schema costs what its messages contain, not what they might contain.
//!
//! * room is reserved once per record for all that has a bound (numbers, tags, lengths), and per
//!   string, list and sub-message;
//! * presence bits are tested from the last field to the first, eight at a time where there are
//!   many;
//! * unknown fields are copied by a helper; records with extensions, and so sets of messages, are
//!   left to the table encoder, whose bytes these are in any case.
//!
//! Bytes are the same as those of [`Encoder`], which is the oracle.

mod code;
mod context;
mod copy;
mod functions;
mod helpers;

use std::ptr::NonNull;
use std::sync::Arc;

use tidemill_jit::Error;

use self::context::{Context, Functions};
use super::back::EncodeBuffer;
use super::error::{BYTES_MAX, DEPTH_MAX, EncodeError};
use super::table::Encoder;
use crate::message::{MapOrder, MessageRef};
use crate::schema::{MessageId, Schema};

/// The code for messages of one type, and of all types inside; clones share it.
#[derive(Clone)]
pub struct EncoderCode {
    message: MessageId,
    functions: Arc<Functions>,
}

impl EncoderCode {
    /// Compiles the code of this type: some tens of microseconds per field. That of types inside
    /// is compiled when the first message of them is encoded; where that fails, they are encoded by
    /// tables.
    ///
    /// # Errors
    /// No code can be made for this machine.
    pub fn compile(schema: &Schema, message: MessageId) -> Result<EncoderCode, Error> {
        let functions = Functions::new(schema);
        functions.compile(message)?;
        Ok(EncoderCode { message, functions: Arc::new(functions) })
    }

    /// The number of types with code so far.
    pub fn types(&self) -> usize {
        self.functions.types()
    }

    fn schema(&self) -> &Schema {
        self.functions.schema()
    }
}

impl std::fmt::Debug for EncoderCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EncoderCode({})", self.schema().full_name(self.message))
    }
}

/// Encodes messages of one type by machine code; see the module. It keeps its buffer.
pub struct NativeEncoder {
    check_required: bool,
    context: Context,
}

impl std::fmt::Debug for NativeEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let of = self.context.code.schema().full_name(self.context.message);
        write!(f, "NativeEncoder({of})")
    }
}

// SAFETY: the buffer is its own, and between messages it holds no records.
unsafe impl Send for NativeEncoder {}

impl NativeEncoder {
    /// An encoder that uses this code.
    pub fn new(code: EncoderCode) -> NativeEncoder {
        let nowhere = NonNull::dangling().as_ptr();
        let context = Context {
            limit: nowhere,
            end: nowhere,
            by_key: 0,
            functions: code.functions.entries(),
            message: code.message,
            code: code.functions,
            error: None,
            sorted: Vec::new(),
            table: EncodeBuffer::new(),
        };
        NativeEncoder { check_required: false, context }
    }

    /// As [`Encoder::map_order`].
    pub fn map_order(self, order: MapOrder) -> NativeEncoder {
        let mut this = self;
        this.context.by_key = u64::from(order == MapOrder::ByKey);
        this
    }

    /// As [`Encoder::check_required`].
    pub fn check_required(self) -> NativeEncoder {
        let mut this = self;
        this.check_required = true;
        this
    }

    /// The encoded message, until the next one.
    ///
    /// # Errors
    /// As [`Encoder::encode`]; a message of another type.
    pub fn encode(&mut self, message: MessageRef<'_>) -> Result<&[u8], EncodeError> {
        let NativeEncoder { check_required, context } = self;
        let of = context.message;
        if message.layout.message != of || !message.schema.is_same(context.code.schema()) {
            return Err(EncodeError::WrongMessage);
        }
        if *check_required && let Some(path) = message.missing_required() {
            return Err(EncodeError::MissingRequired { path });
        }
        let Some(record) = message.record else { return Ok(&[]) };
        if message.layout.map_entry {
            // In a map both parts of an entry are stored, and the code reads both.
            let order = if context.by_key == 1 { MapOrder::ByKey } else { MapOrder::Stored };
            return Encoder::new().map_order(order).encode_into(message, &mut context.table);
        }
        let function = context.code.function(of);
        let id = u64::from(of.0);
        let start = function(context, record, context.end, DEPTH_MAX as u64 + 1, id);
        if !context.sorted.is_empty() {
            context.sorted.clear();
        }
        if start.is_null() {
            return Err(context.error.take().unwrap_or(EncodeError::TooDeep));
        }
        let length = context.end.addr() - start.addr();
        if length > BYTES_MAX {
            return Err(EncodeError::TooLarge);
        }
        // SAFETY: the code has written from there to the end of the buffer.
        Ok(unsafe { std::slice::from_raw_parts(start, length) })
    }

    /// Appends the encoded message to `out`; nothing if there is an error.
    ///
    /// # Errors
    /// As [`NativeEncoder::encode`].
    pub fn append(
        &mut self,
        message: MessageRef<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        out.extend_from_slice(self.encode(message)?);
        Ok(())
    }

    /// Bytes of the buffer.
    pub fn held_bytes(&self) -> usize {
        self.context.end.addr() - self.context.limit.addr()
    }
}

impl Encoder {
    /// The native encoder for messages of a type, with the same choices.
    ///
    /// # Errors
    /// No code can be made for this machine.
    pub fn compile(&self, schema: &Schema, message: MessageId) -> Result<NativeEncoder, Error> {
        let encoder = NativeEncoder::new(EncoderCode::compile(schema, message)?);
        let encoder = encoder.map_order(self.order);
        Ok(if self.check_required { encoder.check_required() } else { encoder })
    }
}
