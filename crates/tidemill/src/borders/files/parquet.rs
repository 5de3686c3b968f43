//! Tuples as rows of Parquet.
//!
//! | column | in the file |
//! |---|---|
//! | int64, interval | `INT64`, of intervals nanoseconds |
//! | double, or int64 and double | `DOUBLE` |
//! | bool, string, bytes | their types |
//! | ID | 20 bytes, big-endian |
//! | time | a timestamp in nanoseconds, UTC |
//! | lists, vectors, matrices, mixed columns | a string: JSON |

use std::fs::File;

use tidemill_relation::json::JsonWriter;
use tidemill_relation::{Type, TypeSet, Value};
use tidemill_wire_arrow::{Cell, ColumnType, RowError, RowFile};

use super::column::{Column, WriteError};

/// A file of rows that is written.
pub(super) struct Rows {
    file: RowFile<File>,
    forms: Vec<Form>,
}

/// How a column is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain(ColumnType),
    /// Integers or doubles, as doubles.
    Number,
    /// 20 bytes.
    Id,
    Json,
}

/// Doubles represent integers of up to this many bits exactly.
const EXACT_BITS: u32 = 53;
const ID_BYTES: u8 = 20;

impl Rows {
    /// Begins a file.
    pub(super) fn new(file: File, columns: &[Column]) -> Result<Rows, WriteError> {
        let forms: Vec<Form> = columns.iter().map(|column| form(column.types)).collect();
        let kind = |form: &Form| match form {
            Form::Plain(kind) => *kind,
            Form::Number => ColumnType::Double,
            Form::Id => ColumnType::Fixed(ID_BYTES),
            Form::Json => ColumnType::Text,
        };
        let names = columns.iter().map(|column| column.name.clone());
        let columns: Vec<(String, ColumnType)> = names.zip(forms.iter().map(kind)).collect();
        Ok(Rows { file: RowFile::new(file, &columns).map_err(write_error)?, forms })
    }

    /// Appends a tuple.
    pub(super) fn push(&mut self, values: &[Value<'_>]) -> Result<(), WriteError> {
        let texts: Vec<Option<Held>> =
            self.forms.iter().zip(values).map(|(form, value)| held(*form, *value)).collect();
        let cells = self.forms.iter().zip(values).zip(&texts).map(|((form, value), held)| {
            match (held, value) {
                (Some(Held::Text(text)), _) => Some(Cell::Text(text)),
                (Some(Held::Id(bytes)), _) => Some(Cell::Bytes(bytes)),
                (None, value) => cell(*form, *value),
            }
        });
        let cells: Option<Vec<Cell<'_>>> = cells.collect();
        self.file.push(&cells.ok_or(WriteError::Misfit)?).map_err(write_error)
    }

    /// Writes the footer.
    pub(super) fn finish(self) -> Result<File, WriteError> {
        self.file.finish().map_err(write_error)
    }
}

fn write_error(error: RowError) -> WriteError {
    match error {
        RowError::Misfit(_) => WriteError::Misfit,
        RowError::Write(reason) => WriteError::Failed(reason),
    }
}

fn form(types: TypeSet) -> Form {
    let types = types.without(TypeSet::of(Type::Null));
    if types == TypeSet::NUMBER {
        return Form::Number;
    }
    match types.single() {
        Some(Type::Int | Type::Interval) => Form::Plain(ColumnType::Integer),
        Some(Type::Double) => Form::Plain(ColumnType::Double),
        Some(Type::Bool) => Form::Plain(ColumnType::Boolean),
        Some(Type::Str) => Form::Plain(ColumnType::Text),
        Some(Type::Bytes) => Form::Plain(ColumnType::Bytes),
        Some(Type::Time) => Form::Plain(ColumnType::Time),
        Some(Type::Id) => Form::Id,
        _ => Form::Json,
    }
}

/// An owned form of a cell, where the column does not borrow the value itself.
enum Held {
    Text(String),
    Id([u8; ID_BYTES as usize]),
}

fn held(form: Form, value: Value<'_>) -> Option<Held> {
    match (form, value) {
        (_, Value::Null) => None,
        (Form::Json, value) => {
            let mut json = JsonWriter::new();
            json.value(value);
            Some(Held::Text(json.finish()))
        }
        (Form::Id, Value::Id(id)) => Some(Held::Id(id.to_be_bytes())),
        _ => None,
    }
}

fn cell(form: Form, value: Value<'_>) -> Option<Cell<'_>> {
    Some(match (form, value) {
        (_, Value::Null) => Cell::Null,
        (Form::Number, Value::Int(number)) => {
            let is_exact = number.unsigned_abs() <= 1 << EXACT_BITS;
            return is_exact.then_some(Cell::Double(number as f64));
        }
        (_, Value::Int(number) | Value::Interval(number)) => Cell::Integer(number),
        (_, Value::Double(number)) => Cell::Double(number),
        (_, Value::Bool(truth)) => Cell::Boolean(truth),
        (_, Value::Str(text)) => Cell::Text(text),
        (_, Value::Bytes(bytes)) => Cell::Bytes(bytes),
        (_, Value::Time(time)) => Cell::Time(time),
        _ => return None,
    })
}
