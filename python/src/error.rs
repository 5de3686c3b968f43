//! Errors as Python exceptions.

use pyo3::create_exception;
use pyo3::exceptions::{
    PyAttributeError, PyIndexError, PyOverflowError, PyRecursionError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};
use tidemill_wire::EncodeError as Unencodable;
use tidemill_wire::message::AccessError;

create_exception!(tidemill, Error, PyValueError, "Whatever is wrong with an input.");
create_exception!(tidemill, SchemaError, Error, "Definitions that are wrong.");
create_exception!(tidemill, DecodeError, Error, "Bytes that are no message of the type.");
create_exception!(tidemill, ParseError, Error, "Text that is no JSON or text format of the type.");
create_exception!(tidemill, EncodeError, Error, "A message that cannot be written.");

/// `RangeError`: an `Error` and an `OverflowError`.
pub(crate) fn range_error(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let made = TYPE.get_or_try_init(py, || {
        let bases = (py.get_type::<Error>(), py.get_type::<PyOverflowError>());
        let dict = PyDict::new(py);
        dict.set_item("__module__", "tidemill")?;
        dict.set_item("__doc__", "A number that the field has no room for.")?;
        let made = py.get_type::<PyType>().call1(("RangeError", bases, dict))?;
        Ok::<_, PyErr>(made.cast_into::<PyType>()?.unbind())
    });
    Ok(made?.bind(py))
}

/// The error of a number out of the field's range.
pub(crate) fn range(py: Python<'_>, text: String) -> PyErr {
    match range_error(py) {
        Ok(ty) => PyErr::from_type(ty.clone(), text),
        Err(error) => error,
    }
}

/// The error of malformed bytes, with the attributes `offset` and `path`.
#[cold]
pub(crate) fn decode(py: Python<'_>, error: &tidemill_wire::DecodeError) -> PyErr {
    let raised = DecodeError::new_err(error.to_string());
    let value = raised.value(py);
    let set = value.setattr("offset", error.offset).and(value.setattr("path", &error.path));
    set.err().unwrap_or(raised)
}

/// The error of a message that cannot be encoded.
#[cold]
pub(crate) fn encode(error: Unencodable) -> PyErr {
    EncodeError::new_err(error.to_string())
}

/// The error of an unknown field, or one of another type.
#[cold]
pub(crate) fn access(error: AccessError) -> PyErr {
    match error {
        AccessError::NoField { .. } => PyAttributeError::new_err(error.to_string()),
        AccessError::WrongKind { .. } => PyTypeError::new_err(error.to_string()),
        AccessError::OutOfRange { .. } => PyIndexError::new_err(error.to_string()),
        _ => Error::new_err(error.to_string()),
    }
}

/// The error of a change while the message is being read.
#[cold]
pub(crate) fn busy() -> PyErr {
    Error::new_err("the message is changed while it is read")
}

/// The error of a value of the wrong type.
#[cold]
pub(crate) fn wrong(needed: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let ty = value.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
    PyTypeError::new_err(format!("{needed} is needed, not {ty}"))
}

/// The error of nesting that is too deep for the stack.
#[cold]
pub(crate) fn too_deep() -> PyErr {
    PyRecursionError::new_err("messages nest too deep")
}
