//! Rules and schemas: messages as tuples and back, compared with JSON of the same messages;
//! failures are counted by reason; misfits are errors when the program is loaded.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::collection::vec;
use proptest::prelude::*;
use tidemill::console::{Console, Form};
use tidemill::program::{LoadOptions, Program};
use tidemill::sim::SimOptions;
use tidemill::tape::Tape;
use tidemill_overlog::stage::{Input, Next};
use tidemill_relation::text::parse_value;
use tidemill_relation::{OwnedValue, SeqBuilder, Value};
use tidemill_stdx::region::Bump;
use tidemill_wire::json::{self, Mapping, ReadOptions};
use tidemill_wire::proto::{Texts, compile};
use tidemill_wire::{Message, Schema};

const SCHEMA: &str = r#"syntax = "proto3";
package demo;
enum Colour { NONE = 0; RED = 1; BLUE = 2; }
message All {
  double d = 1;
  float f = 2;
  optional int32 i32 = 3;
  uint32 u32 = 4;
  optional int64 i64 = 5;
  uint64 u64 = 6;
  bool b = 7;
  optional string s = 8;
  bytes x = 9;
  Colour colour = 10;
  All inside = 11;
  repeated sint32 many = 12;
  repeated All more = 13;
  map<string, uint64> map = 14;
  oneof either { fixed64 left = 15; sfixed32 right = 16; }
}
message Pair { string a = 1; int64 b = 2; }
"#;

/// Files of one program, which are removed on drop.
struct Files(PathBuf);

impl Files {
    fn new(files: &[(&str, &str)]) -> Files {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tidemill-borders-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        for (name, text) in files {
            std::fs::write(folder.join(name), text).expect("written");
        }
        Files(folder)
    }

