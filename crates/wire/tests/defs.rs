//! Definitions as a graph: which definitions keep others alive, across threads, without leaks.

use std::sync::{Arc, Weak};

use tidemill_wire::Schema;
use tidemill_wire::proto::{Texts, compile};
use tidemill_wire::schema::{DefaultValue, EnumId, FieldType, Label, MessageId, SharedDef};

fn schema(text: &str) -> Schema {
    let compiled = compile(&["a.proto"], &Texts::from_iter([("a.proto", text)]));
    let report: String =
        compiled.diagnostics.iter().map(|one| compiled.sources.render(one)).collect();
    compiled.schema.unwrap_or_else(|| panic!("{report}"))
}

fn message(schema: &Schema, name: &str) -> MessageId {
    schema.message_by_name(name).unwrap()
}

fn share(schema: &Schema, name: &str) -> SharedDef {
    schema.share_message(message(schema, name))
}

fn name(def: &SharedDef) -> Weak<str> {
    Arc::downgrade(def.as_message().unwrap().full_name())
}

const GRAPH: &str = "syntax = 'proto3';
    message Top { Left left = 1; Right right = 2; }
    message Left { Bottom bottom = 1; }
    message Right { Bottom bottom = 1; }
    message Bottom { Bottom self = 1; E e = 2; }
    message Even { Odd odd = 1; } message Odd { Even even = 1; Bottom out = 2; }
    enum E { Z = 0; }";

#[test]
fn circles_share_a_count_and_diamonds_do_not() {
    let schema = schema(GRAPH);
    let [top, left, right, bottom, even, odd] =
        ["Top", "Left", "Right", "Bottom", "Even", "Odd"].map(|name| share(&schema, name));
    assert!(even.shares_count(&odd));
    for (a, b) in [(&top, &left), (&left, &right), (&left, &bottom), (&odd, &bottom)] {
        assert!(!a.shares_count(b));
    }
    let names = [&top, &left, &right, &bottom, &even, &odd].map(name);
    drop((schema, top, left, bottom, even));
    let alive = || names.each_ref().map(|name| name.strong_count() > 0);
    assert_eq!(alive(), [false, false, true, true, true, true]);
    // Odd keeps Even, and both keep Bottom.
    drop(right);
    assert_eq!(alive(), [false, false, false, true, true, true]);
    let field = odd.as_message().unwrap().field_by_name("even").unwrap();
    let even = odd.type_of(field).unwrap();
    drop(odd);
    assert_eq!(even.as_message().unwrap().name(), "Even");
    assert_eq!(alive(), [false, false, false, true, true, true]);
    drop(even);
    assert_eq!(alive(), [false; 6]);
}

#[test]
fn a_message_in_a_message_keeps_the_outer_one() {
    let schema = schema("syntax = 'proto3'; message A { B b = 1; message B {} } message C {}");
    let inner = share(&schema, "A.B");
    let (outer, other) = (name(&share(&schema, "A")), name(&share(&schema, "C")));
    drop(schema);
    assert_eq!((outer.strong_count() > 0, other.strong_count() > 0), (true, false));
    drop(inner);
    assert_eq!(outer.strong_count(), 0);
}

/// Rings of ten, each of which refers to the next ring.
fn rings(count: usize) -> String {
    let mut text = String::from("syntax = 'proto3';\n");
    for i in 0..count {
        let next = if i % 10 == 9 { i - 9 } else { i + 1 };
        let far = (i / 10 + 1) * 10;
        text += &format!("message M{i} {{ M{next} next = 1; ");
        if i % 10 == 0 && far < count {
            text += &format!("M{far} far = 2; ");
        }
        text += "}\n";
    }
    text
}

