//! `google.protobuf.Any`: messages inside of bytes.

use super::names::MessageForm;
use super::sink::{AnyParts, JsonSink, WriteProblem};
use crate::decode::{Decoder, ErrorKind};
use crate::inside::{Inside, Opened};
use crate::merge::walk_merged;
use crate::schema::{MessageId, Schema};
use crate::sink::{SinkResult, Stop};

/// The message that a type URL names.
pub(crate) fn message_of(schema: &Schema, type_url: &str) -> Option<MessageId> {
    let (_, name) = type_url.rsplit_once('/')?;
    schema.message_by_name(name)
}

/// Writes the message inside of an `Any` as JSON.
pub(super) fn write(sink: &mut JsonSink<'_, '_>, any: &AnyParts) -> SinkResult {
    let schema = sink.mapping.schema();
    let Ok(type_url) = std::str::from_utf8(&any.type_url) else { return Err(Stop) };
    let message = message_of(schema, type_url);
    let entry = |&id: &MessageId| sink.mapping.message(id).shape == MessageForm::Entry;
    let Some(message) = message.filter(|id| !entry(id)) else {
        return Err(sink.refuse(format!("an Any holds a `{type_url}`, which is not known")));
    };
    let (decoder, mark) = (Decoder::new(schema), sink.mark());
    sink.open_in_any(message, type_url);
    let mut inside = Inside(sink);
    let error = match decoder.decode(message, &any.value, &mut inside) {
        Ok(()) => return Ok(()),
        Err(error) => error,
    };
    if error.kind != ErrorKind::Stopped {
        return Err(sink.refuse(format!("the bytes of an Any are no {type_url}: {error}")));
    }
    if sink.problem() != Some(&WriteProblem::NeedsMerge) {
        return Err(Stop);
    }
    sink.return_to(&mark);
    sink.open_in_any(message, type_url);
    let walked = walk_merged(&decoder, message, &any.value, &mut Inside(sink));
    sink.go_on(&mark);
    walked.map_err(|_| Stop)
}

impl Opened for JsonSink<'_, '_> {
    fn close_opened(&mut self) -> SinkResult {
        self.close_in_any()
    }
}
