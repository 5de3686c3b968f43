//! Writing of messages.

use std::marker::PhantomData;

use super::access::{AccessError, FieldName, field, wrong_kind};
use super::arena::Arena;
use super::build::{Builder, Copies};
use super::entry::CellValue;
use super::layout::{Cell, FieldLayout, RecordLayout, Shape, ValueType, cell_at};
use super::map::Map;
use super::record::Record;
use super::slots::{List, View};
use super::value::{ListRef, MapRef, MessageRef, Value};
use crate::schema::{FieldId, FieldType, MessageId, RawFields, Schema};

type Done = Result<(), AccessError>;

/// A mutable message: the only reference to its whole tree.
#[derive(Debug)]
pub struct MessageMut<'m> {
    pub(super) schema: &'m Schema,
    pub(super) arena: &'m mut Arena,
    pub(super) layout: &'m RecordLayout,
    pub(super) record: Record,
}

impl<'m> MessageMut<'m> {
    pub(super) fn new(
        schema: &'m Schema,
        arena: &'m mut Arena,
        message: MessageId,
        record: Record,
    ) -> MessageMut<'m> {
        MessageMut { schema, arena, layout: schema.layouts().record(message), record }
    }

    /// The message, for reading.
    pub fn as_ref(&self) -> MessageRef<'_> {
        MessageRef::new(self.schema, self.layout.message, Some(self.record))
    }

    /// The same message, borrowed for a shorter time.
    pub fn reborrow(&mut self) -> MessageMut<'_> {
        MessageMut { schema: self.schema, arena: self.arena, ..*self }
    }

    /// Its type.
    pub fn message_type(&self) -> MessageId {
        self.layout.message
    }

    /// As [`MessageRef::get`].
    ///
    /// # Errors
    /// [`AccessError::NoField`].
    pub fn get(&self, name: impl FieldName) -> Result<Value<'_>, AccessError> {
        self.as_ref().get(name)
    }

    /// As [`MessageRef::has`].
    ///
    /// # Errors
    /// [`AccessError::NoField`].
    pub fn has(&self, name: impl FieldName) -> Result<bool, AccessError> {
        self.as_ref().has(name)
    }

    /// Sets a field to a copy of the value: a number, a string, a message, a list, a map. The other
    /// members of its oneof are cleared.
    ///
    /// # Errors
    /// The message has no such field; the value is of another type; there is no room for it. Then
    /// the field is unchanged, but a list or map may have part of the new values.
    pub fn set<'v>(&mut self, name: impl FieldName, value: impl Into<Value<'v>>) -> Done {
        let (id, layout) = field(self.schema, self.layout.message, name)?;
        let value = value.into();
        match (layout.shape, &value) {
            (Shape::Single, _) => {
                let packed = pack(self.schema, self.arena, id, layout, &value)?;
                let slot = self.record.make_slot(self.arena, self.layout, id.0, layout);
                let (slot, _) = slot.ok_or(AccessError::Full)?;
                packed.store(slot);
                Ok(())
            }
            (Shape::List, Value::List(values)) => {
                let mut list = self.reborrow().into_list_mut(id)?;
                list.clear();
                values.iter().try_for_each(|value| list.push(value))
            }
            (Shape::Map, Value::Map(entries)) => {
                let mut map = self.reborrow().into_map_mut(id)?;
                map.clear();
                entries.iter().try_for_each(|(key, value)| map.insert(key, value))
            }
            _ => Err(wrong_kind(self.schema, id, layout, value.kind_name())),
        }
    }

    /// Clears a field.
    ///
    /// # Errors
    /// [`AccessError::NoField`].
    pub fn clear(&mut self, name: impl FieldName) -> Done {
        let (_, layout) = field(self.schema, self.layout.message, name)?;
        self.record.unset(layout);
        Ok(())
    }

    /// Clears all fields, unknown ones too. Memory is released with the whole message only.
    pub fn clear_all(&mut self) {
        self.record.clear(self.layout);
    }

    /// The message in a field, created empty if absent.
    ///
    /// # Errors
    /// The message has no such field, or it holds no single message; there is no room.
    pub fn message_mut(&mut self, name: impl FieldName) -> Result<MessageMut<'_>, AccessError> {
        self.reborrow().into_message_mut(name)
    }

    /// As [`MessageMut::message_mut`], with the lifetime of `self`.
    ///
    /// # Errors
    /// As there.
    pub fn into_message_mut(self, name: impl FieldName) -> Result<MessageMut<'m>, AccessError> {
        let (id, layout) = field(self.schema, self.layout.message, name)?;
        let (Shape::Single, Some(of)) = (layout.shape, layout.record) else {
            return Err(wrong_kind(self.schema, id, layout, ValueType::Message.name()));
        };
        let of_layout = self.schema.layouts().record(of);
        let record = self.record.make_record(self.arena, self.layout, id.0, layout, of_layout);
        let record = record.ok_or(AccessError::Full)?;
        Ok(MessageMut { layout: of_layout, record, ..self })
    }

    /// The list of a repeated field.
    ///
    /// # Errors
    /// The message has no such field, or it is not repeated; there is no room.
    pub fn list_mut(&mut self, name: impl FieldName) -> Result<ListMut<'_>, AccessError> {
        self.reborrow().into_list_mut(name)
    }

    fn into_list_mut(self, name: impl FieldName) -> Result<ListMut<'m>, AccessError> {
        let (id, layout) = field(self.schema, self.layout.message, name)?;
        if layout.shape != Shape::List {
            return Err(wrong_kind(self.schema, id, layout, "list"));
        }
        let list = self.record.make_list(self.arena, self.layout, id.0, layout);
        let mut list = list.ok_or(AccessError::Full)?;
        // SAFETY: the list keeps its address while the tree is borrowed: no extension is added
        // meanwhile to the message that holds it.
        let list = unsafe { list.as_mut() };
        Ok(ListMut { schema: self.schema, arena: self.arena, field: id, layout, list })
    }

    /// The entries of a map field.
    ///
    /// # Errors
    /// The message has no such field, or it is no map; there is no room.
    pub fn map_mut(&mut self, name: impl FieldName) -> Result<MapMut<'_>, AccessError> {
        self.reborrow().into_map_mut(name)
    }

    fn into_map_mut(self, name: impl FieldName) -> Result<MapMut<'m>, AccessError> {
        let (id, layout) = field(self.schema, self.layout.message, name)?;
        if layout.shape != Shape::Map {
            return Err(wrong_kind(self.schema, id, layout, "map"));
        }
        let map = self.record.make_map(self.arena, self.layout, id.0, layout);
        let mut map = map.ok_or(AccessError::Full)?;
        // SAFETY: maps keep their addresses while the tree lives.
        let map = unsafe { map.as_mut() };
        Ok(MapMut { schema: self.schema, arena: self.arena, field: id, layout, map })
    }

    /// Adds the contents of `other`: its fields replace ours, messages are merged, lists are
    /// appended, entries of maps replace those of the same key, unknown fields are appended.
    ///
    /// # Errors
    /// `other` is of another type; there is no room: then part of it is merged.
    pub fn merge(&mut self, other: MessageRef<'_>) -> Done {
        check_type(self.schema, self.layout.message, other)?;
        copy_into(self.schema, self.arena, self.record, other)
    }

    /// Removes all unknown fields.
    pub fn clear_unknown(&mut self) {
        self.record.clear_unknown();
    }

    /// Appends unknown fields: `raw` is tags and values. They are not interpreted here; one that
    /// the schema knows is read as that field when the encoded message is decoded.
    ///
    /// # Errors
    /// [`AccessError::BadUnknown`]; there is no room.
    pub fn push_unknown(&mut self, raw: &[u8]) -> Done {
        if RawFields::new(raw).any(|field| field.is_err()) {
            return Err(AccessError::BadUnknown);
        }
        let mut fields = RawFields::new(raw);
        let mut rest = raw;
        while fields.next().is_some() {
            let (field, following) = rest.split_at(rest.len() - fields.rest().len());
            let view = copy(self.arena, field)?;
            self.record.push_unknown(self.arena, view).ok_or(AccessError::Full)?;
            rest = following;
        }
        Ok(())
    }
}

