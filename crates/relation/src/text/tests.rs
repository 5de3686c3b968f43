//! The text form, printed and read.

use proptest::prelude::*;

use super::*;
use crate::eval::Param;
use crate::flat::OwnedValue;
use crate::testing::any_value;
use crate::value::{Type, Value};

#[test]
fn texts_and_the_values_they_print_as() {
    let cases = [
        ("null", "null"),
        ("-0", "0"),
        ("7U", "7"),
        ("0x1F", "31"),
        ("-0x10", "-16"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("1.", "1.0"),
        ("-0.0", "-0.0"),
        ("1e3", "1000.0"),
        ("1e16", "1e16"),
        ("12345678901234567890.0", "1.2345678901234567e19"),
        ("0.1", "0.1"),
        ("1E-7", "1e-7"),
        ("infinity", "infinity"),
        ("-infinity", "-infinity"),
        ("nan", "nan"),
        (r#""a\x41\n\r\t\f\"\\ü""#, r#""aA\n\r\t\f\"\\ü""#),
        (r#""\x00\x7f\x80\x1b""#, r#""\x00\x7f\x80\x1b""#),
        (r#"b"a\x00\xff\"\\ ""#, r#"b"a\x00\xff\"\\ ""#),
        ("0x1I", "0x0000000000000000000000000000000000000001I"),
        ("0xABCDEFI", "0x0000000000000000000000000000000000abcdefI"),
        ("31I", "0x000000000000000000000000000000000000001fI"),
        ("1t", "1.000000000t"),
        ("0s", "0.000000000s"),
        ("-1.5t", "-1.500000000t"),
        ("0.000000001s", "0.000000001s"),
        ("-0.000000001s", "-0.000000001s"),
        ("-9223372036.854775808s", "-9223372036.854775808s"),
        ("9223372036.854775807t", "9223372036.854775807t"),
        ("[ ]", "[]"),
        ("[1,[2 , \"x\"]]", "[1, [2, \"x\"]]"),
        ("{}", "{}"),
        ("{[1,2],[3,4]}", "{[1, 2], [3, 4]}"),
        ("  true  ", "true"),
    ];
    for (text, expected) in cases {
        match parse_value(text) {
            Ok(value) => assert_eq!(value.to_string(), expected, "{text}"),
            Err(error) => panic!("{text}: {error}"),
        }
    }
}

#[test]
fn errors_say_where() {
    let deep = "[".repeat(if cfg!(miri) { 1000 } else { 100_000 });
    let cases = [
        ("", 0, "expected a value"),
        ("ring", 0, "`ring` is no value; a text stands in double quotes"),
        ("1 2", 2, "`2` is left over"),
        ("[1, 2", 5, "expected `,` or `]`"),
        ("[1,]", 3, "expected a value"),
        ("\"abc", 4, "the text does not end"),
        (r#""a\q""#, 2, "unknown escape; known are \\\" \\\\ \\n \\r \\t \\f \\xHH"),
        (r#""\x4""#, 1, "`\\x` needs two hex digits"),
        (r#""\x+4""#, 1, "`\\x` needs two hex digits"),
        ("b\"ü\"", 2, "bytes are ASCII or `\\xHH`"),
        ("9223372036854775808", 0, "an integer has 64 bits with its sign"),
        ("0x10000000000000000", 0, "an integer has 64 bits with its sign"),
        (
            "0x11111111111111111111111111111111111111111I",
            0,
            "an ID is digits of at most 160 bits and `I`",
        ),
        ("0xI", 0, "an ID is digits of at most 160 bits and `I`"),
        ("1e999", 0, "out of the range of a double"),
        ("12abc", 0, "not a number"),
        ("-", 1, "expected a number"),
        ("1.0000000001s", 0, "a time or an interval is seconds with up to 9 decimals"),
        ("1e3t", 0, "a time or an interval is seconds with up to 9 decimals"),
        ("9223372036.854775808t", 0, "a time or an interval is at most 292 years"),
        ("{[1], [1, 2]}", 13, "the rows of a matrix have the same length"),
        (&deep, 64, "lists may nest 64 deep"),
    ];
    for (text, offset, message) in cases {
        let error = parse_value(text).expect_err(text);
        assert_eq!((error.offset, error.message.as_str()), (offset, message), "{text:.40}");
    }
}

#[test]
fn tuples_have_a_name_and_columns() {
    let (name, columns) = parse_tuple(" sys::log( \"n0:1\" ,1.5t, [ ] ) ").unwrap();
    assert_eq!(name, "sys::log");
    let printed = DisplayTuple::new(&name, columns.iter().map(OwnedValue::get)).to_string();
    assert_eq!(printed, "sys::log(\"n0:1\", 1.500000000t, [])");
    assert_eq!(parse_tuple("::a::b()").unwrap().0, "::a::b");
    for (text, offset) in [("Ping(1)", 0), ("ping", 4), ("ping(1) x", 8), ("a:: b(1)", 3)] {
        assert_eq!(parse_tuple(text).expect_err(text).offset, offset, "{text}");
    }
}

#[test]
fn patterns_have_holes_and_parameters() {
    let pattern = parse_pattern("succ(NODE, _, [1], NODE_COUNT)").unwrap();
    assert_eq!(pattern.to_string(), "succ(NODE, _, [1], NODE_COUNT)");
    let param = |param| match param {
        Param::Node => Value::Str("n1:1"),
        _ => Value::Int(3),
    };
    let list = parse_value("[1.0]").unwrap();
    let fits = [Value::Str("n1:1"), Value::Null, list.get(), Value::Int(3)];
    assert!(pattern.matches(&fits, param));
    assert!(!pattern.matches(&fits[..3], param));
    assert!(!pattern.matches(&[fits[1], fits[1], fits[2], fits[3]], param));
    assert!(pattern.bind(param).is_none());

    let fact = parse_pattern("landmark(NODE, LANDMARK, null)").unwrap().bind(param).unwrap();
    let printed = DisplayTuple::new("landmark", fact.iter().map(OwnedValue::get)).to_string();
    assert_eq!(printed, "landmark(\"n1:1\", 3, null)");
    assert!(parse_pattern("p(__)").is_err());
    assert!(parse_pattern("p(NODES)").is_err());

    let marked = parse_pattern("p(1, @ NODE, _)").unwrap();
    assert_eq!((marked.location, marked.to_string()), (Some(1), "p(1, @NODE, _)".to_owned()));
    assert!(parse_pattern("p(@1, @NODE)").is_err());
}

/// True if both are the same in every bit, but for the sign of a NaN.
fn same(a: Value<'_>, b: Value<'_>) -> bool {
    let sequences = |a: crate::Seq<'_>, b: crate::Seq<'_>| {
        a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same(a, b))
    };
    match (a, b) {
        (Value::Double(a), Value::Double(b)) => {
            a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
        }
        _ if a.type_of() != b.type_of() => false,
        _ => match (a.as_seq(), b.as_seq()) {
            (Some(a), Some(b)) => sequences(a, b),
            _ => a.equal(&b),
        },
    }
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(value in any_value()) {
        let printed = value.to_string();
        match parse_value(&printed) {
            Ok(read) => {
                prop_assert!(same(read.get(), value.get()), "{} is read as {}", printed, read);
            }
            Err(error) => prop_assert!(false, "{}: {}", printed, error),
        }
    }

    #[test]
    fn a_vector_prints_like_a_list(value in any_value()) {
        if let Value::List(seq) = value.get() {
            let printed = Value::Vector(seq).to_string();
            prop_assert_eq!(&printed, &value.to_string());
            prop_assert_eq!(parse_value(&printed).unwrap().get().type_of(), Type::List);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[\\[\\]{}\"b\\\\x0-9a-fIts.e+, \u{e4}-]{0,24}") {
        if let Err(error) = parse_value(&text) {
            prop_assert!(error.offset <= text.len());
        }
        let _ = parse_pattern(&text);
    }
}