#[test]
fn ten_thousand_definitions_across_threads_leave_nothing() {
    let schema = schema(&rings(10_000));
    let names: Vec<Weak<str>> =
        schema.messages().map(|id| Arc::downgrade(schema.message(id).full_name())).collect();
    assert_eq!(names.len(), 10_000);
    let threads: Vec<_> = (0..4u32)
        .map(|thread| {
            let schema = schema.clone();
            std::thread::spawn(move || {
                let mut kept = Vec::new();
                for (turn, id) in schema.messages().enumerate() {
                    let def = schema.share_message(id);
                    let field = &def.as_message().unwrap().field_defs()[0];
                    kept.push(def.type_of(field).unwrap());
                    if turn as u32 % 4 != thread {
                        kept.pop();
                    }
                }
                drop(schema);
                while kept.len() > 1 {
                    kept.swap_remove(kept.len() / 2);
                }
                kept
            })
        })
        .collect();
    drop(schema);
    let kept: Vec<SharedDef> = threads.into_iter().flat_map(|one| one.join().unwrap()).collect();
    let alive = names.iter().filter(|name| name.strong_count() > 0).count();
    assert!(alive >= 10, "{alive}");
    drop(kept);
    assert!(names.iter().all(|name| name.strong_count() == 0));
}

#[test]
fn fields_are_what_their_features_say() {
    let schema = schema(
        "edition = '2023'; package p;
        message M {
            int32 a = 7; int32 b = 1 [features.field_presence = IMPLICIT];
            int32 c = 2 [features.field_presence = LEGACY_REQUIRED];
            M d = 3 [features.message_encoding = DELIMITED];
            repeated int32 e = 536870911;
            repeated int32 f = 5 [features.repeated_field_encoding = EXPANDED];
            map<string, M> g = 6; oneof o { string h = 40000; bytes i = 50000 [default = '\\xff']; }
            E j = 8 [default = B, json_name = 'jay'];
            string k = 9 [features.utf8_validation = NONE];
        }
        enum E { option features.enum_type = CLOSED; A = 5; B = -1; }",
    );
    let id = message(&schema, "p.M");
    let m = schema.message(id);
    let field = |name: &str| m.field_by_name(name).unwrap();
    let labels = ["a", "b", "c", "d", "e", "h"].map(|name| field(name).label());
    use Label::*;
    assert_eq!(labels, [Optional, Implicit, Required, Optional, Repeated, Optional]);
    assert_eq!(field("d").field_type(), FieldType::Group(id));
    assert_eq!(field("j").field_type(), FieldType::Enum(EnumId::default_of(&schema, "p.E")));
    assert_eq!(["e", "f", "g"].map(|name| field(name).is_packed()), [true, false, false]);
    assert_eq!(["h", "k"].map(|name| field(name).checks_utf8()), [true, false]);
    assert_eq!(field("j").default_value(), Some(&DefaultValue::Enum(-1)));
    assert_eq!(field("i").default_value(), Some(&DefaultValue::Bytes(Box::new([0xff]))));
    assert_eq!(m.field_by_json_name("jay").unwrap().name(), "j");
    let numbers: Vec<u32> = m.field_defs().iter().map(|field| field.number()).collect();
    assert_eq!(numbers, [1, 2, 3, 5, 6, 7, 8, 9, 40_000, 50_000, 536_870_911]);
    for (index, field) in m.field_defs().iter().enumerate() {
        assert_eq!(field.index_in_message() as usize, index);
        assert_eq!(schema.field_by_number(id, field.number()), Some(field.id()));
        assert_eq!(schema.field(field.id()).name(), field.name());
    }
    let found = schema.enum_def(schema.enum_by_name("p.E").unwrap());
    assert!(found.is_closed());
    assert_eq!(found.value_by_number(-1).unwrap().name(), "B");
    assert_eq!(found.value_by_name("A").unwrap().number(), 5);
    assert_eq!(schema.oneof(m.oneofs()[0]).fields().len(), 2);
}

/// Only here: an enum by name, as an id.
trait ByName {
    fn default_of(schema: &Schema, name: &str) -> EnumId;
}

