//! Tables: rows with a primary key, secondary indexes, lifetimes and bounds.
//!
//! Rows lie one after the other in one slab, in the order of insertion, each a fixed number of
//! words ([`column`]); a [`RowId`] is a position in the slab. Nothing moves during a commit:
//!
//! ```text
//! insert -> live --remove--> dying --settle--> dead --compaction--> gone
//!             ^                |
//!             +----revive------+      (inserted again in the same commit)
//! ```
//! A *dying* row was deleted in the running commit; it can still be seen by those who ask for the
//! state before ([`Visible::Ever`]), which is what retraction needs. [`Table::settle`] ends the
//! commit: row ids are valid only until then. Rows inserted in this commit have ids from
//! [`Table::fresh_from`] on, which is what semi-naive evaluation needs.

mod age;
mod bits;
mod column;
mod index;
mod narrow;
mod rowset;

use tidemill_stdx::keyed::Secret;

use crate::flat::OwnedValue;
use crate::value::Value;
use age::Ages;
use bits::Bits;
use column::{Heap, Repr};
use index::Index;
use rowset::RowSet;

pub(crate) use index::Rows as IndexRows;
pub(crate) use narrow::{Fit, Kind, Layout, NarrowOutcome, Place};

/// Rows that are hashed and their places in the hash table prefetched before the first of them
/// is entered: enough to hide that memory is slow.
const AHEAD: usize = 32;

/// A row of one table, until the table settles.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RowId(pub u32);

/// What makes two rows of a table the same row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Key {
    /// The values of these columns (from 0, ascending).
    Columns(Vec<u32>),
    /// Nothing: equal rows are kept as often as they are inserted.
    Bag,
}

/// The declaration of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableSpec {
    /// Number of columns.
    pub arity: u32,
    /// The primary key.
    pub key: Key,
    /// A row not refreshed for so long goes; `None`: never (*hard state*).
    pub lifetime_ns: Option<u64>,
    /// The most rows; beyond, the one inserted or refreshed longest ago goes.
    pub size_max: Option<u64>,
    /// Column sets (from 0, ascending) with a secondary index each.
    pub indexes: Vec<Vec<u32>>,
}

/// How rows are looked up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// All rows, oldest first.
    Scan,
    /// By the columns of the primary key.
    Primary,
    /// By the columns of a secondary index, given by its number.
    Index(u32),
}

/// Which rows a reader sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Visible {
    /// Live rows.
    Live,
    /// Live rows with ids below this one.
    Below(RowId),
    /// Rows that were live at some time in this commit.
    Ever,
    /// Rows that were live when this commit began.
    Before,
}

/// What became of an insertion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inserted {
    /// A new row; the live row with the same key, if there was one, is dying now.
    New {
        /// The row.
        row: RowId,
        /// The row that had its key.
        replaced: Option<RowId>,
    },
    /// The row had been deleted in this commit and is live again.
    Revived {
        /// The row.
        row: RowId,
        /// The row that had its key meanwhile.
        replaced: Option<RowId>,
    },
    /// An equal live row was there.
    Refreshed(RowId),
}

/// A table cannot take another row: 2^32 rows, or 4 GiB of long values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableFull;

impl std::fmt::Display for TableFull {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the table is full: 2^32 rows or 4 GiB of long values")
    }
}

impl std::error::Error for TableFull {}

/// A column and where it starts in a row.
#[derive(Clone, Debug)]
struct Column {
    repr: Repr,
    offset: usize,
}

/// A table; see the module.
#[derive(Clone, Debug)]
pub struct Table {
    spec: TableSpec,
    columns: Vec<Column>,
    /// Words per row.
    stride: usize,
    words: Vec<u32>,
    heap: Heap,
    /// Rows in the slab, dead ones included.
    rows: u32,
    live_rows: u32,
    live: Bits,
    dying: Bits,
    dying_rows: Vec<RowId>,
    asserted: Bits,
    fresh_from: u32,
    /// Live and dying rows by the hash of their key; none of a bag.
    primary: RowSet,
    /// The rows of a bag by all their columns: equal ones are a chain, so one more costs nothing.
    equals: Index,
    /// The key columns; all columns for a bag.
    key: Vec<u32>,
    indexes: Vec<Index>,
    ages: Option<Ages>,
    /// What keys are hashed with.
    secret: Secret,
}

