//! Descriptors of fields and enums, as Python objects.

use std::sync::Arc;

use pyo3::exceptions::{PyAttributeError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tidemill_wire::schema::Enum;
use tidemill_wire::{EnumId, FieldId, FieldType, Label};

use crate::error::Error;
use crate::schema::PyMessageType;
use crate::shared::Shared;
use crate::value;

/// A field of a message type.
#[pyclass(name = "Field", module = "tidemill", frozen)]
pub(crate) struct PyField {
    pub(crate) shared: Arc<Shared>,
    pub(crate) field: FieldId,
}

impl PyField {
    pub(crate) fn is_of(&self, shared: &Arc<Shared>) -> bool {
        Arc::ptr_eq(&self.shared, shared)
    }

    fn def(&self) -> &tidemill_wire::schema::Field {
        self.shared.schema.field(self.field)
    }
}

#[pymethods]
impl PyField {
    /// Its name; that of an extension without its package.
    #[getter]
    fn name(&self) -> &str {
        self.def().name()
    }

    /// The name with package and message.
    #[getter]
    fn full_name(&self) -> String {
        match self.def().extension_name() {
            Some(name) => name.to_string(),
            None => {
                let of = self.shared.schema.full_name(self.def().message());
                format!("{of}.{}", self.def().name())
            }
        }
    }

    /// The key in JSON.
    #[getter]
    fn json_name(&self) -> &str {
        self.def().json_name()
    }

    /// Its number.
    #[getter]
    fn number(&self) -> u32 {
        self.def().number()
    }

    /// The type of its values as in ``.proto`` files: ``"int32"``, ``"message"``, ``"enum"``.
    #[getter]
    fn kind(&self) -> String {
        match self.def().field_type() {
            FieldType::Scalar(scalar) => format!("{scalar:?}").to_lowercase(),
            FieldType::Enum(_) => "enum".to_owned(),
            FieldType::Message(_) => "message".to_owned(),
            FieldType::Group(_) => "group".to_owned(),
        }
    }

    /// Whether it may occur many times; true also for maps.
    #[getter]
    fn is_repeated(&self) -> bool {
        self.def().label() == Label::Repeated
    }

    /// Whether it must be set.
    #[getter]
    fn is_required(&self) -> bool {
        self.def().label() == Label::Required
    }

    /// Whether it is a map.
    #[getter]
    fn is_map(&self) -> bool {
        let inner = self.def().field_type().message();
        self.is_repeated()
            && inner.is_some_and(|inner| self.shared.schema.message(inner).is_map_entry())
    }

    /// Whether it is an extension.
    #[getter]
    fn is_extension(&self) -> bool {
        self.def().extension_name().is_some()
    }

    /// Whether it has presence: a default that was set differs from an absent value.
    #[getter]
    fn has_presence(&self) -> bool {
        self.def().has_presence()
    }

    /// The message type that it is a field of.
    #[getter]
    fn containing_type(&self) -> PyMessageType {
        PyMessageType { shared: self.shared.clone(), message: self.def().message() }
    }

    /// The message type of its values; of a map that of its entries.
    #[getter]
    fn message_type(&self) -> Option<PyMessageType> {
        let message = self.def().field_type().message()?;
        Some(PyMessageType { shared: self.shared.clone(), message })
    }

    /// The enum of its values.
    #[getter]
    fn enum_type(&self) -> Option<PyEnum> {
        let FieldType::Enum(of) = self.def().field_type() else { return None };
        Some(PyEnum { shared: self.shared.clone(), of })
    }

    /// The name of the oneof that it is a member of.
    #[getter]
    fn containing_oneof(&self) -> Option<&str> {
        Some(self.shared.schema.oneof(self.def().oneof()?).name())
    }

    /// Its value when it is not set; ``None`` for messages, lists and maps.
    #[getter]
    fn default_value<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let message = self.shared.message(self.def().message())?;
        let value = message.get(self.field).map_err(crate::error::access)?;
        value::to_python(py, &value)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let Ok(other) = other.cast::<PyField>() else { return false };
        self.field == other.get().field && self.shared.schema.is_same(&other.get().shared.schema)
    }

    fn __hash__(&self) -> isize {
        (Arc::as_ptr(&self.shared).addr() ^ self.field.index()) as isize
    }

    fn __repr__(&self) -> String {
        format!("<tidemill.Field {}>", self.full_name())
    }
}

