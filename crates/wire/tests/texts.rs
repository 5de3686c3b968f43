//! Random messages of random schemas round-trip through JSON and text; the form of JSON.

use crate::random;

use tidemill_stdx::rng::Rng;
use tidemill_wire::encode::BinarySink;
use tidemill_wire::json::{self, Defaults, Enums, JsonSink, Mapping, Names, PrintOptions};
use tidemill_wire::json::{ReadOptions, Unknown};
use tidemill_wire::proto::{Texts, compile};
use tidemill_wire::text::{self, Layout, TextPrintOptions, TextSink};
use tidemill_wire::{Message, MessageId, Schema, Sink};

fn each(rounds: u64, mut check: impl FnMut(&Schema, &Mapping<'_>, MessageId, &[u8])) {
    for seed in 0..rounds {
        let mut rng = Rng::new(seed);
        let schema = random::schema(&mut rng);
        let mapping = Mapping::new(&schema);
        for name in ["p.M0", "p.M1"] {
            let message = schema.message_by_name(name).unwrap();
            for _ in 0..4 {
                let mut sink = BinarySink::new(&schema);
                sink.start_message(message).unwrap();
                random::message(&mut rng, &schema, message, 4, &mut sink);
                sink.end_message(message).unwrap();
                check(&schema, &mapping, message, sink.bytes());
            }
        }
    }
}

/// Bytes are compared as messages: an absent field may be written as zero.
fn assert_same(schema: &Schema, message: MessageId, a: &[u8], b: &[u8], text: &str) {
    let whole = |bytes| Message::from_bytes(schema, message, bytes).unwrap();
    let (a, b) = (Message::to_owned(&whole(a)), Message::to_owned(&whole(b)));
    assert!(a == b, "{a:?}\n{b:?}\n{text}");
}

#[test]
fn messages_survive_json() {
    each(150, |schema, mapping, message, bytes| {
        let text = json::print(mapping, message, bytes).unwrap();
        let back = json::parse(mapping, message, text.as_bytes()).unwrap();
        assert_same(schema, message, bytes, &back, &text);
        let options = PrintOptions {
            names: Names::Proto,
            enums: Enums::Number,
            defaults: Defaults::Print,
            ..PrintOptions::default()
        };
        let mut sink = JsonSink::new(mapping, options);
        json::print_to(&mut sink, message, bytes).unwrap();
        let back = json::parse(mapping, message, sink.bytes()).unwrap();
        assert_same(schema, message, bytes, &back, &String::from_utf8_lossy(sink.bytes()));
    });
}

/// The output for a message in memory, by its events and directly.
fn both_ways(mapping: &Mapping<'_>, whole: &Message<'_>, options: PrintOptions) -> String {
    let mut events = JsonSink::merged(mapping, options);
    let walked = whole.walk(&mut events).map_err(|_| format!("{:?}", events.problem()));
    let mut sink = JsonSink::new(mapping, options);
    match json::print_message(&mut sink, whole.as_ref()) {
        Ok(()) => assert_eq!(walked, Ok(())),
        Err(error) => {
            let problem = format!("{:?}", Some(json::WriteProblem::Value(error.to_string())));
            assert_eq!(walked, Err(problem));
            assert!(sink.bytes().is_empty());
            return error.to_string();
        }
    }
    assert_eq!(String::from_utf8_lossy(sink.bytes()), String::from_utf8_lossy(events.bytes()));
    // A sink appends the next message to its output.
    let length = sink.bytes().len();
    json::print_message(&mut sink, whole.as_ref()).unwrap();
    assert_eq!(sink.bytes()[length..], sink.bytes()[..length]);
    String::from_utf8(events.into_bytes()).unwrap()
}

#[test]
fn messages_in_memory_are_printed_as_their_events_are() {
    each(150, |schema, mapping, message, bytes| {
        let whole = Message::from_bytes(schema, message, bytes).unwrap();
        let usual = PrintOptions::default();
        both_ways(mapping, &whole, usual);
        both_ways(mapping, &whole, PrintOptions { names: Names::Proto, ..usual });
        both_ways(mapping, &whole, PrintOptions { enums: Enums::Number, ..usual });
        both_ways(mapping, &whole, PrintOptions { defaults: Defaults::Print, ..usual });
        both_ways(mapping, &whole, PrintOptions { unknown: Unknown::Refuse, ..usual });
    });
}

#[test]
fn odd_messages_in_memory_are_printed_as_their_events_are() {
    let proto = r#"syntax = "proto2"; package p; import "google/protobuf/timestamp.proto";
        message M { optional string s = 1; optional M m = 2; repeated M list = 3;
            map<string, M> map = 4; optional google.protobuf.Timestamp time = 5;
            optional int32 a_field_whose_name_is_longer_than_two_blocks_of_sixteen_bytes = 6;
            optional string last = 90; extensions 100 to 200; }
        extend M { optional M more = 100; repeated sint32 numbers = 101; }"#;
    let schema = compile(&["a.proto"], &Texts::from_iter([("a.proto", proto)])).schema.unwrap();
    let mapping = Mapping::new(&schema);
    let print = |bytes: &[u8], options| {
        let whole = Message::from_bytes(&schema, "p.M", bytes).unwrap();
        both_ways(&mapping, &whole, options)
    };
    let usual = PrintOptions::default();
    assert_eq!(print(b"", usual), "{}");
    assert_eq!(print(b"\x0a\x01\xff", usual), "string `s` is not UTF-8, as JSON is");
    assert_eq!(print(b"\x22\x03\x0a\x01\xff", usual), "string `key` is not UTF-8, as JSON is");
    // An extension between fields of messages without, and an unknown field in one.
    let inner =
        b"\x1a\x02\x0a\x00\x1a\x08\xa2\x06\x02\x12\x00\xa8\x06\x01\x1a\x02\x78\x01\x2a\x02\x08\x01";
    let text = r#"{"list":[{"s":""},{"[p.more]":{"m":{}},"[p.numbers]":[-1]},{}],"time":"#;
    assert_eq!(print(inner, usual), format!("{text}\"1970-01-01T00:00:01Z\"}}"));
    let refuse = PrintOptions { unknown: Unknown::Refuse, ..usual };
    assert_eq!(print(inner, refuse), "field 15 of p.M is unknown");
    let late = b"\x2a\x07\x08\x80\x80\x80\x80\x80\x40";
    assert_eq!(print(late, usual), "a google.protobuf.Timestamp is out of range");
    // As deep as a decoder allows, with long names and texts.
    let mut deep = b"\x30\x07\x0a\xc2\x03".to_vec();
    deep.extend(b"\"quoted\"\n".repeat(50));
    for _ in 0..99 {
        let mut outer = vec![0x12];
        outer.extend([deep.len() as u8 | 0x80, (deep.len() >> 7) as u8]);
        outer.extend(&deep);
        outer.extend(b"\xd2\x05\x01z");
        deep = outer;
    }
    let text = print(&deep, usual);
    assert_eq!(text.matches("\"last\":\"z\"").count(), 99);
    assert!(
        text.contains("_of_sixteen_bytes\":7}") || text.contains("SixteenBytes\":7}"),
        "{text}"
    );
    // A message of another schema is refused.
    let other = point();
    let of_other = Message::new(&other, "p.M").unwrap();
    let mut sink = JsonSink::new(&mapping, usual);
    assert!(json::print_message(&mut sink, of_other.as_ref()).is_err());
}

#[test]
fn messages_survive_text() {
    each(150, |schema, mapping, message, bytes| {
        let text = text::print(mapping, message, bytes).unwrap();
        let back = text::parse(mapping, message, text.as_bytes()).unwrap();
        assert_same(schema, message, bytes, &back, &text);
        let options = TextPrintOptions { layout: Layout::OneLine, ..TextPrintOptions::default() };
        let mut sink = TextSink::new(mapping, options);
        text::print_to(&mut sink, message, bytes).unwrap();
        assert!(!sink.bytes().contains(&b'\n'));
        let back = text::parse(mapping, message, sink.bytes()).unwrap();
        assert_same(schema, message, bytes, &back, &text);
    });
}

fn point() -> Schema {
    let proto = r#"syntax = "proto3"; package p; import "google/protobuf/wrappers.proto";
        enum E { NONE = 0; ONE = 1; }
        message M { int32 first_name = 1; repeated int32 list = 2; map<string, M> map = 3;
            oneof o { string s = 4; M m = 5; } E e = 6; int64 long = 7; bytes raw = 8;
            google.protobuf.BoolValue truth = 9; optional int32 maybe = 10; }"#;
    compile(&["a.proto"], &Texts::from_iter([("a.proto", proto)])).schema.unwrap()
}

#[test]
fn what_comes_twice_is_merged() {
    let schema = point();
    let mapping = Mapping::new(&schema);
    let message = schema.message_by_name("p.M").unwrap();
    let print = |bytes: &[u8]| json::print(&mapping, message, bytes).unwrap();
    // A scalar twice, a list around another field, both members of a oneof, a key twice.
    assert_eq!(print(b"\x08\x01\x08\x02"), r#"{"firstName":2}"#);
    assert_eq!(print(b"\x10\x01\x08\x05\x10\x02"), r#"{"firstName":5,"list":[1,2]}"#);
    assert_eq!(print(b"\x22\x01x\x2a\x02\x08\x01"), r#"{"m":{"firstName":1}}"#);
    assert_eq!(print(b"\x2a\x02\x08\x01\x2a\x02\x38\x02"), r#"{"m":{"firstName":1,"long":"2"}}"#);
    let twice = b"\x1a\x07\x0a\x01k\x12\x02\x08\x01\x1a\x07\x0a\x01k\x12\x02\x08\x02";
    assert_eq!(print(twice), r#"{"map":{"k":{"firstName":2}}}"#);
    // The value of an entry before its key, and neither.
    assert_eq!(print(b"\x1a\x07\x12\x02\x08\x01\x0a\x01k"), r#"{"map":{"k":{"firstName":1}}}"#);
    assert_eq!(print(b"\x1a\x00"), r#"{"map":{"":{}}}"#);
    let text = |bytes: &[u8]| text::print(&mapping, message, bytes).unwrap();
    assert_eq!(text(b"\x08\x01\x08\x02"), "first_name: 2\n");
}

#[test]
fn options_choose_names_enums_and_defaults() {
    let schema = point();
    let mapping = Mapping::new(&schema);
    let message = schema.message_by_name("p.M").unwrap();
    let with = |options| {
        let mut sink = JsonSink::new(&mapping, options);
        json::print_to(&mut sink, message, b"\x30\x01\x4a\x00").unwrap();
        String::from_utf8(sink.into_bytes()).unwrap()
    };
    let usual = PrintOptions::default();
    assert_eq!(with(usual), r#"{"e":"ONE","truth":false}"#);
    let numbers = PrintOptions { enums: Enums::Number, ..usual };
    assert_eq!(with(numbers), r#"{"e":1,"truth":false}"#);
    let all = PrintOptions { defaults: Defaults::Print, names: Names::Proto, ..usual };
    let expected =
        r#"{"e":"ONE","truth":false,"first_name":0,"list":[],"map":{},"long":"0","raw":""}"#;
    assert_eq!(with(all), expected);
    let mut sink = JsonSink::new(&mapping, PrintOptions { unknown: Unknown::Refuse, ..usual });
    let error = json::print_to(&mut sink, message, b"\x98\x06\x01").unwrap_err();
    assert_eq!(error.to_string(), "field 99 of p.M is unknown");
}

#[test]
fn errors_of_json_have_place_and_path() {
    let schema = point();
    let mapping = Mapping::new(&schema);
    let message = schema.message_by_name("p.M").unwrap();
    for (text, expected) in [
        ("[]", "1:1: `{` is expected, not `[`"),
        ("{\"x\":1}", "1:2: message p.M has no field `x`"),
        ("{\"firstName\":1,\n \"first_name\":2}", "2:2: field `first_name` is there twice"),
        ("{\"s\":\"\",\"m\":{}}", "1:9: oneof `o` is set twice"),
        ("{\"m\":{\"list\":[1,\n  2147483648]}}", "2:13: 2147483648 is no int32 in m.list.1"),
        ("{\"list\":[null]}", "1:10: a value that is not null is expected, not `n` in list"),
        ("{\"map\":{\"a\":{\"e\":\"TWO\"}}}", "1:18: enum p.E has no value `TWO` in map.a.e"),
        ("{\"map\":{\"a\":{},\"a\":{}}}", "1:9: key `a` is there twice in map"),
        ("{\"raw\":\"?\"}", "1:8: this is no base64 in raw"),
        ("{\"firstName\":1.5}", "1:17: 1.5 is no int32 in first_name"),
        ("{} {}", "1:4: the end of the text is expected, not `{`"),
    ] {
        let error = json::parse(&mapping, message, text.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), expected, "{text}");
    }
    let deep = "{\"m\":".repeat(101) + "{}" + &"}".repeat(101);
    let error = json::parse(&mapping, message, deep.as_bytes()).unwrap_err();
    assert!(error.message.contains("too deep"), "{error}");
    let arena = tidemill_stdx::region::Bump::new();
    let loose = ReadOptions { unknown: Unknown::Ignore, ..ReadOptions::default() };
    let text = br#"{"x":[{"y":1}],"e":"TWO","firstName":3}"#;
    let mut sink = BinarySink::new(&schema);
    json::read(&mapping, message, text, &arena, loose, &mut sink).unwrap();
    assert_eq!(sink.bytes(), b"\x08\x03");
}

#[test]
fn errors_of_text_have_place_and_path() {
    let schema = point();
    let mapping = Mapping::new(&schema);
    let message = schema.message_by_name("p.M").unwrap();
    for (text, expected) in [
        ("x: 1", "1:1: message p.M has no field `x`"),
        ("first_name 1", "1:12: `:` is expected, not `1` in first_name"),
        ("first_name: 1\nfirst_name: 2", "2:1: field `first_name`, or its oneof, is set twice"),
        ("s: 'a' m {}", "1:8: field `m`, or its oneof, is set twice"),
        ("m { list: [1,\n 08] }", "2:2: an integer is expected in m.list"),
        ("first_name: 2147483648", "1:13: the integer is out of range in first_name"),
        ("s: 'a\n'", "1:6: a string ends with its line in s"),
        ("s: '\\xff'", "1:4: this is not UTF-8 in s"),
        ("e: TWO", "1:4: this is no value of enum p.E in e"),
        ("m {", "1:4: the name of a field is expected, not the end of the text in m"),
    ] {
        let error = text::parse(&mapping, message, text.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), expected, "{text}");
    }
}
