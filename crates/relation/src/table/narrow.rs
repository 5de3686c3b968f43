//! Tables as the batch runner of view rules ([`crate::narrow`]) sees them: columns of integers
//! as words, other columns if they are the same in every row, and rows put in many at a time.

use std::mem::discriminant;

use tidemill_stdx::keyed::Secret;

use super::{AHEAD, Access, Column, Key, Repr, RowId, Table, Visible, column, index, rowset};
use crate::value::{Type, Value};

/// Where the integer of a column lies in the words of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// One word.
    Half(usize),
    /// Two words.
    Whole(usize),
    /// The same in every row.
    Fixed(i64),
}

impl Place {
    #[inline]
    pub(crate) fn read(self, words: &[u32]) -> i64 {
        match self {
            Place::Half(at) => i64::from(words[at] as i32),
            Place::Whole(at) => column::get_word(&words[at..at + 2]) as i64,
            Place::Fixed(value) => value,
        }
    }

    /// The words it takes.
    pub(crate) fn words(self) -> usize {
        match self {
            Place::Half(_) => 1,
            Place::Whole(_) => 2,
            Place::Fixed(_) => 0,
        }
    }

    /// Its first word, if integers lie there as they do in `other`.
    pub(crate) fn start_of_same(self, other: Place) -> Option<usize> {
        match (self, other) {
            (Place::Half(at), Place::Half(_)) | (Place::Whole(at), Place::Whole(_)) => Some(at),
            _ => None,
        }
    }

    /// Writes a value that fits where the words of its column begin.
    #[inline]
    pub(crate) fn write(self, words: &mut [u32], value: i64) {
        match self {
            Place::Half(_) => words[0] = value as u32,
            Place::Whole(_) => {
                words[..2].copy_from_slice(&[value as u32, (value >> 32) as u32]);
            }
            Place::Fixed(_) => {}
        }
    }

    /// Appends to the words of a row, column by column, a value that fits.
    #[inline]
    pub(crate) fn append(self, words: &mut Vec<u32>, value: i64) {
        match self {
            Place::Half(_) => words.push(value as u32),
            Place::Whole(_) => words.extend([value as u32, (value >> 32) as u32]),
            Place::Fixed(_) => {}
        }
    }
}

/// What the batch runner knows of a value before it runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind<'a> {
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
    /// It can when the table has been [widened](Table::widen): places are others then.
    Widened(Layout),
    /// It cannot.
    Not,
}

/// Columns as they should be.
#[derive(Debug)]
pub(crate) struct Layout(Vec<Column>);

impl Layout {
    fn stride(&self) -> usize {
        self.0.iter().map(|column| column.repr.words()).sum()
    }
}

/// What became of a row of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NarrowOutcome {
    /// It is new.
    New(RowId),
    /// An equal row was there.
    Known(RowId),
}