impl ByName for EnumId {
    fn default_of(schema: &Schema, name: &str) -> EnumId {
        schema.enum_by_name(name).unwrap()
    }
}

#[test]
fn custom_options_are_fields_of_options_messages() {
    let schema = schema(
        "syntax = 'proto2'; import 'google/protobuf/descriptor.proto';
        extend google.protobuf.MessageOptions { optional string note = 50000; }
        message M { option (note) = 'hello'; option deprecated = true; }",
    );
    let options = schema.message(message(&schema, "M")).options();
    let ty = message(&schema, options.of_message);
    let note = schema.extension_by_name("note").unwrap();
    assert_eq!(schema.field_by_number(ty, 50_000), Some(note));
    let mut seen = Vec::new();
    let mut sink = tidemill_wire::events(|event| {
        seen.push(format!("{event:?}"));
        Ok(())
    });
    tidemill_wire::Decoder::new(&schema).decode(ty, options.bytes, &mut sink).unwrap();
    assert!(seen.contains(&format!("String({note:?}, \"hello\")")), "{seen:?}");
}

/// The descriptors of a message `M` with such fields: name, number and, if given, the name in JSON.
fn with_fields(fields: &[(&str, u8, Option<&str>)]) -> Vec<u8> {
    let part = |number: u8, bytes: &[u8]| [&[number << 3 | 2, bytes.len() as u8], bytes].concat();
    let field = |&(name, number, json): &(&str, u8, Option<&str>)| {
        let kind = [0x18, number, 0x20, 1, 0x28, 5];
        let json = json.map(|json| part(10, json.as_bytes())).unwrap_or_default();
        part(2, &[&part(1, name.as_bytes())[..], &kind, &json].concat())
    };
    let fields: Vec<u8> = fields.iter().flat_map(field).collect();
    let message = [&part(1, b"M")[..], &fields].concat();
    let file = [&part(1, b"a.proto")[..], &part(4, &message), &part(12, b"proto3")].concat();
    part(1, &file)
}

/// A JSON name equal to the field's own name counts as given if the default differs.
#[test]
fn json_names_of_descriptors_are_distinct_too() {
    let own = ("foo_bar", 1, Some("foo_bar"));
    let set = with_fields(&[own, ("plain", 2, Some("plain"))]);
    let schema = Schema::from_descriptor_set(&set).unwrap();
    let m = schema.message(message(&schema, "M"));
    assert_eq!(m.field_by_json_name("foo_bar").unwrap().name(), "foo_bar");
    assert_eq!(m.field_by_json_name("plain").unwrap().name(), "plain");
    let set = with_fields(&[own, ("x", 2, Some("foo_bar"))]);
    let error = Schema::from_descriptor_set(&set).map(drop).unwrap_err().to_string();
    assert!(error.contains("are both `foo_bar` in JSON"), "{error}");
}

/// Descriptors may omit the default JSON name.
#[test]
fn names_in_json_are_made_where_descriptors_say_none() {
    let set = with_fields(&[("foo_bar__baz", 1, None), ("plain", 2, None), ("_x1_", 3, None)]);
    let schema = Schema::from_descriptor_set(&set).unwrap();
    let m = schema.message(message(&schema, "M"));
    let names: Vec<&str> = m.field_defs().iter().map(|field| field.json_name()).collect();
    assert_eq!(names, ["fooBarBaz", "plain", "X1"]);
    assert_eq!(m.field_by_json_name("fooBarBaz").unwrap().number(), 1);
    assert!(m.field_by_json_name("foo_bar__baz").is_none());
    assert_eq!(schema.descriptor_set(), set, "as it came");
    let set = with_fields(&[("foo_bar", 1, None), ("fooBar", 2, None)]);
    let error = Schema::from_descriptor_set(&set).map(drop).unwrap_err().to_string();
    assert!(error.contains("are both `fooBar` in JSON"), "{error}");
}
