//! Writes rows of plain values, which are no messages, to a Parquet file.
//!
//! ```
//! use tidemill_wire_arrow::{Cell, ColumnType, RowFile};
//!
//! let columns = [("id".to_owned(), ColumnType::Integer), ("note".to_owned(), ColumnType::Text)];
//! let mut file = RowFile::new(Vec::new(), &columns)?;
//! file.push(&[Cell::Integer(7), Cell::Null])?;
//! let bytes = file.finish()?;
//! assert_eq!(&bytes[..4], b"PAR1");
//! # Ok::<(), tidemill_wire_arrow::RowError>(())
//! ```

use std::fmt;
use std::io::Write;
use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, FixedSizeBinaryBuilder, Float64Builder, Int64Builder,
    StringBuilder, TimestampNanosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

/// The rows, and their bytes, that are gathered as values before they are encoded.
const BATCH_ROWS: usize = 4096;
const BATCH_BYTES: usize = 4 << 20;
/// The encoded bytes after which a group of rows is written.
const GROUP_BYTES: usize = 16 << 20;

/// The type of a column. Every column is nullable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnType {
    /// `Int64`.
    Integer,
    /// `Float64`.
    Double,
    /// `Boolean`.
    Boolean,
    /// `Utf8`.
    Text,
    /// `Binary`.
    Bytes,
    /// `FixedSizeBinary` of the given number of bytes.
    Fixed(u8),
    /// `Timestamp` in nanoseconds, UTC.
    Time,
}

