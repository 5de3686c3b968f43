//! What a native decoder needs of the builder whose message it fills by itself.

use super::arena::Arena;
use super::layout::Maps;
use super::record::Record;
use crate::flow::Flow;
use crate::schema::{FieldId, MessageId, Schema};

/// A message around the one that is being filled: its record, its type, and the field inside it.
#[derive(Clone, Copy, Debug)]
pub struct Outside {
    pub(crate) record: Record,
    pub(crate) message: MessageId,
    pub(crate) field: FieldId,
}

pub(super) mod sealed {
    /// Code stores where these say: builders only.
    pub trait Sealed {}
}

/// See the module.
pub trait Storage: sealed::Sealed {
    /// The schema of its records.
    fn schema(&self) -> &Schema;

    /// What maps are in its records.
    fn maps(&self) -> Maps;

    /// Whether strings are copied.
    fn copies(&self) -> bool;

    /// False while something is open that only events can go on with.
    fn is_plain(&self) -> bool;

    /// The memory of its records.
    fn arena(&mut self) -> *mut Arena;

    /// The record being filled, and its type.
    fn record(&self) -> (Record, MessageId);

    /// The record that `depth` others are around, and its type.
    fn outside(&self, depth: usize) -> Option<(Record, MessageId)>;

    /// Goes on in a record of that type, which those of `outside` are around, outermost first.
    fn go_on(
        &mut self,
        record: Record,
        message: MessageId,
        outside: &mut dyn Iterator<Item = Outside>,
    );

    /// The end of an entry of a map in the record `outer`.
    ///
    /// # Errors
    /// There is no memory.
    fn end_of_entry(&mut self, field: FieldId, entry: Record, outer: Record) -> Flow;

    /// Appends the numbers of a packed list to the field of the record being filled, as many as
    /// are right and complete; gives how many bytes these were. What is left is for single events.
    fn append_packed(&mut self, field: FieldId, bytes: &[u8]) -> usize;

    /// Notes that there was no memory.
    fn full(&mut self);
}
