//! Running strands of view rules on words: the fast path beside [`crate::strand`].
//!
//! Most of what a fixed point derives are tuples of integers, copied from column to column. For
//! a batch of rows of a delta, [`compile`] takes the *present* layout of the tables and turns the
//! strand into probes with resolved offsets over registers that are plain 64-bit integers; columns
//! that are the same in every row (mostly the location) are compared once, at compile time.
//! Derivations are appended to a buffer of words in the layout of the head's table, and inserted
//! unchanged.
//!
//! A strand that does more than join, compare and copy integers, or a table that holds other
//! things, is [`Halt::Unfit`]: the interpreter does it. Where both can run they derive the same
//! tuples in the same order.

mod compile;
mod memo;
mod steps;

use crate::eval::Ambient;
use crate::table::{
    ColumnOffset, IndexRows, KnownPairs, Limit, PartRows, RowId, Side, Table, Visible,
};
use crate::value::Value;
use memo::{Memo, Seen};
use smallvec::SmallVec;
use std::cmp::Ordering;
use steps::{Bound, Hashed, Operand, Path, Probe, Step};

pub(crate) use compile::{Halt, compile};

/// A strand compiled for the present layout of its tables.
#[derive(Debug)]
pub(crate) struct Narrow<'a> {
    table: &'a Table,
    binds: Vec<Bound>,
    steps: Vec<Step<'a>>,
    output: Vec<(ColumnOffset, Operand)>,
    /// How rows of the last step, a join, are copied to the output directly.
    copied: Option<Copied>,
    /// The pairs that the head's table has, which are left out of the output.
    known: Option<KnownPairs<'a>>,
    /// How rows with the same look-ups are recognised.
    memo: Option<Memo>,
    regs: usize,
}

/// The words that an output row takes from the row of the last join; all others are the same for
/// all rows that a probe finds, and written once.
#[derive(Debug)]
struct Copied {
    /// Output words and the words of the row that go there.
    words: Vec<(usize, usize)>,
}

/// The work of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// Rows that its probes examined.
    pub(crate) probes: u64,
    /// Derivations left out of the output, as the head's table has them.
    pub(crate) left_out: u64,
}

impl Narrow<'_> {
    /// Appends to `out` what the strand derives from each of some rows.
    ///
    /// Ends early when interrupted or after `words_max` words; the commit is then given up.
    pub(crate) fn run(
        &self,
        rows: &[RowId],
        out: &mut Vec<u32>,
        words_max: usize,
        ambient: &dyn Ambient,
    ) -> Work {
        let before = out.len();
        let mut run = Run {
            narrow: self,
            regs: vec![0; self.regs],
            template: Vec::new(),
            out,
            words_max,
            ambient,
            looked: 0,
            left_out: 0,
            over: false,
        };
        let mut seen = Seen::default();
        // Words that were copied from earlier output, for which nothing was examined.
        let mut replayed = 0;
        for &row in rows {
            if run.is_over() {
                break;
            }
            if !run.bind(&self.binds, self.table.row_words(row)) {
                continue;
            }
            let Some(memo) = &self.memo else {
                run.step(&self.steps);
                continue;
            };
            let value = run.regs[memo.input];
            match seen.find(value) {
                Some(earlier) => {
                    replayed += earlier.len();
                    memo.replay(earlier, &run.regs, run.out);
                }
                None => {
                    let (start, left_out) = (run.out.len(), run.left_out);
                    run.step(&self.steps);
                    // A replayed row may contain pairs that are not known, so nothing may have been
                    // left out.
                    if run.left_out == left_out {
                        seen.note(value, start..run.out.len());
                    }
                }
            }
        }
        // Each row of a last join that becomes output was examined, and not counted.
        let copied = match self.copied {
            Some(_) => (run.out.len() - before - replayed) / self.width().max(1),
            None => 0,
        };
        let copied = copied as u64 + run.left_out;
        let probes = u64::from(run.looked).saturating_sub(rows.len() as u64) + copied;
        Work { probes, left_out: run.left_out }
    }

    /// Words of an output row.
    fn width(&self) -> usize {
        self.output.iter().map(|(place, _)| place.words()).sum()
    }
}