fn check_type(schema: &Schema, wanted: MessageId, given: MessageRef<'_>) -> Done {
    if given.layout.message == wanted && given.schema.is_same(schema) {
        return Ok(());
    }
    let given = given.schema.full_name(given.layout.message).to_owned();
    Err(AccessError::WrongMessage { wanted: schema.full_name(wanted).to_owned(), given })
}

/// Merges `other` into a record of its type.
pub(super) fn copy_into(
    schema: &Schema,
    arena: &mut Arena,
    record: Record,
    other: MessageRef<'_>,
) -> Done {
    let message = other.layout.message;
    let mut frames = Vec::new();
    let mut builder = Builder::new(schema, arena, message, record, &mut frames, Copies);
    match other.walk(&mut builder) {
        Ok(()) => Ok(()),
        Err(_) => Err(builder.take_error().unwrap_or(AccessError::Full)),
    }
}

fn copy(arena: &mut Arena, bytes: &[u8]) -> Result<View, AccessError> {
    let view = View::of(bytes).ok_or(AccessError::TooLarge)?;
    let start = arena.copy(bytes).ok_or(AccessError::Full)?;
    Ok(View { start: start.as_ptr(), ..view })
}

/// The value for one cell of the field; strings and messages are copied.
fn pack(
    schema: &Schema,
    arena: &mut Arena,
    id: FieldId,
    layout: &FieldLayout,
    value: &Value<'_>,
) -> Result<CellValue, AccessError> {
    Ok(match (*value, layout.kind) {
        (Value::F64(value), ValueType::F64) => CellValue::Word64(value.to_bits()),
        (Value::F32(value), ValueType::F32) => CellValue::Word32(value.to_bits()),
        (Value::I64(value), ValueType::I64) => CellValue::Word64(value as u64),
        (Value::U64(value), ValueType::U64) => CellValue::Word64(value),
        (Value::I32(value), ValueType::I32) => CellValue::Word32(value as u32),
        (Value::U32(value), ValueType::U32) => CellValue::Word32(value),
        (Value::Bool(value), ValueType::Bool) => CellValue::Byte(value.into()),
        (Value::Enum(number) | Value::I32(number), ValueType::Enum) => {
            check_enum(schema, id, layout, number)?;
            CellValue::Word32(number as u32)
        }
        (Value::String(value), ValueType::String) => {
            CellValue::View(copy(arena, value.as_bytes())?)
        }
        (Value::Bytes(value), ValueType::Bytes) => CellValue::View(copy(arena, value)?),
        (Value::Bytes(value), ValueType::String) if !layout.utf8 => {
            CellValue::View(copy(arena, value)?)
        }
        (Value::Message(value), ValueType::Message) => {
            let Some(of) = layout.record else { unreachable!("it holds messages of some type") };
            check_type(schema, of, value)?;
            let record = Record::new(arena, schema.layouts().record(of));
            let record = record.ok_or(AccessError::Full)?;
            copy_into(schema, arena, record, value)?;
            CellValue::Record(record)
        }
        (value, _) => return Err(wrong_kind(schema, id, layout, value.kind_name())),
    })
}