impl Table {
    /// An empty table, which hashes keys with `secret`. What it shows does not depend on that.
    pub fn new(spec: TableSpec, secret: Secret) -> Table {
        let column = Column { repr: Repr::Empty, offset: 0 };
        let key = match &spec.key {
            Key::Columns(columns) => columns.clone(),
            Key::Bag => (0..spec.arity).collect(),
        };
        let bounded = spec.lifetime_ns.is_some() || spec.size_max.is_some();
        Table {
            columns: vec![column; spec.arity as usize],
            stride: 0,
            words: Vec::new(),
            heap: Heap::default(),
            rows: 0,
            live_rows: 0,
            live: Bits::default(),
            dying: Bits::default(),
            dying_rows: Vec::new(),
            asserted: Bits::default(),
            fresh_from: 0,
            primary: RowSet::default(),
            equals: Index::new(key.clone()),
            key,
            indexes: spec.indexes.iter().cloned().map(Index::new).collect(),
            ages: bounded.then(Ages::default),
            spec,
            secret,
        }
    }

    /// What keys are hashed with.
    #[inline]
    pub(crate) fn secret(&self) -> &Secret {
        &self.secret
    }

    /// The declaration.
    pub fn spec(&self) -> &TableSpec {
        &self.spec
    }

    /// Number of live rows.
    pub fn len(&self) -> usize {
        self.live_rows as usize
    }

    /// True without live rows.
    pub fn is_empty(&self) -> bool {
        self.live_rows == 0
    }

