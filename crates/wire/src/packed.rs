//! Packed lists of numbers, decoded in blocks.
//!
//! Numbers of a fixed width are copied. Varints are read by blocks of 64 bytes: a mask has a bit
//! for each byte that ends a number.
//!
//! ```text
//!   bytes   05 | 96 01 | 07 | ff ff 03 | ...
//!   ends     1    0  1    1    0  0  1          no top bit
//! ```
//! A mask of all ones is a run of one-byte numbers, which is widened. A mask without two zeros side
//! by side has numbers of one byte or two, which a byte shuffle unpacks eight bytes at a time
//! ([`processor`]). In any other block each number lies between one end and the next, so its start
//! depends on the mask alone and not on the number before: the only branch to predict is the end of
//! the block.
//!
//! A malformed or incomplete number is not read. The caller decodes the rest number by number and
//! finds the error.

mod processor;

#[cfg(target_arch = "x86_64")]
use processor::Avx2;
use processor::{Portable, Processor};

use tidemill_stdx::copy;

use crate::schema::{FieldType, Scalar};
use crate::varint::{BYTES_MAX, unzigzag};

/// The encoding of the numbers of a list, and their cells in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Numbers {
    /// Eight bytes as they are.
    Fixed64,
    /// Four bytes as they are.
    Fixed32,
    /// A varint as one byte, 0 or 1.
    Bool,
    /// The low half of a varint.
    Low32,
    /// The low half of a varint, in zigzag.
    Zigzag32,
    /// A varint.
    Whole64,
    /// A varint in zigzag.
    Zigzag64,
}

impl Numbers {
    /// The encoding of a type that has packed lists. Numbers of enums are not looked up.
    pub(crate) fn of(ty: FieldType) -> Option<Numbers> {
        let scalar = match ty {
            FieldType::Enum(_) => return Some(Numbers::Low32),
            FieldType::Scalar(scalar) => scalar,
            FieldType::Message(_) | FieldType::Group(_) => return None,
        };
        Some(match scalar {
            Scalar::Double | Scalar::Fixed64 | Scalar::Sfixed64 => Numbers::Fixed64,
            Scalar::Float | Scalar::Fixed32 | Scalar::Sfixed32 => Numbers::Fixed32,
            Scalar::Bool => Numbers::Bool,
            Scalar::Int32 | Scalar::Uint32 => Numbers::Low32,
            Scalar::Sint32 => Numbers::Zigzag32,
            Scalar::Int64 | Scalar::Uint64 => Numbers::Whole64,
            Scalar::Sint64 => Numbers::Zigzag64,
            Scalar::String | Scalar::Bytes => return None,
        })
    }

    /// The bytes of a number in memory.
    pub(crate) fn cell_bytes(self) -> u32 {
        match self {
            Numbers::Bool => 1,
            Numbers::Fixed32 | Numbers::Low32 | Numbers::Zigzag32 => 4,
            Numbers::Fixed64 | Numbers::Whole64 | Numbers::Zigzag64 => 8,
        }
    }

    /// The number of complete numbers in `bytes`, if none is malformed.
    #[inline]
    pub(crate) fn count(self, bytes: &[u8]) -> usize {
        match self {
            Numbers::Fixed64 => bytes.len() / 8,
            Numbers::Fixed32 => bytes.len() / 4,
            _ => count_ends(bytes),
        }
    }

    /// Reads numbers up to the first malformed or incomplete one; returns the number of bytes read
    /// and of numbers written.
    ///
    /// # Safety
    /// From `to` on there is room for [`Numbers::count`] cells.
    #[inline]
    pub(crate) unsafe fn read(self, bytes: &[u8], to: *mut u8) -> (usize, usize) {
        // SAFETY: the caller guarantees room for all cells, here and in each arm.
        unsafe {
            match self {
                Numbers::Fixed64 => fixed::<8>(bytes, to),
                Numbers::Fixed32 => fixed::<4>(bytes, to),
                Numbers::Bool => varints::<Bool>(bytes, to.cast()),
                Numbers::Low32 => varints::<Low32>(bytes, to.cast()),
                Numbers::Zigzag32 => varints::<Zigzag32>(bytes, to.cast()),
                Numbers::Whole64 => varints::<Whole64>(bytes, to.cast()),
                Numbers::Zigzag64 => varints::<Zigzag64>(bytes, to.cast()),
            }
        }
    }
}

