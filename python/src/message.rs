//! Messages as Python objects.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use tidemill_wire::message::{
    AccessError, MapOrder, MessageAddress, MessageMut, MessageRef, Shape, Value, ValueType,
};
use tidemill_wire::{FieldId, MessageId};

use crate::descriptor::PyField;
use crate::dict::Dicts;
use crate::error;
use crate::fill::{self, Target};
use crate::input::Input;
use crate::map::PyMap;
use crate::names::{METHODS, Member};
use crate::repeated::PyRepeated;
use crate::schema::PyMessageType;
use crate::shared::{Required, Shared};
use crate::slot::Slot;
use crate::text;
use crate::tree::Tree;
use crate::value;
use crate::wellknown;

/// The maximal nesting of absent messages that are accessed.
const UNSET_MAX: u32 = 1000;

/// A message in a tree: the address of its record, or the field that would hold it.
#[pyclass(name = "Message", module = "tidemill", frozen, mapping)]
pub(crate) struct PyMessage {
    tree: Arc<Tree>,
    ty: MessageId,
    record: Cell<Option<NonNull<u8>>>,
    /// Set for a message that was absent when it was read.
    home: Option<Home>,
}

/// The field that would hold an absent message.
struct Home {
    parent: Py<PyMessage>,
    field: FieldId,
    /// The number of parents that are absent too.
    depth: u32,
}

// SAFETY: the cell is used only with the interpreter's lock held; the module requires the lock.
unsafe impl Send for PyMessage {}
// SAFETY: the cell is used only with the interpreter's lock held; the module requires the lock.
unsafe impl Sync for PyMessage {}

impl PyMessage {
    /// The outermost message of a tree.
    pub(crate) fn whole(tree: Arc<Tree>) -> PyMessage {
        let (ty, record) = (tree.message_type(), Cell::new(tree.root().record));
        PyMessage { tree, ty, record, home: None }
    }

    /// A message in a field of this one, present or absent.
    pub(crate) fn inside(
        this: &Bound<'_, PyMessage>,
        inner: MessageAddress,
        field: FieldId,
    ) -> PyResult<PyMessage> {
        let me = this.get();
        let home = match inner.record {
            Some(_) => None,
            None => {
                let outside = me.record.get().map_or(&me.home, |_| &None).as_ref();
                let depth = outside.map_or(0, |home| home.depth + 1);
                if depth > UNSET_MAX {
                    return Err(error::too_deep());
                }
                Some(Home { parent: this.clone().unbind(), field, depth })
            }
        };
        let (tree, record) = (me.tree.clone(), Cell::new(inner.record));
        Ok(PyMessage { tree, ty: inner.message, record, home })
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        self.tree.shared()
    }

    pub(crate) fn is_in(&self, tree: &Arc<Tree>) -> bool {
        Arc::ptr_eq(&self.tree, tree)
    }

    /// Its current address.
    #[inline]
    fn place(&self) -> MessageAddress {
        if self.record.get().is_none() {
            self.look();
        }
        MessageAddress { record: self.record.get(), message: self.ty }
    }

    /// Checks whether it was set meanwhile.
    #[cold]
    fn look(&self) {
        let Some(home) = &self.home else { return };
        let outer = home.parent.get().place();
        let reading = self.tree.reading();
        // SAFETY: the parent is of the same tree.
        let outer = unsafe { self.tree.at(&reading, outer) };
        if let Ok(Value::Message(inner)) = outer.get(home.field) {
            self.record.set(inner.place().record);
        }
    }

    /// Its address; sets it, and its parents, if absent.
    pub(crate) fn make(&self) -> PyResult<MessageAddress> {
        let place = self.place();
        let (None, Some(home)) = (place.record, &self.home) else { return Ok(place) };
        let outer = home.parent.get().make()?;
        // SAFETY: the parent is of the same tree.
        let made = unsafe {
            self.tree.change(outer, |mut outer| Ok(outer.message_mut(home.field)?.place()))
        }?;
        self.record.set(made.record);
        Ok(made)
    }

