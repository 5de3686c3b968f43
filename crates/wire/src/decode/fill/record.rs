//! The record that is filled, in a storage and in the frames of the decoder.

use std::ptr::NonNull;

use super::super::state::DecodeState;
use super::super::tables::Tables;
use crate::message::record::Record;
use crate::message::storage::{Outside, Storage};

/// The record at an address in a frame.
#[inline]
pub(in crate::decode) fn record_at(address: usize) -> Record {
    let address = std::ptr::with_exposed_provenance_mut(address);
    let address = NonNull::new(address).expect("records are somewhere");
    // SAFETY: a record was made there for the message of the frame's node.
    unsafe { Record::from_address(address) }
}

/// Writes the records of a storage into the frames; returns the innermost one. `None` where the
/// storage is not in a message of these tables: its records have other types.
pub(in crate::decode) fn enter(
    state: &mut DecodeState,
    tables: &Tables,
    storage: &mut dyn Storage,
) -> Option<Record> {
    if !storage.is_plain() {
        return None;
    }
    for depth in 0..state.frames.len() {
        let frame = &mut state.frames.as_mut_slice()[depth];
        let outer = tables.node(tables.entry(frame.entry).owner).message;
        match storage.outside(depth) {
            Some((record, message)) if message == outer => {
                frame.record = record.address().expose_provenance();
            }
            _ => return None,
        }
    }
    let (record, message) = storage.record();
    (message == tables.node(state.node).message).then_some(record)
}

/// Makes the storage continue in `record`, inside those of the frames.
pub(in crate::decode) fn leave(
    state: &DecodeState,
    tables: &Tables,
    storage: &mut dyn Storage,
    record: Record,
) {
    let mut outside = state.frames.as_slice().iter().map(|frame| {
        let entry = tables.entry(frame.entry);
        let message = tables.node(entry.owner).message;
        Outside { record: record_at(frame.record), message, field: entry.field }
    });
    storage.go_on(record, tables.node(state.node).message, &mut outside);
}
