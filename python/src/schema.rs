//! Schemas and message types.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use tidemill_stdx::region::Bump;
use tidemill_wire::encode::BinarySink;
use tidemill_wire::encode::table::Encoder;
use tidemill_wire::json::{self, Mapping, ReadOptions, Unknown};
use tidemill_wire::message::Message;
use tidemill_wire::proto::{Compiled, Texts, compile, load};
use tidemill_wire::{MessageId, Schema, Sink};

use crate::batch::{Codes, PyBatch, fill};
use crate::convert::{assign_fields, to_dict};
use crate::error::{self, EncodeError, ParseError, SchemaError};
use crate::message::{PyMessage, Tree};

/// Message definitions.
#[pyclass(name = "Schema", module = "tidemill", frozen)]
pub(crate) struct PySchema {
    schema: Schema,
    codes: Arc<Codes>,
}

impl PySchema {
    fn new(schema: Schema) -> PySchema {
        PySchema { schema, codes: Arc::default() }
    }
}

fn compiled(compiled: Compiled) -> PyResult<PySchema> {
    let Compiled { sources, diagnostics, schema } = compiled;
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
    /// Raises ``SchemaError`` with a line per problem, each with its place.
    #[staticmethod]
    #[pyo3(signature = (text, name = "input.proto"))]
    fn from_text(text: &str, name: &str) -> PyResult<PySchema> {
        compiled(compile(&[name], &Texts::from_iter([(name, text)])))
    }

    /// Compiles ``.proto`` texts that import each other by their names.
    #[staticmethod]
    fn from_texts(texts: std::collections::BTreeMap<String, String>) -> PyResult<PySchema> {
        let texts = Texts { texts };
        let names: Vec<&str> = texts.texts.keys().map(String::as_str).collect();
        compiled(compile(&names, &texts))
    }

    /// Compiles ``.proto`` files, and ``.fds`` files with sets of descriptors; imports are looked
    /// for in the folders of ``include``, without any in the current one and those of the files.
    #[staticmethod]
    #[pyo3(signature = (files, include = None))]
    fn from_files(files: Vec<PathBuf>, include: Option<Vec<PathBuf>>) -> PyResult<PySchema> {
        compiled(load(&files, &include.unwrap_or_default()))
    }

    /// Loads a serialized ``google.protobuf.FileDescriptorSet``.
    #[staticmethod]
    fn from_descriptor_set(data: &[u8]) -> PyResult<PySchema> {
        let schema = Schema::from_descriptor_set(data);
        let schema = schema.map_err(|error| SchemaError::new_err(error.to_string()))?;
        Ok(PySchema::new(schema))
    }

    /// The definitions as a serialized ``google.protobuf.FileDescriptorSet``.
    fn descriptor_set<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.schema.descriptor_set())
    }

    /// Full names of all message types.
    fn message_types(&self) -> Vec<String> {
        self.schema.messages().map(|id| self.schema.full_name(id).to_owned()).collect()
    }

    fn __getitem__(&self, full_name: &str) -> PyResult<PyMessageType> {
        match self.schema.message_by_name(full_name) {
            Some(message) => {
                let (schema, codes) = (self.schema.clone(), self.codes.clone());
                Ok(PyMessageType { schema, message, codes })
            }
            None => Err(PyKeyError::new_err(format!("no message type is named {full_name}"))),
        }
    }

    fn __contains__(&self, full_name: &str) -> bool {
        self.schema.message_by_name(full_name).is_some()
    }

    fn __repr__(&self) -> String {
        format!("<tidemill.Schema of {} message types>", self.schema.messages().len())
    }
}

/// A message type.
#[pyclass(name = "MessageType", module = "tidemill", frozen, eq)]
#[derive(Clone)]
pub(crate) struct PyMessageType {
    pub(crate) schema: Schema,
    pub(crate) message: MessageId,
    /// Shared by all types of the schema.
    pub(crate) codes: Arc<Codes>,
}

impl PartialEq for PyMessageType {
    fn eq(&self, other: &PyMessageType) -> bool {
        self.message == other.message && self.schema.is_same(&other.schema)
    }
}

