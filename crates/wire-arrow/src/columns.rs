//! The sink: events in, values behind the others in their columns.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema as ArrowSchema, SchemaRef};
use tidemill_wire::{FieldId, Flow, MessageId, Schema, Sink, Stop, Wants};

use crate::column::{Column, Form, Full, Items, put};
use crate::export;
use crate::plan::{Options, Plan, PlanError, Record, plan};

/// The columns of a message type; a [`Sink`] that appends a row per message.
///
/// The walk is [stopped](Stop) when a batch would hold more than 2 GiB of text in a column, or
/// more items of lists: [`Columns::finish`] more often. After any failed walk the row it was
/// filling goes with the next message or with [`Columns::finish`].
pub struct Columns {
    schema: Schema,
    arrow: SchemaRef,
    plan: Plan,
    /// The record of the message being walked.
    current: usize,
    /// Its outer ones.
    outer: Vec<usize>,
    /// How many unwanted messages the walk is in.
    unwanted: usize,
    /// The column of the string or bytes being walked.
    open: Option<usize>,
    /// A row is being filled, or a failed walk has left one.
    begun: bool,
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
        Ok(Columns {
            schema: schema.clone(),
            arrow,
            plan,
            current: 0,
            outer: Vec::new(),
            unwanted: 0,
            open: None,
            begun: false,
        })
    }

    /// The schema of the batches.
    pub fn arrow_schema(&self) -> &SchemaRef {
        &self.arrow
    }

    /// Paths of the fields that lead back to a message around them and have no column.
    pub fn left_out(&self) -> &[String] {
        &self.plan.left_out
    }

    /// Paths of the fields that have columns: with [`Tables::select`] a decoder skips all others.
    ///
    /// [`Tables::select`]: tidemill_wire::Tables::select
    pub fn paths(&self) -> &[String] {
        &self.plan.paths
    }

    /// Complete rows.
    pub fn rows(&self) -> usize {
        self.plan.records[0].rows
    }

    /// The rows since the last batch; the next message begins a new one.
    pub fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        self.drop_row();
        export::batch(&self.schema, &mut self.plan, &self.arrow)
    }

    /// Forgets what a failed walk left of its row.
    fn drop_row(&mut self) {
        if !std::mem::take(&mut self.begun) {
            return;
        }
        (self.current, self.unwanted, self.open) = (0, 0, None);
        self.outer.clear();
        let rows = self.rows();
        truncate_record(&mut self.plan, 0, rows);
    }

    /// The column of a field, if the walk is where it is wanted.
    #[inline]
    fn column(&self, field: FieldId) -> Option<usize> {
        if self.unwanted > 0 {
            return None;
        }
        let record = &self.plan.records[self.current];
        let entry = *record.lookup.get(field.index().wrapping_sub(record.first))?;
        (entry != 0).then(|| entry as usize - 1)
    }

    /// The column and the row to fill; the oneof that it is a member of has it from now on.
    #[inline]
    fn place(&mut self, field: FieldId) -> Option<(usize, usize)> {
        let column = self.column(field)?;
        let record = &mut self.plan.records[self.current];
        let row = record.row;
        if let Some(oneof) = self.plan.columns[column].oneof {
            let (before, other) = record.oneofs[oneof];
            record.oneofs[oneof] = (row + 1, column);
            if before == row + 1 && other != column {
                truncate_column(&mut self.plan, other, row);
            }
        }
        Some((column, row))
    }

    #[inline]
    fn begin_text(&mut self, field: FieldId) -> Flow {
        let Some((column, row)) = self.place(field) else {
            self.open = None;
            return Ok(());
        };
        let Column { rows, items, .. } = &mut self.plan.columns[column];
        let count = match items {
            Items::Text(texts) => texts.ends.len(),
            Items::Bytes(texts) => texts.ends.len(),
            _ => return Ok(()),
        };
        rows.enter(row, count).map_err(stop)?;
        if count != row && matches!(rows.form, Form::One { .. }) {
            // Rows before it have nothing, or this one has something already.
            items.truncate(row);
            items.pad(row);
        }
        self.open = Some(column);
        Ok(())
    }
}

