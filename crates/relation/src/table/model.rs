//! Tables against a list of rows that is scanned for every query.

use super::*;
use crate::flat::{OwnedValue, SeqBuilder};
use crate::id::Id;
use crate::operator::compare;
use crate::value::Value;
use tidemill_stdx::keyed::Secret;
use tidemill_stdx::rng::Rng;

const ARITY: usize = 3;

/// A row as it is known since the last commit.
#[derive(Clone, Debug)]
struct Row {
    values: Vec<OwnedValue>,
    live: bool,
    dying: bool,
    /// True if it existed when the commit began.
    old: bool,
    asserted: bool,
    /// Its place among all insertions and refreshes, and when that was.
    touched: (u64, u64),
}

impl Row {
    fn values(&self) -> Vec<Value<'_>> {
        self.values.iter().map(OwnedValue::get).collect()
    }

    fn sees(&self, visible: Visible, id: usize) -> bool {
        match visible {
            Visible::Live => self.live,
            Visible::Below(limit) => self.live && id < limit.0 as usize,
            Visible::Within(first, end) => {
                self.live && (first.0 as usize..end.0 as usize).contains(&id)
            }
            // Only views use this.
            Visible::OlderThan(_) => false,
            Visible::Ever => self.live || self.dying,
            Visible::Before => self.old && (self.live || self.dying),
        }
    }
}

/// All rows by their ids; of those that died only the place is left.
struct Model {
    table: Table,
    rows: Vec<Row>,
    clock: u64,
}

/// One of few values of a kind; those of different kinds are unequal.
fn value(rng: &mut Rng, kinds: u64) -> OwnedValue {
    let number = rng.below(4) as i64;
    let mut list = SeqBuilder::new();
    list.push(Value::Int(number));
    list.push(Value::Str("an element that is rather long"));
    let mut vector = SeqBuilder::new();
    vector.push(Value::Int(number + 10));
    let long = format!("a text of more than fifteen bytes {number}");
    let short = ["", "a", "twelve bytes", "fifteen bytes.."][number as usize];
    let edge = [15, 16, 19, 20].map(|length| "e".repeat(length));
    OwnedValue::new(match rng.below(kinds) {
        0..=2 => Value::Int(number),
        3 => Value::Int(number + (1 << 40)),
        4 => Value::Str(short),
        5 => Value::Str(&long),
        6 => Value::List(list.as_seq()),
        7 => Value::Vector(vector.as_seq()),
        8 => Value::Null,
        9 => Value::Id(Id::from_be_bytes([7 + number as u8; 20])),
        10 => Value::Time(number),
        11 => Value::Bytes(edge[number as usize].as_bytes()),
        12 => Value::Double(number as f64 + 0.5),
        _ => Value::Str(&edge[number as usize]),
    })
}

fn same(one: &[Value<'_>], other: &[Value<'_>], columns: &[u32]) -> bool {
    columns.iter().all(|&at| one[at as usize].is_identical(&other[at as usize]))
}

