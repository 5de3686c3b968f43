//! Packed lists of varints, written from their last number to their first.
//!
//! ```text
//!   number     0000 0000  0001 0110  0110 0101        low bits on the right
//!   spread         .0000000  .0101100  .1100101        seven bits a byte
//!   written                  <--- 2c        e5 | what follows
//! ```
//! Each number is one store of eight bytes that ends where the number before it begins: excess
//! bytes are in front and are overwritten. No branch depends on how long a number is, but for those
//! above 56 bits, and for runs of numbers of one byte, which are narrowed as a whole.

use crate::schema::{FieldType, Scalar};
use crate::varint::{self, BYTES_MAX, zigzag};

/// Numbers that are written between two checks for room.
const PIECE: usize = 64;

/// Bytes that must be free before a piece of a list.
const PIECE_BYTES: usize = PIECE * BYTES_MAX;

/// The form in memory of numbers that are varints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Varints {
    /// 32 bits with a sign, which is extended to 64 bits.
    Int32,
    Uint32,
    Sint32,
    /// 64 bits, with a sign or without.
    Whole64,
    Sint64,
}

impl Varints {
    pub(super) const ALL: [Varints; 5] =
        [Varints::Int32, Varints::Uint32, Varints::Sint32, Varints::Whole64, Varints::Sint64];

    /// Those of a type; not of bools, which are one byte each in memory and on the wire.
    pub(super) fn of(ty: FieldType) -> Option<Varints> {
        let scalar = match ty {
            FieldType::Enum(_) => return Some(Varints::Int32),
            FieldType::Scalar(scalar) => scalar,
            FieldType::Message(_) | FieldType::Group(_) => return None,
        };
        match scalar {
            Scalar::Int32 => Some(Varints::Int32),
            Scalar::Uint32 => Some(Varints::Uint32),
            Scalar::Sint32 => Some(Varints::Sint32),
            Scalar::Int64 | Scalar::Uint64 => Some(Varints::Whole64),
            Scalar::Sint64 => Some(Varints::Sint64),
            _ => None,
        }
    }

    /// Writes a list that ends at `at` and returns where it begins. `room(place, n)` returns a
    /// place with `n` free bytes before it, the same or another; null ends the writing.
    ///
    /// # Safety
    /// From `cells` on there are `count` such numbers. What `room` gives has the room.
    #[inline]
    pub(super) unsafe fn write(
        self,
        cells: *const u8,
        count: usize,
        at: *mut u8,
        mut room: impl FnMut(*mut u8, usize) -> *mut u8,
    ) -> *mut u8 {
        let (mut at, mut left) = (at, count);
        while left > 0 && !at.is_null() {
            at = room(at, PIECE_BYTES);
            if at.is_null() {
                break;
            }
            let count = left.min(PIECE);
            left -= count;
            // SAFETY: `PIECE_BYTES` bytes are free, room for `PIECE` numbers of any size.
            at = unsafe {
                match self {
                    Varints::Int32 => piece::<Int32>(cells.cast(), left, count, at),
                    Varints::Uint32 => piece::<Uint32>(cells.cast(), left, count, at),
                    Varints::Sint32 => piece::<Sint32>(cells.cast(), left, count, at),
                    Varints::Whole64 => piece::<Whole64>(cells.cast(), left, count, at),
                    Varints::Sint64 => piece::<Sint64>(cells.cast(), left, count, at),
                }
            };
        }
        at
    }

    /// The number of bytes of the encoded numbers.
    ///
    /// # Safety
    /// From `cells` on there are `count` such numbers.
    pub(super) unsafe fn measure(self, cells: *const u8, count: usize) -> usize {
        // SAFETY: the caller guarantees `count` numbers of this kind from `cells` on.
        unsafe {
            match self {
                Varints::Int32 => sum::<Int32>(cells.cast(), count),
                Varints::Uint32 => sum::<Uint32>(cells.cast(), count),
                Varints::Sint32 => sum::<Sint32>(cells.cast(), count),
                Varints::Whole64 => sum::<Whole64>(cells.cast(), count),
                Varints::Sint64 => sum::<Sint64>(cells.cast(), count),
            }
        }
    }
}

/// A kind of numbers.
trait Number {
    type Cell: Copy;

    /// Some of them take more than eight bytes.
    const LONG: bool;

    /// The value to write as a varint.
    fn raw(cell: Self::Cell) -> u64;
}

