//! Converts messages to Arrow batches, written as an IPC stream or a Parquet file.

use std::cell::OnceCell;
use std::fmt;
use std::io::{self, Read, Write};
use std::sync::Arc;

use tidemill_wire_arrow::{
    BatchReader, Columns, Engine as ReaderEngine, Format, Options, Output, ReaderCode,
};

use super::convert::{Converter, Engine, Problem, Progress};
use super::form::{ColumnForm, ConvertError, Counts, Form};

/// The maximum number of rows in a batch.
const BATCH_ROWS: usize = 65_536;
/// The number of message bytes after which a batch ends early.
const BATCH_BYTES: u64 = 64 << 20;

/// The code shared by the readers of columns, compiled once per converter.
#[derive(Default)]
pub(super) struct Code(OnceCell<Arc<ReaderCode>>);

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Code(made: {})", self.0.get().is_some())
    }
}

/// Counts the bytes written.
struct Counted<W> {
    to: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

fn write_failed(error: impl fmt::Display) -> ConvertError {
    ConvertError::Write(io::Error::other(error.to_string()))
}

impl Converter<'_> {
    fn options(&self) -> Options {
        Options { select: self.paths.clone(), ..Options::default() }
    }

    /// Fields without a column, as they are recursive.
    ///
    /// # Errors
    /// A selection that cannot be represented as columns.
    pub fn without_column(&self) -> Result<Vec<String>, ConvertError> {
        let columns = Columns::new(self.schema, self.message, &self.options());
        let columns = columns.map_err(|error| ConvertError::Selection(error.to_string()))?;
        Ok(columns.left_out().to_vec())
    }

    /// Converts all messages of `input` into columns.
    ///
    /// # Errors
    /// As [`Converter::convert`]; a selection that cannot be represented as columns.
    pub fn convert_to_columns(
        &self,
        input: impl Read,
        from: Form,
        output: impl Write + Send,
        to: ColumnForm,
        progress: Progress<'_>,
    ) -> Result<Counts, ConvertError> {
        let engine = match self.engine {
            Engine::Native => ReaderEngine::Native,
            Engine::Table => ReaderEngine::Table,
        };
        let code = match self.columns.0.get() {
            Some(code) => code.clone(),
            None => {
                let code = ReaderCode::new(self.schema, self.message, &self.options(), engine);
                let code = code.map_err(|error| ConvertError::Selection(error.to_string()))?;
                self.columns.0.get_or_init(|| Arc::new(code)).clone()
            }
        };
        let mut reader = BatchReader::with(code);
        let format = match to {
            ColumnForm::Arrow => Format::Arrow,
            ColumnForm::Parquet => Format::Parquet,
        };
        let counted = Counted { to: output, bytes: 0 };
        let schema = reader.arrow_schema().clone();
        let mut file = Output::new(counted, format, &schema).map_err(write_failed)?;
        let mut batch_bytes = 0;
        let walked = self.each(input, from, progress, |bytes, _| {
            batch_bytes += bytes.len() as u64;
            reader.append(bytes).map_err(Problem::from_display)?;
            if reader.rows() >= BATCH_ROWS || batch_bytes >= BATCH_BYTES {
                batch_bytes = 0;
                let batch = reader.finish().map_err(write_failed)?;
                file.write(&batch).map_err(write_failed)?;
            }
            Ok(())
        });
        let (mut counts, done) = walked?;
        // Messages before an invalid one are written, and the file is completed.
        if reader.rows() > 0 {
            let batch = reader.finish().map_err(write_failed)?;
            file.write(&batch).map_err(write_failed)?;
        }
        let mut counted = file.finish().map_err(write_failed)?;
        counted.flush().map_err(ConvertError::Write)?;
        counts.output_bytes = counted.bytes;
        done.map(|()| counts)
    }
}
