//! Turns columns into Arrow arrays, which empties them.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, DictionaryArray, DurationNanosecondArray,
    Float32Array, Float64Array, Int32Array, Int64Array, ListArray, MapArray, PrimitiveArray,
    RecordBatch, RecordBatchOptions, StringArray, StructArray, TimestampNanosecondArray,
    UInt32Array, UInt64Array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, FieldRef, SchemaRef};
use tidemill_wire::Schema;
use tidemill_wire::schema::Enum;

use crate::column::{Form, Items, Rows, end};
use crate::plan::{Plan, Shape};

type Made<T> = Result<T, ArrowError>;

/// Takes all rows.
pub(crate) fn batch(schema: &Schema, plan: &mut Plan, arrow: &SchemaRef) -> Made<RecordBatch> {
    let rows = plan.records[0].rows;
    let arrays = arrays(schema, plan, 0)?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(arrow.clone(), arrays, &options)
}

/// The columns of a record, which is empty afterwards.
fn arrays(schema: &Schema, plan: &mut Plan, number: usize) -> Made<Vec<ArrayRef>> {
    let record = &mut plan.records[number];
    let rows = std::mem::take(&mut record.rows);
    record.oneofs.fill((0, 0));
    let fields = record.fields.clone();
    let columns = record.columns.clone();
    let pairs = columns.into_iter().zip(fields.iter());
    pairs.map(|(column, field)| array(schema, plan, column, rows, field)).collect()
}

fn array(
    schema: &Schema,
    plan: &mut Plan,
    number: usize,
    rows: usize,
    field: &FieldRef,
) -> Made<ArrayRef> {
    let column = &mut plan.columns[number];
    let form = column.rows.form;
    if let Form::One { nullable } = form {
        let nulls = nullable.then(|| nulls(&mut column.rows, rows));
        return items(schema, plan, number, Some(rows), nulls, field.data_type());
    }
    let mut starts = taken(&mut column.rows.starts);
    let count = match column.items {
        Items::Record(record) => plan.records[record].rows,
        ref items => items.len().unwrap_or(0),
    };
    let end = end(count).map_err(|_| ArrowError::OffsetOverflowError(count))?;
    starts.resize(rows + 1, end);
    let offsets = OffsetBuffer::new(ScalarBuffer::from(starts));
    match field.data_type() {
        DataType::Map(entries, _) => {
            let inner = items(schema, plan, number, None, None, entries.data_type())?;
            let inner = inner.as_any().downcast_ref::<StructArray>().cloned();
            let inner = inner.ok_or_else(|| unexpected("entries of a map"))?;
            Ok(Arc::new(MapArray::try_new(entries.clone(), offsets, inner, None, false)?))
        }
        DataType::List(item) => {
            let inner = items(schema, plan, number, None, None, item.data_type())?;
            Ok(Arc::new(ListArray::try_new(item.clone(), offsets, inner, None)?))
        }
        _ => Err(unexpected("a list")),
    }
}

/// The items of a column, padded to `count` if given.
fn items(
    schema: &Schema,
    plan: &mut Plan,
    number: usize,
    count: Option<usize>,
    nulls: Option<NullBuffer>,
    ty: &DataType,
) -> Made<ArrayRef> {
    let column = &mut plan.columns[number];
    if let Items::Record(record) = column.items {
        if let Some(count) = count {
            plan.records[record].rows = count;
        }
        return record_array(schema, plan, record, nulls, ty);
    }
    if let Some(count) = count {
        column.items.pad(count);
    }
    macro_rules! numbers {
        ($array:ty, $values:expr) => {
            Arc::new(<$array>::try_new(ScalarBuffer::from(taken($values)), nulls)?)
        };
    }
    Ok(match &mut column.items {
        Items::I64(values) => numbers!(Int64Array, values),
        Items::U64(values) => numbers!(UInt64Array, values),
        Items::I32(values) => numbers!(Int32Array, values),
        Items::U32(values) => numbers!(UInt32Array, values),
        Items::F64(values) => numbers!(Float64Array, values),
        Items::F32(values) => numbers!(Float32Array, values),
        Items::Bool(values) => {
            let count = values.len();
            Arc::new(BooleanArray::new(values.finish(count), nulls))
        }
        Items::Enum(id, values) => {
            let numbers = Int32Array::try_new(ScalarBuffer::from(taken(values)), nulls)?;
            Arc::new(names(schema.enum_def(*id), &numbers)?)
        }
        Items::Text(texts, _) => {
            let data = Buffer::from_vec(taken(&mut texts.data));
            Arc::new(StringArray::try_new(offsets(&mut texts.ends), data, nulls)?)
        }
        Items::Bytes(texts) => {
            let data = Buffer::from_vec(taken(&mut texts.data));
            Arc::new(BinaryArray::try_new(offsets(&mut texts.ends), data, nulls)?)
        }
        Items::Record(_) => return Err(unexpected("items")),
    })
}

