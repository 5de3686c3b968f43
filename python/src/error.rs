//! What goes wrong, as Python exceptions.

use pyo3::create_exception;
use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use tidemill_wire::message::AccessError;

create_exception!(tidemill, Error, PyValueError, "Whatever is wrong with an input.");
create_exception!(tidemill, SchemaError, Error, "Definitions that are wrong.");
create_exception!(tidemill, DecodeError, Error, "Bytes that are no message of the type.");
create_exception!(tidemill, ParseError, Error, "Text that is no JSON of the type.");
create_exception!(tidemill, EncodeError, Error, "A message that cannot be written.");

/// Bytes that are no message; `offset` and `path` are attributes.
pub(crate) fn decode(py: Python<'_>, error: &tidemill_wire::DecodeError) -> PyErr {
    let raised = DecodeError::new_err(error.to_string());
    let value = raised.value(py);
    let set = value.setattr("offset", error.offset).and(value.setattr("path", &error.path));
    set.err().unwrap_or(raised)
}

/// A field that is not there, or holds something else.
pub(crate) fn access(error: AccessError) -> PyErr {
    match error {
        AccessError::NoField { .. } => PyAttributeError::new_err(error.to_string()),
        AccessError::WrongKind { .. } => PyTypeError::new_err(error.to_string()),
        _ => Error::new_err(error.to_string()),
    }
}
