//! The sink: appends the values of events to their columns.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema as ArrowSchema, SchemaRef};
use tidemill_wire::message::batch::Rows;
use tidemill_wire::{FieldId, MessageId, Schema, Sink, SinkResult, Stop, Wants};

use crate::append::append;
use crate::column::{Column, Form, Full, Items, put};
use crate::export;
use crate::plan::{Options, Plan, PlanError, Record, plan};

/// The columns of a message type; a [`Sink`] that appends a row per message.
///
/// The walk is [stopped](Stop) when a batch would hold more than 2 GiB of text in a column, or
/// more items of lists: [`Columns::finish`] more often. The row of a failed walk is dropped by the
/// next message or by [`Columns::finish`].
pub struct Columns {
    schema: Schema,
    arrow: SchemaRef,
    plan: Plan,
    /// The message being walked.
    here: Here,
    /// The enclosing messages, outermost first.
    outer: Vec<Here>,
    /// The column of the string or bytes being walked.
    open: Option<usize>,
    /// True if a row is being filled, or a failed walk has left one.
    begun: bool,
}

/// The message being walked: the state that each value needs.
#[derive(Clone, Copy)]
struct Here {
    record: usize,
    /// The row being filled.
    row: usize,
    /// The start of its part of the lookup, and its number of fields; 0 for a message that is not
    /// wanted.
    lookup: usize,
    span: usize,
    /// The least id of its fields.
    first: usize,
}

impl Here {
    fn of(plan: &Plan, record: usize) -> Here {
        let Record { lookup, span, first, row, .. } = plan.records[record];
        Here { record, row, lookup, span, first }
    }
}

impl Columns {
    /// Columns for a message type.
    pub fn new(
        schema: &Schema,
        message: MessageId,
        options: &Options,
    ) -> Result<Columns, PlanError> {
        let plan = plan(schema, message, options)?;
        let arrow = Arc::new(ArrowSchema::new(plan.records[0].fields.clone()));
        let here = Here::of(&plan, 0);
        Ok(Columns {
            schema: schema.clone(),
            arrow,
            plan,
            here,
            outer: Vec::new(),
            open: None,
            begun: false,
        })
    }

    /// The schema of the batches.
    pub fn arrow_schema(&self) -> &SchemaRef {
        &self.arrow
    }

    /// Paths of the fields without column because they lead back to an enclosing message.
    pub fn left_out(&self) -> &[String] {
        &self.plan.left_out
    }

    /// Paths of the fields that have columns: with [`Tables::select`] a decoder skips all others.
    ///
    /// [`Tables::select`]: tidemill_wire::Tables::select
    pub fn paths(&self) -> &[String] {
        &self.plan.paths
    }

    /// The number of complete rows.
    pub fn rows(&self) -> usize {
        self.plan.records[0].rows
    }

    /// The rows since the last batch; the next message begins a new one.
    pub fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        self.drop_row();
        export::batch(&self.schema, &mut self.plan, &self.arrow)
    }

    /// Appends a row per message; the messages are of this type.
    ///
    /// # Errors
    /// A column would hold more than Arrow counts.
    pub(crate) fn append(&mut self, rows: &Rows<'_>) -> Result<(), Full> {
        self.drop_row();
        append(&mut self.plan, 0, rows)
    }

    /// Removes the partial row of a failed walk.
    fn drop_row(&mut self) {
        if !std::mem::take(&mut self.begun) {
            return;
        }
        self.open = None;
        self.outer.clear();
        let rows = self.rows();
        truncate_record(&mut self.plan, 0, rows);
    }

    /// The number of the column of a field of the current message, if it is wanted.
    #[inline(always)]
    fn column(&self, field: FieldId) -> Option<usize> {
        let Here { lookup, span, first, .. } = self.here;
        let at = field.index().wrapping_sub(first);
        if at >= span {
            return None;
        }
        (*self.plan.lookup.get(lookup + at)? as usize).checked_sub(1)
    }

    /// The column of a field if it is wanted; makes the field the one set in its oneof.
    #[inline(always)]
    fn place(&mut self, field: FieldId) -> Option<&mut Column> {
        let column = self.column(field)?;
        if self.plan.columns.get(column)?.oneof.is_some() {
            self.take_oneof(column);
        }
        self.plan.columns.get_mut(column)
    }

    /// Removes the row's value from another member of the oneof.
    #[inline(never)]
    fn take_oneof(&mut self, column: usize) {
        let Here { record, row, .. } = self.here;
        let Some(oneof) = self.plan.columns[column].oneof else { return };
        let place = &mut self.plan.records[record].oneofs[oneof];
        let (before, other) = std::mem::replace(place, (row + 1, column));
        if before == row + 1 && other != column {
            truncate_column(&mut self.plan, other, row);
        }
    }

    #[inline]
    fn begin_text(&mut self, field: FieldId) -> SinkResult {
        let row = self.here.row;
        self.open = None;
        let Some(Column { rows, items, .. }) = self.place(field) else { return Ok(()) };
        let count = match items {
            Items::Text(texts, _) | Items::Bytes(texts) => texts.ends.len(),
            _ => return Ok(()),
        };
        rows.enter(row, count).map_err(stop)?;
        if count != row && matches!(rows.form, Form::One { .. }) {
            // Rows before it lack a value, or this one has a value already.
            items.truncate(row);
            items.pad(row);
        }
        self.open = self.column(field);
        Ok(())
    }
}

fn stop(_: Full) -> Stop {
    Stop
}