fn record_array(
    schema: &Schema,
    plan: &mut Plan,
    number: usize,
    nulls: Option<NullBuffer>,
    ty: &DataType,
) -> Made<ArrayRef> {
    let (shape, rows) = (plan.records[number].shape, plan.records[number].rows);
    let arrays = arrays(schema, plan, number)?;
    match (shape, ty) {
        (Shape::Struct, DataType::Struct(fields)) => {
            let array = StructArray::try_new_with_length(fields.clone(), arrays, nulls, rows)?;
            Ok(Arc::new(array))
        }
        (Shape::Struct, DataType::Boolean) => {
            Ok(Arc::new(BooleanArray::new(BooleanBuffer::new_set(rows), nulls)))
        }
        (Shape::Timestamp, _) => {
            let values = nanoseconds(&arrays)?;
            Ok(Arc::new(TimestampNanosecondArray::try_new(values, nulls)?.with_timezone("UTC")))
        }
        (Shape::Duration, _) => {
            Ok(Arc::new(DurationNanosecondArray::try_new(nanoseconds(&arrays)?, nulls)?))
        }
        (Shape::Wrapper, _) => {
            let value = arrays.first().ok_or_else(|| unexpected("a wrapper"))?;
            Ok(arrow_array::make_array(value.to_data().into_builder().nulls(nulls).build()?))
        }
        _ => Err(unexpected("a message")),
    }
}

/// Seconds and nanoseconds as one number, saturating.
fn nanoseconds(arrays: &[ArrayRef]) -> Made<ScalarBuffer<i64>> {
    let seconds = arrays.first().and_then(|array| array.as_any().downcast_ref::<Int64Array>());
    let nanos = arrays.get(1).and_then(|array| array.as_any().downcast_ref::<Int32Array>());
    let (Some(seconds), Some(nanos)) = (seconds, nanos) else {
        return Err(unexpected("seconds and nanoseconds"));
    };
    let pairs = seconds.values().iter().zip(nanos.values());
    Ok(pairs
        .map(|(&seconds, &nanos)| {
            seconds.saturating_mul(1_000_000_000).saturating_add(nanos.into())
        })
        .collect())
}

/// The validity of `count` rows.
fn nulls(rows: &mut Rows, count: usize) -> NullBuffer {
    NullBuffer::new(rows.present.finish(count))
}

/// Takes the values, and reserves the same room for the next batch.
fn taken<T>(values: &mut Vec<T>) -> Vec<T> {
    let next = Vec::with_capacity(values.len());
    std::mem::replace(values, next)
}

fn offsets(ends: &mut Vec<i32>) -> OffsetBuffer<i32> {
    let ends = taken(ends);
    let mut offsets = Vec::with_capacity(ends.len() + 1);
    offsets.push(0);
    offsets.extend(ends);
    OffsetBuffer::new(ScalarBuffer::from(offsets))
}

/// The number of enum numbers that are looked up without a search.
const DENSE: usize = 64;
const NO_KEY: i32 = -1;

/// Enum values by name: those of the schema in its order, then unknown numbers in order of
/// occurrence.
fn names(def: &Enum, numbers: &Int32Array) -> Made<DictionaryArray<Int32Type>> {
    let values = def.values();
    let mut names: Vec<String> = values.iter().map(|value| value.name().into()).collect();
    let mut by_number: Vec<(i32, i32)> =
        values.iter().zip(0..).map(|(value, key)| (value.number(), key)).collect();
    by_number.sort_by_key(|&(number, _)| number);
    by_number.dedup_by_key(|&mut (number, _)| number);
    // Most enums count from 0: their numbers are looked up without a search.
    let mut dense = [NO_KEY; DENSE];
    for &(number, key) in &by_number {
        if let Some(place) = usize::try_from(number).ok().and_then(|at| dense.get_mut(at)) {
            *place = key;
        }
    }
    let mut key_of = |number: i32| match dense.get(number as u32 as usize) {
        Some(&key) if key != NO_KEY => key,
        _ => match by_number.binary_search_by_key(&number, |&(known, _)| known) {
            Ok(at) => by_number[at].1,
            Err(at) => {
                let key = names.len() as i32;
                names.push(number.to_string());
                by_number.insert(at, (number, key));
                key
            }
        },
    };
    // Absent rows hold 0, which need not be a number of the enum.
    let keys = match numbers.nulls() {
        None => numbers.values().iter().map(|&number| key_of(number)).collect(),
        Some(nulls) => {
            let pairs = numbers.values().iter().zip(nulls);
            pairs.map(|(&number, there)| if there { key_of(number) } else { 0 }).collect()
        }
    };
    let keys = PrimitiveArray::<Int32Type>::try_new(keys, numbers.nulls().cloned())?;
    DictionaryArray::try_new(keys, Arc::new(StringArray::from(names)))
}

fn unexpected(what: &str) -> ArrowError {
    ArrowError::InvalidArgumentError(format!("{what} of another type than planned"))
}
