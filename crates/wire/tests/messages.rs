//! Messages in memory: they round-trip through bytes, events, copies and merges; misuse is an
//! error, never unsound.

use crate::common::random::{fill, message_type, schema, schema_of};
use std::collections::BTreeMap;
use tidemill_stdx::rng::Rng;
use tidemill_wire::{AccessError, Decoder, EncodeError, Encoder, MapOrder, Message, Schema, Value};

const ROUNDS: u64 = if cfg!(miri) { 2 } else { 300 };

fn sorted() -> Encoder {
    Encoder::new().map_order(MapOrder::ByKey)
}

fn random_message(rng: &mut Rng) -> (Schema, Message<'static>) {
    let schema = schema(rng);
    let of = message_type(rng, &schema);
    let mut message = Message::new(&schema, of).unwrap();
    fill(rng, &schema, message.as_mut(), 3);
    (schema, message)
}

#[test]
fn random_messages_come_back() {
    for seed in 0..ROUNDS {
        let mut rng = Rng::new(seed);
        let (schema, message) = random_message(&mut rng);
        let of = message.message_type();
        let bytes = message.encode().unwrap();
        assert_eq!(Encoder::new().len(message.as_ref()), Ok(bytes.len()), "seed {seed}");

        let views = Message::from_bytes(&schema, of, &bytes).unwrap();
        assert!(views == message, "seed {seed}: {views:?}\n{message:?}\n{schema}");
        let mut copies = Message::new(&schema, of).unwrap();
        copies.decode_copied(&bytes).unwrap();
        assert!(copies == message, "seed {seed}");
        // The order of maps stays too, so that the bytes are the same.
        assert_eq!(views.encode().unwrap(), bytes, "seed {seed}");

        let clone = message.clone();
        assert!(clone == message, "seed {seed}");
        let mut walked = Message::new(&schema, of).unwrap();
        message.walk(&mut walked.copying_builder()).unwrap();
        assert!(walked == message, "seed {seed}");
        let by_key = sorted().encode(message.as_ref()).unwrap();
        assert_eq!(sorted().encode(walked.as_ref()).unwrap(), by_key);
        assert_eq!(by_key.len(), bytes.len());
    }
}

/// Concatenated bytes are merged messages: the law that defines merging.
#[test]
fn merging_is_concatenation() {
    for seed in 0..ROUNDS {
        let mut rng = Rng::new(1000 + seed);
        let (schema, first) = random_message(&mut rng);
        let of = first.message_type();
        let mut second = Message::new(&schema, of).unwrap();
        fill(&mut rng, &schema, second.as_mut(), 3);
        let mut bytes = first.encode().unwrap();
        bytes.extend(second.encode().unwrap());
        let decoded = Message::from_bytes(&schema, of, &bytes).unwrap();
        let mut merged = first.clone();
        merged.merge(second.as_ref()).unwrap();
        assert!(decoded == merged, "seed {seed}\n{decoded:?}\n{merged:?}");

        let empty = Message::new(&schema, of).unwrap();
        merged.merge(empty.as_ref()).unwrap();
        assert!(decoded == merged, "seed {seed}");
        let mut other = empty.clone();
        other.merge(first.as_ref()).unwrap();
        assert!(other == first, "seed {seed}");
    }
}

/// A reused message has no traces of earlier contents, and after some rounds allocates nothing.
#[test]
fn messages_are_used_again() {
    let mut rng = Rng::new(5);
    let (schema, message) = random_message(&mut rng);
    let of = message.message_type();
    // Miri is slow.
    let (count, depth) = if cfg!(miri) { (3, 1) } else { (20, 3) };
    let inputs: Vec<Vec<u8>> = (0..count)
        .map(|_| {
            let mut message = Message::new(&schema, of).unwrap();
            fill(&mut rng, &schema, message.as_mut(), depth);
            message.encode().unwrap()
        })
        .collect();
    let mut reused = Message::new(&schema, of).unwrap();
    let mut held = Vec::new();
    for _ in 0..3 {
        for input in &inputs {
            reused.decode_copied(input).unwrap();
            assert!(reused == Message::from_bytes(&schema, of, input).unwrap());
        }
        held.push(reused.held_bytes());
    }
    assert_eq!(held[1], held[2]);
    reused.clear();
    assert!(reused.as_ref().is_empty());
    let mut recycled = reused.recycle();
    recycled.decode(&inputs[0]).unwrap();
    assert_eq!(recycled.encode().unwrap(), inputs[0]);
}