/// Truncates a record to its first `rows` rows.
pub(crate) fn truncate_record(plan: &mut Plan, number: usize, rows: usize) {
    let record = &mut plan.records[number];
    record.rows = record.rows.min(rows);
    record.oneofs.fill((0, 0));
    for at in 0..plan.records[number].columns.len() {
        let column = plan.records[number].columns[at];
        truncate_column(plan, column, rows);
    }
}

fn truncate_column(plan: &mut Plan, number: usize, rows: usize) {
    let column = &mut plan.columns[number];
    let items = match column.rows.form {
        Form::One { .. } => {
            column.rows.present.truncate(rows);
            rows
        }
        Form::List | Form::Map => match column.rows.starts.get(rows) {
            None => return,
            Some(&start) => {
                column.rows.starts.truncate(rows);
                start as usize
            }
        },
    };
    match column.items {
        Items::Record(record) => truncate_record(plan, record, items),
        _ => column.items.truncate(items),
    }
}

macro_rules! scalar {
    ($name:ident, $type:ty, $($items:pat => $values:expr),+) => {
        #[inline]
        fn $name(&mut self, field: FieldId, value: $type) -> SinkResult {
            let row = self.here.row;
            let Some(Column { rows, items, .. }) = self.place(field) else { return Ok(()) };
            match items {
                $($items => put(rows, $values, row, value).map_err(stop),)+
                _ => Ok(()),
            }
        }
    };
}

impl<'a> Sink<'a> for Columns {
    fn wants() -> Wants {
        Wants::MESSAGE
            | Wants::SUB
            | Wants::I64
            | Wants::U64
            | Wants::I32
            | Wants::U32
            | Wants::F64
            | Wants::F32
            | Wants::BOOL
            | Wants::STRING
            | Wants::BYTES
    }

    fn start_message(&mut self, _: MessageId) -> SinkResult {
        self.drop_row();
        let record: &mut Record = &mut self.plan.records[0];
        record.row = record.rows;
        self.here = Here::of(&self.plan, 0);
        self.begun = true;
        Ok(())
    }

    fn end_message(&mut self, _: MessageId) -> SinkResult {
        self.begun = false;
        self.plan.records[0].rows += 1;
        Ok(())
    }

    fn start_sub(&mut self, field: FieldId) -> SinkResult {
        self.outer.push(self.here);
        let row = self.here.row;
        let inner = self.place(field).and_then(|column| match column.items {
            Items::Record(inner) => Some(inner),
            _ => None,
        });
        let (Some(inner), Some(column)) = (inner, self.column(field)) else {
            // None of its fields is wanted.
            self.here.span = 0;
            return Ok(());
        };
        let (column, record) = (&mut self.plan.columns[column], &mut self.plan.records[inner]);
        column.rows.enter(row, record.rows).map_err(stop)?;
        if matches!(column.rows.form, Form::One { .. }) {
            // A message that occurs twice is merged into one row.
            record.row = row;
            record.rows = row + 1;
        } else {
            record.row = record.rows;
            record.rows += 1;
        }
        self.here = Here::of(&self.plan, inner);
        Ok(())
    }

    fn end_sub(&mut self, _: FieldId) -> SinkResult {
        if let Some(outside) = self.outer.pop() {
            self.here = outside;
        }
        Ok(())
    }

    scalar!(i64, i64, Items::I64(values) => values);
    scalar!(u64, u64, Items::U64(values) => values);
    scalar!(i32, i32, Items::I32(values) => values, Items::Enum(_, values) => values);
    scalar!(u32, u32, Items::U32(values) => values);
    scalar!(f64, f64, Items::F64(values) => values);
    scalar!(f32, f32, Items::F32(values) => values);

    #[inline]
    fn bool(&mut self, field: FieldId, value: bool) -> SinkResult {
        let row = self.here.row;
        let Some(Column { rows, items: Items::Bool(values), .. }) = self.place(field) else {
            return Ok(());
        };
        rows.enter(row, values.len()).map_err(stop)?;
        let at = if matches!(rows.form, Form::One { .. }) { row } else { values.len() };
        values.set(at, value);
        Ok(())
    }

    fn start_string(&mut self, field: FieldId, _: usize) -> SinkResult {
        self.begin_text(field)
    }

    #[inline]
    fn string(&mut self, _: FieldId, piece: &'a str) -> SinkResult {
        if let Some(column) = self.open
            && let Items::Text(texts, _) = &mut self.plan.columns[column].items
        {
            texts.data.extend_from_slice(piece.as_bytes());
        }
        Ok(())
    }

    fn end_string(&mut self, _: FieldId) -> SinkResult {
        match self.open.take().map(|column| &mut self.plan.columns[column].items) {
            Some(Items::Text(texts, _)) => texts.close().map_err(stop),
            _ => Ok(()),
        }
    }

    fn start_bytes(&mut self, field: FieldId, _: usize) -> SinkResult {
        self.begin_text(field)
    }

    #[inline]
    fn bytes(&mut self, _: FieldId, piece: &'a [u8]) -> SinkResult {
        match self.open.map(|column| &mut self.plan.columns[column].items) {
            Some(Items::Bytes(texts)) => texts.data.extend_from_slice(piece),
            // A string that need not be UTF-8, and is not.
            Some(Items::Text(texts, _)) => {
                texts.data.extend_from_slice(String::from_utf8_lossy(piece).as_bytes());
            }
            _ => {}
        }
        Ok(())
    }

    fn end_bytes(&mut self, _: FieldId) -> SinkResult {
        match self.open.take().map(|column| &mut self.plan.columns[column].items) {
            Some(Items::Bytes(texts)) => texts.close().map_err(stop),
            _ => Ok(()),
        }
    }
}
