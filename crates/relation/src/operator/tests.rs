//! Operators on all their types, and against plain models.

use proptest::prelude::*;
use tidemill_stdx::keyed::Secret;

use super::*;
use crate::expr::End;
use crate::flat::OwnedValue;
use crate::id::Id;
use crate::testing::{any_id, any_number, any_value, read, show};
use crate::text::TextReader;
use crate::types::TypeSet;
use crate::value::Type;

/// Evaluates `value op value` or `op value`.
fn evaluate(text: &str) -> String {
    let symbols = |text: &str| text.find(|c: char| !"<>+-*/%^&|~!=".contains(c)).unwrap_or(0);
    let mut reader = TextReader::new(text);
    // What starts with a sign and a digit is a value, unless nothing follows it.
    if let Ok(left) = reader.value()
        && reader.peek().is_some()
    {
        let length = symbols(reader.cursor().rest());
        let operator = Binary::from_symbol(&reader.cursor().rest()[..length]).expect("an operator");
        assert!(reader.eat(operator.symbol()) || reader.eat("<>"));
        let right = reader.value().expect("a right operand");
        return show(|scope| {
            let [left, right] =
                [&left, &right].map(|value| crate::limits::copy_into(value.get(), scope.scratch));
            operator.apply(left, right, scope)
        });
    }
    let (symbol, operand) = text.split_at(1);
    let operator = Unary::from_symbol(symbol).expect("an operator");
    let operand = read(operand);
    show(|scope| operator.apply(crate::limits::copy_into(operand.get(), scope.scratch), scope))
}

#[test]
fn declared_examples_hold() {
    for declaration in catalogue() {
        assert!(!declaration.examples.is_empty(), "{declaration} has no example");
        for (expression, expected) in declaration.examples {
            assert_eq!(evaluate(expression), *expected, "{expression}");
        }
    }
}

#[test]
fn values_and_errors() {
    let overflow = "error: a result is out of range";
    let by_zero = "error: division by zero";
    let cases = [
        ("9223372036854775807 + 1", overflow),
        ("-9223372036854775808 - 1", overflow),
        ("4611686018427387904 * 2", overflow),
        ("-9223372036854775808 / -1", overflow),
        ("-9223372036854775808 % -1", "0"),
        ("1 / 0", by_zero),
        ("1 % 0", by_zero),
        ("1.0 / 0", by_zero),
        ("1.0s / 0.0s", by_zero),
        ("0x1I / 0x0I", by_zero),
        ("true + true", "2"),
        ("true + 1.5", "2.5"),
        ("2 ** 62", "4611686018427387904"),
        ("2 ** 63", overflow),
        ("-2 ** 63", "-9223372036854775808"),
        ("-1 ** 4611686018427387905", "-1"),
        ("2 ** -1", "error: **: a negative exponent needs a double"),
        ("4 ** 0.5", "2.0"),
        ("0x2I ** 159", "0x8000000000000000000000000000000000000000I"),
        ("0x2I ** 160", "0x0000000000000000000000000000000000000000I"),
        ("1 << 62", "4611686018427387904"),
        ("1 << 63", overflow),
        ("-1 << 63", "-9223372036854775808"),
        ("0 << 4000", "0"),
        ("1 << 64", overflow),
        ("1 << -1", "error: <<: cannot shift by a negative number of bits"),
        ("1 << 0x9fI", "0x8000000000000000000000000000000000000000I"),
        (
            "0x8000000000000000000000000000000000000000I >> 159",
            "0x0000000000000000000000000000000000000001I",
        ),
        ("6 & 3.0", "error: & cannot take int64 and double"),
        ("true ^ 3", "2"),
        ("0xf0I | 15", "0x00000000000000000000000000000000000000ffI"),
        ("\"a\" + null", "\"anull\""),
        ("1.5s + \"!\"", "\"1.500000000s!\""),
        ("null + 1", "error: + cannot take null and int64"),
        ("[1] + [2]", "error: + cannot take list and list"),
        ("1.0t + 1.0t", "error: + cannot take time and time"),
        ("2 + 10.0t", "12.000000000t"),
        ("0.5 + 10.0s", "10.500000000s"),
        ("10 - 2.5s", "7.500000000s"),
        ("10 - 2.5t", "error: - cannot take int64 and time"),
        ("9223372036.0t + 1000000000000", overflow),
        ("1.0t + infinity", overflow),
        ("1.0t - nan", overflow),
        ("1.5s * 2.5", "3.750000000s"),
        ("-2 * 1.5s", "-3.000000000s"),
        ("3.0s / 0.5", "6.000000000s"),
        ("7.0s % 2", "1.000000000s"),
        ("1.5s * 1.5s", "error: * cannot take interval and interval"),
        ("1.5s < 2", "true"),
        ("1.5s == 1.5", "true"),
        ("2 == 2.0s", "true"),
        ("2.0t == 2", "false"),
        ("1 <> 2", "true"),
        ("[1, 2] < [1, 3]", "true"),
        ("null < false", "true"),
        ("\"9\" > 10", "true"),
        ("[1] ||| 2", "error: ||| cannot take list and int64"),
        ("!1.0", "error: ! cannot take double"),
        ("~1.0", "error: ~ cannot take double"),
    ];
    for (expression, expected) in cases {
        assert_eq!(evaluate(expression), expected, "{expression}");
    }
}

