//! Messages that generated code reads from their first byte to their last.
//!
//! Most messages are small and valid: for them, the state that a walk keeps to resume costs more
//! than the fields. Here no state is kept. If the code reaches the end of the input with no message
//! open, the message is complete; if it exits anywhere else, the message is decoded from its
//! beginning by a walk, which finds the error or reads what the code does not cover.

use std::ffi::c_void;
use std::mem::{ManuallyDrop, MaybeUninit};

use super::super::Decoder;
use super::super::load::SLACK;
use super::super::state::{DecodeState, Frame};
use super::context::{Context, Exit};
use super::{Native, PAGE_BYTES, Strings};
use crate::message::Arena;
use crate::message::layout::Maps;
use crate::message::record::Record;
use crate::message::storage::Storage;
use crate::schema::{MessageId, Schema};

/// Messages that nest deeper are left to a walk.
const FRAMES: usize = 16;

impl Decoder<'_> {
    /// Fills the record that `storage` is at with a whole message; false if it is to be decoded
    /// anew, into another record.
    #[inline]
    pub(crate) fn fill_whole(
        &self,
        message: MessageId,
        input: &[u8],
        storage: &mut dyn Storage,
    ) -> bool {
        let Some(native) = self.native.filter(|native| native.serves_storage(storage)) else {
            return false;
        };
        let (record, of) = storage.record();
        let arena = storage.arena();
        let mut storage = storage;
        let host = (&raw mut storage).cast();
        // SAFETY: the storage is of the kind that the code serves, and the record of this type.
        of == message && unsafe { self.read_whole(native, message, input, arena, record, host) }
    }

    /// The same, for a record of a batch of this schema.
    #[inline]
    pub(crate) fn fill_listed(
        &self,
        schema: &Schema,
        message: MessageId,
        input: &[u8],
        arena: &mut Arena,
        record: Record,
    ) -> bool {
        let serves =
            |native: &&Native| native.serves_records(schema, Maps::Listed, Strings::Copied);
        let Some(native) = self.native.filter(serves) else { return false };
        let no_storage = std::ptr::null_mut();
        // SAFETY: the caller's record is in this arena, of the layout that batches have.
        unsafe { self.read_whole(native, message, input, arena, record, no_storage) }
    }

    /// Runs the code.
    ///
    /// # Safety
    /// The code serves records as `record` is one, of type `message`, in `arena`. The host is the
    /// address of its storage, or null where neither memory has a limit nor maps an index.
    #[inline]
    unsafe fn read_whole(
        &self,
        native: &Native,
        message: MessageId,
        input: &[u8],
        arena: *mut Arena,
        record: Record,
        host: *mut c_void,
    ) -> bool {
        let Some((unit, root)) = native.whole(message) else { return false };
        let over = (input.as_ptr().addr() + input.len()) % PAGE_BYTES;
        // The code reads words that may end after the input, but not on another page.
        let on_page = over > 0 && over + SLACK <= PAGE_BYTES;
        // It reads a tag before it checks the end, so empty input is excluded.
        if !(on_page && !input.is_empty() && input.len() <= self.bytes_max) {
            return false;
        }
        let mut frames = [MaybeUninit::<Frame>::uninit(); FRAMES];
        let first: *mut Frame = frames.as_mut_ptr().cast();
        // Storages do not panic, so there is no panic in it to be dropped.
        let mut context = ManuallyDrop::new(Context::new(input.as_ptr(), input.len()));
        context.pos = context.address(0);
        context.end = context.address(DecodeState::root_end(self.bytes_max));
        context.top = first;
        context.frames_end = first.wrapping_add(FRAMES.min(self.depth_max));
        context.arena = arena;
        context.record = record.address().expose_provenance();
        context.host = host;
        // SAFETY: the code was written for these tables and for records of this storage;
        // `Context` says what is where; the words it reads end on the last page of the input.
        let code = unsafe { (unit.entry)(&mut *context, root) };
        code == Exit::AtField as u32
            && context.place(context.pos) == input.len()
            && context.top == first
            && context.node == u64::from(root)
    }
}
