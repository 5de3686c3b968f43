//! Aggregates: declared examples, types, errors, and independence of the order.

use proptest::prelude::*;
use tidemill_stdx::region::Bump;

use super::*;
use crate::id::Id;
use crate::testing::{Still, any_value, read, show};
use crate::types::TypeSet;

fn aggregate(aggregate: Aggregate, values: &[Value<'_>]) -> String {
    show(|scope| {
        let mut accumulator = Accumulator::new(aggregate, Secret::new(1));
        values.iter().try_for_each(|value| accumulator.add(*value))?;
        accumulator.finish(scope)
    })
}

fn aggregate_text(name: &str, values: &str) -> String {
    let of = Aggregate::from_name(name).expect("an aggregate");
    let values = read(values);
    let values: Vec<_> = values.get().as_seq().into_iter().flatten().collect();
    aggregate(of, &values)
}

#[test]
fn declared_examples_hold() {
    for declaration in catalogue() {
        assert!(!declaration.examples.is_empty(), "{declaration} has no example");
        for (values, expected) in declaration.examples {
            let found = aggregate_text(declaration.name, values);
            assert_eq!(found, *expected, "{} of {values}", declaration.name);
        }
        let empty = aggregate_text(declaration.name, "[]");
        assert_eq!(empty, declaration.empty.to_string(), "{}", declaration.name);
    }
}

#[test]
fn values_and_errors() {
    let top = "error: TOPK: takes lists [K, V] with an integer K >= 0";
    let cases = [
        ("SUM", "[9223372036854775807, 1, -1]", "9223372036854775807"),
        ("SUM", "[9223372036854775807, 1]", "error: a result is out of range"),
        ("SUM", "[true, 2]", "3"),
        ("SUM", "[0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]", "1.0"),
        ("SUM", "[1e100, 1.0, -1e100]", "1.0"),
        ("SUM", "[9007199254740993, 0.0]", "9007199254740992.0"),
        ("SUM", "[9007199254740993, 0.5, 0.5]", "9007199254740994.0"),
        ("SUM", "[infinity, -infinity]", "nan"),
        ("SUM", "[1e308, 1e308, -1e308]", "infinity"),
        (
            "SUM",
            "[0xffffffffffffffffffffffffffffffffffffffffI, 2]",
            "0x0000000000000000000000000000000000000001I",
        ),
        ("SUM", "[-1, 0x3I]", "0x0000000000000000000000000000000000000002I"),
        ("SUM", "[1.5s, 2.5s]", "4.000000000s"),
        ("SUM", "[1, \"a\"]", "error: SUM cannot take string"),
        ("SUM", "[null]", "error: SUM cannot take null"),
        ("AVG", "[1, 2.0]", "1.5"),
        ("AVG", "[9223372036854775807, 9223372036854775807]", "9.223372036854776e18"),
        ("AVG", "[0x1I]", "error: AVG cannot take id"),
        ("MIN", "[\"b\", \"a\"]", "\"a\""),
        ("MIN", "[1, null]", "null"),
        ("MIN", "[1, 1.0]", "1"),
        ("MAX", "[2.0s, 3]", "3"),
        ("COUNTDISTINCT", "[1, 1.0, true, 0x1I, \"1\", [1], [1.0]]", "3"),
        ("MKSET", "[3, \"a\", 1.0, 3.0]", "[1.0, 3, \"a\"]"),
        ("TOPK", "[[1, 5], [3, 9], [2, 7]]", "[9, 7, 5]"),
        ("TOPK", "[[0, 5]]", "[]"),
        ("TOPK", "[[-1, 5]]", top),
        ("TOPK", "[[1, 5, 6]]", top),
        ("TOPK", "[5]", top),
    ];
    for (name, values, expected) in cases {
        assert_eq!(aggregate_text(name, values), expected, "{name} of {values}");
    }
}

#[test]
fn a_value_that_cannot_be_taken_leaves_the_rest() {
    let mut sum = Accumulator::new(Aggregate::Avg, Secret::new(1));
    sum.add(Value::Int(1)).unwrap();
    assert!(sum.add(Value::Str("x")).is_err());
    sum.add(Value::Int(3)).unwrap();
    let (scratch, ambient) = (Bump::new(), Still::default());
    let scope = Scope { scratch: &scratch, ambient: &ambient };
    assert_eq!(sum.finish(scope).unwrap(), Value::Double(2.0));
}

#[test]
fn names_in_any_case_with_and_without_prefix() {
    for name in ["count", "COUNT", "a_count", "A_Count"] {
        assert_eq!(Aggregate::from_name(name), Some(Aggregate::Count), "{name}");
    }
    for name in ["", "a_", "counts", "ä_count"] {
        assert_eq!(Aggregate::from_name(name), None, "{name}");
    }
    assert_eq!(Aggregate::from_name("a_TopK").map(|a| a.to_string()).as_deref(), Some("TOPK"));
}

#[test]
fn types_include_those_of_empty_groups() {
    let null = TypeSet::of(Type::Null);
    let result = |aggregate: Aggregate, values| aggregate.result_type(values);
    assert_eq!(result(Aggregate::Min, TypeSet::TEXT), Some(TypeSet::TEXT.union(null)));
    assert_eq!(result(Aggregate::Sum, TypeSet::DOUBLE), Some(TypeSet::NUMBER));
    assert_eq!(result(Aggregate::Sum, TypeSet::TEXT), None);
    assert_eq!(result(Aggregate::Avg, TypeSet::INT), Some(TypeSet::DOUBLE.union(null)));
    let printed = Aggregate::Avg.declaration().to_string();
    assert_eq!(printed, "AVG<bool|int64|double> -> double, AVG<interval> -> interval");
}

/// More changes of a running aggregate than this are not made.
const CHANGES_MAX: usize = if cfg!(miri) { 5 } else { 40 };

proptest! {
    #[test]
    fn sums_of_doubles_do_not_depend_on_order(
        mut values in proptest::collection::vec(
            prop_oneof![any::<f64>(), -1e3..1e3f64, Just(1e16), Just(-1e16), Just(1.0)], 0..20),
    ) {
        // Whether sums that overflow on the way are infinite depends on the order.
        values.retain(|value| value.is_nan() || value.abs() < 1e300);
        let sum = |values: &[f64]| {
            let mut sum = ExactSum::default();
            values.iter().for_each(|value| sum.add(*value));
            sum.total()
        };
        let forward = sum(&values);
        values.reverse();
        let backward = sum(&values);
        values.sort_by(f64::total_cmp);
        let sorted = sum(&values);
        if !forward.is_nan() {
            prop_assert_eq!(forward.to_bits(), backward.to_bits());
            prop_assert_eq!(forward.to_bits(), sorted.to_bits());
        } else {
            prop_assert!(backward.is_nan() && sorted.is_nan());
        }
    }

    #[test]
    fn sums_of_whole_doubles_are_exact(
        values in proptest::collection::vec(-(1i64 << 60)..1i64 << 60, 0..50),
    ) {
        let mut sum = ExactSum::default();
        let mut total = 0i128;
        for value in &values {
            sum.add_int(i128::from(*value));
            total += i128::from(*value);
        }
        // The cast rounds to nearest, ties to even.
        prop_assert_eq!(sum.total(), total as f64);
    }

    #[test]
    fn sets_and_counts_are_those_of_sorted_values(
        values in proptest::collection::vec(any_value(), 0..8),
    ) {
        // An integer may equal both a double and an ID that are unequal: no IDs here, then.
        let plain: Vec<_> =
            values.iter().map(OwnedValue::get).filter(|v| v.type_of() != Type::Id).collect();
        let mut different: Vec<Value<'_>> = Vec::new();
        for value in &plain {
            if !different.iter().any(|known| known.equal(value)) {
                different.push(*value);
            }
        }
        let count = aggregate(Aggregate::CountDistinct, &plain);
        prop_assert_eq!(count, different.len().to_string());
        let mut reversed = plain.clone();
        reversed.reverse();
        let set = read(&aggregate(Aggregate::MkSet, &plain));
        prop_assert!(set.get().equal(&read(&aggregate(Aggregate::MkSet, &reversed)).get()));
    }

    #[test]
    fn extremes_bound_all_values(values in proptest::collection::vec(any::<i64>(), 1..8)) {
        let plain: Vec<_> = values.iter().map(|value| Value::Int(*value)).collect();
        let least = values.iter().min().map(i64::to_string);
        prop_assert_eq!(Some(aggregate(Aggregate::Min, &plain)), least);
        let greatest = values.iter().max().map(i64::to_string);
        prop_assert_eq!(Some(aggregate(Aggregate::Max, &plain)), greatest);
    }

    /// The maintained result equals the result over the values that are left, or the group is
    /// irregular.
    #[test]
    fn running_aggregates_are_those_of_the_values_left(
        kind in 0usize..6,
        steps in proptest::collection::vec((any::<bool>(), 0usize..6, any_value()), 1..CHANGES_MAX),
    ) {
        for function in Aggregate::ALL.into_iter().chain([Aggregate::ArgMax]) {
            let Some(mut running) = Running::new(std::iter::once(function)) else { continue };
            let mut left: Vec<OwnedValue> = Vec::new();
            let mut regular = true;
            for (remove, number, any) in &steps {
                let value = match (function, kind) {
                    (Aggregate::TopK | Aggregate::ArgMax, _) => {
                        read(&format!("[{}, {number}]", number % 3))
                    }
                    (_, 0) => any.clone(),
                    (_, 1) => OwnedValue::new(Value::Int(*number as i64)),
                    (_, 2) => OwnedValue::new(Value::Double(*number as f64 / 3.0)),
                    // Numbers of several types, which compare and add up.
                    (_, 4) if number % 2 == 0 => OwnedValue::new(Value::Int(*number as i64)),
                    (_, 4) => OwnedValue::new(Value::Double(*number as f64 / 3.0)),
                    (_, 5) if number % 2 == 0 => OwnedValue::new(Value::Int(*number as i64)),
                    (_, 5) => OwnedValue::new(Value::Id(Id::from_int(*number as i64 - 3))),
                    _ => OwnedValue::new(Value::Interval(*number as i64)),
                };
                let done = if left.is_empty() || !remove {
                    left.push(value.clone());
                    running.add(&[value.get()])
                } else {
                    let gone = left.swap_remove(number % left.len());
                    running.remove(&[gone.get()])
                };
                if done.is_err() {
                    regular = false;
                    break;
                }
                let plain: Vec<_> = left.iter().map(OwnedValue::get).collect();
                let kept = show(|scope| running.values(scope).next().expect("one"));
                prop_assert_eq!(running.results() as usize, left.len());
                prop_assert_eq!(kept, aggregate(function, &plain), "{} of {:?}", function, plain);
            }
            prop_assert!(regular || matches!(kind, 0 | 4 | 5), "{} is irregular", function);
        }
    }
}
