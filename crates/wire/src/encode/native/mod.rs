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
//! of a large schema costs what its messages hold and not what they might hold.
//!
//! * room is asked for once per record for all that has a bound (numbers, tags, lengths), and per
//!   string, list and sub-message;
//! * presence bits are tested from the last field to the first, eight at a time where there are
//!   many;
//! * unknown fields are copied by a helper; records with extensions, and so sets of messages, are
//!   left to the table encoder, whose bytes these are in any case.
//!
//! Bytes are the same as those of [`Encoder`], which is the oracle.

mod code;
mod copy;
mod functions;

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::Arc;

use tidemill_jit::Error;

use self::functions::{Entry, Functions};
use super::back::EncodeBuffer;
use super::error::{BYTES_MAX, DEPTH_MAX, EncodeError};
use super::packed::Varints;
use super::table::Encoder;
use super::walk::Whole;
use crate::message::record::Record;
use crate::message::{MapOrder, MessageRef};
use crate::schema::{MessageId, Schema};

/// Size of the first buffer.
const FIRST_BYTES: usize = 4096;

/// What generated code knows of its surroundings; an encoder keeps it, as making one would cost
/// what some fields do.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Context {
    /// The first byte of the buffer.
    limit: *mut u8,
    /// One past its last byte.
    end: *mut u8,
    /// 1 if entries of maps go by key.
    by_key: u64,
    /// By message, of [`Functions::entries`].
    functions: *const Entry,
    code: EncoderCode,
    error: Option<EncodeError>,
    /// Entries by key, until the end.
    sorted: Vec<Vec<Record>>,
    /// Kept for the table encoder.
    table: EncodeBuffer,
}

impl Drop for Context {
    fn drop(&mut self) {
        free(self.limit, self.end.addr() - self.limit.addr());
    }
}

/// The code for messages of one type, and of all types inside; clones share it.
#[derive(Clone)]
pub struct EncoderCode {
    message: MessageId,
    functions: Arc<Functions>,
}

impl EncoderCode {
    /// Compiles the code of this type: some tens of microseconds per field. That of types inside
    /// is compiled when the first message of them is encoded; where that cannot be done, they are
    /// encoded by tables.
    ///
    /// # Errors
    /// No code can be made for this machine.
    pub fn compile(schema: &Schema, message: MessageId) -> Result<EncoderCode, Error> {
        let functions = Functions::new(schema);
        functions.compile(message)?;
        Ok(EncoderCode { message, functions: Arc::new(functions) })
    }

    /// How many types have code by now.
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
#[derive(Debug)]
pub struct NativeEncoder {
    check_required: bool,
    context: Context,
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
            code,
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
        let of = context.code.message;
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
        let function = context.code.functions.function(of);
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

fn buffer_layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, 1).expect("a buffer fits the address space")
}

fn free(start: *mut u8, bytes: usize) {
    if bytes > 0 {
        // SAFETY: a buffer that has bytes was allocated with this layout.
        unsafe { dealloc(start, buffer_layout(bytes)) }
    }
}

/// A larger buffer with room for `need` bytes before `p`; gives the new `p`, 0 if the message is
/// too large.
extern "C" fn grow(context: &mut Context, p: *mut u8, need: u64) -> *mut u8 {
    let (old, used) = (context.end.addr() - context.limit.addr(), context.end.addr() - p.addr());
    if used > BYTES_MAX {
        context.error = Some(EncodeError::TooLarge);
        return std::ptr::null_mut();
    }
    let bytes = used.saturating_add(need as usize).max(2 * old).max(FIRST_BYTES);
    let Some(bytes) = isize::try_from(bytes).ok().map(|bytes| bytes as usize) else {
        context.error = Some(EncodeError::TooLarge);
        return std::ptr::null_mut();
    };
    let layout = buffer_layout(bytes);
    // SAFETY: the layout is not of size zero.
    let start = unsafe { alloc(layout) };
    if start.is_null() {
        handle_alloc_error(layout);
    }
    let new_p = start.wrapping_add(bytes - used);
    // SAFETY: the new buffer is larger than what is used of the old one, and another.
    unsafe { p.copy_to_nonoverlapping(new_p, used) };
    free(context.limit, old);
    (context.limit, context.end) = (start, start.wrapping_add(bytes));
    new_p
}

