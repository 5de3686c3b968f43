//! Extra methods of well-known types, from `tidemill/_wellknown.py`, used when a name or value is
//! not found otherwise.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use tidemill_wire::MessageId;

use crate::message::PyMessage;

/// The types' package.
const PACKAGE: &str = "google.protobuf.";

/// A method of a message of a well-known type.
#[cold]
pub(crate) fn attribute<'py>(
    message: &Bound<'py, PyMessage>,
    ty: MessageId,
    name: &Bound<'py, PyString>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = message.py();
    let of = message.get().shared().schema.full_name(ty);
    if !of.starts_with(PACKAGE) {
        return Ok(None);
    }
    let function = py.import("tidemill._wellknown")?.call_method1("method", (of, name))?;
    if function.is_none() {
        return Ok(None);
    }
    let bound = py.import("types")?.getattr("MethodType")?.call1((function, message))?;
    Ok(Some(bound))
}

/// The fields of a well-known message for a Python object.
#[cold]
pub(crate) fn fields_of<'py>(
    of: &str,
    value: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    if !of.starts_with(PACKAGE) {
        return Ok(None);
    }
    let module = value.py().import("tidemill._wellknown")?;
    let fields = module.call_method1("fields_of", (of, value))?;
    Ok(fields.cast_into::<PyDict>().ok())
}