    /// Bytes that rows, long values and indexes occupy.
    pub fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<u32>()
            + self.heap.bytes.capacity()
            + self.live.bytes()
            + self.asserted.bytes()
            + self.primary.bytes()
            + self.equals.bytes()
            + self.indexes.iter().map(Index::bytes).sum::<usize>()
    }

    /// The most slots that a look-up by the primary key may pass, found by a walk over them: small
    /// beside the number of rows, unless the hash has failed.
    pub fn longest_probe(&self) -> usize {
        self.primary.longest_run()
    }

    /// Rows inserted in the running commit have this id and greater ones.
    pub fn fresh_from(&self) -> RowId {
        RowId(self.fresh_from)
    }

    /// The id that the next new row gets.
    pub fn next_row(&self) -> RowId {
        RowId(self.rows)
    }

    /// The value of `column` (from 0) in `row`.
    #[inline]
    pub fn value(&self, row: RowId, column: u32) -> Value<'_> {
        let column = &self.columns[column as usize];
        column::load(&column.repr, self.column_words(column, row), &self.heap)
    }

    /// Appends the values of `row` to `out`.
    pub fn read_row<'t>(&'t self, row: RowId, out: &mut Vec<Value<'t>>) {
        out.extend(self.values(row));
    }

    /// The values of `row`.
    pub fn values(&self, row: RowId) -> impl Iterator<Item = Value<'_>> {
        (0..self.spec.arity).map(move |column| self.value(row, column))
    }

    /// A copy of `row`, to be kept while the table changes.
    pub fn copy_row(&self, row: RowId) -> Vec<OwnedValue> {
        (0..self.spec.arity).map(|column| OwnedValue::new(self.value(row, column))).collect()
    }

    /// True while `row` is in the table.
    #[inline]
    pub fn is_live(&self, row: RowId) -> bool {
        self.live.get(row.0)
    }

    /// True if `row` was deleted in the running commit.
    pub fn is_dying(&self, row: RowId) -> bool {
        self.dying.get(row.0)
    }

    /// True if `row` was in the table when the running commit began.
    pub fn was_live(&self, row: RowId) -> bool {
        row.0 < self.fresh_from && (self.live.get(row.0) || self.dying.get(row.0))
    }

    /// True if `row` stands by itself: a fact or an event rule put it in.
    pub fn is_asserted(&self, row: RowId) -> bool {
        self.asserted.get(row.0)
    }

    /// Says that `row` stands by itself.
    pub fn assert_row(&mut self, row: RowId) {
        self.asserted.set(row.0);
    }

    #[inline]
    pub(crate) fn sees(&self, row: RowId, visible: Visible) -> bool {
        match visible {
            Visible::Live => self.live.get(row.0),
            Visible::Below(limit) => row < limit && self.live.get(row.0),
            Visible::Ever => self.live.get(row.0) || self.dying.get(row.0),
            Visible::Before => self.was_live(row),
        }
    }

    /// The rows that `access` finds for `key` (the values of its columns), oldest first.
    ///
    /// The access has been [prepared](Table::prepare) since the last insertion.
    pub fn rows<'t>(&'t self, access: Access, key: &[Value<'_>], visible: Visible) -> Rows<'t> {
        let candidates = match access {
            Access::Scan => Candidates::Scan(0..self.rows),
            Access::Primary => {
                let found = self.find_all(&self.key, key, visible);
                Candidates::Found(found)
            }
            Access::Index(number) => {
                let index = &self.indexes[number as usize];
                debug_assert_eq!(index.rows_known(), self.rows, "the index is up to date");
                let same = |row| self.key_equals(row, &index.columns, key);
                Candidates::Chain(match index.dense_column() {
                    None => index.rows(self.hash_values(key.iter().copied()), same),
                    Some(column) => {
                        let mut columns = index.columns.iter().zip(key);
                        match columns.find(|(one, _)| **one == column) {
                            Some((_, Value::Int(value))) => {
                                narrow::of_same(index.dense_rows(*value), same)
                            }
                            // Other types can equal an integer.
                            _ => index.dense_search(same),
                        }
                    }
                })
            }
        };
        Rows { table: self, visible, candidates }
    }

    /// Keys are unique among live rows, now and when the commit began (but for bags): at most one
    /// row then, else all versions.
    fn find_all(&self, columns: &[u32], key: &[Value<'_>], visible: Visible) -> FoundRows {
        let hash = self.hash_values(key.iter().copied());
        let matches = |row| {
            let row = RowId(row);
            self.sees(row, visible) && self.key_equals(row, columns, key)
        };
        if self.is_bag() {
            let equal = self.equals.rows(hash, |row| self.key_equals(row, columns, key));
            let rows = equal.filter(|row| self.sees(*row, visible)).map(|row| row.0);
            return FoundRows::Many(rows.collect::<Vec<u32>>().into_iter());
        }
        if visible != Visible::Ever {
            return FoundRows::One(self.primary.find(hash, matches));
        }
        let mut rows = self.primary.find_all(hash, matches);
        rows.sort_unstable();
        FoundRows::Many(rows.into_iter())
    }

    /// The live row with the primary key of `values`, a whole tuple.
    pub fn find(&self, values: &[Value<'_>]) -> Option<RowId> {
        self.find_hashed(self.key_hash_of(values), values)
    }

    /// The live row equal to `values`.
    pub fn find_equal(&self, values: &[Value<'_>]) -> Option<RowId> {
        self.find_equal_where(self.key_hash_of(values), values, |row| self.live.get(row.0))
    }

    /// The row equal to `values` that was deleted in the running commit.
    pub fn find_dying(&self, values: &[Value<'_>]) -> Option<RowId> {
        self.find_equal_where(self.key_hash_of(values), values, |row| self.dying.get(row.0))
    }

    fn find_equal_where(
        &self,
        hash: u64,
        values: &[Value<'_>],
        state: impl Fn(RowId) -> bool,
    ) -> Option<RowId> {
        if self.is_bag() {
            return self.equal_rows(hash, values).find(|row| state(*row));
        }
        let matches = |row| state(RowId(row)) && self.row_equals(RowId(row), values);
        self.primary.find(hash, matches).map(RowId)
    }

    /// All live rows with the primary key of `values`; for a bag, all that are equal.
    pub fn find_for_delete(&self, values: &[Value<'_>]) -> Vec<RowId> {
        let hash = self.key_hash_of(values);
        if self.is_bag() {
            return self.equal_rows(hash, values).filter(|row| self.is_live(*row)).collect();
        }
        let matches = |row| self.live.get(row) && self.same_key(RowId(row), values);
        let found = self.primary.find_all(hash, matches);
        let mut rows: Vec<RowId> = found.into_iter().map(RowId).collect();
        rows.sort_unstable();
        rows
    }

    fn is_bag(&self) -> bool {
        self.spec.key == Key::Bag
    }

    /// The rows of a bag that are equal to `values`, live or not, oldest first.
    fn equal_rows(&self, hash: u64, values: &[Value<'_>]) -> IndexRows<'_> {
        self.equals.rows(hash, |row| self.row_equals(row, values))
    }

    /// Puts a tuple in; see [`Inserted`].
    ///
    /// # Errors
    /// [`TableFull`], and the table is as before.
    pub fn insert(&mut self, values: &[Value<'_>], now_ns: u64) -> Result<Inserted, TableFull> {
        debug_assert_eq!(values.len(), self.spec.arity as usize);
        let hash = self.key_hash_of(values);
        let bag = self.is_bag();
        let mut replaced = None;
        if !bag && let Some(row) = self.find_hashed(hash, values) {
            if self.row_equals(row, values) {
                self.touch(row, now_ns);
                return Ok(Inserted::Refreshed(row));
            }
            replaced = Some(row);
        }
        let revived = match self.dying_rows.is_empty() || bag {
            true => None,
            false => self.find_equal_where(hash, values, |row| self.dying.get(row.0)),
        };
        let row = match revived {
            Some(row) => row,
            None => self.append(hash, values)?,
        };
        if let Some(replaced) = replaced {
            self.remove(replaced);
        }
        self.touch(row, now_ns);
        if revived.is_some() {
            self.revive(row);
            return Ok(Inserted::Revived { row, replaced });
        }
        Ok(Inserted::New { row, replaced })
    }

    fn find_hashed(&self, hash: u64, values: &[Value<'_>]) -> Option<RowId> {
        if self.is_bag() {
            return self.equal_rows(hash, values).find(|row| self.is_live(*row));
        }
        let matches = |row| self.live.get(row) && self.same_key(RowId(row), values);
        self.primary.find(hash, matches).map(RowId)
    }

    /// Makes a dying row live again.
    pub fn revive(&mut self, row: RowId) {
        debug_assert!(self.is_dying(row));
        self.dying.clear_bit(row.0);
        self.live.set(row.0);
        self.live_rows += 1;
        if let Some(ages) = &mut self.ages {
            ages.restore(row);
        }
    }

    /// Deletes a live row; it is dying until the table settles.
    pub fn remove(&mut self, row: RowId) {
        if !self.live.get(row.0) {
            return;
        }
        self.live.clear_bit(row.0);
        self.asserted.clear_bit(row.0);
        self.live_rows -= 1;
        self.dying.set(row.0);
        self.dying_rows.push(row);
        if let Some(ages) = &mut self.ages {
            ages.remove(row);
        }
    }

    fn touch(&mut self, row: RowId, now_ns: u64) {
        let live_rows = self.live_rows as usize;
        if let Some(ages) = &mut self.ages {
            ages.touch(row, now_ns, live_rows);
        }
    }

    /// Words of a row.
    pub(crate) fn row_size(&self) -> usize {
        self.stride
    }

    /// A live row that must go because there are more than `size_max`, if so.
    pub fn over_size(&mut self) -> Option<RowId> {
        if self.live_rows as u64 <= self.spec.size_max? {
            return None;
        }
        self.ages.as_mut()?.oldest().map(|(row, _)| row)
    }

    /// When the next row expires, on the clock of the insertions; `None` for hard state.
    pub fn next_expiry_ns(&mut self) -> Option<u64> {
        let lifetime = self.spec.lifetime_ns?;
        let (_, at) = self.ages.as_mut()?.oldest()?;
        Some(at.saturating_add(lifetime))
    }

    /// A live row whose time has come at `now_ns`, if there is one.
    pub fn expired(&mut self, now_ns: u64) -> Option<RowId> {
        if self.next_expiry_ns()? > now_ns {
            return None;
        }
        self.ages.as_mut()?.oldest().map(|(row, _)| row)
    }

    /// Ends a commit: dying rows are dead; row ids given out so far are void.
    pub fn settle(&mut self) {
        let dying = std::mem::take(&mut self.dying_rows);
        for &row in &dying {
            // Revived rows are in the list too.
            if !self.dying.get(row.0) {
                continue;
            }
            self.dying.clear_bit(row.0);
            // A bag's rows stay in their chains until the table compacts itself.
            if !self.is_bag() {
                self.primary.remove(self.hash_of(&self.key, row), row.0);
            }
            self.heap.dead += self.heap_bytes(row);
        }
        self.dying_rows = dying;
        self.dying_rows.clear();
        let dead = self.rows - self.live_rows;
        if dead > self.live_rows + 32 || self.heap.dead > self.heap.bytes.len() / 2 + 4096 {
            self.compact();
        }
        self.fresh_from = self.rows;
        // What a large commit has reserved and not used goes back.
        let words = self.words.len();
        if self.words.capacity() > words + words / 16 + 4096 {
            self.words.shrink_to(words + words / 32);
        }
    }

    fn append(&mut self, hash: u64, values: &[Value<'_>]) -> Result<RowId, TableFull> {
        let need = values.iter().map(column::heap_need).sum();
        // The last id marks the end of index chains.
        if self.rows >= u32::MAX - 1 || !self.heap.has_room(need) {
            return Err(TableFull);
        }
        self.widen_for(values);
        let row = RowId(self.rows);
        let start = self.words.len();
        self.reserve_rows(1);
        self.words.resize(start + self.stride, 0);
        for (column, value) in self.columns.iter().zip(values) {
            let from = start + column.offset;
            let words = &mut self.words[from..from + column.repr.words()];
            column::store(&column.repr, words, &mut self.heap, value);
        }
        self.enter(row, hash);
        Ok(row)
    }

    /// Makes a row live whose words are stored: the next one.
    fn enter(&mut self, row: RowId, hash: u64) {
        if self.is_bag() {
            self.link_equal(row, hash);
        } else {
            self.make_room(1);
            self.primary.insert(hash, row.0);
        }
        self.rows += 1;
        self.live_rows += 1;
        self.live.set(row.0);
    }

    /// Makes room in the primary hash table for so many more rows.
    #[inline]
    fn make_room(&mut self, rows: usize) {
        if !self.primary.has_room(self.rows, rows) {
            self.link_all(rows);
        }
    }

    /// Enters the next row of a bag into the chain of those that are equal.
    fn link_equal(&mut self, row: RowId, hash: u64) {
        let mut equals = std::mem::replace(&mut self.equals, Index::new(Vec::new()));
        let same = |other| self.agree(&self.key, row, other);
        let hash_of = |row| self.hash_of(&self.key, row);
        equals.append(row, hash, same, hash_of);
        self.equals = equals;
    }

    /// Enters all rows into the primary hash table, with room for `more` and some beyond.
    fn link_all(&mut self, more: usize) {
        let mut primary = std::mem::take(&mut self.primary);
        let known = self.live_rows as usize + self.dying_rows.len();
        primary.restart(known + more, self.rows.saturating_add(more as u32));
        let known = |row: &u32| self.live.get(*row) || self.dying.get(*row);
        match self.halves() {
            Some(hash) if self.live_rows == self.rows => {
                let rows = self.words.chunks_exact(2).map(hash);
                primary.fill_from(rows.zip(0..self.rows));
            }
            _ => {
                let hasher = self.hasher(&self.key);
                let rows = (0..self.rows).filter(known);
                primary.fill_from(rows.map(|row| (hasher.hash(RowId(row)), row)));
            }
        }
        self.primary = primary;
    }

    /// Makes room for the words of `rows` more rows; large tables grow by a quarter at a time.
    fn reserve_rows(&mut self, rows: usize) {
        let (words, more) = (self.words.len(), rows * self.stride);
        if self.words.capacity() - words < more {
            match words < 1 << 16 {
                true => self.words.reserve(more),
                false => self.words.reserve_exact(more.max(words / 4)),
            }
        }
    }

    /// Enters the rows that a secondary index does not know yet. Indexes are brought up to date
    /// when somebody is about to read them, so that one nobody reads costs nothing.
    pub fn prepare(&mut self, access: Access) {
        let Access::Index(number) = access else { return };
        let known = self.indexes[number as usize].rows_known();
        if known == self.rows {
            return;
        }
        let mut indexes = std::mem::take(&mut self.indexes);
        let index = &mut indexes[number as usize];
        if !self.prepare_dense(index) {
            let columns = std::mem::take(&mut index.columns);
            let hasher = self.hasher(&columns);
            let hash_of = |row| hasher.hash(row);
            for row in (index.rows_known()..self.rows).map(RowId) {
                let same = |other| self.agree(&columns, row, other);
                index.append(row, hash_of(row), same, hash_of);
            }
            index.columns = columns;
        }
        self.indexes = indexes;
    }

    /// [`Table::prepare`] for every index.
    pub fn prepare_all(&mut self) {
        (0..self.indexes.len() as u32).for_each(|number| self.prepare(Access::Index(number)));
    }

    /// Widens the columns that cannot hold `values`. Rows keep their ids.
    fn widen_for(&mut self, values: &[Value<'_>]) {
        let fits = |(column, value): (&Column, &Value<'_>)| column.repr.fits(value);
        if self.columns.iter().zip(values).all(fits) {
            return;
        }
        let mut columns = self.columns.clone();
        let mut offset = 0;
        for (column, value) in columns.iter_mut().zip(values) {
            if !column.repr.fits(value) {
                column.repr = column.repr.widened(value, &self.secret);
            }
            column.offset = offset;
            offset += column.repr.words();
        }
        let rows = 0..self.rows;
        self.rewrite(columns, offset, rows.map(RowId));
    }

    /// Stores `rows` anew, in this order, with other columns.
    fn rewrite(&mut self, columns: Vec<Column>, stride: usize, rows: impl Iterator<Item = RowId>) {
        let mut words = Vec::with_capacity(stride * self.live_rows as usize);
        let mut heap = Heap::default();
        for row in rows {
            let start = words.len();
            words.resize(start + stride, 0);
            for (number, column) in columns.iter().enumerate() {
                let value = self.value(row, number as u32);
                if !column.repr.fits(&value) {
                    continue; // a dead row of other times
                }
                let from = start + column.offset;
                let target = &mut words[from..from + column.repr.words()];
                column::store(&column.repr, target, &mut heap, &value);
            }
        }
        heap.dead = self.heap.dead.min(heap.bytes.len());
        (self.columns, self.stride) = (columns, stride);
        (self.words, self.heap) = (words, heap);
    }

    /// Moves the live rows together, in order, and forgets the dead ones.
    fn compact(&mut self) {
        let live: Vec<RowId> = (0..self.rows).map(RowId).filter(|&r| self.is_live(r)).collect();
        if live.is_empty() {
            self.reset();
            return;
        }
        self.rewrite(self.columns.clone(), self.stride, live.iter().copied());
        self.heap.dead = 0;
        if let Some(ages) = &mut self.ages {
            ages.renumber(|row| live.binary_search(&row).ok().map(|new| RowId(new as u32)));
        }
        let old_asserted = std::mem::take(&mut self.asserted);
        self.live.clear();
        self.indexes.iter_mut().for_each(Index::clear);
        self.rows = live.len() as u32;
        for (new, old) in live.iter().enumerate() {
            let row = RowId(new as u32);
            self.live.set(row.0);
            if old_asserted.get(old.0) {
                self.asserted.set(row.0);
            }
        }
        if self.is_bag() {
            self.equals.clear();
            for row in (0..self.rows).map(RowId) {
                self.link_equal(row, self.hash_of(&self.key, row));
            }
        } else {
            self.link_all(0);
        }
    }

    fn reset(&mut self) {
        let spec = self.spec.clone();
        *self = Table::new(spec, self.secret);
    }

    fn heap_bytes(&self, row: RowId) -> usize {
        let of_column =
            |column: &Column| column::heap_bytes(&column.repr, self.column_words(column, row));
        self.columns.iter().map(of_column).sum()
    }

    /// The words of `column` in a row.
    #[inline]
    fn column_words(&self, column: &Column, row: RowId) -> &[u32] {
        let start = row.0 as usize * self.stride + column.offset;
        &self.words[start..start + column.repr.words()]
    }

    /// The hash of the values of `columns` in `row`: as [`Table::hash_values`].
    fn hash_of(&self, columns: &[u32], row: RowId) -> u64 {
        columns.iter().fold(0, |state, &column| {
            let column = &self.columns[column as usize];
            let words = self.column_words(column, row);
            self.secret.combine(state, column::hash(&column.repr, words, &self.heap, &self.secret))
        })
    }

    /// Whether two rows have equal values in `columns`.
    fn agree(&self, columns: &[u32], a: RowId, b: RowId) -> bool {
        columns.iter().all(|&column| {
            let column = &self.columns[column as usize];
            let (a, b) = (self.column_words(column, a), self.column_words(column, b));
            column::equal(&column.repr, a, b, &self.heap)
        })
    }

    fn hash_values<'v>(&self, values: impl Iterator<Item = Value<'v>>) -> u64 {
        let secret = &self.secret;
        values.fold(0, |state, value| secret.combine(state, value.hash(secret)))
    }

    fn key_hash_of(&self, values: &[Value<'_>]) -> u64 {
        self.hash_values(self.key.iter().map(|&column| values[column as usize]))
    }

    fn same_key(&self, row: RowId, values: &[Value<'_>]) -> bool {
        self.key.iter().all(|&column| self.value(row, column).equal(&values[column as usize]))
    }

    fn key_equals(&self, row: RowId, columns: &[u32], key: &[Value<'_>]) -> bool {
        columns.iter().zip(key).all(|(&column, value)| self.value(row, column).equal(value))
    }

    fn row_equals(&self, row: RowId, values: &[Value<'_>]) -> bool {
        (0..).zip(values).all(|(column, value)| self.value(row, column).equal(value))
    }
}
/// The rows that an access found; see [`Table::rows`].
#[derive(Clone, Debug)]
pub struct Rows<'t> {
    table: &'t Table,
    visible: Visible,
    candidates: Candidates<'t>,
}

#[derive(Clone, Debug)]
enum Candidates<'t> {
    Scan(std::ops::Range<u32>),
    Found(FoundRows),
    Chain(index::Rows<'t>),
}

#[derive(Clone, Debug)]
enum FoundRows {
    One(Option<u32>),
    Many(std::vec::IntoIter<u32>),
}

impl Rows<'_> {
    /// The rows from one of them on.
    pub(crate) fn starting_at(mut self, row: RowId) -> Self {
        self.candidates = match self.candidates {
            Candidates::Scan(rows) => Candidates::Scan(row.0..rows.end),
            Candidates::Chain(rows) => Candidates::Chain(rows.starting_at(row)),
            Candidates::Found(FoundRows::One(_)) => Candidates::Found(FoundRows::One(Some(row.0))),
            Candidates::Found(FoundRows::Many(rows)) => {
                let from = rows.as_slice().partition_point(|&other| other < row.0);
                let rest = rows.as_slice()[from..].to_vec();
                Candidates::Found(FoundRows::Many(rest.into_iter()))
            }
        };
        self
    }
}

impl Iterator for Rows<'_> {
    type Item = RowId;

    #[inline]
    fn next(&mut self) -> Option<RowId> {
        loop {
            let row = match &mut self.candidates {
                Candidates::Scan(rows) => RowId(rows.next()?),
                Candidates::Chain(rows) => rows.next()?,
                Candidates::Found(FoundRows::One(row)) => RowId(row.take()?),
                Candidates::Found(FoundRows::Many(rows)) => RowId(rows.next()?),
            };
            if self.table.sees(row, self.visible) {
                return Some(row);
            }
        }
    }
}

#[cfg(test)]
mod tests;
