//! Bytes passed by Python, in any kind of object.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyString};

/// The bytes of an object, valid while the interpreter does not run.
pub(crate) enum Input<'a, 'py> {
    /// Of `bytes`, which are immutable.
    Bytes(&'a Bound<'py, PyBytes>),
    /// Of a `str`, in UTF-8.
    Text(&'a str),
    /// A copy: other buffers can change, some (mapped files) even while the interpreter does not
    /// run.
    Copy(Vec<u8>),
}

impl<'a, 'py> Input<'a, 'py> {
    /// Of a bytes-like object.
    #[inline]
    pub(crate) fn of(value: &'a Bound<'py, PyAny>) -> PyResult<Input<'a, 'py>> {
        match value.cast::<PyBytes>() {
            Ok(bytes) => Ok(Input::Bytes(bytes)),
            Err(_) => Input::copy(value),
        }
    }

    /// Of a bytes-like object or a `str`.
    pub(crate) fn of_text(value: &'a Bound<'py, PyAny>) -> PyResult<Input<'a, 'py>> {
        match value.cast::<PyString>() {
            Ok(text) => Ok(Input::Text(text.to_str()?)),
            Err(_) => Input::of(value),
        }
    }

    #[cold]
    fn copy(value: &Bound<'py, PyAny>) -> PyResult<Input<'a, 'py>> {
        if let Ok(array) = value.cast::<PyByteArray>() {
            return Ok(Input::Copy(array.to_vec()));
        }
        let py = value.py();
        let buffer = match PyBuffer::<u8>::get(value) {
            Ok(buffer) => buffer,
            // Signed bytes and `char` are bytes too.
            Err(_) => {
                let view = pyo3::types::PyMemoryView::from(value).map_err(|_| needed(value))?;
                PyBuffer::<u8>::get(&view.call_method1("cast", ("B",))?)?
            }
        };
        Ok(Input::Copy(buffer.to_vec(py)?))
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Input::Bytes(bytes) => bytes.as_bytes(),
            Input::Text(text) => text.as_bytes(),
            Input::Copy(bytes) => bytes,
        }
    }
}

#[cold]
fn needed(value: &Bound<'_, PyAny>) -> PyErr {
    let ty = value.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
    PyTypeError::new_err(format!("a bytes-like object is needed, not {ty}"))
}
