//! Decoders, and messages with their life numbers.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use tidemill_wire::decode::{BYTES_MAX, DEPTH_MAX, Listing, Native, Strings};
use tidemill_wire::{Decoder, Message, Schema, Tables, Wants};

use crate::error::{Error, Failure};
use crate::guard::{Outcome, bytes, given, given_mut, look, run};
use crate::handle::{free, new};
use crate::ids::type_of;
use crate::view::{CMessage, View};

/// The numbers are those of `tidemill_engine`.
pub(crate) const NATIVE: u32 = 0;
pub(crate) const TABLE: u32 = 1;
pub(crate) const REQUIRED: u32 = 2;

/// The parts of a decoder, shared with its streams.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) schema: Schema,
    tables: Tables,
    /// Native code, if the options enable it.
    codes: Option<Codes>,
    depth_max: usize,
    bytes_max: usize,
}

/// Native code by task, compiled on first use; `None` if it cannot be compiled.
#[derive(Debug, Default)]
struct Codes {
    events: OnceLock<Option<Native>>,
    copied: OnceLock<Option<Native>>,
    viewed: OnceLock<Option<Native>>,
}

/// The task of a decoder.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Task {
    /// It emits events.
    Events,
    /// It fills messages.
    Fill(Strings),
}

impl Parts {
    pub(crate) fn decoder(&self, task: Task) -> Decoder<'_> {
        let decoder = Decoder::with(&self.schema, &self.tables);
        let decoder = decoder.depth_max(self.depth_max).bytes_max(self.bytes_max);
        match self.code(task) {
            Some(native) => decoder.native(native),
            None => decoder,
        }
    }

    fn code(&self, task: Task) -> Option<&Native> {
        let codes = self.codes.as_ref()?;
        let (schema, tables) = (&self.schema, &self.tables);
        let code = match task {
            Task::Events => &codes.events,
            Task::Fill(Strings::Copied) => &codes.copied,
            Task::Fill(Strings::Viewed) => &codes.viewed,
        };
        let compile = || match task {
            Task::Events => Native::compile(schema, tables, Wants::ALL),
            Task::Fill(strings) => Native::for_messages(schema, tables, strings, Listing::Dropped),
        };
        code.get_or_init(|| compile().ok()).as_ref()
    }
}