/// A value of a row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Cell<'c> {
    /// Null.
    Null,
    /// See [`ColumnType::Integer`].
    Integer(i64),
    /// See [`ColumnType::Double`].
    Double(f64),
    /// See [`ColumnType::Boolean`].
    Boolean(bool),
    /// See [`ColumnType::Text`].
    Text(&'c str),
    /// See [`ColumnType::Bytes`] and [`ColumnType::Fixed`].
    Bytes(&'c [u8]),
    /// See [`ColumnType::Time`].
    Time(i64),
}

/// The error of a row or a file that was not written.
#[derive(Debug)]
pub enum RowError {
    /// The cell of this column is of another kind, or the number of cells differs; the file is
    /// unchanged.
    Misfit(usize),
    /// The output fails, and the file is unusable.
    Write(String),
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RowError::Misfit(column) => write!(f, "column {} has another type", column + 1),
            RowError::Write(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for RowError {}

fn failed(error: impl fmt::Display) -> RowError {
    RowError::Write(error.to_string())
}

/// The values of a column that have not been encoded.
enum Column {
    Integer(Int64Builder),
    Double(Float64Builder),
    Boolean(BooleanBuilder),
    Text(StringBuilder),
    Bytes(BinaryBuilder),
    Fixed(FixedSizeBinaryBuilder, u8),
    Time(TimestampNanosecondBuilder),
}

impl Column {
    fn new(kind: ColumnType) -> Column {
        match kind {
            ColumnType::Integer => Column::Integer(Int64Builder::new()),
            ColumnType::Double => Column::Double(Float64Builder::new()),
            ColumnType::Boolean => Column::Boolean(BooleanBuilder::new()),
            ColumnType::Text => Column::Text(StringBuilder::new()),
            ColumnType::Bytes => Column::Bytes(BinaryBuilder::new()),
            ColumnType::Fixed(bytes) => {
                Column::Fixed(FixedSizeBinaryBuilder::new(bytes.into()), bytes)
            }
            ColumnType::Time => {
                Column::Time(TimestampNanosecondBuilder::new().with_timezone("UTC"))
            }
        }
    }

    fn takes(&self, cell: Cell<'_>) -> bool {
        match (self, cell) {
            (_, Cell::Null)
            | (Column::Integer(_), Cell::Integer(_))
            | (Column::Double(_), Cell::Double(_))
            | (Column::Boolean(_), Cell::Boolean(_))
            | (Column::Text(_), Cell::Text(_))
            | (Column::Bytes(_), Cell::Bytes(_))
            | (Column::Time(_), Cell::Time(_)) => true,
            (Column::Fixed(_, count), Cell::Bytes(bytes)) => bytes.len() == usize::from(*count),
            _ => false,
        }
    }

    /// Appends a cell; one of another kind becomes null.
    fn push(&mut self, cell: Cell<'_>) -> Result<(), ArrowError> {
        match (self, cell) {
            (Column::Integer(column), Cell::Integer(value)) => column.append_value(value),
            (Column::Integer(column), _) => column.append_null(),
            (Column::Double(column), Cell::Double(value)) => column.append_value(value),
            (Column::Double(column), _) => column.append_null(),
            (Column::Boolean(column), Cell::Boolean(value)) => column.append_value(value),
            (Column::Boolean(column), _) => column.append_null(),
            (Column::Text(column), Cell::Text(value)) => column.append_value(value),
            (Column::Text(column), _) => column.append_null(),
            (Column::Bytes(column), Cell::Bytes(value)) => column.append_value(value),
            (Column::Bytes(column), _) => column.append_null(),
            (Column::Fixed(column, _), Cell::Bytes(value)) => column.append_value(value)?,
            (Column::Fixed(column, _), _) => column.append_null(),
            (Column::Time(column), Cell::Time(value)) => column.append_value(value),
            (Column::Time(column), _) => column.append_null(),
        }
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Column::Integer(column) => Arc::new(column.finish()),
            Column::Double(column) => Arc::new(column.finish()),
            Column::Boolean(column) => Arc::new(column.finish()),
            Column::Text(column) => Arc::new(column.finish()),
            Column::Bytes(column) => Arc::new(column.finish()),
            Column::Fixed(column, _) => Arc::new(column.finish()),
            Column::Time(column) => Arc::new(column.finish()),
        }
    }
}

fn data_type(kind: ColumnType) -> DataType {
    match kind {
        ColumnType::Integer => DataType::Int64,
        ColumnType::Double => DataType::Float64,
        ColumnType::Boolean => DataType::Boolean,
        ColumnType::Text => DataType::Utf8,
        ColumnType::Bytes => DataType::Binary,
        ColumnType::Fixed(bytes) => DataType::FixedSizeBinary(bytes.into()),
        ColumnType::Time => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
    }
}

/// A Parquet file of rows, compressed with Snappy. Its buffer is bounded.
pub struct RowFile<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: SchemaRef,
    columns: Vec<Column>,
    rows: usize,
    bytes: usize,
}

impl<W: Write + Send> RowFile<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// The output fails.
    pub fn new(to: W, columns: &[(String, ColumnType)]) -> Result<RowFile<W>, RowError> {
        let fields = columns.iter().map(|(name, kind)| Field::new(name, data_type(*kind), true));
        let schema: SchemaRef = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = ArrowWriter::try_new(to, schema.clone(), Some(properties)).map_err(failed)?;
        let columns = columns.iter().map(|(_, kind)| Column::new(*kind)).collect();
        Ok(RowFile { writer, schema, columns, rows: 0, bytes: 0 })
    }

    /// Appends a row.
    ///
    /// # Errors
    /// A cell does not fit its column, or the output fails.
    pub fn push(&mut self, cells: &[Cell<'_>]) -> Result<(), RowError> {
        if cells.len() != self.columns.len() {
            return Err(RowError::Misfit(cells.len().min(self.columns.len())));
        }
        let mut both = self.columns.iter().zip(cells);
        if let Some(misfit) = both.position(|(column, cell)| !column.takes(*cell)) {
            return Err(RowError::Misfit(misfit));
        }
        for (column, &cell) in self.columns.iter_mut().zip(cells) {
            column.push(cell).map_err(failed)?;
            self.bytes += match cell {
                Cell::Text(text) => text.len(),
                Cell::Bytes(bytes) => bytes.len(),
                _ => 8,
            };
        }
        self.rows += 1;
        if self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES { self.encode() } else { Ok(()) }
    }

    fn encode(&mut self) -> Result<(), RowError> {
        let arrays = self.columns.iter_mut().map(Column::finish).collect();
        let batch = RecordBatch::try_new(self.schema.clone(), arrays).map_err(failed)?;
        (self.rows, self.bytes) = (0, 0);
        self.writer.write(&batch).map_err(failed)?;
        if self.writer.in_progress_size() >= GROUP_BYTES {
            self.writer.flush().map_err(failed)?;
        }
        Ok(())
    }

    /// Ends the file, and returns its writer.
    ///
    /// # Errors
    /// The output fails.
    pub fn finish(mut self) -> Result<W, RowError> {
        if self.rows > 0 {
            self.encode()?;
        }
        self.writer.into_inner().map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_does_not_fit_leaves_the_file_as_it_was() {
        let kinds = [ColumnType::Integer, ColumnType::Fixed(2), ColumnType::Time];
        let columns: Vec<(String, ColumnType)> =
            kinds.iter().enumerate().map(|(at, kind)| (format!("a{at}"), *kind)).collect();
        let mut file = RowFile::new(Vec::new(), &columns).expect("a file");
        let row = [Cell::Integer(1), Cell::Bytes(b"ab"), Cell::Time(5)];
        file.push(&row).expect("it fits");
        for (at, cell) in [(0, Cell::Double(1.0)), (1, Cell::Bytes(b"abc")), (2, Cell::Text(""))] {
            let mut wrong = row;
            wrong[at] = cell;
            let refused = file.push(&wrong).expect_err("it does not fit");
            assert!(matches!(refused, RowError::Misfit(column) if column == at), "{refused}");
        }
        assert!(matches!(file.push(&row[..2]), Err(RowError::Misfit(2))));
        file.push(&[Cell::Null; 3]).expect("nulls fit");
        assert_eq!(file.rows, 2);
        let bytes = file.finish().expect("finished");
        assert_eq!((&bytes[..4], &bytes[bytes.len() - 4..]), (&b"PAR1"[..], &b"PAR1"[..]));
    }
}
