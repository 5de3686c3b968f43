//! Functions: declared examples, the names that must exist, errors, types, byte forms.

use proptest::prelude::*;

use super::*;
use crate::flat::OwnedValue;
use crate::testing::{any_value, read, show};
use crate::text::parse_tuple;
use limits::copy_into;

/// Evaluates `f_name(values)`.
fn evaluate(call: &str) -> String {
    let (name, arguments) = parse_tuple(call).unwrap_or_else(|error| panic!("{call}: {error}"));
    let bare = name.strip_prefix("f_").expect("a function's name");
    let id = FunctionId::from_name(bare).unwrap_or_else(|| panic!("{bare} exists"));
    call_with(id, &arguments)
}

fn call_with(id: FunctionId, arguments: &[OwnedValue]) -> String {
    show(|scope| {
        let arguments: Vec<_> =
            arguments.iter().map(|value| copy_into(value.get(), scope.scratch)).collect();
        id.call(&arguments, scope)
    })
}

#[test]
fn declared_examples_hold() {
    for function in catalogue() {
        let depends = function.purity != Purity::Pure;
        assert!(depends || !function.examples.is_empty(), "{function} has no example");
        assert!(function.doc.ends_with('.'), "{function} is not described");
        for (call, expected) in function.examples {
            assert!(call.starts_with(&format!("f_{}(", function.name)), "{call}");
            assert_eq!(evaluate(call), *expected, "{call}");
        }
    }
}

#[test]
fn every_name_of_the_language_exists_once() {
    let names = "now rand coinFlip sha1 idgen match append member concat intersect initList cons \
                 consList inList removeLast last first size car cdr getVectorOffset \
                 setVectorOffset getMatrixOffset setMatrixOffset typeOf empty initSet mod tostr \
                 upper lower strlen substr strcat strreplace strfind contains min max floor ceil \
                 abs exp ln neg ifelse serialize deserialize tupleId union length slice uintBE \
                 uintLE intBE intLE bytesBE bytesLE hex unhex bytes text ip mac addrText inNet \
                 net fromJson toJson field rows formatTime parseTime decode encode";
    let mut expected: Vec<&str> = names.split_whitespace().collect();
    let mut found: Vec<&str> = catalogue().iter().map(|function| function.name).collect();
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected);
    assert!(FunctionId::from_name("tostr").is_some_and(FunctionId::is_pure));
    assert!(FunctionId::from_name("now").is_some_and(|now| !now.is_pure()));
    assert!(FunctionId::from_name("Now").is_none());
    assert!(FunctionId::from_name("f_now").is_none());
}

