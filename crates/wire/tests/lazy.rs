//! Messages with deferred sub-messages: late reads return what eager reads do.

use crate::common::random;
use crate::decoders::case;
use tidemill_support::mutate;

use tidemill_stdx::rng::Rng;
use tidemill_wire::message::{Check, Lazy, LazyValue, MessageError};
use tidemill_wire::{Decoder, ErrorKind, Message, MessageId, MessageRef, Schema, Value};

/// Compares all fields on all levels; returns the number of deferred sub-messages.
fn compare(lazy: &Lazy<'_>, eager: MessageRef<'_>) -> usize {
    let schema = lazy.schema().clone();
    let of = eager.message_type();
    assert_eq!(lazy.message_type(), of);
    let own: Vec<_> = lazy.own().as_ref().unknown().collect();
    assert_eq!(own, eager.unknown().collect::<Vec<_>>());
    let fields = schema.message(of).fields().iter().copied();
    let extensions = schema.extensions().filter(|&id| schema.field(id).message() == of);
    let mut count = 0;
    for id in fields.chain(extensions) {
        assert_eq!(lazy.has(id), eager.has(id), "{}", schema.field(id).name());
        let expected = eager.get(id).unwrap();
        match (lazy.get(id).unwrap(), expected) {
            (LazyValue::Value(found), expected) => {
                assert_eq!(format!("{found:?}"), format!("{expected:?}"));
            }
            (LazyValue::Message(inner), Value::Message(expected)) => {
                count += 1 + compare(inner, expected);
            }
            (LazyValue::List(inner), Value::List(expected)) => {
                assert_eq!(
                    (inner.len(), lazy.raw(id).unwrap().len()),
                    (expected.len(), inner.len())
                );
                for (inner, expected) in inner.iter().zip(expected.iter()) {
                    count += 1 + compare(inner.unwrap(), expected.as_message().unwrap());
                }
                assert!(inner.get(inner.len()).unwrap().is_none());
            }
            (found, expected) => panic!("{found:?} and {expected:?}"),
        }
    }
    count
}

#[test]
fn random_messages_are_the_same_late() {
    let mut count = 0;
    for seed in 0..if cfg!(miri) { 2 } else { 300 } {
        let mut rng = Rng::new(seed);
        let schema = random::schema(&mut rng);
        let of = random::message_type(&mut rng, &schema);
        let mut bytes = Vec::new();
        // Their concatenation is one message in which many fields occur twice.
        for _ in 0..1 + rng.below(3) {
            let mut message = Message::new(&schema, of).unwrap();
            random::fill(&mut rng, &schema, message.as_mut(), 3);
            bytes.extend(message.encode().unwrap());
        }
        let eager = Message::from_bytes(&schema, of, &bytes).unwrap();
        for check in [Check::Now, Check::WhenRead] {
            let lazy = Lazy::from_bytes(&schema, of, &bytes, check).unwrap();
            assert!(lazy.to_message().unwrap() == eager, "seed {seed}");
            count += compare(&lazy, eager.as_ref());
        }
    }
    assert!(cfg!(miri) || count > 1000, "{count} sub-messages");
}

/// Valid input reads the same late, and errors are found.
fn check(decoder: &Decoder<'_>, of: MessageId, bytes: &[u8]) {
    let mut eager = Message::new(decoder.schema(), of).unwrap();
    let outcome = eager.decode_with(decoder, bytes);
    let now = Lazy::decode(decoder, of, bytes, Check::Now);
    assert_eq!(now.as_ref().map(drop), outcome.as_ref().map(drop));
    let late = Lazy::decode(decoder, of, bytes, Check::WhenRead);
    match outcome {
        Ok(()) => {
            compare(&now.unwrap(), eager.as_ref());
            compare(&late.unwrap(), eager.as_ref());
        }
        Err(error) => {
            if let Ok(late) = late {
                read_all(&late);
                assert_eq!(late.to_message().map(drop), Err(error));
            }
        }
    }
}

/// Reads everything, valid or not.
fn read_all(lazy: &Lazy<'_>) {
    for &id in lazy.schema().message(lazy.message_type()).fields() {
        match lazy.get(id) {
            Ok(LazyValue::Message(inner)) => read_all(inner),
            Ok(LazyValue::List(list)) => list.iter().flatten().for_each(read_all),
            Ok(LazyValue::Value(_)) | Err(_) => {}
        }
    }
}

fn check_case(input: &[u8]) {
    let Ok(case) = case::read(&String::from_utf8_lossy(input)) else { return };
    let Ok((schema, message, _)) = case.head.build() else { return };
    let depth_max = case.head.depth_max.unwrap_or(tidemill_wire::decode::DEPTH_MAX);
    check(&Decoder::new(&schema).depth_max(depth_max), message, &case.bytes);
}