#[test]
fn joined_texts_and_lists_have_a_bound() {
    let long = "x".repeat(9 << 20);
    let text = Value::Str(&long);
    let joined = show(|scope| {
        let text = Value::Str(scope.scratch.alloc_str(&long));
        Binary::Add.apply(text, text, scope)
    });
    assert_eq!(joined, "error: +: the result is larger than 16777216 bytes");
    let mut list = crate::flat::SeqBuilder::new();
    list.push(text);
    let list = OwnedValue::new(Value::List(list.as_seq()));
    let joined = show(|scope| {
        let list = crate::limits::copy_into(list.get(), scope.scratch);
        Binary::Append.apply(list, list, scope)
    });
    assert_eq!(joined, "error: |||: the result is larger than 16777216 bytes");
}

/// A value of each type, of the size of small numbers.
fn samples() -> Vec<OwnedValue> {
    let texts = [
        "null", "true", "3", "2.5", "\"a\"", "b\"a\"", "0x5I", "7.0t", "2.0s", "[1]", "v[1]",
        "{[1]}",
    ];
    texts.into_iter().map(read).collect()
}

#[test]
fn declared_types_are_those_that_evaluate() {
    for (operator, left, right) in Binary::ALL.into_iter().flat_map(|operator| {
        let pair = move |left: OwnedValue| samples().into_iter().map(move |r| (left.clone(), r));
        samples().into_iter().flat_map(pair).map(move |(left, right)| (operator, left, right))
    }) {
        let types = [&left, &right].map(|value| TypeSet::of(value.get().type_of()));
        let declared = operator.result_type(types[0], types[1]);
        let mut found = None;
        let shown = show(|scope| {
            let [left, right] =
                [&left, &right].map(|value| crate::limits::copy_into(value.get(), scope.scratch));
            let result = operator.apply(left, right, scope);
            found = result.as_ref().ok().map(|value| TypeSet::of(value.type_of()));
            result
        });
        assert_eq!(found, declared, "{left} {operator} {right} gives {shown}");
    }
    for (operator, operand) in
        Unary::ALL.into_iter().flat_map(|u| samples().into_iter().map(move |s| (u, s)))
    {
        let declared = operator.result_type(TypeSet::of(operand.get().type_of()));
        let mut found = None;
        show(|scope| {
            let operand = crate::limits::copy_into(operand.get(), scope.scratch);
            let result = operator.apply(operand, scope);
            found = result.as_ref().ok().map(|value| TypeSet::of(value.type_of()));
            result
        });
        assert_eq!(found, declared, "{operator}{operand}");
    }
}

#[test]
fn types_of_mixed_columns_are_joined() {
    let mixed = TypeSet::INT.union(TypeSet::TEXT);
    let joined = Binary::Add.result_type(mixed, TypeSet::INT);
    assert_eq!(joined, Some(TypeSet::INT.union(TypeSet::TEXT)));
    assert_eq!(Binary::Multiply.result_type(TypeSet::TEXT, TypeSet::INT), None);
    assert_eq!(Binary::Less.result_type(TypeSet::TEXT, TypeSet::INT), Some(TypeSet::BOOL));
    assert_eq!(Type::ALL.len(), samples().len());
    let lines: Vec<_> = Binary::Append.declaration().signature_lines().collect();
    assert_eq!(lines.last().map(String::as_str), Some("vector ||| vector -> vector"));
}

