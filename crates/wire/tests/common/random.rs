//! Random schemas as `.proto` texts, and random messages of any schema.
#![allow(dead_code, reason = "not every test that shares this module uses all of it")]

use std::fmt::Write;

use tidemill_stdx::rng::Rng;
use tidemill_wire::message::{MessageMut, Shape, ValueType};
use tidemill_wire::proto::{Texts, compile};
use tidemill_wire::{FieldId, MessageId, Schema, Value};

/// The schema of a text.
pub fn schema_of(text: &str) -> Schema {
    let compiled = compile(&["a.proto"], &Texts::from_iter([("a.proto", text)]));
    let report: String =
        compiled.diagnostics.iter().map(|one| compiled.sources.render(one)).collect();
    compiled.schema.unwrap_or_else(|| panic!("{report}\n{text}"))
}

const SCALARS: [&str; 15] = [
    "double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32",
    "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes",
];
const KEYS: [&str; 12] = [
    "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32",
    "sfixed64", "bool", "string",
];

/// Languages that texts are made in.
const LANGUAGES: [&str; 3] = ["proto2", "proto3", "2023"];

/// A schema with messages `t.M0`, `t.M1` ...; `M0` has at least one field.
pub fn schema(rng: &mut Rng) -> Schema {
    schema_of(&text(rng))
}

fn below(rng: &mut Rng, bound: usize) -> usize {
    rng.below(bound as u64) as usize
}

fn text(rng: &mut Rng) -> String {
    let language = *rng.pick(&LANGUAGES).unwrap();
    let mut out = match language {
        "2023" => "edition = \"2023\"; package t;\n".to_owned(),
        syntax => format!("syntax = \"{syntax}\"; package t;\n"),
    };
    let closed = language == "2023" && rng.chance(0.5);
    let kind = if closed { "option features.enum_type = CLOSED; " } else { "" };
    let _ = writeln!(out, "enum E {{ {kind}E_ZERO = 0; E_ONE = 1; E_LOW = -3; E_BIG = 70000; }}");
    let messages = 1 + below(rng, 4);
    for message in 0..messages {
        let _ = writeln!(out, "message M{message} {{");
        fields(rng, language, messages, &mut out);
        out.push_str("}\n");
    }
    if language != "proto3" {
        let _ = writeln!(
            out,
            "extend M0 {{ {0}int32 x_int = 1000000; repeated string x_texts = 1000001; \
             {0}M0 x_message = 1000003; repeated E x_enums = 1000002; \
             repeated double x_doubles = 1000004{1}; }}",
            if language == "proto2" { "optional " } else { "" },
            if language == "proto2" { " [packed = true]" } else { "" },
        );
    }
    if language == "proto2" {
        out.push_str(
            "message Set { option message_set_wire_format = true; extensions 4 to max; }\n\
             extend Set { optional M0 in_set = 70000; }\n",
        );
    }
    out
}

fn fields(rng: &mut Rng, language: &str, messages: usize, out: &mut String) {
    // Sometimes more than one presence word.
    let count = if rng.chance(0.1) { 60 + below(rng, 80) } else { 1 + below(rng, 14) };
    let mut numbers = std::collections::BTreeSet::new();
    while numbers.len() < count {
        numbers.insert(match rng.below(10) {
            0 => 20_000 + rng.below(900_000),
            1 => 1 + rng.below(3000),
            _ => 1 + rng.below(count as u64 * 2),
        });
    }
    let mut numbers: Vec<u64> = numbers.into_iter().collect();
    rng.shuffle(&mut numbers);
    for (at, number) in numbers.iter().enumerate() {
        if rng.chance(0.1) {
            let ty = single_type(rng, messages);
            let _ = writeln!(
                out,
                "oneof o{at} {{ {ty} f{at} = {number}; {} g{at} = {}; t.M0 h{at} = {}; }}",
                SCALARS[below(rng, 15)],
                1_100_000 + 3 * at,
                1_100_001 + 3 * at,
            );
        } else {
            field(rng, language, messages, &format!("f{at}"), *number, out);
        }
    }
    if language == "proto2" && rng.chance(0.3) {
        out.push_str("optional Set message_set = 1200000;\n");
    }
    if language != "proto3" {
        out.push_str("extensions 1000000 to 1000100;\n");
    }
}