    #[inline]
    pub(crate) fn read<T>(&self, look: impl FnOnce(MessageRef<'_>) -> PyResult<T>) -> PyResult<T> {
        let place = self.place();
        let reading = self.tree.reading();
        // SAFETY: objects hold addresses of their own trees.
        look(unsafe { self.tree.at(&reading, place) })
    }

    /// Changes the message, which sets it in its parent. `change` does not call the interpreter.
    pub(crate) fn change<T>(
        &self,
        change: impl FnOnce(MessageMut<'_>) -> Result<T, AccessError>,
    ) -> PyResult<T> {
        let place = self.make()?;
        // SAFETY: objects hold addresses of their own trees.
        unsafe { self.tree.change(place, change) }
    }

    /// Changes the message by values whose conversion may run the interpreter.
    pub(crate) fn fill<T>(&self, fill: impl FnOnce(Target<'_>) -> PyResult<T>) -> PyResult<T> {
        let place = self.make()?;
        let pin = self.tree.pin();
        // SAFETY: objects hold addresses of their own trees.
        fill(unsafe { Target::new(&self.tree, &pin, place) })
    }

    /// A copy in a tree of its own.
    pub(crate) fn copied(&self) -> PyResult<Arc<Tree>> {
        self.read(|message| Tree::copy(self.shared(), message))
    }

    fn id(&self, name: &Bound<'_, PyString>) -> PyResult<FieldId> {
        fill::field_id(self.shared(), self.ty, name)
    }

    #[inline]
    pub(crate) fn get_field<'py>(
        this: &Bound<'py, PyMessage>,
        id: FieldId,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (me, py) = (this.get(), this.py());
        let place = me.place();
        let reading = me.tree.reading();
        // SAFETY: objects hold addresses of their own trees.
        let message = unsafe { me.tree.at(&reading, place) };
        match message.get(id).map_err(error::access)? {
            Value::Message(inner) => {
                let inner = PyMessage::inside(this, inner.place(), id)?;
                Ok(Bound::new(py, inner)?.into_any())
            }
            Value::List(_) => {
                let slot = Slot::of(&me.shared().schema, id);
                Ok(Bound::new(py, PyRepeated::new(this, slot))?.into_any())
            }
            Value::Map(_) => Ok(Bound::new(py, PyMap::new(this, id))?.into_any()),
            value => Ok(value::to_python(py, &value)?.unwrap_or(py.None().into_bound(py))),
        }
    }

    /// The value of a field, read from its slot if it is stored.
    #[inline]
    fn get_slot<'py>(this: &Bound<'py, PyMessage>, slot: &Slot) -> PyResult<Bound<'py, PyAny>> {
        let (me, py) = (this.get(), this.py());
        match slot.shape {
            Shape::Single => {
                if let Some(record) = me.place().record {
                    // SAFETY: the record is of this message, and nothing else runs during the read.
                    if let Some(value) = unsafe { slot.scalar(py, record) } {
                        return Ok(value);
                    }
                    // SAFETY: the record is of this message, and nothing else runs during the read.
                    if let Some((inner, message)) = unsafe { slot.message(record) } {
                        let inner = PyMessage::at(me.tree.clone(), inner, message);
                        return Ok(Bound::new(py, inner)?.into_any());
                    }
                }
                PyMessage::get_field(this, slot.id)
            }
            Shape::List => Ok(Bound::new(py, PyRepeated::new(this, *slot))?.into_any()),
            Shape::Map => Ok(Bound::new(py, PyMap::new(this, slot.id))?.into_any()),
        }
    }

    /// A present message.
    #[inline]
    fn at(tree: Arc<Tree>, record: NonNull<u8>, ty: MessageId) -> PyMessage {
        PyMessage { tree, ty, record: Cell::new(Some(record)), home: None }
    }

    /// An element of a list of this message.
    #[inline]
    pub(crate) fn element(&self, record: NonNull<u8>, ty: MessageId) -> PyMessage {
        PyMessage::at(self.tree.clone(), record, ty)
    }

    /// The record, if the message is present.
    #[inline]
    pub(crate) fn record(&self) -> Option<NonNull<u8>> {
        self.place().record
    }

