//! The events of a decoder, written as bytes, are the same message, also if fields occurred twice.

use crate::common::random::schema_of;
use tidemill_stdx::rng::Rng;
use tidemill_wire::encode::BinarySink;
use tidemill_wire::{Decoder, Message};

const TEXT: &str = r#"
syntax = "proto3";
package s;
enum E { ZERO = 0; ONE = 1; }
message M {
  int32 x = 1; string s = 2; bytes b = 3; double d = 4; E e = 5; bool y = 6; fixed32 f = 7;
  M one = 8; repeated M many = 9; map<int32, M> map = 10; optional int32 o = 11;
  oneof choice { int32 c = 12; M m = 13; }
  N n = 14;
}
message N { int32 x = 1; M m = 14; }
"#;

/// A field of one of the types, often zero, and the bytes of a message inside.
fn field(rng: &mut Rng, depth: u32) -> Vec<u8> {
    let value = if rng.chance(0.5) { 0 } else { 1 };
    let inside = |rng: &mut Rng, number: u8| {
        let content = fields(rng, depth + 1);
        [&[number << 3 | 2, content.len() as u8][..], &content].concat()
    };
    let deep = depth < 3;
    match rng.below(14) {
        0 | 1 => vec![0x08, value],
        2 if value == 0 => vec![0x12, 0],
        2 => vec![0x12, 1, b'a'],
        3 if value == 0 => vec![0x1a, 0],
        3 => vec![0x1a, 1, 0],
        4 => [&[0x21][..], &f64::from(value).to_le_bytes()].concat(),
        5 => vec![0x28, value],
        6 => vec![0x30, value],
        7 => vec![0x3d, value, 0, 0, 0],
        8 | 9 if deep => inside(rng, 8),
        10 if deep => inside(rng, 9),
        11 if deep => {
            let content = fields(rng, depth + 1);
            let length = content.len() as u8;
            [&[0x52, length + 4, 0x08, value, 0x12, length][..], &content].concat()
        }
        12 if deep => inside(rng, 13),
        13 if deep => inside(rng, 14),
        _ => vec![0x60, value],
    }
}

fn fields(rng: &mut Rng, depth: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..rng.below(5) {
        let next = field(rng, depth);
        if bytes.len() + next.len() < 100 {
            bytes.extend(next);
        }
    }
    bytes
}

#[test]
fn the_last_of_several_values_counts() {
    let schema = schema_of(TEXT);
    let of = schema.message_by_name("s.M").unwrap();
    let mut sink = BinarySink::new(&schema);
    let mut check = |bytes: &[u8]| {
        // The sink is reused: no state of one message may affect the next.
        sink.clear();
        Decoder::new(&schema).decode(of, bytes, &mut sink).unwrap();
        let expected = Message::from_bytes(&schema, of, bytes).unwrap();
        let found = Message::from_bytes(&schema, of, sink.bytes()).unwrap();
        assert!(expected == found, "{bytes:02x?} as {:02x?}", sink.bytes());
        sink.bytes().to_vec()
    };
    assert_eq!(check(&[8, 5, 8, 0]), [8, 5, 8, 0]);
    // A zero is omitted if no other value of the field came before.
    assert_eq!(check(&[8, 0, 0x12, 0]), []);
    assert_eq!(check(&[0x4a, 2, 8, 5, 0x4a, 2, 8, 0]), [0x4a, 2, 8, 5, 0x4a, 0]);
    let mut rng = Rng::new(1);
    for _ in 0..20_000 {
        check(&fields(&mut rng, 0));
    }
}