fn check_enum(schema: &Schema, id: FieldId, layout: &FieldLayout, number: i32) -> Done {
    if let FieldType::Enum(of) = layout.ty
        && layout.closed
        && schema.enum_def(of).value_by_number(number).is_none()
    {
        let field = schema.field(id).name().to_owned();
        return Err(AccessError::NotInEnum { field, number });
    }
    Ok(())
}

/// The list of a repeated field, for writing.
#[derive(Debug)]
pub struct ListMut<'m> {
    schema: &'m Schema,
    arena: &'m mut Arena,
    field: FieldId,
    layout: &'m FieldLayout,
    list: &'m mut List,
}

impl ListMut<'_> {
    /// The list, for reading.
    pub fn as_ref(&self) -> ListRef<'_> {
        let Self { schema, field, layout, ref list, .. } = *self;
        ListRef { schema, field, layout, list: **list, tree: PhantomData }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.list.len as usize
    }

    /// True if there are no values.
    pub fn is_empty(&self) -> bool {
        self.list.len == 0
    }

    /// Appends a copy of a value.
    ///
    /// # Errors
    /// It is of another type; there is no room.
    pub fn push<'v>(&mut self, value: impl Into<Value<'v>>) -> Done {
        let packed = pack(self.schema, self.arena, self.field, self.layout, &value.into())?;
        self.push_packed(packed)
    }

    /// Reserves room for `more` values, so that appending them moves nothing.
    ///
    /// # Errors
    /// There is no room.
    pub fn reserve(&mut self, more: usize) -> Done {
        let wanted = self.len().checked_add(more).and_then(|len| u32::try_from(len).ok());
        let wanted = wanted.ok_or(AccessError::TooLarge)?;
        // A list that is extended repeatedly grows by at least half.
        let least = self.list.capacity.saturating_add(self.list.capacity / 2);
        if wanted <= self.list.capacity {
            return Ok(());
        }
        let cell_bytes = self.layout.cell.bytes();
        let done = self.list.reserve_exact(self.arena, cell_bytes, wanted.max(least));
        done.ok_or(AccessError::Full)
    }

    /// Appends an empty message.
    ///
    /// # Errors
    /// It is no list of messages; there is no room.
    pub fn push_message(&mut self) -> Result<MessageMut<'_>, AccessError> {
        let of = self.message_type()?;
        let record = Record::new(self.arena, self.schema.layouts().record(of));
        let record = record.ok_or(AccessError::Full)?;
        self.push_packed(CellValue::Record(record))?;
        Ok(MessageMut::new(self.schema, self.arena, of, record))
    }

    /// Replaces a value by a copy of another.
    ///
    /// # Errors
    /// The index is out of range; the value is of another type; there is no room.
    pub fn set<'v>(&mut self, index: usize, value: impl Into<Value<'v>>) -> Done {
        self.check(index)?;
        let packed = pack(self.schema, self.arena, self.field, self.layout, &value.into())?;
        packed.store(cell_at(self.layout.cell, self.list, index));
        Ok(())
    }

    /// A message of the list.
    ///
    /// # Errors
    /// The index is out of range; it is no list of messages.
    pub fn message_mut(&mut self, index: usize) -> Result<MessageMut<'_>, AccessError> {
        let of = self.message_type()?;
        self.check(index)?;
        let at = cell_at(Cell::Record, self.list, index);
        // SAFETY: it is a list of records.
        let record = unsafe { at.cast::<Record>().read() };
        Ok(MessageMut::new(self.schema, self.arena, of, record))
    }

    /// Removes a value; those after it move up.
    ///
    /// # Errors
    /// The index is out of range.
    pub fn remove(&mut self, index: usize) -> Done {
        self.check(index)?;
        let bytes = self.layout.cell.bytes() as usize;
        let at = cell_at(self.layout.cell, self.list, index).as_ptr();
        let after = self.len() - index - 1;
        // SAFETY: `after` cells follow within the list.
        unsafe { at.copy_from(at.add(bytes), after * bytes) };
        self.list.len -= 1;
        Ok(())
    }

    /// Swaps two values.
    ///
    /// # Errors
    /// The index is out of range.
    pub fn swap(&mut self, a: usize, b: usize) -> Done {
        self.check(a)?;
        self.check(b)?;
        let bytes = self.layout.cell.bytes() as usize;
        let [a, b] = [a, b].map(|index| cell_at(self.layout.cell, self.list, index).as_ptr());
        if a != b {
            // SAFETY: two different cells of the list.
            unsafe { std::ptr::swap_nonoverlapping(a, b, bytes) };
        }
        Ok(())
    }

    /// Keeps the first `len` values.
    pub fn truncate(&mut self, len: usize) {
        self.list.len = self.list.len.min(u32::try_from(len).unwrap_or(u32::MAX));
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        self.list.len = 0;
    }

    fn check(&self, index: usize) -> Done {
        if index < self.len() {
            return Ok(());
        }
        Err(AccessError::OutOfRange { index, len: self.len() })
    }

    fn message_type(&self) -> Result<MessageId, AccessError> {
        let of = self.layout.record;
        of.ok_or_else(|| wrong_kind(self.schema, self.field, self.layout, "list of messages"))
    }

    fn push_packed(&mut self, packed: CellValue) -> Done {
        let (list, arena) = (&mut *self.list, &mut *self.arena);
        if list.len == list.capacity {
            list.grow(arena, self.layout.cell.bytes()).ok_or(AccessError::Full)?;
        }
        list.len += 1;
        packed.store(cell_at(self.layout.cell, list, list.len as usize - 1));
        Ok(())
    }
}

