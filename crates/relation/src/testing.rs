//! Shared by the tests of this crate: a fixed environment, and strategies for values.

use std::cell::Cell;

use proptest::collection::vec;
use proptest::prelude::*;
use tidemill_stdx::region::Bump;

use crate::eval::{Ambient, EvalError, Param, Scope};
use crate::flat::{OwnedValue, SeqBuilder};
use crate::id::Id;
use crate::text::parse_value;
use crate::value::Value;

/// A fixed time, and random numbers that count up from 0.
#[derive(Default)]
pub(crate) struct Still {
    drawn: Cell<u64>,
}

impl Ambient for Still {
    fn now_ns(&self) -> i64 {
        1_500_000_000
    }

    fn random(&self) -> u64 {
        self.drawn.replace(self.drawn.get() + 1)
    }

    fn param(&self, param: Param) -> Value<'_> {
        Value::Str(param.name())
    }
}

/// Evaluates `f` in a scope of its own, and prints the value, or the error after `error: `.
pub(crate) fn show(f: impl for<'a> FnOnce(Scope<'a>) -> Result<Value<'a>, EvalError>) -> String {
    let (scratch, ambient) = (Bump::new(), Still::default());
    match f(Scope { scratch: &scratch, ambient: &ambient }) {
        Ok(value) => value.to_string(),
        Err(error) => format!("error: {error}"),
    }
}

/// The value of a text that is one; `v[...]` makes a vector.
pub(crate) fn read(text: &str) -> OwnedValue {
    match text.strip_prefix('v') {
        Some(list) => {
            let list = read(list);
            OwnedValue::new(Value::Vector(list.get().as_seq().expect("a list")))
        }
        None => parse_value(text).unwrap_or_else(|error| panic!("{text}: {error}")),
    }
}

/// Numbers of all types, with those that differ by little and those at the ends of their range.
pub(crate) fn any_number() -> impl Strategy<Value = OwnedValue> {
    prop_oneof![
        any::<bool>().prop_map(|value| OwnedValue::new(Value::Bool(value))),
        prop_oneof![-3i64..4, any::<i64>(), Just(i64::MAX), Just(i64::MIN), Just(1 << 53)]
            .prop_map(|value| OwnedValue::new(Value::Int(value))),
        prop_oneof![
            (-6i32..7).prop_map(|halves| f64::from(halves) / 2.0),
            any::<f64>(),
            Just(9_007_199_254_740_993.0),
            Just(9_223_372_036_854_775_808.0),
            Just(-9_223_372_036_854_775_808.0)
        ]
        .prop_map(|value| OwnedValue::new(Value::Double(value))),
    ]
}

/// Identifiers small and large.
pub(crate) fn any_id() -> impl Strategy<Value = Id> {
    prop_oneof![(-3i64..4).prop_map(Id::from_int), any::<[u8; 20]>().prop_map(Id::from_be_bytes)]
}

/// Texts of at most `chars_max` characters. A regular expression would take Miri long to parse.
pub(crate) fn any_text(chars_max: usize) -> impl Strategy<Value = String> {
    vec(any::<char>(), 0..=chars_max).prop_map(String::from_iter)
}

/// Texts of at most `chars_max` of some characters.
pub(crate) fn text_of(chars: Vec<char>, chars_max: usize) -> impl Strategy<Value = String> {
    vec(prop::sample::select(chars), 0..=chars_max).prop_map(String::from_iter)
}

/// Characters that texts print as escapes.
fn controls() -> Vec<char> {
    ('\0'..='\x1f').chain(['"', '\\']).chain('\x7f'..='\u{a0}').collect()
}

/// Values of every type but vector; lists and matrices hold any of them.
pub(crate) fn any_value() -> impl Strategy<Value = OwnedValue> {
    let leaf = prop_oneof![
        Just(OwnedValue::new(Value::Null)),
        any_number(),
        any_text(6).prop_map(|text| OwnedValue::new(Value::Str(&text))),
        text_of(controls(), 4).prop_map(|text| OwnedValue::new(Value::Str(&text))),
        vec(any::<u8>(), 0..6).prop_map(|bytes| OwnedValue::new(Value::Bytes(&bytes))),
        any_id().prop_map(|id| OwnedValue::new(Value::Id(id))),
        any::<i64>().prop_map(|ns| OwnedValue::new(Value::Time(ns))),
        any::<i64>().prop_map(|ns| OwnedValue::new(Value::Interval(ns))),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let row = (0usize..4, vec(vec(inner.clone(), 3), 0..4));
        prop_oneof![
            vec(inner, 0..4).prop_map(|elements| {
                OwnedValue::new(Value::List(sequence(&elements).as_seq()))
            }),
            row.prop_map(|(columns, rows)| {
                let mut matrix = SeqBuilder::new();
                for row in &rows {
                    let row = sequence(&row[..columns.min(row.len())]);
                    matrix.push(Value::Vector(row.as_seq()));
                }
                OwnedValue::new(Value::Matrix(matrix.as_seq()))
            }),
        ]
    })
}

fn sequence(elements: &[OwnedValue]) -> SeqBuilder {
    let mut list = SeqBuilder::new();
    elements.iter().for_each(|element| list.push(element.get()));
    list
}
