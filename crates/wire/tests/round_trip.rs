//! Random messages round-trip; decoding truncated or changed bytes ends in a result, never a panic.

use crate::common::All;
use proptest::prelude::*;
use tidemill_wire::{Event, FieldId, Scalar, Writer, encode};

/// One field of a random message.
#[derive(Clone, Debug)]
enum Put {
    I64(i64),
    Sint64(i64),
    U64(u64),
    I32(i32),
    Sint32(i32),
    F64(f64),
    F32(f32),
    Bool(bool),
    Text(String),
    Bytes(Vec<u8>),
    List(Vec<i32>),
    Far(i64),
    Child(Vec<Put>),
    Right(Vec<Put>),
}

fn puts() -> impl Strategy<Value = Vec<Put>> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(Put::I64),
        any::<i64>().prop_map(Put::Sint64),
        any::<u64>().prop_map(Put::U64),
        any::<i32>().prop_map(Put::I32),
        any::<i32>().prop_map(Put::Sint32),
        any::<f64>().prop_map(Put::F64),
        any::<f32>().prop_map(Put::F32),
        any::<bool>().prop_map(Put::Bool),
        ".{0,20}".prop_map(Put::Text),
        prop::collection::vec(any::<u8>(), 0..200).prop_map(Put::Bytes),
        prop::collection::vec(any::<i32>(), 1..60).prop_map(Put::List),
        any::<i64>().prop_map(Put::Far),
    ];
    let fields = leaf.prop_recursive(6, 60, 6, |inner| {
        let fields = prop::collection::vec(inner, 0..6);
        prop_oneof![fields.clone().prop_map(Put::Child), fields.prop_map(Put::Right)]
    });
    prop::collection::vec(fields, 0..8)
}

fn put_all(all: &All, puts: &[Put], to: &mut Writer<'_>) {
    for put in puts {
        match put {
            Put::I64(value) => to.put_i64(all.one(Scalar::Int64), *value),
            Put::Sint64(value) => to.put_i64(all.one(Scalar::Sint64), *value),
            Put::U64(value) => to.put_u64(all.one(Scalar::Uint64), *value),
            Put::I32(value) => to.put_i32(all.one(Scalar::Int32), *value),
            Put::Sint32(value) => to.put_i32(all.one(Scalar::Sint32), *value),
            Put::F64(value) => to.put_f64(all.one(Scalar::Double), *value),
            Put::F32(value) => to.put_f32(all.one(Scalar::Float), *value),
            Put::Bool(value) => to.put_bool(all.left, *value),
            Put::Text(value) => to.put_string(all.one(Scalar::String), value),
            Put::Bytes(value) => to.put_bytes(all.one(Scalar::Bytes), value),
            Put::List(values) => to.put_packed(all.many(Scalar::Sint32), values.iter().copied()),
            Put::Far(value) => to.put_i64(all.far, *value),
            Put::Child(puts) => to.put_message(all.child, |to| put_all(all, puts, to)),
            Put::Right(puts) => to.put_message(all.right, |to| put_all(all, puts, to)),
        }
    }
}

fn expect<'a>(all: &All, puts: &'a [Put], events: &mut Vec<Event<'a>>) {
    for put in puts {
        let event = match put {
            Put::I64(value) => Event::I64(all.one(Scalar::Int64), *value),
            Put::Sint64(value) => Event::I64(all.one(Scalar::Sint64), *value),
            Put::U64(value) => Event::U64(all.one(Scalar::Uint64), *value),
            Put::I32(value) => Event::I32(all.one(Scalar::Int32), *value),
            Put::Sint32(value) => Event::I32(all.one(Scalar::Sint32), *value),
            Put::F64(value) => Event::F64(all.one(Scalar::Double), *value),
            Put::F32(value) => Event::F32(all.one(Scalar::Float), *value),
            Put::Bool(value) => Event::Bool(all.left, *value),
            Put::Text(value) => Event::String(all.one(Scalar::String), value),
            Put::Bytes(value) => Event::Bytes(all.one(Scalar::Bytes), value),
            Put::Far(value) => Event::I64(all.far, *value),
            Put::List(values) => {
                let field = all.many(Scalar::Sint32);
                events.extend(values.iter().map(|&value| Event::I32(field, value)));
                continue;
            }
            Put::Child(puts) => sub(all, all.child, puts, events),
            Put::Right(puts) => sub(all, all.right, puts, events),
        };
        events.push(event);
    }
}

/// Pushes the events of a sub-message but the last, which it returns.
fn sub<'a>(all: &All, field: FieldId, puts: &'a [Put], events: &mut Vec<Event<'a>>) -> Event<'a> {
    events.push(Event::StartSub(field));
    expect(all, puts, events);
    Event::EndSub(field)
}

proptest! {
    #[test]
    fn messages_come_back(puts in puts()) {
        let all = All::new();
        let bytes = encode::to_vec(&all.schema, |to| put_all(&all, &puts, to));
        prop_assert_eq!(bytes.len(), encode::len(&all.schema, |to| put_all(&all, &puts, to)));
        let (seen, result) = all.decode(&bytes);
        prop_assert_eq!(result, Ok(()));
        let mut expected = Vec::new();
        expect(&all, &puts, &mut expected);
        prop_assert_eq!(seen, expected);
    }

    /// A truncated message has a prefix of its events; it is refused at the tag of the truncated
    /// field, unless cut between fields.
    #[test]
    fn every_cut_is_distinguished(puts in puts()) {
        let all = All::new();
        let bytes = encode::to_vec(&all.schema, |to| put_all(&all, &puts, to));
        let (whole, _) = all.decode(&bytes);
        let ends: Vec<usize> = (0..=puts.len())
            .map(|n| encode::len(&all.schema, |to| put_all(&all, &puts[..n], to)))
            .collect();
        for cut in 0..bytes.len() {
            let (seen, result) = all.decode(&bytes[..cut]);
            prop_assert!(whole.starts_with(&seen));
            match result {
                Ok(()) => prop_assert!(ends.contains(&cut)),
                Err(error) => {
                    prop_assert!(!ends.contains(&cut));
                    let start = ends.iter().rev().find(|&&end| end < cut);
                    prop_assert_eq!(Some(&error.offset), start);
                }
            }
        }
    }

    /// The offset of an error is in the input; the bytes before it have only events that were seen.
    #[test]
    fn changed_bytes_give_an_answer(
        puts in puts(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let all = All::new();
        let mut bytes = encode::to_vec(&all.schema, |to| put_all(&all, &puts, to));
        prop_assume!(!bytes.is_empty());
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let (seen, Err(error)) = all.decode(&bytes) {
            prop_assert!(error.offset < bytes.len());
            let before = all.decode(&bytes[..error.offset]).0;
            prop_assert!(before.len() <= seen.len());
            // As text, because a NaN does not equal itself.
            prop_assert_eq!(format!("{before:?}"), format!("{:?}", &seen[..before.len()]));
        }
    }

    #[test]
    fn noise_gives_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let (_, result) = All::new().decode(&bytes);
        if let Err(error) = result {
            prop_assert!(error.offset <= bytes.len());
        }
    }
}
