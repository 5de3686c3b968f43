//! Values as bytes: the protobuf message that carries them between nodes.
//!
//! ```text
//! message Value {
//!   oneof v {
//!     sint64 i = 1; double d = 2; bool b = 3; string s = 4; bytes x = 5; bytes id = 6;
//!     sfixed64 time = 7; sint64 interval = 8;
//!     Values list = 9; Values vector = 10; Values matrix = 11; bool null = 12;
//!   }
//! }
//! message Values { repeated Value v = 1; }
//! ```
//! Only what [`encode`] writes is read: one field, no unknown ones, no trailing bytes. This small
//! codec is not the one of the network, which this crate does not know; tests in a higher crate
//! check that the two agree.

use crate::flat::{OwnedValue, Seq, SeqBuilder};
use crate::id::Id;
use crate::value::Value;

const VARINT: u8 = 0;
const FIXED64: u8 = 1;
const LENGTH: u8 = 2;

/// The message for `value`.
pub(super) fn encode(value: Value<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    match value {
        Value::Int(value) => put_varint(&mut out, 1, zigzag(value)),
        Value::Double(value) => put_fixed(&mut out, 2, value.to_bits()),
        Value::Bool(value) => put_varint(&mut out, 3, value.into()),
        Value::Str(text) => put_bytes(&mut out, 4, text.as_bytes()),
        Value::Bytes(bytes) => put_bytes(&mut out, 5, bytes),
        Value::Id(id) => put_bytes(&mut out, 6, &id.to_be_bytes()),
        Value::Time(ns) => put_fixed(&mut out, 7, ns as u64),
        Value::Interval(ns) => put_varint(&mut out, 8, zigzag(ns)),
        Value::List(seq) => put_bytes(&mut out, 9, &encode_all(seq)),
        Value::Vector(seq) => put_bytes(&mut out, 10, &encode_all(seq)),
        Value::Matrix(seq) => put_bytes(&mut out, 11, &encode_all(seq)),
        Value::Null => put_varint(&mut out, 12, 1),
    }
    out
}

fn encode_all(seq: Seq<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    for value in seq {
        put_bytes(&mut out, 1, &encode(value));
    }
    out
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

fn unzigzag(word: u64) -> i64 {
    (word >> 1) as i64 ^ -((word & 1) as i64)
}

fn write_varint(out: &mut Vec<u8>, mut word: u64) {
    while word >= 0x80 {
        out.push(word as u8 | 0x80);
        word >>= 7;
    }
    out.push(word as u8);
}

/// Field numbers up to 15 and wire types make one byte.
fn put_varint(out: &mut Vec<u8>, field: u8, word: u64) {
    out.push(field << 3 | VARINT);
    write_varint(out, word);
}

fn put_fixed(out: &mut Vec<u8>, field: u8, word: u64) {
    out.push(field << 3 | FIXED64);
    out.extend_from_slice(&word.to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, field: u8, bytes: &[u8]) {
    out.push(field << 3 | LENGTH);
    write_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// The value that the whole of `bytes` is the message for, with lists at most `depth` deep.
pub(super) fn decode(mut bytes: &[u8], depth: usize) -> Option<OwnedValue> {
    let (&key, rest) = bytes.split_first()?;
    bytes = rest;
    let (field, wire_type) = (key >> 3, key & 7);
    let text;
    let list;
    let value = match (field, wire_type) {
        (1, VARINT) => Value::Int(unzigzag(take_varint(&mut bytes)?)),
        (2, FIXED64) => Value::Double(f64::from_bits(take_fixed(&mut bytes)?)),
        (3, VARINT) => Value::Bool(take_varint(&mut bytes)? != 0),
        (4, LENGTH) => {
            text = std::str::from_utf8(take_bytes(&mut bytes)?).ok()?;
            Value::Str(text)
        }
        (5, LENGTH) => Value::Bytes(take_bytes(&mut bytes)?),
        (6, LENGTH) => Value::Id(Id::from_be_bytes(take_bytes(&mut bytes)?.try_into().ok()?)),
        (7, FIXED64) => Value::Time(take_fixed(&mut bytes)? as i64),
        (8, VARINT) => Value::Interval(unzigzag(take_varint(&mut bytes)?)),
        (9..=11, LENGTH) => {
            list = decode_all(take_bytes(&mut bytes)?, depth.checked_sub(1)?)?;
            match field {
                9 => Value::List(list.as_seq()),
                10 => Value::Vector(list.as_seq()),
                _ => Value::Matrix(rectangular(list.as_seq())?),
            }
        }
        (12, VARINT) => take_varint(&mut bytes).map(|_| Value::Null)?,
        _ => return None,
    };
    bytes.is_empty().then(|| OwnedValue::new(value))
}

fn decode_all(mut bytes: &[u8], depth: usize) -> Option<SeqBuilder> {
    let mut list = SeqBuilder::new();
    while let Some((&key, rest)) = bytes.split_first() {
        bytes = rest;
        if key != 1 << 3 | LENGTH {
            return None;
        }
        list.push(decode(take_bytes(&mut bytes)?, depth)?.get());
    }
    Some(list)
}

/// `rows`, if all are vectors of one length.
fn rectangular(rows: Seq<'_>) -> Option<Seq<'_>> {
    let mut lengths = rows.iter().map(|row| match row {
        Value::Vector(row) => Some(row.len()),
        _ => None,
    });
    let Some(first) = lengths.next() else {
        return Some(rows);
    };
    (first.is_some() && lengths.all(|length| length == first)).then_some(rows)
}

fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut word = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        word |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(word);
        }
    }
    None
}

fn take_fixed(bytes: &mut &[u8]) -> Option<u64> {
    let (word, rest) = bytes.split_first_chunk::<8>()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*word))
}

fn take_bytes<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(take_varint(bytes)?).ok()?;
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}
