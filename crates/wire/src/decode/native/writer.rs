//! The writer of a function: its state, and its target for values.
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
    /// The edge of the code's coverage: the end of the message, or the exit.
    pub(super) edge: Block,
}

/// The blocks of an entry.
#[derive(Clone, Copy)]
pub(super) struct EntryBlocks {
    pub(super) one: Block,
    pub(super) packed: Block,
    pub(super) after: Block,
    /// The end of a sub-message of this field.
    pub(super) back: Block,
}

/// The place of the code in a packed list.
#[derive(Clone, Copy)]
pub(super) struct ListExit {
    pub(super) place: u32,
    /// The tag of the list.
    pub(super) list: Value,
    /// The element.
    pub(super) at: Value,
    pub(super) end: Value,
}

/// Writes a function; see `write`.
pub(super) struct Writer<'w, 'm> {
    pub(super) body: &'w mut Body<'m>,
    pub(super) schema: &'w Schema,
    pub(super) tables: &'w Tables,
    pub(super) helpers: &'w Helpers,
    pub(super) target: &'w dyn Target,
    pub(super) context: Value,
    pub(super) pos: Variable,
    pub(super) limit: Variable,
    /// The end of the innermost message with a length.
    pub(super) end: Variable,
    /// The next frame that is free.
    pub(super) top: Variable,
    /// The required fields that the message has had, if any message has some that are checked.
    pub(super) seen: Variable,
    pub(super) checks_required: bool,
    /// The record that is filled, for targets that fill records.
    pub(super) record: Variable,
    /// Its first presence word, which is stored when the record or the code is left.
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

/// The target of values in generated code; see the module.
pub(super) trait Target {
    /// Whether the values of a field are used.
    fn wants(&self, entry: &Entry) -> bool;

    /// Whether unknown fields are used, and so the numbers that a closed enum does not name.
    fn wants_unknown(&self) -> bool;

    /// A number: 64 bits for those of 64 and truth values, 32 for others. The code continues in the
    /// block in which it leaves the writer.
    fn number(&self, writer: &mut Writer<'_, '_>, place: u32, entry: &Entry, value: Value);

    /// A string or bytes in the input.
    fn text(
        &self,
        writer: &mut Writer<'_, '_>,
        place: u32,
        entry: &Entry,
        at: Value,
        length: Value,
    );

    /// A packed list of numbers whose `length` bytes begin at `list.at`, read as a whole: returns
    /// the bytes consumed. The rest is left to the table decoder. `None` if the numbers are to be
    /// read one by one.
    fn list(
        &self,
        writer: &mut Writer<'_, '_>,
        entry: &Entry,
        list: ListExit,
        length: Value,
    ) -> Option<Value>;

    /// A sub-message begins; its frame is not pushed yet. Returns its record, if records are
    /// filled.
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
