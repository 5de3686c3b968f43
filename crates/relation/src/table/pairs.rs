//! Which pairs of small integers a table has, as bits, during a fixed point.
//!
//! In views over graphs most derivations are of existing rows. Whether one is costs two cache
//! misses in the hash table, and next to none in a matrix of bits, as successive derivations mostly
//! share their first integer. The matrix is in blocks of 512 bits, of which only those exist that
//! have one. It is made when about as many rows were derived again as it has words, so it costs no
//! more than they did, and is small beside the rows; or, with all its blocks, when it takes less
//! memory than half of the rows. It is dropped with the first row that is removed, and at the end
//! of the commit.
//!
//! ```text
//! index    [a * columns + b / 512] -> number of a block, 0 if there is none
//! blocks   [0] no bits   [1] 512 bits   [2] ...
//! ```
//! A small matrix has all its blocks, in that order, and no index.
//!
//! **Invariant:** a bit of the matrix is set just if the table has the row, and then it is live.
//! A pair outside of the matrix may be in the table or not.

use tidemill_stdx::cache::prefetch;

/// Bits of a block, and the words that have them.
const BLOCK_BITS: u32 = 512;
const BLOCK: usize = (BLOCK_BITS / 32) as usize;
/// Words that the index may have for each row of the table, or for any table.
const INDEX_A_ROW: u64 = 16;
const INDEX_MIN: u64 = 1 << 18;
/// Blocks that a matrix without an index may have: 1 MiB of them.
const FLAT_MAX: u64 = 1 << 14;
/// Rows between a prefetch and its use.
const AHEAD: usize = 16;

/// The matrix, and the counts that decide on it.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairs {
    matrix: Option<Matrix>,
    /// Rows derived again since there was a matrix.
    again: u64,
    /// Rows inserted outside of the matrix.
    put: usize,
    /// The largest integers of the rows examined so far, and the number of these.
    most: [u32; 2],
    looked_at: usize,
    /// A buffer for new rows, kept for its memory.
    new: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Matrix {
    /// Empty if all blocks are allocated.
    index: Vec<u32>,
    blocks: Vec<[u32; BLOCK]>,
    /// First integers are less than this.
    height: u32,
    /// Second integers are less than `columns` times the bits of a block.
    columns: u32,
}

impl Matrix {
    fn new(height: u32, columns: u32) -> Matrix {
        let places = height as usize * columns as usize;
        let (index, blocks) = if places as u64 <= FLAT_MAX {
            (Vec::new(), vec![[0; BLOCK]; places])
        } else {
            (vec![0; places], vec![[0; BLOCK]])
        };
        Matrix { index, blocks, height, columns }
    }

    /// The place of the block of a pair in the index; nothing outside of the matrix.
    #[inline]
    fn place(&self, a: u32, b: u32) -> Option<usize> {
        let column = b / BLOCK_BITS;
        let is_inside = a < self.height && column < self.columns;
        is_inside.then(|| a as usize * self.columns as usize + column as usize)
    }

    #[inline]
    fn has(&self, a: u32, b: u32) -> bool {
        let block = match (self.place(a, b), self.index.is_empty()) {
            (None, _) => return false,
            (Some(place), true) => place,
            (Some(place), false) => self.index[place] as usize,
        };
        self.blocks[block][(b % BLOCK_BITS / 32) as usize] >> (b % 32) & 1 != 0
    }

    /// Sets the bit of a pair; whether it was set, or `None` outside of the matrix.
    #[inline]
    fn set(&mut self, a: u32, b: u32) -> Option<bool> {
        let mut block = self.place(a, b)?;
        if let Some(number) = self.index.get_mut(block) {
            if *number == 0 {
                // There are at most as many blocks as rows, whose ids have 32 bits.
                *number = self.blocks.len() as u32;
                self.blocks.push([0; BLOCK]);
            }
            block = *number as usize;
        }
        let word = &mut self.blocks[block][(b % BLOCK_BITS / 32) as usize];
        let bit = 1 << (b % 32);
        let was_set = *word & bit != 0;
        *word |= bit;
        Some(was_set)
    }
}

/// A matrix to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownPairs<'t>(&'t Matrix);

impl KnownPairs<'_> {
    /// True if the table has the row; if not, it may have it all the same.
    #[inline]
    pub(crate) fn has(self, [a, b]: [u32; 2]) -> bool {
        self.0.has(a, b)
    }
}

/// Rows that a matrix did not have; see [`Pairs::unknown`].
pub(super) struct Unknown {
    pub(super) rows: Vec<u32>,
    /// Each is in the matrix now, so the table does not have it.
    pub(super) are_new: bool,
}

