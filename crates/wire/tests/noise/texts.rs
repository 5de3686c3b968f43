//! Untrusted JSON and text, read as messages of a schema with fields of every kind.

use std::sync::OnceLock;

use tidemill_stdx::region::Bump;
use tidemill_wire::json::plain::{self, ValueWriter};
use tidemill_wire::json::{self, JsonSink, Mapping, PrintOptions, ReadOptions, Unknown};
use tidemill_wire::proto::{Texts, compile};
use tidemill_wire::{Message, MessageId, Schema, text};

pub const PROTO: &str = r#"
edition = "2023";
package p;
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/field_mask.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
enum E { ZERO = 0; ONE = 1; MINUS = -1; }
message M {
  int32 a_number = 1;
  sint64 long = 2;
  fixed64 big = 3;
  double real = 4;
  float single = 5;
  bool truth = 6;
  string text = 7;
  bytes raw = 8;
  E choice = 9;
  M inner = 10;
  repeated int32 many = 11;
  repeated string texts = 12;
  repeated M list = 13;
  map<string, M> by_name = 14;
  map<int32, E> by_number = 15;
  map<bool, string> by_truth = 16;
  oneof one { string left = 17; M right = 18; google.protobuf.NullValue nothing = 19; }
  google.protobuf.Any any = 20;
  google.protobuf.Timestamp time = 21;
  google.protobuf.Duration duration = 22;
  google.protobuf.FieldMask mask = 23;
  google.protobuf.Struct struct = 24;
  google.protobuf.Value value = 25;
  google.protobuf.ListValue values = 26;
  google.protobuf.Int64Value wrapped = 27;
  google.protobuf.StringValue wrapped_text = 28;
  M group = 29 [features.message_encoding = DELIMITED];
  reserved gone;
  extensions 100 to 200;
}
extend M { string outside = 100; }
"#;

struct Known {
    schema: Schema,
    message: MessageId,
}

fn known() -> &'static Known {
    static KNOWN: OnceLock<Known> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let compiled = compile(&["a.proto"], &Texts::from_iter([("a.proto", PROTO)]));
        let schema = compiled.schema.expect("the schema is sound");
        let message = schema.message_by_name("p.M").expect("it is there");
        Known { schema, message }
    })
}

/// Checks that the printed form of a parsed message parses, and prints the same; true if the input
/// parses.
pub fn check_json(input: &[u8]) -> bool {
    let Known { schema, message } = known();
    let mapping = Mapping::new(schema);
    check_plain(input);
    let arena = Bump::new();
    let loose = ReadOptions { unknown: Unknown::Ignore, ..ReadOptions::default() };
    let _ = json::read(&mapping, *message, input, &arena, loose, &mut ());
    let bytes = match json::parse(&mapping, *message, input) {
        Ok(bytes) => bytes,
        Err(error) => {
            assert!(error.offset <= input.len() && error.line > 0 && error.column > 0);
            return false;
        }
    };
    let whole = Message::from_bytes(schema, *message, &bytes).expect("what was written is right");
    let mut sink = JsonSink::new(&mapping, PrintOptions::default());
    let printed = json::print_message(&mut sink, whole.as_ref());
    // Some values have no JSON: paths of a mask that do not round-trip, for example.
    let again = json::print(&mapping, *message, &bytes);
    assert_eq!(again.is_ok(), printed.is_ok(), "{again:?} {printed:?}");
    if let Ok(again) = again {
        let mut events = JsonSink::merged(&mapping, PrintOptions::default());
        whole.walk(&mut events).expect("what was printed");
        assert_eq!(sink.bytes(), events.bytes());
        let back = json::parse(&mapping, *message, again.as_bytes()).expect("what was printed");
        assert_eq!(json::print(&mapping, *message, &back).as_deref(), Ok(&*again));
    }
    true
}

/// JSON without a schema round-trips, and a check without building finds the same errors.
fn check_plain(input: &[u8]) {
    let arena = Bump::new();
    let mut writer = ValueWriter::new();
    let read = plain::read(input, &arena, 100, &mut writer);
    assert_eq!(plain::read(input, &arena, 100, &mut ()), read);
    if read.is_ok() {
        let mut again = ValueWriter::new();
        plain::read(writer.bytes(), &arena, 100, &mut again).expect("what was written");
        assert_eq!(writer.bytes(), again.bytes());
    }
}

/// Checks that the printed form of a parsed message parses, and prints the same; true if the input
/// parses.
pub fn check_text(input: &[u8]) -> bool {
    let Known { schema, message } = known();
    let mapping = Mapping::new(schema);
    let bytes = match text::parse(&mapping, *message, input) {
        Ok(bytes) => bytes,
        Err(error) => {
            assert!(error.offset <= input.len() && error.line > 0 && error.column > 0);
            return false;
        }
    };
    Message::from_bytes(schema, *message, &bytes).expect("what was written is right");
    let again = text::print(&mapping, *message, &bytes).expect("everything has a text");
    let back = text::parse(&mapping, *message, again.as_bytes()).expect("what was printed");
    assert_eq!(text::print(&mapping, *message, &back).as_deref(), Ok(&*again));
    true
}
