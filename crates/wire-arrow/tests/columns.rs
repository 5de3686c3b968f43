//! Rows equal a plain model of the same events.

mod support;

use proptest::prelude::*;
use support::{ModelBuilder, model_text, row_text, schema};
use tidemill_wire::proto::{Texts, compile};
use tidemill_wire::{Decoder, MessageId, Schema, events};
use tidemill_wire_arrow::{
    BatchReader, Columns, Engine, EnumForm, Format, Options, Output, PlanError,
};

/// The messages that decode, as text, and the columns after all of them.
fn both(schema: &Schema, row: MessageId, inputs: &[Vec<u8>], columns: &mut Columns) -> Vec<String> {
    let decoder = Decoder::new(schema);
    let mut expected = Vec::new();
    for input in inputs {
        let mut builder = ModelBuilder::new(schema);
        let decoded = decoder.decode(
            row,
            input,
            &mut events(|event| {
                builder.event(event);
                Ok(())
            }),
        );
        let walked = decoder.decode(row, input, columns);
        assert_eq!(decoded, walked);
        if decoded.is_ok() {
            expected.push(model_text(schema, row, &builder.finish(), &mut Vec::new()));
        }
    }
    expected
}

fn check(inputs: &[Vec<u8>]) {
    let (schema, row) = schema();
    let mut columns = Columns::new(&schema, row, &Options::default()).expect("a plan");
    assert_eq!(columns.left_out(), ["again"]);
    let mut readers = [Engine::Native, Engine::Table]
        .map(|engine| BatchReader::new(&schema, row, &Options::default(), engine).expect("a plan"));
    // Twice, as the columns are empty after a batch.
    for _ in 0..2 {
        let expected = both(&schema, row, inputs, &mut columns);
        let batch = columns.finish().expect("a batch");
        let rows: Vec<String> = (0..batch.num_rows()).map(|at| row_text(&batch, at)).collect();
        assert_eq!(rows, expected);
        let mut results = [Vec::new(), Vec::new()];
        for (reader, results) in readers.iter_mut().zip(&mut results) {
            results.extend(inputs.iter().map(|input| reader.append(input)));
            let read = reader.finish().expect("a batch");
            // Errors in skipped fields are not detected, so there may be more rows.
            assert!(read.num_rows() >= batch.num_rows());
            if read.num_rows() == batch.num_rows() {
                assert_eq!(read, batch);
            }
        }
        assert_eq!(results[0], results[1]);
    }
}

