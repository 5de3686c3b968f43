//! Decoding event by event, of whole messages and of messages in pieces.

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

use tidemill_wire::sink::{Sink, SinkResult, Stop, stream_events};
use tidemill_wire::{Event, FieldId, Stream};

use crate::decoder::{CDecoder, Parts, Task};
use crate::error::{Error, Failure};
use crate::guard::{Outcome, bytes, given, look, run};
use crate::handle::new;
use crate::ids::{NONE, type_of};
use crate::value::{CValue, Content, ValueKind};

/// The kind of an event; the numbers are those of `tidemill_event_kind`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum EventKind {
    StartMessage = 1,
    EndMessage = 2,
    StartSub = 3,
    EndSub = 4,
    Value = 5,
    Unknown = 6,
}

/// `tidemill_event`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CEvent {
    kind: u32,
    field: u32,
    number: u32,
    message_type: u32,
    value: CValue,
}

type Callback = unsafe extern "C" fn(*mut c_void, *const CEvent) -> c_int;

/// Receives the events.
#[derive(Clone, Copy)]
struct Listener {
    callback: Callback,
    context: *mut c_void,
}

impl Listener {
    fn new(callback: Option<Callback>, context: *mut c_void) -> Outcome<Listener> {
        let callback = callback.ok_or_else(|| Failure::misuse("callback is null"))?;
        Ok(Listener { callback, context })
    }

    fn notify(&self, event: Event<'_>) -> SinkResult {
        let event = CEvent::of(event);
        // SAFETY: the caller guarantees that the callback has this type and accepts this context.
        match unsafe { (self.callback)(self.context, &raw const event) } {
            0 => Ok(()),
            _ => Err(Stop),
        }
    }

