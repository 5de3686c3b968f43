//! Length-delimited messages: in files, sockets, and the pieces of iterators.

use std::cell::RefCell;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator};
use tidemill_wire::delimited::{self, FrameError};
use tidemill_wire::message::MapOrder;

use crate::error::{DecodeError, Error};
use crate::input::Input;
use crate::message::PyMessage;
use crate::schema::PyMessageType;
use crate::shared::Required;

/// The bytes requested per read.
const PIECE_BYTES: usize = 64 << 10;

/// The encoding of lengths.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Varint,
    Fixed32,
}

impl Framing {
    pub(crate) fn of(name: &str) -> PyResult<Framing> {
        match name {
            "varint" => Ok(Framing::Varint),
            "fixed32" => Ok(Framing::Fixed32),
            other => {
                Err(Error::new_err(format!("framing: \"varint\" or \"fixed32\", not {other}")))
            }
        }
    }

    /// Appends content with its length as prefix.
    pub(crate) fn write(self, out: &mut Vec<u8>, content: &[u8]) -> PyResult<()> {
        match self {
            Framing::Varint => {
                delimited::write_varint(out, content);
                Ok(())
            }
            Framing::Fixed32 => delimited::write(out, content).map_err(refused),
        }
    }
}

#[cold]
fn refused(error: FrameError) -> PyErr {
    DecodeError::new_err(error.to_string())
}

/// The source of bytes.
enum Source {
    /// An object with `read`.
    File(Py<PyAny>),
    /// An iterator of pieces.
    Pieces(Py<PyIterator>),
    /// The source has ended.
    Ended,
}

struct State {
    source: Source,
    buffer: Vec<u8>,
    /// The number of bytes of the buffer that are read.
    at: usize,
}

/// An iterator of the messages of a stream.
#[pyclass(name = "DelimitedReader", module = "tidemill", frozen)]
pub(crate) struct PyDelimited {
    ty: PyMessageType,
    framing: Framing,
    bytes_max: usize,
    state: RefCell<State>,
}

// SAFETY: the cell is used only with the interpreter's lock held; the module requires the lock.
unsafe impl Sync for PyDelimited {}

impl PyDelimited {
    /// Reads a file, bytes, or an iterable of pieces of bytes.
    pub(crate) fn new(
        ty: PyMessageType,
        source: &Bound<'_, PyAny>,
        framing: Framing,
        bytes_max: usize,
    ) -> PyResult<PyDelimited> {
        let mut buffer = Vec::new();
        let source = if let Ok(bytes) = Input::of(source) {
            buffer.extend_from_slice(bytes.bytes());
            Source::Ended
        } else if source.hasattr("read")? {
            Source::File(source.clone().unbind())
        } else {
            let pieces = source.try_iter().map_err(|_| {
                PyTypeError::new_err("a file, bytes, or an iterable of bytes is needed")
            })?;
            Source::Pieces(pieces.unbind())
        };
        let state = RefCell::new(State { source, buffer, at: 0 });
        Ok(PyDelimited { ty, framing, bytes_max, state })
    }

    /// The next message in the buffer; `None` while it is incomplete.
    fn take(&self, py: Python<'_>, state: &mut State) -> PyResult<Option<PyMessage>> {
        let rest = &state.buffer[state.at..];
        let split = match self.framing {
            Framing::Varint => delimited::split_varint(rest, self.bytes_max),
            Framing::Fixed32 => delimited::split(rest, self.bytes_max),
        };
        let Some((content, after)) = split.map_err(refused)? else { return Ok(None) };
        let message = self.ty.shared.decode(py, self.ty.message, content);
        // A malformed message is skipped, so that the next can be read.
        state.at = state.buffer.len() - after.len();
        Ok(Some(self.ty.whole(message?)))
    }

    fn busy() -> PyErr {
        Error::new_err("the stream is being read")
    }
}

