//! Messages by the addresses of their records, for callers that cannot carry lifetimes.
//!
//! A record keeps its address until its tree is cleared, refilled or dropped. The holder of a
//! [`MessageAddress`] ensures that none of these happened before the next use.

use std::ptr::NonNull;

use super::Message;
use super::record::Record;
use super::value::MessageRef;
use super::write::MessageMut;
use crate::schema::MessageId;

/// The address of a message within a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageAddress {
    /// The address of its record; `None` for an absent message, which reads as empty.
    pub record: Option<NonNull<u8>>,
    /// Its type.
    pub message: MessageId,
}

impl MessageRef<'_> {
    /// Its address.
    pub fn place(&self) -> MessageAddress {
        let record = self.record.and_then(|record| NonNull::new(record.address()));
        MessageAddress { record, message: self.message_type() }
    }
}

impl MessageMut<'_> {
    /// Its address.
    pub fn place(&self) -> MessageAddress {
        self.as_ref().place()
    }
}

impl Message<'_> {
    /// The message at an address, for reading.
    ///
    /// # Safety
    /// The address is that of a message of this tree, which has not been cleared or refilled since.
    pub unsafe fn at(&self, place: MessageAddress) -> MessageRef<'_> {
        // SAFETY: the caller guarantees that the address is that of a message of this tree.
        let record = place.record.map(|record| unsafe { Record::from_address(record) });
        MessageRef::new(&self.schema, place.message, record)
    }

    /// The message at an address, for writing; `None` if it is absent.
    ///
    /// # Safety
    /// As of [`Message::at`].
    pub unsafe fn at_mut(&mut self, place: MessageAddress) -> Option<MessageMut<'_>> {
        // SAFETY: the caller guarantees that the address is that of a message of this tree.
        let record = unsafe { Record::from_address(place.record?) };
        Some(MessageMut::new(&self.schema, &mut self.arena, place.message, record))
    }
}
