//! Unknown fields as text: by number, in the form of their wire type.

use super::sink::TextSink;
use crate::escape;
use crate::json::print;
use crate::schema::{RawFields, RawValue};

/// The maximal nesting of bytes that are shown as messages.
const DEPTH_MAX: usize = 10;

/// Writes the fields of `raw`.
pub(super) fn write(sink: &mut TextSink<'_, '_>, raw: &[u8]) {
    fields(sink, raw, DEPTH_MAX);
}

fn fields(sink: &mut TextSink<'_, '_>, raw: &[u8], depth: usize) {
    for (number, value) in RawFields::new(raw).flatten() {
        sink.start_line();
        print::integer(&mut sink.out, number);
        match value {
            RawValue::Varint(value) => {
                sink.out.extend_from_slice(b": ");
                print::integer(&mut sink.out, value);
            }
            RawValue::Fixed64(value) => {
                sink.out.extend_from_slice(format!(": 0x{value:016x}").as_bytes());
            }
            RawValue::Fixed32(value) => {
                sink.out.extend_from_slice(format!(": 0x{value:08x}").as_bytes());
            }
            RawValue::Length(bytes) if depth > 0 && is_message(bytes) => {
                message(sink, bytes, depth - 1);
            }
            RawValue::Length(bytes) => {
                sink.out.extend_from_slice(b": \"");
                escape::escape_bytes(&mut sink.out, bytes);
                sink.out.push(b'"');
            }
            RawValue::Group(bytes) => message(sink, bytes, depth.saturating_sub(1)),
        }
        sink.end_line();
    }
}

fn message(sink: &mut TextSink<'_, '_>, bytes: &[u8], depth: usize) {
    sink.open_brace();
    fields(sink, bytes, depth);
    sink.close_brace();
}

/// True if the bytes are likely to be a message: they are not empty and form one.
fn is_message(bytes: &[u8]) -> bool {
    !bytes.is_empty() && RawFields::new(bytes).all(|field| field.is_ok())
}
