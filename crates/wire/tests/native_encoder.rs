//! The native encoder writes the bytes of the table encoder, for any schema and message.
#![cfg(feature = "native")]

use crate::common::random::{fill, message_type, schema, schema_of};
use tidemill_stdx::rng::Rng;
use tidemill_wire::{
    EncodeBuffer, EncodeError, Encoder, EncoderCode, MapOrder, Message, NativeEncoder, Schema,
};

/// The encoders that must write the same bytes.
struct Encoders {
    table: Encoder,
    buffer: EncodeBuffer,
    native: NativeEncoder,
}

fn check(encoders: &mut [Encoders], message: &Message<'_>, what: &str) {
    for Encoders { table, buffer, native } in encoders {
        let expected = table.encode(message.as_ref());
        let found = native.encode(message.as_ref()).map(<[u8]>::to_vec);
        assert_eq!(found, expected, "{what}");
        let found = table.encode_into(message.as_ref(), buffer).map(<[u8]>::to_vec);
        assert_eq!(found, expected, "{what}");
        // The length is computed by a separate walk.
        assert_eq!(table.len(message.as_ref()), expected.map(|bytes| bytes.len()), "{what}");
    }
}

fn encoders(schema: &Schema, of: tidemill_wire::MessageId) -> Vec<Encoders> {
    let code = EncoderCode::compile(schema, of).unwrap();
    let table = Encoder::new();
    let native = NativeEncoder::new(code);
    let by_key = table.map_order(MapOrder::ByKey).check_required();
    let compiled = by_key.compile(schema, of).unwrap();
    let with = |table, native| Encoders { table, buffer: EncodeBuffer::new(), native };
    vec![with(table, native), with(by_key, compiled)]
}

#[test]
fn random_messages_have_the_same_bytes() {
    for seed in 0..80 {
        let mut rng = Rng::new(seed);
        let schema = schema(&mut rng);
        let of = message_type(&mut rng, &schema);
        let mut encoders = encoders(&schema, of);
        for round in 0..8 {
            let mut message = Message::new(&schema, of).unwrap();
            fill(&mut rng, &schema, message.as_mut(), 3);
            check(&mut encoders, &message, &format!("seed {seed} round {round}"));
        }
    }
}

/// Every length of strings and varints, lists that make the buffer grow at every point.
#[test]
fn lengths_of_all_kinds() {
    let schema = schema_of(
        "syntax = 'proto3'; message M {
            string s = 1; bytes b = 200; repeated int64 p = 3;
            repeated int64 u = 4 [packed = false];
            M m = 5; repeated M ms = 6; uint64 v = 7; sint64 z = 8; int32 i = 9; sint32 y = 10;
            repeated fixed32 f = 11; repeated bool t = 12; repeated string l = 536870911; }",
    );
    let of = schema.message_by_name("M").unwrap();
    let mut encoders = encoders(&schema, of);
    for length in (0..70).chain([127, 128, 5000, 16383, 16384, 70_000]) {
        let mut message = Message::new(&schema, of).unwrap();
        let text: String = (0..length).map(|i| char::from(b'a' + (i % 26) as u8)).collect();
        message.set("s", text.as_str()).unwrap();
        message.set("b", text.as_bytes()).unwrap();
        let mut root = message.as_mut();
        for i in 0..length.min(64) {
            let bits = u64::MAX >> i;
            root.list_mut("p").unwrap().push(bits as i64).unwrap();
            root.list_mut("u").unwrap().push(!bits as i64).unwrap();
            root.list_mut("f").unwrap().push(bits as u32).unwrap();
            root.list_mut("t").unwrap().push(i % 3 == 0).unwrap();
            root.list_mut("l").unwrap().push(&text[..i]).unwrap();
            let mut ms = root.list_mut("ms").unwrap();
            let mut inner = ms.push_message().unwrap();
            inner.set("v", bits).unwrap();
            inner.set("z", !bits as i64).unwrap();
            inner.set("i", bits as i32).unwrap();
            inner.set("y", !bits as i32).unwrap();
        }
        root.message_mut("m").unwrap().message_mut("m").unwrap().set("s", &*text).unwrap();
        check(&mut encoders, &message, &format!("length {length}"));
        // A new encoder has no buffer yet.
        let code = EncoderCode::compile(&schema, of).unwrap();
        let bytes = Encoder::new().encode(message.as_ref()).unwrap();
        let mut fresh = NativeEncoder::new(code);
        assert_eq!(fresh.encode(message.as_ref()), Ok(&bytes[..]));
        let mut out = b"before".to_vec();
        fresh.append(message.as_ref(), &mut out).unwrap();
        assert_eq!(out[6..], bytes);
    }
}

#[test]
fn depth_and_type_are_checked() {
    let schema =
        schema_of("syntax = 'proto3'; message M { M m = 1; N n = 2; } message N { int32 x = 1; }");
    let of = schema.message_by_name("M").unwrap();
    for (depth, is_right) in [(999, true), (1000, true), (1001, false), (100_000, false)] {
        let mut message = Message::new(&schema, of).unwrap();
        let mut inner = message.as_mut();
        for _ in 0..depth {
            inner = inner.into_message_mut("m").unwrap();
        }
        assert_eq!(message.encode().is_ok(), is_right, "{depth}");
        check(&mut encoders(&schema, of), &message, &format!("depth {depth}"));
    }
    let other = Message::new(&schema, "N").unwrap();
    let mut encoder = Encoder::new().compile(&schema, of).unwrap();
    assert_eq!(encoder.encode(other.as_ref()), Err(EncodeError::WrongMessage));
}

