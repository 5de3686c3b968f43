//! The boundary to C: arguments are checked as far as possible, and no panic leaves.

use std::any::Any;
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use crate::error::{Code, Error, Failure};

pub(crate) type Outcome<T> = Result<T, Failure>;

/// Runs the body of a function; a failure becomes an error handle, if `error` is not null.
///
/// # Safety
/// `error` is null or can be written.
pub(crate) unsafe fn run<T>(
    error: *mut *mut Error,
    failed: T,
    work: impl FnOnce() -> Outcome<T>,
) -> T {
    let outcome = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        Err(Failure::new(Code::Internal, format!("a defect: {}", words(&*panic))))
    });
    let (failure, value) = match outcome {
        Ok(value) => (None, value),
        Err(failure) => (Some(failure), failed),
    };
    if !error.is_null() {
        let handle = |failure| Box::into_raw(Box::new(Error::from(failure)));
        // SAFETY: the caller guarantees that it is writable, and it is not null.
        unsafe { error.write(failure.map_or(std::ptr::null_mut(), handle)) };
    }
    value
}

/// Runs a look-up, which reports no error but `nothing`.
pub(crate) fn look<T>(nothing: T, work: impl FnOnce() -> Option<T>) -> T {
    catch_unwind(AssertUnwindSafe(work)).ok().flatten().unwrap_or(nothing)
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic")
}

/// The handle, or another value, at an address.
///
/// # Safety
/// If not null, it points to a `T` that lives for `'h`, and nothing changes it meanwhile.
pub(crate) unsafe fn given<'h, T>(pointer: *const T, what: &str) -> Outcome<&'h T> {
    if !pointer.is_aligned() {
        return Err(Failure::misuse(format!("{what} is no address of one")));
    }
    // SAFETY: the caller guarantees that it points to a live `T`, or is null.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::misuse(format!("{what} is null")))
}

/// The handle, or another value, at an address, for writing.
///
/// # Safety
/// If not null, it points to a `T` that lives for `'h`, and nothing else uses it meanwhile.
pub(crate) unsafe fn given_mut<'h, T>(pointer: *mut T, what: &str) -> Outcome<&'h mut T> {
    if !pointer.is_aligned() {
        return Err(Failure::misuse(format!("{what} is no address of one")));
    }
    // SAFETY: the caller guarantees that it points to a live `T` that is not used elsewhere, or is
    // null.
    unsafe { pointer.as_mut() }.ok_or_else(|| Failure::misuse(format!("{what} is null")))
}

/// The address for a result. It is checked before anything is made or changed: otherwise a call
/// with a null address would leak its result or fail after its effect.
#[derive(Debug)]
pub(crate) struct Out<T>(NonNull<T>);

impl<T> Out<T> {
    /// The address, checked.
    ///
    /// # Safety
    /// If not null, it can be written.
    pub(crate) unsafe fn new(pointer: *mut T, what: &str) -> Outcome<Out<T>> {
        match NonNull::new(pointer).filter(|place| place.is_aligned()) {
            Some(place) => Ok(Out(place)),
            None => Err(Failure::misuse(format!("{what} is no place to write to"))),
        }
    }

    /// Writes the result, once.
    pub(crate) fn put(self, value: T) {
        // SAFETY: the caller of `new` guarantees that it is writable; the old value is C's and
        // needs no drop.
        unsafe { self.0.write(value) };
    }
}

/// The text of a name that ends in a zero byte.
///
/// # Safety
/// If not null, it ends in a zero byte and lives for `'n`.
pub(crate) unsafe fn name<'n>(text: *const c_char, what: &str) -> Outcome<&'n str> {
    if text.is_null() {
        return Err(Failure::misuse(format!("{what} is null")));
    }
    // SAFETY: the caller guarantees that a zero byte ends it.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Failure::misuse(format!("{what} is not UTF-8")))
}

/// The bytes at an address.
///
/// # Safety
/// If not null, `length` bytes are readable there for `'b`, and do not change.
pub(crate) unsafe fn bytes<'b>(data: *const u8, length: usize, what: &str) -> Outcome<&'b [u8]> {
    if length == 0 {
        return Ok(&[]);
    }
    if data.is_null() || isize::try_from(length).is_err() {
        return Err(Failure::misuse(format!("{what}: {length} bytes are not there")));
    }
    // SAFETY: the caller guarantees that `length` bytes are readable there and do not change.
    Ok(unsafe { std::slice::from_raw_parts(data, length) })
}

/// Borrowed bytes: `tidemill_bytes`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Bytes {
    pub(crate) data: *const u8,
    pub(crate) length: usize,
}

impl Bytes {
    pub(crate) const NONE: Bytes = Bytes { data: std::ptr::null(), length: 0 };

    pub(crate) fn of(bytes: &[u8]) -> Bytes {
        Bytes { data: bytes.as_ptr(), length: bytes.len() }
    }
}

/// Bytes owned by the caller: `tidemill_buffer`.
#[derive(Debug)]
#[repr(C)]
pub struct Buffer {
    data: *mut u8,
    length: usize,
}

impl Buffer {
    pub(crate) fn of(bytes: Vec<u8>) -> Buffer {
        let length = bytes.len();
        Buffer { data: Box::into_raw(bytes.into_boxed_slice()).cast(), length }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_buffer_free(buffer: *mut Buffer) {
    // SAFETY: the caller guarantees that `buffer` is null or a buffer of this library.
    let Ok(buffer) = (unsafe { given_mut(buffer, "buffer") }) else { return };
    let (data, length) = (buffer.data, buffer.length);
    (buffer.data, buffer.length) = (std::ptr::null_mut(), 0);
    if !data.is_null() {
        // SAFETY: the two came from a boxed slice, and are taken out of the buffer.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(data, length)) });
    }
}
