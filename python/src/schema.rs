//! Schemas and message types.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::{PyAttributeError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use tidemill_wire::encode::BinarySink;
use tidemill_wire::json::{self, Mapping};
use tidemill_wire::message::{MapOrder, Message};
use tidemill_wire::proto::{Compiled, Texts, compile, load};
use tidemill_wire::{FieldId, MessageId, Schema};

use crate::batch::{PyBatch, fill as fill_columns};
use crate::delimited::{self, Framing, PyDelimited};
use crate::descriptor::{PyEnum, PyField, fields_by};
use crate::dict::Dicts;
use crate::error::{self, SchemaError};
use crate::fill::Target;
use crate::input::Input;
use crate::message::PyMessage;
use crate::shared::{Required, Shared};
use crate::text;
use crate::tree::Tree;

/// Message definitions.
#[pyclass(name = "Schema", module = "tidemill", frozen)]
pub(crate) struct PySchema {
    pub(crate) shared: Arc<Shared>,
}

impl PySchema {
    fn new(schema: Schema) -> PySchema {
        PySchema { shared: Shared::new(schema) }
    }
}

fn compiled(compiled: Compiled) -> PyResult<PySchema> {
    let Compiled { sources, diagnostics, schema, .. } = compiled;
    match schema {
        Some(schema) => Ok(PySchema::new(schema)),
        None => {
            let lines: Vec<String> = diagnostics
                .iter()
                .filter(|one| one.is_error())
                .map(|one| sources.render(one).trim_end().to_owned())
                .collect();
            Err(SchemaError::new_err(lines.join("\n")))
        }
    }
}

#[pymethods]
impl PySchema {
    /// Compiles one ``.proto`` text; well-known files may be imported.
    ///
    /// Raises ``SchemaError`` with a line per problem, each with its position.
    #[staticmethod]
    #[pyo3(signature = (text, name = "input.proto"))]
    fn from_text(text: &str, name: &str) -> PyResult<PySchema> {
        compiled(compile(&[name], &Texts::from_iter([(name, text)])))
    }

    /// Compiles ``.proto`` texts that import each other by their names.
    #[staticmethod]
    fn from_texts(texts: std::collections::BTreeMap<String, String>) -> PyResult<PySchema> {
        let texts: Texts = texts.into_iter().collect();
        let names: Vec<&str> = texts.texts.keys().map(String::as_str).collect();
        compiled(compile(&names, &texts))
    }

    /// Compiles ``.proto`` files, and ``.fds`` files with sets of descriptors; imports are searched
    /// in the folders of ``include``, or, without any, in the current one and those of the files.
    #[staticmethod]
    #[pyo3(signature = (files, include = None))]
    fn from_files(files: Vec<PathBuf>, include: Option<Vec<PathBuf>>) -> PyResult<PySchema> {
        compiled(load(&files, &include.unwrap_or_default()))
    }

    /// Loads a serialized ``google.protobuf.FileDescriptorSet``.
    #[staticmethod]
    fn from_descriptor_set(data: &Bound<'_, PyAny>) -> PyResult<PySchema> {
        let schema = Schema::from_descriptor_set(Input::of(data)?.bytes());
        let schema = schema.map_err(|error| SchemaError::new_err(error.to_string()))?;
        Ok(PySchema::new(schema))
    }

    /// The definitions as a serialized ``google.protobuf.FileDescriptorSet``.
    fn descriptor_set(&self, py: Python<'_>) -> Py<PyBytes> {
        self.shared.descriptor_set(py)
    }

    /// Full names of all message types.
    fn message_types(&self) -> Vec<String> {
        let schema = &self.shared.schema;
        schema.messages().map(|id| schema.full_name(id).to_owned()).collect()
    }

    /// Full names of all enums.
    fn enum_types(&self) -> Vec<String> {
        let schema = &self.shared.schema;
        schema.enums().map(|id| schema.enum_def(id).full_name().to_string()).collect()
    }

    /// The enum of that name.
    ///
    /// Raises ``KeyError`` if there is none.
    #[pyo3(name = "enum")]
    fn enum_of(&self, full_name: &str) -> PyResult<PyEnum> {
        let missing = || PyKeyError::new_err(format!("no enum is named {full_name}"));
        let of = self.shared.schema.enum_by_name(full_name).ok_or_else(missing)?;
        Ok(PyEnum { shared: self.shared.clone(), of })
    }

