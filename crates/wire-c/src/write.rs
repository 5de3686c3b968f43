//! Functions that turn messages into bytes, JSON and text, and back.

use tidemill_stdx::region::Bump;
use tidemill_wire::encode::BinarySink;
use tidemill_wire::json::{self, Defaults, Enums, JsonSink, Mapping, Names, PrintOptions};
use tidemill_wire::json::{ReadOptions, Unknown, WriteProblem};
use tidemill_wire::text::{self, Layout, PrintUnknown, Required, TextPrintOptions};
use tidemill_wire::text::{TextReadOptions, TextSink};
use tidemill_wire::{Encoder, MapOrder, Schema};

use crate::decoder::{CDecoder, Task};
use crate::error::{Code, Error, Failure};
use crate::guard::{Buffer, Out, Outcome, bytes, given, given_mut, run};
use crate::ids::type_of;
use crate::view::{CMessage, View};

/// The numbers are those of `tidemill_flags`.
pub(crate) mod flags {
    pub(crate) const SORTED: u32 = 1;
    pub(crate) const CHECK_REQUIRED: u32 = 2;
    pub(crate) const PROTO_NAMES: u32 = 4;
    pub(crate) const ENUM_NUMBERS: u32 = 8;
    pub(crate) const PRINT_DEFAULTS: u32 = 16;
    pub(crate) const IGNORE_UNKNOWN: u32 = 32;
    pub(crate) const PRINT_UNKNOWN: u32 = 64;
    pub(crate) const ONE_LINE: u32 = 128;
    const ALL: u32 = 255;

    /// Unknown flags are a misuse.
    pub(crate) fn check(flags: u32) -> super::Outcome<()> {
        match flags & !ALL {
            0 => Ok(()),
            _ => Err(super::Failure::misuse(format!("there are no flags {flags:#x}"))),
        }
    }
}

fn chosen<T>(given: u32, flag: u32, with: T, without: T) -> T {
    if given & flag != 0 { with } else { without }
}

fn json_options(given: u32) -> PrintOptions {
    PrintOptions {
        names: chosen(given, flags::PROTO_NAMES, Names::Proto, Names::Json),
        enums: chosen(given, flags::ENUM_NUMBERS, Enums::Number, Enums::Name),
        defaults: chosen(given, flags::PRINT_DEFAULTS, Defaults::Print, Defaults::Omit),
        unknown: Unknown::Ignore,
    }
}

fn read_options(given: u32) -> ReadOptions {
    let unknown = chosen(given, flags::IGNORE_UNKNOWN, Unknown::Ignore, Unknown::Refuse);
    ReadOptions { unknown, ..ReadOptions::default() }
}

fn refused(problem: Option<&WriteProblem>) -> Failure {
    match problem {
        Some(WriteProblem::Value(what)) => Failure::new(Code::Encode, what.clone()),
        _ => Failure::new(Code::Encode, "the message cannot be written"),
    }
}

