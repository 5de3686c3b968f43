//! Tables as the batch runner of view rules ([`crate::narrow`]) sees them: columns of integers
//! as words, other columns if they are the same in every row, and rows put in many at a time.

use std::mem::discriminant;

use tidemill_stdx::cache::prefetch_item;
use tidemill_stdx::keyed::Secret;

use super::access::{Access, Visible};
use super::chain;
use super::column::Repr;
use super::ordered::Limit;
use super::pairs::KnownPairs;
use super::row::RowId;
use super::rowset::AHEAD;
use super::spec::Key;
use super::state::{Column, Table};
use crate::value::{Type, Value};

/// The compile-time knowledge of a value in the batch runner.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WordKind<'a> {
    /// An integer of 32 bits.
    Half,
    /// An integer.
    Whole,
    /// This value.
    Known(Value<'a>),
}

/// Whether the batch runner can put rows into a table.
#[derive(Debug)]
pub(crate) enum Fit {
    /// It can.
    Already,
    /// It can when the table has been [widened](Table::widen): offsets change then.
    Widened(Layout),
    /// It cannot.
    Not,
}

/// The required columns.
#[derive(Debug)]
pub(crate) struct Layout(Vec<Column>);

impl Layout {
    fn stride(&self) -> usize {
        self.0.iter().map(|column| column.repr.words()).sum()
    }
}

/// The outcome of a row of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NarrowOutcome {
    /// It is new.
    New(RowId),
    /// An equal row existed.
    Known(RowId),
}

