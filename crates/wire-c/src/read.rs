//! Functions that read messages.

use tidemill_wire::message::{ListRef, MapRef, Value};
use tidemill_wire::{FieldId, MessageRef};

use crate::error::{Error, Failure};
use crate::guard::{Out, Outcome, given, look, run};
use crate::ids::{NONE, field_of};
use crate::value::CValue;
use crate::view::View;

fn list<'m>(message: MessageRef<'m>, field: FieldId) -> Outcome<ListRef<'m>> {
    match message.get(field)? {
        Value::List(list) => Ok(list),
        _ => Err(Failure::misuse("the field is no list")),
    }
}

fn map<'m>(message: MessageRef<'m>, field: FieldId) -> Outcome<MapRef<'m>> {
    match message.get(field)? {
        Value::Map(map) => Ok(map),
        _ => Err(Failure::misuse("the field is no map")),
    }
}

fn no_place(index: usize, len: usize) -> Failure {
    Failure::from(tidemill_wire::AccessError::OutOfRange { index, len })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_get(
    view: View,
    field: u32,
    out: *mut CValue,
    error: *mut *mut Error,
) -> bool {
    let work = || {
        // SAFETY: the caller guarantees that `view` is zero or a view of a message that lives and
        // does not change during the call.
        let message = unsafe { view.read()? };
        let value = message.get(field_of(message.schema(), field)?)?;
        // SAFETY: the caller guarantees that `out` is null or writable.
        unsafe { Out::new(out, "out")? }.put(CValue::of(&value, view));
        Ok(true)
    };
    // SAFETY: the caller guarantees that `error` is null or writable.
    unsafe { run(error, false, work) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_has(view: View, field: u32, error: *mut *mut Error) -> bool {
    let work = || {
        // SAFETY: the caller guarantees that `view` is zero or a view of a message that lives and
        // does not change during the call.
        let message = unsafe { view.read()? };
        Ok(message.has(field_of(message.schema(), field)?)?)
    };
    // SAFETY: the caller guarantees that `error` is null or writable.
    unsafe { run(error, false, work) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_which(view: View, member: u32, error: *mut *mut Error) -> u32 {
    let work = || {
        // SAFETY: the caller guarantees that `view` is zero or a view of a message that lives and
        // does not change during the call.
        let message = unsafe { view.read()? };
        let member = field_of(message.schema(), member)?;
        let oneof = message.schema().field(member).oneof();
        let oneof = oneof.ok_or_else(|| Failure::misuse("the field is in no oneof"))?;
        Ok(message.which(oneof)?.map_or(NONE, |field| field.index() as u32))
    };
    // SAFETY: the caller guarantees that `error` is null or writable.
    unsafe { run(error, NONE, work) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_fields(view: View, out: *mut u32, room: usize) -> usize {
    look(0, || {
        // SAFETY: the caller guarantees that `view` is zero or a view of a message that lives and
        // does not change during the call.
        let message = unsafe { view.read() }.ok()?;
        let mut count = 0;
        for (field, _) in message.fields() {
            if count < room {
                // SAFETY: the caller guarantees that `out` is null or has room for `room` fields.
                let out = unsafe { Out::new(out.wrapping_add(count), "out") };
                out.ok()?.put(field.index() as u32);
            }
            count += 1;
        }
        Some(count)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_list_get(
    view: View,
    field: u32,
    index: usize,
    out: *mut CValue,
    error: *mut *mut Error,
) -> bool {
    let work = || {
        // SAFETY: the caller guarantees that `view` is zero or a view of a message that lives and
        // does not change during the call.
        let message = unsafe { view.read()? };
        let list = list(message, field_of(message.schema(), field)?)?;
        let value = list.get(index).ok_or_else(|| no_place(index, list.len()))?;
        // SAFETY: the caller guarantees that `out` is null or writable.
        unsafe { Out::new(out, "out")? }.put(CValue::of(&value, view));
        Ok(true)
    };
    // SAFETY: the caller guarantees that `error` is null or writable.
    unsafe { run(error, false, work) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_map_get(
    view: View,
    field: u32,
    key: *const CValue,
    out: *mut CValue,
    error: *mut *mut Error,
) -> bool {
    let work = || {
        // SAFETY: the caller guarantees that `view` is zero or a view of a message that lives and
        // does not change during the call.
        let message = unsafe { view.read()? };
        let map = map(message, field_of(message.schema(), field)?)?;
        // SAFETY: the caller guarantees that `key` is null or readable.
        let key = unsafe { given(key, "key")? };
        let look = |key: Value<'_>| Ok(map.get(key)?);
        // SAFETY: the caller guarantees that the member of the key that its kind names was written.
        let value = unsafe { key.give(std::ptr::null(), look)? };
        let value = value.map_or(CValue::NONE, |value| CValue::of(&value, view));
        // SAFETY: the caller guarantees that `out` is null or writable.
        unsafe { Out::new(out, "out")? }.put(value);
        Ok(true)
    };
    // SAFETY: the caller guarantees that `error` is null or writable.
    unsafe { run(error, false, work) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_map_entry(
    view: View,
    field: u32,
    index: usize,
    key: *mut CValue,
    value: *mut CValue,
    error: *mut *mut Error,
) -> bool {
    let work = || {
        // SAFETY: the caller guarantees that `view` is zero or a view of a message that lives and
        // does not change during the call.
        let message = unsafe { view.read()? };
        let map = map(message, field_of(message.schema(), field)?)?;
        let (a, b) = map.entry(index).ok_or_else(|| no_place(index, map.len()))?;
        // SAFETY: the caller guarantees that `key` and `value` are null or writable.
        let (key, value) = unsafe { (Out::new(key, "key")?, Out::new(value, "value")?) };
        key.put(CValue::of(&a, view));
        value.put(CValue::of(&b, view));
        Ok(true)
    };
    // SAFETY: the caller guarantees that `error` is null or writable.
    unsafe { run(error, false, work) }
}
