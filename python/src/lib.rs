//! The native half of the Python package: schemas, message types, messages, Arrow batches.
//!
//! ```text
//! Schema --["name"]--> MessageType --decode--> Message (a tree and a path in it)
//!                          |                      |-- .field --> value, Message, RepeatedField
//!                          '--columns--> Batch    '-- to_dict, to_json, encode
//! ```
//! A Python object of a message inside another holds the outermost one and the way to itself, so
//! no object can outlive what it reads, whatever is changed in between.

mod batch;
mod convert;
mod error;
mod message;
mod path;
mod schema;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add_class::<schema::PySchema>()?;
    module.add_class::<schema::PyMessageType>()?;
    module.add_class::<message::PyMessage>()?;
    module.add_class::<message::PyRepeated>()?;
    module.add_class::<message::PyMap>()?;
    module.add_class::<batch::PyBatch>()?;
    module.add("Error", py.get_type::<error::Error>())?;
    module.add("SchemaError", py.get_type::<error::SchemaError>())?;
    module.add("DecodeError", py.get_type::<error::DecodeError>())?;
    module.add("ParseError", py.get_type::<error::ParseError>())?;
    module.add("EncodeError", py.get_type::<error::EncodeError>())?;
    Ok(())
}