impl PyMessageType {
    pub(crate) fn empty(&self) -> PyResult<Message<'static>> {
        Message::new(&self.schema, self.message).map_err(error::access)
    }

    fn whole(&self, py: Python<'_>, message: Message<'static>) -> PyResult<PyMessage> {
        Ok(PyMessage::whole(
            Py::new(py, Tree { message, codes: self.codes.clone() })?,
            self.message,
        ))
    }

    /// Tells a sink what a JSON text says.
    fn read_json<S: for<'a> Sink<'a>>(
        &self,
        text: &Bound<'_, PyAny>,
        ignore_unknown: bool,
        sink: &mut S,
    ) -> PyResult<()> {
        let unknown = if ignore_unknown { Unknown::Ignore } else { Unknown::Refuse };
        let options = ReadOptions { unknown, ..ReadOptions::default() };
        let (mapping, arena) = (Mapping::new(&self.schema), Bump::new());
        json::read(&mapping, self.message, bytes_of(text)?, &arena, options, sink)
            .map_err(|error| ParseError::new_err(error.to_string()))
    }
}

/// What a `str` or `bytes` holds.
fn bytes_of<'t>(text: &'t Bound<'_, PyAny>) -> PyResult<&'t [u8]> {
    match text.cast::<PyString>() {
        Ok(text) => Ok(text.to_str()?.as_bytes()),
        Err(_) => Ok(text.extract()?),
    }
}

#[pymethods]
impl PyMessageType {
    /// The name with its package.
    #[getter]
    fn full_name(&self) -> &str {
        self.schema.full_name(self.message)
    }

    /// The names of the fields, in the order of the source.
    #[getter]
    fn field_names(&self) -> Vec<String> {
        let fields = self.schema.message(self.message).field_defs();
        fields.iter().map(|field| field.name().to_owned()).collect()
    }

    #[pyo3(signature = (**fields))]
    fn __call__(&self, py: Python<'_>, fields: Option<&Bound<'_, PyDict>>) -> PyResult<PyMessage> {
        let mut message = self.empty()?;
        if let Some(fields) = fields {
            assign_fields(message.as_mut(), fields)?;
        }
        self.whole(py, message)
    }

    /// The message that the bytes are; raises ``DecodeError``.
    fn decode(&self, py: Python<'_>, data: &[u8]) -> PyResult<PyMessage> {
        let mut message = self.empty()?;
        message.decode_copied(data).map_err(|error| error::decode(py, &error))?;
        self.whole(py, message)
    }

    /// The message as plain values: those that are set.
    fn decode_to_dict<'py>(&self, py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyDict>> {
        let mut message = Message::new(&self.schema, self.message).map_err(error::access)?;
        message.decode(data).map_err(|error| error::decode(py, &error))?;
        to_dict(py, message.as_ref())
    }

    /// Serializes a message given as plain values.
    fn encode<'py>(
        &self,
        py: Python<'py>,
        fields: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut message = self.empty()?;
        assign_fields(message.as_mut(), fields)?;
        let bytes = Encoder::new().check_required().encode(message.as_ref());
        let bytes = bytes.map_err(|error| EncodeError::new_err(error.to_string()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The message that a JSON text is; raises ``ParseError``.
    #[pyo3(signature = (text, *, ignore_unknown = false))]
    fn from_json(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        ignore_unknown: bool,
    ) -> PyResult<PyMessage> {
        let mut message = self.empty()?;
        self.read_json(text, ignore_unknown, &mut message.copying_builder())?;
        self.whole(py, message)
    }

    /// Serializes a message given as JSON; no message is made in between.
    #[pyo3(signature = (text, *, ignore_unknown = false))]
    fn json_to_bytes<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        ignore_unknown: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut sink = BinarySink::new(&self.schema);
        self.read_json(text, ignore_unknown, &mut sink)?;
        Ok(PyBytes::new(py, &sink.into_bytes()))
    }

    /// The JSON of a serialized message; no message is made in between.
    fn bytes_to_json<'py>(&self, py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyString>> {
        let text = json::print(&Mapping::new(&self.schema), self.message, data);
        let text = text.map_err(|error| match error {
            json::PrintError::Bytes(error) => error::decode(py, &error),
            json::PrintError::Value(what) => error::Error::new_err(what),
        })?;
        Ok(PyString::new(py, &text))
    }

    /// Serialized messages as Arrow columns, a row each; ``tidemill.to_arrow`` gives them to
    /// pyarrow.
    #[pyo3(signature = (messages, *, select = None, enums = "names"))]
    fn columns(
        &self,
        messages: &Bound<'_, PyAny>,
        select: Option<Vec<String>>,
        enums: &str,
    ) -> PyResult<PyBatch> {
        fill(&self.codes, &self.schema, self.message, messages, select.unwrap_or_default(), enums)
    }

    fn __repr__(&self) -> String {
        format!("<tidemill.MessageType {}>", self.full_name())
    }
}
