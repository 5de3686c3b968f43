//! A decoder and columns that fit each other: fields without a column are skipped.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use tidemill_wire::{DecodeError, Decoder, MessageId, Native, Schema, Sink, Tables};

use crate::columns::Columns;
use crate::plan::{Options, PlanError};

/// How messages are decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Engine {
    /// By native code, which is compiled first; by tables on machines that it cannot be made for.
    #[default]
    Native,
    /// By tables.
    Table,
}

/// Turns serialized messages into batches.
pub struct Reader {
    schema: Schema,
    message: MessageId,
    columns: Columns,
    tables: Tables,
    native: Option<Native>,
}

impl Reader {
    /// A reader of messages of one type.
    ///
    /// # Errors
    /// A selection that cannot be had.
    pub fn new(
        schema: &Schema,
        message: MessageId,
        options: &Options,
        engine: Engine,
    ) -> Result<Reader, PlanError> {
        let columns = Columns::new(schema, message, options)?;
        let tables = match Tables::select(schema, message, columns.paths()) {
            Ok(tables) => tables,
            // The paths come from the schema; a message without fields has none.
            Err(_) => Tables::new(schema),
        };
        let native = match engine {
            Engine::Native => Native::compile(schema, &tables, Columns::wants()).ok(),
            Engine::Table => None,
        };
        Ok(Reader { schema: schema.clone(), message, columns, tables, native })
    }

    /// The columns.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Appends the row of a message.
    ///
    /// # Errors
    /// Bytes that are no such message: there is no row then. A column that would hold more than
    /// 2 GiB, as `stopped`: [`Reader::finish`] more often.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        let decoder = Decoder::with(&self.schema, &self.tables);
        let decoder = match &self.native {
            Some(native) => decoder.native(native),
            None => decoder,
        };
        decoder.decode(self.message, bytes, &mut self.columns)
    }

    /// The rows since the last batch.
    ///
    /// # Errors
    /// None that is known; Arrow checks what it is given.
    pub fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        self.columns.finish()
    }
}