    /// Sets a number in its slot; false for values that need the general path.
    #[inline]
    fn set_slot(&self, slot: &Slot, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        if !slot.is_plain() || value.is_none() {
            // Strings are copied into the tree.
            return match value.cast_exact::<PyString>() {
                Ok(text) if slot.shape == Shape::Single && slot.kind == ValueType::String => {
                    let text = text.to_str()?;
                    self.change(|mut to| to.set(slot.id, text)).map(|()| true)
                }
                _ => Ok(false),
            };
        }
        let schema = &self.shared().schema;
        let value = value::number(schema, schema.field(slot.id), value)?;
        let place = self.make()?;
        let Some(record) = place.record else { return Ok(false) };
        self.tree.check_writable()?;
        // SAFETY: the record is of this message, and nothing reads it.
        Ok(unsafe { slot.store(record, &value) })
    }

    fn set_field(&self, id: FieldId, value: &Bound<'_, PyAny>) -> PyResult<()> {
        // The assignment after `message.list += values`: there is nothing to do.
        if let Ok(list) = value.cast::<PyRepeated>()
            && list.get().is_field(self, id)
        {
            return Ok(());
        }
        if value.is_none() {
            return self.clear_field(id);
        }
        self.fill(|to| to.assign(id, value))
    }

    pub(crate) fn clear_field(&self, id: FieldId) -> PyResult<()> {
        if self.place().record.is_none() {
            return Ok(());
        }
        self.change(|mut message| message.clear(id))
    }

    /// Whether two objects are the same message.
    pub(crate) fn is_same(&self, other: &PyMessage) -> bool {
        let (a, b) = (self.place(), other.place());
        std::ptr::eq(self, other)
            || (Arc::ptr_eq(&self.tree, &other.tree) && a.record.is_some() && a == b)
    }

    pub(crate) fn descriptor(&self) -> PyMessageType {
        PyMessageType { shared: self.shared().clone(), message: self.ty }
    }

    fn bytes<'py>(
        &self,
        py: Python<'py>,
        order: MapOrder,
        required: Required,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.read(|message| {
            let take = |bytes: &[u8]| PyBytes::new(py, bytes);
            self.shared().encode(py, message, order, required, take)
        })
    }

    fn which_of(&self, oneof: &str) -> PyResult<Option<Option<FieldId>>> {
        self.read(|message| {
            let def = message.schema().message(message.message_type());
            let at = def.oneof_defs().iter().position(|one| one.name() == oneof);
            let Some(at) = at else { return Ok(None) };
            message.which(def.oneofs()[at]).map(Some).map_err(error::access)
        })
    }

    /// Replaces the message by the one encoded in `data`.
    fn parse(&self, py: Python<'_>, data: &[u8]) -> PyResult<()> {
        let shared = self.shared();
        let is_root = self.home.is_none() && self.tree.root() == self.place();
        let reused = match is_root {
            true => self.tree.reuse(|message| shared.decode_into(py, message, data)),
            false => None,
        };
        if let Some(result) = reused {
            self.record.set(self.tree.root().record);
            return result.map_err(|error| error::decode(py, &error));
        }
        let other = shared.decode(py, self.ty, data)?;
        self.change(|mut message| {
            message.clear_all();
            message.merge(other.as_ref())
        })?;
        shared.give_back(other);
        Ok(())
    }
}

fn order(deterministic: bool) -> MapOrder {
    if deterministic { MapOrder::ByKey } else { MapOrder::Stored }
}