#[test]
fn values_and_errors() {
    let deep = format!("f_initList({}1{})", "[".repeat(64), "]".repeat(64));
    let cases = [
        ("f_now()", "1.500000000t"),
        ("f_rand()", "0"),
        ("f_idgen()", "0x0000000000000000000000000000000100000000I"),
        ("f_coinFlip()", "true"),
        ("f_coinFlip(0)", "false"),
        ("f_coinFlip(1)", "true"),
        ("f_coinFlip(1.5)", "error: coinFlip: 1.5 is no probability"),
        ("f_coinFlip(nan)", "error: coinFlip: nan is no probability"),
        ("f_sha1(1)", "0x356a192b7913b04c54574d18c28d46e6395428abI"),
        ("f_abs(-9223372036854775808)", "error: a result is out of range"),
        ("f_neg(0x1I)", "0xffffffffffffffffffffffffffffffffffffffffI"),
        ("f_mod(1, 0)", "error: division by zero"),
        ("f_mod(0x7I, 4)", "0x0000000000000000000000000000000000000003I"),
        ("f_ln(0)", "error: ln: 0.0 is not above 0"),
        ("f_ln(-1.5)", "error: ln: -1.5 is not above 0"),
        ("f_min(2, 1.5s)", "1.500000000s"),
        ("f_max(1, 1.0)", "1"),
        ("f_strlen(1)", "error: strlen cannot take (int64)"),
        ("f_strlen()", "error: strlen cannot take ()"),
        ("f_strlen(\"a\", \"b\")", "error: strlen cannot take (string, string)"),
        ("f_substr(\"Mühle\", 1, 2)", "\"üh\""),
        ("f_substr(\"Mühle\", 1, 0)", "\"\""),
        ("f_substr(\"Mühle\", 1, 9223372036854775807)", "\"ühle\""),
        ("f_substr(\"a\", -1)", "error: substr: -1 is negative"),
        ("f_strfind(\"h\", \"Mühle\")", "2"),
        ("f_strfind(\"\", \"a\")", "0"),
        ("f_strreplace(\"aaa\", \"aa\", \"b\")", "\"ba\""),
        ("f_strreplace(\"a\", \"\", \"b\")", "error: strreplace: the part to be replaced is empty"),
        ("f_strcat()", "\"\""),
        ("f_strcat(null, 0.5)", "\"null0.5\""),
        ("f_match(\"[\", \"a\")", "error: match: bad pattern: unclosed character class"),
        ("f_match(\"ü.le\", \"Mühle\")", "true"),
        ("f_first([])", "error: first: the list is empty"),
        ("f_cdr([])", "error: cdr: the list is empty"),
        ("f_last([])", "error: last: the list is empty"),
        ("f_removeLast([])", "error: removeLast: the list is empty"),
        ("f_cdr([1])", "[]"),
        ("f_member([1, 2], 2.0)", "true"),
        ("f_member([\"2\"], 2)", "false"),
        ("f_cons([1], [2])", "[[1], 2]"),
        ("f_size({[1, 2], [3, 4], [5, 6]})", "3"),
        ("f_size(b\"abc\")", "3"),
        ("f_empty(\"\")", "true"),
        ("f_size(1)", "error: size cannot take (int64)"),
        ("f_getVectorOffset([1], 1)", "error: getVectorOffset: no element 1 among 1"),
        ("f_getVectorOffset([1], -1)", "error: getVectorOffset: no element -1 among 1"),
        ("f_getMatrixOffset({[1]}, 0, 1)", "error: getMatrixOffset: no element 1 among 1"),
        ("f_setMatrixOffset({[1]}, 1, 0, 2)", "error: setMatrixOffset: no element 1 among 1"),
        ("f_typeOf({[1]})", "\"matrix\""),
        ("f_deserialize(b\"\")", "error: deserialize: these bytes are no value"),
        ("f_deserialize(b\"\\x08\\x02\\x00\")", "error: deserialize: these bytes are no value"),
        ("f_ifelse(1.5, 1, 2)", "error: ifelse cannot take (double, int64, int64)"),
        ("f_slice(b\"abc\", -1)", "error: slice: -1 is negative"),
        ("f_slice(b\"abc\", 1, -1)", "error: slice: -1 is negative"),
        ("f_slice(b\"abc\", 1, 9223372036854775807)", "b\"bc\""),
        ("f_slice(\"abc\", 1)", "error: slice cannot take (string, int64)"),
        ("f_uintBE(b\"abc\", 2, 2)", "error: uintBE: no 2 bytes from 2 on among 3"),
        (
            "f_uintBE(b\"abc\", 9223372036854775807, 8)",
            "error: uintBE: no 8 bytes from 9223372036854775807 on among 3",
        ),
        ("f_uintBE(b\"abc\", -1, 1)", "error: uintBE: -1 is negative"),
        ("f_bytesBE(256, 1)", "error: bytesBE: 256 does not fit into 1 bytes"),
        ("f_bytesBE(-1, 8)", "error: bytesBE: -1 is negative"),
        ("f_bytesLE(0, 9)", "error: bytesLE: an integer has 1 to 8 bytes, not 9"),
        ("f_uintBE(b\"abc\", 0, 0)", "error: uintBE: an integer has 1 to 8 bytes, not 0"),
        ("f_uintLE(b\"abcdefghi\", 0, 9)", "error: uintLE: an integer has 1 to 8 bytes, not 9"),
        ("f_uintBE(b\"\\x7f\\xff\\xff\\xff\\xff\\xff\\xff\\xff\", 0, 8)", "9223372036854775807"),
        (
            "f_uintBE(b\"\\x80\\x00\\x00\\x00\\x00\\x00\\x00\\x00\", 0, 8)",
            "error: a result is out of range",
        ),
        (
            "f_uintLE(b\"\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\", 0, 8)",
            "error: a result is out of range",
        ),
        ("f_intBE(b\"\\x80\\x00\\x00\\x00\\x00\\x00\\x00\\x00\", 0, 8)", "-9223372036854775808"),
        ("f_intLE(b\"\\x80\", 0, 1)", "-128"),
        ("f_intBE(b\"abc\", 1, 3)", "error: intBE: no 3 bytes from 1 on among 3"),
        ("f_hex(-1)", "error: hex: -1 is negative"),
        ("f_hex(0x1I)", "\"0000000000000000000000000000000000000001\""),
        ("f_unhex(\"abc\")", "error: unhex: a byte has two hex digits"),
        ("f_unhex(\"ag\")", "error: unhex: not a hex digit"),
        ("f_unhex(\"ü\")", "error: unhex: not a hex digit"),
        ("f_text(b\"a\\xff\")", "error: text: no UTF-8 at byte 1"),
        ("f_bytes()", "b\"\""),
        ("f_ip(\"10.0.0.256\")", "error: ip: \"10.0.0.256\" is no IP address"),
        ("f_ip(\"010.0.0.1\")", "error: ip: \"010.0.0.1\" is no IP address"),
        ("f_ip(\"10.0.0.1:80\")", "error: ip: \"10.0.0.1:80\" is no IP address"),
        ("f_ip(b\"abc\")", "error: ip: an IP address has 4 or 16 bytes, not 3"),
        ("f_mac(\"0:1:2:3:4:5\")", "b\"\\x00\\x01\\x02\\x03\\x04\\x05\""),
        ("f_mac(\"00-01-02-03-04-aF\")", "b\"\\x00\\x01\\x02\\x03\\x04\\xaf\""),
        ("f_mac(\"00-01:02-03-04-05\")", "error: mac: \"00-01:02-03-04-05\" is no MAC address"),
        ("f_mac(\"+1:2:3:4:5:6\")", "error: mac: \"+1:2:3:4:5:6\" is no MAC address"),
        ("f_mac(b\"abc\")", "error: mac: a MAC address has 6 bytes, not 3"),
        ("f_addrText(b\"abc\")", "error: addrText: an address has 4, 6 or 16 bytes, not 3"),
        ("f_inNet(\"10.0.0.1\", \"0.0.0.0/0\")", "true"),
        ("f_inNet(\"10.0.0.1\", \"::/0\")", "false"),
        ("f_inNet(\"::ffff:10.0.0.1\", \"10.0.0.0/8\")", "false"),
        ("f_inNet(\"10.0.0.1\", \"10.0.0.1/32\")", "true"),
        (
            "f_inNet(\"10.0.0.1\", \"10.0.0.0/33\")",
            "error: inNet: \"10.0.0.0/33\" is no prefix: the length is from 0 to 32",
        ),
        (
            "f_inNet(\"10.0.0.1\", \"10.0.0.1/8\")",
            "error: inNet: \"10.0.0.1/8\" is no prefix: bits after its length are set",
        ),
        (
            "f_inNet(\"10.0.0.1\", \"10.0.0.0/+8\")",
            "error: inNet: \"10.0.0.0/+8\" is no prefix: the length is from 0 to 32",
        ),
        (
            "f_inNet(\"10.0.0.1\", \"10.0.0.0\")",
            "error: inNet: \"10.0.0.0\" is no prefix: write ADDRESS/LENGTH",
        ),
        (
            "f_inNet(\"10.0.0.1\", \"::1/129\")",
            "error: inNet: \"::1/129\" is no prefix: the length is from 0 to 128",
        ),
        (
            "f_net(\"fe80::1\", 0)",
            "b\"\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\"",
        ),
        (
            "f_net(\"10.0.0.1\", 33)",
            "error: net: a prefix of 10.0.0.1 has a length from 0 to 32, not 33",
        ),
        (
            "f_net(\"10.0.0.1\", -1)",
            "error: net: a prefix of 10.0.0.1 has a length from 0 to 32, not -1",
        ),
        (
            "f_formatTime(0t, \"%q\")",
            "error: formatTime: `%q` is none of %Y %m %d %H %M %S %N %j %F %T %s %%",
        ),
        ("f_formatTime(0t, \"%\")", "error: formatTime: a `%` at the end"),
        ("f_formatTime(0, \"%Y\")", "error: formatTime cannot take (int64, string)"),
        ("f_formatTime(0t, null)", "error: formatTime cannot take (time, null)"),
        ("f_parseTime(\"today\")", "error: parseTime: \"today\" is no time of RFC 3339"),
        ("f_decode(\"a.B\", b\"\")", "error: decode: no schema belongs to the program"),
        ("f_encode(\"a.B\", [])", "error: encode: no schema belongs to the program"),
        ("f_fromJson(\"\")", "error: fromJson: a value is missing at byte 0"),
        ("f_fromJson(\"[1,]\")", "error: fromJson: no value at byte 3"),
        ("f_fromJson(\"[1 2]\")", "error: fromJson: `,` or `]` is missing at byte 3"),
        ("f_fromJson(\"1 1\")", "error: fromJson: something follows the value at byte 2"),
        ("f_fromJson(\"{1:2}\")", "error: fromJson: a name in quotes is missing at byte 1"),
        ("f_fromJson(\"01\")", "error: fromJson: a number begins with 0 at byte 2"),
        (
            "f_fromJson(\"9223372036854775808\")",
            "error: fromJson: a number out of range at byte 19",
        ),
        ("f_fromJson(\"-9223372036854775808\")", "-9223372036854775808"),
        ("f_fromJson(b\"\\x22\\\\ud83d\\\\ude00\\\\u00e9\\x22\")", "\"\u{1f600}\u{e9}\""),
        (
            "f_fromJson(b\"\\x22\\\\ud83d\\\\u0041\\x22\")",
            "error: fromJson: half of a surrogate pair at byte 13",
        ),
        (
            "f_fromJson(b\"\\x22\\\\ud83dx\\x22\")",
            "error: fromJson: half of a surrogate pair at byte 7",
        ),
        (
            "f_fromJson(b\"\\x22\\\\ude00\\x22\")",
            "error: fromJson: half of a surrogate pair at byte 7",
        ),
        ("f_fromJson(\"1e999\")", "error: fromJson: a number out of range at byte 5"),
        ("f_fromJson(b\"\\xff\")", "error: fromJson: no UTF-8 at byte 0"),
        ("f_fromJson(\" {} \")", "{}"),
        ("f_toJson({})", "\"{}\""),
        ("f_toJson({[1, 2], [3, 4]})", "\"[[1,2],[3,4]]\""),
        (
            "f_toJson([nan, 1t, b\"a\"])",
            "\"[\\\"nan\\\",\\\"1.000000000t\\\",\\\"b\\\\\\\"a\\\\\\\"\\\"]\"",
        ),
        ("f_field({[\"a\", 1], [\"a\", 2]}, \"a\")", "2"),
        ("f_field([1, [2], [\"a\", 3]], \"a\")", "3"),
        ("f_rows({[1, 2]})", "[[1, 2]]"),
        (&deep, "error: initList: lists may nest 64 deep"),
    ];
    for (call, expected) in cases {
        assert_eq!(evaluate(call), expected, "{call}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "megabytes of text")]
fn results_have_a_bound() {
    let error = "the result is larger than 16777216 bytes";
    let many = OwnedValue::new(Value::Str(&"a".repeat(1 << 20)));
    let by = OwnedValue::new(Value::Str(&"b".repeat(1 << 20)));
    let replace = FunctionId::from_name("strreplace").unwrap();
    let blown = call_with(replace, &[many.clone(), read("\"a\""), by]);
    assert_eq!(blown, format!("error: strreplace: {error}"));
    let strcat = FunctionId::from_name("strcat").unwrap();
    assert_eq!(call_with(strcat, &vec![many.clone(); 17]), format!("error: strcat: {error}"));
    let list = FunctionId::from_name("initList").unwrap();
    assert_eq!(call_with(list, &vec![many; 17]), format!("error: initList: {error}"));
}

#[test]
fn vectors_stay_vectors() {
    let set = FunctionId::from_name("setVectorOffset").unwrap();
    let get = FunctionId::from_name("typeOf").unwrap();
    let changed = show(|scope| {
        let vector = read("v[1, 2]");
        let vector = copy_into(vector.get(), scope.scratch);
        let changed = set.call(&[vector, Value::Int(1), Value::Int(5)], scope)?;
        get.call(&[changed], scope)
    });
    assert_eq!(changed, "\"vector\"");
}

#[test]
fn misuse_is_an_error_before_the_run() {
    let of = |name: &str| FunctionId::from_name(name).unwrap().function();
    let (int, text) = (TypeSet::INT, TypeSet::TEXT);
    let arity = |least, most| Err(Misuse::Arity { least, most });
    assert_eq!(of("strlen").result_type(&[]), arity(1, Some(1)));
    assert_eq!(of("append").result_type(&[int; 3]), arity(1, Some(2)));
    assert_eq!(of("min").result_type(&[]), arity(1, None));
    let wrong = Misuse::Argument { index: 1, expected: TypeSet::SEQUENCE };
    assert_eq!(of("concat").result_type(&[TypeSet::LIST, int]), Err(wrong));
    assert_eq!(of("strlen").result_type(&[text.union(int)]), Ok(int));
    assert_eq!(of("abs").result_type(&[int]), Ok(int));
    assert_eq!(of("abs").result_type(&[TypeSet::ANY]), Ok(of("abs").result));
    assert_eq!(of("min").result_type(&[int, text]), Ok(int.union(text)));
    assert_eq!(of("mod").result_type(&[int, TypeSet::ID]), Ok(TypeSet::ID));
    assert_eq!(of("ifelse").result_type(&[TypeSet::BOOL, int, text]), Ok(int.union(text)));
}

#[test]
fn signatures_print() {
    let shown = |name: &str| FunctionId::from_name(name).unwrap().function().to_string();
    assert_eq!(shown("append"), "f_append(x: any[, list: list|vector]) -> list");
    assert_eq!(shown("initList"), "f_initList([x: any ...]) -> list");
    assert_eq!(shown("coinFlip"), "f_coinFlip([p: bool|int64|double]) -> bool");
    assert_eq!(FunctionId::from_name("now").unwrap().to_string(), "f_now");
}

#[test]
fn other_functions_take_what_one_does_not() {
    let of = |name: &str| FunctionId::from_name(name).unwrap().function();
    let instead = |name: &str, types: &[TypeSet]| of(name).instead(types).map(|other| other.name);
    assert_eq!(instead("strlen", &[TypeSet::BYTES]), Some("length"));
    assert_eq!(instead("strlen", &[TypeSet::LIST]), Some("size"));
    assert_eq!(instead("strlen", &[TypeSet::INT]), None);
    assert_eq!(instead("substr", &[TypeSet::BYTES, TypeSet::INT]), Some("slice"));
    for function in catalogue() {
        for name in function.see {
            let other = FunctionId::from_name(name).expect("a function").function();
            let arity = function.arity_min();
            assert_ne!(other.name, function.name);
            assert!(other.arity_min() <= arity && other.arity_max().is_none_or(|it| it >= arity));
        }
    }
}

/// Around each number of bits at which what is written grows by a byte.
#[test]
fn integers_and_texts_of_every_length_survive_serialization() {
    let survives = |value: Value<'_>| {
        let read = encode::decode(&encode::encode(value), limits::NESTING_MAX);
        assert_eq!(read.map(|read| read.to_string()), Some(value.to_string()));
    };
    for number in (0..63).flat_map(|bits| [-1, 0, 1].map(|by| (1i64 << bits) + by)) {
        survives(Value::Int(number));
        survives(Value::Int(-number));
    }
    for length in [0, 1, 127, 128, 129, 16_383, 16_384] {
        survives(Value::Str(&"a".repeat(length)));
    }
}

proptest! {
    #[test]
    fn every_value_survives_serialization(value in any_value()) {
        let bytes = encode::encode(value.get());
        let read = encode::decode(&bytes, limits::NESTING_MAX);
        prop_assert_eq!(read.map(|read| read.to_string()), Some(value.to_string()));
        for length in 0..bytes.len() {
            prop_assert!(encode::decode(&bytes[..length], limits::NESTING_MAX).is_none());
        }
    }

    #[test]
    fn hostile_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..32)) {
        if let Some(value) = encode::decode(&bytes, 3) {
            prop_assert!(!limits::nests_deeper(value.get(), 3));
        }
    }

    #[test]
    fn functions_keep_to_their_declaration(
        arguments in proptest::collection::vec(any_value(), 0..4),
    ) {
        let types: Vec<_> =
            arguments.iter().map(|value| TypeSet::of(value.get().type_of())).collect();
        for function in catalogue() {
            let id = FunctionId::from_name(function.name).unwrap();
            let declared = function.result_type(&types);
            show(|scope| {
                let arguments: Vec<_> =
                    arguments.iter().map(|value| copy_into(value.get(), scope.scratch)).collect();
                let result = id.call(&arguments, scope);
                match (&result, &declared) {
                    (Ok(value), Ok(types)) => {
                        assert!(types.contains(value.type_of()), "{function}: {value}");
                    }
                    (Ok(value), Err(_)) => panic!("{function} gave {value} for wrong arguments"),
                    (Err(error), Err(_)) => assert!(matches!(error, EvalError::Type { .. })),
                    (Err(_), Ok(_)) => {}
                }
                result
            });
        }
    }
}
