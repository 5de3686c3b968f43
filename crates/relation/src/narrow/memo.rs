//! Rows of a batch that differ only in what they copy to the output.
//!
//! If the steps of a strand read one integer of the row that starts it, all rows of the batch with
//! that integer find the same: the output of the first is copied, and patched with the other
//! registers of each row. In `pt(y, w) :- load(y, x), pt(x, z), pt(z, w)` so the many rows `(z, w)`
//! of one `z` look up once what points to `z`, and do nothing if nothing loads from there.

use super::steps::{Bound, Hashed, Operand, Path, Probe, Step};
use crate::table::ColumnOffset;
use tidemill_stdx::hash::hash_u64;
use tidemill_stdx::sorted::SortedSet;

/// The size of the cache of integers: the last of each hash is kept.
const SLOTS: usize = 1024;

/// The plan for running a strand with a memo.
#[derive(Debug)]
pub(super) struct Memo {
    /// The register that the steps read.
    pub(super) input: usize,
    /// The offsets of the other registers of the first row in the words of the output.
    patches: Vec<(usize, ColumnOffset, usize)>,
    /// Words of an output row.
    stride: usize,
}

/// The output of rows seen so far, by their integer.
#[derive(Default)]
pub(super) struct Seen {
    slots: Vec<Option<(i64, std::ops::Range<usize>)>>,
}

impl Seen {
    fn slot(value: i64) -> usize {
        (hash_u64(value as u64) >> 32) as usize % SLOTS
    }

    /// The position of the output of an earlier row with this integer.
    pub(super) fn find(&self, value: i64) -> Option<std::ops::Range<usize>> {
        let (seen, range) = self.slots.get(Seen::slot(value))?.as_ref()?;
        (*seen == value).then(|| range.clone())
    }

    pub(super) fn note(&mut self, value: i64, output: std::ops::Range<usize>) {
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, None);
        }
        self.slots[Seen::slot(value)] = Some((value, output));
    }
}

impl Memo {
    /// The plan for running a strand with a memo, if that is possible and may pay.
    pub(super) fn new(
        binds: &[Bound],
        steps: &[Step<'_>],
        output: &[(ColumnOffset, Operand)],
    ) -> Option<Memo> {
        if steps.len() < 2 {
            return None;
        }
        let loaded = |bound: &Bound| match bound {
            Bound::Load(_, reg) => Some(*reg),
            Bound::Equal(..) => None,
        };
        let own: SortedSet<usize> = binds.iter().filter_map(loaded).collect();
        let mut read = SortedSet::new();
        steps.iter().for_each(|step| reads(step, &mut read));
        let mut inputs = own.iter().filter(|reg| read.contains(*reg));
        let (Some(&input), None) = (inputs.next(), inputs.next()) else { return None };
        let (mut patches, mut at) = (Vec::new(), 0);
        for &(place, operand) in output {
            if let Operand::Reg(reg) = operand
                && reg != input
                && own.contains(&reg)
            {
                patches.push((at, place, reg));
            }
            at += place.words();
        }
        Some(Memo { input, patches, stride: at })
    }

    /// Appends a copy of the output of an earlier row, with the registers of this row.
    pub(super) fn replay(&self, earlier: std::ops::Range<usize>, regs: &[i64], out: &mut Vec<u32>) {
        let start = out.len();
        out.extend_from_within(earlier);
        for &(at, place, reg) in &self.patches {
            let value = regs[reg];
            for row in out[start..].chunks_exact_mut(self.stride) {
                place.write(&mut row[at..], value);
            }
        }
    }
}

fn reads(step: &Step<'_>, read: &mut SortedSet<usize>) {
    let mut operand = |operand: &Operand| {
        if let Operand::Reg(reg) = operand {
            read.insert(*reg);
        }
    };
    match step {
        Step::Compare(a, b, _) => [a, b].into_iter().for_each(operand),
        Step::Join(probe) | Step::Exists(probe) | Step::Absent(probe) => {
            let Probe { key, binds, hashed, limits, path, .. } = probe;
            key.iter().for_each(|(_, by)| operand(by));
            limits.iter().for_each(|(_, by)| operand(by));
            for bound in binds {
                if let Bound::Equal(_, by) = bound {
                    operand(by);
                }
            }
            if let Path::Dense(_, by) = path {
                operand(by);
            }
            for one in hashed {
                if let Hashed::Reg(reg) = one {
                    operand(&Operand::Reg(*reg));
                }
            }
        }
    }
}