fn single_type(rng: &mut Rng, messages: usize) -> String {
    match rng.below(8) {
        0 => "E".to_owned(),
        1 | 2 => format!("M{}", below(rng, messages)),
        _ => SCALARS[below(rng, 15)].to_owned(),
    }
}

fn field(
    rng: &mut Rng,
    language: &str,
    messages: usize,
    name: &str,
    number: u64,
    out: &mut String,
) {
    if rng.chance(0.1) {
        let (key, value) = (KEYS[below(rng, 12)], single_type(rng, messages));
        let _ = writeln!(out, "map<{key}, {value}> {name} = {number};");
        return;
    }
    let repeated = rng.chance(0.35);
    if language == "proto2" && rng.chance(0.1) {
        let label = if repeated { "repeated" } else { "optional" };
        let upper = name.to_uppercase();
        let _ = writeln!(
            out,
            "{label} group {upper} = {number} {{ optional int32 a = 1; repeated string b = 2; }}"
        );
        return;
    }
    let ty = single_type(rng, messages);
    let packable = !ty.starts_with('M') && ty != "string" && ty != "bytes";
    let option = match (language, repeated, packable) {
        ("proto2", true, true) => "[packed = true]",
        ("proto3", true, true) => "[packed = false]",
        ("2023", true, true) => "[features.repeated_field_encoding = EXPANDED]",
        ("2023", _, false) if ty.starts_with('M') => "[features.message_encoding = DELIMITED]",
        ("2023", false, _) => "[features.field_presence = IMPLICIT]",
        _ => "",
    };
    // A closed enum needs presence.
    let option = if rng.chance(0.5) && (ty != "E" || repeated) { option } else { "" };
    let label = match (language, repeated) {
        (_, true) => "repeated",
        ("proto2", false) if rng.chance(0.1) && !ty.starts_with('M') => "required",
        ("proto2", false) => "optional",
        ("proto3", false) if rng.chance(0.4) => "optional",
        _ => "",
    };
    let _ = writeln!(out, "{label} {ty} {name} = {number} {option};");
}

/// Sets random fields of a message, with `depth` levels of messages inside.
pub fn fill(rng: &mut Rng, schema: &Schema, mut message: MessageMut<'_>, depth: usize) {
    let of = message.message_type();
    let extensions = schema.extensions().filter(|&id| schema.field(id).message() == of);
    let ids: Vec<FieldId> = schema.message(of).fields().iter().copied().chain(extensions).collect();
    let chance = if ids.len() > 30 { 0.2 } else { 0.6 };
    for id in ids {
        let layout = *schema.layouts().field(id);
        if !rng.chance(chance) || (layout.kind == ValueType::Message && depth == 0) {
            continue;
        }
        match layout.shape {
            Shape::Single if layout.kind == ValueType::Message => {
                let inner = message.message_mut(id).unwrap();
                fill(rng, schema, inner, depth - 1);
            }
            Shape::Single => with_value(rng, schema, id, |value| message.set(id, value).unwrap()),
            Shape::List => {
                let mut list = message.list_mut(id).unwrap();
                for _ in 0..list_len(rng, layout.kind) {
                    if layout.kind == ValueType::Message {
                        fill(rng, schema, list.push_message().unwrap(), depth - 1);
                    } else {
                        with_value(rng, schema, id, |value| list.push(value).unwrap());
                    }
                }
            }
            Shape::Map => fill_map(rng, schema, &mut message, id, depth),
        }
    }
    if rng.chance(0.2) {
        message.push_unknown(&unknown(rng)).unwrap();
    }
}

