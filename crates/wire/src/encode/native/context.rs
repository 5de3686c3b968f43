//! The context of an encoder for generated code, and the functions of its schema.

use std::alloc::{Layout, dealloc};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tidemill_jit::Code;

use super::super::back::EncodeBuffer;
use super::super::error::EncodeError;
use crate::message::record::Record;
use crate::schema::{MessageId, Schema};

/// A function of a message: context, record, the last byte written, levels left, the message.
/// Returns the last byte written then, null for an error.
pub(super) type Function = extern "C" fn(&mut Context, Record, *mut u8, u64, u64) -> *mut u8;

/// The address of a [`Function`].
pub(super) type Entry = AtomicPtr<()>;

/// The functions of the messages of a schema; how they are compiled is in `functions`.
pub(super) struct Functions {
    pub(super) schema: Schema,
    pub(super) entries: Box<[Entry]>,
    /// The code that entries point to. Encoders on several threads share it; the lock is taken
    /// where a function is compiled, never where one is called.
    pub(super) codes: Mutex<Vec<Code>>,
}

impl Functions {
    pub(super) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The entries for generated code, valid as long as this lives.
    pub(super) fn entries(&self) -> *const Entry {
        self.entries.as_ptr()
    }

    /// The function of a message: one of the schema, or the call panics.
    #[inline]
    pub(super) fn function(&self, message: MessageId) -> Function {
        // Pairs with the store in `compile`: the code is written before its address is seen.
        let address = self.entries[message.index()].load(Ordering::Acquire);
        // SAFETY: the address of `first`, of `whole_record`, or of code that was compiled with this
        // signature and that `codes` keeps.
        unsafe { std::mem::transmute::<*mut (), Function>(address) }
    }

    /// The number of compiled types.
    pub(super) fn types(&self) -> usize {
        self.codes.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// The context of generated code; an encoder keeps it, as making one would cost as much as some
/// fields.
#[repr(C)]
pub(super) struct Context {
    /// The first byte of the buffer.
    pub(super) limit: *mut u8,
    /// One past its last byte.
    pub(super) end: *mut u8,
    /// 1 if entries of maps are sorted by key.
    pub(super) by_key: u64,
    /// By message, of [`Functions::entries`].
    pub(super) functions: *const Entry,
    /// The type of the messages that are encoded.
    pub(super) message: MessageId,
    pub(super) code: Arc<Functions>,
    pub(super) error: Option<EncodeError>,
    /// Entries by key, until the end.
    pub(super) sorted: Vec<Vec<Record>>,
    /// Kept for the table encoder.
    pub(super) table: EncodeBuffer,
}

impl Drop for Context {
    fn drop(&mut self) {
        free(self.limit, self.end.addr() - self.limit.addr());
    }
}

pub(super) fn buffer_layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, 1).expect("a buffer fits the address space")
}

/// Frees a buffer of `bytes` bytes.
pub(super) fn free(start: *mut u8, bytes: usize) {
    if bytes > 0 {
        // SAFETY: a buffer that has bytes was allocated with this layout.
        unsafe { dealloc(start, buffer_layout(bytes)) }
    }
}