/// Every field with every kind of value, right or wrong, ends in a result.
#[test]
fn wrong_kinds_are_errors() {
    for seed in 0..ROUNDS / 5 + 1 {
        let mut rng = Rng::new(2000 + seed);
        let (schema, mut message) = random_message(&mut rng);
        let (_, other) = random_message(&mut rng);
        let donor = message.clone();
        let fields: Vec<(_, Value<'_>)> = donor.fields().chain(other.fields()).collect();
        let scalars = [
            Value::F64(1.0),
            Value::F32(1.0),
            Value::I64(1),
            Value::U64(1),
            Value::I32(1),
            Value::U32(1),
            Value::Bool(true),
            Value::String("x"),
            Value::Bytes(b"\xff"),
            Value::Enum(12345),
            Value::Message(donor.as_ref()),
        ];
        let values: Vec<Value<'_>> =
            scalars.into_iter().chain(fields.iter().map(|(_, value)| *value)).collect();
        for id in (0..schema.field_count() + 3).filter_map(|at| field_id(&schema, at)) {
            for value in &values {
                use_wrongly(&mut message, id, *value);
            }
            let _ = (message.get(id).is_ok(), message.has(id), message.as_mut().clear(id));
        }
        for name in ["", "nothing", "[", "[]", "[t.x_int]", "[t.nothing]"] {
            let _ = (message.get(name).is_ok(), message.has(name), message.as_mut().clear(name));
            let _ = message.set(name, 1i32);
        }
        // After any operations the result is a valid message.
        let bytes = message.encode().unwrap();
        let again = Message::from_bytes(&schema, message.message_type(), &bytes).unwrap();
        assert!(again == message);
    }
}

/// Ids of this schema, and some that it lacks.
fn field_id(schema: &Schema, at: usize) -> Option<tidemill_wire::FieldId> {
    let own = |schema: &Schema| {
        let fields = schema.messages().flat_map(|id| schema.message(id).fields().to_vec());
        fields.chain(schema.extensions()).find(|id| id.index() == at)
    };
    own(schema).or_else(|| {
        let many: String = (1..=at + 1).map(|n| format!("optional int32 f{n} = {n};")).collect();
        own(&schema_of(&format!("syntax = 'proto2'; message Big {{ {many} }}")))
    })
}

fn use_wrongly(message: &mut Message<'_>, id: tidemill_wire::FieldId, value: Value<'_>) {
    let before = message.get(id).ok().map(|value| format!("{value:?}"));
    if message.set(id, value).is_err() && !matches!(value, Value::List(_) | Value::Map(_)) {
        assert_eq!(message.get(id).ok().map(|value| format!("{value:?}")), before);
    }
    let mut message = message.as_mut();
    if let Ok(mut list) = message.list_mut(id) {
        let _ = (list.push(value), list.set(0, value), list.set(usize::MAX, value));
        let _ = (list.remove(usize::MAX), list.swap(0, usize::MAX), list.message_mut(7).is_ok());
        let _ = (list.swap(0, list.len().wrapping_sub(1)), list.push_message().is_ok());
        let _ = list.remove(0);
        list.truncate(3);
    }
    if let Ok(mut map) = message.map_mut(id) {
        let _ = (map.insert(value, value), map.insert(1i32, value), map.insert("k", value));
        let _ = (map.message_mut(value).is_ok(), map.remove(value));
        assert!(map.as_ref().get(Value::F64(0.5)).is_err());
    }
    let _ = message.message_mut(id).map(|mut inner| inner.clear_all());
}

#[test]
fn a_foreign_message_is_refused() {
    let text = "syntax = 'proto3'; message A { A a = 1; B b = 2; } message B { int32 x = 1; }";
    let (schema, twin) = (schema_of(text), schema_of(text));
    let mut message = Message::new(&schema, "A").unwrap();
    let b = Message::new(&schema, "B").unwrap();
    let foreign = Message::new(&twin, "A").unwrap();
    for value in [b.as_ref(), foreign.as_ref()] {
        assert!(matches!(message.set("a", value), Err(AccessError::WrongMessage { .. })));
        assert!(matches!(message.merge(value), Err(AccessError::WrongMessage { .. })));
        assert!(message.as_ref() != value);
    }
    assert!(Message::new(&schema, "C").is_err());
    message.set("b", b.as_ref()).unwrap();
    assert!(message.has("b").unwrap());
}

/// Changed or truncated bytes end in a result, in bounded memory.
#[test]
fn hostile_bytes_are_bounded() {
    for seed in 0..ROUNDS {
        let mut rng = Rng::new(3000 + seed);
        let (schema, message) = random_message(&mut rng);
        let of = message.message_type();
        let bytes = message.encode().unwrap();
        const LIMIT: usize = 1 << 16;
        let Ok(mut target) = Message::with_limit(&schema, of, LIMIT) else { continue };
        for _ in 0..30 {
            let mut bad = bytes.clone();
            for _ in 0..1 + rng.below(4) {
                if let Some(at) = (!bad.is_empty()).then(|| rng.below(bad.len() as u64) as usize) {
                    match rng.below(3) {
                        0 => bad[at] = rng.next_u64() as u8,
                        1 => bad.truncate(at),
                        _ => bad.extend_from_within(at..),
                    }
                }
            }
            let result = target.decode_copied(&bad);
            assert!(target.held_bytes() <= LIMIT);
            if result.is_ok() {
                let again = target.encode().unwrap();
                assert!(target == Message::from_bytes(&schema, of, &again).unwrap());
            }
        }
    }
}

#[test]
fn maps_agree_with_a_model() {
    let schema = schema_of(
        "syntax = 'proto3'; message M { map<string, int32> s = 1; map<int64, M> m = 2; }",
    );
    let mut message = Message::new(&schema, "M").unwrap();
    let mut model = BTreeMap::new();
    let mut rng = Rng::new(9);
    let rounds = if cfg!(miri) { 600 } else { 20_000 };
    for round in 0..rounds {
        // Few keys at last, so that a map that had an index is small again, and empty.
        let keys = if round < rounds / 2 { 200 } else { 12 };
        if round == rounds / 2 {
            model.clear();
            message.as_mut().map_mut("s").unwrap().clear();
        }
        let key = format!("key {}", rng.below(keys));
        let mut message = message.as_mut();
        let mut map = message.map_mut("s").unwrap();
        if rng.chance(0.5) {
            map.insert(key.as_str(), round).unwrap();
            model.insert(key, round);
        } else {
            assert_eq!(map.remove(key.as_str()), Ok(model.remove(&key).is_some()));
        }
        assert_eq!(map.len(), model.len());
        if round % 500 == 0 {
            let found: Vec<(String, i32)> = map
                .as_ref()
                .sorted()
                .iter()
                .map(|(k, v)| (k.as_str().unwrap().to_owned(), v.as_i32().unwrap()))
                .collect();
            assert!(found.into_iter().eq(model.clone()));
            for (key, &value) in &model {
                let found = map.as_ref().get(key.as_str()).unwrap().unwrap();
                assert_eq!(found.as_i32(), Some(value));
            }
        }
    }
    for key in [5i64, -5, i64::MIN, 0, i64::MAX] {
        let mut message = message.as_mut();
        let mut map = message.map_mut("m").unwrap();
        map.message_mut(key).unwrap().map_mut("s").unwrap().insert("x", 1i32).unwrap();
    }
    let m = message.get("m").unwrap().as_map().unwrap();
    let keys: Vec<i64> = m.sorted().iter().filter_map(|(key, _)| key.as_i64()).collect();
    assert_eq!(keys, [i64::MIN, -5, 0, 5, i64::MAX]);
}

#[test]
fn lists_make_room_once() {
    let schema = schema_of("syntax = 'proto3'; message M { repeated int64 n = 1; }");
    let mut message = Message::new(&schema, "M").unwrap();
    let rounds = if cfg!(miri) { 15 } else { 50 };
    for round in 1..rounds {
        let mut message = message.as_mut();
        let mut list = message.list_mut("n").unwrap();
        list.reserve(round).unwrap();
        assert_eq!(list.reserve(usize::MAX), Err(AccessError::TooLarge));
        (0..round).for_each(|at| list.push(at as i64).unwrap());
    }
    let all = message.get("n").unwrap().as_list().unwrap().as_i64s().unwrap().to_vec();
    assert!(all.into_iter().eq((1..rounds as i64).flat_map(|round| 0..round)));
    let mut small = Message::with_limit(&schema, "M", 4096).unwrap();
    let mut small = small.as_mut();
    assert_eq!(small.list_mut("n").unwrap().reserve(1 << 20), Err(AccessError::Full));
}

const CORNERS: &str = "syntax = 'proto2'; package c;
    enum E { ZERO = 0; ONE = 1; TWO = 2; }
    message M {
        optional int32 number = 1 [default = 7];
        optional string text = 2 [default = 'nobody'];
        optional E kind = 3 [default = ONE];
        repeated E kinds = 4 [packed = true];
        oneof choice { M left = 5; M right = 6; string word = 7; }
        map<int32, E> by_number = 8;
        map<string, M> by_name = 9;
        repeated sint32 list = 10;
        optional Set set = 11;
        optional float single = 12;
        required bool must = 13;
        extensions 100 to 200;
    }
    message Set { option message_set_wire_format = true; extensions 4 to max; }
    extend Set { optional M item = 1000; }
    extend M { optional int32 extra = 100; }";

fn corner(bytes: &[u8]) -> (Schema, Message<'static>) {
    let schema = schema_of(CORNERS);
    let mut message = Message::new(&schema, "c.M").unwrap();
    message.decode_copied(bytes).unwrap();
    (schema, message)
}

#[test]
fn defaults_and_presence() {
    let (_, mut message) = corner(b"");
    assert_eq!(message.get("number").unwrap().as_i32(), Some(7));
    assert_eq!(message.get("text").unwrap().as_str(), Some("nobody"));
    assert_eq!(message.get("kind").unwrap().as_enum(), Some(1));
    let deep = message.get("left").unwrap().as_message().unwrap().get("right").unwrap();
    assert_eq!(deep.as_message().unwrap().get("number").unwrap().as_i32(), Some(7));
    assert!(!message.has("number").unwrap());
    message.set("number", 0).unwrap();
    assert!(message.has("number").unwrap());
    assert_eq!(message.encode().unwrap(), b"\x08\x00");
    assert!(matches!(
        message.set("kind", Value::Enum(3)),
        Err(AccessError::NotInEnum { number: 3, .. })
    ));
    let missing = EncodeError::MissingRequired { path: "must".to_owned() };
    assert_eq!(Encoder::new().check_required().encode(message.as_ref()), Err(missing));
    message.set("must", false).unwrap();
    message.as_mut().message_mut("left").unwrap();
    let missing = EncodeError::MissingRequired { path: "left.must".to_owned() };
    assert_eq!(Encoder::new().check_required().encode(message.as_ref()), Err(missing));
    message.set("[c.extra]", 5).unwrap();
    assert_eq!(message.get("[c.extra]").unwrap().as_i32(), Some(5));
    assert_eq!(message.encode().unwrap(), b"\x08\x00\x2a\x00\x68\x00\xa0\x06\x05");
    message.as_mut().clear("[c.extra]").unwrap();
    assert!(!message.has("[c.extra]").unwrap());
}

#[test]
fn the_last_of_a_oneof_counts_and_the_same_message_merges() {
    let (schema, message) =
        corner(b"\x2a\x02\x08\x01\x2a\x02\x12\x00\x32\x02\x08\x02\x32\x02\x08\x03");
    let choice = schema.message(message.message_type()).oneofs()[0];
    let which = message.as_ref().which(choice).unwrap();
    assert_eq!(which, schema.field_by_name(message.message_type(), "right"));
    assert!(!message.has("left").unwrap());
    assert_eq!(message.encode().unwrap(), b"\x32\x02\x08\x03");
    let (_, message) = corner(b"\x2a\x02\x08\x01\x2a\x02\x12\x00");
    assert_eq!(message.encode().unwrap(), b"\x2a\x04\x08\x01\x12\x00");
}

#[test]
fn numbers_that_a_closed_enum_lacks_are_unknown() {
    // A single one, a packed list with two, an entry, and an entry whose value comes twice.
    let input = b"\x18\x63\x22\x04\x01\x62\x02\x61\x42\x04\x08\x01\x10\x60\x42\x04\x08\x02\x10\x02";
    let (_, message) = corner(input);
    assert!(!message.has("kind").unwrap());
    let kinds = message.get("kinds").unwrap().as_list().unwrap();
    assert_eq!(kinds.as_i32s(), Some(&[1, 2][..]));
    let unknown: Vec<&[u8]> = message.as_ref().unknown().collect();
    assert_eq!(unknown, [&b"\x18\x63"[..], b"\x20\x62", b"\x20\x61", b"\x42\x04\x08\x01\x10\x60"]);
    let map = message.get("by_number").unwrap().as_map().unwrap();
    assert_eq!(map.len(), 1);
    assert_eq!(map.get(2).unwrap().unwrap().as_enum(), Some(2));
}

#[test]
fn entries_may_lack_parts_and_come_twice() {
    // No parts; a key alone; the same key again with a value; the value before the key, twice.
    let input = b"\x42\x00\x42\x02\x08\x05\x42\x04\x08\x05\x10\x02\
        \x4a\x0b\x12\x02\x08\x01\x12\x02\x08\x02\x0a\x01k";
    let (_, message) = corner(input);
    let map = message.get("by_number").unwrap().as_map().unwrap();
    assert_eq!(map.get(0).unwrap().unwrap().as_enum(), Some(0), "the first of the enum");
    assert_eq!(map.get(5).unwrap().unwrap().as_enum(), Some(2));
    let names = message.get("by_name").unwrap().as_map().unwrap();
    let k = names.get("k").unwrap().unwrap().as_message().unwrap();
    assert_eq!(k.get("number").unwrap().as_i32(), Some(2));
    let bytes = message.encode().unwrap();
    assert_eq!(
        bytes,
        b"\x42\x04\x08\x00\x10\x00\x42\x04\x08\x05\x10\x02\x4a\x07\x0a\x01k\x12\x02\x08\x02"
    );
}

#[test]
fn bits_of_floats_are_kept_and_compared() {
    let (schema, mut message) = corner(b"");
    for bits in [0x7fc0_0001u32, 0xffff_ffff, 0x8000_0000, 0] {
        message.set("single", f32::from_bits(bits)).unwrap();
        let bytes = message.encode().unwrap();
        let again = Message::from_bytes(&schema, "c.M", &bytes).unwrap();
        assert!(again == message);
        assert_eq!(again.get("single").unwrap().as_f32().map(f32::to_bits), Some(bits));
        message.set("single", f32::from_bits(bits ^ 1)).unwrap();
        assert!(again != message);
    }
}

#[test]
fn unknown_fields_stay_byte_for_byte() {
    let raw =
        b"\xfa\x7f\x83\x00abc\xf8\x7f\x80\x80\x00\xfb\x7f\x08\x01\xfc\x7f\xfd\x7f\x01\x02\x03\x04";
    let (_, message) = corner(raw);
    assert_eq!(message.encode().unwrap(), raw);
    assert_eq!(message.as_ref().unknown().len(), 4);
    let mut other = message.clone();
    assert!(other == message);
    assert_eq!(other.as_mut().push_unknown(b"\xf8\x7f"), Err(AccessError::BadUnknown));
    other.as_mut().push_unknown(b"\xf8\x7f\x01").unwrap();
    assert!(other != message);
    other.as_mut().clear_unknown();
    assert!(other.as_ref().is_empty());
}

#[test]
fn sets_of_messages_have_their_form() {
    let (_, mut message) = corner(b"");
    let mut root = message.as_mut();
    let mut set = root.message_mut("set").unwrap();
    set.message_mut("[c.item]").unwrap().set("number", 5).unwrap();
    let bytes = message.encode().unwrap();
    assert_eq!(bytes, b"\x5a\x09\x0b\x10\xe8\x07\x1a\x02\x08\x05\x0c");
}

/// Nesting deeper than any stack ends in results, not a crash.
#[test]
fn depth_has_no_price() {
    let schema = schema_of("syntax = 'proto3'; message M { M m = 1; int32 x = 2; }");
    let mut message = Message::new(&schema, "M").unwrap();
    let mut inner = message.as_mut();
    for _ in 0..if cfg!(miri) { 1_100 } else { 200_000 } {
        inner = inner.into_message_mut("m").unwrap();
    }
    inner.set("x", 1).unwrap();
    let copy = message.clone();
    assert!(copy == message);
    assert_eq!(message.encode(), Err(EncodeError::TooDeep));
    assert_eq!(message.as_ref().missing_required(), None);
    let mut shallow = Message::new(&schema, "M").unwrap();
    shallow.set("x", 1).unwrap();
    assert!(shallow != message);
}

/// Strings in pieces, as a decoder of streams passes them.
#[test]
fn pieces_of_strings_are_joined() {
    use tidemill_wire::Sink;
    let schema = schema_of("syntax = 'proto3'; message M { repeated string s = 1; bytes b = 2; }");
    let of = schema.message_by_name("M").unwrap();
    let [s, b] = ["s", "b"].map(|name| schema.field_by_name(of, name).unwrap());
    let mut message = Message::new(&schema, of).unwrap();
    let mut builder = message.builder();
    for pieces in [&["one"][..], &[], &["t", "w", "ö", "", "longer than all before it"]] {
        builder.start_string(s, 3).unwrap();
        pieces.iter().try_for_each(|piece| builder.string(s, piece)).unwrap();
        builder.end_string(s).unwrap();
    }
    builder.start_bytes(b, 4).unwrap();
    (0..1000).try_for_each(|_| builder.bytes(b, b"\xff\xfe")).unwrap();
    builder.end_bytes(b).unwrap();
    builder.start_string(s, 1).unwrap();
    builder.bytes(s, b"\xff").unwrap();
    assert!(builder.end_string(s).is_err(), "this file asks for UTF-8");
    assert!(builder.error().is_some());
    let list = message.get("s").unwrap().as_list().unwrap();
    let texts: Vec<&str> = list.iter().filter_map(|value| value.as_str()).collect();
    assert_eq!(texts, ["one", "", "twölonger than all before it"]);
    assert_eq!(message.get("b").unwrap().as_bytes(), Some(&b"\xff\xfe".repeat(1000)[..]));
}

/// Events that no decoder sends are refused.
#[test]
fn events_that_do_not_fit_stop() {
    use tidemill_wire::Sink;
    let schema = schema_of(
        "syntax = 'proto3'; message M { int32 i = 1; N n = 2; } message N { int32 j = 1; }",
    );
    let [m, n] = ["M", "N"].map(|name| schema.message_by_name(name).unwrap());
    let [i, sub] = ["i", "n"].map(|name| schema.field_by_name(m, name).unwrap());
    let j = schema.field_by_name(n, "j").unwrap();
    let mut message = Message::new(&schema, m).unwrap();
    let mut builder = message.builder();
    assert!(builder.start_message(n).is_err());
    assert!(builder.i64(i, 1).is_err() && builder.i32(j, 1).is_err());
    assert!(builder.end_sub(sub).is_err() && builder.start_sub(i).is_err());
    builder.start_sub(sub).unwrap();
    assert!(builder.i32(i, 1).is_err() && builder.end_sub(i).is_err());
    builder.i32(j, 1).unwrap();
    builder.end_sub(sub).unwrap();
    assert!(matches!(builder.error(), Some(AccessError::WrongMessage { .. })));
    assert_eq!(message.encode().unwrap(), b"\x12\x02\x08\x01");
}

/// The public benchmark messages.
#[test]
fn the_corpus_comes_back() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/data");
    let set = std::fs::read(folder.join("google_messages.fds")).unwrap();
    let schema = Schema::from_descriptor_set(&set).unwrap();
    for (name, file) in [
        ("benchmarks.SpeedMessage1", "google_message1.dat"),
        ("benchmarks.SpeedMessage2", "google_message2.dat"),
    ] {
        let input = std::fs::read(folder.join(file)).unwrap();
        let of = schema.message_by_name(name).unwrap();
        let mut message = Message::new(&schema, of).unwrap();
        Decoder::new(&schema).decode(of, &input, &mut message.builder()).unwrap();
        assert_eq!(message.as_ref().unknown().len(), 0);
        let bytes = message.encode().unwrap();
        assert_eq!(bytes.len(), input.len(), "{name}");
        let again = Message::from_bytes(&schema, of, &bytes).unwrap();
        assert!(again == message && again.encode().unwrap() == bytes, "{name}");
    }
}

