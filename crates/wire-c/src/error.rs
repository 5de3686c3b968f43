//! Errors for C: a handle with a code, a text, and for input a position.

use std::ffi::{CString, c_char};

use tidemill_wire::json::{PrintError, ReadError};
use tidemill_wire::message::MessageError;
use tidemill_wire::{AccessError, DecodeError, EncodeError};

/// The class of an error; the numbers are those of `tidemill_code`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Code {
    Misuse = 1,
    Schema = 2,
    Decode = 3,
    Parse = 4,
    Encode = 5,
    Access = 6,
    Stopped = 7,
    Internal = 8,
}

/// The error of a function that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    pub(crate) text: String,
    offset: Option<usize>,
    path: String,
}

impl Failure {
    pub(crate) fn new(code: Code, text: impl Into<String>) -> Failure {
        Failure { code, text: text.into(), offset: None, path: String::new() }
    }

    pub(crate) fn misuse(text: impl Into<String>) -> Failure {
        Failure::new(Code::Misuse, text)
    }
}

impl From<AccessError> for Failure {
    fn from(error: AccessError) -> Failure {
        Failure::new(Code::Access, error.to_string())
    }
}

impl From<EncodeError> for Failure {
    fn from(error: EncodeError) -> Failure {
        Failure::new(Code::Encode, error.to_string())
    }
}

impl From<DecodeError> for Failure {
    fn from(error: DecodeError) -> Failure {
        let stopped = error.kind == tidemill_wire::ErrorKind::Stopped;
        let code = if stopped { Code::Stopped } else { Code::Decode };
        let text = error.to_string();
        Failure { code, text, offset: Some(error.offset), path: error.path }
    }
}

impl From<MessageError> for Failure {
    fn from(error: MessageError) -> Failure {
        match error {
            MessageError::Access(error) => error.into(),
            MessageError::Decode(error) => error.into(),
        }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Failure {
        let text = error.to_string();
        Failure { code: Code::Parse, text, offset: Some(error.offset), path: error.path }
    }
}

impl From<PrintError> for Failure {
    fn from(error: PrintError) -> Failure {
        match error {
            PrintError::Bytes(error) => error.into(),
            PrintError::Value(what) => Failure::new(Code::Encode, what),
        }
    }
}

/// The handle of an error.
#[derive(Debug)]
pub struct Error {
    code: Code,
    text: CString,
    path: CString,
    offset: usize,
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        // C would stop at a zero byte.
        let text = |text: String| CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default();
        let Failure { code, text: what, offset, path } = failure;
        Error { code, text: text(what), path: text(path), offset: offset.unwrap_or(usize::MAX) }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_error_code(error: *const Error) -> u32 {
    // SAFETY: the caller guarantees that `error` is null or a live handle.
    unsafe { error.as_ref() }.map_or(0, |error| error.code as u32)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_error_text(error: *const Error) -> *const c_char {
    // SAFETY: the caller guarantees that `error` is null or a live handle.
    unsafe { error.as_ref() }.map_or(c"".as_ptr(), |error| error.text.as_ptr())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_error_path(error: *const Error) -> *const c_char {
    // SAFETY: the caller guarantees that `error` is null or a live handle.
    unsafe { error.as_ref() }.map_or(c"".as_ptr(), |error| error.path.as_ptr())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_error_offset(error: *const Error) -> usize {
    // SAFETY: the caller guarantees that `error` is null or a live handle.
    unsafe { error.as_ref() }.map_or(usize::MAX, |error| error.offset)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_error_free(error: *mut Error) {
    // SAFETY: the caller guarantees that `error` is null or a handle of this library that is not
    // used again.
    unsafe { crate::handle::free(error) }
}