/// The definition of `in` written out, for each kind of interval.
#[expect(clippy::nonminimal_bool, reason = "as the language defines it")]
fn in_ring_by_definition(v: i64, f: i64, t: i64, low: End, high: End) -> bool {
    match (low, high) {
        (End::Open, End::Closed) => (v > f && v <= t) || (t <= f && v > f) || (v <= t && t <= f),
        (End::Closed, End::Open) => (v >= f && v < t) || (t <= f && v >= f) || (v < t && t <= f),
        (End::Closed, End::Closed) => {
            (v >= f && v <= t) || (t <= f && v >= f) || (v <= t && t <= f)
        }
        (End::Open, End::Open) => (v > f && v < t) || (t <= f && v > f) || (v < t && t <= f),
    }
}

#[test]
fn ring_intervals_match_their_definition_and_a_walk() {
    /// Numbers on a small ring.
    const RING: i64 = 6;
    let ends = [End::Open, End::Closed];
    let kinds = ends.into_iter().flat_map(|low| ends.map(|high| (low, high)));
    for (low, high) in kinds {
        for (v, f, t) in
            (0..RING).flat_map(|v| (0..RING).flat_map(move |f| (0..RING).map(move |t| (v, f, t))))
        {
            let [value, from, to] = [v, f, t].map(Value::Int);
            let found = in_ring(value, from, to, low, high);
            assert_eq!(found, in_ring_by_definition(v, f, t, low, high), "{v} {f} {t}");
            // Walking clockwise from f to t meets v in between or at an end that belongs.
            let inside = (1..RING).map(|step| (f + step) % RING).take_while(|at| *at != t);
            let walked = inside.into_iter().any(|at| at == v)
                || (v == f && low == End::Closed)
                || (v == t && high == End::Closed);
            let walked =
                if f == t && (low, high) != (End::Open, End::Open) { true } else { walked };
            assert_eq!(found, walked, "{v} in {f}, {t}");
        }
    }
}

#[test]
fn ring_intervals_take_any_ordered_type() {
    let cases = [
        ("\"b\"", "\"a\"", "\"c\"", true),
        ("\"d\"", "\"a\"", "\"c\"", false),
        ("\"d\"", "\"c\"", "\"a\"", true),
        ("0x5I", "3", "7", true),
        ("1.5s", "1", "2", true),
        ("2.5", "1", "2", false),
    ];
    for (v, f, t, expected) in cases {
        let [v, f, t] = [v, f, t].map(read);
        let found = in_ring(v.get(), f.get(), t.get(), End::Open, End::Closed);
        assert_eq!(found, expected, "{v} in ({f}, {t}]");
    }
}

/// An identifier as bits, the lowest first: the model of ring arithmetic.
fn bits(id: Id) -> Vec<u8> {
    id.to_be_bytes().iter().rev().flat_map(|byte| (0..8).map(move |i| byte >> i & 1)).collect()
}

fn from_bits(bits: &[u8]) -> Id {
    let mut bytes = [0; Id::BYTES];
    for (i, bit) in bits.iter().enumerate().take(Id::BITS as usize) {
        bytes[Id::BYTES - 1 - i / 8] |= bit << (i % 8);
    }
    Id::from_be_bytes(bytes)
}

/// Schoolbook addition, bit by bit.
fn add_bits(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut carry = 0;
    let add = |(x, y): (&u8, &u8)| {
        let sum = x + y + carry;
        carry = sum >> 1;
        sum & 1
    };
    a.iter().zip(b).map(add).collect()
}