/// A stream whose pieces go into messages of different types: code stores at offsets, so it must
/// not continue in the second.
#[test]
#[cfg_attr(miri, ignore = "machine code")]
fn a_stream_keeps_to_the_type_of_its_message() {
    use tidemill_wire::decode::{Listing, Strings};
    use tidemill_wire::{Native, Tables};
    let wide: String = (1..100).map(|at| format!("fixed64 f{at} = {at};")).collect();
    let schema = schema_of(&format!(
        "syntax = 'proto3'; message Wide {{ {wide} Wide inner = 100; }}
         message Thin {{ bool b = 1; }}"
    ));
    let [wide, thin] = ["Wide", "Thin"].map(|name| schema.message_by_name(name).unwrap());
    let mut input = Vec::new();
    for at in 50..100u32 {
        tidemill_wire::varint::write(&mut input, u64::from(at) << 3 | 1);
        input.extend([at as u8; 8]);
    }
    let tables = Tables::new(&schema);
    let native = Native::for_messages(&schema, &tables, Strings::Copied, Listing::Dropped);
    let native = native.unwrap();
    let decoder = Decoder::with(&schema, &tables).native(&native);
    for cut in [0, 90, 200, 460] {
        let mut stream = decoder.stream(wide);
        let [mut first, mut second] = [wide, thin].map(|of| Message::new(&schema, of).unwrap());
        stream.push(&input[..cut], &mut first.copying_builder()).unwrap();
        assert!(stream.push(&input[cut..], &mut second.copying_builder()).is_err(), "{cut}");
        assert_eq!(second.encode().unwrap(), b"", "{cut}");
    }
}