/// An enum: names and numbers of its values.
#[pyclass(name = "Enum", module = "tidemill", frozen)]
pub(crate) struct PyEnum {
    pub(crate) shared: Arc<Shared>,
    pub(crate) of: EnumId,
}

impl PyEnum {
    fn def(&self) -> &Enum {
        self.shared.schema.enum_def(self.of)
    }

    fn number(&self, name: &str) -> Option<i32> {
        self.def().value_by_name(name).map(|value| value.number())
    }
}

#[pymethods]
impl PyEnum {
    /// The name with its package.
    #[getter]
    fn full_name(&self) -> String {
        self.def().full_name().to_string()
    }

    /// The name without its package.
    #[getter]
    fn name(&self) -> &str {
        self.def().name()
    }

    /// Whether numbers that it does not name are unknown fields.
    #[getter]
    fn is_closed(&self) -> bool {
        self.def().is_closed()
    }

    /// The number of a name.
    #[pyo3(name = "Value")]
    fn value(&self, name: &str) -> PyResult<i32> {
        let missing = || Error::new_err(format!("{} has no value {name}", self.def().full_name()));
        self.number(name).ok_or_else(missing)
    }

    /// The first name of a number.
    #[pyo3(name = "Name")]
    fn name_of(&self, number: i32) -> PyResult<&str> {
        let missing =
            || Error::new_err(format!("{} has no name for {number}", self.def().full_name()));
        self.def().value_by_number(number).map(|value| value.name()).ok_or_else(missing)
    }

    /// The names, in the order of the source.
    fn keys(&self) -> Vec<&str> {
        self.def().values().iter().map(|value| value.name()).collect()
    }

    /// The numbers, in the order of the source.
    fn values(&self) -> Vec<i32> {
        self.def().values().iter().map(|value| value.number()).collect()
    }

    /// Pairs of names and numbers, in the order of the source.
    fn items(&self) -> Vec<(&str, i32)> {
        self.def().values().iter().map(|value| (value.name(), value.number())).collect()
    }

    fn __getitem__(&self, name: &str) -> PyResult<i32> {
        self.number(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }

    /// Values are attributes as well.
    fn __getattr__(&self, name: &str) -> PyResult<i32> {
        let missing = || format!("{} has no value {name}", self.def().full_name());
        self.number(name).ok_or_else(|| PyAttributeError::new_err(missing()))
    }

    fn __contains__(&self, name: &str) -> bool {
        self.number(name).is_some()
    }

    fn __len__(&self) -> usize {
        self.def().values().len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pyo3::types::PyList::new(py, self.keys())?.try_iter()?.into_any())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let Ok(other) = other.cast::<PyEnum>() else { return false };
        self.of == other.get().of && self.shared.schema.is_same(&other.get().shared.schema)
    }

    fn __hash__(&self) -> isize {
        (Arc::as_ptr(&self.shared).addr() ^ self.of.index()) as isize
    }

    fn __repr__(&self) -> String {
        format!("<tidemill.Enum {}>", self.def().full_name())
    }
}

/// The fields of a type by their `key`.
pub(crate) fn fields_by<'py, K: IntoPyObject<'py>>(
    py: Python<'py>,
    of: &PyMessageType,
    key: impl Fn(&tidemill_wire::schema::Field) -> K,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for field in of.shared.schema.message(of.message).field_defs() {
        dict.set_item(key(field), PyField { shared: of.shared.clone(), field: field.id() })?;
    }
    Ok(dict)
}