impl Table {
    /// What is known of the values of a column; `None`: too little for the batch runner.
    pub(crate) fn kind(&self, column: u32) -> Option<Kind<'_>> {
        match &self.columns[column as usize].repr {
            Repr::Int32 => Some(Kind::Half),
            Repr::Word(Type::Int) => Some(Kind::Whole),
            Repr::Const(constant) => Some(Kind::Known(constant.get())),
            _ => None,
        }
    }

    /// Where the integers of a column lie, if it holds nothing else.
    pub(crate) fn place(&self, column: u32) -> Option<Place> {
        let column = &self.columns[column as usize];
        match &column.repr {
            Repr::Int32 => Some(Place::Half(column.offset)),
            Repr::Word(Type::Int) => Some(Place::Whole(column.offset)),
            Repr::Const(constant) => match constant.get() {
                Value::Int(value) => Some(Place::Fixed(value)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The words of a row.
    #[inline]
    pub(crate) fn row_words(&self, row: RowId) -> &[u32] {
        &self.words[row.0 as usize * self.stride..][..self.stride]
    }

    /// True if all rows are live, so that nobody needs to ask.
    pub(crate) fn all_live(&self) -> bool {
        self.live_rows == self.rows
    }

    /// The columns that `access` looks up; `None` for a bag, whose keys are not unique.
    pub(crate) fn access_columns(&self, access: Access) -> Option<&[u32]> {
        match access {
            Access::Scan => Some(&[]),
            Access::Primary => (self.spec.key != Key::Bag).then_some(&self.key),
            Access::Index(number) => Some(&self.indexes[number as usize].columns),
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
        self.primary.find(hash, matches).map(RowId)
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
    ) -> index::Rows<'_> {
        let rows = self.indexes[number as usize].dense_rows(value);
        of_same(rows, |row| same(self.row_words(row)))
    }

    /// Enters the rows that an index does not know by the integers of one column, if they are
    /// small and the other columns are the same in all rows; else forgets what it knows so.
    pub(super) fn prepare_dense(&self, index: &mut index::Index) -> bool {
        let by = self.only_integer(&index.columns);
        let limit = index::Index::dense_limit(self.rows);
        let small = |place: Place, row: u32| {
            Some(place.read(self.row_words(RowId(row)))).filter(|value| (0..limit).contains(value))
        };
        if index.wants_look(self.rows)
            && let Some((column, place)) = by
            && (0..self.rows).all(|row| small(place, row).is_some())
        {
            index.restart_dense(column);
        }
        let Some(column) = index.dense_column() else { return false };
        for row in index.rows_known()..self.rows {
            let value = by.filter(|by| by.0 == column).and_then(|(_, place)| small(place, row));
            let Some(value) = value else {
                index.clear();
                return false;
            };
            index.append_dense(RowId(row), value);
        }
        true
    }

    /// The one column of a key that differs from row to row, if it holds integers.
    fn only_integer(&self, columns: &[u32]) -> Option<(u32, Place)> {
        let differs =
            |column: &&u32| !matches!(self.columns[**column as usize].repr, Repr::Const(_));
        let mut differing = columns.iter().filter(differs);
        let (&column, None) = (differing.next()?, differing.next()) else { return None };
        Some((column, self.place(column)?))
    }

    /// The rows, live or not, of the chain of this hash whose first row `same` accepts.
    #[inline]
    pub(crate) fn probe_index(
        &self,
        number: u32,
        hash: u64,
        same: impl Fn(&[u32]) -> bool,
    ) -> index::Rows<'_> {
        self.indexes[number as usize].rows(hash, |row| same(self.row_words(row)))
    }

    /// Whether rows with values of these kinds can be put in by words alone: the table has no
    /// lifetime and no bound, nothing in it is dying, and its key is all columns that differ.
    pub(crate) fn fit(&self, kinds: &[Kind<'_>]) -> Fit {
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

    /// Changes the columns as [`Table::fit`] has asked. Rows keep their ids.
    pub(crate) fn widen(&mut self, layout: Layout) {
        let (stride, Layout(mut columns)) = (layout.stride(), layout);
        let mut offset = 0;
        for column in &mut columns {
            column.offset = offset;
            offset += column.repr.words();
        }
        self.rewrite(columns, stride, (0..self.rows).map(RowId));
    }

    /// Puts rows in, given one after the other as the words of their columns, which
    /// [`Table::fit`] has agreed to. Rows that are new have the ids from [`Table::next_row`] on,
    /// in order. Tells in order what became of each; gives the number of those refused because
    /// the table is full.
    pub(crate) fn insert_words(&mut self, rows: &[u32], told: impl FnMut(NarrowOutcome)) -> usize {
        let (Some(hashing), 1..) = (self.hashing(&self.key), self.stride) else {
            debug_assert!(rows.is_empty(), "the table fits");
            return 0;
        };
        // The width most tables have is a constant to the compiler; 0 stands for any.
        match self.halves() {
            Some(hash) => self.insert_blocks::<2>(rows, hash, told),
            None => self.insert_blocks::<0>(rows, |row| hashing.hash(row), told),
        }
    }

    /// The hash of a row of two words whose key is both, integers: what most rows are.
    pub(super) fn halves(&self) -> Option<impl Fn(&[u32]) -> u64 + use<>> {
        let (state, [a, b]) = self.hashing(&self.key)?.halves()?;
        let secret = self.secret;
        (self.stride == 2).then_some(move |row: &[u32]| {
            let of = |at: usize| secret.word(i64::from(row[at] as i32) as u64);
            secret.combine(secret.combine(state, of(a)), of(b))
        })
    }

    fn insert_blocks<const STRIDE: usize>(
        &mut self,
        rows: &[u32],
        hash: impl Fn(&[u32]) -> u64,
        mut told: impl FnMut(NarrowOutcome),
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
            for &hash in &hashes[..count] {
                if let Some(row) = self.primary.guess(hash) {
                    rowset::prefetch(self.words.get(row as usize * stride));
                }
            }
            for (row, &hash) in block.chunks_exact(stride).zip(&hashes) {
                self.insert_one(row, hash, &mut told);
            }
            self.live.set_range(before..self.rows);
            self.live_rows += self.rows - before;
        }
        refused
    }

    /// How to hash columns by their words, if they hold integers or what is the same in all rows.
    fn hashing(&self, columns: &[u32]) -> Option<Hashing> {
        let mut hashing = Hashing { secret: self.secret, state: 0, columns: Vec::new() };
        for &number in columns {
            let column = &self.columns[number as usize];
            let hashed = match &column.repr {
                Repr::Int32 => Hashed::Of(Place::Half(column.offset)),
                Repr::Word(Type::Int) => Hashed::Of(Place::Whole(column.offset)),
                Repr::Const(constant) => Hashed::Known(constant.hash()),
                _ => return None,
            };
            match hashed {
                Hashed::Known(hash) if hashing.columns.is_empty() => {
                    hashing.state = self.secret.combine(hashing.state, hash);
                }
                hashed => hashing.columns.push(hashed),
            }
        }
        Some(hashing)
    }

    /// For hashing the same columns of many rows.
    pub(super) fn hasher<'t>(&'t self, columns: &'t [u32]) -> Hasher<'t> {
        Hasher { table: self, columns, hashing: self.hashing(columns) }
    }

    /// Puts a row in whose words and slot there is room for; whoever calls it makes it live.
    #[inline]
    fn insert_one(&mut self, words: &[u32], hash: u64, told: &mut impl FnMut(NarrowOutcome)) {
        // Nothing is dying, and dead rows are not in the hash table: who is found is live.
        let same = |row| self.words[row as usize * words.len()..][..words.len()] == *words;
        match self.primary.find_or_free(hash, same) {
            Ok(row) => told(NarrowOutcome::Known(RowId(row))),
            Err(slot) => {
                self.primary.fill(slot, hash, self.rows);
                self.words.extend_from_slice(words);
                told(NarrowOutcome::New(RowId(self.rows)));
                self.rows += 1;
            }
        }
    }
}

/// A chain, if `same` accepts its first row.
#[inline]
pub(super) fn of_same(rows: index::Rows<'_>, same: impl Fn(RowId) -> bool) -> index::Rows<'_> {
    match rows.peek() {
        Some(row) if !same(row) => rows.nothing(),
        _ => rows,
    }
}

/// How a column contributes to a hash.
enum Hashed {
    Of(Place),
    Known(u64),
}

/// How columns of integers are hashed.
struct Hashing {
    secret: Secret,
    /// The hash of the columns before the first that differs from row to row.
    state: u64,
    columns: Vec<Hashed>,
}

impl Hashing {
    #[inline]
    fn hash(&self, words: &[u32]) -> u64 {
        self.columns.iter().fold(self.state, |state, column| {
            let hash = match column {
                Hashed::Of(place) => self.secret.word(place.read(words) as u64),
                Hashed::Known(hash) => *hash,
            };
            self.secret.combine(state, hash)
        })
    }

    /// The state and the places, if it is two integers of 32 bits.
    fn halves(&self) -> Option<(u64, [usize; 2])> {
        match self.columns[..] {
            [Hashed::Of(Place::Half(a)), Hashed::Of(Place::Half(b))] => Some((self.state, [a, b])),
            _ => None,
        }
    }
}

/// Hashes columns of stored rows; see [`Table::hasher`].
pub(super) struct Hasher<'t> {
    table: &'t Table,
    columns: &'t [u32],
    hashing: Option<Hashing>,
}

impl Hasher<'_> {
    #[inline]
    pub(super) fn hash(&self, row: RowId) -> u64 {
        match &self.hashing {
            Some(hashing) => hashing.hash(self.table.row_words(row)),
            None => self.table.hash_of(self.columns, row),
        }
    }
}

/// The representation with which a column holds values of `kind` as words, or not at all because
/// they are the same in every row; `None` if there is no such.
fn wanted(repr: &Repr, kind: &Kind<'_>, secret: &Secret) -> Option<Repr> {
    let wanted = match (kind, repr) {
        (Kind::Known(value), _) if repr.fits(value) => repr.clone(),
        (Kind::Known(value), _) => repr.widened(value, secret),
        (_, Repr::Const(constant)) => {
            return wanted(&Repr::narrowest(&constant.get()), kind, secret);
        }
        (Kind::Half, Repr::Empty | Repr::Int32) => Repr::Int32,
        (Kind::Whole, Repr::Empty | Repr::Int32) => Repr::Word(Type::Int),
        _ => repr.clone(),
    };
    matches!(wanted, Repr::Const(_) | Repr::Int32 | Repr::Word(Type::Int)).then_some(wanted)
}