/// A look-up that goes on in its middle finds the rest.
fn assert_rest(
    table: &Table,
    access: Access,
    columns: &[u32],
    values: &[Value<'_>],
    visible: Visible,
) {
    let key: Vec<_> = columns.iter().map(|&at| values[at as usize]).collect();
    let found: Vec<RowId> = table.rows(access, &key, visible).collect();
    if let Some(&from) = found.get(found.len() / 2) {
        let rest: Vec<RowId> = table.rows(access, &key, visible).starting_at(from).collect();
        assert_eq!(rest, found[found.len() / 2..]);
    }
}

impl Model {
    fn new(key: Key, indexes: Vec<Vec<u32>>, bounded: bool) -> Model {
        let size_max = bounded.then_some(5);
        let spec = TableSpec {
            arity: ARITY as u32,
            key,
            lifetime_ns: None,
            size_max,
            indexes,
            ordered: vec![vec![1], vec![0, 2]],
        };
        Model { table: Table::new(spec, Secret::new(3)), rows: Vec::new(), clock: 0 }
    }

    fn key(&self) -> Vec<u32> {
        match &self.table.spec().key {
            Key::Columns(columns) => columns.clone(),
            Key::Bag => (0..ARITY as u32).collect(),
        }
    }

    fn find(&self, values: &[Value<'_>], columns: &[u32], is: impl Fn(&Row) -> bool) -> Vec<RowId> {
        let found = (0..).zip(&self.rows).filter(|(_, row)| is(row));
        let found = found.filter(|(_, row)| same(&row.values(), values, columns));
        found.map(|(id, _)| RowId(id)).collect()
    }

    fn touch(&mut self, id: RowId) {
        self.rows[id.0 as usize].touched = (self.clock, 100 + self.clock);
    }

    fn insert(&mut self, owned: Vec<OwnedValue>) {
        self.clock += 1;
        let values: Vec<Value<'_>> = owned.iter().map(OwnedValue::get).collect();
        let (all, is_bag) = ([0, 1, 2], self.table.spec().key == Key::Bag);
        let holder = if is_bag {
            None
        } else {
            self.find(&values, &self.key(), |row| row.live).first().copied()
        };
        let equal = holder.filter(|row| same(&self.rows[row.0 as usize].values(), &values, &all));
        let dying =
            if is_bag { None } else { self.find(&values, &all, |row| row.dying).first().copied() };
        let expected = match (equal, dying) {
            (Some(row), _) => Inserted::Refreshed(row),
            (None, Some(row)) => Inserted::Revived { row, replaced: holder },
            (None, None) => Inserted::New { row: RowId(self.rows.len() as u32), replaced: holder },
        };
        assert_eq!(self.table.insert(&values, 100 + self.clock), Ok(expected), "{values:?}");
        match expected {
            Inserted::Refreshed(row) => self.touch(row),
            Inserted::Revived { row, replaced } => {
                replaced.into_iter().for_each(|row| self.gone(row));
                let revived = &mut self.rows[row.0 as usize];
                (revived.live, revived.dying) = (true, false);
                self.touch(row);
            }
            Inserted::New { row, replaced } => {
                replaced.into_iter().for_each(|row| self.gone(row));
                let (dying, old, asserted, touched) = (false, false, false, (0, 0));
                self.rows.push(Row { values: owned, live: true, dying, old, asserted, touched });
                self.touch(row);
            }
        }
    }

    fn gone(&mut self, id: RowId) {
        let row = &mut self.rows[id.0 as usize];
        (row.live, row.dying, row.asserted) = (false, true, false);
    }

    /// Rows keep their order, and may get other ids.
    fn settle(&mut self) {
        self.table.settle();
        self.rows.iter_mut().for_each(|row| row.dying = false);
        let count = self.table.next_row().0 as usize;
        if count < self.rows.len() {
            self.rows.retain(|row| row.live);
        }
        assert_eq!(self.rows.len(), count);
        self.rows.iter_mut().for_each(|row| row.old = true);
        assert_eq!(self.table.fresh_from(), self.table.next_row());
        let Traffic { inserted, gone } = self.table.traffic();
        assert_eq!(inserted - gone, self.table.len() as u64);
    }

    fn check(&mut self, rng: &mut Rng) {
        let (rows, key) = (self.rows.clone(), self.key());
        let live = rows.iter().filter(|row| row.live).count();
        assert_eq!((self.table.len(), self.table.is_empty()), (live, live == 0));
        for (id, row) in (0..).zip(&rows) {
            let id = RowId(id);
            let table = &self.table;
            let found = (table.is_live(id), table.is_dying(id), table.was_live(id));
            assert_eq!(found, (row.live, row.dying, row.old && (row.live || row.dying)));
            assert_eq!(table.is_asserted(id), row.asserted);
            if row.live || row.dying {
                let read: Vec<Value<'_>> = table.values(id).collect();
                assert!(same(&read, &row.values(), &[0, 1, 2]), "{read:?}");
            }
        }
        let below = Visible::Below(RowId(rng.below(rows.len() as u64 + 1) as u32));
        let some: Vec<Row> = (0..4).filter_map(|_| rng.pick(&rows).cloned()).collect();
        self.table.prepare_all();
        let from = RowId(rng.below(rows.len() as u64 + 1) as u32);
        let within = Visible::Within(from, RowId(rng.below(rows.len() as u64 + 1) as u32));
        for visible in [Visible::Live, Visible::Ever, Visible::Before, below, within] {
            let of = |columns: &[u32], values: &[Value<'_>]| -> Vec<RowId> {
                let all = (0..).zip(&rows).filter(|(id, row)| row.sees(visible, *id as usize));
                let found = all.filter(|(_, row)| same(&row.values(), values, columns));
                found.map(|(id, _)| RowId(id)).collect()
            };
            let found: Vec<RowId> = self.table.rows(Access::Scan, &[], visible).collect();
            assert_eq!(found, of(&[], &[]));
            for row in &some {
                let values = row.values();
                let look_up = |access, columns: &[u32]| -> Vec<RowId> {
                    let key: Vec<_> = columns.iter().map(|&at| values[at as usize]).collect();
                    self.table.rows(access, &key, visible).collect()
                };
                assert_eq!(look_up(Access::Primary, &key), of(&key, &values), "{visible:?}");
                for (number, columns) in (0..).zip(&self.table.spec().indexes) {
                    let found = look_up(Access::Index(number), columns);
                    assert_eq!(found, of(columns, &values), "{columns:?} {visible:?}");
                    assert_rest(&self.table, Access::Index(number), columns, &values, visible);
                }
                assert_rest(&self.table, Access::Primary, &key, &values, visible);
                self.check_ordered(&rows, &values, (&some, visible));
            }
        }
        for row in &some {
            let values = row.values();
            let all = [0, 1, 2];
            let equal = self.find(&values, &all, |row| row.live);
            assert_eq!(self.table.find_equal(&values), equal.first().copied());
            let dying = self.find(&values, &all, |row| row.dying);
            assert_eq!(self.table.find_dying(&values).is_some(), !dying.is_empty());
            assert_eq!(
                self.table.find_for_delete(&values),
                self.find(&values, &key, |row| row.live)
            );
        }
        self.check_ages(&rows);
    }

    /// What an ordered index finds lies in order, has the prefix, and includes all rows that the
    /// operators hold to be within limits.
    fn check_ordered(
        &self,
        rows: &[Row],
        values: &[Value<'_>],
        (some, visible): (&[Row], Visible),
    ) {
        for (number, columns) in (0..).zip(&self.table.spec().ordered) {
            let Some((&last, prefix)) = columns.split_last() else { continue };
            let key: Vec<_> = prefix.iter().map(|&at| values[at as usize]).collect();
            let ends = some.iter().map(|row| row.values[last as usize].get());
            let sides = [Side::AtLeast, Side::Less, Side::Greater, Side::AtMost];
            let limits: Vec<Limit<'_>> = ends
                .zip(sides)
                .take(2)
                .map(|(value, side)| Limit { side, value, added: 0 })
                .collect();
            let access = Access::Ordered(number);
            let found = self.table.rows_within(access, &key, &limits, visible);
            let found: Vec<RowId> = found.collect();
            assert!(found.is_sorted());
            for (id, row) in (0..).map(RowId).zip(rows) {
                let is_seen = row.sees(visible, id.0 as usize);
                let of_group = same(&row.values(), values, prefix);
                let value = row.values[last as usize].get();
                let within = limits.iter().all(|limit| {
                    let order = compare(value, limit.value);
                    match limit.side {
                        Side::Less => order.is_lt(),
                        Side::AtMost => order.is_le(),
                        Side::Greater => order.is_gt(),
                        Side::AtLeast => order.is_ge(),
                    }
                });
                let is_found = found.binary_search(&id).is_ok();
                assert!(!is_found || (is_seen && of_group), "{id:?} {limits:?}");
                assert!(is_found || !(is_seen && of_group && within), "{id:?} {limits:?}");
            }
            assert_rest(&self.table, access, prefix, values, visible);
        }
    }

    fn check_ages(&mut self, rows: &[Row]) {
        let live = rows.iter().filter(|row| row.live).count();
        let mut by_age: Vec<(RowId, (u64, u64))> = (0..)
            .zip(rows)
            .filter(|(_, row)| row.live)
            .map(|(id, row)| {
                (RowId(id), if self.table.ages.is_some() { row.touched } else { (0, 0) })
            })
            .collect();
        by_age.sort_by_key(|&(id, (sequence, _))| (sequence, id));
        let oldest = by_age.first().map(|(id, _)| *id);
        let bounded = self.table.spec().size_max.is_some();
        let expected = oldest.filter(|_| bounded && live > 5);
        assert_eq!(self.table.over_size(), expected);
        let by_age: Vec<_> = by_age.into_iter().map(|(id, (_, at_ns))| (id, at_ns)).collect();
        assert_eq!(self.table.by_age(), by_age);
    }

    fn run(&mut self, seed: u64, kinds: u64) {
        let rng = &mut Rng::new(seed);
        for _ in 0..if cfg!(miri) { 3 } else { 60 } {
            for _ in 0..rng.below(12) {
                let live = self.find(&[], &[], |row| row.live);
                let dying = self.find(&[], &[], |row| row.dying);
                match (rng.below(10), rng.pick(&live).copied(), rng.pick(&dying).copied()) {
                    (0..=2, Some(row), _) => {
                        self.table.remove(row);
                        self.gone(row);
                        // Once more is nothing.
                        self.table.remove(row);
                    }
                    (3, Some(row), _) => {
                        self.table.assert_row(row);
                        self.rows[row.0 as usize].asserted = true;
                    }
                    (4, _, Some(row)) => {
                        // Only where no other row has taken its key.
                        let values = self.rows[row.0 as usize].clone();
                        let key = self.key();
                        let is_bag = self.table.spec().key == Key::Bag;
                        if is_bag || self.find(&values.values(), &key, |row| row.live).is_empty() {
                            self.table.revive(row);
                            let revived = &mut self.rows[row.0 as usize];
                            (revived.live, revived.dying) = (true, false);
                        }
                    }
                    _ => {
                        let row = (0..ARITY).map(|_| value(rng, kinds)).collect();
                        self.insert(row);
                    }
                }
            }
            self.check(rng);
            if rng.chance(0.02) {
                self.find(&[], &[], |row| row.live).into_iter().for_each(|row| {
                    self.table.remove(row);
                    self.gone(row);
                });
            }
            self.settle();
            self.check(rng);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "thousands of steps, all of a table compared after each")]
fn tables_do_as_lists_of_rows_do() {
    for seed in 0..if cfg!(miri) { 1 } else { 2 } {
        for &kinds in if cfg!(miri) { &[14][..] } else { &[3, 4, 14] } {
            for bounded in [false, true] {
                let indexes = || vec![vec![0], vec![1, 2]];
                Model::new(Key::Columns(vec![1]), indexes(), bounded).run(seed, kinds);
                Model::new(Key::Columns(vec![0, 2]), indexes(), bounded).run(seed, kinds);
                Model::new(Key::Columns(vec![0, 1, 2]), indexes(), bounded).run(seed, kinds);
                Model::new(Key::Bag, indexes(), bounded).run(seed, kinds);
            }
        }
    }
}

/// All of a word, a part of one, and bits in several.
#[test]
fn ranges_of_bits_are_set_as_their_bits_are() {
    for range in [0..0, 3..7, 0..64, 0..65, 63..130, 64..256, 1..200] {
        let (mut one, mut other) = (bits::Bits::default(), bits::Bits::default());
        one.set_range(range.clone());
        range.clone().for_each(|bit| other.set(bit));
        let of = |bits: &bits::Bits| (0..300).filter(|&bit| bits.get(bit)).collect::<Vec<u32>>();
        assert_eq!((of(&one), of(&other)), (range.clone().collect(), range.collect()));
    }
}