/// The handle of a decoder.
#[derive(Debug)]
pub struct CDecoder {
    pub(crate) parts: Arc<Parts>,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_decoder_new(
    schema: *const Schema,
    engine: u32,
    depth_max: usize,
    bytes_max: usize,
    error: *mut *mut Error,
) -> *mut CDecoder {
    let work = || {
        // SAFETY: the caller guarantees that `schema` is null or a live handle.
        let schema = unsafe { given(schema, "schema")? }.clone();
        let (engine, required) = (engine & !REQUIRED, engine & REQUIRED != 0);
        let tables =
            if required { Tables::checking_required(&schema) } else { Tables::new(&schema) };
        let codes = match engine {
            NATIVE => Some(Codes::default()),
            TABLE => None,
            other => return Err(Failure::misuse(format!("there is no engine {other}"))),
        };
        let or = |given, usual| if given == 0 { usual } else { given };
        let (depth_max, bytes_max) = (or(depth_max, DEPTH_MAX), or(bytes_max, BYTES_MAX));
        let parts = Parts { schema, tables, codes, depth_max, bytes_max };
        Ok(new(CDecoder { parts: Arc::new(parts) }))
    };
    // SAFETY: the caller guarantees that `error` is null or writable.
    unsafe { run(error, std::ptr::null_mut(), work) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_decoder_free(decoder: *mut CDecoder) {
    // SAFETY: the caller guarantees that `decoder` is null or a handle of this library that is not
    // used again.
    unsafe { free(decoder) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_message_new(
    schema: *const Schema,
    of: u32,
    memory_max: usize,
    error: *mut *mut Error,
) -> *mut CMessage {
    let work = || {
        // SAFETY: the caller guarantees that `schema` is null or a live handle.
        let schema = unsafe { given(schema, "schema")? };
        let limit = if memory_max == 0 { usize::MAX } else { memory_max };
        let message = Message::with_limit(schema, type_of(schema, of)?, limit)?;
        Ok(new(CMessage { message, life: first_life() }))
    };
    // SAFETY: the caller guarantees that `error` is null or writable.
    unsafe { run(error, std::ptr::null_mut(), work) }
}

/// Messages begin with different life numbers, so that a message made at the address of a freed one
/// most likely detects views of that one.
fn first_life() -> u32 {
    static LIVES: AtomicU32 = AtomicU32::new(1);
    // Relaxed: it publishes only the number.
    LIVES.fetch_add(1 << 16, Ordering::Relaxed)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_message_free(message: *mut CMessage) {
    // SAFETY: the caller guarantees that `message` is null or a handle of this library that is not
    // used again.
    unsafe { free(message) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_message_clear(message: *mut CMessage) {
    look((), || {
        // SAFETY: the caller guarantees that `message` is null or a live handle that nothing else
        // uses during the call.
        let message = unsafe { message.as_mut() }?;
        message.begin();
        Some(())
    });
}

impl CMessage {
    /// Begins another life: the message is empty, and earlier views are stale.
    pub(crate) fn begin(&mut self) {
        self.life = self.life.wrapping_add(1);
        self.message.clear();
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_message_used_bytes(message: *const CMessage) -> usize {
    // SAFETY: the caller guarantees that `message` is null or a live handle.
    look(0, || Some(unsafe { message.as_ref() }?.message.used_bytes()))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_message_view(message: *mut CMessage) -> View {
    // SAFETY: the caller guarantees that `message` is null or a live handle.
    look(View::NONE, || Some(View::whole(message, unsafe { message.as_ref() }?)))
}

/// Checks that decoder and message have the same schema.
fn check(decoder: &CDecoder, message: &CMessage) -> Outcome<()> {
    if decoder.parts.schema.is_same(message.message.schema()) {
        Ok(())
    } else {
        Err(Failure::misuse("decoder and message are of different schemas"))
    }
}

/// Decodes the bytes into a message.
///
/// # Safety
/// `message` is used nowhere else, the decoder is live, the data is readable, and `error` is null
/// or can be written. Bytes that strings view stay valid until the message is cleared, decoded
/// again or freed.
unsafe fn decode(
    message: *mut CMessage,
    decoder: *const CDecoder,
    data: *const u8,
    length: usize,
    strings: Strings,
    error: *mut *mut Error,
) -> bool {
    let work = || {
        // SAFETY: the caller guarantees that `message` is null or a live handle that nothing else
        // uses during the call.
        let message = unsafe { given_mut(message, "message")? };
        // SAFETY: the caller guarantees that `decoder` is null or a live handle; `length` bytes are
        // readable at `data` and do not change during the call.
        let (decoder, data) = unsafe { (given(decoder, "decoder")?, bytes(data, length, "data")?) };
        check(decoder, message)?;
        message.begin();
        let parts = decoder.parts.decoder(Task::Fill(strings));
        match strings {
            Strings::Copied => message.message.decode_copied_with(&parts, data)?,
            Strings::Viewed => message.message.decode_with(&parts, data)?,
        }
        Ok(true)
    };
    // SAFETY: the caller guarantees that `error` is null or writable.
    unsafe { run(error, false, work) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_message_decode(
    message: *mut CMessage,
    decoder: *const CDecoder,
    data: *const u8,
    length: usize,
    error: *mut *mut Error,
) -> bool {
    // SAFETY: the header requires all of it of the caller, and no string views the bytes.
    unsafe { decode(message, decoder, data, length, Strings::Copied, error) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_message_decode_borrowed(
    message: *mut CMessage,
    decoder: *const CDecoder,
    data: *const u8,
    length: usize,
    error: *mut *mut Error,
) -> bool {
    // SAFETY: the header requires all of it of the caller.
    unsafe { decode(message, decoder, data, length, Strings::Viewed, error) }
}
