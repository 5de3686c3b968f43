//! JSON and the text format of messages.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use tidemill_stdx::region::Bump;
use tidemill_wire::encode::table::Encoder;
use tidemill_wire::json::{
    self, Defaults, Enums, JsonSink, Mapping, Names, PrintOptions, ReadOptions, Unknown,
};
use tidemill_wire::message::{MessageRef, Value};
use tidemill_wire::text::{
    self, Layout, PrintUnknown, Required, TextPrintOptions, TextReadOptions, TextSink,
};
use tidemill_wire::{MapOrder, MessageId, Schema, Sink};

use crate::error::{self, Error, ParseError};

/// Parses the options of JSON.
pub(crate) fn print_options(names: &str, enums: &str, defaults: bool) -> PyResult<PrintOptions> {
    let names = match names {
        "json" => Names::Json,
        "proto" => Names::Proto,
        other => return Err(Error::new_err(format!("names: \"json\" or \"proto\", not {other}"))),
    };
    let enums = match enums {
        "names" => Enums::Name,
        "numbers" => Enums::Number,
        other => {
            return Err(Error::new_err(format!("enums: \"names\" or \"numbers\", not {other}")));
        }
    };
    let defaults = if defaults { Defaults::Print } else { Defaults::Omit };
    Ok(PrintOptions { names, enums, defaults, ..PrintOptions::default() })
}

/// The JSON of a message.
pub(crate) fn message_to_json(message: MessageRef<'_>, options: PrintOptions) -> PyResult<Vec<u8>> {
    let mapping = Mapping::new(message.schema());
    let mut sink = JsonSink::new(&mapping, options);
    json::print_message(&mut sink, message).map_err(|error| Error::new_err(error.to_string()))?;
    Ok(sink.into_bytes())
}

/// JSON as a string; with lines indented by `indent` blanks, if given.
pub(crate) fn indented<'py>(
    py: Python<'py>,
    json: &[u8],
    indent: Option<u32>,
) -> PyResult<Bound<'py, PyString>> {
    let text = std::str::from_utf8(json).map_err(|error| Error::new_err(error.to_string()))?;
    let text = PyString::new(py, text);
    let Some(indent) = indent else { return Ok(text) };
    let module = py.import("json")?;
    let options = PyDict::new(py);
    options.set_item("indent", indent)?;
    options.set_item("ensure_ascii", false)?;
    let value = module.call_method1("loads", (text,))?;
    Ok(module.call_method("dumps", (value,), Some(&options))?.cast_into()?)
}

/// The text of a message.
pub(crate) fn message_to_text(
    message: MessageRef<'_>,
    one_line: bool,
    unknown: bool,
) -> PyResult<String> {
    // Rejects excessive nesting, as the indentation grows with the depth.
    Encoder::new().len(message).map_err(error::encode)?;
    let layout = if one_line { Layout::OneLine } else { Layout::Lines };
    let unknown = if unknown { PrintUnknown::Print } else { PrintUnknown::Ignore };
    let mapping = Mapping::new(message.schema());
    let mut sink = TextSink::new(&mapping, TextPrintOptions { layout, unknown });
    if message.walk_ordered(MapOrder::ByKey, &mut sink).is_err() {
        let problem = sink.problem().map_or_else(
            || "the message has no text".to_owned(),
            |problem| format!("the message has no text: {problem:?}"),
        );
        return Err(Error::new_err(problem));
    }
    String::from_utf8(sink.into_bytes()).map_err(|error| Error::new_err(error.to_string()))
}

/// Passes the events of a JSON text to a sink.
pub(crate) fn read_json<S: for<'a> Sink<'a>>(
    schema: &Schema,
    message: MessageId,
    text: &[u8],
    ignore_unknown: bool,
    sink: &mut S,
) -> PyResult<()> {
    let unknown = if ignore_unknown { Unknown::Ignore } else { Unknown::Refuse };
    let options = ReadOptions { unknown, ..ReadOptions::default() };
    let (mapping, arena) = (Mapping::new(schema), Bump::new());
    json::read(&mapping, message, text, &arena, options, sink)
        .map_err(|error| ParseError::new_err(error.to_string()))
}

/// Passes the events of a text to a sink.
pub(crate) fn read_text<S: for<'a> Sink<'a>>(
    schema: &Schema,
    message: MessageId,
    text: &[u8],
    sink: &mut S,
) -> PyResult<()> {
    let (mapping, arena) = (Mapping::new(schema), Bump::new());
    let options = TextReadOptions { required: Required::Ignore, ..TextReadOptions::default() };
    text::read(&mapping, message, text, &arena, options, sink)
        .map_err(|error| ParseError::new_err(error.to_string()))
}

/// The messages in the fields of a message.
pub(crate) fn messages_inside(message: MessageRef<'_>) -> impl Iterator<Item = MessageRef<'_>> {
    message.fields().flat_map(|(_, value)| {
        let inside: Vec<MessageRef<'_>> = match value {
            Value::Message(inner) => vec![inner],
            Value::List(list) => list.iter().filter_map(|value| value.as_message()).collect(),
            Value::Map(map) => map.iter().filter_map(|(_, value)| value.as_message()).collect(),
            _ => Vec::new(),
        };
        inside
    })
}
