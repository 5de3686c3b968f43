//! Messages for C: handles of trees, and views of messages in them.

use std::ptr::{NonNull, null_mut};

use tidemill_wire::message::{MessageAddress, MessageMut};
use tidemill_wire::{Message, MessageRef};

use crate::error::Failure;
use crate::guard::{Outcome, given, given_mut};
use crate::ids::{NONE, type_of};

/// The handle of a message: the tree, and its current life number.
#[derive(Debug)]
pub struct CMessage {
    pub(crate) message: Message<'static>,
    pub(crate) life: u32,
}

/// A message in a tree: `tidemill_view`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct View {
    pub(crate) message: *mut CMessage,
    record: *mut u8,
    message_type: u32,
    life: u32,
}

impl View {
    pub(crate) const NONE: View =
        View { message: null_mut(), record: null_mut(), message_type: NONE, life: 0 };

    /// The view of a whole message.
    pub(crate) fn whole(handle: *mut CMessage, message: &CMessage) -> View {
        let view = View { message: handle, life: message.life, ..View::NONE };
        view.moved(message.message.as_ref().place())
    }

    /// The view of another message of the same tree.
    pub(crate) fn moved(self, place: MessageAddress) -> View {
        let record = place.record.map_or(null_mut(), NonNull::as_ptr);
        View { record, message_type: place.message.index() as u32, ..self }
    }

    fn place(self, tree: &CMessage) -> Outcome<MessageAddress> {
        if self.life != tree.life {
            return Err(Failure::misuse("the message was cleared or decoded since the view"));
        }
        let message = type_of(tree.message.schema(), self.message_type)?;
        Ok(MessageAddress { record: NonNull::new(self.record), message })
    }

    /// The message, for reading.
    ///
    /// # Safety
    /// The view is zero, or was given out by this library and its message is not freed; nothing
    /// changes the tree for `'m`.
    pub(crate) unsafe fn read<'m>(self) -> Outcome<MessageRef<'m>> {
        // SAFETY: the caller guarantees that the message is not freed, and not changed for `'m`.
        let tree: &'m CMessage = unsafe { given(self.message, "the view's message")? };
        let place = self.place(tree)?;
        // SAFETY: the life is that of the view, so the tree was not cleared or refilled since.
        Ok(unsafe { tree.message.at(place) })
    }

    /// The message, for writing.
    ///
    /// # Safety
    /// As of [`View::read`]; nothing else uses the tree for `'m`.
    pub(crate) unsafe fn change<'m>(self) -> Outcome<MessageMut<'m>> {
        // SAFETY: the caller guarantees that the message is not freed, nor used elsewhere for `'m`.
        let tree: &'m mut CMessage = unsafe { given_mut(self.message, "the view's message")? };
        let place = self.place(tree)?;
        // SAFETY: the life is that of the view, so the tree was not cleared or refilled since.
        let message = unsafe { tree.message.at_mut(place) };
        message.ok_or_else(|| {
            Failure::misuse("the message is not there: tidemill_sub makes it and gives its view")
        })
    }
}
