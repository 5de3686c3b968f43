//! Versions of a kernel: one for packets that are long enough, in which comparisons with the length
//! are left out, and one for the others.

use tidemill_jit::build::{InstBuilder, IntCC};

use super::writer::Writer;
use crate::kernel::flow;

/// Comparisons with the length that are worth a version without them; bytes that all but few
/// packets have, as frames have no fewer; and blocks that are written twice at most.
const MERGED_MIN: usize = 4;
const MERGED_BYTES_MAX: u32 = 60;
const MERGED_BLOCKS_MAX: usize = 512;

impl Writer<'_, '_, '_> {
    /// Writes a kernel: twice, if it compares the length with many offsets. Packets that reach the
    /// last of them go to the version that does without.
    pub(super) fn versions(&mut self, at: usize) {
        let whole = self.sites[at].flow.clone();
        let Some(bytes) = self.merged(at) else { return self.steps(at, whole) };
        let (kernel, _) = self.kernel(at);
        let [long, short] = [(); 2].map(|()| self.body.create_block());
        let length = self.body.use_var(self.length);
        let bytes_there = i64::from(bytes);
        let is_long =
            self.body.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, length, bytes_there);
        self.body.set_cold_block(short);
        self.body.ins().brif(is_long, long, &[], short, &[]);
        let known = self.known.clone();
        for (block, facts) in [(long, flow(kernel, bytes.into())), (short, whole)] {
            self.body.switch_to_block(block);
            self.known = known.clone();
            self.steps(at, facts);
        }
    }

    /// The bytes that a version of a kernel of its own is worth writing for.
    fn merged(&self, at: usize) -> Option<u32> {
        let (kernel, _) = self.kernel(at);
        let outputs = self.blueprint.apps[self.app(at)].outputs.iter().flatten();
        // What follows in the run must have one kernel that leads to it.
        let is_last = outputs.into_iter().all(|&link| self.step_after(link).is_none());
        let compared = self.sites[at].flow.compared.iter();
        let near = compared.copied().filter(|offset| *offset <= MERGED_BYTES_MAX);
        let is_worth = is_last
            && kernel.blocks.len() <= MERGED_BLOCKS_MAX
            && near.clone().count() >= MERGED_MIN;
        near.max().filter(|_| is_worth)
    }
}
