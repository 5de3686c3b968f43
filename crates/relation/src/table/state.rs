//! The state of a table, and reading its rows.

use tidemill_stdx::keyed::Secret;

use super::access::Visible;
use super::age::Ages;
use super::bits::Bits;
use super::column::{self, Heap, Repr};
use super::index::Index;
use super::ordered::OrderedIndex;
use super::pairs::Pairs;
use super::place::ColumnOffset;
use super::rank::Ranks;
use super::row::RowId;
use super::rowset::RowSet;
use super::spec::{Key, TableSpec};
use crate::flat::OwnedValue;
use crate::value::{Type, Value};

/// A column and where it starts in a row.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) repr: Repr,
    pub(super) offset: usize,
}

/// The layout of integers in a column, for generated code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(crate) struct Shape {
    pub(crate) form: Form,
    /// Words before it in a row.
    pub(crate) offset: u32,
}

/// The location of an integer of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Form {
    /// Not in the words of a row, or beside values of other types.
    Other,
    /// One word.
    Half,
    /// Two words.
    Whole,
}

impl Column {
    fn shape(&self) -> Shape {
        let form = match self.repr {
            Repr::Int32 => Form::Half,
            Repr::Word(Type::Int) => Form::Whole,
            _ => Form::Other,
        };
        Shape { form, offset: self.offset as u32 }
    }
}

/// The rows that commits have brought to a table and taken from it; what comes and goes within one
/// commit, or is refreshed, counts as neither.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Rows that came.
    pub inserted: u64,
    /// Rows that went: deleted, replaced, evicted, expired, or no longer derived.
    pub gone: u64,
}

/// A table; see the [module](super).
#[derive(Clone, Debug)]
pub struct Table {
    pub(super) spec: TableSpec,
    pub(super) columns: Vec<Column>,
    /// Of the columns.
    shapes: Vec<Shape>,
    /// Words per row.
    pub(super) stride: usize,
    pub(super) words: Vec<u32>,
    pub(super) heap: Heap,
    /// Rows in the slab, dead ones included.
    pub(super) rows: u32,
    pub(super) live_rows: u32,
    pub(super) live: Bits,
    pub(super) dying: Bits,
    pub(super) dying_rows: Vec<RowId>,
    pub(super) ranks: Ranks,
    pub(super) asserted: Bits,
    pub(super) fresh_from: u32,
    /// Live rows when it was last settled, and the rows that commits have brought and taken.
    pub(super) settled_rows: u32,
    pub(super) traffic: Traffic,
    /// Live and dying rows by the hash of their key; none of a bag.
    pub(super) primary: RowSet,
    /// Those before this one; see [`link`](super::link).
    pub(super) linked: u32,
    /// The rows of a bag by all their columns: equal ones are a chain, so one more costs nothing.
    pub(super) equals: Index,
    /// The key columns; all columns for a bag.
    pub(super) key: Vec<u32>,
    pub(super) indexes: Vec<Index>,
    pub(super) ordered: Vec<OrderedIndex>,
    pub(super) ages: Option<Ages>,
    /// The matrix of its pairs, while rows are derived repeatedly.
    pub(super) pairs: Option<Box<Pairs>>,
    /// The secret of the hashes of keys.
    pub(super) secret: Secret,
}

impl Table {
    /// An empty table, which hashes keys with `secret`. No result depends on the secret.
    pub fn new(spec: TableSpec, secret: Secret) -> Table {
        let column = Column { repr: Repr::Empty, offset: 0 };
        let key = match &spec.key {
            Key::Columns(columns) => columns.clone(),
            Key::Bag => (0..spec.arity).collect(),
        };
        let bounded = spec.lifetime_ns.is_some() || spec.size_max.is_some();
        Table {
            shapes: vec![column.shape(); spec.arity as usize],
            columns: vec![column; spec.arity as usize],
            stride: 0,
            words: Vec::new(),
            heap: Heap::default(),
            rows: 0,
            live_rows: 0,
            live: Bits::default(),
            dying: Bits::default(),
            dying_rows: Vec::new(),
            ranks: Ranks::default(),
            asserted: Bits::default(),
            fresh_from: 0,
            settled_rows: 0,
            traffic: Traffic::default(),
            primary: RowSet::default(),
            linked: 0,
            equals: Index::new(key.clone()),
            key,
            indexes: spec.indexes.iter().cloned().map(Index::new).collect(),
            ordered: spec.ordered.iter().map(|columns| OrderedIndex::new(columns)).collect(),
            ages: bounded.then(Ages::default),
            spec,
            pairs: None,
            secret,
        }
    }