    fn sink(self) -> impl for<'a> Sink<'a> {
        stream_events(move |event: Event<'_>| self.notify(event))
    }
}

impl CEvent {
    fn of(event: Event<'_>) -> CEvent {
        let empty =
            CEvent { kind: 0, field: NONE, number: 0, message_type: NONE, value: CValue::NONE };
        let at = |kind: EventKind, field: FieldId| CEvent {
            kind: kind as u32,
            field: field.index() as u32,
            ..empty
        };
        let value = |field, kind, content| CEvent {
            value: CValue::new(kind, content),
            ..at(EventKind::Value, field)
        };
        let text = |field, kind, piece: &[u8]| CEvent {
            value: CValue::text(kind, piece),
            ..at(EventKind::Value, field)
        };
        match event {
            Event::StartMessage(of) | Event::EndMessage(of) => {
                let start = matches!(event, Event::StartMessage(_));
                let kind = if start { EventKind::StartMessage } else { EventKind::EndMessage };
                CEvent { kind: kind as u32, message_type: of.index() as u32, ..empty }
            }
            Event::StartSub(field) => at(EventKind::StartSub, field),
            Event::EndSub(field) => at(EventKind::EndSub, field),
            Event::I64(field, i64) => value(field, ValueKind::I64, Content { i64 }),
            Event::U64(field, u64) => value(field, ValueKind::U64, Content { u64 }),
            Event::I32(field, i32) => value(field, ValueKind::I32, Content { i32 }),
            Event::U32(field, u32) => value(field, ValueKind::U32, Content { u32 }),
            Event::F64(field, f64) => value(field, ValueKind::F64, Content { f64 }),
            Event::F32(field, f32) => value(field, ValueKind::F32, Content { f32 }),
            Event::Bool(field, is) => value(field, ValueKind::Bool, Content { boolean: is.into() }),
            Event::String(field, piece) => text(field, ValueKind::String, piece.as_bytes()),
            Event::Bytes(field, piece) => text(field, ValueKind::Bytes, piece),
            Event::Unknown(number, raw) => CEvent {
                kind: EventKind::Unknown as u32,
                number,
                value: CValue::text(ValueKind::Bytes, raw),
                ..empty
            },
            Event::UnknownElement(number, u64) => CEvent {
                kind: EventKind::Unknown as u32,
                number,
                value: CValue::new(ValueKind::U64, Content { u64 }),
                ..empty
            },
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_decode_events(
    decoder: *const CDecoder,
    of: u32,
    data: *const u8,
    length: usize,
    callback: Option<Callback>,
    context: *mut c_void,
    error: *mut *mut Error,
) -> bool {
    let work = || {
        // SAFETY: the caller guarantees that `decoder` is null or a live handle; `length` bytes are
        // readable at `data` and do not change during the call.
        let (decoder, data) = unsafe { (given(decoder, "decoder")?, bytes(data, length, "data")?) };
        let listener = Listener::new(callback, context)?;
        // The callback may free the decoder.
        let parts = Arc::clone(&decoder.parts);
        let of = type_of(&parts.schema, of)?;
        parts.decoder(Task::Events).decode(of, data, &mut listener.sink())?;
        Ok(true)
    };
    // SAFETY: the caller guarantees that `error` is null or writable.
    unsafe { run(error, false, work) }
}

/// The handle of a stream: a message in pieces.
pub struct CStream {
    /// `None` once it is finished. It refers to `_parts`, and so precedes it: fields are dropped in
    /// order.
    stream: RefCell<Option<Stream<'static>>>,
    /// Keeps the parts alive for the stream.
    _parts: Arc<Parts>,
    listener: Listener,
    /// True if its own callback has freed it.
    freed: Cell<bool>,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_stream_new(
    decoder: *const CDecoder,
    of: u32,
    callback: Option<Callback>,
    context: *mut c_void,
    error: *mut *mut Error,
) -> *mut CStream {
    let work = || {
        // SAFETY: the caller guarantees that `decoder` is null or a live handle.
        let parts = Arc::clone(&unsafe { given(decoder, "decoder")? }.parts);
        let listener = Listener::new(callback, context)?;
        let of = type_of(&parts.schema, of)?;
        // SAFETY: the parts keep their address while `_parts` holds a reference.
        let held: &'static Parts = unsafe { &*Arc::as_ptr(&parts) };
        let stream = RefCell::new(Some(held.decoder(Task::Events).stream(of)));
        Ok(new(CStream { stream, _parts: parts, listener, freed: Cell::new(false) }))
    };
    // SAFETY: the caller guarantees that `error` is null or writable.
    unsafe { run(error, std::ptr::null_mut(), work) }
}

/// Uses a stream, and afterwards frees it if its callback asked for that.
///
/// # Safety
/// The stream is null or one that was not freed; `error` is null or can be written.
unsafe fn with_stream(
    stream: *mut CStream,
    error: *mut *mut Error,
    work: impl FnOnce(&mut Option<Stream<'static>>, Listener) -> Outcome<()>,
) -> bool {
    let guarded = || {
        // SAFETY: the caller guarantees that `stream` is null or a live handle; it is only shared,
        // as its callback may call back into it.
        let this = unsafe { given(stream, "stream")? };
        let borrowed = this.stream.try_borrow_mut();
        let mut inner =
            borrowed.map_err(|_| Failure::misuse("the stream is in use: by its callback?"))?;
        work(&mut inner, this.listener).map(|()| true)
    };
    // SAFETY: the caller guarantees that `error` is null or writable.
    let done = unsafe { run(error, false, guarded) };
    let last = look(false, || {
        // SAFETY: it is not freed yet, as a free by its callback is deferred to below.
        let this = unsafe { stream.as_ref() }?;
        Some(this.freed.get() && this.stream.try_borrow_mut().is_ok())
    });
    if last {
        // SAFETY: its callback freed it, so the caller does not use it again.
        unsafe { crate::handle::free(stream) };
    }
    done
}

fn finished() -> Failure {
    Failure::misuse("the stream is finished")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_stream_push(
    stream: *mut CStream,
    data: *const u8,
    length: usize,
    error: *mut *mut Error,
) -> bool {
    // SAFETY: the caller guarantees that `stream` is null or a live handle; `length` bytes are
    // readable at `data` and do not change during the call; `error` is null or writable.
    unsafe {
        with_stream(stream, error, |stream, listener| {
            let data = bytes(data, length, "data")?;
            let stream = stream.as_mut().ok_or_else(finished)?;
            Ok(stream.push(data, &mut listener.sink())?)
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_stream_finish(stream: *mut CStream, error: *mut *mut Error) -> bool {
    // SAFETY: the caller guarantees that `stream` is null or a live handle; `error` is null or
    // writable.
    unsafe {
        with_stream(stream, error, |stream, listener| {
            let stream = stream.take().ok_or_else(finished)?;
            Ok(stream.finish(&mut listener.sink())?)
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_stream_free(stream: *mut CStream) {
    // SAFETY: the caller guarantees that `stream` is null or a live handle that it does not use
    // again.
    let Some(this) = (unsafe { stream.as_ref() }) else { return };
    if this.stream.try_borrow_mut().is_err() {
        this.freed.set(true);
        return;
    }
    // SAFETY: the caller guarantees that `stream` is null or a handle of this library that is not
    // used again, and it is not in use.
    unsafe { crate::handle::free(stream) }
}
