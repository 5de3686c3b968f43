//! Messages that are read.

use std::ptr::{NonNull, null_mut};

use tidemill_wire::message::{ListRef, MapRef, MessageMut, Place, Value};
use tidemill_wire::{FieldId, Message, MessageRef};

use crate::error::{Error, Failure};
use crate::guard::{Out, Outcome, given, given_mut, look, run};
use crate::schema::{NONE, field_of, type_of};
use crate::value::CValue;

/// The handle of a message: the tree, and which of its lives this is.
#[derive(Debug)]
pub struct CMessage {
    pub(crate) message: Message<'static>,
    pub(crate) life: u32,
}

/// A message in a tree: `tidemill_view`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct View {
    pub(crate) message: *mut CMessage,
    record: *mut u8,
    message_type: u32,
    life: u32,
}

impl View {
    pub(crate) const NONE: View =
        View { message: null_mut(), record: null_mut(), message_type: NONE, life: 0 };

    /// The view of a whole message.
    pub(crate) fn whole(handle: *mut CMessage, message: &CMessage) -> View {
        let view = View { message: handle, life: message.life, ..View::NONE };
        view.moved(message.message.as_ref().place())
    }

    /// Another message of the same tree.
    pub(crate) fn moved(self, place: Place) -> View {
        let record = place.record.map_or(null_mut(), NonNull::as_ptr);
        View { record, message_type: place.message.index() as u32, ..self }
    }

    fn place(self, tree: &CMessage) -> Outcome<Place> {
        if self.life != tree.life {
            return Err(Failure::misuse("the message was cleared or decoded since the view"));
        }
        let message = type_of(tree.message.schema(), self.message_type)?;
        Ok(Place { record: NonNull::new(self.record), message })
    }

    /// The message, to be read.
    ///
    /// # Safety
    /// The view is zero, or was given out by this library and its message is not freed; nothing
    /// changes the tree for `'m`.
    pub(crate) unsafe fn read<'m>(self) -> Outcome<MessageRef<'m>> {
        // SAFETY: by the caller.
        let tree: &'m CMessage = unsafe { given(self.message, "the view's message")? };
        let place = self.place(tree)?;
        // SAFETY: the tree has lived on since the view was given out.
        Ok(unsafe { tree.message.at(place) })
    }

    /// The message, to be changed.
    ///
    /// # Safety
    /// As of [`View::read`]; nothing else uses the tree for `'m`.
    pub(crate) unsafe fn change<'m>(self) -> Outcome<MessageMut<'m>> {
        // SAFETY: by the caller.
        let tree: &'m mut CMessage = unsafe { given_mut(self.message, "the view's message")? };
        let place = self.place(tree)?;
        // SAFETY: the tree has lived on since the view was given out.
        let message = unsafe { tree.message.at_mut(place) };
        message.ok_or_else(|| {
            Failure::misuse("the message is not there: tidemill_sub makes it and gives its view")
        })
    }
}

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
        // SAFETY: the caller gives a view.
        let message = unsafe { view.read()? };
        let value = message.get(field_of(message.schema(), field)?)?;
        // SAFETY: the caller gives a place.
        unsafe { Out::new(out, "out")? }.put(CValue::of(&value, view));
        Ok(true)
    };
    // SAFETY: the caller gives a place or null.
    unsafe { run(error, false, work) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_has(view: View, field: u32, error: *mut *mut Error) -> bool {
    let work = || {
        // SAFETY: the caller gives a view.
        let message = unsafe { view.read()? };
        Ok(message.has(field_of(message.schema(), field)?)?)
    };
    // SAFETY: the caller gives a place or null.
    unsafe { run(error, false, work) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_which(view: View, member: u32, error: *mut *mut Error) -> u32 {
    let work = || {
        // SAFETY: the caller gives a view.
        let message = unsafe { view.read()? };
        let member = field_of(message.schema(), member)?;
        let oneof = message.schema().field(member).oneof();
        let oneof = oneof.ok_or_else(|| Failure::misuse("the field is in no oneof"))?;
        Ok(message.which(oneof)?.map_or(NONE, |field| field.index() as u32))
    };
    // SAFETY: the caller gives a place or null.
    unsafe { run(error, NONE, work) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_fields(view: View, out: *mut u32, room: usize) -> usize {
    look(0, || {
        // SAFETY: the caller gives a view.
        let message = unsafe { view.read() }.ok()?;
        let mut count = 0;
        for (field, _) in message.fields() {
            if count < room {
                // SAFETY: the caller has room for so many, or gives null.
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
        // SAFETY: the caller gives a view.
        let message = unsafe { view.read()? };
        let list = list(message, field_of(message.schema(), field)?)?;
        let value = list.get(index).ok_or_else(|| no_place(index, list.len()))?;
        // SAFETY: the caller gives a place.
        unsafe { Out::new(out, "out")? }.put(CValue::of(&value, view));
        Ok(true)
    };
    // SAFETY: the caller gives a place or null.
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
        // SAFETY: the caller gives a view.
        let message = unsafe { view.read()? };
        let map = map(message, field_of(message.schema(), field)?)?;
        // SAFETY: the caller gives a value.
        let key = unsafe { given(key, "key")? };
        let look = |key: Value<'_>| Ok(map.get(key)?);
        // SAFETY: the key is what its kind says.
        let value = unsafe { key.give(std::ptr::null(), look)? };
        let value = value.map_or(CValue::NONE, |value| CValue::of(&value, view));
        // SAFETY: the caller gives a place.
        unsafe { Out::new(out, "out")? }.put(value);
        Ok(true)
    };
    // SAFETY: the caller gives a place or null.
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
        // SAFETY: the caller gives a view.
        let message = unsafe { view.read()? };
        let map = map(message, field_of(message.schema(), field)?)?;
        let (a, b) = map.entry(index).ok_or_else(|| no_place(index, map.len()))?;
        // SAFETY: the caller gives two places.
        let (key, value) = unsafe { (Out::new(key, "key")?, Out::new(value, "value")?) };
        key.put(CValue::of(&a, view));
        value.put(CValue::of(&b, view));
        Ok(true)
    };
    // SAFETY: the caller gives a place or null.
    unsafe { run(error, false, work) }
}
