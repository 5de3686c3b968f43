use std::collections::BTreeSet;

use super::index::Index;
use super::*;
use crate::flat::SeqBuilder;
use crate::id::Id;
use crate::value::Value;
use tidemill_stdx::keyed::Secret;
use tidemill_stdx::rng::Rng;

fn table(key: &[u32], indexes: &[&[u32]]) -> Table {
    let spec = TableSpec {
        arity: 2,
        key: Key::Columns(key.to_vec()),
        lifetime_ns: None,
        size_max: None,
        indexes: indexes.iter().map(|columns| columns.to_vec()).collect(),
        ordered: Vec::new(),
    };
    Table::new(spec, Secret::new(1))
}

fn ints(a: i64, b: i64) -> [Value<'static>; 2] {
    [Value::Int(a), Value::Int(b)]
}

fn dump(table: &Table) -> Vec<(i64, i64)> {
    let int = |row, column| table.value(row, column).as_int().unwrap();
    table.rows(Access::Scan, &[], Visible::Live).map(|row| (int(row, 0), int(row, 1))).collect()
}

#[test]
fn an_equal_row_is_refreshed_and_another_with_its_key_replaces_it() {
    let mut table = table(&[0], &[]);
    let Ok(Inserted::New { row, replaced: None }) = table.insert(&ints(1, 10), 0) else { panic!() };
    assert_eq!(table.insert(&ints(1, 10), 1), Ok(Inserted::Refreshed(row)));
    let second = table.insert(&ints(1, 20), 2);
    assert_eq!(second, Ok(Inserted::New { row: RowId(1), replaced: Some(row) }));
    assert_eq!(dump(&table), [(1, 20)]);
    assert!(table.is_dying(row));
    assert_eq!(table.rows(Access::Primary, &[Value::Int(1)], Visible::Ever).count(), 2);
    table.settle();
    assert_eq!(table.rows(Access::Primary, &[Value::Int(1)], Visible::Ever).count(), 1);
}

#[test]
fn a_row_deleted_and_inserted_in_one_commit_keeps_its_id() {
    let mut table = table(&[0, 1], &[]);
    table.insert(&ints(1, 10), 0).unwrap();
    table.settle();
    let row = table.find(&ints(1, 10)).unwrap();
    table.remove(row);
    assert_eq!(table.len(), 0);
    assert_eq!(table.insert(&ints(1, 10), 0), Ok(Inserted::Revived { row, replaced: None }));
    table.settle();
    assert_eq!(dump(&table), [(1, 10)]);
}

#[test]
fn indexes_give_rows_in_order_of_insertion_through_compactions() {
    let mut table = table(&[0], &[&[1]]);
    for round in 0..5 {
        for i in 0..100 {
            table.insert(&ints(i, (i + round) % 3), 0).unwrap();
        }
        table.settle();
        table.prepare_all();
        for group in 0..3 {
            let key = [Value::Int(group)];
            let rows = table.rows(Access::Index(0), &key, Visible::Live);
            let got: Vec<i64> = rows.map(|row| table.value(row, 0).as_int().unwrap()).collect();
            let want: Vec<i64> =
                dump(&table).into_iter().filter(|&(_, g)| g == group).map(|(i, _)| i).collect();
            assert_eq!(got, want);
        }
        assert!(table.rows < 233, "dead rows are compacted away: {}", table.rows);
    }
}

#[test]
fn columns_widen_without_losing_what_they_hold() {
    let mut table = table(&[0], &[&[1]]);
    let mut list = SeqBuilder::new();
    list.push(Value::Str("an element that is rather long"));
    let long = "a text of more than fifteen bytes";
    let values = [
        Value::Int(7),
        Value::Int(7 << 40),
        Value::Double(0.5),
        Value::Str("short"),
        Value::Str(long),
        Value::Bytes(&[1; 30]),
        Value::Null,
        Value::Id(Id::from_int(-1)),
        Value::Time(3),
        Value::List(list.as_seq()),
    ];
    for (i, value) in values.iter().enumerate() {
        table.insert(&[Value::Int(i as i64), *value], 0).unwrap();
        table.prepare_all();
        for (j, want) in values[..=i].iter().enumerate() {
            let row = table.find(&[Value::Int(j as i64), Value::Null]).unwrap();
            assert_eq!(table.value(row, 1), *want);
            assert_eq!(table.value(row, 1).type_of(), want.type_of());
            assert_eq!(table.rows(Access::Index(0), &[*want], Visible::Live).count(), 1);
        }
    }
}

