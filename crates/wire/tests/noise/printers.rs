//! Random messages through every printer and every encoder: alternative paths write the same,
//! wherever a buffer ends and moves.
//!
//! ```text
//! input = schema number, way, bytes
//! way   = ... | depth: 2 bits | names, enums: 2 bits | the bytes are a message: 0, a seed: 1
//! ```
//! An input is printed with 4 of the 16 options, and messages of a seed nest 1 to 3 deep: all
//! options for deep messages took a quarter of a second for each input with sanitizers.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;

use tidemill_stdx::region::Bump;
use tidemill_stdx::rng::Rng;
use tidemill_wire::encode::BinarySink;
use tidemill_wire::json::{self, Defaults, Enums, JsonSink, Mapping, Names, PrintOptions, Unknown};
use tidemill_wire::text::{self, Layout, PrintUnknown, Required};
use tidemill_wire::text::{TextPrintOptions, TextReadOptions, TextSink};
use tidemill_wire::{
    Decoder, Encoder, EncoderCode, MapOrder, Message, MessageId, NativeEncoder, Schema, delimited,
};

use super::random;
use super::texts;

/// The number of random schemas, numbered after those that are written here.
const RANDOM: u64 = 12;
const BYTES_MAX: usize = 4096;

/// A field of each kind that has no presence, with strings of any length around them.
const FLAT: &str = r#"
syntax = "proto3";
package f;
enum E { ZERO = 0; ONE = 1; }
message Flat {
  string s = 1; int32 x = 2; string t = 3; double d = 4; bytes b = 5; E e = 6; bool y = 7;
  int64 i = 8; uint64 u = 9; float f = 10; uint32 v = 11; repeated string l = 12;
  map<string, string> m = 13; Flat inner = 14; repeated Flat many = 15; optional int32 o = 16;
  string a_field_whose_name_is_longer_than_any_block_that_is_copied_at_once = 17;
  map<int32, Flat> by_number = 18;
}
"#;

struct Known {
    schema: Schema,
    message: MessageId,
    native: EncoderCode,
}

fn known() -> &'static [Known] {
    static KNOWN: OnceLock<Vec<Known>> = OnceLock::new();
    KNOWN.get_or_init(make)
}

fn make() -> Vec<Known> {
    let written = [(texts::PROTO, "p.M"), (FLAT, "f.Flat")];
    let written = written.map(|(text, name)| (random::schema_of(text), name));
    let random = (0..RANDOM).map(|seed| (random::schema(&mut Rng::new(seed)), "t.M0"));
    let known = |(schema, name): (Schema, &str)| {
        let message = schema.message_by_name(name).expect("it is there");
        let native = EncoderCode::compile(&schema, message).expect("code can be made");
        Known { schema, message, native }
    };
    written.into_iter().chain(random).map(known).collect()
}

/// Writes a message in every way; false if the input is no message.
pub fn check(input: &[u8]) -> bool {
    let [number, way, bytes @ ..] = input else { return false };
    let known = known();
    let known = &known[usize::from(*number) % known.len()];
    if bytes.len() > BYTES_MAX {
        return false;
    }
    if way % 2 == 0 {
        let Ok(message) = Message::from_bytes(&known.schema, known.message, bytes) else {
            return false;
        };
        check_message(known, &message, *way);
        return true;
    }
    let depth = 1 + usize::from(way >> 3 & 3) % 3;
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let mut message = Message::new(&known.schema, known.message).expect("there is memory");
    random::fill(&mut Rng::new(hasher.finish()), &known.schema, message.as_mut(), depth);
    check_message(known, &message, *way);
    true
}

fn check_message(known: &Known, message: &Message<'_>, way: u8) {
    let encoded = check_encoders(known, message);
    check_json(known, message, &encoded, way);
    check_text(known, message, &encoded);
}