/// Bytes before `p`, wherever they come from.
fn put(context: &mut Context, p: *mut u8, bytes: &[u8]) -> *mut u8 {
    let mut p = p;
    if p.addr() - context.limit.addr() < bytes.len() {
        p = grow(context, p, bytes.len() as u64);
        if p.is_null() {
            return p;
        }
    }
    let p = p.wrapping_sub(bytes.len());
    // SAFETY: there is room for them before `p`, and they are not in the buffer.
    unsafe { p.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    p
}

/// The unknown fields of a record.
extern "C" fn unknown(context: &mut Context, record: Record, p: *mut u8) -> *mut u8 {
    let mut p = p;
    for view in record.unknown().iter().rev() {
        // SAFETY: views live as long as the message.
        p = put(context, p, unsafe { view.bytes() });
        if p.is_null() {
            return p;
        }
    }
    p
}

/// A whole record, by the table encoder.
extern "C" fn whole(
    context: &mut Context,
    record: Record,
    p: *mut u8,
    message: u64,
    depth_left: u64,
) -> *mut u8 {
    let schema = context.code.schema();
    let order = if context.by_key == 1 { MapOrder::ByKey } else { MapOrder::Stored };
    let message = MessageId(message as u32);
    let depth = (DEPTH_MAX + 1).saturating_sub(depth_left as usize);
    let whole = Whole { schema, order, message, record, depth };
    let mut buffer = std::mem::take(&mut context.table);
    let p = match buffer.write(|back, at| whole.write(back, at)) {
        Ok(bytes) => put(context, p, bytes),
        Err(error) => {
            context.error = Some(error);
            std::ptr::null_mut()
        }
    };
    context.table = buffer;
    p
}

/// The entries of a map by key; `key` is the index of the field.
extern "C" fn sorted(
    context: &mut Context,
    entries: *const Record,
    len: u64,
    key: u64,
) -> *const Record {
    // SAFETY: the code reads both from one list of records.
    let entries = unsafe { std::slice::from_raw_parts(entries, len as usize) };
    let key = context.code.schema().layouts().field(crate::FieldId(key as u32));
    let sorted = crate::message::read::sorted_entries(entries, key);
    let start = sorted.as_ptr();
    context.sorted.push(sorted);
    start
}

/// A packed list of varints before `p`, of a kind by its place in [`Varints::ALL`].
extern "C" fn packed(
    context: &mut Context,
    p: *mut u8,
    cells: *const u8,
    count: u64,
    kind: u64,
) -> *mut u8 {
    let Some(kind) = Varints::ALL.get(kind as usize) else { return std::ptr::null_mut() };
    let room = |p: *mut u8, need: usize| match p.addr() - context.limit.addr() < need {
        true => grow(context, p, need as u64),
        false => p,
    };
    // SAFETY: the code reads both from a list of such numbers; a buffer that grows has the room.
    unsafe { kind.write(cells, count as usize, p, room) }
}

/// A varint of any length before `p`, where there is room.
extern "C" fn varint(p: *mut u8, value: u64) -> *mut u8 {
    let start = p.wrapping_sub(crate::varint::len(value));
    let (mut at, mut value) = (start, value);
    while value >= 0x80 {
        // SAFETY: within the bytes that the varint takes.
        unsafe { at.write(value as u8 | 0x80) };
        at = at.wrapping_add(1);
        value >>= 7;
    }
    // SAFETY: the last of them.
    unsafe { at.write(value as u8) };
    start
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