    fn load(&self, names: &[&str]) -> Program {
        let files: Vec<PathBuf> = names.iter().map(|name| self.0.join(name)).collect();
        Program::load(&files, &LoadOptions::default())
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn program(rules: &str) -> Program {
    Files::new(&[("a.olg", rules), ("demo.proto", SCHEMA)]).load(&["a.olg", "demo.proto"])
}

/// The diagnostics of a program, without the folder.
fn findings(rules: &str) -> String {
    let loaded = program(rules);
    let found = loaded.diagnostics.iter().map(|one| loaded.sources.render(one)).collect::<String>();
    let lines = found.lines().map(|line| {
        let indent: String = line.chars().take_while(|c| *c == ' ').collect();
        let name = line.rfind("/a.olg").or(line.rfind("/demo.proto"));
        name.map_or(line.to_owned(), |at| format!("{indent}{}", &line[at + 1..]))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The output of a simulation of one node, and the drops of its input.
fn simulated(rules: &str) -> (String, Vec<(String, u64)>) {
    let loaded = program(rules);
    let found: String = loaded.diagnostics.iter().map(|it| loaded.sources.render(it)).collect();
    assert!(!loaded.has_errors(), "{found}");
    let tape = Tape::default();
    let console = Console::new(Form::Text, Box::new(tape.clone()), Box::new(std::io::sink()));
    let report = loaded.sim(SimOptions::default(), console).expect("it runs");
    let lines = tape.text();
    let tuples = lines.lines().filter_map(|line| line.splitn(5, ' ').nth(4));
    let printed: Vec<&str> = tuples.filter(|tuple| !tuple.contains(" nodes (")).collect();
    (printed.join("\n"), report.nodes.expect("nodes").dropped)
}

/// The output of a stage for the columns of an input, without location.
fn staged(loaded: &Program, name: &str, columns: &[Value<'_>]) -> Result<OwnedValue, String> {
    let declaration = loaded.rules.operators.find(name).expect("an operator");
    declaration.check(columns).map_err(|failure| failure.to_string())?;
    let mut operator = loaded.rules.operators.construct(name).expect("an operator");
    let started = operator.start(Input::new(columns));
    let mut rows = started.map_err(|failure| failure.to_string())?;
    let (mut row, mut none) = (SeqBuilder::new(), SeqBuilder::new());
    assert!(matches!(rows.next(&mut row), Ok(Next::Row)));
    assert!(matches!(rows.next(&mut none), Ok(Next::End)));
    Ok(OwnedValue::new(Value::List(row.as_seq())))
}

/// The counters of a border.
fn counted(loaded: &Program, border: &str) -> Vec<(String, u64)> {
    let mut counts = Vec::new();
    loaded.rules.operators.counters(&mut |name, counter, count| {
        if name == border && count > 0 {
            counts.push((counter.to_owned(), count));
        }
    });
    counts
}

/// A value of a field, and its JSON; `None`: the field is omitted there.
type Both = (OwnedValue, Option<String>);

fn both(value: Value<'_>, json: impl Into<String>) -> Both {
    (OwnedValue::new(value), Some(json.into()))
}

fn unset() -> impl Strategy<Value = Both> {
    Just((OwnedValue::new(Value::Null), None))
}

fn list(elements: &[Both]) -> Both {
    let mut values = SeqBuilder::new();
    elements.iter().for_each(|(value, _)| values.push(value.get()));
    let texts = elements.iter().map(|(_, json)| json.as_deref().unwrap_or("null"));
    let json = format!("[{}]", texts.collect::<Vec<_>>().join(","));
    both(Value::List(values.as_seq()), json)
}

const NAMES: [&str; 16] = [
    "d", "f", "i32", "u32", "i64", "u64", "b", "s", "x", "colour", "inside", "many", "more", "map",
    "left", "right",
];

/// A message `All`: the values of its fields by number, and its JSON.
fn message(depth: u32) -> BoxedStrategy<Both> {
    let text = |text: String| {
        let json = format!("{text:?}").replace("\\'", "'");
        both(Value::Str(&text), json)
    };
    let signed = |number: i64| both(Value::Int(number), format!("\"{number}\""));
    let small = |number: i32| both(Value::Int(number.into()), number.to_string());
    let unsigned = || {
        let number = prop_oneof![any::<u32>().prop_map(u64::from), 0..=i64::MAX as u64];
        number.prop_map(|number| both(Value::Int(number as i64), format!("\"{number}\"")))
    };
    let flag = |truth: bool| both(Value::Bool(truth), truth.to_string());
    let bytes = any::<[u8; 3]>().prop_map(|bytes| {
        const DIGITS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let word = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]);
        let digit = |shift: u32| char::from(DIGITS[(word >> shift & 63) as usize]);
        let text: String = [18, 12, 6, 0].into_iter().map(digit).collect();
        both(Value::Bytes(&bytes), format!("\"{text}\""))
    });
    let colours = [(0, "NONE"), (1, "RED"), (2, "BLUE")];
    let colour = (0usize..3).prop_map(move |at| {
        let (number, name) = colours[at];
        both(Value::Int(number), format!("\"{name}\""))
    });
    let entries = prop::option::of(("[a-z]{0,4}", unsigned())).prop_map(move |entry| {
        let Some((key, value)) = entry else { return (list(&[]).0, Some("{}".to_owned())) };
        let json = format!("{{{key:?}:{}}}", value.1.clone().expect("a number"));
        let pair = list(&[both(Value::Str(&key), format!("{key:?}")), value]);
        (list(&[pair]).0, Some(json))
    });
    let (inside, more) = match depth {
        0 => (unset().boxed(), Just(list(&[])).boxed()),
        _ => {
            let inner = || message(depth - 1);
            let inside = prop_oneof![unset(), inner()];
            (inside.boxed(), vec(inner(), 0..3).prop_map(|them| list(&them)).boxed())
        }
    };
    let number = |number: f64| both(Value::Double(number), format!("{number:?}"));
    let numbers = (
        // Halves are exact in both float sizes.
        (-1e6..1e6f64).prop_map(number),
        (-1000i32..1000).prop_map(move |halves| number(f64::from(halves) / 2.0)),
        prop_oneof![unset(), any::<i32>().prop_map(small)],
        any::<u32>().prop_map(|number| both(Value::Int(number.into()), number.to_string())),
        prop_oneof![unset(), any::<i64>().prop_map(signed)],
        unsigned(),
    );
    let others = (
        any::<bool>().prop_map(flag),
        prop_oneof![unset(), "[a-zäö \"]{0,6}".prop_map(text)],
        bytes,
        colour,
    );
    let either = prop_oneof![
        (unset(), unset()),
        (unsigned(), unset()),
        (unset(), any::<i32>().prop_map(small))
    ];
    let lists = (inside, vec(any::<i32>().prop_map(small), 0..4), more, entries, either);
    (numbers, others, lists)
        .prop_map(|(numbers, others, (inside, many, more, entries, (left, right)))| {
            let (d, f, i32, u32, i64, u64) = numbers;
            let (b, s, x, colour) = others;
            let fields = [
                d,
                f,
                i32,
                u32,
                i64,
                u64,
                b,
                s,
                x,
                colour,
                inside,
                list(&many),
                more,
                entries,
                left,
                right,
            ];
            let texts = NAMES.iter().zip(&fields).filter_map(|(name, (_, json))| {
                json.as_ref().map(|json| format!("\"{name}\":{json}"))
            });
            let json = format!("{{{}}}", texts.collect::<Vec<_>>().join(","));
            (list(&fields).0, Some(json))
        })
        .boxed()
}

fn schema() -> Schema {
    compile(&["demo.proto"], &Texts::from_iter([("demo.proto", SCHEMA)])).schema.expect("a schema")
}

/// The encoding of a message in JSON, by the table encoder.
fn from_json(schema: &Schema, text: &str) -> Vec<u8> {
    let (mapping, arena) = (Mapping::new(schema), Bump::new());
    let mut message = Message::new(schema, "demo.All").expect("a message");
    let (of, options) = (message.message_type(), ReadOptions::default());
    let mut sink = message.copying_builder();
    let read = json::read(&mapping, of, text.as_bytes(), &arena, options, &mut sink);
    read.unwrap_or_else(|error| panic!("{text}: {}", error.message));
    message.encode().expect("encoded")
}

const STAGES: &str = r#"
    stage("proto:demo.All", given, all).
    stage("proto:encode demo.All", out, bytes).
    r1 out(@N, "key", D, F, I, U, L, M, B, S, X, C, E, Y, O, P, Q, R) :-
        all(@N, "key", D, F, I, U, L, M, B, S, X, C, E, Y, O, P, Q, R).
    watch(bytes).
"#;

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn tuples_are_the_messages_of_the_json(messages in vec(message(2), 1..4)) {
        let loaded = program(STAGES);
        let schema = schema();
        let functions = loaded.rules.operators.messages().expect("schemas").clone();
        for (fields, json) in messages {
            let values = fields.get().as_seq().expect("a list");
            let bytes = from_json(&schema, &json.expect("a message"));
            // The columns before the message are kept.
            let columns = [Value::Str("key"), Value::Bytes(&bytes)];
            let decoded = staged(&loaded, "proto:demo.All", &columns).expect("decoded");
            let mut expected = SeqBuilder::new();
            expected.push(Value::Str("key"));
            expected.extend(values);
            let expected = OwnedValue::new(Value::List(expected.as_seq()));
            prop_assert_eq!(decoded.to_string(), expected.to_string());
            let columns: Vec<Value<'_>> = expected.get().as_seq().expect("a list").iter().collect();
            let encoded = staged(&loaded, "proto:encode demo.All", &columns).expect("encoded");
            let encoded: Vec<Value<'_>> = encoded.get().as_seq().expect("a list").iter().collect();
            prop_assert_eq!(&encoded[0], &Value::Str("key"));
            prop_assert_eq!(encoded[1], Value::Bytes(&bytes));
            // Functions give the same without other columns.
            let decoded = functions.decode("demo.All", &bytes).expect("decoded");
            prop_assert_eq!(decoded.to_string(), fields.to_string());
            prop_assert_eq!(functions.encode("demo.All", values).expect("encoded"), bytes);
        }
    }

    #[test]
    fn hostile_bytes_are_decoded_or_counted(
        (fields, _) in message(1),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut: prop::sample::Index,
        noise in vec(any::<u8>(), 0..20),
    ) {
        let loaded = program(STAGES);
        let functions = loaded.rules.operators.messages().expect("schemas").clone();
        let values = fields.get().as_seq().expect("a list");
        let mut bytes = functions.encode("demo.All", values).expect("encoded");
        for (at, byte) in changes {
            let length = bytes.len();
            if let Some(place) = (length > 0).then(|| at.index(length)) {
                bytes[place] = byte;
            }
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        let mut passed = 0;
        for bytes in [&bytes[..], &noise[..]] {
            passed += u64::from(staged(&loaded, "proto:demo.All", &[Value::Bytes(bytes)]).is_ok());
        }
        let counts = counted(&loaded, "proto:demo.All");
        let all: u64 = counts.iter().map(|(_, count)| count).sum();
        let passed_there = counts.iter().find(|(name, _)| name == "passed").map_or(0, |it| it.1);
        prop_assert_eq!((passed_there, all), (passed, 2), "{:?}", counts);
    }

    #[test]
    fn hostile_values_are_encoded_or_counted(
        text in "[\\[\\]{}0-9a-z\", .-]{0,30}",
        place in 0usize..16,
    ) {
        let loaded = program(STAGES);
        let functions = loaded.rules.operators.messages().expect("schemas").clone();
        let value = parse_value(&text).unwrap_or(OwnedValue::new(Value::Int(1 << 40)));
        let mut fields = SeqBuilder::new();
        (0..16).for_each(|at| fields.push(if at == place { value.get() } else { Value::Null }));
        if let Ok(bytes) = functions.encode("demo.All", fields.as_seq()) {
            functions.decode("demo.All", &bytes).expect("what is encoded can be decoded");
        }
        let all: u64 = counted(&loaded, "f_encode").iter().map(|(_, count)| count).sum();
        prop_assert_eq!(all, 1);
    }
}

#[test]
fn what_does_not_pass_has_a_reason() {
    let loaded = program(STAGES);
    let functions = loaded.rules.operators.messages().expect("schemas").clone();
    let decode = |bytes: &[u8]| {
        let decoded = functions.decode("demo.All", bytes).map(|value| value.to_string());
        decoded.map_err(|error| error.to_string())
    };
    let nested = |depth: usize| {
        (0..depth).fold(Vec::new(), |inner: Vec<u8>, _| {
            let mut bytes = vec![11 << 3 | 2];
            let mut length = inner.len();
            while length >= 128 {
                bytes.push(length as u8 | 128);
                length >>= 7;
            }
            bytes.push(length as u8);
            bytes.extend(inner);
            bytes
        })
    };
    let largest = [0x30, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    assert!(decode(&largest).is_ok_and(|text| text.contains("9223372036854775807")));
    let above = [0x30, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01];
    let error = "field u64 is 9223372036854775808, above 9223372036854775807";
    assert_eq!(decode(&above), Err(error.to_owned()));
    assert_eq!(decode(b"\x09\x00"), Err("truncated at byte 0 in d".to_owned()));
    assert_eq!(decode(b"\x42\x01\xff"), Err("invalid-utf8 at byte 0 in s".to_owned()));
    assert_eq!(decode(b"\x0f"), Err("bad-wire-type at byte 0".to_owned()));
    // The list of all fields, those of 62 messages, and an empty list in the innermost one.
    assert!(decode(&nested(62)).is_ok());
    let error = "messages nest deeper than values may, which is 64";
    assert_eq!(decode(&nested(63)), Err(error.to_owned()));
    assert!(decode(&nested(101)).is_err_and(|text| text.starts_with("too-deep")));
    let counts = [
        ("passed", 2),
        ("failed_truncated", 1),
        ("failed_malformed", 1),
        ("failed_invalid_utf8", 1),
        ("failed_too_deep", 2),
        ("failed_out_of_range", 1),
    ];
    assert_eq!(counted(&loaded, "f_decode"), counts.map(|(name, count)| (name.to_owned(), count)));

    let encode = |fields: &str| {
        let fields = parse_value(fields).expect("a list");
        let encoded = functions.encode("demo.Pair", fields.get().as_seq().expect("a list"));
        let encoded = encoded.map(|bytes| OwnedValue::new(Value::Bytes(&bytes)).to_string());
        encoded.map_err(|error| error.to_string())
    };
    assert_eq!(encode("[\"a\", 1]"), Ok("b\"\\x0a\\x01a\\x10\\x01\"".to_owned()));
    assert_eq!(encode("[null, null]"), Ok("b\"\"".to_owned()));
    let wrong = [
        ("[1, 1]", "field a takes a text, not int64"),
        ("[\"a\", 1.5]", "field b takes an integer, not double"),
        ("[\"a\"]", "demo.Pair has 2 fields, and 1 values are given"),
    ];
    for (fields, error) in wrong {
        assert_eq!(encode(fields), Err(error.to_owned()), "{fields}");
    }
    let all = |at: usize, value: &str| {
        let fields: Vec<&str> = (1..17).map(|it| if it == at { value } else { "null" }).collect();
        let fields = parse_value(&format!("[{}]", fields.join(", "))).expect("a list");
        let encoded = functions.encode("demo.All", fields.get().as_seq().expect("a list"));
        encoded.map(|_| ()).map_err(|error| error.to_string())
    };
    let wrong = [
        (2, "1e300", "field f cannot be 1e300"),
        (3, "2147483648", "field i32 cannot be 2147483648"),
        (4, "-1", "field u32 cannot be -1"),
        (6, "-1", "field u64 cannot be -1"),
        (7, "1", "field b takes a truth value, not int64"),
        (9, "\"a\"", "field x takes bytes, not string"),
        (10, "\"GREEN\"", "field colour cannot be \"GREEN\""),
        (11, "1", "field inside takes a list, not int64"),
        (11, "[1]", "demo.All has 16 fields, and 1 values are given"),
        (12, "[null]", "field many takes an integer, not null"),
        (14, "[[1]]", "an entry of field map is a list of a key and a value"),
        (14, "[[1, 1]]", "field key takes a text, not int64"),
    ];
    for (at, value, error) in wrong {
        assert_eq!(all(at, value), Err(error.to_owned()), "{at} {value}");
    }
    assert_eq!((all(10, "\"RED\""), all(10, "7"), all(1, "3")), (Ok(()), Ok(()), Ok(())));
}

#[test]
fn stages_and_functions_in_a_simulation() {
    let (printed, dropped) = simulated(
        r#"
        stage("proto:encode demo.Pair", write, written).
        stage("proto:demo.Pair", read, pair).
        w1 write(@N, E, "mill", 7) :- start(@N, E).
        w2 write(@N, E, null, null) :- start(@N, E).
        r1 read(@N, [E], Bytes) :- written(@N, E, Bytes).
        r2 read(@N, [E], b"\xff") :- start(@N, E).
        f1 sum(@N, f_size(Pair), Pair[1] + 1) :- written(@N, E, Bytes),
            Pair := f_decode("demo.Pair", Bytes).
        f2 back(@N, f_encode("demo.Pair", ["mill", 7])) :- start(@N, E).
        f3 wrong(@N, f_decode("demo.Pair", b"\x0a")) :- start(@N, E).
        s1 start(@N, 5) :- periodic(@N, E, 1, 1).
        watch(pair). watch(sum). watch(back). watch(wrong).
        "#,
    );
    let lines = [
        r#"sum("n0:1", 2, 8)"#,
        r#"sum("n0:1", 2, 1)"#,
        r#"back("n0:1", b"\x0a\x04mill\x10\x07")"#,
        r#"pair("n0:1", [5], "mill", 7)"#,
        r#"pair("n0:1", [5], "", 0)"#,
    ];
    for line in lines {
        assert!(printed.contains(line), "{line} is not in\n{printed}");
    }
    assert!(!printed.contains("wrong"), "{printed}");
    let dropped: Vec<_> = dropped.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(dropped, [("failed", 1), ("stage_inputs", 1)]);
}

#[test]
fn what_does_not_fit_is_found_when_it_is_loaded() {
    // Errors show the other side if there is one: lines of the schema.
    let stage = |stages: &str| findings(&format!("{stages}\nwatch(pair).\n"));
    assert_eq!(
        stage("stage(\"proto:demo.Pear\", read, pair)."),
        "a.olg:1:7: error[unknown-stage]: the schemas of the program have no message `demo.Pear`
  help: there is `demo.Pair`"
    );
    assert_eq!(
        stage("stage(\"proto:encode Pair\", read, pair)."),
        "a.olg:1:7: error[unknown-stage]: the schemas of the program have no message `Pair`
  help: there is `demo.Pair`"
    );
    let shape = "r pairs(@N, A) :- pair(@N, A, B, C, D).\nread(\"n0:1\", b\"\").";
    assert_eq!(
        findings(&format!("stage(\"proto:demo.Pair\", read, pair).\n{shape}")),
        "a.olg:1:32: error[arity]: \"proto:demo.Pair\" needs 3 columns here, but `pair` has 5
  a.olg:2:19: note: with 5 here
  demo.proto:21:9: note: declared here
  help: the operator is proto:demo.Pair(location, ..., message: bytes) -> (location, ..., \
         a: string, b: int64)"
    );
    let types = "r pairs(@N, A) :- pair(@N, A, B).\nread(\"n0:1\", \"text\").";
    assert_eq!(
        findings(&format!("stage(\"proto:demo.Pair\", read, pair).\n{types}")),
        "a.olg:1:26: error[type]: \"proto:demo.Pair\" takes `message: bytes` from column 2 of \
         `read`, which holds string
  a.olg:3:14: note: the column has its type from here
  help: the operator is proto:demo.Pair(location, ..., message: bytes) -> (location, ..., \
         a: string, b: int64)"
    );
    let types = "write(\"n0:1\", \"key\", 1, 2).\nr packed(@N, B) :- pair(@N, K, B).";
    assert_eq!(
        findings(&format!("stage(\"proto:encode demo.Pair\", write, pair).\n{types}")),
        "a.olg:1:33: error[type]: \"proto:encode demo.Pair\" takes `a: null|string` from column 3 \
         of `write`, which holds int64
  a.olg:2:22: note: the column has its type from here
  demo.proto:21:23: note: declared here
  help: the operator is proto:encode demo.Pair(location, ..., a: null|string, b: null|int64) -> \
         (location, ..., message: bytes)"
    );
    // The column of a message field has its type from the schema.
    let types = "r length(@N, f_strlen(B)) :- pair(@N, A, B).\nread(\"n0:1\", b\"\").";
    assert_eq!(
        findings(&format!("stage(\"proto:demo.Pair\", read, pair).\n{types}")),
        "a.olg:2:23: error[type]: `f_strlen` takes string here, not int64
  a.olg:2:42: note: column 3 of `pair` holds int64
  demo.proto:21:36: note: it has its type from here
  help: it is f_strlen(text: string) -> int64"
    );
    let calls = "r a(@N, f_decode(\"demo.Al\", B), f_encode(T, [])) :- b(@N, B, T).";
    assert_eq!(
        findings(calls),
        "a.olg:1:18: error[unknown-message]: the schemas of the program have no message `demo.Al`
  help: there is `demo.All`"
    );
}

#[test]
fn without_a_schema_there_are_no_messages() {
    let rules = "stage(\"proto:a.B\", x, y).\nr z(@N, f_decode(\"a.B\", C)) :- y(@N, C).";
    let files = Files::new(&[("a.olg", rules), ("bad.proto", "syntax = \"proto3\";\nmessage {")]);
    let loaded = files.load(&["a.olg"]);
    let codes: Vec<_> = loaded.diagnostics.iter().map(|one| one.code).collect();
    assert_eq!(codes, ["unknown-stage", "no-schema"]);
    for one in &loaded.diagnostics {
        let help = "give the file of the schema, .proto or .fds, beside the rules";
        assert_eq!(one.help.as_deref(), Some(help));
    }
    // Errors of a schema are reported as such.
    let loaded = files.load(&["bad.proto", "a.olg"]);
    assert!(loaded.rules.program.is_none());
    let found: String = loaded.diagnostics.iter().map(|it| loaded.sources.render(it)).collect();
    assert!(found.contains("bad.proto:2:"), "{found}");
    assert!(!found.contains("unknown-stage"), "{found}");
}
