//! Random schemas, and random messages of them.

use tidemill_stdx::rng::Rng;
use tidemill_wire::proto::{Texts, compile};
use tidemill_wire::{FieldId, Label, MessageId, Schema, Sink};
use tidemill_wire::{Scalar, schema::FieldType};

const MESSAGES: u64 = 4;

/// A schema of a few messages `p.M0`, `p.M1` and so on that refer to each other.
pub fn schema(rng: &mut Rng) -> Schema {
    let proto2 = rng.chance(0.5);
    let mut text =
        format!("syntax = \"{}\";\npackage p;\n", if proto2 { "proto2" } else { "proto3" });
    text.push_str("enum E { NONE = 0; ONE = 1; LOW = -5; HIGH = 1000; }\n");
    for message in 0..MESSAGES {
        text.push_str(&format!("message M{message} {{\n"));
        let mut number = 0;
        for field in 0..rng.below(14) {
            number += 1 + if rng.chance(0.1) { rng.below(4000) } else { 0 };
            if (19_000..20_000).contains(&number) {
                number = 20_000;
            }
            text.push_str(&one_field(rng, proto2, message, field, number));
        }
        text.push_str("}\n");
    }
    let compiled = compile(&["a.proto"], &Texts::from_iter([("a.proto", text.clone())]));
    compiled.schema.unwrap_or_else(|| panic!("{text}\n{:?}", compiled.diagnostics))
}

fn one_field(rng: &mut Rng, proto2: bool, message: u64, field: u64, number: u64) -> String {
    let name = format!("field_{}{field}", ["a", "bC", "_d"][rng.below(3) as usize]);
    let scalar = Scalar::ALL[rng.below(15) as usize].name();
    let other = format!("M{}", rng.below(MESSAGES));
    let ty = match rng.below(10) {
        0..=5 => scalar.to_owned(),
        6 => "E".to_owned(),
        _ => other.clone(),
    };
    let optional = if proto2 { "optional " } else { "" };
    match rng.below(10) {
        0..=4 => format!("  {optional}{ty} {name} = {number};\n"),
        5 if !proto2 => format!("  optional {ty} {name} = {number};\n"),
        5 => format!("  optional group G{message}x{field} = {number} {{ optional {ty} x = 1; }}\n"),
        6 | 7 => format!("  repeated {ty} {name} = {number};\n"),
        8 => {
            let key = ["string", "int32", "sint64", "bool", "fixed64"][rng.below(5) as usize];
            format!("  map<{key}, {ty}> {name} = {number};\n")
        }
        _ => format!(
            "  oneof o{field} {{ {ty} {name} = {number}; bool {name}x = {}; }}\n",
            1_000_000 + field
        ),
    }
}

const TEXTS: [&str; 8] =
    ["", "a", "quote \" and \\", "line\nend\t", "é", "😀 far", "\u{0}\u{1f}\u{7f}", "</script>"];

/// Sends the events of a random message to a sink.
pub fn message<S: Sink<'static>>(
    rng: &mut Rng,
    schema: &Schema,
    message: MessageId,
    depth: usize,
    sink: &mut S,
) {
    for &field in schema.message(message).fields() {
        let count = match schema.field(field).label() {
            Label::Repeated => rng.below(4),
            _ => rng.below(2),
        };
        for _ in 0..count {
            value(rng, schema, field, depth, sink);
        }
    }
}

fn value<S: Sink<'static>>(
    rng: &mut Rng,
    schema: &Schema,
    field: FieldId,
    depth: usize,
    sink: &mut S,
) {
    let bits = match rng.below(4) {
        0 => rng.next_u64(),
        1 => rng.below(3),
        2 => rng.below(300),
        _ => u64::MAX - rng.below(300),
    };
    let flow = match schema.field(field).field_type() {
        FieldType::Message(inner) | FieldType::Group(inner) => {
            if depth == 0 {
                return;
            }
            sink.start_sub(field).unwrap();
            message(rng, schema, inner, depth - 1, sink);
            sink.end_sub(field)
        }
        FieldType::Enum(_) => sink.i32(field, [0, 1, -5, 1000][bits as usize % 4]),
        FieldType::Scalar(scalar) => match scalar {
            Scalar::Double => sink.f64(field, real(f64::from_bits(bits))),
            Scalar::Float => {
                let value = f32::from_bits(bits as u32);
                sink.f32(field, if value.is_nan() { -0.1 } else { value })
            }
            Scalar::Int64 | Scalar::Sint64 | Scalar::Sfixed64 => sink.i64(field, bits as i64),
            Scalar::Uint64 | Scalar::Fixed64 => sink.u64(field, bits),
            Scalar::Int32 | Scalar::Sint32 | Scalar::Sfixed32 => sink.i32(field, bits as i32),
            Scalar::Uint32 | Scalar::Fixed32 => sink.u32(field, bits as u32),
            Scalar::Bool => sink.bool(field, bits & 1 == 1),
            Scalar::String => {
                let text = TEXTS[bits as usize % TEXTS.len()];
                sink.start_string(field, text.len()).unwrap();
                sink.string(field, text).unwrap();
                sink.end_string(field)
            }
            Scalar::Bytes => {
                let bytes = TEXTS[bits as usize % TEXTS.len()].as_bytes();
                sink.start_bytes(field, bytes.len()).unwrap();
                sink.bytes(field, bytes).unwrap();
                sink.end_bytes(field)
            }
        },
    };
    flow.unwrap();
}

/// Texts do not preserve the bits of a NaN.
fn real(value: f64) -> f64 {
    if value.is_nan() { 0.1 } else { value }
}
