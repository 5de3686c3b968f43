//! Look-ups by an [ordered index](super::ordered), and entering rows into it.

use std::cmp::Ordering;
use std::ops::Range;

use smallvec::SmallVec;

use super::ordered::{Group, Limit, MERGED_MAX, OrderedIndex, Side, TAIL_MAX};
use super::row::RowId;
use super::state::Table;
use crate::value::{Type, Value};

impl Table {
    /// Enters the rows that an ordered index does not know.
    pub(super) fn enter_ordered(&self, index: &mut OrderedIndex) {
        if index.unprepared(self.rows) == 0 {
            return;
        }
        let mut grown: SmallVec<[u32; 4]> = SmallVec::new();
        let prefix = std::mem::take(&mut index.prefix);
        let hasher = self.hasher(&prefix);
        for row in (index.rows_known..self.rows).map(RowId) {
            let of_group = |groups: &[Group], group: u32| RowId(groups[group as usize].rows[0]);
            let hash = hasher.hash(row);
            let same = |&group: &u32| self.agree(&prefix, row, of_group(&index.groups, group));
            let Some(&number) = index.by_prefix.find(hash, same) else {
                let number = index.groups.len() as u32;
                index.groups.push(Group { rows: vec![row.0], runs: SmallVec::new() });
                let groups = &index.groups;
                let hash_of = |&group: &u32| hasher.hash(of_group(groups, group));
                index.by_prefix.insert_unique(hash, number, hash_of);
                continue;
            };
            let group = &mut index.groups[number as usize];
            group.rows.push(row.0);
            if group.tail().len() == TAIL_MAX {
                grown.push(number);
            }
        }
        index.prefix = prefix;
        index.rows_known = self.rows;
        for number in grown {
            let column = index.column;
            sort_tail(&mut index.groups[number as usize], self, column);
        }
    }

