//! Reading of messages: following a reference cannot fail, as an absent message, list or map reads
//! as empty.

use std::fmt;
use std::marker::PhantomData;

use super::access::{AccessError, FieldName, field, wrong_kind};
use super::layout::{FieldLayout, Shape, ValueType, cell_at};
use super::map::{Map, map_of, sorted_entries};
use super::present::Present;
use super::record::Record;
use super::slots::{List, Slot, View};
use super::value::{ListRef, MapRef, MessageRef, Value};
use crate::schema::{DefaultValue, FieldId, FieldType, MessageId, OneofId, Schema};

impl<'m> MessageRef<'m> {
    /// A reference to a record that lives, and does not change, for `'m`.
    #[inline]
    pub(crate) fn new(
        schema: &'m Schema,
        message: MessageId,
        record: Option<Record>,
    ) -> MessageRef<'m> {
        let layout = schema.layouts().record(message);
        MessageRef { schema, layout, record, tree: PhantomData }
    }

    /// The schema.
    pub fn schema(&self) -> &'m Schema {
        self.schema
    }

    /// Its type.
    pub fn message_type(&self) -> MessageId {
        self.layout.message
    }

    /// The value of a field; if the field is absent its default: zero, the default of the source,
    /// an empty message, list or map.
    ///
    /// # Errors
    /// [`AccessError::NoField`].
    pub fn get(&self, name: impl FieldName) -> Result<Value<'m>, AccessError> {
        let (id, layout) = field(self.schema, self.layout.message, name)?;
        let slot = self.record.and_then(|record| record.slot(layout));
        Ok(match slot {
            Some(slot) => self.stored(id, layout, slot),
            None => self.absent(id, layout),
        })
    }

    /// True if the field is present. A list or map is if it is not empty, a field without presence
    /// if it is not zero or empty.
    ///
    /// # Errors
    /// [`AccessError::NoField`].
    pub fn has(&self, name: impl FieldName) -> Result<bool, AccessError> {
        let (_, layout) = field(self.schema, self.layout.message, name)?;
        let slot = self.record.and_then(|record| record.slot(layout));
        Ok(slot.is_some_and(|slot| super::present::counts(layout, slot)))
    }

    /// The member of a oneof that is present.
    ///
    /// # Errors
    /// [`AccessError::NoField`] if the oneof is of another message.
    pub fn which(&self, oneof: OneofId) -> Result<Option<FieldId>, AccessError> {
        let def = self.schema.message(self.layout.message);
        if !def.oneofs().contains(&oneof) {
            let (message, field) = (def.full_name().to_string(), "of such a oneof".to_owned());
            return Err(AccessError::NoField { message, field });
        }
        let Some(record) = self.record else { return Ok(None) };
        let members = self.schema.oneof(oneof).fields();
        let layouts = self.schema.layouts();
        Ok(members.iter().copied().find(|&id| record.bit(layouts.field(id))))
    }

    /// The present fields, ascending by number, extensions included.
    pub fn fields(&self) -> impl Iterator<Item = (FieldId, Value<'m>)> + use<'m> {
        let this = *self;
        Present::of(self.schema.layouts(), self.layout, self.record)
            .map(move |(id, layout, slot)| (id, this.stored(id, layout, slot)))
    }

    /// The unknown fields, each with its tag, in the order of the input.
    pub fn unknown(&self) -> impl ExactSizeIterator<Item = &'m [u8]> + use<'m> {
        let views = self.record.map_or(&[][..], |record| record.unknown());
        // SAFETY: views live as long as the message.
        views.iter().map(|view| unsafe { view.bytes() })
    }

    /// True if no field is present, known or unknown.
    pub fn is_empty(&self) -> bool {
        self.unknown().len() == 0
            && Present::of(self.schema.layouts(), self.layout, self.record).next().is_none()
    }

    fn stored(&self, id: FieldId, layout: &'m FieldLayout, slot: Slot) -> Value<'m> {
        match layout.shape {
            Shape::Single => value_at(self.schema, layout, slot),
            // SAFETY: the stored slot of a repeated field holds a list.
            Shape::List => Value::List(self.list(id, layout, unsafe { slot.cast().read() })),
            // SAFETY: this is the stored slot of a map field.
            Shape::Map => Value::Map(self.map(id, layout, Some(unsafe { map_of(slot) }))),
        }
    }

    fn absent(&self, id: FieldId, layout: &'m FieldLayout) -> Value<'m> {
        match layout.shape {
            Shape::Single => default_of(self.schema, id, layout),
            Shape::List => Value::List(self.list(id, layout, List::EMPTY)),
            Shape::Map => Value::Map(self.map(id, layout, None)),
        }
    }

    fn list(&self, field: FieldId, layout: &'m FieldLayout, list: List) -> ListRef<'m> {
        ListRef { schema: self.schema, field, layout, list, tree: PhantomData }
    }

    fn map(&self, field: FieldId, layout: &'m FieldLayout, map: Option<&'m Map>) -> MapRef<'m> {
        MapRef { schema: self.schema, field, layout, map }
    }
}

impl fmt::Debug for MessageRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_map();
        for (id, value) in self.fields() {
            all.entry(&format_args!("{}", self.schema.field(id).name()), &value);
        }
        for raw in self.unknown() {
            all.entry(&"unknown", &raw);
        }
        all.finish()
    }
}