/// Fields of `t.Row` in bytes, mostly valid.
fn field() -> impl Strategy<Value = Vec<u8>> {
    let point = prop::collection::vec(
        prop_oneof![
            any::<f64>().prop_map(|x| [&[0x09][..], &x.to_le_bytes()].concat()),
            any::<f32>().prop_map(|y| [&[0x15][..], &y.to_le_bytes()].concat()),
            (0u8..128).prop_map(|tag| vec![0x18, tag]),
            Just(vec![0x1a, 2, 5, 6]),
        ],
        0..4,
    )
    .prop_map(|parts| parts.concat())
    .boxed();
    let of = |number: u8, bytes: Vec<u8>| {
        let mut out = vec![number << 3 & 0x7f | 2 | 0x80, number >> 4, bytes.len() as u8];
        out.extend(bytes);
        out
    };
    let numbers = (
        prop::sample::select(vec![1u8, 2, 5, 6, 12, 20]),
        prop::sample::select(vec![0u8, 1, 5, 9, 127]),
    );
    prop_oneof![
        3 => numbers.prop_map(|(number, value)| vec![number << 3 | 0x80, number >> 4, value]),
        2 => (prop::sample::select(vec![3u8, 4, 9, 13]), "[a-zé]{0,3}")
            .prop_map(move |(number, text)| of(number, text.into_bytes())),
        3 => (prop::sample::select(vec![7u8, 8, 14]), point.clone())
            .prop_map(move |(number, bytes)| of(number, bytes)),
        1 => ("[a-c]", point).prop_map(move |(key, bytes)| {
            of(10, [&[0x0a, key.len() as u8][..], key.as_bytes(), &[0x12, bytes.len() as u8],
                &bytes].concat())
        }),
        1 => prop::sample::select(vec![vec![], vec![8, 3], vec![0x10, 1], vec![8, 3, 0x10, 1]])
            .prop_map(move |bytes| of(11, bytes)),
        1 => (15u8..=17, prop::sample::select(vec![vec![], vec![8, 7], vec![8, 7, 0x10, 9]]))
            .prop_map(move |(number, bytes)| of(number, bytes)),
        1 => prop::sample::select(vec![vec![], vec![0x0a, 1, b'q']])
            .prop_map(move |bytes| of(18, bytes)),
        1 => Just(of(19, vec![8, 1, 0x1a, 1, b'x'])),
        1 => Just(of(20, vec![1, 0, 77])),
        1 => prop::collection::vec(any::<u8>(), 1..4),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn rows_equal_the_model(inputs in prop::collection::vec(
        prop::collection::vec(field(), 0..12).prop_map(|fields| fields.concat()), 0..8)) {
        check(&inputs);
    }
}

#[test]
fn members_of_a_oneof_exclude_each_other() {
    // place {x: 1.0}, number 3, place {}: nothing of the first place may remain.
    let place = [&[0x72, 9, 9][..], &1.0f64.to_le_bytes()].concat();
    check(&[[&place[..], &[0x60, 3], &[0x72, 0]].concat(), [&place[..], &place[..]].concat()]);
}

#[test]
fn a_failed_message_leaves_no_row() {
    // A point in a list, then the input ends inside a string.
    check(&[vec![0x42, 0, 0x4a, 1, b'a', 0x1a, 9], vec![0x4a, 1, b'b'], vec![]]);
}

#[test]
fn many_rows_are_those_of_the_table_decoder() {
    let (schema, row) = schema();
    let point = |x: f64| [&[0x09][..], &x.to_le_bytes()].concat();
    let message = |at: usize| {
        let mut bytes = vec![0x08, at as u8 & 0x7f];
        for part in 0..at % 4 {
            let inner = if part == 1 { Vec::new() } else { point(at as f64) };
            // A point in a list, a name, an entry of a map, a member of the oneof.
            bytes.extend([&[0x42, inner.len() as u8], &inner[..]].concat());
            bytes.extend([0x4a, 2, b'n', b'0' + part as u8]);
            bytes.extend(
                [
                    &[0x52, inner.len() as u8 + 5, 0x0a, 1, b'k', 0x12],
                    &[inner.len() as u8][..],
                    &inner[..],
                ]
                .concat(),
            );
            bytes.extend([0x60, part as u8]);
        }
        if at.is_multiple_of(5) {
            bytes.extend([&[0x1a, 100][..], &[b'a' + (at % 26) as u8; 100]].concat());
            bytes.extend([0x3a, 0]);
        }
        // Truncated messages have no row.
        if at.is_multiple_of(97) {
            bytes.push(0x1a);
        }
        bytes
    };
    let mut readers = [Engine::Native, Engine::Table]
        .map(|engine| BatchReader::new(&schema, row, &Options::default(), engine).expect("a plan"));
    for count in [3_000, 300] {
        let batches = readers.each_mut().map(|reader| {
            let good = (0..count).filter(|&at| reader.append(&message(at)).is_ok()).count();
            assert_eq!((reader.rows(), good < count), (good, true));
            reader.finish().expect("a batch")
        });
        assert_eq!(batches[0], batches[1]);
    }
}

#[test]
fn a_selection_has_its_columns_alone() {
    let (schema, row) = schema();
    let select = ["point.x", "a", "points"].map(String::from).to_vec();
    let options = Options { select, enums: EnumForm::Numbers };
    let mut columns = Columns::new(&schema, row, &options).expect("a plan");
    let point = [&[0x3a, 14, 9][..], &2.5f64.to_le_bytes(), &[0x15, 0, 0, 0, 0]].concat();
    let input = [&point[..], &[0x42, 0], &[8, 6]].concat();
    Decoder::new(&schema).decode(row, &input, &mut columns).expect("valid");
    let batch = columns.finish().expect("a batch");
    assert_eq!(
        row_text(&batch, 0),
        "{a: 6, point: {x: 2.5}, points: [{x: 0.0, y: null, tags: []}]}"
    );
}

/// Rows of another schema, read by both engines and the plain columns, and written as files.
fn read_all(text: &str, options: &Options, input: &[u8]) -> (String, Vec<String>) {
    let schema = compile(&["m.proto"], &Texts::from_iter([("m.proto", text)])).schema;
    let schema = schema.expect("it is right");
    let message = schema.message_by_name("M").expect("it is there");
    let mut columns = Columns::new(&schema, message, options).expect("a plan");
    Decoder::new(&schema).decode(message, input, &mut columns).expect("valid");
    let left_out = columns.left_out().to_vec();
    let batch = columns.finish().expect("a batch");
    for engine in [Engine::Native, Engine::Table] {
        let mut reader = BatchReader::new(&schema, message, options, engine).expect("a plan");
        reader.append(input).expect("valid");
        assert_eq!(reader.finish().expect("a batch"), batch);
    }
    for format in [Format::Arrow, Format::Parquet] {
        let mut output = Output::new(Vec::new(), format, &batch.schema()).expect("a file");
        output.write(&batch).expect("written");
        output.finish().expect("ended");
    }
    (row_text(&batch, 0), left_out)
}

#[test]
fn a_map_without_keys_or_values_is_a_list_of_what_it_has() {
    let text = r#"syntax = "proto3"; message M { int32 a = 1; map<string, M> kids = 2; }"#;
    let input = [8, 1, 0x12, 7, 0x0a, 1, b'k', 0x12, 2, 8, 2];
    let (row, left_out) = read_all(text, &Options::default(), &input);
    assert_eq!(
        (row.as_str(), left_out),
        ("{a: 1, kids: [{key: \"k\"}]}", vec!["kids.value".into()])
    );

    let text = r#"syntax = "proto3"; message M { int32 a = 1; map<string, bool> kids = 2; }"#;
    let input = [0x12, 5, 0x0a, 1, b'k', 0x10, 1];
    let only = |path: &str| Options { select: vec![path.into()], ..Options::default() };
    assert_eq!(read_all(text, &only("kids.value"), &input).0, "{kids: [{value: true}]}");
    assert_eq!(read_all(text, &only("kids.key"), &input).0, "{kids: [{key: \"k\"}]}");
    let whole = "{kids: [{key: \"k\", value: true}]}";
    assert_eq!(read_all(text, &only("kids"), &input).0, whole);
}

#[test]
fn messages_without_columns_are_written() {
    let text =
        r#"syntax = "proto3"; message E {} message M { E e = 1; repeated E es = 2; int32 a = 3; }"#;
    let (row, _) = read_all(text, &Options::default(), &[0x0a, 0, 0x12, 0, 0x12, 0, 0x18, 9]);
    assert_eq!(row, "{e: true, es: [true, true], a: 9}");
}

#[test]
fn text_that_is_not_utf8_says_so() {
    let text = r#"syntax = "proto2"; message Old { optional string s = 1; }"#;
    let schema = compile(&["old.proto"], &Texts::from_iter([("old.proto", text)])).schema;
    let schema = schema.expect("it is right");
    let old = schema.message_by_name("Old").expect("it is there");
    for engine in [Engine::Native, Engine::Table] {
        let mut reader =
            BatchReader::new(&schema, old, &Options::default(), engine).expect("a plan");
        reader.append(&[10, 3, b'a', 0xff, b'b']).expect("a message");
        assert_eq!(row_text(&reader.finish().expect("a batch"), 0), "{s: \"a\u{fffd}b\"}");
    }
}

#[test]
fn wrong_selections_say_why() {
    let (schema, row) = schema();
    let plan = |path: &str| {
        let options = Options { select: vec![path.into()], ..Options::default() };
        Columns::new(&schema, row, &options).err()
    };
    assert_eq!(plan("point.z"), Some(PlanError::UnknownField { path: "point.z".into() }));
    assert_eq!(plan("a.b"), Some(PlanError::NotAMessage { path: "a.b".into() }));
    assert_eq!(plan("again.a"), Some(PlanError::Recursive { path: "again.a".into() }));
}

#[test]
fn files_read_back_as_written() {
    let (schema, row) = schema();
    let mut columns = Columns::new(&schema, row, &Options::default()).expect("a plan");
    let input = [0x42, 0, 0x4a, 1, b'b', 0x30, 5, 0x7a, 2, 8, 7];
    for _ in 0..3 {
        Decoder::new(&schema).decode(row, &input, &mut columns).expect("valid");
    }
    let batch = columns.finish().expect("a batch");
    let file = |format| {
        let mut output = Output::new(Vec::new(), format, &batch.schema()).expect("a file");
        output.write(&batch).expect("written");
        output.finish().expect("ended")
    };
    let stream = file(Format::Arrow);
    let mut reader = arrow_ipc::reader::StreamReader::try_new(&stream[..], None).expect("a stream");
    assert_eq!(reader.next().expect("a batch").expect("readable"), batch);
    let parquet = file(Format::Parquet);
    assert_eq!((&parquet[..4], &parquet[parquet.len() - 4..]), (&b"PAR1"[..], &b"PAR1"[..]));
}
