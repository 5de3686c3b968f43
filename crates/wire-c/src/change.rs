//! Functions that change messages.

use tidemill_wire::message::Value;

use crate::error::Error;
use crate::guard::{Out, given, run};
use crate::ids::field_of;
use crate::value::CValue;
use crate::view::View;

/// Defines a function that changes the message of a view, and returns true.
macro_rules! change {
    (fn $name:ident($view:ident, $field:ident $(, $argument:ident: $ty:ty)*)
        |$message:ident| $work:block) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            $view: View,
            $field: u32,
            $($argument: $ty,)*
            error: *mut *mut Error,
        ) -> bool {
            let work = || {
                // SAFETY: the caller guarantees that `$view` is zero or a view of a message that
                // lives and that nothing else uses during the call.
                let mut $message = unsafe { $view.change()? };
                let $field = field_of($message.as_ref().schema(), $field)?;
                $work
                Ok(true)
            };
            // SAFETY: the caller guarantees that `error` is null or writable.
            unsafe { run(error, false, work) }
        }
    };
}

change! { fn tidemill_set(view, field, value: *const CValue) |message| {
    // SAFETY: the caller guarantees that `value` is null or readable; the member that the kind of
    // the value names was written.
    unsafe {
        given(value, "value")?.give(view.message, |value| Ok(message.set(field, value)?))?;
    }
} }

change! { fn tidemill_clear_field(view, field) |message| { message.clear(field)?; } }

change! { fn tidemill_sub(view, field, out: *mut View) |message| {
    // SAFETY: the caller guarantees that `out` is null or writable.
    let out = unsafe { Out::new(out, "out")? };
    out.put(view.moved(message.message_mut(field)?.place()));
} }

change! { fn tidemill_push(view, field, value: *const CValue) |message| {
    let mut list = message.list_mut(field)?;
    // SAFETY: the caller guarantees that `value` is null or readable; the member that the kind of
    // the value names was written.
    unsafe { given(value, "value")?.give(view.message, |value| Ok(list.push(value)?))? };
} }

change! { fn tidemill_push_message(view, field, out: *mut View) |message| {
    // SAFETY: the caller guarantees that `out` is null or writable.
    let out = unsafe { Out::new(out, "out")? };
    out.put(view.moved(message.list_mut(field)?.push_message()?.place()));
} }

change! { fn tidemill_list_set(view, field, index: usize, value: *const CValue) |message| {
    let mut list = message.list_mut(field)?;
    // SAFETY: the caller guarantees that `value` is null or readable; the member that the kind of
    // the value names was written.
    unsafe { given(value, "value")?.give(view.message, |value| Ok(list.set(index, value)?))? };
} }

change! { fn tidemill_list_remove(view, field, index: usize) |message| {
    message.list_mut(field)?.remove(index)?;
} }

change! { fn tidemill_map_put(view, field, key: *const CValue, value: *const CValue) |message| {
    let mut map = message.map_mut(field)?;
    // SAFETY: the caller guarantees that `key` and `value` are null or readable; the member that
    // the kind of the value names was written.
    unsafe {
        let (key, value) = (given(key, "key")?, given(value, "value")?);
        key.give(view.message, |key: Value<'_>| {
            value.give(view.message, |value| Ok(map.insert(key, value)?))
        })?;
    }
} }

change! { fn tidemill_map_sub(view, field, key: *const CValue, out: *mut View) |message| {
    // SAFETY: the caller guarantees that `out` is null or writable.
    let out = unsafe { Out::new(out, "out")? };
    let mut map = message.map_mut(field)?;
    // SAFETY: the caller guarantees that `key` is null or readable; the member that the kind of the
    // value names was written.
    let place = unsafe {
        given(key, "key")?.give(view.message, |key| Ok(map.message_mut(key)?.place()))?
    };
    out.put(view.moved(place));
} }

change! { fn tidemill_map_remove(view, field, key: *const CValue) |message| {
    let mut map = message.map_mut(field)?;
    // SAFETY: the caller guarantees that `key` is null or readable; the member that the kind of the
    // value names was written.
    unsafe { given(key, "key")?.give(view.message, |key| Ok(map.remove(key)?))? };
} }

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_merge(view: View, other: View, error: *mut *mut Error) -> bool {
    let work = || {
        let from =
            CValue::new(crate::value::ValueKind::Message, crate::value::Content { message: other });
        // SAFETY: the caller guarantees that `view` and `other` are zero or views of messages that
        // live and that nothing else uses during the call; a message of the same tree is copied
        // first.
        unsafe {
            from.give(view.message, |value| match value {
                Value::Message(other) => Ok(view.change()?.merge(other)?),
                _ => Ok(()),
            })?;
        }
        Ok(true)
    };
    // SAFETY: the caller guarantees that `error` is null or writable.
    unsafe { run(error, false, work) }
}
