//! Appends messages in memory to columns: column by column, each in a loop of its own.
//!
//! Columns may still lack the absent rows before, up to the record's row count: see
//! [`column`](crate::column).

use tidemill_wire::FieldId;
use tidemill_wire::message::batch::{Number, Rows};

use crate::column::{Checked, Column, Form, Full, Items, Texts, end};
use crate::plan::Plan;

/// Appends rows to the record of the plan for their message.
pub(crate) fn append(plan: &mut Plan, number: usize, rows: &Rows<'_>) -> Result<(), Full> {
    for at in 0..plan.records[number].columns.len() {
        let column = plan.records[number].columns[at];
        match plan.columns[column].rows.form {
            Form::One { nullable } => one(plan, number, column, rows, nullable)?,
            Form::List | Form::Map => list(plan, number, column, rows)?,
        }
    }
    plan.records[number].rows += rows.len();
    Ok(())
}

/// Appends to a column with an item per row.
fn one(
    plan: &mut Plan,
    number: usize,
    column: usize,
    rows: &Rows<'_>,
    nullable: bool,
) -> Result<(), Full> {
    let before = plan.records[number].rows;
    let Column { field, rows: own, items, .. } = &mut plan.columns[column];
    let field = *field;
    if nullable {
        own.present.pad(before);
        own.present.extend(rows.present(field));
    }
    items.pad(before);
    match items {
        Items::I64(values) => values.extend(rows.numbers_or_zero::<i64>(field)),
        Items::U64(values) => values.extend(rows.numbers_or_zero::<u64>(field)),
        Items::I32(values) | Items::Enum(_, values) => {
            values.extend(rows.numbers_or_zero::<i32>(field))
        }
        Items::U32(values) => values.extend(rows.numbers_or_zero::<u32>(field)),
        Items::F64(values) => values.extend(rows.numbers_or_zero::<f64>(field)),
        Items::F32(values) => values.extend(rows.numbers_or_zero::<f32>(field)),
        Items::Bool(values) => values.extend(rows.numbers_or_zero::<bool>(field)),
        Items::Text(texts, Checked::No) => {
            let mut texts_of = rows.texts(field);
            texts_of.try_for_each(|text| push(texts, text.unwrap_or(&[]), Checked::No))?;
        }
        Items::Text(texts, Checked::ByDecoder) | Items::Bytes(texts) => {
            rows.append_texts(field, &mut texts.data, &mut texts.ends);
            // No item ends after the last.
            end(texts.data.len())?;
        }
        Items::Record(inner) => {
            let inner = *inner;
            plan.records[inner].rows = before;
            append(plan, inner, &rows.inside(field))?;
        }
    }
    Ok(())
}

/// Appends to a column with lists of items.
fn list(plan: &mut Plan, number: usize, column: usize, rows: &Rows<'_>) -> Result<(), Full> {
    let before = plan.records[number].rows;
    let Column { field, rows: own, items, .. } = &mut plan.columns[column];
    let (field, starts) = (*field, &mut own.starts);
    let count = match *items {
        Items::Record(inner) => plan.records[inner].rows,
        ref items => items.len().unwrap_or(0),
    };
    starts.resize(before, end(count)?);
    match items {
        Items::I64(values) => lists(values, starts, rows, field)?,
        Items::U64(values) => lists(values, starts, rows, field)?,
        Items::I32(values) | Items::Enum(_, values) => lists(values, starts, rows, field)?,
        Items::U32(values) => lists(values, starts, rows, field)?,
        Items::F64(values) => lists(values, starts, rows, field)?,
        Items::F32(values) => lists(values, starts, rows, field)?,
        Items::Bool(values) => {
            for list in rows.lists(field) {
                starts.push(end(values.len())?);
                values.extend(list.iter().copied());
            }
        }
        Items::Text(texts, checked) => text_lists(texts, *checked, starts, rows, field)?,
        Items::Bytes(texts) => text_lists(texts, Checked::ByDecoder, starts, rows, field)?,
        Items::Record(inner) => {
            let (inner, mut next) = (*inner, count);
            let items = rows.items(field, |more| {
                // Checked below: no start is greater than the last.
                starts.push(next as i32);
                next += more;
            });
            end(next)?;
            append(plan, inner, &items)?;
        }
    }
    Ok(())
}

fn lists<T: Number>(
    values: &mut Vec<T>,
    starts: &mut Vec<i32>,
    rows: &Rows<'_>,
    field: FieldId,
) -> Result<(), Full> {
    rows.append_lists(field, values, starts);
    // No list begins after the end.
    end(values.len()).map(|_| ())
}

fn text_lists(
    texts: &mut Texts,
    checked: Checked,
    starts: &mut Vec<i32>,
    rows: &Rows<'_>,
    field: FieldId,
) -> Result<(), Full> {
    for list in rows.text_lists(field) {
        starts.push(end(texts.ends.len())?);
        for text in list {
            push(texts, text, checked)?;
        }
    }
    Ok(())
}

/// Appends an item of strings or bytes.
#[inline]
fn push(texts: &mut Texts, text: &[u8], checked: Checked) -> Result<(), Full> {
    match checked {
        Checked::ByDecoder => texts.data.extend_from_slice(text),
        Checked::No => {
            texts.data.extend_from_slice(String::from_utf8_lossy(text).as_bytes());
        }
    }
    texts.close()
}