/// Texts and bytes of every length about those that fit into the words of a column, in columns of
/// texts and of anything, one after the other.
#[test]
fn texts_of_every_length_come_back() {
    let text = |length: usize| "abcdefghijklmnopqrstuvwxyz".repeat(2)[..length].to_owned();
    for first in [Value::Str("a text"), Value::Null] {
        let mut table = table(&[0], &[]);
        table.insert(&[Value::Int(-1), first], 0).unwrap();
        for length in 0..40 {
            let text = text(length);
            let value = match first {
                Value::Null if length % 2 == 1 => Value::Bytes(text.as_bytes()),
                _ => Value::Str(&text),
            };
            table.insert(&[Value::Int(length as i64), value], 0).unwrap();
        }
        for length in 0..40 {
            let row = table.find(&[Value::Int(length as i64), Value::Null]).unwrap();
            let found = table.value(row, 1);
            let bytes = found.as_str().map(str::as_bytes).or(match found {
                Value::Bytes(bytes) => Some(bytes),
                _ => None,
            });
            assert_eq!(bytes, Some(text(length).as_bytes()));
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "a large table")]
fn a_pair_of_small_integers_costs_two_words() {
    let mut table = table(&[0, 1], &[]);
    for i in 0..100_000 {
        table.insert(&ints(i, i + 1), 0).unwrap();
    }
    assert_eq!(table.words.len() * 4 / table.len(), 8);
}

#[test]
#[cfg_attr(miri, ignore = "thousands of long texts")]
fn long_values_of_deleted_rows_are_reclaimed() {
    let mut table = table(&[0], &[]);
    for i in 0..10_000 {
        let text = format!("a long text that changes every time {i}");
        table.insert(&[Value::Int(0), Value::Str(&text)], 0).unwrap();
        table.settle();
    }
    assert!(table.heap.bytes.len() < 20_000, "{}", table.heap.bytes.len());
    assert!(table.words.len() < 1000);
}

#[test]
fn lists_of_deleted_rows_are_reclaimed() {
    let mut table = table(&[0], &[]);
    for i in 0..200 {
        let mut list = SeqBuilder::new();
        list.push(Value::Str(&format!("a long text that changes every time {i}")));
        list.push(Value::Str(&"x".repeat(500)));
        // Now and then another value, so that the column takes anything.
        let value = if i % 20 == 0 { Value::Null } else { Value::List(list.as_seq()) };
        for key in 0..4 {
            table.insert(&[Value::Int(key), value], 0).unwrap();
        }
        table.settle();
    }
    assert!(table.heap.bytes.len() < 20_000, "{}", table.heap.bytes.len());
}

#[test]
fn rows_expire_by_their_last_refresh() {
    let mut table = Table::new(
        TableSpec { lifetime_ns: Some(10), size_max: Some(2), ..table(&[0], &[]).spec },
        Secret::new(1),
    );
    table.insert(&ints(1, 0), 0).unwrap();
    table.insert(&ints(2, 0), 4).unwrap();
    assert_eq!(table.next_expiry_ns(), Some(10));
    table.insert(&ints(1, 0), 6).unwrap();
    assert_eq!(table.next_expiry_ns(), Some(14));
    assert_eq!(table.expired(13), None);
    let row = table.expired(14).unwrap();
    assert_eq!(table.value(row, 0), Value::Int(2));
    table.insert(&ints(3, 0), 14).unwrap();
    assert_eq!(table.over_size(), Some(row));
    table.remove(row);
    table.settle();
    assert_eq!(table.over_size(), None);
    assert_eq!(table.next_expiry_ns(), Some(16));
}

#[test]
fn a_bag_keeps_equal_rows() {
    let mut table = Table::new(TableSpec { key: Key::Bag, ..table(&[], &[]).spec }, Secret::new(1));
    for _ in 0..3 {
        table.insert(&ints(1, 1), 0).unwrap();
    }
    assert_eq!(table.len(), 3);
    assert_eq!(table.find_for_delete(&ints(1, 1)).len(), 3);
    assert!(table.find_for_delete(&ints(1, 2)).is_empty());
}

#[test]
fn a_bag_of_many_equal_rows_finds_those_that_are_left() {
    let spec = TableSpec { key: Key::Bag, ..table(&[], &[]).spec };
    let mut table = Table::new(spec, Secret::new(1));
    // A scan of the equal rows before each would examine 20 thousand million.
    let rows = if cfg!(miri) { 300 } else { 200_000 };
    for row in 0..rows {
        table.insert(&ints(i64::from(row % 100 == 0), 1), 0).unwrap();
    }
    table.settle();
    let equal = table.find_for_delete(&ints(0, 1));
    assert_eq!(equal.len(), rows - rows / 100);
    // One row is removed and two are not, then all of another kind go; what is left is compacted.
    for &row in equal.iter().step_by(3) {
        table.remove(row);
    }
    let left = equal.len() - equal.len().div_ceil(3);
    let key = [Value::Int(0), Value::Int(1)];
    assert_eq!(table.rows(Access::Primary, &key, Visible::Live).count(), left);
    assert_eq!(table.rows(Access::Primary, &key, Visible::Before).count(), equal.len());
    table.settle();
    for row in table.find_for_delete(&ints(1, 1)) {
        table.remove(row);
    }
    for row in table.find_for_delete(&ints(0, 1)).split_off(10) {
        table.remove(row);
    }
    table.settle();
    table.insert(&ints(0, 1), 0).unwrap();
    assert_eq!((table.len(), table.next_row()), (11, RowId(11)));
    let found: Vec<RowId> = table.rows(Access::Primary, &key, Visible::Live).collect();
    assert_eq!(found, (0..11).map(RowId).collect::<Vec<_>>());
    assert_eq!(table.find(&ints(0, 1)), Some(RowId(0)));
    assert_eq!(table.find_equal(&ints(1, 1)), None);
}

/// Integers whose hash, as the only column of a key, is `wanted` if secrets are the published one.
fn chosen(rows: usize, wanted: impl Fn(u64) -> bool) -> Vec<i64> {
    let hash = |key: i64| Secret::FIXED.combine(0, Value::Int(key).hash(&Secret::FIXED));
    (0..).filter(|&key| wanted(hash(key))).take(rows).collect()
}

#[test]
#[cfg_attr(miri, ignore = "statistics of many hashes")]
fn keys_that_collide_without_a_secret_fill_no_bucket_with_one() {
    let attack = chosen(20_000, |hash| hash >> 53 == 7);
    let longest = |secret: Secret| {
        let spec = table(&[0], &[]).spec;
        let mut table = Table::new(spec, secret);
        for &key in &attack {
            table.insert(&ints(key, 1), 0).unwrap();
        }
        assert_eq!(table.len(), attack.len());
        table.longest_probe()
    };
    // Each insertion looks at all rows before it.
    assert!(longest(Secret::FIXED) >= attack.len());
    for seed in 0..10 {
        let longest = longest(Secret::new(seed));
        assert!(longest < 600, "{seed}: {longest}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "statistics of many hashes")]
fn keys_that_collide_without_a_secret_are_not_compared_with_one() {
    // Buckets follow the lowest bits, tags the highest.
    let attack = chosen(2000, |hash| hash & 0x1FF == 0 && hash >> 57 == 3);
    let compared = |secret: Secret| {
        let compared = std::cell::Cell::new(0);
        let hash = |row: usize| secret.combine(0, Value::Int(attack[row]).hash(&secret));
        let mut index = Index::new(vec![0]);
        for row in 0..attack.len() {
            let same = |_| {
                compared.set(compared.get() + 1);
                false
            };
            index.append(RowId(row as u32), hash(row), same, |other| hash(other.0 as usize));
        }
        compared.get()
    };
    let without = compared(Secret::FIXED);
    assert!(without > 50 * attack.len(), "{without}");
    for seed in 0..10 {
        let with = compared(Secret::new(seed));
        assert!(with < attack.len(), "{seed}: {with}");
    }
}

#[test]
fn rows_put_in_as_words_are_found_whatever_is_done_beside() {
    let mut waited = 0;
    for seed in 0..if cfg!(miri) { 1 } else { 6 } {
        let mut random = Rng::new(seed);
        let mut table = table(&[0, 1], &[&[0]]);
        let mut model: BTreeSet<(i64, i64)> = BTreeSet::new();
        for round in 0..if cfg!(miri) { 8 } else { 40 } {
            // Later rounds have integers that no matrix has.
            let below = 60 + seed * 20 + round;
            let pair = |random: &mut Rng| (random.below(below), random.below(3 * below));
            if let Fit::Widened(layout) = table.fit(&[WordKind::Half, WordKind::Half]) {
                table.widen(layout);
            }
            for _ in 0..random.below(4) {
                let rows: Vec<(u64, u64)> = (0..random.below(if cfg!(miri) { 40 } else { 900 }))
                    .map(|_| pair(&mut random))
                    .collect();
                // After a removal, rows come as values alone until the table settles.
                if matches!(table.fit(&[WordKind::Half, WordKind::Half]), Fit::Already) {
                    let words = rows.iter().flat_map(|&(a, b)| [a as u32, b as u32]);
                    table.insert_new_words(&words.collect::<Vec<_>>());
                } else {
                    rows.iter().for_each(|&(a, b)| {
                        table.insert(&ints(a as i64, b as i64), 0).unwrap();
                    })
                }
                model.extend(rows.iter().map(|&(a, b)| (a as i64, b as i64)));
                waited += usize::from(table.linked < table.rows);
            }
            for _ in 0..random.below(20) {
                let (a, b) = pair(&mut random);
                let (a, b) = (a as i64, b as i64);
                let found = table.find(&ints(a, b));
                assert_eq!(found.is_some(), model.contains(&(a, b)), "{seed} {round}");
                assert_eq!(table.find_for_delete(&ints(a, b)).len(), usize::from(found.is_some()));
                match (random.below(8), found) {
                    (0, Some(row)) => {
                        table.remove(row);
                        model.remove(&(a, b));
                    }
                    (1, _) => {
                        table.insert(&ints(a, b), 0).unwrap();
                        model.insert((a, b));
                    }
                    _ => {}
                }
            }
            if random.below(3) == 0 {
                table.settle();
            }
            table.prepare_all();
            let (a, _) = pair(&mut random);
            let rows = table.rows(Access::Index(0), &[Value::Int(a as i64)], Visible::Live);
            assert_eq!(rows.count(), model.range((a as i64, 0)..(a as i64 + 1, 0)).count());
            assert_eq!(dump(&table).into_iter().collect::<BTreeSet<_>>(), model);
            assert_eq!(table.len(), model.len());
        }
    }
    assert!(cfg!(miri) || waited > 10, "rows waited to be linked {waited} times");
}

#[test]
fn ages_of_rows_outlast_compactions() {
    let (mut random, mut compacted) = (Rng::new(3), 0);
    let mut table = table(&[0], &[]);
    // Oldest first.
    let mut model: Vec<i64> = Vec::new();
    for round in 0..if cfg!(miri) { 12 } else { 200 } {
        for value in round * 10..round * 10 + 10 {
            table.insert(&ints(value, 0), 0).unwrap();
            model.push(value);
        }
        for _ in 0..random.below(45).min(model.len() as u64) {
            let value = model.remove(random.below(model.len() as u64) as usize);
            let row = table.find(&ints(value, 0)).unwrap();
            table.remove(row);
            if random.below(2) == 0 {
                table.revive(row);
                model.push(value);
            }
        }
        let rows = table.next_row();
        table.settle();
        compacted += usize::from(table.next_row() < rows);
        let row = |value: i64| table.find(&ints(value, 0)).unwrap();
        for pair in model.windows(2) {
            let (old, young) = (row(pair[0]), row(pair[1]));
            let ranks = &table.ranks;
            assert!(ranks.is_older(old, young) && !ranks.is_older(young, old), "{round}");
        }
    }
    assert!(compacted > if cfg!(miri) { 0 } else { 2 }, "{compacted}");
}
