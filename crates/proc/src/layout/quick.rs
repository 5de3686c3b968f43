//! How generated code looks an integer key up without a call.
//!
//! It applies to a collection of scalars with one such key, which is not
//! [pinned](crate::program::Shape::Collection). [`COLLECTION_FIRST`] is not 0 where one table has
//! all elements. With seeds `a` and `f` at [`COLLECTION_SEED`], and `p` the product of `key ^ a`
//! and `f` in 128 bits, the hash is the upper half of `p` ^ the lower one. Its top
//! [`COLLECTION_BITS`] bits are the number of the chunk, its lowest 7 with [`TAG_TOP`] the tag.
//! The first word of a chunk has a byte for each of 7 slots, the tag of its element or 0, and in
//! the last byte the number of elements that overflowed the chunk. Slot `s` has its key at `16 s +
//! 8` and its value after it. A key is absent if no slot has its tag and nothing overflowed. Every
//! other case is left to an operation.

/// Where a collection has what its hashes depend on: two words.
pub const COLLECTION_SEED: i32 = 16;
/// Where it has how many chunks there are, as a power of 2, of 32 bits.
pub const COLLECTION_BITS: i32 = 40;
/// Where it has the address of the first chunk, or 0.
pub const COLLECTION_FIRST: i32 = 48;

/// Bytes of a chunk, as a power of 2.
pub const CHUNK_SHIFT: u32 = 7;
/// The bit that every tag has.
pub const TAG_TOP: u64 = 0x80;
/// A tag times this is a word of 7 such tags.
pub const TAG_ONES: u64 = 0x0001_0101_0101_0101;
/// [`TAG_TOP`] of each of 7 tags.
pub const TAG_TOPS: u64 = TAG_TOP * TAG_ONES;
/// Bits of the tags in the first word of a chunk; the count is above them.
pub const TAG_BITS: u32 = 56;
