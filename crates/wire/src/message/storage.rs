//! The part of a builder that a native decoder uses to fill the message directly.

use super::arena::Arena;
use super::layout::Maps;
use super::record::Record;
use crate::schema::{FieldId, MessageId, Schema};
use crate::stop::SinkResult;

/// A message that encloses the one being filled: its record, its type, and the field that holds the
/// inner one.
#[derive(Clone, Copy, Debug)]
pub struct Outside {
    pub(crate) record: Record,
    pub(crate) message: MessageId,
    pub(crate) field: FieldId,
}

pub(super) mod sealed {
    /// Generated code stores through these addresses, so only builders implement it.
    pub trait Sealed {}
}

/// The builder, as a native decoder uses it.
pub trait Storage: sealed::Sealed {
    /// The schema of its records.
    fn schema(&self) -> &Schema;

    /// The representation of maps in its records.
    fn maps(&self) -> Maps;

    /// Whether strings are copied.
    fn copies(&self) -> bool;

    /// False while something is open that only events can continue.
    fn is_plain(&self) -> bool;

    /// The memory of its records.
    fn arena(&mut self) -> *mut Arena;

    /// The record being filled, and its type.
    fn record(&self) -> (Record, MessageId);

    /// The record that encloses the current one at `depth`, and its type.
    fn outside(&self, depth: usize) -> Option<(Record, MessageId)>;

    /// Continues in a record of that type, enclosed by those of `outside`, outermost first.
    fn go_on(
        &mut self,
        record: Record,
        message: MessageId,
        outside: &mut dyn Iterator<Item = Outside>,
    );

    /// Ends an entry of a map in the record `outer`.
    ///
    /// # Errors
    /// There is no memory.
    fn end_of_entry(&mut self, field: FieldId, entry: Record, outer: Record) -> SinkResult;

    /// Appends the numbers of a packed list to the field of the record being filled, up to the
    /// first malformed or incomplete one; returns the number of bytes consumed. The rest goes
    /// through single events.
    fn append_packed(&mut self, field: FieldId, bytes: &[u8]) -> usize;

    /// Records that memory ran out.
    fn full(&mut self);
}