struct Run<'n> {
    narrow: &'n Narrow<'n>,
    regs: Vec<i64>,
    /// An output row of the running probe.
    template: Vec<u32>,
    out: &'n mut Vec<u32>,
    words_max: usize,
    ambient: &'n dyn Ambient,
    /// Rows examined, without those of a last join.
    looked: u32,
    /// Rows left out of the output, as the head's table has them.
    left_out: u64,
    /// The run must end.
    over: bool,
}

/// Rows examined between two checks for an interrupt.
const LOOK_EVERY: u32 = 256;

impl<'n> Run<'n> {
    /// Whether the run must end early.
    #[inline]
    fn is_over(&mut self) -> bool {
        self.looked = self.looked.wrapping_add(1);
        if self.looked.is_multiple_of(LOOK_EVERY) {
            self.over |= self.out.len() > self.words_max || self.ambient.is_interrupted();
        }
        self.over
    }

    /// Loads registers from a row; false if a column does not equal what it must.
    #[inline]
    fn bind(&mut self, binds: &[Bound], words: &[u32]) -> bool {
        for bound in binds {
            match *bound {
                Bound::Load(place, reg) => self.regs[reg] = place.read(words),
                Bound::Equal(place, operand) => {
                    if place.read(words) != operand.read(&self.regs) {
                        return false;
                    }
                }
            }
        }
        true
    }

    fn step(&mut self, steps: &'n [Step<'n>]) {
        let Some((step, rest)) = steps.split_first() else {
            for &(place, operand) in &self.narrow.output {
                place.append(self.out, operand.read(&self.regs));
            }
            return;
        };
        match step {
            Step::Join(probe)
                if rest.is_empty()
                    && let Some(copied) = &self.narrow.copied =>
            {
                self.copy(probe, copied);
            }
            Step::Join(probe) => {
                let mut rows = probe.rows(&self.regs);
                while let Some(row) = rows.next(probe)
                    && !self.is_over()
                {
                    if self.bind(&probe.binds, probe.table.row_words(row)) {
                        self.step(rest);
                    }
                }
            }
            Step::Exists(probe) => {
                if self.finds(probe) {
                    self.step(rest);
                }
            }
            Step::Absent(probe) => {
                if !self.finds(probe) {
                    self.step(rest);
                }
            }
            Step::Compare(a, b, [less, equal, greater]) => {
                let holds = match a.read(&self.regs).cmp(&b.read(&self.regs)) {
                    Ordering::Less => less,
                    Ordering::Equal => equal,
                    Ordering::Greater => greater,
                };
                if *holds {
                    self.step(rest);
                }
            }
        }
    }
}

impl<'n> Run<'n> {
    fn finds(&mut self, probe: &'n Probe<'n>) -> bool {
        let mut rows = probe.rows(&self.regs);
        while let Some(row) = rows.next(probe) {
            // The output of a run that ended early is discarded.
            if self.is_over() || self.bind(&probe.binds, probe.table.row_words(row)) {
                return true;
            }
        }
        false
    }

    /// The last join: the rows that it finds become output.
    fn copy(&mut self, probe: &'n Probe<'n>, copied: &Copied) {
        let rows = probe.rows(&self.regs);
        self.template.clear();
        for &(place, operand) in &self.narrow.output {
            place.append(&mut self.template, operand.read(&self.regs));
        }
        match (&copied.words[..], &self.template[..]) {
            (&[(0, word)], &[_, second]) => {
                self.copy_pairs(probe, rows, |words| [words[word], second]);
            }
            (&[(1, word)], &[first, _]) => {
                self.copy_pairs(probe, rows, |words| [first, words[word]]);
            }
            _ => rows.each(probe, |words| {
                let start = self.out.len();
                self.out.extend_from_slice(&self.template);
                let to = &mut self.out[start..];
                copied.words.iter().for_each(|&(at, word)| to[at] = words[word]);
            }),
        }
    }

