//! Facts about a packet's bytes while code is written: header words that are in registers.
//!
//! A word that was loaded is not loaded again, one that was stored is not written to the packet
//! before it may be read there: by a filter, a ring, a copy, or at its end. So twenty kernels that
//! change one field of the header load it once and store it once. Facts belong to one path through
//! the code; where paths meet, all words are written.

use tidemill_jit::build::Value;

use crate::kernel::Width;

/// Words in registers at most.
pub(super) const KNOWN_MAX: usize = 12;

/// Facts about a packet's bytes.
#[derive(Clone, Default)]
pub(super) struct Known {
    pub words: Vec<Word>,
}

/// A loaded number as it is in the packet: of its width, in the order of the network.
#[derive(Clone, Copy)]
pub(super) struct Raw {
    pub value: Value,
    pub width: Width,
    /// The bits that count, in the order of the machine.
    pub mask: u64,
}

#[derive(Clone, Copy)]
pub(super) struct Word {
    /// From the start of the packet.
    pub offset: u32,
    pub width: Width,
    /// As a kernel sees it: 64 bits, most significant byte first.
    pub value: Value,
    /// It is not in the packet yet.
    pub is_new: bool,
}

impl Word {
    pub fn overlaps(&self, width: Width, offset: u32) -> bool {
        let end = |width: Width, offset: u32| u64::from(offset) + u64::from(width.bytes());
        u64::from(self.offset) < end(width, offset)
            && u64::from(offset) < end(self.width, self.offset)
    }
}
