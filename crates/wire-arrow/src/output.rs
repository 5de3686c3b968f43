//! Batches into files: the Arrow IPC stream format, and Parquet.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

/// A file format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// The Arrow IPC stream format: batches in order, each readable once it is written.
    Arrow,
    /// Parquet, compressed with Snappy.
    Parquet,
}

/// Writes batches of one schema.
pub struct Output<W: Write + Send>(Writer<W>);

enum Writer<W: Write + Send> {
    Arrow(Box<StreamWriter<W>>),
    Parquet(Box<ArrowWriter<W>>),
}

impl<W: Write + Send> Output<W> {
    /// Begins a file.
    pub fn new(to: W, format: Format, schema: &SchemaRef) -> Result<Output<W>, ArrowError> {
        Ok(Output(match format {
            Format::Arrow => Writer::Arrow(Box::new(StreamWriter::try_new(to, schema)?)),
            Format::Parquet => {
                let properties =
                    WriterProperties::builder().set_compression(Compression::SNAPPY).build();
                let writer = ArrowWriter::try_new(to, schema.clone(), Some(properties))?;
                Writer::Parquet(Box::new(writer))
            }
        }))
    }

    /// Appends a batch.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        match &mut self.0 {
            Writer::Arrow(writer) => writer.write(batch),
            Writer::Parquet(writer) => Ok(writer.write(batch)?),
        }
    }

    /// Ends the file and returns its writer.
    pub fn finish(self) -> Result<W, ArrowError> {
        match self.0 {
            Writer::Arrow(mut writer) => {
                writer.finish()?;
                writer.into_inner()
            }
            Writer::Parquet(writer) => Ok(writer.into_inner()?),
        }
    }
}