    /// The extension of that name.
    ///
    /// Raises ``KeyError`` if there is none.
    fn extension(&self, full_name: &str) -> PyResult<PyField> {
        let missing = || PyKeyError::new_err(format!("no extension is named {full_name}"));
        let field = self.shared.schema.extension_by_name(full_name).ok_or_else(missing)?;
        Ok(PyField { shared: self.shared.clone(), field })
    }

    fn __getitem__(&self, full_name: &str) -> PyResult<PyMessageType> {
        match self.shared.schema.message_by_name(full_name) {
            Some(message) => Ok(PyMessageType { shared: self.shared.clone(), message }),
            None => Err(PyKeyError::new_err(format!("no message type is named {full_name}"))),
        }
    }

    fn __contains__(&self, full_name: &str) -> bool {
        self.shared.schema.message_by_name(full_name).is_some()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyList::new(py, self.message_types())?.try_iter()?.into_any())
    }

    fn __len__(&self) -> usize {
        self.shared.schema.messages().len()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let restore = py.import("tidemill._native")?.getattr("_restore_schema")?;
        (restore, (self.shared.descriptor_set(py),)).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        format!("<tidemill.Schema of {} message types>", self.shared.schema.messages().len())
    }
}

/// The schema of a pickle.
#[pyfunction]
pub(crate) fn _restore_schema(set: &Bound<'_, PyBytes>) -> PyResult<PySchema> {
    Ok(PySchema { shared: Shared::restored(set)? })
}

/// The message type of a pickle.
#[pyfunction]
pub(crate) fn _restore_type(set: &Bound<'_, PyBytes>, name: &str) -> PyResult<PyMessageType> {
    _restore_schema(set)?.__getitem__(name)
}

/// The message of a pickle.
#[pyfunction]
pub(crate) fn _restore_message(
    py: Python<'_>,
    set: &Bound<'_, PyBytes>,
    name: &str,
    data: &Bound<'_, PyBytes>,
) -> PyResult<PyMessage> {
    _restore_type(set, name)?.decode(py, data)
}

/// A message type.
#[pyclass(name = "MessageType", module = "tidemill", frozen)]
#[derive(Clone)]
pub(crate) struct PyMessageType {
    pub(crate) shared: Arc<Shared>,
    pub(crate) message: MessageId,
}

impl PyMessageType {
    pub(crate) fn is_same(&self, other: &PyMessageType) -> bool {
        self.message == other.message && self.shared.schema.is_same(&other.shared.schema)
    }

    pub(crate) fn whole(&self, message: Message<'static>) -> PyMessage {
        PyMessage::whole(Tree::new(self.shared.clone(), message))
    }

    /// A new message, filled by `fill`.
    fn filled(&self, fill: impl FnOnce(Target<'_>) -> PyResult<()>) -> PyResult<Arc<Tree>> {
        let tree = Tree::new(self.shared.clone(), self.shared.message(self.message)?);
        {
            let pin = tree.pin();
            // SAFETY: the address is that of the tree's outermost message.
            fill(unsafe { Target::new(&tree, &pin, tree.root()) })?;
        }
        Ok(tree)
    }

    /// A message of plain values.
    pub(crate) fn made(&self, fields: &Bound<'_, PyAny>) -> PyResult<PyMessage> {
        Ok(PyMessage::whole(self.filled(|to| to.message(fields))?))
    }

    fn def(&self) -> &tidemill_wire::schema::Message {
        self.shared.schema.message(self.message)
    }

    /// The declaration of that name inside the type: a message type, an enum, a value of an enum,
    /// or the number of a field as `NAME_FIELD_NUMBER`.
    pub(crate) fn inner<'py>(
        &self,
        py: Python<'py>,
        name: &str,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (schema, def) = (&self.shared.schema, self.def());
        if let Some(wanted) = name.strip_suffix("_FIELD_NUMBER") {
            let is_it =
                |field: &&tidemill_wire::schema::Field| field.name().to_uppercase() == wanted;
            let field = def.field_defs().iter().find(is_it);
            return field.map(|field| Ok(field.number().into_pyobject(py)?.into_any())).transpose();
        }
        let shared = || self.shared.clone();
        for &message in def.messages() {
            let inner = schema.message(message);
            if inner.name() == name && !inner.is_map_entry() {
                let ty = PyMessageType { shared: shared(), message };
                return Ok(Some(Bound::new(py, ty)?.into_any()));
            }
        }
        for &of in def.enums() {
            let inner = schema.enum_def(of);
            if inner.name() == name {
                return Ok(Some(Bound::new(py, PyEnum { shared: shared(), of })?.into_any()));
            }
            if let Some(value) = inner.value_by_name(name) {
                return Ok(Some(value.number().into_pyobject(py)?.into_any()));
            }
        }
        Ok(None)
    }
}

