//! The allocator of a worker: blocks by size, with exact accounting.

use crate::layout::CLASSES;

/// Memory of one worker. Generated code may take and put back blocks of the free lists.
#[repr(C)]
pub struct Memory {
    /// Bytes in use.
    pub used: u64,
    /// The most that were ever in use; beyond it a block is taken by a call, which also checks
    /// the limit.
    pub peak: u64,
    /// First free block of each class; a free block's first word is the next one's address.
    pub free: [*mut u8; CLASSES],
}