/// Copies numbers of `WIDTH` bytes.
///
/// # Safety
/// There is room for them from `to` on.
#[inline]
unsafe fn fixed<const WIDTH: usize>(bytes: &[u8], to: *mut u8) -> (usize, usize) {
    let (numbers, _) = bytes.as_chunks::<WIDTH>();
    if cfg!(target_endian = "little") {
        // SAFETY: the caller guarantees the room, which is new to the list and so does not overlap
        // `bytes`.
        unsafe { copy::copy(to, bytes.as_ptr(), numbers.len() * WIDTH) };
    } else {
        for (index, number) in numbers.iter().enumerate() {
            let mut number = *number;
            number.reverse();
            // SAFETY: the caller guarantees room for `numbers.len()` numbers.
            unsafe { to.add(index * WIDTH).cast::<[u8; WIDTH]>().write(number) };
        }
    }
    (numbers.len() * WIDTH, numbers.len())
}

/// The type of the numbers in varints.
trait Varint {
    type Cell: Copy;

    /// True if the bits above the 56th matter.
    const LONG: bool;

    /// The cell of a raw varint.
    fn cell(raw: u64) -> Self::Cell;
}

macro_rules! varint_kind {
    ($name:ident, $cell:ty, $long:literal, $raw:ident => $made:expr) => {
        struct $name;

        impl Varint for $name {
            type Cell = $cell;

            const LONG: bool = $long;

            #[inline(always)]
            fn cell($raw: u64) -> $cell {
                $made
            }
        }
    };
}

varint_kind!(Bool, u8, true, raw => u8::from(raw != 0));
varint_kind!(Low32, u32, false, raw => raw as u32);
varint_kind!(Zigzag32, u32, false, raw => {
    let low = raw as u32;
    low >> 1 ^ (low & 1).wrapping_neg()
});
varint_kind!(Whole64, u64, true, raw => raw);
varint_kind!(Zigzag64, u64, true, raw => unzigzag(raw) as u64);

/// Bytes of a block: the bits of a mask.
const BLOCK: usize = 64;

/// Bytes after a block that the read of its last number may touch.
const BEHIND: usize = 16;

/// # Safety
/// `to` has room for a cell for each varint that ends in `bytes`.
#[inline]
unsafe fn varints<V: Varint>(bytes: &[u8], to: *mut V::Cell) -> (usize, usize) {
    #[cfg(target_arch = "x86_64")]
    if bytes.len() >= BLOCK && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2")
    {
        // SAFETY: the processor has both features; the caller guarantees room for the cells.
        return unsafe { varints_avx2::<V>(bytes, to) };
    }
    // SAFETY: the caller guarantees room for a cell for each varint.
    unsafe { blocks::<V, Portable>(bytes, to) }
}

/// The same code with AVX2, which widens and shuffles, and BMI2, which extracts bits.
///
/// # Safety
/// As [`varints`]; the processor has these features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn varints_avx2<V: Varint>(bytes: &[u8], to: *mut V::Cell) -> (usize, usize) {
    // SAFETY: the caller guarantees room for a cell for each varint.
    unsafe { blocks::<V, Avx2>(bytes, to) }
}