#[pymethods]
impl PyMessage {
    /// Fields are looked up first: the general lookup would raise an exception for each of them.
    fn __getattribute__<'py>(
        this: &Bound<'py, PyMessage>,
        name: &Bound<'py, PyString>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let me = this.get();
        let (shared, ty) = (me.shared(), me.ty);
        let names = &shared.of(this.py(), ty).names;
        if let Some(Member::Field(slot)) = names.by_address(name.as_ptr().addr()) {
            return PyMessage::get_slot(this, slot);
        }
        let member = names.attribute(shared, ty, name)?;
        if let Some(Member::Field(slot)) = member {
            return PyMessage::get_slot(this, &slot);
        }
        // SAFETY: both objects live, and the result is a new reference, or null with an exception
        // set.
        let found = unsafe {
            let found = pyo3::ffi::PyObject_GenericGetAttr(this.as_ptr(), name.as_ptr());
            Bound::from_owned_ptr_or_err(this.py(), found)
        };
        match found {
            Err(_) if member.is_none() => {
                // A field with two leading underscores, or an attribute of its type.
                let id = shared.of(this.py(), ty).names.field(shared, ty, name)?;
                match id {
                    Some(id) => PyMessage::get_field(this, id),
                    None => wellknown::attribute(this, ty, name)?
                        .or(me.descriptor().inner(this.py(), name.to_str()?)?)
                        .ok_or_else(|| fill::no_field(&shared.schema, ty, name)),
                }
            }
            found => found,
        }
    }

    fn __setattr__(&self, name: &Bound<'_, PyString>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let names = &self.shared().of(name.py(), self.ty).names;
        if let Some(Member::Field(slot)) = names.by_address(name.as_ptr().addr())
            && self.set_slot(slot, value)?
        {
            return Ok(());
        }
        self.set_field(self.id(name)?, value)
    }

    fn __delattr__(&self, name: &Bound<'_, PyString>) -> PyResult<()> {
        self.clear_field(self.id(name)?)
    }

    fn __getitem__<'py>(
        this: &Bound<'py, PyMessage>,
        name: &Bound<'py, PyString>,
    ) -> PyResult<Bound<'py, PyAny>> {
        PyMessage::get_field(this, this.get().id(name)?)
    }

    fn __setitem__(&self, name: &Bound<'_, PyString>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.set_field(self.id(name)?, value)
    }

    fn __delitem__(&self, name: &Bound<'_, PyString>) -> PyResult<()> {
        self.clear_field(self.id(name)?)
    }

    /// True if the field is set: ``"name" in message``.
    fn __contains__(&self, name: &Bound<'_, PyString>) -> PyResult<bool> {
        self.has(name)
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let Ok(other) = other.cast::<PyMessage>() else { return Ok(py.NotImplemented()) };
        let same = self.read(|a| other.get().read(|b| Ok(a == b)))?;
        Ok(same.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let name = self.shared().schema.full_name(self.ty);
        Ok(format!("<{name} {}>", self.to_dict(py)?.repr()?))
    }

    fn __str__(&self) -> PyResult<String> {
        self.to_text(false, false)
    }

    fn __dir__(&self) -> Vec<String> {
        let fields = self.shared().schema.message(self.ty).field_defs();
        let fields = fields.iter().map(|field| field.name().to_owned());
        METHODS.map(String::from).into_iter().chain(fields).collect()
    }

    fn __copy__(&self) -> PyResult<PyMessage> {
        Ok(PyMessage::whole(self.copied()?))
    }

    fn __deepcopy__(&self, memo: &Bound<'_, PyAny>) -> PyResult<PyMessage> {
        let _ = memo;
        self.__copy__()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let restore = py.import("tidemill._native")?.getattr("_restore_message")?;
        let set = self.shared().descriptor_set(py);
        let name = self.shared().full_name(py, self.ty);
        let data = self.bytes(py, MapOrder::Stored, Required::Ignored)?;
        (restore, (set, name, data)).into_pyobject(py)
    }

    /// True if the field is set; of a list or map, if it is not empty.
    fn has(&self, name: &Bound<'_, PyString>) -> PyResult<bool> {
        let id = self.id(name)?;
        self.read(|message| message.has(id).map_err(error::access))
    }

    /// Clears a field.
    fn clear(&self, name: &Bound<'_, PyString>) -> PyResult<()> {
        self.clear_field(self.id(name)?)
    }

    /// The name of the member of the oneof that is set.
    fn which(&self, py: Python<'_>, oneof: &str) -> PyResult<Option<Py<PyString>>> {
        let Some(which) = self.which_of(oneof)? else {
            let of = self.shared().schema.full_name(self.ty);
            let text = format!("{of} has no oneof {oneof}");
            return Err(pyo3::exceptions::PyAttributeError::new_err(text));
        };
        Ok(which.map(|id| self.shared().key(py, id).clone_ref(py)))
    }

    /// The message type.
    fn r#type(&self) -> PyMessageType {
        self.descriptor()
    }

    /// Plain values of the fields that are set.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.read(|message| Dicts { py, shared: self.shared() }.message(message))
    }

    /// The message as JSON; ``names`` is ``"json"`` or ``"proto"``, ``enums`` ``"names"`` or
    /// ``"numbers"``, ``defaults`` writes zero values too, ``indent`` breaks lines.
    #[pyo3(signature = (*, names = "json", enums = "names", defaults = false, indent = None))]
    fn to_json<'py>(
        &self,
        py: Python<'py>,
        names: &str,
        enums: &str,
        defaults: bool,
        indent: Option<u32>,
    ) -> PyResult<Bound<'py, PyString>> {
        let options = text::print_options(names, enums, defaults)?;
        let json = self.read(|message| text::message_to_json(message, options))?;
        text::indented(py, &json, indent)
    }

    /// The message in the text format.
    #[pyo3(signature = (*, one_line = false, unknown = false))]
    fn to_text(&self, one_line: bool, unknown: bool) -> PyResult<String> {
        self.read(|message| text::message_to_text(message, one_line, unknown))
    }

    /// The serialized message; raises ``EncodeError`` if a required field is missing.
    /// ``deterministic``: equal messages have equal bytes.
    #[pyo3(signature = (*, deterministic = false))]
    fn encode<'py>(&self, py: Python<'py>, deterministic: bool) -> PyResult<Bound<'py, PyBytes>> {
        self.bytes(py, order(deterministic), Required::Checked)
    }

    /// Merges a serialized message, a message of the same type or a dict into this one.
    fn merge(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        if data.is_instance_of::<PyMessage>() || data.is_instance_of::<PyDict>() {
            return self.fill(|to| to.message(data));
        }
        let input = Input::of(data)?;
        let other = self.shared().decode(py, self.ty, input.bytes())?;
        self.fill(|to| to.merge_message(&other))?;
        self.shared().give_back(other);
        Ok(())
    }

    // The following methods have the names of the stock package.

    /// The message type.
    #[getter]
    #[pyo3(name = "DESCRIPTOR")]
    fn stock_descriptor(&self) -> PyMessageType {
        self.descriptor()
    }

    /// A new message of the same type, decoded from the bytes.
    #[pyo3(name = "FromString")]
    fn parsed(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<PyMessage> {
        self.descriptor().decode(py, data)
    }

    /// As ``encode``.
    #[pyo3(name = "SerializeToString", signature = (*, deterministic = false))]
    fn serialize<'py>(
        &self,
        py: Python<'py>,
        deterministic: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.bytes(py, order(deterministic), Required::Checked)
    }

    /// As ``encode``, with or without the required fields.
    #[pyo3(name = "SerializePartialToString", signature = (*, deterministic = false))]
    fn serialize_partial<'py>(
        &self,
        py: Python<'py>,
        deterministic: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.bytes(py, order(deterministic), Required::Ignored)
    }

    /// Replaces the message by the one encoded in the bytes; returns their number.
    #[pyo3(name = "ParseFromString")]
    fn parse_from_string(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<usize> {
        let input = Input::of(data)?;
        self.parse(py, input.bytes())?;
        Ok(input.bytes().len())
    }

    /// Merges a serialized message into this one; returns the number of its bytes.
    #[pyo3(name = "MergeFromString")]
    fn merge_from_string(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<usize> {
        let input = Input::of(data)?;
        let other = self.shared().decode(py, self.ty, input.bytes())?;
        self.fill(|to| to.merge_message(&other))?;
        Ok(input.bytes().len())
    }

    /// Merges a message of the same type into this one.
    #[pyo3(name = "MergeFrom")]
    fn merge_from(&self, other: &Bound<'_, PyMessage>) -> PyResult<()> {
        self.fill(|to| to.merge(other.get()))
    }

    /// Makes the message a copy of another of the same type.
    #[pyo3(name = "CopyFrom")]
    fn copy_from(&self, other: &Bound<'_, PyMessage>) -> PyResult<()> {
        if self.is_same(other.get()) {
            return Ok(());
        }
        // A copy first: the other may be inside this one.
        let copy = PyMessage::whole(other.get().copied()?);
        if !copy.descriptor().is_same(&self.descriptor()) {
            return self.fill(|to| to.merge(&copy));
        }
        self.change(|mut message| {
            message.clear_all();
            Ok(())
        })?;
        self.fill(|to| to.merge(&copy))
    }

    /// Clears all fields; this sets the message in its parent.
    #[pyo3(name = "Clear")]
    fn clear_all(&self) -> PyResult<()> {
        self.change(|mut message| {
            message.clear_all();
            Ok(())
        })
    }

    /// Clears a field or the member of a oneof; this sets the message in its parent.
    #[pyo3(name = "ClearField")]
    fn clear_one(&self, name: &Bound<'_, PyString>) -> PyResult<()> {
        let id = match self.id(name) {
            Ok(id) => Some(id),
            Err(error) => match self.which_of(name.to_str()?)? {
                Some(which) => which,
                None => return Err(error::Error::new_err(error.to_string())),
            },
        };
        self.make()?;
        id.map_or(Ok(()), |id| self.clear_field(id))
    }

    /// Clears an extension, named as ``"[full.name]"``, ``"full.name"`` or by its field.
    #[pyo3(name = "ClearExtension")]
    fn clear_extension(&self, name: &Bound<'_, PyAny>) -> PyResult<()> {
        self.clear_field(self.extension(name)?)
    }

    /// Whether an extension is set.
    #[pyo3(name = "HasExtension")]
    fn has_extension(&self, name: &Bound<'_, PyAny>) -> PyResult<bool> {
        let id = self.extension(name)?;
        self.read(|message| message.has(id).map_err(error::access))
    }

    /// The extensions, by their names or fields.
    #[getter]
    #[pyo3(name = "Extensions")]
    fn extensions(this: &Bound<'_, PyMessage>) -> PyExtensions {
        PyExtensions { message: this.clone().unbind() }
    }

    /// Whether a field with presence, or a member of a oneof, is set; ``ValueError`` for others.
    #[pyo3(name = "HasField")]
    fn has_field(&self, name: &Bound<'_, PyString>) -> PyResult<bool> {
        let schema = &self.shared().schema;
        if let Ok(id) = self.id(name) {
            if !schema.field(id).has_presence() {
                let text = format!("{} has no presence; `has` asks whether it is empty", name);
                return Err(error::Error::new_err(text));
            }
            return self.read(|message| message.has(id).map_err(error::access));
        }
        match self.which_of(name.to_str()?)? {
            Some(which) => Ok(which.is_some()),
            None => {
                let of = schema.full_name(self.ty);
                Err(error::Error::new_err(format!("{of} has no field {name}")))
            }
        }
    }

    /// The name of the member of the oneof that is set; ``ValueError`` for other names.
    #[pyo3(name = "WhichOneof")]
    fn which_oneof(&self, py: Python<'_>, oneof: &str) -> PyResult<Option<Py<PyString>>> {
        let Some(which) = self.which_of(oneof)? else {
            let of = self.shared().schema.full_name(self.ty);
            return Err(error::Error::new_err(format!("{of} has no oneof {oneof}")));
        };
        Ok(which.map(|id| self.shared().key(py, id).clone_ref(py)))
    }

    /// Pairs of field and value of the fields that are set, ascending by number.
    #[pyo3(name = "ListFields")]
    fn list_fields<'py>(this: &Bound<'py, PyMessage>) -> PyResult<Bound<'py, PyList>> {
        let me = this.get();
        let ids: Vec<FieldId> = me.read(|message| {
            let set = message.fields().map(|(id, _)| id);
            Ok(set.collect())
        })?;
        let out = PyList::empty(this.py());
        for id in ids {
            let field = PyField { shared: me.shared().clone(), field: id };
            out.append((field, PyMessage::get_field(this, id)?))?;
        }
        Ok(out)
    }

    /// The number of bytes of the serialized message.
    #[pyo3(name = "ByteSize")]
    fn byte_size(&self, py: Python<'_>) -> PyResult<usize> {
        self.read(|message| {
            let count = |bytes: &[u8]| bytes.len();
            self.shared().encode(py, message, MapOrder::Stored, Required::Ignored, count)
        })
    }

    /// Whether all required fields are set; the names of missing ones are appended to ``errors``.
    #[pyo3(name = "IsInitialized", signature = (errors = None))]
    fn is_initialized(&self, errors: Option<&Bound<'_, PyList>>) -> PyResult<bool> {
        let missing = self.missing()?;
        if let (Some(errors), Some(missing)) = (errors, &missing) {
            errors.append(missing)?;
        }
        Ok(missing.is_none())
    }

    /// The first required field that is not set, in a list; an empty one if none is missing.
    #[pyo3(name = "FindInitializationErrors")]
    fn initialization_errors(&self) -> PyResult<Vec<String>> {
        Ok(self.missing()?.into_iter().collect())
    }

    /// Removes unknown fields, also of all messages inside.
    #[pyo3(name = "DiscardUnknownFields")]
    fn discard_unknown(&self) -> PyResult<()> {
        let mut open = vec![self.make()?];
        while let Some(place) = open.pop() {
            if place.record.is_none() {
                continue;
            }
            {
                let reading = self.tree.reading();
                // SAFETY: the address was found in this tree, whose records are not freed
                // meanwhile.
                let message = unsafe { self.tree.at(&reading, place) };
                open.extend(text::messages_inside(message).map(|inner| inner.place()));
            }
            let clear = |mut message: MessageMut<'_>| {
                message.clear_unknown();
                Ok(())
            };
            // SAFETY: the address was found in this tree, whose records are not freed meanwhile.
            unsafe { self.tree.change(place, clear) }?;
        }
        Ok(())
    }

    /// The unknown fields, each as its bytes.
    #[pyo3(name = "UnknownFields")]
    fn unknown_fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let raw: Vec<Vec<u8>> =
            self.read(|message| Ok(message.unknown().map(<[u8]>::to_vec).collect()))?;
        PyList::new(py, raw.iter().map(|raw| PyBytes::new(py, raw)))
    }

    /// Sets the message in its parent, without a field of its own.
    #[pyo3(name = "SetInParent")]
    fn set_in_parent(&self) -> PyResult<()> {
        self.make().map(|_| ())
    }
}

