//! The context that generated code and the walk exchange.

use std::any::Any;
use std::ffi::c_void;
use std::mem::{MaybeUninit, offset_of};
use std::ptr;

use super::super::state::Frame;
use crate::message::Arena;
use crate::schema::NamedNumbers;

type Number<T> = unsafe extern "C" fn(*mut Context, u32, T) -> u32;
type Text = unsafe extern "C" fn(*mut Context, u32, *const u8, usize) -> u32;
type List =
    unsafe extern "C" fn(*mut Context, u32, u32, *const u8, usize, *const NamedNumbers) -> isize;
type Sub = unsafe extern "C" fn(*mut Context, u32) -> u32;

/// The functions of a sink that generated code calls; see `calls`.
#[repr(C)]
pub(super) struct Calls {
    pub(super) i64: Number<i64>,
    pub(super) u64: Number<u64>,
    pub(super) i32: Number<i32>,
    pub(super) u32: Number<u32>,
    pub(super) f64: Number<u64>,
    pub(super) f32: Number<u32>,
    pub(super) bool: Number<u64>,
    pub(super) string: Text,
    pub(super) raw_string: Text,
    pub(super) bytes: Text,
    pub(super) start_sub: Sub,
    pub(super) end_sub: Sub,
    pub(super) list: List,
}

/// The state of the walk, for one call of the generated code. Places are addresses here, so that
/// the code keeps one word less; only frames have places from the start of the input.
#[repr(C)]
pub(super) struct Context {
    /// The next field, in and out. Fields read after the code are not adjacent: loading two words
    /// that were stored one by one as one would stall.
    pub(super) pos: usize,
    /// The place from which on no field may begin.
    pub(super) safe: usize,
    /// The end of the innermost message with a length, in and out.
    pub(super) end: usize,
    /// The address of place 0.
    pub(super) base: usize,
    /// The required fields that the innermost message has had, in and out.
    pub(super) seen: u64,
    /// The room for frames: one past the last allowed, the next that is free.
    pub(super) frames_end: *mut Frame,
    pub(super) top: *mut Frame,
    /// The node that `pos` is in, out.
    pub(super) node: u64,
    /// The tag of the field at fault, its entry, and its end if it is a list.
    pub(super) start: usize,
    pub(super) entry: u64,
    pub(super) list_end: usize,
    /// The sink to call, or the address of the storage to fill.
    pub(super) host: *mut c_void,
    /// Its methods, inline, which saves the code a load.
    pub(super) calls: MaybeUninit<Calls>,
    /// Of messages in memory: the memory, and the innermost record, in and out.
    pub(super) arena: *mut Arena,
    pub(super) record: usize,
    /// A panic of the sink, to be resumed when the code has been left.
    pub(super) panic: Option<Box<dyn Any + Send>>,
}

impl Context {
    /// Over a piece, up to the place `safe`; the rest is to be filled in. Place 0 need not be in
    /// memory.
    #[inline(always)]
    pub(super) fn new(base: *const u8, safe: usize) -> Context {
        let base = base.expose_provenance();
        Context {
            pos: 0,
            end: 0,
            safe: base.wrapping_add(safe),
            base,
            top: ptr::null_mut(),
            frames_end: ptr::null_mut(),
            seen: 0,
            node: 0,
            start: 0,
            entry: 0,
            list_end: 0,
            host: ptr::null_mut(),
            calls: MaybeUninit::uninit(),
            arena: ptr::null_mut(),
            record: 0,
            panic: None,
        }
    }

    /// The address of a place of the input, or of one after it.
    #[inline(always)]
    pub(super) fn address(&self, place: usize) -> usize {
        self.base.wrapping_add(place)
    }

    /// The place at an address.
    #[inline(always)]
    pub(super) fn place(&self, address: usize) -> usize {
        address.wrapping_sub(self.base)
    }
}

macro_rules! offsets {
    ($($name:ident: $field:ident),+ $(,)?) => {
        $(pub(super) const $name: i32 = offset_of!(Context, $field) as i32;)+
    };
}

offsets! {
    POS: pos,
    END: end,
    SAFE: safe,
    BASE: base,
    TOP: top,
    FRAMES_END: frames_end,
    SEEN: seen,
    NODE: node,
    START: start,
    ENTRY: entry,
    LIST_END: list_end,
    CALLS: calls,
    ARENA: arena,
    RECORD: record,
}

pub(super) const FRAME_BYTES: i64 = size_of::<Frame>() as i64;
pub(super) const FRAME_END: i32 = offset_of!(Frame, end) as i32;
pub(super) const FRAME_START: i32 = offset_of!(Frame, start) as i32;
pub(super) const FRAME_SEEN: i32 = offset_of!(Frame, seen) as i32;
pub(super) const FRAME_RECORD: i32 = offset_of!(Frame, record) as i32;
pub(super) const FRAME_ENTRY: i32 = offset_of!(Frame, entry) as i32;

/// The exits of generated code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(super) enum Exit {
    /// At a field, or the end of a message, that it does not cover, or after the safe zone.
    AtField = 0,
    /// The sink stopped at a field.
    Stopped = 1,
    /// A string is not UTF-8.
    InvalidUtf8 = 2,
    /// The sink stopped at the end of the innermost message.
    StoppedAtEnd = 3,
    /// At an element of a packed list that it does not cover.
    InPacked = 4,
}

impl Exit {
    pub(super) fn of(code: u32) -> Exit {
        use Exit::{AtField, InPacked, InvalidUtf8, Stopped, StoppedAtEnd};
        // The most frequent first.
        let exits = [AtField, InPacked, Stopped, InvalidUtf8, StoppedAtEnd];
        let found = exits.into_iter().find(|exit| *exit as u32 == code);
        found.unwrap_or(AtField)
    }
}