/// # Safety
/// As [`varints`].
#[inline(always)]
unsafe fn blocks<V: Varint, P: Processor>(bytes: &[u8], to: *mut V::Cell) -> (usize, usize) {
    let mut cursor = Cursor { start: 0, to, written: 0 };
    let mut at = 0;
    while let Some(block) = bytes[at..].first_chunk::<{ BLOCK + BEHIND }>() {
        let ends = !tops(block.first_chunk().expect("a block is shorter"));
        // SAFETY: sixteen bytes can be read from each position of the block, and from those before
        // it.
        let fine = unsafe { cursor.block::<V, P>(bytes.as_ptr(), at, ends, u64::MAX) };
        at += BLOCK;
        // A number that continues after the block may be too long already.
        if !fine || at - cursor.start > BYTES_MAX {
            return (cursor.start, cursor.written);
        }
    }
    // The rest, followed by zeros.
    let before = cursor.start;
    let rest = &bytes[before..];
    let mut copy = [0; 2 * BLOCK + BEHIND];
    copy[..rest.len()].copy_from_slice(rest);
    cursor.start = 0;
    let mut at = 0;
    while at < rest.len() {
        let block = copy[at..].first_chunk().expect("the copy has two blocks");
        let inside = u64::MAX >> (BLOCK - (rest.len() - at).min(BLOCK));
        let ends = !tops(block) & inside;
        // SAFETY: sixteen bytes can be read from each position of the block in the copy; each end
        // has a cell.
        if !unsafe { cursor.block::<V, P>(copy.as_ptr(), at, ends, inside) } {
            break;
        }
        at += BLOCK;
    }
    (before + cursor.start, cursor.written)
}

/// The state of the reading.
struct Cursor<C> {
    /// The start of the next number.
    start: usize,
    to: *mut C,
    written: usize,
}

impl<C: Copy> Cursor<C> {
    /// Reads the numbers that end in the block at `at`; false at one that is too long.
    ///
    /// # Safety
    /// Sixteen bytes can be read from each position before the end of the block. There is room for
    /// a cell for each bit of `ends`. The processor has the features of `P`.
    #[inline(always)]
    unsafe fn block<V: Varint<Cell = C>, P: Processor>(
        &mut self,
        bytes: *const u8,
        at: usize,
        ends: u64,
        inside: u64,
    ) -> bool {
        if ends == inside && self.start == at {
            let count = inside.count_ones() as usize;
            for index in 0..count {
                // SAFETY: the byte is in the block, and there is room for its cell.
                unsafe { self.push(V::cell(u64::from(*bytes.add(at + index)))) };
            }
            self.start += count;
            return true;
        }
        let mut ends = ends;
        if P::SHORTS && has_shorts(ends) {
            // A number may have begun before the block.
            let first = if self.start == at { 0 } else { ends & ends.wrapping_neg() };
            // SAFETY: the caller guarantees what this needs.
            if !unsafe { self.each::<V, P>(bytes, at, first) } {
                return false;
            }
            // SAFETY: the caller guarantees what this needs; the other numbers are short.
            ends = unsafe { self.shorts::<V, P>(bytes, at, ends ^ first) };
        }
        // SAFETY: the caller guarantees what this needs.
        unsafe { self.each::<V, P>(bytes, at, ends) }
    }

    /// # Safety
    /// There is room for a cell.
    #[inline(always)]
    unsafe fn push(&mut self, cell: C) {
        // SAFETY: the caller guarantees the room.
        unsafe { self.to.add(self.written).write(cell) };
        self.written += 1;
    }

    /// Reads numbers of one byte or two, eight bytes at a time while eight or more are left;
    /// returns the ends of those that are left.
    ///
    /// # Safety
    /// As [`Cursor::block`], and the next number starts in the block.
    #[inline(always)]
    unsafe fn shorts<V: Varint<Cell = C>, P: Processor>(
        &mut self,
        bytes: *const u8,
        at: usize,
        ends: u64,
    ) -> u64 {
        // From the next number on.
        let mut left = ends >> (self.start - at);
        while left.count_ones() >= LANES {
            let window = left as u8;
            // SAFETY: a number of the block starts here, from where sixteen bytes can be read, and
            // the caller guarantees the features.
            let numbers = unsafe { P::shorts(bytes.add(self.start), window) };
            for (lane, number) in numbers.into_iter().enumerate() {
                // SAFETY: at least as many numbers as lanes are left, each with a cell. Lanes
                // without a number are written again by the next ones.
                unsafe {
                    self.to.add(self.written + lane).write(V::cell(u64::from(number)));
                }
            }
            self.written += window.count_ones() as usize;
            let read = LANES - window.leading_zeros();
            self.start += read as usize;
            left >>= read;
        }
        // None is left if the next number starts after the block.
        left.checked_shl((self.start - at) as u32).unwrap_or(0)
    }

