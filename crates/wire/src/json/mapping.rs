//! The JSON mapping of a schema, for printers and readers. It refers to the names that are kept
//! with the schema, so making and copying it is free.

use super::names::{EnumMap, FieldMap, JsonNames, MessageMap, NONE, bare, hash};
use super::options::Names;
use super::steps::JsonSteps;
use crate::schema::{EnumId, FieldId, MessageId, Schema};

/// The JSON mapping of a schema: names of fields and values, and messages with special forms.
#[derive(Clone, Copy, Debug)]
pub struct Mapping<'s> {
    pub(crate) schema: &'s Schema,
    fields: &'s [FieldMap],
    messages: &'s [MessageMap],
    enums: &'s [EnumMap],
    texts: &'s str,
    table: &'s [u32],
}

impl<'s> Mapping<'s> {
    /// The mapping of a schema.
    pub fn new(schema: &'s Schema) -> Mapping<'s> {
        let JsonNames { fields, messages, enums, texts, table } = schema.json_names();
        Mapping { schema, fields, messages, enums, texts, table }
    }

    /// The schema.
    pub fn schema(&self) -> &'s Schema {
        self.schema
    }

    #[inline]
    pub(crate) fn field(&self, id: FieldId) -> &FieldMap {
        &self.fields[id.index()]
    }

    #[inline]
    pub(crate) fn message(&self, id: MessageId) -> &MessageMap {
        &self.messages[id.index()]
    }

    /// `,"name":` by the options, with the bytes after it in memory, and its length; `skip` is 1
    /// for no comma.
    #[inline]
    pub(crate) fn key(&self, field: &FieldMap, names: Names, skip: usize) -> (&'s [u8], usize) {
        let (start, end) = field.key(names);
        let start = start as usize - 1 + skip;
        (&self.texts.as_bytes()[start..], end as usize - start)
    }

    /// The steps that print records, and the texts of their keys: [`WIDE`](super::scan::WIDE) bytes
    /// follow the last.
    pub(crate) fn steps(&self, names: Names) -> (&'s JsonSteps, &'s [u8]) {
        (self.schema.json_steps(names), self.texts.as_bytes())
    }

    /// `"name":` with the JSON name.
    #[inline]
    pub(crate) fn json_key(&self, field: &FieldMap) -> &str {
        &self.texts[field.json_key.0 as usize..field.json_key.1 as usize]
    }

    /// `"name":` with the name of the source.
    #[inline]
    pub(crate) fn proto_key(&self, field: &FieldMap) -> &str {
        &self.texts[field.proto_key.0 as usize..field.proto_key.1 as usize]
    }

    /// The quoted name of an enum's number.
    #[inline]
    pub(crate) fn enum_name(&self, id: EnumId, number: i32) -> Option<EnumName<'_>> {
        if let Some(&name) = self.enums[id.index()].dense.get(number as u32 as usize) {
            return name.map(|(a, b)| EnumName::Quoted(&self.texts[a as usize..b as usize]));
        }
        let value = self.schema.enum_def(id).value_by_number(number)?;
        Some(EnumName::Bare(value.name()))
    }

    /// The field of this name: that of JSON, that of the source, or one in brackets.
    pub(crate) fn find(&self, message: MessageId, name: &str) -> Option<FieldId> {
        let mask = self.table.len() - 1;
        let mut at = hash(message, name) as usize & mask;
        loop {
            let found = self.table[at];
            if found == NONE {
                return None;
            }
            let field = &self.fields[found as usize];
            if field.message == message
                && (bare(self.json_key(field)) == name || bare(self.proto_key(field)) == name)
            {
                return Some(FieldId(found));
            }
            at = (at + 1) & mask;
        }
    }
}

/// The name of an enum's value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EnumName<'m> {
    Quoted(&'m str),
    Bare(&'m str),
}
