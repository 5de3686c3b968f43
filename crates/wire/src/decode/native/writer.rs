//! What writes a function: its state, and where it brings values.
//!
//! The walk over the bytes is the same for all; a [`Target`] writes what happens with a value, and
//! says beforehand which values it uses: for the others nothing is computed.

use tidemill_jit::build::{Block, Value, Variable};
use tidemill_jit::{Body, FuncId};
use tidemill_stdx::hash::Map;

use super::super::nodes::Entry;
use super::super::tables::Tables;
use crate::schema::Schema;

/// Functions that every decoder may call.
pub(super) struct Helpers {
    pub(super) is_utf8: FuncId,
    pub(super) are_varints: FuncId,
    pub(super) group_bytes: FuncId,
}

/// The blocks of a node.
#[derive(Clone, Copy)]
pub(super) struct NodeBlocks {
    pub(super) resume: Block,
    pub(super) dispatch: Block,
    pub(super) ended: Block,
    pub(super) end_group: Block,
    /// What is not for the code, or not there: the end of the message, or the way out.
    pub(super) edge: Block,
}

/// The blocks of an entry.
#[derive(Clone, Copy)]
pub(super) struct EntryBlocks {
    pub(super) one: Block,
    pub(super) packed: Block,
    pub(super) after: Block,
    /// Where a sub-message of this field ends.
    pub(super) back: Block,
}

/// Where the code is in a packed list.
#[derive(Clone, Copy)]
pub(super) struct ListExit {
    pub(super) place: u32,
    /// Where the tag of the list is.
    pub(super) list: Value,
    /// Where the element is.
    pub(super) at: Value,
    pub(super) end: Value,
}

/// Writes a function; how is in `write`.
pub(super) struct Writer<'w, 'm> {
    pub(super) body: &'w mut Body<'m>,
    pub(super) schema: &'w Schema,
    pub(super) tables: &'w Tables,
    pub(super) helpers: &'w Helpers,
    pub(super) target: &'w dyn Target,
    pub(super) context: Value,
    pub(super) pos: Variable,
    pub(super) limit: Variable,
    /// Where the innermost message that has a length ends.
    pub(super) end: Variable,
    /// The next frame that is free.
    pub(super) top: Variable,
    /// The required fields that the message has had, if any message has some that are checked.
    pub(super) seen: Variable,
    pub(super) checks_required: bool,
    /// The record that is filled, for targets that fill records.
    pub(super) record: Variable,
    /// Its first presence word, which comes to memory when the record or the code is left.
    pub(super) bits: Variable,
    /// Of nodes that get code.
    pub(super) blocks_of_node: Map<u32, NodeBlocks>,
    /// Of their entries.
    pub(super) blocks_of_entry: Map<u32, EntryBlocks>,
    /// By node: the entries that lead there, ascending.
    pub(super) parents: Map<u32, Vec<u32>>,
    /// The node that is being written.
    pub(super) node: u32,
    /// The packed list that is being written.
    pub(super) list: Option<ListExit>,
}

/// Where generated code brings values; see the module.
pub(super) trait Target {
    /// Whether the values of a field matter.
    fn wants(&self, entry: &Entry) -> bool;

    /// Whether unknown fields matter, and so the numbers that a closed enum does not name.
    fn wants_unknown(&self) -> bool;

    /// A number: 64 bits for those of 64 and truth values, 32 for others. Goes on in the block that
    /// it leaves the writer in.
    fn number(&self, writer: &mut Writer<'_, '_>, place: u32, entry: &Entry, value: Value);

    /// A string or bytes that lie in the input.
    fn text(
        &self,
        writer: &mut Writer<'_, '_>,
        place: u32,
        entry: &Entry,
        at: Value,
        length: Value,
    );

    /// A packed list of numbers whose `length` bytes begin at `list.at`, read as a whole: gives
    /// how many bytes were read. What is left is for the table decoder. `None` if the numbers are
    /// to be read one by one.
    fn list(
        &self,
        writer: &mut Writer<'_, '_>,
        entry: &Entry,
        list: ListExit,
        length: Value,
    ) -> Option<Value>;

    /// A sub-message begins; its frame is not pushed yet. Gives its record, if records are filled.
    fn start_sub(&self, writer: &mut Writer<'_, '_>, place: u32, entry: &Entry) -> Option<Value>;

    /// A sub-message ends; its frame is still there.
    fn end_sub(&self, writer: &mut Writer<'_, '_>, entry: &Entry);

    /// Whether there is code for a field; the others are left to the table decoder.
    fn takes(&self, _: &Entry) -> bool {
        true
    }

    /// Whether the record at [`Writer::record`] is filled.
    fn fills_records(&self) -> bool {
        false
    }
}
