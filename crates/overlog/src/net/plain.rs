//! Envelopes and bodies as nodes write them, read in one loop: each field once, in ascending order,
//! no values that have parts. All other forms are left to the decoder, which also reports errors.
//! Where this reader succeeds, the decoder reads the same.

use smallvec::SmallVec;
use tidemill_relation::{SeqBuilder, Value};
use tidemill_wire::schema::{RawFields, RawValue};

use super::schema::ColumnType;
use super::values::id_from_bytes;

/// An envelope that holds bodies and nothing else.
#[derive(Clone, Debug)]
pub(super) struct Plain<'a> {
    pub(super) program: u64,
    pub(super) tuples: SmallVec<[PlainTuple<'a>; 2]>,
}

/// A tuple of the sender's program.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct PlainTuple<'a> {
    pub(super) relation: u32,
    pub(super) body: &'a [u8],
    pub(super) delete: bool,
}

/// Reads an envelope.
pub(super) fn envelope(bytes: &[u8]) -> Option<Plain<'_>> {
    let mut plain = Plain { program: 0, tuples: SmallVec::new() };
    for field in RawFields::new(bytes) {
        match field.ok()? {
            (1, RawValue::Fixed64(program)) => plain.program = program,
            (2, RawValue::Varint(_)) => {}
            (3, RawValue::Length(inner)) => plain.tuples.push(tuple(inner)?),
            _ => return None,
        }
    }
    Some(plain)
}

fn tuple(bytes: &[u8]) -> Option<PlainTuple<'_>> {
    let (mut tuple, mut last) = (PlainTuple::default(), 0);
    for field in RawFields::new(bytes) {
        let (number, value) = field.ok()?;
        if number <= last {
            return None;
        }
        last = number;
        match (number, value) {
            (1, RawValue::Varint(relation)) => tuple.relation = u32::try_from(relation).ok()?,
            (2, RawValue::Length(body)) => tuple.body = body,
            (3, RawValue::Varint(delete @ 0..=1)) => tuple.delete = delete == 1,
            _ => return None,
        }
    }
    (tuple.relation > 0).then_some(tuple)
}

/// Reads a body and appends its columns to `out`; `None` if it is left to the decoder.
pub(super) fn body(
    columns: impl ExactSizeIterator<Item = ColumnType>,
    body: &[u8],
    out: &mut SeqBuilder,
) -> Option<()> {
    let mut values: SmallVec<[Value<'_>; 8]> = SmallVec::new();
    let mut columns = columns;
    let count = columns.len();
    for field in RawFields::new(body) {
        let (number, value) = field.ok()?;
        // Column `i` is field `i + 1`; those that are left out are null.
        let left_out = (number as usize).checked_sub(values.len() + 1)?;
        let of = columns.nth(left_out)?;
        values.resize(values.len() + left_out, Value::Null);
        values.push(column(of, value)?);
    }
    values.resize(count, Value::Null);
    values.into_iter().for_each(|value| out.push(value));
    Some(())
}

fn column(of: ColumnType, value: RawValue<'_>) -> Option<Value<'_>> {
    Some(match (of, value) {
        (ColumnType::Int, RawValue::Varint(word)) => Value::Int(signed(word)),
        (ColumnType::Interval, RawValue::Varint(word)) => Value::Interval(signed(word)),
        (ColumnType::Bool, RawValue::Varint(truth @ 0..=1)) => Value::Bool(truth == 1),
        (ColumnType::Double, RawValue::Fixed64(bits)) => Value::Double(f64::from_bits(bits)),
        (ColumnType::Time, RawValue::Fixed64(ns)) => Value::Time(ns.cast_signed()),
        (ColumnType::Str, RawValue::Length(text)) => Value::Str(str::from_utf8(text).ok()?),
        (ColumnType::Bytes, RawValue::Length(bytes)) => Value::Bytes(bytes),
        (ColumnType::Id, RawValue::Length(bytes)) => Value::Id(id_from_bytes(bytes).ok()?),
        (ColumnType::Value, RawValue::Length(inner)) => member(inner)?,
        _ => return None,
    })
}

/// The one member of a `Value`.
fn member(bytes: &[u8]) -> Option<Value<'_>> {
    let mut fields = RawFields::new(bytes);
    let (number, value) = fields.next()?.ok()?;
    let of = match number {
        1 => ColumnType::Int,
        2 => ColumnType::Double,
        3 => ColumnType::Bool,
        4 => ColumnType::Str,
        5 => ColumnType::Bytes,
        6 => ColumnType::Id,
        7 => ColumnType::Time,
        8 => ColumnType::Interval,
        _ => return None,
    };
    fields.rest().is_empty().then_some(())?;
    column(of, value)
}

/// A `sint64`.
fn signed(word: u64) -> i64 {
    (word >> 1).cast_signed() ^ -(word & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::super::envelope::{Content, Envelope, append_tuple};
    use super::*;
    use proptest::prelude::*;
    use tidemill_fabric::head::Head;

    fn written(program: u64, tuples: &[(u32, Vec<u8>, bool)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let head = Head { program, sequence: 3, has_content: true, ..Head::default() };
        head.append(&mut bytes);
        for (relation, body, delete) in tuples {
            append_tuple(&mut bytes, Content::Body { relation: *relation, body }, *delete);
        }
        bytes
    }

    #[test]
    fn what_is_not_plain_is_left_to_the_decoder() {
        let mut bytes = written(7, &[(1, b"x".to_vec(), true)]);
        let plain = envelope(&bytes).map(|plain| (plain.program, plain.tuples[0].delete));
        assert_eq!(plain, Some((7, true)));
        append_tuple(&mut bytes, Content::Columns { name: "p", columns: &[] }, false);
        assert!(envelope(&bytes).is_none());
        assert!(envelope(b"\x2a\x00").is_none(), "an acknowledgement");
        assert!(envelope(b"\x1a\x04\x08\x01\x08\x02").is_none(), "a field that comes twice");
        assert!(envelope(b"\x1a\x02\x12\x00").is_none(), "no relation");
        assert!(envelope(b"\x1a\x05\x08\x01").is_none(), "a cut");
    }

    proptest! {
        /// Envelopes as they are written, and with a few bytes changed.
        #[test]
        fn plain_envelopes_are_what_the_decoder_reads(
            program in any::<u64>(),
            tuples in prop::collection::vec(
                (1..200u32, prop::collection::vec(any::<u8>(), 0..20), any::<bool>()),
                0..4,
            ),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        ) {
            let mut bytes = written(program, &tuples);
            prop_assert!(envelope(&bytes).is_some());
            for (at, byte) in changes {
                if !bytes.is_empty() {
                    let at = at.index(bytes.len());
                    bytes[at] = byte;
                }
            }
            let Some(plain) = envelope(&bytes) else { return Ok(()) };
            let decoded = Envelope::decode(&bytes);
            prop_assert!(decoded.is_ok());
            let decoded = decoded.unwrap_or_default();
            prop_assert_eq!(plain.program, decoded.program);
            prop_assert_eq!(plain.tuples.len(), decoded.tuples.len());
            for (plain, decoded) in plain.tuples.iter().zip(&decoded.tuples) {
                prop_assert_eq!((plain.relation, plain.body), (decoded.relation, decoded.body));
                prop_assert_eq!(plain.delete, decoded.delete);
                prop_assert!(decoded.name.is_empty() && decoded.columns.as_seq().is_empty());
            }
        }
    }
}
