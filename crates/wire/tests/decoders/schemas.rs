//! Random schemas, and selections of their fields.

use std::fmt::Write;

use tidemill_stdx::rng::Rng;
use tidemill_wire::{MessageId, Scalar, Schema};

use super::case::Head;

/// Some messages, and the selection of the first one: everything, required fields checked, or some
/// fields.
pub fn head(rng: &mut Rng) -> Head {
    let mut head = Head { schema: schema(rng), message: "M0".to_owned(), ..Head::default() };
    match rng.below(4) {
        0 => head.required = true,
        1 => {
            let (schema, root, _) = head.build().unwrap_or_else(|error| panic!("{head}{error}"));
            head.select = Some(paths(rng, &schema, root).join(" "));
        }
        _ => {}
    }
    head
}

/// Some messages of random fields; every fourth number is large.
fn schema(rng: &mut Rng) -> String {
    let proto2 = rng.chance(0.5);
    let syntax = if proto2 { "proto2" } else { "proto3" };
    let mut text = format!("syntax = \"{syntax}\";\nenum E {{ ZERO = 0; ONE = 1; FAR = 90; }}\n");
    let messages = 1 + rng.below(4);
    for message in 0..messages {
        writeln!(text, "message M{message} {{").unwrap();
        let mut number = 0;
        for index in 0..rng.below(12) {
            number += 1 + rng.below(3) + if rng.chance(0.25) { 1 << rng.below(26) } else { 0 };
            field(&mut text, rng, proto2, messages, index, number);
        }
        text.push_str("}\n");
    }
    text
}

fn field(text: &mut String, rng: &mut Rng, proto2: bool, messages: u64, index: u64, number: u64) {
    // Skips the numbers reserved for implementations.
    let number = if (19_000..20_000).contains(&number) { number + 1000 } else { number };
    let label = match (rng.below(3), proto2) {
        (0, _) => "repeated",
        (1, true) if rng.chance(0.3) => "required",
        (_, true) => "optional",
        _ => "",
    };
    if proto2 && rng.chance(0.15) {
        writeln!(text, "{label} group G{index} = {number} {{ optional int32 x = 1; }}").unwrap();
        return;
    }
    let ty = match rng.below(5) {
        0 => format!("M{}", rng.below(messages)),
        1 => "E".to_owned(),
        _ => rng.pick(&Scalar::ALL).unwrap().name().to_owned(),
    };
    let packable = !ty.starts_with('M') && ty != "string" && ty != "bytes";
    let options = match label == "repeated" && packable {
        true if rng.chance(0.5) => " [packed = true]",
        true if rng.chance(0.3) => " [packed = false]",
        _ => "",
    };
    writeln!(text, "{label} {ty} f{index} = {number}{options};").unwrap();
}

/// Some paths of fields.
fn paths(rng: &mut Rng, schema: &Schema, id: MessageId) -> Vec<String> {
    let mut paths = Vec::new();
    for field in schema.message(id).field_defs() {
        match field.field_type().message() {
            _ if rng.chance(0.5) => {}
            Some(inner) if rng.chance(0.7) => {
                let inner = schema.message(inner).field_defs().iter().filter(|_| rng.chance(0.5));
                paths.extend(inner.map(|one| format!("{}.{}", field.name(), one.name())));
            }
            _ => paths.push(field.name().to_owned()),
        }
    }
    paths
}
