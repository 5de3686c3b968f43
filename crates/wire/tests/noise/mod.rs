//! Mutated JSON, text, messages and schemas.

mod printers;
mod schemas;
mod texts;

use std::cell::Cell;
use std::path::PathBuf;

use crate::common::random;
use tidemill_support::{descriptors, mutate};

fn bombard(seeds: &[(PathBuf, Vec<u8>)], count: u64, check: fn(&[u8]) -> bool) {
    let (right, wrong) = (Cell::new(0), Cell::new(0));
    mutate::bombard(seeds, count, |input| {
        let count = if check(input) { &right } else { &wrong };
        count.set(count.get() + 1);
    });
    // Both invalid and valid inputs occur.
    let (right, wrong) = (right.get(), wrong.get());
    assert!(right > count / 25 && wrong > count / 50, "{right} right, {wrong} wrong");
}

fn bombard_right(folder: &str, check: fn(&[u8]) -> bool) {
    let seeds = mutate::seeds(folder, &[]);
    for (path, bytes) in &seeds {
        assert!(check(bytes), "{path:?} is read");
    }
    bombard(&seeds, 5000, check);
}

#[test]
fn mutated_json_does_no_harm() {
    bombard_right("tests/corpora/json", texts::check_json);
}

#[test]
fn mutated_text_does_no_harm() {
    bombard_right("tests/corpora/prototext", texts::check_text);
}

#[test]
fn mutated_messages_are_written_alike() {
    let mut seeds = mutate::seeds("tests/corpora/printers", &[]);
    // Any schema, with messages of any content.
    let random = |seed: u8| (PathBuf::from("random"), vec![seed, seed << 1 | 1, seed]);
    seeds.extend((0..=60).map(random));
    bombard(&seeds, 1500, printers::check);
}

/// A present value that means absence, after a string of each length: so the buffer moves exactly
/// when its key is written.
#[test]
fn nothing_is_written_where_a_buffer_was() {
    for length in 0..300_u16 {
        let text = "s".repeat(length.into());
        for zero in [&b"\x10\x00"[..], b"\x21\0\0\0\0\0\0\0\0", b"\x2a\x00", b"\x30\x00\x38\x00"] {
            let mut message = vec![0x0a];
            tidemill_wire::varint::write(&mut message, length.into());
            message.extend_from_slice(text.as_bytes());
            message.extend_from_slice(zero);
            message.extend_from_slice(b"\x62\x01l\x4a\x00");
            for way in [0, 2, 4, 6] {
                assert!(printers::check(&[&[1, way], &*message].concat()));
            }
        }
    }
}

#[test]
fn mutated_schemas_do_no_harm() {
    let seeds = mutate::seeds("tests/proto", &["proto"]);
    bombard(&seeds, 1000, schemas::check_proto);
}

#[test]
fn mutated_descriptors_do_no_harm() {
    let found = mutate::seeds("tests/corpora/descriptors", &[]);
    for (path, bytes) in &found {
        assert!(!schemas::check_descriptors(bytes), "{path:?} is refused");
    }
    let mut seeds = descriptors::sets("tests/proto/right");
    seeds.extend(found);
    bombard(&seeds, 1000, schemas::check_descriptors);
}