fn stop(_: Full) -> Stop {
    Stop
}

/// Cuts a record to its first `rows` rows.
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
        fn $name(&mut self, field: FieldId, value: $type) -> Flow {
            let Some((column, row)) = self.place(field) else { return Ok(()) };
            let column = &mut self.plan.columns[column];
            match &mut column.items {
                $($items => put(&mut column.rows, $values, row, value).map_err(stop),)+
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

    fn start_message(&mut self, _: MessageId) -> Flow {
        self.drop_row();
        let record: &mut Record = &mut self.plan.records[0];
        record.row = record.rows;
        self.begun = true;
        Ok(())
    }

    fn end_message(&mut self, _: MessageId) -> Flow {
        self.begun = false;
        self.plan.records[0].rows += 1;
        Ok(())
    }

    fn start_sub(&mut self, field: FieldId) -> Flow {
        let place = self.place(field);
        let Some((column, row)) = place else {
            self.unwanted += 1;
            return Ok(());
        };
        let column = &mut self.plan.columns[column];
        let Items::Record(inner) = column.items else {
            self.unwanted += 1;
            return Ok(());
        };
        let record = &mut self.plan.records[inner];
        column.rows.enter(row, record.rows).map_err(stop)?;
        if matches!(column.rows.form, Form::One { .. }) {
            // A message that comes twice is one.
            record.row = row;
            record.rows = row + 1;
        } else {
            record.row = record.rows;
            record.rows += 1;
        }
        self.outer.push(self.current);
        self.current = inner;
        Ok(())
    }

    fn end_sub(&mut self, _: FieldId) -> Flow {
        match self.unwanted {
            0 => self.current = self.outer.pop().unwrap_or(0),
            _ => self.unwanted -= 1,
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
    fn bool(&mut self, field: FieldId, value: bool) -> Flow {
        let Some((column, row)) = self.place(field) else { return Ok(()) };
        let column = &mut self.plan.columns[column];
        let Items::Bool(values) = &mut column.items else { return Ok(()) };
        column.rows.enter(row, values.len()).map_err(stop)?;
        let at = if matches!(column.rows.form, Form::One { .. }) { row } else { values.len() };
        values.set(at, value);
        Ok(())
    }

    fn start_string(&mut self, field: FieldId, _: usize) -> Flow {
        self.begin_text(field)
    }

    #[inline]
    fn string(&mut self, _: FieldId, piece: &'a str) -> Flow {
        if let Some(column) = self.open
            && let Items::Text(texts) = &mut self.plan.columns[column].items
        {
            texts.data.push_str(piece);
        }
        Ok(())
    }

    fn end_string(&mut self, _: FieldId) -> Flow {
        match self.open.take().map(|column| &mut self.plan.columns[column].items) {
            Some(Items::Text(texts)) => texts.close().map_err(stop),
            _ => Ok(()),
        }
    }

    fn start_bytes(&mut self, field: FieldId, _: usize) -> Flow {
        self.begin_text(field)
    }

    #[inline]
    fn bytes(&mut self, _: FieldId, piece: &'a [u8]) -> Flow {
        match self.open.map(|column| &mut self.plan.columns[column].items) {
            Some(Items::Bytes(texts)) => texts.data.extend_from_slice(piece),
            // Of a string that need not be UTF-8, and is not.
            Some(Items::Text(texts)) => texts.data.push_str(&String::from_utf8_lossy(piece)),
            _ => {}
        }
        Ok(())
    }

    fn end_bytes(&mut self, _: FieldId) -> Flow {
        match self.open.take().map(|column| &mut self.plan.columns[column].items) {
            Some(Items::Bytes(texts)) => texts.close().map_err(stop),
            _ => Ok(()),
        }
    }
}