    /// The secret of the hashes of keys.
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
            + self.ranks.bytes()
            + self.primary.bytes()
            + self.equals.bytes()
            + self.indexes.iter().map(Index::bytes).sum::<usize>()
            + self.ordered.iter().map(OrderedIndex::bytes).sum::<usize>()
            + self.pairs.as_ref().map_or(0, |pairs| pairs.bytes())
    }

    /// The most slots that a look-up by the primary key may pass, found by scanning them: much less
    /// than the number of rows, unless keys collide.
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

    /// Replaces the columns; the caller stores the rows anew.
    pub(super) fn set_columns(&mut self, columns: Vec<Column>, stride: usize) {
        self.shapes = columns.iter().map(Column::shape).collect();
        (self.columns, self.stride) = (columns, stride);
    }

    /// The layout of integers in each column.
    #[inline]
    pub(crate) fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    /// Words of a row.
    pub(crate) fn row_size(&self) -> usize {
        self.stride
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

    /// True if `row` is asserted: a fact or an event rule inserted it.
    pub fn is_asserted(&self, row: RowId) -> bool {
        self.asserted.get(row.0)
    }

    /// Of a table with a lifetime or a size: a number that is greater the later `row` was inserted
    /// or refreshed.
    pub fn touched(&self, row: RowId) -> Option<u64> {
        self.ages.as_ref().map(|ages| ages.last(row).1)
    }

    /// Of a table with a lifetime or a size: when `row` was inserted or refreshed last.
    pub fn touched_ns(&self, row: RowId) -> Option<u64> {
        self.ages.as_ref().map(|ages| ages.last(row).0)
    }

    /// Marks `row` as asserted.
    pub fn assert_row(&mut self, row: RowId) {
        self.asserted.set(row.0);
    }

    #[inline]
    pub(crate) fn sees(&self, row: RowId, visible: Visible) -> bool {
        match visible {
            Visible::Live => self.live.get(row.0),
            Visible::Below(limit) => row < limit && self.live.get(row.0),
            Visible::Within(first, end) => (first..end).contains(&row) && self.live.get(row.0),
            Visible::OlderThan(limit) => self.live.get(row.0) && self.ranks.is_older(row, limit),
            Visible::Ever => self.live.get(row.0) || self.dying.get(row.0),
            Visible::Before => self.was_live(row),
        }
    }

    #[inline]
    pub(crate) fn is_bag(&self) -> bool {
        self.spec.key == Key::Bag
    }

    /// The words of `column` in a row.
    #[inline]
    pub(super) fn column_words(&self, column: &Column, row: RowId) -> &[u32] {
        let start = row.0 as usize * self.stride + column.offset;
        &self.words[start..start + column.repr.words()]
    }

    /// The words of a row.
    #[inline]
    pub(crate) fn row_words(&self, row: RowId) -> &[u32] {
        &self.words[row.0 as usize * self.stride..][..self.stride]
    }

    /// The location of the integers of a column, if it holds nothing else.
    pub(crate) fn place(&self, column: u32) -> Option<ColumnOffset> {
        let column = &self.columns[column as usize];
        match &column.repr {
            Repr::Int32 => Some(ColumnOffset::Half(column.offset)),
            Repr::Word(Type::Int) => Some(ColumnOffset::Whole(column.offset)),
            Repr::Const(constant) => match constant.get() {
                Value::Int(value) => Some(ColumnOffset::Fixed(value)),
                _ => None,
            },
            _ => None,
        }
    }
}
