//! Messages that generated code reads from their first byte to their last.
//!
//! Most messages are small and right: for them, what a walk keeps so that it can go on elsewhere
//! costs more than the fields. Here nothing is kept. If the code comes to the end of the input,
//! with no message open, all is said; if it leaves anywhere else, nothing is, and the message is
//! decoded from its beginning by a walk, which finds what is wrong or does what the code does not.

use std::mem::{ManuallyDrop, MaybeUninit};

use super::super::Decoder;
use super::super::load::SLACK;
use super::super::state::{Frame, State};
use super::PAGE_BYTES;
use super::context::{Context, Exit};
use crate::message::storage::Storage;
use crate::schema::MessageId;

/// Messages that nest deeper are for a walk.
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
        let Some(native) = self.native else { return false };
        let Some(root) = self.tables.root(message) else { return false };
        let behind = (input.as_ptr().addr() + input.len()) % PAGE_BYTES;
        // The code reads words that may end behind the input, but not on another page.
        let on_page = behind > 0 && behind + SLACK <= PAGE_BYTES;
        let (record, of) = storage.record();
        // It reads a tag before it asks for the end: where nothing is, nothing may be read.
        if !(on_page
            && !input.is_empty()
            && of == message
            && native.serves_storage(storage)
            && native.compiled[root as usize]
            && self.tables.node(root).required == 0
            && input.len() <= self.bytes_max)
        {
            return false;
        }
        let mut frames = [MaybeUninit::<Frame>::uninit(); FRAMES];
        let first: *mut Frame = frames.as_mut_ptr().cast();
        // Storages do not panic, so there is no panic in it to be dropped.
        let mut context = ManuallyDrop::new(Context::new(input.as_ptr(), input.len()));
        context.pos = context.address(0);
        context.end = context.address(State::root_end(self.bytes_max));
        context.top = first;
        context.frames_end = first.wrapping_add(FRAMES.min(self.depth_max));
        context.arena = storage.arena();
        context.record = record.address().expose_provenance();
        let mut storage = storage;
        context.host = (&raw mut storage).cast();
        // SAFETY: the code was written for these tables and for records of this storage;
        // `Context` says what is where; the words it reads end on the last page of the input.
        let code = unsafe { (native.entry)(&mut *context, root) };
        code == Exit::AtField as u32
            && context.place(context.pos) == input.len()
            && context.top == first
            && context.node == u64::from(root)
    }
}