/// The value in a cell: the slot of a single field, or a place in a list.
#[inline]
pub(super) fn value_at<'m>(schema: &'m Schema, layout: &FieldLayout, at: Slot) -> Value<'m> {
    // SAFETY: cells hold values of the type of their layout, and live for `'m`.
    unsafe {
        match layout.kind {
            ValueType::F64 => Value::F64(at.cast().read()),
            ValueType::F32 => Value::F32(at.cast().read()),
            ValueType::I64 => Value::I64(at.cast().read()),
            ValueType::U64 => Value::U64(at.cast().read()),
            ValueType::I32 => Value::I32(at.cast().read()),
            ValueType::U32 => Value::U32(at.cast().read()),
            ValueType::Enum => Value::Enum(at.cast().read()),
            ValueType::Bool => Value::Bool(at.read() != 0),
            ValueType::Bytes => Value::Bytes(at.cast::<View>().read().bytes()),
            ValueType::String => text(layout, at.cast::<View>().read().bytes()),
            ValueType::Message => {
                let FieldLayout { record: Some(of), .. } = layout else {
                    unreachable!("fields that hold messages have their type");
                };
                Value::Message(MessageRef::new(schema, *of, Some(at.cast::<Record>().read())))
            }
        }
    }
}

/// A string; bytes if they are not UTF-8, in a file that does not require it.
#[inline]
fn text<'m>(layout: &FieldLayout, bytes: &'m [u8]) -> Value<'m> {
    if layout.utf8 {
        // SAFETY: strings stored into such a field have been checked.
        return Value::String(unsafe { std::str::from_utf8_unchecked(bytes) });
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Value::String(text),
        Err(_) => Value::Bytes(bytes),
    }
}

/// The value of an absent single field.
fn default_of<'m>(schema: &'m Schema, id: FieldId, layout: &FieldLayout) -> Value<'m> {
    match schema.field(id).default_value() {
        Some(DefaultValue::I64(value)) => return Value::I64(*value),
        Some(DefaultValue::U64(value)) => return Value::U64(*value),
        Some(DefaultValue::I32(value)) => return Value::I32(*value),
        Some(DefaultValue::U32(value)) => return Value::U32(*value),
        Some(DefaultValue::F64(value)) => return Value::F64(*value),
        Some(DefaultValue::F32(value)) => return Value::F32(*value),
        Some(DefaultValue::Bool(value)) => return Value::Bool(*value),
        Some(DefaultValue::String(value)) => return Value::String(value),
        Some(DefaultValue::Bytes(value)) => return Value::Bytes(value),
        Some(DefaultValue::Enum(value)) => return Value::Enum(*value),
        None => {}
    }
    match layout.ty {
        FieldType::Message(of) | FieldType::Group(of) => {
            Value::Message(MessageRef::new(schema, of, None))
        }
        FieldType::Enum(of) => {
            Value::Enum(schema.enum_def(of).values().first().map_or(0, |value| value.number()))
        }
        FieldType::Scalar(_) => match layout.kind {
            ValueType::F64 => Value::F64(0.0),
            ValueType::F32 => Value::F32(0.0),
            ValueType::I64 => Value::I64(0),
            ValueType::U64 => Value::U64(0),
            ValueType::U32 => Value::U32(0),
            ValueType::Bool => Value::Bool(false),
            ValueType::String => Value::String(""),
            ValueType::Bytes => Value::Bytes(b""),
            ValueType::I32 | ValueType::Enum | ValueType::Message => Value::I32(0),
        },
    }
}

