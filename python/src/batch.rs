//! Arrow columns for Python, over the C data interface.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, RecordBatch, StructArray, ffi};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tidemill_wire::{MessageId, Schema};
use tidemill_wire_arrow::{BatchReader, Engine, EnumForm, Options, ReaderCode};

use crate::error;
use crate::input::Input;

/// Arrow columns, a row per message.
#[pyclass(name = "Batch", module = "tidemill", frozen)]
pub(crate) struct PyBatch {
    batch: RecordBatch,
}

/// The maximal number of decoders kept for later calls.
const KEPT: usize = 32;

/// The decoders that were compiled for columns of a schema, the latest last.
#[derive(Default)]
pub(crate) struct Codes {
    kept: Mutex<Vec<(MessageId, Options, Arc<ReaderCode>)>>,
}

impl Codes {
    /// The code for a message type and its options, compiled if not cached.
    fn get(
        &self,
        schema: &Schema,
        message: MessageId,
        options: &Options,
    ) -> PyResult<Arc<ReaderCode>> {
        // A panic leaves the list valid: changing it is the last step.
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept().iter().find(|(of, with, _)| (*of, with) == (message, options)).cloned();
        if let Some((_, _, code)) = known {
            return Ok(code);
        }
        let code = ReaderCode::new(schema, message, options, Engine::Native)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let code = Arc::new(code);
        let mut kept = kept();
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push((message, options.clone(), code.clone()));
        Ok(code)
    }
}

/// Decodes all messages into columns.
pub(crate) fn fill(
    codes: &Codes,
    schema: &Schema,
    message: MessageId,
    messages: &Bound<'_, PyAny>,
    select: Vec<String>,
    enums: &str,
) -> PyResult<PyBatch> {
    let enums = match enums {
        "names" => EnumForm::Names,
        "numbers" => EnumForm::Numbers,
        other => {
            let text = format!("enums is \"names\" or \"numbers\", not \"{other}\"");
            return Err(PyValueError::new_err(text));
        }
    };
    let options = Options { select, enums };
    let mut reader = BatchReader::with(codes.get(schema, message, &options)?);
    for one in messages.try_iter()? {
        let one = one?;
        let input = Input::of(&one)?;
        reader.append(input.bytes()).map_err(|error| error::decode(messages.py(), &error))?;
    }
    let batch = reader.finish().map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(PyBatch { batch })
}

#[pymethods]
impl PyBatch {
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The capsules that consumers of Arrow's C data interface take; a requested schema is optional
    /// by the protocol, and ignored.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        let whole = StructArray::from(self.batch.clone());
        let (array, schema) = ffi::to_ffi(&whole.to_data())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        // Both capsules release their contents if they are dropped unused.
        let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
        let array = PyCapsule::new_with_value(py, array, c"arrow_array")?;
        Ok((schema, array))
    }

    fn __repr__(&self) -> String {
        let columns = self.batch.num_columns();
        format!("<tidemill.Batch of {} rows, {columns} columns>", self.batch.num_rows())
    }
}