proptest! {
    #[test]
    fn id_arithmetic_is_that_of_its_bits(a in any_id(), b in any_id(), shift in 0usize..170) {
        let sum = from_bits(&add_bits(&bits(a), &bits(b)));
        prop_assert_eq!(a.wrapping_add(b), sum);
        prop_assert_eq!(sum.wrapping_sub(b), a);
        let mut shifted = vec![0; shift];
        shifted.extend(bits(a));
        prop_assert_eq!(a.shift_left(shift as u32), from_bits(&shifted));
        let rest: Vec<u8> = bits(a).into_iter().skip(shift).collect();
        prop_assert_eq!(a.shift_right(shift as u32), from_bits(&rest));
        let mut product = vec![0; 160];
        for (i, _) in bits(b).iter().enumerate().filter(|(_, bit)| **bit == 1) {
            let mut shifted = vec![0; i];
            shifted.extend(bits(a));
            product = add_bits(&product, &shifted);
        }
        prop_assert_eq!(wide::multiply(a, b), from_bits(&product));
    }

    #[test]
    fn id_division_gives_back_the_dividend(a in any_id(), b in any_id()) {
        match wide::divide(a, b) {
            None => prop_assert_eq!(b, Id::ZERO),
            Some((quotient, rest)) => {
                prop_assert!(rest < b);
                prop_assert_eq!(wide::multiply(quotient, b).wrapping_add(rest), a);
            }
        }
    }

    #[test]
    fn small_ids_compute_like_numbers(a in 0u64..1 << 31, b in 1u64..1 << 31, e in 0u32..5) {
        let id = |value: u128| {
            let mut bytes = [0; Id::BYTES];
            bytes[4..].copy_from_slice(&value.to_be_bytes());
            Id::from_be_bytes(bytes)
        };
        let (wide_a, wide_b) = (u128::from(a), u128::from(b));
        prop_assert_eq!(wide::multiply(id(wide_a), id(wide_b)), id(wide_a * wide_b));
        let divided = wide::divide(id(wide_a * wide_b + 1), id(wide_b)).unwrap();
        let exact = (wide_a * wide_b + 1) / wide_b;
        prop_assert_eq!(divided, (id(exact), id((wide_a * wide_b + 1) % wide_b)));
        prop_assert_eq!(wide::power(id(wide_a), id(e.into())), id(wide_a.pow(e)));
    }

    #[test]
    fn equality_agrees_with_order_and_hash(a in any_value(), b in any_value()) {
        let (a, b) = (a.get(), b.get());
        prop_assert_eq!(a.equal(&b), a.compare(&b).is_eq());
        prop_assert_eq!(a.compare(&b), b.compare(&a).reverse());
        if a.equal(&b) {
            prop_assert_eq!(a.hash(&Secret::FIXED), b.hash(&Secret::FIXED));
        }
    }

    #[test]
    fn numbers_agree_with_order_and_hash(a in any_number(), b in any_number(), c in any_number()) {
        let (a, b, c) = (a.get(), b.get(), c.get());
        prop_assert_eq!(a.compare(&b), b.compare(&a).reverse());
        if a.equal(&b) {
            prop_assert_eq!(a.hash(&Secret::FIXED), b.hash(&Secret::FIXED));
        }
        let mut sorted = [a, b, c];
        sorted.sort_by(Value::total_order);
        prop_assert!(sorted[0].compare(&sorted[2]).is_le());
        prop_assert!(sorted[0].compare(&sorted[1]).is_le());
        prop_assert!(sorted[1].compare(&sorted[2]).is_le());
    }

    #[test]
    fn total_order_is_one(a in any_value(), b in any_value(), c in any_value()) {
        let mut sorted = [a.get(), b.get(), c.get()];
        sorted.sort_by(Value::total_order);
        prop_assert!(sorted[0].total_order(&sorted[1]).is_le());
        prop_assert!(sorted[1].total_order(&sorted[2]).is_le());
        prop_assert!(sorted[0].total_order(&sorted[2]).is_le());
    }

    #[test]
    fn operators_never_panic(a in any_value(), b in any_value()) {
        for operator in Binary::ALL {
            let declared = operator.result_type(
                TypeSet::of(a.get().type_of()),
                TypeSet::of(b.get().type_of()),
            );
            show(|scope| {
                let [a, b] =
                    [&a, &b].map(|value| crate::limits::copy_into(value.get(), scope.scratch));
                let result = operator.apply(a, b, scope);
                if let Ok(value) = &result {
                    assert!(declared.is_some_and(|types| types.contains(value.type_of())));
                } else if declared.is_none() {
                    assert!(matches!(result, Err(EvalError::Type { .. })));
                }
                result
            });
        }
    }
}
