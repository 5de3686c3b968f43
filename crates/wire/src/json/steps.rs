//! The steps that print the fields of a record, one for each presence bit.

use super::names::{Cardinality, FieldMap, JsonNames, MessageForm, ValueForm};
use super::options::Names;
use crate::message::layout::{Cell, FieldLayout, Layouts};
use crate::schema::{Definitions, FieldId, Label};

/// The steps of a schema's messages, with keys of one sort of names.
#[derive(Debug)]
pub(crate) struct JsonSteps {
    /// By message.
    messages: Box<[RecordSteps]>,
}

/// The steps of one message.
#[derive(Debug)]
pub(crate) struct RecordSteps {
    /// Its form is an object with a key for each field.
    pub(crate) plain: bool,
    /// By presence bit; of an entry those of key and value.
    pub(crate) steps: Box<[Step]>,
}

/// One field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// The offset of its slot in the record.
    pub(crate) offset: u32,
    /// The place of its key, `"name":`, in the texts.
    pub(crate) key_start: u32,
    pub(crate) key_len: u32,
    pub(crate) field: FieldId,
    pub(crate) kind: ValueForm,
    pub(crate) cell: Cell,
    pub(crate) list: Cardinality,
    /// It is absent if it is zero or empty.
    pub(crate) implicit: bool,
    /// Its bytes are known to be UTF-8.
    pub(crate) utf8: bool,
}

impl JsonSteps {
    pub(crate) fn new(
        schema: &Definitions,
        layouts: &Layouts,
        json: &JsonNames,
        names: Names,
    ) -> JsonSteps {
        let record = |message| {
            let layout = layouts.record(message);
            let step = |&id: &FieldId| step(id, layouts.field(id), &json.fields[id.index()], names);
            let plain = json.messages[message.index()].shape == MessageForm::Plain;
            RecordSteps { plain, steps: layout.fields.iter().map(step).collect() }
        };
        JsonSteps { messages: schema.messages().map(record).collect() }
    }

    /// The steps of a message, by its index.
    #[inline]
    pub(crate) fn of(&self, message: usize) -> &RecordSteps {
        &self.messages[message]
    }
}

fn step(id: FieldId, layout: &FieldLayout, map: &FieldMap, names: Names) -> Step {
    let (start, end) = map.key(names);
    Step {
        offset: layout.offset,
        key_start: start,
        key_len: end - start,
        field: id,
        kind: map.kind,
        cell: layout.cell,
        list: map.list,
        implicit: layout.label == Label::Implicit,
        utf8: layout.utf8,
    }
}