/// Writes the result of `make` to `out`.
///
/// # Safety
/// Both addresses are null or writable.
unsafe fn made(
    out: *mut Buffer,
    error: *mut *mut Error,
    given: u32,
    make: impl FnOnce() -> Outcome<Vec<u8>>,
) -> bool {
    let work = || {
        flags::check(given)?;
        // SAFETY: the caller guarantees that `out` is null or writable.
        let out = unsafe { Out::new(out, "out")? };
        out.put(Buffer::of(make()?));
        Ok(true)
    };
    // SAFETY: the caller guarantees that `error` is null or writable.
    unsafe { run(error, false, work) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_encode(
    view: View,
    given: u32,
    out: *mut Buffer,
    error: *mut *mut Error,
) -> bool {
    let make = || {
        let order = chosen(given, flags::SORTED, MapOrder::ByKey, MapOrder::default());
        let encoder = Encoder::new().map_order(order);
        let encoder = chosen(given, flags::CHECK_REQUIRED, encoder.check_required(), encoder);
        // SAFETY: the caller guarantees that `view` is zero or a view of a message that lives and
        // does not change during the call.
        Ok(encoder.encode(unsafe { view.read()? })?)
    };
    // SAFETY: the caller guarantees that `out` and `error` are null or writable.
    unsafe { made(out, error, given, make) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_to_json(
    view: View,
    given: u32,
    out: *mut Buffer,
    error: *mut *mut Error,
) -> bool {
    let make = || {
        // SAFETY: the caller guarantees that `view` is zero or a view of a message that lives and
        // does not change during the call.
        let message = unsafe { view.read()? };
        let mapping = Mapping::new(message.schema());
        let mut sink = JsonSink::new(&mapping, json_options(given));
        json::print_message(&mut sink, message).map_err(|_| refused(sink.problem()))?;
        Ok(sink.into_bytes())
    };
    // SAFETY: the caller guarantees that `out` and `error` are null or writable.
    unsafe { made(out, error, given, make) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_to_text(
    view: View,
    given: u32,
    out: *mut Buffer,
    error: *mut *mut Error,
) -> bool {
    let make = || {
        // SAFETY: the caller guarantees that `view` is zero or a view of a message that lives and
        // does not change during the call.
        let message = unsafe { view.read()? };
        let mapping = Mapping::new(message.schema());
        let options = TextPrintOptions {
            layout: chosen(given, flags::ONE_LINE, Layout::OneLine, Layout::Lines),
            unknown: chosen(given, flags::PRINT_UNKNOWN, PrintUnknown::Print, PrintUnknown::Ignore),
        };
        let mut sink = TextSink::new(&mapping, options);
        message.walk(&mut sink).map_err(|_| refused(sink.problem()))?;
        Ok(sink.into_bytes())
    };
    // SAFETY: the caller guarantees that `out` and `error` are null or writable.
    unsafe { made(out, error, given, make) }
}

/// The language of a text.
#[derive(Clone, Copy)]
enum Language {
    Json,
    Text,
}

/// Fills a message from a text.
///
/// # Safety
/// `message` is null or a live handle that nothing else uses during the call; `length` bytes are
/// readable at `text` and do not change meanwhile; `error` is null or writable.
unsafe fn read(
    message: *mut CMessage,
    text: *const u8,
    length: usize,
    given: u32,
    language: Language,
    error: *mut *mut Error,
) -> bool {
    let work = || {
        flags::check(given)?;
        // SAFETY: the caller guarantees that `message` is null or a live handle that nothing else
        // uses during the call.
        let message = unsafe { given_mut(message, "message")? };
        // SAFETY: the caller guarantees that `length` bytes are readable at `text` and do not
        // change during the call.
        let text = unsafe { bytes(text, length, "text")? };
        message.begin();
        let (schema, of) = (message.message.schema().clone(), message.message.message_type());
        let (mapping, arena) = (Mapping::new(&schema), Bump::new());
        let mut sink = message.message.copying_builder();
        match language {
            Language::Json => {
                json::read(&mapping, of, text, &arena, read_options(given), &mut sink)?;
            }
            Language::Text => {
                let usual = TextReadOptions::default();
                let required =
                    chosen(given, flags::CHECK_REQUIRED, Required::Check, Required::Ignore);
                let options = TextReadOptions { required, ..usual };
                text::read(&mapping, of, text, &arena, options, &mut sink)?;
            }
        }
        Ok(true)
    };
    // SAFETY: the caller guarantees that `error` is null or writable.
    unsafe { run(error, false, work) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_message_from_json(
    message: *mut CMessage,
    text: *const u8,
    length: usize,
    given: u32,
    error: *mut *mut Error,
) -> bool {
    // SAFETY: the caller guarantees what the header asks for: `message` is null or a live handle
    // that nothing else uses, `length` bytes are readable at `text`, `error` is null or writable.
    unsafe { read(message, text, length, given, Language::Json, error) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_message_from_text(
    message: *mut CMessage,
    text: *const u8,
    length: usize,
    given: u32,
    error: *mut *mut Error,
) -> bool {
    // SAFETY: the caller guarantees what the header asks for: `message` is null or a live handle
    // that nothing else uses, `length` bytes are readable at `text`, `error` is null or writable.
    unsafe { read(message, text, length, given, Language::Text, error) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_json_to_bytes(
    schema: *const Schema,
    of: u32,
    text: *const u8,
    length: usize,
    flags: u32,
    out: *mut Buffer,
    error: *mut *mut Error,
) -> bool {
    let make = || {
        // SAFETY: the caller guarantees that `schema` is null or a live handle; `length` bytes are
        // readable at `text` and do not change during the call.
        let (schema, text) = unsafe { (given(schema, "schema")?, bytes(text, length, "text")?) };
        let (mapping, arena) = (Mapping::new(schema), Bump::new());
        let mut sink = BinarySink::new(schema);
        let of = type_of(schema, of)?;
        json::read(&mapping, of, text, &arena, read_options(flags), &mut sink)?;
        Ok(sink.into_bytes())
    };
    // SAFETY: the caller guarantees that `out` and `error` are null or writable.
    unsafe { made(out, error, flags, make) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_bytes_to_json(
    decoder: *const CDecoder,
    of: u32,
    data: *const u8,
    length: usize,
    flags: u32,
    out: *mut Buffer,
    error: *mut *mut Error,
) -> bool {
    let make = || {
        // SAFETY: the caller guarantees that `decoder` is null or a live handle; `length` bytes are
        // readable at `data` and do not change during the call.
        let (decoder, data) = unsafe { (given(decoder, "decoder")?, bytes(data, length, "data")?) };
        let schema = &decoder.parts.schema;
        let mapping = Mapping::new(schema);
        let mut sink = JsonSink::new(&mapping, json_options(flags));
        json::print_with(
            &mut sink,
            &decoder.parts.decoder(Task::Events),
            type_of(schema, of)?,
            data,
        )?;
        Ok(sink.into_bytes())
    };
    // SAFETY: the caller guarantees that `out` and `error` are null or writable.
    unsafe { made(out, error, flags, make) }
}
