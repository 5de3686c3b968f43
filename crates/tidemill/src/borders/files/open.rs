//! A file that is being written.
//!
//! The buffer holds whole records, so a file whose write fails ends with a whole one. A file that
//! is usable only when finished, or that others fetch then, is written as `NAME.part` and renamed
//! at the end.

use std::fs::File;
use std::io::{self, Write};

use tidemill_apps::capture::{CaptureWriter, Format};
use tidemill_relation::Value;

use super::column::{Column, Existing, WriteError};
use super::lines;
use super::name::{FileForm, FileName};
use super::parquet::Rows;
use crate::components::system::confined::{Purpose, Replaces, Root};

/// The maximum size of the buffer.
const BUFFER_BYTES: usize = 1 << 16;
/// The maximum number of files of one name, distinguished by a number.
const NUMBERS_MAX: u32 = 10_000;

/// A file that is open.
pub(super) struct Open {
    /// Its final name.
    pub(super) name: String,
    path: String,
    over: Replaces,
    records: Records,
    /// Tuples in the buffer.
    pub(super) waiting: u64,
    /// Tuples written and not counted yet.
    flushed: u64,
}

enum Records {
    Lines(FileForm, Buffered, Vec<u8>),
    Frames(Buffered, Box<CaptureWriter<Vec<u8>>>),
    Rows(Box<Rows>),
}

/// A file to which whole records are written.
struct Buffered {
    file: File,
    length: u64,
}

impl Buffered {
    /// Writes the records in a buffer; on an error truncates the file to the records before them.
    fn write(&mut self, records: &mut Vec<u8>) -> io::Result<()> {
        let written = self.file.write_all(records);
        match &written {
            Ok(()) => self.length += records.len() as u64,
            // If truncation fails too, the partial record stays.
            Err(_) => drop(self.file.set_len(self.length)),
        }
        records.clear();
        written
    }
}

impl Open {
    /// Creates the file that a name means at this time.
    pub(super) fn new(
        root: &Root,
        name: &FileName,
        time_ns: i64,
        columns: &[Column],
        existing: Existing,
    ) -> Result<Open, WriteError> {
        let wanted = name.at(time_ns);
        let is_kept = existing == Existing::Kept && name.rotates();
        let is_partial = name.rotates() || name.form() == FileForm::Parquet;
        let (file, name_then, path) = match (is_kept, is_partial) {
            (true, _) => numbered(root, &wanted)?,
            (false, true) => {
                let path = partial(&wanted);
                (root.open(path.as_bytes(), Purpose::New)?, wanted, path)
            }
            (false, false) => (root.open(wanted.as_bytes(), Purpose::New)?, wanted.clone(), wanted),
        };
        let over = if is_kept { Replaces::Nothing } else { Replaces::Others };
        let records = Records::new(file, name.form(), columns)?;
        let mut open = Open { name: name_then, path, over, records, waiting: 0, flushed: 0 };
        // Writes the head now, so that a full disk is found at once.
        open.flush()?;
        Ok(open)
    }

    /// Buffers a tuple.
    pub(super) fn write(
        &mut self,
        columns: &[Column],
        values: &[Value<'_>],
        time_ns: i64,
    ) -> Result<(), WriteError> {
        let waits = match &mut self.records {
            Records::Lines(FileForm::Csv, _, buffer) => {
                lines::csv(buffer, values);
                buffer.len()
            }
            Records::Lines(_, _, buffer) => {
                lines::json(buffer, columns, values);
                buffer.len()
            }
            Records::Frames(_, writer) => {
                let Some(Value::Bytes(frame)) = values.last() else {
                    return Err(WriteError::Misfit);
                };
                let captured = values.iter().find_map(|value| match value {
                    Value::Time(time) => Some(*time),
                    _ => None,
                });
                let length = u32::try_from(frame.len()).map_err(|_| WriteError::Misfit)?;
                writer.write(captured.unwrap_or(time_ns), frame, length)?;
                writer.output().len()
            }
            Records::Rows(rows) => {
                rows.push(values)?;
                0
            }
        };
        self.waiting += 1;
        if waits >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes the buffer, as far as the form allows before the end.
    pub(super) fn flush(&mut self) -> Result<(), WriteError> {
        match &mut self.records {
            Records::Lines(_, file, buffer) => file.write(buffer)?,
            Records::Frames(file, writer) => file.write(writer.output())?,
            Records::Rows(_) => return Ok(()),
        }
        self.flushed += std::mem::take(&mut self.waiting);
        Ok(())
    }

    /// The number of tuples written since the last call.
    pub(super) fn take_flushed(&mut self) -> u64 {
        std::mem::take(&mut self.flushed)
    }

    /// Closes a flushed file, and renames it to its final name.
    pub(super) fn finish(self, root: &Root) -> Result<(), WriteError> {
        if let Records::Rows(rows) = self.records {
            rows.finish()?;
        }
        if self.path == self.name {
            Ok(())
        } else {
            Ok(root.rename(self.path.as_bytes(), self.name.as_bytes(), self.over)?)
        }
    }
}

impl Records {
    fn new(file: File, form: FileForm, columns: &[Column]) -> Result<Records, WriteError> {
        let buffered = |file| Buffered { file, length: 0 };
        Ok(match form {
            FileForm::Json => Records::Lines(form, buffered(file), Vec::new()),
            FileForm::Csv => {
                let mut head = Vec::new();
                lines::csv_head(&mut head, columns);
                Records::Lines(form, buffered(file), head)
            }
            FileForm::Pcap => {
                let writer = CaptureWriter::new(Vec::new(), Format::Pcap)?;
                Records::Frames(buffered(file), Box::new(writer))
            }
            FileForm::Parquet => Records::Rows(Box::new(Rows::new(file, columns)?)),
        })
    }
}

fn partial(name: &str) -> String {
    format!("{name}.part")
}

/// Creates a file of that name, with a number if it exists or is being written by another process.
fn numbered(root: &Root, wanted: &str) -> Result<(File, String, String), WriteError> {
    let (stem, ending) = wanted.rsplit_once('.').unwrap_or((wanted, ""));
    for number in 0..NUMBERS_MAX {
        let name = match number {
            0 => wanted.to_owned(),
            number => format!("{stem}-{number}.{ending}"),
        };
        if root.has(name.as_bytes()) {
            continue;
        }
        let path = partial(&name);
        match root.open(path.as_bytes(), Purpose::Fresh) {
            Ok(file) => return Ok((file, name, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(WriteError::Failed(format!("there are {NUMBERS_MAX} files of that name")))
}