fn check_encoders(known: &Known, message: &Message<'_>) -> Vec<u8> {
    let mut first = Vec::new();
    for order in [MapOrder::ByKey, MapOrder::Stored] {
        let table = Encoder::new().map_order(order);
        let expected = table.encode(message.as_ref()).expect("it is not deep");
        assert_eq!(table.len(message.as_ref()), Ok(expected.len()));
        let mut native = NativeEncoder::new(known.native.clone()).map_order(order);
        for _ in 0..2 {
            assert_eq!(native.encode(message.as_ref()), Ok(&*expected));
        }
        let mut framed = b"before".to_vec();
        native.append(message.as_ref(), &mut framed).expect("it is not deep");
        table.append(message.as_ref(), &mut framed).expect("it is not deep");
        assert_eq!(framed, [b"before", &*expected, &*expected].concat());
        delimited::write(&mut framed, &expected).expect("it is short");
        delimited::write_varint(&mut framed, &expected);
        first = expected;
    }
    let mut sink = BinarySink::new(&known.schema);
    message.walk(&mut sink).expect("any message can be written");
    let again = Message::from_bytes(&known.schema, known.message, sink.bytes());
    let again = again.expect("what was written is right").encode();
    assert_eq!(again.as_ref(), Ok(&first), "by events");
    first
}

fn options_of(way: u8) -> impl Iterator<Item = PrintOptions> {
    (0..4).map(move |bits| {
        let bits = bits << 2 | way >> 1 & 3;
        let bit = |at: u32| bits >> at & 1 == 1;
        PrintOptions {
            names: if bit(0) { Names::Proto } else { Names::Json },
            enums: if bit(1) { Enums::Number } else { Enums::Name },
            defaults: if bit(2) { Defaults::Print } else { Defaults::Omit },
            unknown: if bit(3) { Unknown::Refuse } else { Unknown::Ignore },
        }
    })
}

fn check_json(known: &Known, message: &Message<'_>, encoded: &[u8], way: u8) {
    let mapping = Mapping::new(&known.schema);
    for options in options_of(way) {
        let mut sink = JsonSink::new(&mapping, options);
        let printed = json::print_message(&mut sink, message.as_ref());
        let mut events = JsonSink::merged(&mapping, options);
        let walked = message.walk(&mut events);
        assert_eq!(printed.is_ok(), walked.is_ok(), "{options:?} {printed:?} {events:?}");
        let mut bytes = JsonSink::new(&mapping, options);
        let direct = json::print_to(&mut bytes, known.message, encoded);
        assert_eq!(printed.is_ok(), direct.is_ok(), "{options:?} {printed:?} {direct:?}");
        if let Err(error) = printed {
            assert_eq!((sink.bytes(), direct), (&b""[..], Err(error)), "{options:?}");
            continue;
        }
        let text = events.bytes();
        assert_eq!(sink.bytes().escape_ascii().to_string(), text.escape_ascii().to_string());
        assert_eq!(bytes.bytes().escape_ascii().to_string(), text.escape_ascii().to_string());
        let arena = Bump::new();
        json::plain::read(text, &arena, 400, &mut ()).expect("what was printed is JSON");
        // Behind earlier output, in the remaining room.
        json::print_message(&mut sink, message.as_ref()).expect("as before");
        assert_eq!(sink.bytes(), [text, text].concat());
    }
}

fn check_text(known: &Known, message: &Message<'_>, encoded: &[u8]) {
    let mapping = Mapping::new(&known.schema);
    for layout in [Layout::Lines, Layout::OneLine] {
        for unknown in [PrintUnknown::Ignore, PrintUnknown::Print] {
            let options = TextPrintOptions { layout, unknown };
            let mut sink = TextSink::new(&mapping, options);
            message.walk(&mut sink).expect("everything has a text");
            let printed = sink.into_bytes();
            let mut bytes = TextSink::new(&mapping, options);
            text::print_to(&mut bytes, known.message, encoded).expect("everything has a text");
            assert_eq!(
                bytes.bytes().escape_ascii().to_string(),
                printed.escape_ascii().to_string()
            );
            if unknown == PrintUnknown::Ignore {
                let (arena, options) = (Bump::new(), TextReadOptions::default());
                let options = TextReadOptions { required: Required::Ignore, ..options };
                let mut back = BinarySink::new(&known.schema);
                text::read(&mapping, known.message, &printed, &arena, options, &mut back)
                    .unwrap_or_else(|error| panic!("{error}"));
                let back = back.into_bytes();
                let decoded = Decoder::new(&known.schema).decode(known.message, &back, &mut ());
                decoded.expect("what was written is right");
            }
        }
    }
}
