//! Random messages of random schemas, and changes of their bytes.

use proptest::prelude::*;
use tidemill_stdx::rng::Rng;
use tidemill_wire::{FieldType, Label, MessageId, Scalar, Schema, varint};

use super::check::{Cuts, Engines};
use super::schemas;

/// Bytes of a message, mostly of its fields.
fn message(rng: &mut Rng, schema: &Schema, id: MessageId, depth: u64, out: &mut Vec<u8>) {
    let fields = schema.message(id).field_defs();
    let mut order: Vec<usize> = (0..fields.len()).filter(|_| rng.chance(0.6)).collect();
    if rng.chance(0.3) {
        rng.shuffle(&mut order);
    }
    for index in order {
        let field = &fields[index];
        let times = if field.label() == Label::Repeated { rng.below(4) } else { 1 };
        let number = u64::from(field.number());
        let ty = field.field_type();
        if ty.is_packable() && rng.chance(0.3) {
            // Some are long enough for the loops that read numbers in blocks.
            let times = if rng.chance(0.3) { rng.below(180) } else { times };
            let mut list = Vec::new();
            (0..times).for_each(|_| value(rng, ty, &mut list));
            varint::write(out, number << 3 | 2);
            varint::write(out, list.len() as u64);
            out.extend(list);
            continue;
        }
        for _ in 0..times {
            match ty {
                FieldType::Message(inner) | FieldType::Group(inner) if depth > 0 => {
                    let mut bytes = Vec::new();
                    message(rng, schema, inner, depth - 1, &mut bytes);
                    if let FieldType::Group(_) = ty {
                        varint::write(out, number << 3 | 3);
                        out.extend(bytes);
                        varint::write(out, number << 3 | 4);
                    } else {
                        varint::write(out, number << 3 | 2);
                        varint::write(out, bytes.len() as u64);
                        out.extend(bytes);
                    }
                }
                FieldType::Message(_) | FieldType::Group(_) => {}
                _ => {
                    varint::write(out, number << 3 | ty.wire_type() as u64);
                    value(rng, ty, out);
                }
            }
        }
        if rng.chance(0.1) {
            // Usually an unknown field.
            varint::write(out, (1 + rng.below(40)) << 3);
            varint::write(out, rng.next_u64());
        }
    }
}

fn value(rng: &mut Rng, ty: FieldType, out: &mut Vec<u8>) {
    match ty {
        FieldType::Scalar(Scalar::String | Scalar::Bytes) => {
            let text: String =
                (0..rng.below(12)).map(|_| *rng.pick(&['a', 'ä', '€', '😀']).unwrap()).collect();
            varint::write(out, text.len() as u64);
            out.extend(text.bytes());
        }
        FieldType::Enum(_) => varint::write(out, *rng.pick(&[0, 1, 90, 2, u64::MAX]).unwrap()),
        _ => match ty.wire_type() as u8 {
            1 => out.extend(rng.next_u64().to_le_bytes()),
            5 => out.extend((rng.next_u64() as u32).to_le_bytes()),
            _ => {
                let bits = rng.below(64);
                varint::write(out, rng.next_u64() >> bits);
            }
        },
    }
}

/// Changes some bytes.
fn change(rng: &mut Rng, bytes: &mut Vec<u8>) {
    for _ in 0..rng.below(4) {
        let place = rng.below(bytes.len() as u64 + 1) as usize;
        match (rng.below(5), bytes.get_mut(place)) {
            (0, Some(byte)) => *byte = rng.next_u64() as u8,
            (1, Some(byte)) => *byte ^= 1 << rng.below(8),
            (2, _) => bytes.truncate(place),
            (3, _) => bytes.insert(place, 0x80),
            (_, Some(_)) => drop(bytes.remove(place)),
            _ => {}
        }
    }
}

fn check(seed: u64) {
    let mut rng = Rng::new(seed);
    let engines = Engines::new(schemas::head(&mut rng)).unwrap();
    for round in 0..4 {
        let mut bytes = Vec::new();
        message(&mut rng, &engines.schema, engines.message, 3, &mut bytes);
        bytes.truncate(600);
        if round > 0 {
            change(&mut rng, &mut bytes);
        }
        let _outcome = engines.check(&bytes, Cuts::Every);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, ..ProptestConfig::default() })]

    #[test]
    fn random_messages_of_random_schemas_are_decoded_alike(seed in any::<u64>()) {
        check(seed);
    }
}