/// The next piece; `None` at the end.
fn more<'py>(py: Python<'py>, source: &Source) -> PyResult<Option<Bound<'py, PyAny>>> {
    match source {
        Source::Ended => Ok(None),
        Source::File(file) => {
            let piece = file.bind(py).call_method1("read", (PIECE_BYTES,))?;
            match piece.is_none() {
                true => Err(Error::new_err("the file would block")),
                false => Ok(Some(piece)),
            }
        }
        Source::Pieces(pieces) => pieces.bind(py).clone().next().transpose(),
    }
}

impl Source {
    fn share(&self, py: Python<'_>) -> Source {
        match self {
            Source::File(file) => Source::File(file.clone_ref(py)),
            Source::Pieces(pieces) => Source::Pieces(pieces.clone_ref(py)),
            Source::Ended => Source::Ended,
        }
    }
}

#[pymethods]
impl PyDelimited {
    fn __iter__(this: Py<PyDelimited>) -> Py<PyDelimited> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PyMessage>> {
        loop {
            let source = {
                let mut state = self.state.try_borrow_mut().map_err(|_| PyDelimited::busy())?;
                if let Some(message) = self.take(py, &mut state)? {
                    return Ok(Some(message));
                }
                if matches!(state.source, Source::Ended) {
                    let left = state.buffer.len() - state.at;
                    state.at = state.buffer.len();
                    return match left {
                        0 => Ok(None),
                        _ => Err(DecodeError::new_err(format!(
                            "the stream ends in a message, of which it has {left} bytes"
                        ))),
                    };
                }
                state.source.share(py)
            };
            // Nothing is borrowed while Python code reads.
            let piece = more(py, &source)?;
            let input = piece.as_ref().map(Input::of).transpose()?;
            let is_file = matches!(source, Source::File(_));
            let mut state = self.state.try_borrow_mut().map_err(|_| PyDelimited::busy())?;
            let bytes = input.as_ref().map_or(&[][..], Input::bytes);
            if input.is_none() || (bytes.is_empty() && is_file) {
                state.source = Source::Ended;
                continue;
            }
            let at = std::mem::take(&mut state.at);
            state.buffer.drain(..at);
            state.buffer.extend_from_slice(bytes);
        }
    }
}

/// Writes messages, or dicts of fields, to a file, each with its length as prefix; returns their
/// number.
pub(crate) fn write(
    py: Python<'_>,
    ty: &PyMessageType,
    file: &Bound<'_, PyAny>,
    messages: &Bound<'_, PyAny>,
    framing: Framing,
) -> PyResult<usize> {
    let (mut out, mut count) = (Vec::new(), 0);
    let flush = |out: &mut Vec<u8>| -> PyResult<()> {
        let bytes = PyBytes::new(py, out);
        out.clear();
        write_all(file, &bytes)
    };
    for message in messages.try_iter()? {
        let message = message?;
        let made;
        let message = match message.cast::<PyMessage>() {
            Ok(message) => message.get(),
            Err(_) => {
                made = ty.made(&message)?;
                &made
            }
        };
        let content = message.read(|message| {
            if message.message_type() != ty.message || !message.schema().is_same(&ty.shared.schema)
            {
                return Err(PyTypeError::new_err("the message is of another type"));
            }
            let take = |bytes: &[u8]| framing.write(&mut out, bytes);
            ty.shared.encode(py, message, MapOrder::Stored, Required::Checked, take)
        })?;
        content?;
        count += 1;
        if out.len() >= PIECE_BYTES {
            flush(&mut out)?;
        }
    }
    flush(&mut out)?;
    Ok(count)
}

/// Writes all bytes, also to files that accept only a part per call.
fn write_all(file: &Bound<'_, PyAny>, bytes: &Bound<'_, PyBytes>) -> PyResult<()> {
    let len = bytes.as_bytes().len();
    let mut done = 0;
    while done < len {
        let rest = PyBytes::new(file.py(), &bytes.as_bytes()[done..]);
        let written = file.call_method1("write", (rest,))?;
        // Some file-like objects return `None`: then everything is written.
        let Ok(written) = written.extract::<usize>() else { return Ok(()) };
        if written == 0 {
            return Err(Error::new_err("the file takes no more"));
        }
        done += written;
    }
    Ok(())
}