impl Pairs {
    /// The matrix, if there is one.
    pub(super) fn known(&self) -> Option<KnownPairs<'_>> {
        self.matrix.as_ref().map(KnownPairs)
    }

    /// Notes a row that was inserted.
    pub(super) fn note(&mut self, row: &[u32]) {
        if let (Some(matrix), &[a, b]) = (&mut self.matrix, row) {
            matrix.set(a, b);
        }
    }

    /// Those of some rows that are not known, each once, for the caller to insert; `None` while
    /// there is no matrix.
    pub(super) fn unknown(&mut self, rows: &[u32]) -> Option<Unknown> {
        let matrix = self.matrix.as_mut()?;
        let mut new = std::mem::take(&mut self.new);
        let mut are_new = true;
        new.clear();
        for (at, pair) in rows.chunks_exact(2).enumerate() {
            let ahead = 2 * (at + AHEAD);
            if let Some(&[a, b]) = rows.get(ahead..ahead + 2)
                && let Some(place) = matrix.place(a, b)
            {
                let flat =
                    || matrix.blocks.get(place).map(|block| &block[(b % BLOCK_BITS / 32) as usize]);
                if let Some(word) = matrix.index.get(place).or_else(flat) {
                    prefetch(word);
                }
            }
            match matrix.set(pair[0], pair[1]) {
                Some(true) => continue,
                Some(false) => {}
                None => are_new = false,
            }
            new.extend_from_slice(pair);
        }
        Some(Unknown { rows: new, are_new })
    }

    /// Returns the buffer of new rows.
    pub(super) fn reuse(&mut self, new: Vec<u32>) {
        self.new = new;
    }

    /// Counts `again` rows that were derived again and that the matrix did not have, and `put` rows
    /// inserted, of a table with these rows, all of which are live.
    pub(super) fn count(&mut self, again: usize, put: usize, rows: &[u32]) {
        self.again += again as u64;
        self.put += put;
        let known = rows.len() as u64 / 2;
        let few = known.max(1024);
        if self.again < few && 2 * (self.put as u64) < few {
            return;
        }
        for pair in rows[2 * self.looked_at..].chunks_exact(2) {
            self.most = [self.most[0].max(pair[0]), self.most[1].max(pair[1])];
        }
        self.looked_at = rows.len() / 2;
        // Later integers are often a little larger.
        let [height, width] = self.most.map(|most| u64::from(most) + u64::from(most) / 8 + 1);
        let columns = width.div_ceil(u64::from(BLOCK_BITS));
        let index = height.saturating_mul(columns);
        let is_small = index <= INDEX_MIN.max(INDEX_A_ROW * known) && height <= u64::from(u32::MAX);
        let pays = self.again >= index.max(known);
        let is_cheap = index <= FLAT_MAX && index * BLOCK as u64 <= known;
        if !is_small || !pays && !is_cheap {
            return;
        }
        let mut matrix = Matrix::new(height as u32, columns as u32);
        for pair in rows.chunks_exact(2) {
            matrix.set(pair[0], pair[1]);
        }
        (self.matrix, self.again, self.put) = (Some(matrix), 0, 0);
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        let of = |matrix: &Matrix| matrix.index.capacity() + matrix.blocks.capacity() * BLOCK;
        (self.matrix.as_ref().map_or(0, of) + self.new.capacity()) * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use tidemill_stdx::rng::Rng;

    use super::*;

    /// Rows as a table would have them, against a set: what is new is put in, all else is known.
    #[test]
    #[cfg_attr(miri, ignore = "rounds of thousands of rows")]
    fn only_known_rows_are_left_out() {
        // Pairs drawn again and again, in a matrix of all blocks and of some, and hardly ever.
        for (seed, below, rows_a_round) in
            [(1, 50, 1000), (2, 300, 3000), (3, 10_000_000, 5000), (4, 40_000, 200)]
        {
            let mut random = Rng::new(seed);
            let (mut pairs, mut rows, mut model) = (Pairs::default(), Vec::new(), HashSet::new());
            for round in 0..200 {
                // Later rounds have integers that the matrix has not.
                let most = below + round * below / 1000;
                let mut draw = |at: usize| match (random.below(50), round) {
                    (0, 100..) => u32::MAX - random.below(3) as u32,
                    // A few that are far apart.
                    _ if seed == 3 && at.is_multiple_of(2) => random.below(10) as u32,
                    _ if seed == 3 => random.below(100) as u32 * 100_000,
                    _ => random.below(most) as u32,
                };
                let batch: Vec<u32> = (0..2 * rows_a_round).map(&mut draw).collect();
                let new = pairs.unknown(&batch);
                let (mut again, before) = (0, rows.len());
                let mut left: HashSet<(u32, u32)> =
                    batch.chunks(2).map(|pair| (pair[0], pair[1])).collect();
                for pair in new.as_ref().map_or(&batch, |new| &new.rows).chunks(2) {
                    left.remove(&(pair[0], pair[1]));
                    if model.insert((pair[0], pair[1])) {
                        rows.extend_from_slice(pair)
                    } else {
                        again += 1
                    }
                }
                assert!(again == 0 || new.as_ref().is_none_or(|new| !new.are_new), "{seed}");
                assert!(left.iter().all(|pair| model.contains(pair)), "{seed}: {round}");
                pairs.count(again, (rows.len() - before) / 2, &rows);
                new.into_iter().for_each(|new| pairs.reuse(new.rows));
                if let Some(known) = pairs.known() {
                    let kept = model.iter().filter(|&&(a, b)| known.has([a, b])).count();
                    let inside = known.0.blocks.iter().flatten().map(|word| word.count_ones());
                    assert_eq!(kept, inside.sum::<u32>() as usize, "{seed}: {round}");
                }
            }
            assert_eq!(pairs.matrix.is_some(), seed < 4, "{seed}");
        }
    }
}