impl PyMessage {
    fn missing(&self) -> PyResult<Option<String>> {
        match self.shared().may_lack(self.ty) {
            true => self.read(|message| Ok(message.missing_required())),
            false => Ok(None),
        }
    }

    fn extension(&self, name: &Bound<'_, PyAny>) -> PyResult<FieldId> {
        let schema = &self.shared().schema;
        let id = match name.cast::<PyField>() {
            Ok(field) => Some(field.get().field).filter(|_| field.get().is_of(self.shared())),
            Err(_) => {
                let text: &str = name.extract()?;
                let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
                schema.extension_by_name(inner.unwrap_or(text))
            }
        };
        let id = id.filter(|&id| {
            let field = schema.field(id);
            field.extension_name().is_some() && field.message() == self.ty
        });
        id.ok_or_else(|| {
            let of = schema.full_name(self.ty);
            pyo3::exceptions::PyKeyError::new_err(format!("{name} is no extension of {of}"))
        })
    }
}

/// The extensions of a message, by their names or fields.
#[pyclass(name = "Extensions", module = "tidemill", frozen, mapping)]
pub(crate) struct PyExtensions {
    message: Py<PyMessage>,
}

#[pymethods]
impl PyExtensions {
    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        name: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let message = self.message.bind(py);
        PyMessage::get_field(message, message.get().extension(name)?)
    }

    fn __setitem__(&self, name: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let message = self.message.get();
        message.set_field(message.extension(name)?, value)
    }

    fn __delitem__(&self, name: &Bound<'_, PyAny>) -> PyResult<()> {
        let message = self.message.get();
        message.clear_field(message.extension(name)?)
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.message.get().has_extension(name)
    }
}