/// The entries of a map field, for writing.
#[derive(Debug)]
pub struct MapMut<'m> {
    schema: &'m Schema,
    arena: &'m mut Arena,
    field: FieldId,
    layout: &'m FieldLayout,
    map: &'m mut Map,
}

impl MapMut<'_> {
    /// The entries, for reading.
    pub fn as_ref(&self) -> MapRef<'_> {
        let Self { schema, field, layout, ref map, .. } = *self;
        MapRef { schema, field, layout, map: Some(map) }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.map.records().len()
    }

    /// True if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// Key or value are of another type; there is no room.
    pub fn insert<'v>(&mut self, key: impl Into<Value<'v>>, value: impl Into<Value<'v>>) -> Done {
        let (key_id, key_layout, value_id, value_layout) =
            self.schema.layouts().entry_fields(self.layout);
        let key = pack(self.schema, self.arena, key_id, key_layout, &key.into())?;
        let value = pack(self.schema, self.arena, value_id, value_layout, &value.into())?;
        self.insert_packed(key, value)
    }

    /// The message of a key, created empty if absent.
    ///
    /// # Errors
    /// The key is of another type; values are no messages; there is no room.
    pub fn message_mut<'v>(
        &mut self,
        key: impl Into<Value<'v>>,
    ) -> Result<MessageMut<'_>, AccessError> {
        let (key_id, key_layout, value_id, value_layout) =
            self.schema.layouts().entry_fields(self.layout);
        let Some(of) = value_layout.record else {
            return Err(wrong_kind(self.schema, value_id, value_layout, ValueType::Message.name()));
        };
        let key = key.into();
        let Some(found) = key.key(key_layout) else {
            return Err(wrong_kind(self.schema, key_id, key_layout, key.kind_name()));
        };
        let record = match self.map.find(found, key_layout) {
            Some(at) => {
                let slot = self.map.records()[at].place(value_layout);
                // SAFETY: values of this map are records.
                unsafe { slot.cast::<Record>().read() }
            }
            None => {
                let key = pack(self.schema, self.arena, key_id, key_layout, &key)?;
                let record = Record::new(self.arena, self.schema.layouts().record(of));
                let record = record.ok_or(AccessError::Full)?;
                self.insert_packed(key, CellValue::Record(record))?;
                record
            }
        };
        Ok(MessageMut::new(self.schema, self.arena, of, record))
    }

    /// Removes an entry and moves the last one to its index; true if it existed.
    ///
    /// # Errors
    /// The key is of another type.
    pub fn remove<'v>(&mut self, key: impl Into<Value<'v>>) -> Result<bool, AccessError> {
        let (key_id, key_layout, ..) = self.schema.layouts().entry_fields(self.layout);
        let key = key.into();
        match key.key(key_layout) {
            Some(key) => Ok(self.map.remove(key, key_layout)),
            None => Err(wrong_kind(self.schema, key_id, key_layout, key.kind_name())),
        }
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.map.clear();
    }

    fn insert_packed(&mut self, key: CellValue, value: CellValue) -> Done {
        let (key_id, key_layout, value_id, value_layout) =
            self.schema.layouts().entry_fields(self.layout);
        let of = self.schema.layouts().record(key_layout.message);
        let entry = Record::new(self.arena, of).ok_or(AccessError::Full)?;
        let parts = [(key_id, key_layout, key), (value_id, value_layout, value)];
        for (id, layout, packed) in parts {
            let slot = entry.make_slot(self.arena, of, id.0, layout).ok_or(AccessError::Full)?;
            packed.store(slot.0);
        }
        self.map.insert(self.arena, entry, key_layout).ok_or(AccessError::Full)
    }
}
