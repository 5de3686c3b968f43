//! A decoder with its columns: it skips fields without a column.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use tidemill_wire::decode::Listing;
use tidemill_wire::message::Batch;
use tidemill_wire::{DecodeError, Decoder, MessageId, Native, Schema, Tables};

use crate::columns::Columns;
use crate::plan::{Options, PlanError};

/// The engine that decodes messages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Engine {
    /// Native code, compiled first; tables on machines without a code generator.
    #[default]
    Native,
    /// Tables.
    Table,
}

/// Limits of the messages stored before they are moved to columns, in number and bytes: they fit
/// the innermost caches.
const STORED_MESSAGES: usize = 256;
const STORED_BYTES: usize = 128 << 10;

/// The memory for messages that is kept after a large one.
const KEPT_BYTES: usize = 4 << 20;

/// The bytes of messages of a batch beyond which they go into the columns one by one. Below, no
/// column can be full, as one byte makes at most three of text.
const CAREFUL_BYTES: usize = i32::MAX as usize / 3;

/// What readers of a message type with the same columns share: the decoder for them.
pub struct ReaderCode {
    schema: Schema,
    message: MessageId,
    options: Options,
    tables: Tables,
    native: Option<Native>,
}

impl ReaderCode {
    /// Makes the decoder for messages of one type.
    ///
    /// # Errors
    /// A selection that cannot be had.
    pub fn new(
        schema: &Schema,
        message: MessageId,
        options: &Options,
        engine: Engine,
    ) -> Result<ReaderCode, PlanError> {
        let columns = Columns::new(schema, message, options)?;
        let tables = match Tables::select(schema, message, columns.paths()) {
            Ok(tables) => tables,
            // The paths come from the schema; a message without fields has none.
            Err(_) => Tables::new(schema),
        };
        let native = match engine {
            Engine::Native => Native::for_batches(schema, &tables, Listing::Dropped).ok(),
            Engine::Table => None,
        };
        let (schema, options) = (schema.clone(), options.clone());
        Ok(ReaderCode { schema, message, options, tables, native })
    }

    /// Makes the native code now, and not when the first message is read.
    pub fn prepare(&self) {
        if let Some(native) = &self.native {
            // Without code the tables are used.
            let _ = native.prepare(self.message);
        }
    }
}

/// Turns serialized messages into batches.
pub struct BatchReader {
    code: Arc<ReaderCode>,
    columns: Columns,
    /// Messages that are not in the columns yet, if native code stores them.
    stored: Option<Batch>,
    /// Bytes of messages since the last batch.
    bytes: usize,
}

impl BatchReader {
    /// A reader of messages of one type.
    ///
    /// # Errors
    /// A selection that cannot be had.
    pub fn new(
        schema: &Schema,
        message: MessageId,
        options: &Options,
        engine: Engine,
    ) -> Result<BatchReader, PlanError> {
        Ok(BatchReader::with(Arc::new(ReaderCode::new(schema, message, options, engine)?)))
    }

    /// A reader that uses code which was made before.
    pub fn with(code: Arc<ReaderCode>) -> BatchReader {
        let columns = Columns::new(&code.schema, code.message, &code.options);
        let columns = columns.expect("the same selection could be had before");
        let stored = code.native.as_ref().and_then(|_| Batch::new(&code.schema, code.message).ok());
        BatchReader { code, columns, stored, bytes: 0 }
    }

    /// The schema of the batches.
    pub fn arrow_schema(&self) -> &SchemaRef {
        self.columns.arrow_schema()
    }

    /// Rows since the last batch.
    pub fn rows(&self) -> usize {
        self.columns.rows() + self.stored.as_ref().map_or(0, Batch::len)
    }

    /// Appends the row of a message.
    ///
    /// # Errors
    /// Bytes that are no such message: there is no row then. A column that would hold more than
    /// 2 GiB, as `stopped`: [`BatchReader::finish`] more often.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        let ReaderCode { schema, message, tables, native, .. } = &*self.code;
        let decoder = Decoder::with(schema, tables);
        self.bytes = self.bytes.saturating_add(bytes.len());
        let Some(stored) = &mut self.stored else {
            return decoder.decode(*message, bytes, &mut self.columns);
        };
        if let Some(native) = native.as_ref().filter(|_| self.bytes < CAREFUL_BYTES) {
            let pushed = stored.push(&decoder.native(native), bytes);
            if stored.len() >= STORED_MESSAGES || stored.used_bytes() >= STORED_BYTES {
                unload(stored, &mut self.columns);
            }
            return pushed;
        }
        unload(stored, &mut self.columns);
        decoder.decode(*message, bytes, &mut self.columns)
    }

    /// The rows since the last batch.
    ///
    /// # Errors
    /// None that is known; Arrow checks what it is given.
    pub fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        if let Some(stored) = &mut self.stored {
            unload(stored, &mut self.columns);
        }
        self.bytes = 0;
        self.columns.finish()
    }
}

/// Stored messages into the columns.
fn unload(stored: &mut Batch, columns: &mut Columns) {
    if !stored.is_empty() {
        let unloaded = columns.append(&stored.rows());
        unloaded.expect("messages of so few bytes fill no column");
    }
    stored.clear();
    stored.shrink(KEPT_BYTES);
}