macro_rules! number {
    ($name:ident, $cell:ty, $long:literal, $value:ident => $raw:expr) => {
        struct $name;

        impl Number for $name {
            type Cell = $cell;

            const LONG: bool = $long;

            #[inline(always)]
            fn raw($value: $cell) -> u64 {
                $raw
            }
        }
    };
}

number!(Int32, i32, true, value => i64::from(value) as u64);
number!(Uint32, u32, false, value => u64::from(value));
number!(Sint32, i32, false, value => u64::from((value << 1 ^ value >> 31) as u32));
number!(Whole64, u64, true, value => value);
number!(Sint64, i64, true, value => zigzag(value));

/// # Safety
/// From `cells` on there are `count` numbers.
#[inline(always)]
unsafe fn sum<N: Number>(cells: *const N::Cell, count: usize) -> usize {
    // SAFETY: the caller guarantees `count` numbers from `cells` on.
    let cells = unsafe { std::slice::from_raw_parts(cells, count) };
    cells.iter().map(|&cell| varint::len(N::raw(cell))).sum()
}

/// Writes the `count` numbers after the first `from`, of which there are at most [`PIECE`].
///
/// # Safety
/// They are readable, and there are enough free bytes before `at` for `count` numbers of maximal
/// size.
#[inline]
unsafe fn piece<N: Number>(
    cells: *const N::Cell,
    from: usize,
    count: usize,
    at: *mut u8,
) -> *mut u8 {
    // SAFETY: the caller guarantees that these numbers are readable.
    let cells = unsafe { std::slice::from_raw_parts(cells.add(from), count) };
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("bmi2") && is_x86_feature_detected!("lzcnt") {
        // SAFETY: the processor has both; the caller guarantees the free bytes before `at`.
        return unsafe { piece_bmi2::<N>(cells, at) };
    }
    // SAFETY: the caller guarantees the free bytes before `at`.
    unsafe { backwards::<N>(cells, at, apart) }
}

/// The same code for processors that spread bits over a word.
///
/// # Safety
/// As [`backwards`]; the processor has these features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,lzcnt")]
unsafe fn piece_bmi2<N: Number>(cells: &[N::Cell], at: *mut u8) -> *mut u8 {
    // SAFETY: the caller guarantees the free bytes, and the processor's features.
    unsafe { backwards::<N>(cells, at, |raw| std::arch::x86_64::_pdep_u64(raw, SEVENS)) }
}

const SEVENS: u64 = 0x7f7f_7f7f_7f7f_7f7f;
const TOPS: u64 = !SEVENS;

/// The lowest 56 bits, seven a byte.
#[inline(always)]
fn apart(raw: u64) -> u64 {
    let twenty_eights = raw & 0x0fff_ffff | (raw & 0x00ff_ffff_f000_0000) << 4;
    let fourteens =
        twenty_eights & 0x0000_3fff_0000_3fff | (twenty_eights & 0x0fff_c000_0fff_c000) << 2;
    fourteens & 0x007f_007f_007f_007f | (fourteens & 0x3f80_3f80_3f80_3f80) << 1
}

/// Numbers of one byte that are narrowed at a time.
const RUN: usize = 16;

/// # Safety
/// Before `at` are ten free bytes for each number.
#[inline(always)]
unsafe fn backwards<N: Number>(
    cells: &[N::Cell],
    at: *mut u8,
    apart: impl Fn(u64) -> u64 + Copy,
) -> *mut u8 {
    let mut at = at;
    let (rest, runs) = cells.as_rchunks::<RUN>();
    for run in runs.iter().rev() {
        let all = run.iter().fold(0, |all, &cell| all | N::raw(cell));
        if all < 0x80 {
            let narrow = run.map(|cell| N::raw(cell) as u8);
            at = at.wrapping_sub(RUN);
            // SAFETY: they take a byte each, for which there is room.
            unsafe { at.cast::<[u8; RUN]>().write(narrow) };
            continue;
        }
        // SAFETY: the caller guarantees ten free bytes for each number.
        at = unsafe { each::<N>(run, at, apart) };
    }
    // SAFETY: likewise.
    unsafe { each::<N>(rest, at, apart) }
}