#[test]
#[cfg_attr(miri, ignore = "thousands of inputs")]
fn the_corpus_is_the_same_late() {
    mutate::bombard(&mutate::seeds("tests/wire", &["wire"]), 400, check_case);
}

const LETTER: &str = r#"
    syntax = "proto3";
    message Letter { string to = 1; repeated Page pages = 2; Page last = 3; }
    message Page {
      int32 number = 1;
      oneof what { Page inner = 2; Letter letter = 3; }
      oneof mixed { Page page = 4; int32 figure = 5; }
    }
"#;

fn letter() -> (Schema, MessageId) {
    let schema = random::schema_of(LETTER);
    let of = schema.message_by_name("Letter").unwrap();
    (schema, of)
}

#[test]
fn a_fault_shows_when_it_is_read_and_at_its_place() {
    let (schema, of) = letter();
    // The second page's number is cut off.
    let bytes = b"\x0a\x01x\x12\x02\x08\x01\x12\x01\x08";
    let read = |check| Lazy::from_bytes(&schema, of, bytes, check);
    let error = Message::from_bytes(&schema, of, bytes).unwrap_err();
    assert_eq!(read(Check::Now).unwrap_err(), error);
    let lazy = read(Check::WhenRead).unwrap();
    assert_eq!(lazy.own().get("to").unwrap().as_str(), Some("x"));
    assert_eq!(lazy.raw("pages").unwrap(), [&b"\x08\x01"[..], b"\x08"]);
    let Ok(LazyValue::List(pages)) = lazy.get("pages") else { panic!("two pages") };
    let first = pages.get(0).unwrap().unwrap();
    assert_eq!(first.own().get("number").unwrap().as_i32(), Some(1));
    let late = pages.get(1).unwrap_err();
    assert_eq!((late.offset, late.path.as_str()), (9, "pages[1].number"));
    let MessageError::Decode(at_once) = error else { panic!("{error}") };
    assert_eq!((at_once.offset, at_once.path), (late.offset, late.path.clone()));
    assert_eq!(pages.get(1).unwrap_err(), late, "it stays");
    assert!(lazy.get("nothing").is_err() && lazy.has("nothing").is_err());
}

#[test]
fn of_a_oneof_the_last_counts_and_parts_merge() {
    let (schema, of) = letter();
    // last { inner {}, letter {to: "x"}, letter {to: "y"}, letter {}, page {}, figure: 7 }
    let first = b"\x1a\x07\x12\x00\x1a\x03\x0a\x01x";
    let second = b"\x1a\x0b\x1a\x03\x0a\x01y\x1a\x00\x22\x00\x28\x07";
    let bytes = [&first[..], second].concat();
    let lazy = Lazy::from_bytes(&schema, of, &bytes, Check::WhenRead).unwrap();
    let eager = Message::from_bytes(&schema, of, &bytes).unwrap();
    assert_eq!(compare(&lazy, eager.as_ref()), 2);
    let Ok(LazyValue::Message(last)) = lazy.get("last") else { panic!("it is there") };
    assert!(!last.has("inner").unwrap() && last.has("letter").unwrap());
    assert_eq!(last.raw("letter").unwrap().len(), 3);
    assert!(last.raw("page").unwrap().is_empty(), "a oneof with a number is read at once");
    assert_eq!(last.own().get("figure").unwrap().as_i32(), Some(7));
}

#[test]
fn depth_is_limited_as_at_once() {
    let (schema, of) = letter();
    let mut bytes = Vec::new();
    for _ in 0..20 {
        bytes = [&[0x12, bytes.len() as u8][..], &bytes].concat();
    }
    bytes[0] = 0x1a;
    for depth in 15..25 {
        check(&Decoder::new(&schema).depth_max(depth), of, &bytes);
        let decoder = Decoder::new(&schema).depth_max(depth);
        let lazy = Lazy::decode(&decoder, of, &bytes, Check::WhenRead).unwrap();
        let mut reached = 0;
        let mut next = lazy.get("last");
        let error = loop {
            match next {
                Ok(LazyValue::Message(inner)) => {
                    (reached, next) = (reached + 1, inner.get("inner"))
                }
                Ok(_) => break None,
                Err(MessageError::Decode(error)) => break Some(error.kind),
                Err(error) => panic!("{error}"),
            }
        };
        let too_deep = (depth < 20).then_some(ErrorKind::TooDeep);
        assert_eq!((reached, error), (depth.min(20), too_deep));
    }
}
