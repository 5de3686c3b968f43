//! Names of attributes: fields of a message type, and methods.
//!
//! Python's compiler interns the names of attributes and keywords, so the address of the string
//! identifies the name. Names are looked up in a table by address; strings made at run time are
//! searched by text.

use pyo3::prelude::*;
use pyo3::types::PyString;
use tidemill_wire::message::FieldName;
use tidemill_wire::{FieldId, MessageId};

use crate::shared::Shared;
use crate::slot::Slot;

/// The methods of messages. They take precedence over fields: a field of that name is read as
/// `message["name"]`.
pub(crate) const METHODS: [&str; 31] = [
    "has",
    "clear",
    "which",
    "type",
    "to_dict",
    "to_json",
    "to_text",
    "encode",
    "merge",
    "ByteSize",
    "Clear",
    "ClearExtension",
    "ClearField",
    "CopyFrom",
    "DESCRIPTOR",
    "DiscardUnknownFields",
    "Extensions",
    "FindInitializationErrors",
    "FromString",
    "HasExtension",
    "HasField",
    "IsInitialized",
    "ListFields",
    "MergeFrom",
    "MergeFromString",
    "ParseFromString",
    "SerializePartialToString",
    "SerializeToString",
    "SetInParent",
    "UnknownFields",
    "WhichOneof",
];

/// The member that a name denotes.
#[derive(Clone, Copy)]
pub(crate) enum Member {
    Field(Slot),
    Method,
}

/// The table of attribute names of a message type.
pub(crate) struct Names {
    /// Members by address, with open addressing; its length is a power of two, at most half of it
    /// used.
    slots: Box<[Option<(usize, Member)>]>,
    /// Keeps the names of methods alive, and so their addresses.
    _methods: Vec<Py<PyString>>,
}

impl Names {
    pub(crate) fn new(py: Python<'_>, shared: &Shared, message: MessageId) -> Names {
        let fields = shared.schema.message(message).fields();
        let methods: Vec<_> =
            METHODS.iter().map(|name| PyString::intern(py, name).unbind()).collect();
        let size = (2 * (fields.len() + methods.len())).next_power_of_two();
        let mut names = Names { slots: vec![None; size].into(), _methods: Vec::new() };
        for name in &methods {
            names.put(name.as_ptr().addr(), Member::Method);
        }
        for &id in fields {
            let key = shared.key(py, id).as_ptr().addr();
            let dunder = shared.schema.field(id).name().starts_with("__");
            if names.by_address(key).is_none() && !dunder {
                names.put(key, Member::Field(Slot::of(&shared.schema, id)));
            }
        }
        names._methods = methods;
        names
    }

    fn put(&mut self, address: usize, member: Member) {
        let mask = self.slots.len() - 1;
        let mut at = place(address) & mask;
        while self.slots[at].is_some() {
            at = (at + 1) & mask;
        }
        self.slots[at] = Some((address, member));
    }

    #[inline]
    pub(crate) fn by_address(&self, address: usize) -> Option<&Member> {
        let mask = self.slots.len() - 1;
        let mut at = place(address) & mask;
        while let Some(Some((key, member))) = self.slots.get(at) {
            if *key == address {
                return Some(member);
            }
            at = (at + 1) & mask;
        }
        None
    }

    /// The member of that name; `None` if it is neither a field nor a method.
    #[inline]
    pub(crate) fn attribute(
        &self,
        shared: &Shared,
        message: MessageId,
        name: &Bound<'_, PyString>,
    ) -> PyResult<Option<Member>> {
        if let Some(member) = self.by_address(name.as_ptr().addr()) {
            return Ok(Some(*member));
        }
        let text = name.to_str()?;
        if text.starts_with("__") || METHODS.contains(&text) {
            return Ok(None);
        }
        let id = shared.schema.field_by_name(message, text);
        Ok(id.map(|id| Member::Field(Slot::of(&shared.schema, id))))
    }

    /// The field of that name, extensions as `[full.name]`.
    #[inline]
    pub(crate) fn field(
        &self,
        shared: &Shared,
        message: MessageId,
        name: &Bound<'_, PyString>,
    ) -> PyResult<Option<FieldId>> {
        if let Some(Member::Field(slot)) = self.by_address(name.as_ptr().addr()) {
            return Ok(Some(slot.id));
        }
        Ok(FieldName::find(name.to_str()?, &shared.schema, message))
    }
}

/// Objects are aligned to 16 bytes.
#[inline]
fn place(address: usize) -> usize {
    (address >> 4) ^ (address >> 12)
}