/// # Safety
/// As [`backwards`].
#[inline(always)]
unsafe fn each<N: Number>(cells: &[N::Cell], at: *mut u8, apart: impl Fn(u64) -> u64) -> *mut u8 {
    let mut at = at;
    for &cell in cells.iter().rev() {
        let raw = N::raw(cell);
        // SAFETY: within the ten bytes of this number.
        let store = |at: *mut u8, word: u64| unsafe {
            at.cast::<[u8; 8]>().write(word.to_le_bytes());
        };
        if N::LONG && raw >> 56 != 0 {
            let high = raw >> 56;
            let length = 9 + (high >> 7) as usize;
            // The ninth byte, whose top bit says that there is a tenth, which is 1.
            let last = (high | (high >> 7) << 8) << 48;
            store(at.wrapping_sub(8), last << (8 * (10 - length)));
            at = at.wrapping_sub(length);
            store(at, apart(raw & u64::MAX >> 8) | TOPS);
            continue;
        }
        let unused = (raw | 1).leading_zeros() as usize;
        // Seven bits a byte: (64 - unused) / 7, rounded up, of 1 to 56 bits.
        let length = ((64 - unused + 6) * 37) >> 8;
        let word = apart(raw) | TOPS & !(u64::MAX << (8 * (length - 1)));
        store(at.wrapping_sub(8), word << (64 - 8 * length));
        at = at.wrapping_sub(length);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemill_stdx::rng::Rng;

    /// Compares the bytes of numbers by the function for one and by those for many.
    fn check(kind: Varints, numbers: &[u64]) {
        let mut expected = Vec::new();
        let mut cells = Vec::new();
        for &number in numbers {
            let low = number as i32;
            let raw = match kind {
                Varints::Int32 => i64::from(low) as u64,
                Varints::Uint32 => u64::from(low as u32),
                Varints::Sint32 => zigzag(low.into()) & u64::from(u32::MAX),
                Varints::Whole64 => number,
                Varints::Sint64 => zigzag(number as i64),
            };
            varint::write(&mut expected, raw);
            match kind {
                Varints::Whole64 | Varints::Sint64 => cells.extend(number.to_ne_bytes()),
                _ => cells.extend(low.to_ne_bytes()),
            }
        }
        let mut aligned = vec![0_u64; cells.len().div_ceil(8)];
        for (word, cells) in aligned.iter_mut().zip(cells.chunks(8)) {
            let mut bytes = [0; 8];
            bytes[..cells.len()].copy_from_slice(cells);
            *word = u64::from_ne_bytes(bytes);
        }
        let mut room = vec![0xaa_u8; PIECE_BYTES + expected.len()];
        let range = room.as_mut_ptr_range();
        let free = |at: *mut u8, need: usize| {
            assert!(at.addr() - range.start.addr() >= need);
            at
        };
        // SAFETY: `aligned` has `numbers.len()` cells, and `free` checks the room.
        let start = unsafe {
            assert_eq!(kind.measure(aligned.as_ptr().cast(), numbers.len()), expected.len());
            kind.write(aligned.as_ptr().cast(), numbers.len(), range.end, free)
        };
        let written = &room[start.addr() - room.as_ptr().addr()..];
        assert_eq!(written, expected, "{kind:?} {numbers:x?}");
    }

    #[test]
    fn lists_are_their_numbers_one_by_one() {
        let mut rng = Rng::new(1);
        for _ in 0..if cfg!(miri) { 4 } else { 2000 } {
            let longest = 1 + rng.below(64);
            let count = rng.below(200);
            let mut numbers: Vec<u64> = Vec::new();
            for _ in 0..count {
                let one = rng.next_u64() >> (64 - rng.below(longest + 1).max(1));
                numbers.push(if rng.chance(0.1) { one.wrapping_neg() } else { one });
            }
            for kind in Varints::ALL {
                check(kind, &numbers);
            }
        }
    }

    #[test]
    fn lengths_change_where_they_should() {
        for shift in (0..64).step_by(if cfg!(miri) { 21 } else { 1 }) {
            for number in [1 << shift, (1 << shift) - 1, u64::MAX << shift, u64::MAX >> shift] {
                for kind in Varints::ALL {
                    check(kind, &[number]);
                    check(kind, &[1, number, 2]);
                    check(kind, &[3; 33]);
                }
                let spread: u64 = apart(number);
                assert_eq!(spread & TOPS, 0);
                #[cfg(target_arch = "x86_64")]
                if is_x86_feature_detected!("bmi2") {
                    // SAFETY: the processor has it.
                    let other = unsafe { spread_by_processor(number) };
                    assert_eq!(spread, other);
                }
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "bmi2")]
    unsafe fn spread_by_processor(number: u64) -> u64 {
        std::arch::x86_64::_pdep_u64(number, SEVENS)
    }
}
