//! Rows of messages in memory into columns: column by column, each in a loop of its own.
//!
//! What is there before, up to the rows that the record counts, may not be filled up yet, as
//! [`column`](crate::column) says.

use tidemill_wire::FieldId;
use tidemill_wire::message::batch::{Number, Rows};

use crate::column::{Checked, Column, Form, Full, Items, Texts, end};
use crate::plan::Plan;

/// Appends rows to a record of the plan, whose message they are of.
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

/// A column with an item per row.
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
        Items::I64(values) => values.extend(numbers::<i64>(rows, field)),
        Items::U64(values) => values.extend(numbers::<u64>(rows, field)),
        Items::I32(values) | Items::Enum(_, values) => values.extend(numbers::<i32>(rows, field)),
        Items::U32(values) => values.extend(numbers::<u32>(rows, field)),
        Items::F64(values) => values.extend(numbers::<f64>(rows, field)),
        Items::F32(values) => values.extend(numbers::<f32>(rows, field)),
        Items::Bool(values) => values.extend(numbers::<bool>(rows, field)),
        Items::Text(texts, checked) => {
            rows.texts(field).try_for_each(|text| push(texts, text.unwrap_or(&[]), *checked))?;
        }
        Items::Bytes(texts) => {
            let mut texts_of = rows.texts(field);
            texts_of.try_for_each(|text| push(texts, text.unwrap_or(&[]), Checked::ByDecoder))?;
        }
        Items::Record(inner) => {
            let inner = *inner;
            plan.records[inner].rows = before;
            append(plan, inner, &rows.inside(field))?;
        }
    }
    Ok(())
}

/// By row: the number that a field holds, 0 where it is absent.
fn numbers<'r, T: Number + Default>(
    rows: &'r Rows<'_>,
    field: FieldId,
) -> impl ExactSizeIterator<Item = T> + use<'r, T> {
    rows.numbers(field).map(Option::unwrap_or_default)
}

/// A column with lists of items.
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
                // Checked as a whole below: none is greater than the last.
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
    for list in rows.lists(field) {
        starts.push(end(values.len())?);
        match list.len() {
            0..=SHORT => list.iter().for_each(|&value| values.push(value)),
            _ => values.extend_from_slice(list),
        }
    }
    Ok(())
}

/// Lists of so many items at most are not worth a call.
const SHORT: usize = 8;

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

/// An item of strings or bytes.
#[inline]
fn push(texts: &mut Texts, text: &[u8], checked: Checked) -> Result<(), Full> {
    match checked {
        Checked::ByDecoder => extend(&mut texts.data, text),
        Checked::No => {
            texts.data.extend_from_slice(String::from_utf8_lossy(text).as_bytes());
        }
    }
    texts.close()
}

/// Appends bytes. Most are few: two parts that may overlap are all of them, and need no call.
#[inline]
fn extend(data: &mut Vec<u8>, text: &[u8]) {
    match text.len() {
        4..8 => extend_by::<4>(data, text),
        8..=16 => extend_by::<8>(data, text),
        _ => data.extend_from_slice(text),
    }
}

/// Appends at least `N` bytes, and at most twice as many.
#[inline]
fn extend_by<const N: usize>(data: &mut Vec<u8>, text: &[u8]) {
    if let (Some(first), Some(last)) = (text.first_chunk::<N>(), text.last_chunk::<N>()) {
        let apart = data.len() + text.len() - N;
        data.extend_from_slice(first);
        data.truncate(apart);
        data.extend_from_slice(last);
    }
}