    /// The rows of the group with this prefix that may lie within all `limits`, live or not, oldest
    /// first; `None`: all rows of the table may.
    pub(super) fn rows_in_range(
        &self,
        index: &OrderedIndex,
        hash: u64,
        same_prefix: impl Fn(RowId) -> bool,
        limits: &[Limit<'_>],
    ) -> Option<Vec<u32>> {
        if index.is_scanned(self.rows) {
            return None;
        }
        debug_assert_eq!(index.rows_known, self.rows, "the index is up to date");
        let same = |&group: &u32| same_prefix(RowId(index.groups[group as usize].rows[0]));
        let Some(&group) = index.by_prefix.find(hash, same) else { return Some(Vec::new()) };
        let group = &index.groups[group as usize];
        let ranges = ranges(group, self, index.column, limits);
        let count: usize = ranges.iter().map(ExactSizeIterator::len).sum();
        // To sort so many costs more than to look at all.
        if index.prefix.is_empty() && count > group.rows.len() / 2 {
            return None;
        }
        let mut rows = Vec::with_capacity(count);
        ranges.into_iter().for_each(|range| rows.extend_from_slice(&group.rows[range]));
        rows.sort_unstable();
        rows.dedup();
        Some(rows)
    }
}

/// Makes the tail a run, and merges runs until each is at least twice as long as the next, or long.
fn sort_tail(group: &mut Group, table: &Table, column: u32) {
    group.runs.push(group.rows.len() as u32);
    let start = |runs: &[u32], run: usize| if run == 0 { 0 } else { runs[run - 1] as usize };
    let mut last = group.runs.len() - 1;
    while last > 0 {
        let (own, before) = (start(&group.runs, last), start(&group.runs, last - 1));
        let merged = group.rows.len() - before;
        if own - before >= 2 * (group.rows.len() - own) || merged > MERGED_MAX {
            break;
        }
        group.runs.remove(last - 1);
        last -= 1;
    }
    // The sort recognises the runs in it and merges them.
    let rows = &mut group.rows[start(&group.runs, last)..];
    match table.place(column) {
        Some(place) => rows.sort_by_key(|row| place.read(table.row_words(RowId(*row)))),
        None => rows.sort_by(|a, b| {
            let (a, b) = (table.value(RowId(*a), column), table.value(RowId(*b), column));
            a.total_order(&b)
        }),
    }
}

/// Where the rows lie that may be within all limits; ranges may overlap.
fn ranges(group: &Group, table: &Table, column: u32, limits: &[Limit<'_>]) -> Ranges {
    let mut found = Ranges::new();
    let mut start = 0;
    for &end in &group.runs {
        let run = Run { table, column, rows: &group.rows, range: start..end as usize };
        run.within(limits, &mut found);
        start = end as usize;
    }
    put(&mut found, start..group.rows.len());
    found
}

type Ranges = SmallVec<[Range<usize>; 8]>;

fn put(ranges: &mut Ranges, range: Range<usize>) {
    if !range.is_empty() {
        ranges.push(range);
    }
}

/// A sorted run.
struct Run<'t> {
    table: &'t Table,
    column: u32,
    rows: &'t [u32],
    range: Range<usize>,
}

impl Run<'_> {
    fn value(&self, at: usize) -> Value<'_> {
        self.table.value(RowId(self.rows[at]), self.column)
    }

    /// The position of the first value of which `is_before` does not hold, nor of any after it.
    fn first_not(&self, is_before: impl Fn(&Value<'_>) -> bool) -> usize {
        let value = |row: &u32| self.table.value(RowId(*row), self.column);
        let rows = &self.rows[self.range.clone()];
        self.range.start + rows.partition_point(|row| is_before(&value(row)))
    }

    fn within(&self, limits: &[Limit<'_>], ranges: &mut Ranges) {
        let Range { mut start, mut end } = self.range.clone();
        for limit in limits {
            let order = |value: &Value<'_>| value.total_order(&limit.value);
            match limit.side {
                Side::Less => end = end.min(self.first_not(|value| order(value).is_lt())),
                Side::AtMost => end = end.min(self.first_not(|value| order(value).is_le())),
                Side::Greater => start = start.max(self.first_not(|value| order(value).is_le())),
                Side::AtLeast => start = start.max(self.first_not(|value| order(value).is_lt())),
            }
        }
        put(ranges, start..end);
        for limit in limits {
            self.overflowing(limit.added, ranges);
            self.compared_otherwise(&limit.value, ranges);
        }
    }

    /// The rows to which `added` cannot be added.
    fn overflowing(&self, added: i64, ranges: &mut Ranges) {
        match added.cmp(&0) {
            Ordering::Less => {
                let least = Value::Int(i64::MIN - added);
                let end = self.first_not(|value| value.total_order(&least).is_lt());
                put(ranges, self.range.start..end);
            }
            Ordering::Equal => {}
            Ordering::Greater => {
                let most = Value::Int(i64::MAX - added);
                let start = self.first_not(|value| value.total_order(&most).is_le());
                put(ranges, start..self.range.end);
            }
        }
    }

    /// The sections of values that operators compare with `value` in another order than that of the
    /// run: numbers count as IDs beside an ID, and as seconds beside an interval.
    fn compared_otherwise(&self, value: &Value<'_>, ranges: &mut Ranges) {
        const CONVERTED: [Type; 3] = [Type::Int, Type::Id, Type::Interval];
        let own = class(value);
        if !CONVERTED.contains(&own) || self.range.is_empty() {
            return;
        }
        let (first, last) = (self.value(self.range.start), self.value(self.range.end - 1));
        if class(&first) == own && class(&last) == own {
            return;
        }
        for other in CONVERTED.into_iter().filter(|other| *other != own) {
            let start = self.first_not(|value| class(value) < other);
            put(ranges, start..self.first_not(|value| class(value) <= other));
        }
    }
}

/// The type of a value, the same for all numbers.
fn class(value: &Value<'_>) -> Type {
    match value.type_of() {
        Type::Bool | Type::Double => Type::Int,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Access, Key, TableSpec, Visible};
    use super::*;
    use tidemill_stdx::keyed::Secret;
    use tidemill_stdx::rng::Rng;

    fn table(ordered: &[u32]) -> Table {
        let spec = TableSpec {
            arity: 2,
            key: Key::Columns(vec![0, 1]),
            lifetime_ns: None,
            size_max: None,
            indexes: Vec::new(),
            ordered: vec![ordered.to_vec()],
        };
        Table::new(spec, Secret::FIXED)
    }

    fn insert(table: &mut Table, row: [Value<'_>; 2]) {
        table.insert(&row, 0).expect("there is room");
    }

    fn found(table: &Table, key: &[Value<'_>], limits: &[Limit<'_>]) -> Vec<i64> {
        let rows = table.rows_within(Access::Ordered(0), key, limits, Visible::Live);
        rows.filter_map(|row| table.value(row, 1).as_int()).collect()
    }

    fn limit(side: Side, value: i64) -> Limit<'static> {
        Limit { side, value: Value::Int(value), added: 0 }
    }

    /// Rows are entered one by one, in a random order, and a few are found among many.
    #[test]
    fn few_rows_are_found_among_many() {
        let mut random = Rng::new(1);
        for (ordered, key) in [(&[1][..], &[][..]), (&[0, 1], &[Value::Int(0)])] {
            let mut table = table(ordered);
            let mut values: Vec<i64> = (0..500).collect();
            random.shuffle(&mut values);
            for (at, value) in values.iter().enumerate() {
                insert(&mut table, [Value::Int(0), Value::Int(*value)]);
                insert(&mut table, [Value::Int(1), Value::Int(*value + 1000)]);
                table.prepare_all();
                let limits = [limit(Side::AtLeast, 100), limit(Side::Less, 105)];
                let found = found(&table, key, &limits);
                assert!(found.len() < 5 + 4 + TAIL_MAX || at < 10, "{found:?}");
                let within = |value: &&i64| (100..105).contains(*value);
                let wanted: Vec<i64> = values[..=at].iter().filter(within).copied().collect();
                let found: Vec<i64> = found.iter().filter(within).copied().collect();
                assert_eq!(found, wanted, "oldest first");
            }
            let runs = table.ordered[0].groups[0].runs.len();
            assert!(runs < 12, "{runs} runs");
        }
    }

    /// Numbers count as seconds beside an interval, and as IDs beside an ID.
    #[test]
    fn values_that_are_converted_are_found() {
        let mut table = table(&[1]);
        for value in -8..8 {
            insert(&mut table, [Value::Int(0), Value::Int(value)]);
        }
        for seconds in -8..8 {
            insert(&mut table, [Value::Int(1), Value::Interval(seconds * 1_000_000_000)]);
        }
        table.prepare_all();
        for value in [Value::Interval(5_000_000_000), Value::Id(crate::Id::from_int(5))] {
            let limits = [Limit { side: Side::AtLeast, value, added: 0 }];
            let found = found(&table, &[], &limits);
            assert!([5, 6, 7].iter().all(|value| found.contains(value)), "{found:?}");
        }
    }

    /// A sum that overflows fails, so its row is found whatever the limit.
    #[test]
    fn rows_of_which_the_sum_overflows_are_found() {
        let mut table = table(&[1]);
        for value in (0..20).chain([i64::MAX - 2, i64::MAX, i64::MIN]) {
            insert(&mut table, [Value::Int(0), Value::Int(value)]);
        }
        table.prepare_all();
        let limits = [Limit { side: Side::AtMost, value: Value::Int(3), added: 2 }];
        let found = found(&table, &[], &limits);
        assert!(found.contains(&i64::MAX) && found.contains(&i64::MIN), "{found:?}");
        assert!(!found.contains(&10), "{found:?}");
    }
}