    /// The same for pairs, without those that are known.
    #[inline]
    fn copy_pairs(
        &mut self,
        probe: &'n Probe<'n>,
        rows: Rows<'n>,
        pair: impl Fn(&[u32]) -> [u32; 2],
    ) {
        match self.narrow.known {
            None => rows.each(probe, |words| self.out.extend_from_slice(&pair(words))),
            Some(known) => rows.each(probe, |words| {
                let pair = pair(words);
                if known.has(pair) { self.left_out += 1 } else { self.out.extend_from_slice(&pair) }
            }),
        }
    }
}

impl<'n> Probe<'n> {
    #[inline]
    fn rows(&self, regs: &[i64]) -> Rows<'n> {
        let same = |words: &[u32]| {
            self.key.iter().all(|(place, operand)| place.read(words) == operand.read(regs))
        };
        if let Path::Dense(number, operand) = self.path {
            let value = operand.read(regs);
            return match self.part {
                Some(part) => Rows::Part(part.probe_dense(self.table, value, same)),
                None => Rows::Chain(self.table.probe_dense(number, value, same)),
            };
        }
        let secret = self.table.secret();
        let of = |hashed: &Hashed| match hashed {
            Hashed::Reg(reg) => secret.word(regs[*reg] as u64),
            Hashed::Known(hash) => *hash,
        };
        let hash = match &self.hashed[..] {
            [one] => secret.combine(self.state, of(one)),
            all => all.iter().fold(self.state, |state, one| secret.combine(state, of(one))),
        };
        if let Some(part) = self.part {
            return Rows::Part(part.probe(self.table, hash, same));
        }
        match self.path {
            Path::Scan => match self.visible {
                Visible::Within(first, end) => Rows::Scan(first.0..end.0),
                _ => Rows::Scan(0..self.table.next_row().0),
            },
            Path::Primary => Rows::One(self.table.probe_primary(hash, self.visible, same)),
            Path::Ordered(number) => {
                let limit = |&(side, operand): &(Side, Operand)| Limit {
                    side,
                    value: Value::Int(operand.read(regs)),
                    added: 0,
                };
                let limits: SmallVec<[Limit<'_>; 2]> = self.limits.iter().map(limit).collect();
                match self.table.probe_ordered(number, hash, &limits, same) {
                    Some(rows) => Rows::Found(rows.into_iter()),
                    None => Rows::Scan(0..self.table.next_row().0),
                }
            }
            Path::Index(number) | Path::Dense(number, _) => {
                Rows::Chain(self.table.probe_index(number, hash, same))
            }
        }
    }
}

/// Rows that a probe has found.
enum Rows<'n> {
    Scan(std::ops::Range<u32>),
    One(Option<RowId>),
    Found(std::vec::IntoIter<u32>),
    Chain(IndexRows<'n>),
    Part(PartRows<'n>),
}

impl Rows<'_> {
    #[inline]
    fn next(&mut self, probe: &Probe<'_>) -> Option<RowId> {
        loop {
            let row = match self {
                Rows::Scan(rows) => RowId(rows.next()?),
                Rows::One(row) => RowId(row.take()?.0),
                Rows::Found(rows) => RowId(rows.next()?),
                Rows::Chain(rows) => rows.next()?,
                Rows::Part(rows) => rows.next()?,
            };
            if probe.sees(row) {
                return Some(row);
            }
        }
    }

    /// Calls `f` with the words of each row.
    #[inline]
    fn each(self, probe: &Probe<'_>, mut f: impl FnMut(&[u32])) {
        let mut one = |row| {
            if probe.sees(row) {
                f(probe.table.row_words(row));
            }
        };
        match self {
            Rows::Scan(rows) => rows.map(RowId).for_each(one),
            Rows::One(row) => row.into_iter().for_each(one),
            Rows::Found(rows) => rows.map(RowId).for_each(one),
            Rows::Chain(rows) => rows.for_each(one),
            Rows::Part(rows) => rows.for_each(&mut one),
        }
    }
}