/// Extensions and message sets are encoded by tables; they may occur anywhere in a tree.
#[test]
fn extensions_anywhere() {
    let schema = schema_of(
        "syntax = 'proto2'; message M { optional M m = 1; repeated M ms = 2; optional int32 x = 9;
             map<string, M> by_name = 4; extensions 5 to 8; optional Set set = 10; }
         extend M { optional M inner = 6; repeated int32 numbers = 8; }
         message Set { option message_set_wire_format = true; extensions 4 to max; }
         extend Set { optional M item = 100; }",
    );
    let of = schema.message_by_name("M").unwrap();
    let mut encoders = encoders(&schema, of);
    let mut message = Message::new(&schema, of).unwrap();
    let mut root = message.as_mut();
    for name in ["m", "[inner]", "m"] {
        root = root.into_message_mut(name).unwrap();
        root.set("x", 300).unwrap();
        root.list_mut("[numbers]").unwrap().push(-1).unwrap();
        root.push_unknown(b"\xf8\x7f\x01").unwrap();
        root.list_mut("ms").unwrap().push_message().unwrap().set("x", 0).unwrap();
        let mut map = root.map_mut("by_name").unwrap();
        for key in ["b", "a", ""] {
            map.message_mut(key).unwrap().set("x", 7).unwrap();
        }
        let mut set = root.message_mut("set").unwrap();
        set.message_mut("[item]").unwrap().set("x", 1).unwrap();
    }
    check(&mut encoders, &message, "extensions");
    assert!(message.encode().unwrap().len() > 100);
}

/// Outside of its map an entry is an ordinary message: its parts may be absent.
#[test]
fn entries_by_themselves() {
    let schema = schema_of(
        "syntax = 'proto3'; message M { map<string, int64> m = 1; map<int32, M> n = 2; }",
    );
    for name in ["M.MEntry", "M.NEntry"] {
        let of = schema.message_by_name(name).unwrap();
        let mut encoders = encoders(&schema, of);
        let mut message = Message::new(&schema, of).unwrap();
        for bytes in [&b""[..], b"\x0a\x01k", b"\x08\x05", b"\x10\x07", b"\x12\x00", b"\x18\x01"] {
            // In reused memory, where unset parts have old contents.
            message.decode_copied(b"\x0a\x05other\x10\x09\x08\x03\x12\x02\x0a\x00").unwrap();
            message.decode_copied(bytes).unwrap();
            check(&mut encoders, &message, name);
            let mapping = tidemill_wire::json::Mapping::new(&schema);
            assert!(tidemill_wire::json::print(&mapping, of, bytes).is_err());
            let options = tidemill_wire::json::PrintOptions::default();
            let mut sink = tidemill_wire::json::JsonSink::new(&mapping, options);
            assert!(tidemill_wire::json::print_message(&mut sink, message.as_ref()).is_err());
        }
    }
}

/// Of 5000 mutually recursive types only those with messages are compiled.
#[test]
fn types_are_compiled_when_they_are_met() {
    let mut text = "syntax = \"proto3\";\n".to_owned();
    for number in 0..5000 {
        let next = (number + 1) % 5000;
        text += &format!(
            "message M{number} {{ int32 a = 1; M{next} next = 2; repeated M{} other = 3; }}\n",
            number * 7 % 5000
        );
    }
    let schema = schema_of(&text);
    let of = schema.message_by_name("M1").unwrap();
    let code = EncoderCode::compile(&schema, of).unwrap();
    assert_eq!(code.types(), 1);
    // M1 { a: 5, next: M2 { next: M3 { a: 6 } }, other: M7 {} }
    let bytes = b"\x08\x05\x12\x04\x12\x02\x08\x06\x1a\x00";
    let message = Message::from_bytes(&schema, of, bytes).unwrap();
    let mut encoder = NativeEncoder::new(code.clone());
    for _ in 0..2 {
        assert_eq!(encoder.encode(message.as_ref()), Ok(&bytes[..]));
        assert_eq!(code.types(), 4);
    }
    let mut other = NativeEncoder::new(code.clone());
    assert_eq!(other.encode(message.as_ref()), Ok(&bytes[..]));
    assert_eq!(code.types(), 4);
}

#[test]
fn threads_share_the_code_of_types() {
    let text = "syntax = \"proto3\"; message A { B b = 1; repeated C c = 2; }
        message B { C c = 1; } message C { repeated int32 x = 1; A a = 2; }";
    let schema = schema_of(text);
    let of = schema.message_by_name("A").unwrap();
    let bytes = b"\x0a\x06\x0a\x04\x0a\x02\x01\x02\x12\x06\x12\x04\x12\x02\x12\x00";
    for _ in 0..20 {
        let code = EncoderCode::compile(&schema, of).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let (code, schema) = (code.clone(), &schema);
                scope.spawn(move || {
                    let message = Message::from_bytes(schema, of, bytes).unwrap();
                    let mut encoder = NativeEncoder::new(code);
                    assert_eq!(encoder.encode(message.as_ref()), Ok(&bytes[..]));
                });
            }
        });
        assert_eq!(code.types(), 3);
    }
}