    /// Reads numbers one by one; false at one that is too long.
    ///
    /// # Safety
    /// As [`Cursor::block`].
    #[inline(always)]
    unsafe fn each<V: Varint<Cell = C>, P: Processor>(
        &mut self,
        bytes: *const u8,
        at: usize,
        mut ends: u64,
    ) -> bool {
        while ends != 0 {
            let end = at + ends.trailing_zeros() as usize + 1;
            let length = end - self.start;
            if length > BYTES_MAX {
                return false;
            }
            // SAFETY: the number begins before the end of the block.
            let number = unsafe { bytes.add(self.start) };
            // SAFETY: sixteen bytes can be read from there.
            let word = u64::from_le_bytes(unsafe { number.cast::<[u8; 8]>().read_unaligned() });
            let unused = 8usize.saturating_sub(length) * 8;
            // SAFETY: the caller guarantees the features.
            let mut raw = unsafe { P::together(word & u64::MAX >> unused) };
            if V::LONG && length > 8 {
                // SAFETY: sixteen bytes can be read from there.
                let (ninth, tenth) = unsafe { (*number.add(8), *number.add(9)) };
                raw |= u64::from(ninth & 0x7f) << 56;
                // Only one bit of the tenth byte fits.
                raw |= if length > 9 { u64::from(tenth) << 63 } else { 0 };
            }
            // SAFETY: each end has a cell.
            unsafe { self.push(V::cell(raw)) };
            self.start = end;
            ends &= ends - 1;
        }
        true
    }
}

/// Numbers that are unpacked at a time, and their bytes.
const LANES: u32 = 8;

/// True if no number that starts in a block is longer than two bytes.
#[inline(always)]
fn has_shorts(ends: u64) -> bool {
    let more = !ends;
    more & more >> 1 == 0
}