fn list_len(rng: &mut Rng, kind: ValueType) -> usize {
    match kind {
        ValueType::Message => below(rng, 4),
        _ if rng.chance(0.1) => below(rng, 200),
        _ => below(rng, 6),
    }
}

fn fill_map(
    rng: &mut Rng,
    schema: &Schema,
    message: &mut MessageMut<'_>,
    id: FieldId,
    depth: usize,
) {
    let entry = schema.layouts().field(id).record.unwrap();
    let [key, value] = schema.message(entry).fields()[..] else { panic!("no entry") };
    let mut map = message.map_mut(id).unwrap();
    let entries = if rng.chance(0.1) { below(rng, 40) } else { below(rng, 4) };
    for _ in 0..entries {
        with_value(rng, schema, key, |key| {
            let mut rng = Rng::new(rng_word(&key));
            if schema.layouts().field(value).kind == ValueType::Message {
                fill(&mut rng, schema, map.message_mut(key).unwrap(), depth.saturating_sub(2));
            } else {
                with_value(&mut rng, schema, value, |value| map.insert(key, value).unwrap());
            }
        });
    }
}

fn rng_word(value: &Value<'_>) -> u64 {
    format!("{value:?}").bytes().fold(7, |word, byte| word * 31 % 1_000_003 + u64::from(byte))
}

/// A value for the field, or for an element of it.
pub fn with_value<R>(
    rng: &mut Rng,
    schema: &Schema,
    id: FieldId,
    use_it: impl FnOnce(Value<'_>) -> R,
) -> R {
    // Of every length of varints, including zero.
    let bits = rng.below(65) as u32;
    let word = rng.next_u64().checked_shr(64 - bits).unwrap_or(0);
    let word = if rng.chance(0.3) { word.wrapping_neg() } else { word };
    let layout = schema.layouts().field(id);
    let length = match rng.below(20) {
        0 => 200 + below(rng, 300),
        1..4 => 0,
        _ => below(rng, 20),
    };
    let text: String =
        (0..length).map(|_| *rng.pick(&['a', 'b', 'ä', '€', '😀', '\0']).unwrap()).collect();
    let value = match layout.kind {
        ValueType::F64 => Value::F64(f64::from_bits(word)),
        ValueType::F32 => Value::F32(f32::from_bits(word as u32)),
        ValueType::I64 => Value::I64(word as i64),
        ValueType::U64 => Value::U64(word),
        ValueType::I32 => Value::I32(word as i32),
        ValueType::U32 => Value::U32(word as u32),
        ValueType::Bool => Value::Bool(word & 1 == 1),
        ValueType::String => Value::String(&text),
        ValueType::Bytes => Value::Bytes(text.as_bytes()),
        ValueType::Enum => Value::Enum([0, 1, -3, 70_000][word as usize & 3]),
        ValueType::Message => panic!("messages are filled"),
    };
    use_it(value)
}

/// Fields with numbers that no schema here has.
pub fn unknown(rng: &mut Rng) -> Vec<u8> {
    let parts: [&[u8]; 5] = [
        b"\x80\xe7\x8f\x0a\x05",             // 2621440-odd, a varint
        b"\x81\xe7\x8f\x0a12345678",         // eight bytes
        b"\x82\xe7\x8f\x0a\x03abc",          // bytes
        b"\x83\xe7\x8f\x0a\x84\xe7\x8f\x0a", // an empty group
        b"\x80\xe7\x8f\x0a\x85\x00",         // longer than needed
    ];
    (0..1 + below(rng, 3)).flat_map(|_| parts[below(rng, 5)]).copied().collect()
}

/// Any of the messages that have fields, the first most often.
pub fn message_type(rng: &mut Rng, schema: &Schema) -> MessageId {
    let other = format!("t.M{}", rng.below(4));
    let first = schema.message_by_name("t.M0").unwrap();
    if rng.chance(0.5) { first } else { schema.message_by_name(&other).unwrap_or(first) }
}
