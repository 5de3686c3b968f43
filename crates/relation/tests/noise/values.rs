//! Values, tuples and patterns in text, and values in bytes round-trip.

use tidemill_relation::expr::{Ambient, EvalError, Param, Scope};
use tidemill_relation::function::FunctionId;
use tidemill_relation::text::{DisplayTuple, TextError, parse_pattern, parse_tuple, parse_value};
use tidemill_relation::{OwnedValue, Type, Value};
use tidemill_stdx::keyed::Secret;
use tidemill_stdx::region::Bump;

/// Panics if a value read from `input`, as text or as bytes, does not round-trip.
pub fn check(input: &[u8]) {
    if let Ok(text) = str::from_utf8(input) {
        check_text(text);
    }
    check_bytes(input);
}

fn check_text(text: &str) {
    let inside = |error: TextError| assert!(error.offset <= text.len(), "{error:?}");
    match parse_value(text) {
        Err(error) => inside(error),
        Ok(value) => {
            let printed = value.to_string();
            let again = parse_value(&printed).unwrap_or_else(|e| panic!("{printed}: {e}"));
            assert_alike(value.get(), again.get());
            assert_eq!(again.to_string(), printed);
        }
    }
    match parse_tuple(text) {
        Err(error) => inside(error),
        Ok((name, columns)) => {
            let print = |name: &str, columns: &[OwnedValue]| {
                DisplayTuple::new(name, columns.iter().map(OwnedValue::get)).to_string()
            };
            let printed = print(&name, &columns);
            let (name, again) = parse_tuple(&printed).unwrap_or_else(|e| panic!("{printed}: {e}"));
            assert_eq!(print(&name, &again), printed);
            assert_eq!(again.len(), columns.len());
        }
    }
    match parse_pattern(text) {
        Err(error) => inside(error),
        Ok(pattern) => {
            pattern.matches(&[], |_| Value::Null);
        }
    }
}

fn check_bytes(bytes: &[u8]) {
    let scratch = Bump::new();
    let call = |name, argument| call(name, argument, &scratch);
    if let Ok(value) = call("deserialize", Value::Bytes(bytes)) {
        let written = call("serialize", value).unwrap();
        let again = call("deserialize", written).unwrap();
        assert_alike(value, again);
        // Printed values read back: the byte form has no value that the text form lacks.
        let printed = OwnedValue::new(value).to_string();
        parse_value(&printed).unwrap_or_else(|e| panic!("{printed}: {e}"));
    }
}

fn call<'a>(
    function: &str,
    argument: Value<'a>,
    scratch: &'a Bump,
) -> Result<Value<'a>, EvalError> {
    let scope = Scope { scratch, ambient: &Nowhere };
    FunctionId::from_name(function).unwrap().call(&[argument], scope)
}

/// True for input that can be read in some form.
pub fn is_understood(input: &[u8]) -> bool {
    let text = str::from_utf8(input).unwrap_or("");
    parse_value(text).is_ok()
        || parse_pattern(text).is_ok()
        || call("deserialize", Value::Bytes(input), &Bump::new()).is_ok()
}

/// Asserts that two values are equal, of one type, with one hash, and at one position in every
/// order.
fn assert_alike(a: Value<'_>, b: Value<'_>) {
    assert_eq!(a, b);
    assert_eq!(a.type_of(), b.type_of());
    assert_eq!(a.hash(&Secret::FIXED), b.hash(&Secret::FIXED));
    assert!(a.total_order(&b).is_eq() && a.compare(&b).is_eq());
    if let (Value::Matrix(a), Value::Matrix(b)) = (a, b) {
        assert!(a.iter().chain(b).all(|row| row.type_of() == Type::Vector));
    }
}

/// A node without clock and random numbers.
#[derive(Debug)]
struct Nowhere;

impl Ambient for Nowhere {
    fn now_ns(&self) -> i64 {
        0
    }

    fn random(&self) -> u64 {
        0
    }

    fn param(&self, _: Param) -> Value<'_> {
        Value::Null
    }
}