/// The top bits of the bytes, that of the first byte lowest.
#[inline(always)]
fn tops(block: &[u8; BLOCK]) -> u64 {
    let (pieces, _) = block.as_chunks::<16>();
    let mut mask = 0;
    for (index, piece) in pieces.iter().enumerate() {
        mask |= u64::from(tops_of_16(piece)) << (16 * index);
    }
    mask
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn tops_of_16(bytes: &[u8; 16]) -> u16 {
    use std::arch::x86_64::{_mm_loadu_si128, _mm_movemask_epi8};
    // SAFETY: every such processor has these, and the load need not be aligned.
    unsafe { _mm_movemask_epi8(_mm_loadu_si128(bytes.as_ptr().cast())) as u16 }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn tops_of_16(bytes: &[u8; 16]) -> u16 {
    bytes.iter().rev().fold(0, |mask, byte| mask << 1 | u16::from(byte >> 7))
}

/// The number of bytes without a top bit.
fn count_ends(bytes: &[u8]) -> usize {
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let in_blocks: usize = blocks
        .iter()
        .map(|block| block.iter().map(|byte| u8::from(*byte < 0x80)).sum::<u8>() as usize)
        .sum();
    in_blocks + rest.iter().filter(|byte| **byte < 0x80).count()
}

/// True if the bytes are whole varints, of at most ten bytes each.
pub(crate) fn are_varints(bytes: &[u8]) -> bool {
    // Each run of ten top bits lies within at least one window.
    const STEP: usize = BLOCK - BYTES_MAX;
    let has_run = |block: &[u8; BLOCK]| {
        let one = tops(block);
        let two = one & one >> 1;
        let four = two & two >> 2;
        (four & four >> 4 & two >> 8) != 0
    };
    if bytes.last().is_some_and(|last| *last >= 0x80) {
        return false;
    }
    let mut at = 0;
    while let Some(block) = bytes[at..].first_chunk() {
        if has_run(block) {
            return false;
        }
        at += STEP;
    }
    let mut block = [0; BLOCK];
    let rest = &bytes[at..];
    block[..rest.len()].copy_from_slice(rest);
    !has_run(&block)
}

#[cfg(test)]
mod tests {
    use tidemill_stdx::rng::Rng;

    use super::*;
    use crate::varint;

    const ALL: [Numbers; 7] = [
        Numbers::Fixed64,
        Numbers::Fixed32,
        Numbers::Bool,
        Numbers::Low32,
        Numbers::Zigzag32,
        Numbers::Whole64,
        Numbers::Zigzag64,
    ];

    /// Decodes one number the slow way: its cell as bytes, and its length.
    fn one(numbers: Numbers, bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
        let raw = match numbers {
            Numbers::Fixed64 => return bytes.get(..8).map(|cell| (cell.to_vec(), 8)),
            Numbers::Fixed32 => return bytes.get(..4).map(|cell| (cell.to_vec(), 4)),
            _ => varint::read(bytes).ok()?,
        };
        let low = raw.0 as u32;
        let cell = match numbers {
            Numbers::Bool => vec![u8::from(raw.0 != 0)],
            Numbers::Low32 => low.to_le_bytes().to_vec(),
            Numbers::Zigzag32 => (unzigzag(u64::from(low)) as u32).to_le_bytes().to_vec(),
            Numbers::Whole64 => raw.0.to_le_bytes().to_vec(),
            _ => unzigzag(raw.0).to_le_bytes().to_vec(),
        };
        Some((cell, raw.1))
    }

    fn check(bytes: &[u8]) {
        // In an allocation of its own, so that a sanitizer finds reads after it.
        let bytes = &bytes.to_vec()[..];
        for numbers in ALL {
            let (mut expected, mut pos, mut count) = (Vec::new(), 0, 0);
            while let Some((cell, length)) = one(numbers, &bytes[pos..]) {
                expected.extend(cell);
                pos += length;
                count += 1;
            }
            let room = numbers.count(bytes);
            assert!(count <= room && (count == room || pos < bytes.len()));
            let width = numbers.cell_bytes() as usize;
            let mut cells = vec![0_u64; (room * width).div_ceil(8)];
            // SAFETY: `cells` has room for the numbers.
            let read = unsafe { numbers.read(bytes, cells.as_mut_ptr().cast()) };
            assert_eq!(read, (pos, count), "{numbers:?} {bytes:x?}");
            let cells: Vec<u8> = cells.iter().flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(cells[..count * width], expected, "{numbers:?} {bytes:x?}");
            if numbers == Numbers::Low32 {
                let mut cells = vec![0_u32; room];
                // SAFETY: `cells` has room for the numbers.
                let plain = unsafe { blocks::<Low32, Portable>(bytes, cells.as_mut_ptr()) };
                assert_eq!(plain, (pos, count), "{bytes:x?}");
                assert_eq!(are_varints(bytes), pos == bytes.len(), "{bytes:x?}");
            }
        }
    }

    #[test]
    fn many_numbers_are_those_of_the_slow_way() {
        let mut rng = Rng::new(1);
        for round in 0..if cfg!(miri) { 6 } else { 4000 } {
            let mut bytes = Vec::new();
            let longest = 1 + rng.below(64);
            for _ in 0..rng.below(120) {
                let value = rng.next_u64() >> (64 - rng.below(longest + 1).max(1));
                varint::write(&mut bytes, value);
            }
            if rng.chance(0.2) {
                let at = rng.below(bytes.len() as u64 + 1) as usize;
                let run = rng.below(14) as usize;
                bytes.splice(at..at, std::iter::repeat_n(0x80, run));
            }
            if rng.chance(0.2) {
                let at = rng.below(bytes.len() as u64 + 1) as usize;
                bytes.truncate(at);
            }
            if round % 16 == 0 {
                bytes.iter_mut().for_each(|byte| *byte = rng.next_u64() as u8);
            }
            check(&bytes);
        }
    }

    #[test]
    fn runs_of_every_length_end_where_they_should() {
        let (befores, runs) = if cfg!(miri) { (37, 4) } else { (1, 1) };
        for before in (0..150).step_by(befores) {
            for run in (0..13).step_by(runs) {
                for end in [&[][..], &[0], &[1], &[0xff, 0xff, 0x7f, 0]] {
                    let mut bytes = vec![3; before];
                    bytes.extend(std::iter::repeat_n(0xff, run));
                    bytes.extend(end);
                    check(&bytes);
                }
            }
        }
    }
}
