//! The native half of the Python package: schemas, message types, messages, Arrow batches.
//!
//! ```text
//! Schema --["name"]--> MessageType --decode--> Message (a tree and a record in it)
//!                          |                      |-- .field --> value, Message, RepeatedField
//!                          '--columns--> Batch    '-- to_dict, to_json, encode
//! ```
//! | part | holds |
//! |---|---|
//! | `shared` | state shared by all objects of a schema: names, machine code, spare memory |
//! | `tree` | the memory of a message, and the rules of its use |
//! | `message`, `repeated`, `map` | views of it, as Python objects |
//! | `value`, `fill`, `dict` | conversion between Python values and messages |
//! | `names`, `slot` | the field of an attribute, and its slot |
//! | `wellknown` | extra methods of times, `Any` and the like, written in Python |
//! | `text`, `delimited`, `input`, `batch` | JSON and text, streams, bytes-like objects, columns |
//!
//! The interpreter's lock is the only lock; on a build of Python without it, loading this module
//! turns it on.

mod batch;
mod delimited;
mod descriptor;
mod dict;
mod error;
mod fill;
mod input;
mod key;
mod map;
mod message;
mod names;
mod repeated;
mod schema;
mod shared;
mod slot;
mod text;
mod tree;
mod value;
mod wellknown;

use pyo3::prelude::*;

#[pymodule(gil_used = true)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<schema::PySchema>()?;
    module.add_class::<schema::PyMessageType>()?;
    module.add_class::<message::PyMessage>()?;
    module.add_class::<message::PyExtensions>()?;
    module.add_class::<repeated::PyRepeated>()?;
    module.add_class::<map::PyMap>()?;
    module.add_class::<descriptor::PyField>()?;
    module.add_class::<descriptor::PyEnum>()?;
    module.add_class::<delimited::PyDelimited>()?;
    module.add_class::<batch::PyBatch>()?;
    module.add("Error", py.get_type::<error::Error>())?;
    module.add("SchemaError", py.get_type::<error::SchemaError>())?;
    module.add("DecodeError", py.get_type::<error::DecodeError>())?;
    module.add("ParseError", py.get_type::<error::ParseError>())?;
    module.add("EncodeError", py.get_type::<error::EncodeError>())?;
    module.add("RangeError", error::range_error(py)?)?;
    module.add_function(wrap_pyfunction!(schema::_restore_schema, module)?)?;
    module.add_function(wrap_pyfunction!(schema::_restore_type, module)?)?;
    module.add_function(wrap_pyfunction!(schema::_restore_message, module)?)?;
    map::register(py)
}