#[pymethods]
impl PyMessageType {
    /// The name with its package.
    #[getter]
    fn full_name(&self) -> &str {
        self.shared.schema.full_name(self.message)
    }

    /// The name without its package.
    #[getter]
    fn name(&self) -> &str {
        self.def().name()
    }

    /// The names of the fields, in the order of the source.
    #[getter]
    fn field_names(&self) -> Vec<String> {
        self.def().field_defs().iter().map(|field| field.name().to_owned()).collect()
    }

    /// The fields, in the order of the source.
    #[getter]
    fn fields(&self) -> Vec<PyField> {
        let of = |id: FieldId| PyField { shared: self.shared.clone(), field: id };
        self.def().field_defs().iter().map(|field| of(field.id())).collect()
    }

    /// The fields by name.
    #[getter]
    fn fields_by_name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        fields_by(py, self, |field| field.name().to_owned())
    }

    /// The fields by number.
    #[getter]
    fn fields_by_number<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        fields_by(py, self, |field| field.number())
    }

    /// The oneofs: the names of the members of each.
    #[getter]
    fn oneofs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for oneof in self.def().oneof_defs() {
            let members = oneof.fields().iter().map(|&id| self.shared.schema.field(id).name());
            dict.set_item(oneof.name(), members.collect::<Vec<_>>())?;
        }
        Ok(dict)
    }

    /// The type itself, where the stock package has a descriptor.
    #[getter]
    #[pyo3(name = "DESCRIPTOR")]
    fn descriptor(&self) -> PyMessageType {
        self.clone()
    }

    /// Its schema.
    #[getter]
    fn schema(&self) -> PySchema {
        PySchema { shared: self.shared.clone() }
    }

    #[pyo3(signature = (**fields))]
    fn __call__(&self, fields: Option<&Bound<'_, PyDict>>) -> PyResult<PyMessage> {
        let tree = match fields {
            Some(fields) => self.filled(|to| to.fields(fields))?,
            None => Tree::new(self.shared.clone(), self.shared.message(self.message)?),
        };
        Ok(PyMessage::whole(tree))
    }

    /// The message encoded in the bytes; raises ``DecodeError``.
    pub(crate) fn decode(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<PyMessage> {
        let input = Input::of(data)?;
        // The names are made before messages are returned.
        Ok(self.whole(self.shared.decode(py, self.message, input.bytes())?))
    }

    /// As ``decode``, under the name of the stock package.
    #[pyo3(name = "FromString")]
    fn parsed(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<PyMessage> {
        self.decode(py, data)
    }

    /// The message as plain values: those that are set.
    fn decode_to_dict<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let input = Input::of(data)?;
        let message = self.shared.decode(py, self.message, input.bytes())?;
        let dict = Dicts { py, shared: &self.shared }.message(message.as_ref());
        self.shared.give_back(message);
        dict
    }

    /// Serializes a message given as plain values.
    #[pyo3(signature = (fields, *, deterministic = false))]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        fields: &Bound<'py, PyAny>,
        deterministic: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let tree = self.filled(|to| to.message(fields))?;
        let reading = tree.reading();
        // SAFETY: the address is that of the tree's outermost message.
        let message = unsafe { tree.at(&reading, tree.root()) };
        let order = if deterministic { MapOrder::ByKey } else { MapOrder::Stored };
        let take = |bytes: &[u8]| PyBytes::new(py, bytes);
        self.shared.encode(py, message, order, Required::Checked, take)
    }

    /// The message of a JSON text; raises ``ParseError``.
    #[pyo3(name = "from_json", signature = (text, *, ignore_unknown = false))]
    fn parse_json(&self, text: &Bound<'_, PyAny>, ignore_unknown: bool) -> PyResult<PyMessage> {
        let input = Input::of_text(text)?;
        let mut message = self.shared.message(self.message)?;
        let schema = &self.shared.schema;
        let sink = &mut message.copying_builder();
        text::read_json(schema, self.message, input.bytes(), ignore_unknown, sink)?;
        Ok(self.whole(message))
    }

    /// The message of a text in the text format; raises ``ParseError``.
    #[pyo3(name = "from_text")]
    fn parse_text(&self, text: &Bound<'_, PyAny>) -> PyResult<PyMessage> {
        let input = Input::of_text(text)?;
        let mut message = self.shared.message(self.message)?;
        let sink = &mut message.copying_builder();
        text::read_text(&self.shared.schema, self.message, input.bytes(), sink)?;
        Ok(self.whole(message))
    }

    /// Serializes a message given as JSON; without a message in between.
    #[pyo3(signature = (text, *, ignore_unknown = false))]
    fn json_to_bytes<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        ignore_unknown: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let input = Input::of_text(text)?;
        let mut sink = BinarySink::new(&self.shared.schema);
        let schema = &self.shared.schema;
        text::read_json(schema, self.message, input.bytes(), ignore_unknown, &mut sink)?;
        Ok(PyBytes::new(py, &sink.into_bytes()))
    }

    /// The JSON of a serialized message; without a message in between.
    fn bytes_to_json<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyString>> {
        let input = Input::of(data)?;
        let text = json::print(&Mapping::new(&self.shared.schema), self.message, input.bytes());
        let text = text.map_err(|error| match error {
            json::PrintError::Bytes(error) => error::decode(py, &error),
            json::PrintError::Value(what) => error::Error::new_err(what),
        })?;
        Ok(PyString::new(py, &text))
    }

    /// The messages of a stream, each prefixed by its length: of a file opened for reading bytes,
    /// of bytes, or of an iterable of pieces of bytes. ``framing`` is ``"varint"`` or
    /// ``"fixed32"``; a message of more than ``bytes_max`` bytes is an error.
    #[pyo3(signature = (source, *, framing = "varint", bytes_max = i32::MAX as usize))]
    fn read_delimited(
        &self,
        source: &Bound<'_, PyAny>,
        framing: &str,
        bytes_max: usize,
    ) -> PyResult<PyDelimited> {
        PyDelimited::new(self.clone(), source, Framing::of(framing)?, bytes_max)
    }

    /// Writes messages, or dicts of their fields, to a file, each prefixed by its length; returns
    /// their number.
    #[pyo3(signature = (file, messages, *, framing = "varint"))]
    fn write_delimited(
        &self,
        py: Python<'_>,
        file: &Bound<'_, PyAny>,
        messages: &Bound<'_, PyAny>,
        framing: &str,
    ) -> PyResult<usize> {
        delimited::write(py, self, file, messages, Framing::of(framing)?)
    }

    /// Compiles the decoder and the encoder now rather than when it pays, which takes some
    /// milliseconds. False if no code can be generated: then the tables remain in use.
    fn prepare(&self, py: Python<'_>) -> bool {
        self.shared.prepare(py, self.message)
    }

    /// Serialized messages as Arrow columns, a row each; ``tidemill.to_arrow`` passes them to
    /// pyarrow.
    #[pyo3(signature = (messages, *, select = None, enums = "names"))]
    fn columns(
        &self,
        messages: &Bound<'_, PyAny>,
        select: Option<Vec<String>>,
        enums: &str,
    ) -> PyResult<PyBatch> {
        let Shared { schema, codes, .. } = &*self.shared;
        fill_columns(codes, schema, self.message, messages, select.unwrap_or_default(), enums)
    }

    /// Types, enums and their values that are declared inside, and ``NAME_FIELD_NUMBER``.
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let missing = || PyAttributeError::new_err(format!("{} has no {name}", self.full_name()));
        self.inner(py, name)?.ok_or_else(missing)
    }

    /// ``isinstance(message, Type)``.
    fn __instancecheck__(&self, value: &Bound<'_, PyAny>) -> bool {
        let Ok(message) = value.cast::<PyMessage>() else { return false };
        message.get().descriptor().is_same(self)
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let Ok(other) = other.cast::<PyMessageType>() else { return Ok(py.NotImplemented()) };
        let same = self.is_same(other.get());
        Ok(same.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    fn __hash__(&self) -> isize {
        (Arc::as_ptr(&self.shared).addr() ^ self.message.index()) as isize
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let restore = py.import("tidemill._native")?.getattr("_restore_type")?;
        let name = self.shared.full_name(py, self.message);
        (restore, (self.shared.descriptor_set(py), name)).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        format!("<tidemill.MessageType {}>", self.full_name())
    }
}
