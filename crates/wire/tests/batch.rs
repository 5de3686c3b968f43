//! Batches have the contents of messages, with each decoder.
#![cfg(feature = "native")]

use std::fmt::Debug;

use crate::common::random::{fill, message_type, schema, schema_of};
use tidemill_stdx::rng::Rng;
use tidemill_wire::decode::Listing;
use tidemill_wire::message::batch::{Number, Rows};
use tidemill_wire::message::{Batch, Shape, ValueType};
use tidemill_wire::schema::Field;
use tidemill_wire::{
    Decoder, FieldId, Label, Message, MessageId, MessageRef, Native, Schema, Tables, Value,
};

/// The text to compare: without presence zero and absent are the same.
fn shown(text: String, presence: bool) -> String {
    match &*text {
        _ if presence => format!("+{text}"),
        "0" | "0.0" | "false" | "[]" => String::new(),
        _ => text,
    }
}

fn shows(schema: &Schema, field: &Field) -> bool {
    field.label() != Label::Implicit && !schema.message(field.message()).is_map_entry()
}

fn value_text(schema: &Schema, value: &Value<'_>) -> String {
    match value {
        Value::F64(value) => format!("{value:?}"),
        Value::F32(value) => format!("{value:?}"),
        Value::I64(value) => value.to_string(),
        Value::U64(value) => value.to_string(),
        Value::I32(value) | Value::Enum(value) => value.to_string(),
        Value::U32(value) => value.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::String(value) => format!("{:?}", value.as_bytes()),
        Value::Bytes(value) => format!("{value:?}"),
        Value::Message(message) => message_text(schema, *message),
        Value::List(list) => {
            let texts: Vec<String> = list.iter().map(|one| value_text(schema, &one)).collect();
            format!("[{}]", texts.join(", "))
        }
        Value::Map(map) => {
            let entry = |(key, value): (Value<'_>, Value<'_>)| {
                let parts = [key, value].map(|one| shown(value_text(schema, &one), false));
                format!("{{{};{};}}", parts[0], parts[1])
            };
            format!("[{}]", map.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

fn message_text(schema: &Schema, message: MessageRef<'_>) -> String {
    let fields = schema.message(message.message_type()).field_defs();
    let texts = fields.iter().map(|field| {
        if !message.has(field.id()).expect("its field") {
            return ";".to_owned();
        }
        let text = value_text(schema, &message.get(field.id()).expect("its field"));
        let single = field.label() != Label::Repeated;
        format!("{};", shown(text, single && shows(schema, field)))
    });
    format!("{{{}}}", texts.collect::<String>())
}

fn numbers<T: Number + Debug + Default>(rows: &Rows<'_>, id: FieldId) -> Vec<Option<String>> {
    let text = |value| format!("{value:?}");
    let zeros = rows.numbers::<T>(id).map(|value| text(value.unwrap_or_default()));
    assert!(zeros.eq(rows.numbers_or_zero::<T>(id).map(text)));
    rows.numbers::<T>(id).map(|value| value.map(text)).collect()
}

fn lists<T: Number + Debug + Default>(rows: &Rows<'_>, id: FieldId) -> Vec<Option<String>> {
    // Appended to existing values.
    let (mut values, mut starts) = (vec![T::default(); 3], vec![7]);
    rows.append_lists(id, &mut values, &mut starts);
    starts.push(values.len() as i32);
    let appended = starts[1..].windows(2).map(|pair| &values[pair[0] as usize..pair[1] as usize]);
    let text = |list| format!("{list:?}");
    assert!(appended.map(text).eq(rows.lists::<T>(id).map(text)));
    rows.lists::<T>(id).map(|list| Some(text(list))).collect()
}

fn texts(rows: &Rows<'_>, id: FieldId) -> Vec<Option<String>> {
    let (mut data, mut ends) = (b"before".to_vec(), vec![6]);
    rows.append_texts(id, &mut data, &mut ends);
    let appended = ends.windows(2).map(|pair| &data[pair[0] as usize..pair[1] as usize]);
    assert!(appended.eq(rows.texts(id).map(Option::unwrap_or_default)));
    rows.texts(id).map(|text| Some(format!("{:?}", text?))).collect()
}

/// By row: the value of a field as text.
fn field_texts(schema: &Schema, rows: &Rows<'_>, field: &Field) -> Vec<Option<String>> {
    let id = field.id();
    let layout = schema.layouts().field(id);
    macro_rules! by_kind {
        ($numbers:ident, $texts:expr, $messages:expr) => {
            match layout.kind {
                ValueType::F64 => $numbers::<f64>(rows, id),
                ValueType::F32 => $numbers::<f32>(rows, id),
                ValueType::I64 => $numbers::<i64>(rows, id),
                ValueType::U64 => $numbers::<u64>(rows, id),
                ValueType::I32 | ValueType::Enum => $numbers::<i32>(rows, id),
                ValueType::U32 => $numbers::<u32>(rows, id),
                ValueType::Bool => $numbers::<bool>(rows, id),
                ValueType::String | ValueType::Bytes => $texts,
                ValueType::Message => $messages,
            }
        };
    }
    let of = field.field_type().message();
    if layout.shape == Shape::Single {
        return by_kind!(numbers, texts(rows, id), {
            let there: Vec<bool> = rows.present(id).collect();
            if !there.contains(&true) {
                return vec![None; rows.len()];
            }
            let inside = rows_texts(schema, of.expect("a message"), &rows.inside(id));
            there.into_iter().zip(inside).map(|(there, text)| there.then_some(text)).collect()
        });
    }
    let joined = |texts: &[String]| Some(format!("[{}]", texts.join(", ")));
    let text_list = || {
        let list = |list: Vec<String>| joined(&list);
        rows.text_lists(id).map(move |texts| list(texts.map(|one| format!("{one:?}")).collect()))
    };
    by_kind!(lists, text_list().collect(), {
        let mut counts = Vec::new();
        let items = rows.items(id, |count| counts.push(count));
        if items.is_empty() {
            return vec![Some("[]".to_owned()); rows.len()];
        }
        let texts = rows_texts(schema, of.expect("a message"), &items);
        let mut rest = &texts[..];
        let row = |count| {
            let (own, tail) = rest.split_at(count);
            rest = tail;
            joined(own)
        };
        counts.into_iter().map(row).collect()
    })
}

fn rows_texts(schema: &Schema, of: MessageId, rows: &Rows<'_>) -> Vec<String> {
    let mut out = vec!["{".to_owned(); rows.len()];
    for field in schema.message(of).field_defs() {
        let texts = field_texts(schema, rows, field);
        assert_eq!(texts.len(), rows.len());
        let single = field.label() != Label::Repeated;
        for (out, text) in out.iter_mut().zip(texts) {
            let text = text.map(|text| shown(text, single && shows(schema, field)));
            out.push_str(&text.unwrap_or_default());
            out.push(';');
        }
    }
    out.iter_mut().for_each(|one| one.push('}'));
    out
}

#[test]
fn random_messages_are_in_batches_as_they_are() {
    for seed in 0..16 {
        let mut rng = Rng::new(seed);
        let schema = schema(&mut rng);
        let of = message_type(&mut rng, &schema);
        let tables = Tables::new(&schema);
        let native = Native::for_batches(&schema, &tables, Listing::Dropped).unwrap();
        let table = Decoder::with(&schema, &tables);
        for decoder in [table, table.native(&native)] {
            let mut batch = Batch::new(&schema, of).unwrap();
            // Twice, as a cleared batch equals a new one.
            for _ in 0..2 {
                let mut expected = Vec::new();
                for round in 0..12 {
                    let mut message = Message::new(&schema, of).unwrap();
                    fill(&mut rng, &schema, message.as_mut(), 3);
                    let mut bytes = message.encode().unwrap();
                    if round % 4 == 3 && !bytes.is_empty() {
                        bytes.pop();
                    }
                    // At various offsets in a page.
                    let before = rng.below(64) as usize;
                    let placed = [&vec![0xff; before][..], &bytes].concat();
                    let decoded = Message::from_bytes(&schema, of, &bytes);
                    let pushed = batch.push(&decoder, &placed[before..]);
                    assert_eq!(pushed.is_ok(), decoded.is_ok());
                    if let Ok(decoded) = decoded {
                        expected.push(message_text(&schema, decoded.as_ref()));
                    }
                }
                assert_eq!(rows_texts(&schema, of, &batch.rows()), expected, "seed {seed}");
                batch.clear();
            }
        }
    }
}

#[test]
fn wrong_fields_are_absent() {
    let schema = schema_of(
        "syntax = 'proto3'; message M { int32 x = 1; repeated string s = 2; N n = 3; }
         message N { int64 y = 1; } message Empty {}",
    );
    let field = |of, name| {
        schema.field_by_name(schema.message_by_name(of).unwrap(), name).expect("its field")
    };
    let (x, s, n, y) = (field("M", "x"), field("M", "s"), field("M", "n"), field("N", "y"));
    let mut batch = Batch::new(&schema, "M").unwrap();
    let decoder = Decoder::new(&schema);
    batch.push(&decoder, &[8, 5, 0x12, 1, b'a', 0x1a, 2, 8, 7]).unwrap();
    let rows = batch.rows();
    assert_eq!(rows.numbers::<i32>(x).collect::<Vec<_>>(), [Some(5)]);
    assert_eq!(rows.numbers::<i64>(x).collect::<Vec<_>>(), [None]);
    assert_eq!(rows.numbers::<i64>(y).collect::<Vec<_>>(), [None]);
    assert_eq!(rows.lists::<i32>(x).map(<[i32]>::len).collect::<Vec<_>>(), [0]);
    assert_eq!(rows.texts(s).collect::<Vec<_>>(), [None]);
    assert_eq!(rows.inside(n).numbers::<i64>(y).collect::<Vec<_>>(), [Some(7)]);
    assert_eq!(rows.inside(x).numbers::<i64>(y).collect::<Vec<_>>(), [None]);
    assert!(rows.items(n, |count| assert_eq!(count, 0)).is_empty());
    let (mut values, mut starts) = (Vec::<i32>::new(), Vec::new());
    rows.append_lists(x, &mut values, &mut starts);
    assert_eq!((values, starts), (vec![], vec![0]));
    let mut empty = Batch::new(&schema, "Empty").unwrap();
    empty.push(&decoder, &[]).unwrap();
    assert_eq!(empty.rows().numbers::<i32>(x).collect::<Vec<_>>(), [None]);
    assert!(Batch::new(&schema, "Nothing").is_err());
}