impl Table {
    /// The kind of the values of a column; `None`: too little is known for the batch runner.
    pub(crate) fn kind(&self, column: u32) -> Option<WordKind<'_>> {
        match &self.columns[column as usize].repr {
            Repr::Int32 => Some(WordKind::Half),
            Repr::Word(Type::Int) => Some(WordKind::Whole),
            Repr::Const(constant) => Some(WordKind::Known(constant.get())),
            _ => None,
        }
    }

    /// True if all rows are live, so that single rows need no check.
    pub(crate) fn all_live(&self) -> bool {
        self.live_rows == self.rows
    }

    /// The columns that `access` looks up; `None` for a bag, whose keys are not unique.
    pub(crate) fn access_columns(&self, access: Access) -> Option<&[u32]> {
        match access {
            Access::Scan => Some(&[]),
            Access::Primary => (self.spec.key != Key::Bag).then_some(&self.key),
            Access::Index(number) => Some(&self.indexes[number as usize].columns),
            Access::Ordered(number) => Some(&self.ordered[number as usize].prefix),
        }
    }

    /// The row with a primary key of this hash that `visible` shows and `same` accepts.
    #[inline]
    pub(crate) fn probe_primary(
        &self,
        hash: u64,
        visible: Visible,
        mut same: impl FnMut(&[u32]) -> bool,
    ) -> Option<RowId> {
        let matches = |row| self.sees(RowId(row), visible) && same(self.row_words(RowId(row)));
        self.find_linked(hash, matches).map(RowId)
    }

    /// The column of small integers by which an index finds rows, if it does.
    pub(crate) fn dense_column(&self, number: u32) -> Option<u32> {
        self.indexes[number as usize].dense_column()
    }

    /// The rows, live or not, with an integer in the [column](Table::dense_column) of an index,
    /// if `same` accepts the first.
    #[inline]
    pub(crate) fn probe_dense(
        &self,
        number: u32,
        value: i64,
        same: impl Fn(&[u32]) -> bool,
    ) -> chain::Rows<'_> {
        let rows = self.indexes[number as usize].dense_rows(value);
        rows.if_first(|row| same(self.row_words(row)))
    }

    /// The rows, live or not, of the chain of this hash whose first row `same` accepts.
    #[inline]
    pub(crate) fn probe_index(
        &self,
        number: u32,
        hash: u64,
        same: impl Fn(&[u32]) -> bool,
    ) -> chain::Rows<'_> {
        self.indexes[number as usize].rows(hash, |row| same(self.row_words(row)))
    }

    /// The rows, live or not, of the group with a prefix of this hash whose first row `same`
    /// accepts, that may lie within the limits; `None`: all rows of the table may.
    pub(crate) fn probe_ordered(
        &self,
        number: u32,
        hash: u64,
        limits: &[Limit<'_>],
        same: impl Fn(&[u32]) -> bool,
    ) -> Option<Vec<u32>> {
        let same = |row| same(self.row_words(row));
        self.rows_in_range(&self.ordered[number as usize], hash, same, limits)
    }

    /// Whether rows with values of these kinds can be inserted as words: the table has no lifetime
    /// and no bound, nothing in it is dying, and its key is all columns that differ.
    pub(crate) fn fit(&self, kinds: &[WordKind<'_>]) -> Fit {
        if self.spec.key == Key::Bag || self.ages.is_some() || !self.dying_rows.is_empty() {
            return Fit::Not;
        }
        let mut layout = Layout(self.columns.clone());
        let mut widened = false;
        for (number, (column, kind)) in layout.0.iter_mut().zip(kinds).enumerate() {
            let Some(repr) = wanted(&column.repr, kind, &self.secret) else { return Fit::Not };
            if repr.words() > 0 && !self.key.contains(&(number as u32)) {
                return Fit::Not;
            }
            widened |= discriminant(&repr) != discriminant(&column.repr);
            column.repr = repr;
        }
        match (layout.stride(), widened) {
            (0, _) => Fit::Not,
            (_, false) => Fit::Already,
            (_, true) => Fit::Widened(layout),
        }
    }

    /// Widens the columns as [`Table::fit`] requires. Rows keep their ids.
    pub(crate) fn widen(&mut self, layout: Layout) {
        let (stride, Layout(mut columns)) = (layout.stride(), layout);
        let mut offset = 0;
        for column in &mut columns {
            column.offset = offset;
            offset += column.repr.words();
        }
        self.rewrite(columns, stride, (0..self.rows).map(RowId));
    }

    /// Inserts rows, given one after the other as the words of their columns, which [`Table::fit`]
    /// has accepted. Rows that are new have the ids from [`Table::next_row`] on, in order. Calls
    /// `report` with the outcome of each, in order; returns the number of those refused because the
    /// table is full.
    pub(crate) fn insert_words(
        &mut self,
        rows: &[u32],
        report: impl FnMut(NarrowOutcome),
    ) -> usize {
        self.link();
        let (Some(hashing), 1..) = (self.hashing(&self.key), self.stride) else {
            debug_assert!(rows.is_empty(), "the table fits");
            return 0;
        };
        // The width most tables have is a constant to the compiler; 0 means any.
        match self.halves() {
            Some(hash) => self.insert_blocks::<2>(rows, hash, report),
            None => self.insert_blocks::<0>(rows, |row| hashing.hash(row), report),
        }
    }

    /// The same without outcomes: known rows cost less.
    pub(crate) fn insert_new_words(&mut self, rows: &[u32]) -> usize {
        // Rows that are not live would have to be left out of the matrix.
        if self.halves().is_none() || !self.all_live() {
            return self.insert_words(rows, |_| {});
        }
        let unknown = self.pairs.as_mut().and_then(|pairs| pairs.unknown(rows));
        let (mut again, before) = (0, self.rows);
        let refused = match &unknown {
            Some(new) if new.are_new => self.append_words(&new.rows),
            unknown => {
                let rows = unknown.as_ref().map_or(rows, |unknown| &unknown.rows);
                let known = |outcome| matches!(outcome, NarrowOutcome::Known(_));
                self.insert_words(rows, |outcome| again += usize::from(known(outcome)))
            }
        };
        let pairs = self.pairs.get_or_insert_default();
        match unknown {
            Some(unknown) if unknown.are_new => pairs.reuse(unknown.rows),
            unknown => {
                let put = (self.rows - before) as usize;
                pairs.count(again, put, &self.words);
                unknown.into_iter().for_each(|unknown| pairs.reuse(unknown.rows));
            }
        }
        refused
    }

    /// Appends rows that are new, to be [linked](Table::link) later.
    fn append_words(&mut self, rows: &[u32]) -> usize {
        let count = rows.len() / self.stride;
        if count > (u32::MAX - 1 - AHEAD as u32 - self.rows) as usize {
            // The matrix has them, the table has not.
            self.pairs = None;
            return count;
        }
        self.reserve_rows(count);
        self.words.extend_from_slice(rows);
        self.live.set_range(self.rows..self.rows + count as u32);
        self.rows += count as u32;
        self.live_rows += count as u32;
        0
    }

    /// The pairs of integers that the table is known to have; its rows are nothing else.
    pub(crate) fn known_pairs(&self) -> Option<KnownPairs<'_>> {
        self.pairs.as_ref()?.known()
    }

    /// Inserts rows in three passes over blocks of them, so that the cache misses of a block
    /// overlap: fetches slots; fetches the rows that these name; compares and inserts (group
    /// prefetching: S. Chen, A. Ailamaki, P. B. Gibbons, T. C. Mowry, *Improving Hash Join
    /// Performance through Prefetching*, ICDE 2004).
    fn insert_blocks<const STRIDE: usize>(
        &mut self,
        rows: &[u32],
        hash: impl Fn(&[u32]) -> u64,
        mut report: impl FnMut(NarrowOutcome),
    ) -> usize {
        let stride = if STRIDE == 0 { self.stride } else { STRIDE };
        let (mut hashes, mut refused) = ([0; AHEAD], 0);
        for block in rows.chunks(AHEAD * stride) {
            let count = block.len() / stride;
            if self.rows >= u32::MAX - 1 - AHEAD as u32 {
                refused += count;
                continue;
            }
            self.make_room(count);
            self.reserve_rows(count);
            let before = self.rows;
            for (row, place) in block.chunks_exact(stride).zip(&mut hashes) {
                *place = hash(row);
                self.primary.prefetch(*place);
            }
            // Only a guess: the third pass may fill the slot, or probe others.
            for &hash in &hashes[..count] {
                if let Some(row) = self.primary.guess(hash) {
                    prefetch_item(&self.words, row as usize * stride);
                }
            }
            for (row, &hash) in block.chunks_exact(stride).zip(&hashes) {
                self.insert_one(row, hash, &mut report);
            }
            self.live.set_range(before..self.rows);
            self.live_rows += self.rows - before;
            self.linked = self.rows;
        }
        refused
    }

    /// Inserts a row for whose words and slot there is room; the caller makes it live.
    #[inline]
    fn insert_one(&mut self, words: &[u32], hash: u64, report: &mut impl FnMut(NarrowOutcome)) {
        // Nothing is dying, and dead rows are not in the hash table: a row that is found is live.
        let same = |row| self.words[row as usize * words.len()..][..words.len()] == *words;
        match self.primary.find_or_free(hash, same) {
            Ok(row) => report(NarrowOutcome::Known(RowId(row))),
            Err(slot) => {
                self.primary.fill(slot, hash, self.rows);
                self.words.extend_from_slice(words);
                report(NarrowOutcome::New(RowId(self.rows)));
                self.rows += 1;
            }
        }
    }
}

/// The representation with which a column holds values of `kind` as words, or not at all because
/// they are the same in every row; `None` if there is no such.
fn wanted(repr: &Repr, kind: &WordKind<'_>, secret: &Secret) -> Option<Repr> {
    let wanted = match (kind, repr) {
        (WordKind::Known(value), _) if repr.fits(value) => repr.clone(),
        (WordKind::Known(value), _) => repr.widened(value, secret),
        (_, Repr::Const(constant)) => {
            return wanted(&Repr::narrowest(&constant.get()), kind, secret);
        }
        (WordKind::Half, Repr::Empty | Repr::Int32) => Repr::Int32,
        (WordKind::Whole, Repr::Empty | Repr::Int32) => Repr::Word(Type::Int),
        _ => repr.clone(),
    };
    matches!(wanted, Repr::Const(_) | Repr::Int32 | Repr::Word(Type::Int)).then_some(wanted)
}
