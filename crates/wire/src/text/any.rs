//! `google.protobuf.Any` as text: its message, if the type is known.

use super::names::is_of_url;
use super::sink::TextSink;
use crate::decode::{Decoder, ErrorKind};
use crate::inside::{Inside, Opened};
use crate::json::{WriteProblem, message_of};
use crate::merge::walk_merged;
use crate::sink::SinkResult;

/// Writes the message inside an `Any`; false if it cannot, and then nothing is written.
pub(super) fn expand(sink: &mut TextSink<'_, '_>, type_url: &[u8], value: &[u8]) -> bool {
    let schema = sink.mapping.schema();
    // Other bytes between brackets could not be read again.
    let is_writable = type_url.iter().all(|&byte| is_of_url(byte));
    let type_url = std::str::from_utf8(type_url).ok().filter(|_| is_writable);
    let Some((type_url, message)) =
        type_url.and_then(|type_url| Some((type_url, message_of(schema, type_url)?)))
    else {
        return false;
    };
    let (decoder, mark) = (Decoder::new(schema), sink.mark());
    sink.open_any(message, type_url);
    let error = match decoder.decode(message, value, &mut Inside(sink)) {
        Ok(()) => return true,
        Err(error) => error,
    };
    let merge =
        error.kind == ErrorKind::Stopped && sink.problem() == Some(&WriteProblem::NeedsMerge);
    sink.return_to(&mark);
    if merge {
        sink.open_any(message, type_url);
        if walk_merged(&decoder, message, value, &mut Inside(sink)).is_ok() {
            return true;
        }
        sink.return_to(&mark);
    }
    false
}

impl Opened for TextSink<'_, '_> {
    fn close_opened(&mut self) -> SinkResult {
        self.close_any()
    }
}