impl<'m> ListRef<'m> {
    /// The field.
    pub fn field(&self) -> FieldId {
        self.field
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.list.len as usize
    }

    /// True if there are no values.
    pub fn is_empty(&self) -> bool {
        self.list.len == 0
    }

    /// The value at an index.
    pub fn get(&self, index: usize) -> Option<Value<'m>> {
        (index < self.len()).then(|| self.at(index))
    }

    /// The values.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Value<'m>> + use<'m> {
        let this = *self;
        (0..this.len()).map(move |index| this.at(index))
    }

    fn at(&self, index: usize) -> Value<'m> {
        value_at(self.schema, self.layout, cell_at(self.layout.cell, &self.list, index))
    }

    fn cells<T: Copy>(&self, kinds: &[ValueType]) -> Option<&'m [T]> {
        // SAFETY: lists of those kinds hold such values, for `'m`.
        kinds.contains(&self.layout.kind).then(|| unsafe { self.list.values() })
    }

    /// The doubles, if it is a list of them.
    pub fn as_f64s(&self) -> Option<&'m [f64]> {
        self.cells(&[ValueType::F64])
    }

    /// The floats, if it is a list of them.
    pub fn as_f32s(&self) -> Option<&'m [f32]> {
        self.cells(&[ValueType::F32])
    }

    /// The 64-bit integers, if it is a list of them.
    pub fn as_i64s(&self) -> Option<&'m [i64]> {
        self.cells(&[ValueType::I64])
    }

    /// The unsigned 64-bit integers, if it is a list of them.
    pub fn as_u64s(&self) -> Option<&'m [u64]> {
        self.cells(&[ValueType::U64])
    }

    /// The 32-bit integers or numbers of enums, if it is a list of them.
    pub fn as_i32s(&self) -> Option<&'m [i32]> {
        self.cells(&[ValueType::I32, ValueType::Enum])
    }

    /// The unsigned 32-bit integers, if it is a list of them.
    pub fn as_u32s(&self) -> Option<&'m [u32]> {
        self.cells(&[ValueType::U32])
    }
}

impl fmt::Debug for ListRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'m> MapRef<'m> {
    /// The field.
    pub fn field(&self) -> FieldId {
        self.field
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.records().len()
    }

    /// True if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a key.
    ///
    /// # Errors
    /// [`AccessError::WrongKind`] if keys are of another type.
    pub fn get<'k>(&self, key: impl Into<Value<'k>>) -> Result<Option<Value<'m>>, AccessError> {
        let (key_id, key_layout, _, value_layout) = self.schema.layouts().entry_fields(self.layout);
        let key = key.into();
        let Some(found) = key.key(key_layout) else {
            return Err(wrong_kind(self.schema, key_id, key_layout, key.kind_name()));
        };
        let Some(map) = self.map else { return Ok(None) };
        let Some(at) = map.find(found, key_layout) else { return Ok(None) };
        let value = map.records()[at].place(value_layout);
        Ok(Some(value_at(self.schema, value_layout, value)))
    }

    /// Key and value at an index in the order of [`MapRef::iter`].
    pub fn entry(&self, index: usize) -> Option<(Value<'m>, Value<'m>)> {
        let (_, key, _, value) = self.schema.layouts().entry_fields(self.layout);
        let entry = self.records().get(index)?;
        let of = |layout: &FieldLayout| value_at(self.schema, layout, entry.place(layout));
        Some((of(key), of(value)))
    }

    /// Keys and values in order of insertion, which removals change.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Value<'m>, Value<'m>)> + use<'m> {
        let (_, key, _, value) = self.schema.layouts().entry_fields(self.layout);
        let schema = self.schema;
        self.records().iter().map(move |entry| {
            let of = |layout: &FieldLayout| value_at(schema, layout, entry.place(layout));
            (of(key), of(value))
        })
    }

    /// Keys and values ascending by key.
    pub fn sorted(&self) -> Vec<(Value<'m>, Value<'m>)> {
        let (_, key, _, value) = self.schema.layouts().entry_fields(self.layout);
        let schema = self.schema;
        let of =
            |entry: &Record, layout: &FieldLayout| value_at(schema, layout, entry.place(layout));
        let records = sorted_entries(self.records(), key);
        records.iter().map(|entry| (of(entry, key), of(entry, value))).collect()
    }

    pub(super) fn records(&self) -> &'m [Record] {
        self.map.map_or(&[], Map::records)
    }
}

impl fmt::Debug for MapRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
