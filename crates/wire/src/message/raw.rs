//! Messages by the addresses of their records, for callers that cannot carry lifetimes.
//!
//! A record stays where it is until its tree is cleared, filled anew or dropped. Who keeps a
//! [`MessageAddress`] sees to it that none of these happened when it is used again.

use std::ptr::NonNull;

use super::Message;
use super::record::Record;
use super::value::MessageRef;
use super::write::MessageMut;
use crate::schema::MessageId;

/// Where in a tree a message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageAddress {
    /// The address of its record; none of a message that is not there, and so is empty.
    pub record: Option<NonNull<u8>>,
    /// Its type.
    pub message: MessageId,
}

impl MessageRef<'_> {
    /// Where it is.
    pub fn place(&self) -> MessageAddress {
        let record = self.record.and_then(|record| NonNull::new(record.address()));
        MessageAddress { record, message: self.message_type() }
    }
}

impl MessageMut<'_> {
    /// Where it is.
    pub fn place(&self) -> MessageAddress {
        self.as_ref().place()
    }
}

impl Message<'_> {
    /// The message at a place, to be read.
    ///
    /// # Safety
    /// The place is of a message in this tree, which was neither cleared nor filled anew since.
    pub unsafe fn at(&self, place: MessageAddress) -> MessageRef<'_> {
        // SAFETY: the caller guarantees that the place is of a message in this tree as it is now.
        let record = place.record.map(|record| unsafe { Record::from_address(record) });
        MessageRef::new(&self.schema, place.message, record)
    }

    /// The message at a place, to be changed; `None` if it is not there.
    ///
    /// # Safety
    /// As of [`Message::at`].
    pub unsafe fn at_mut(&mut self, place: MessageAddress) -> Option<MessageMut<'_>> {
        // SAFETY: the caller guarantees that the place is of a message in this tree as it is now.
        let record = unsafe { Record::from_address(place.record?) };
        Some(MessageMut::new(&self.schema, &mut self.arena, place.message, record))
    }
}
