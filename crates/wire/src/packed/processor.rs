//! What a processor offers for unpacking varints.

/// The operations on the bytes of varints that some processors have instructions for.
pub(super) trait Processor {
    /// Whether [`Processor::shorts`] is there.
    const SHORTS: bool;

    /// The low seven bits of each of eight bytes, packed together.
    ///
    /// # Safety
    /// The processor has the features.
    unsafe fn together(word: u64) -> u64;

    /// The numbers of one byte or two that end in the first eight bytes; `ends` has a bit for the
    /// last byte of each. The lanes after them hold anything.
    ///
    /// # Safety
    /// Eight bytes can be read from `bytes`; the processor has the features.
    unsafe fn shorts(bytes: *const u8, ends: u8) -> [u16; 8];
}

const SEVENS: u64 = 0x7f7f_7f7f_7f7f_7f7f;

/// Any processor.
pub(super) struct Portable;

impl Processor for Portable {
    const SHORTS: bool = false;

    #[inline(always)]
    unsafe fn together(word: u64) -> u64 {
        let sevens = word & SEVENS;
        let fourteens = sevens & 0x007f_007f_007f_007f | (sevens & 0x7f00_7f00_7f00_7f00) >> 1;
        let twenty_eights =
            fourteens & 0x0000_3fff_0000_3fff | (fourteens & 0x3fff_0000_3fff_0000) >> 2;
        twenty_eights & 0x0fff_ffff | (twenty_eights & 0x0fff_ffff_0000_0000) >> 4
    }

    unsafe fn shorts(_: *const u8, _: u8) -> [u16; 8] {
        unreachable!("SHORTS is false")
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::Avx2;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_load_si128, _mm_loadl_epi64, _mm_or_si128, _mm_set1_epi16,
        _mm_shuffle_epi8, _mm_srli_epi16, _mm_storeu_si128, _pext_u64,
    };

    use super::{Processor, SEVENS};

    /// A processor with AVX2 and BMI2.
    pub struct Avx2;

    impl Processor for Avx2 {
        const SHORTS: bool = true;

        #[inline(always)]
        unsafe fn together(word: u64) -> u64 {
            // SAFETY: the caller guarantees BMI2.
            unsafe { _pext_u64(word, SEVENS) }
        }

        #[inline(always)]
        unsafe fn shorts(bytes: *const u8, ends: u8) -> [u16; 8] {
            let mut lanes = [0; 8];
            // SAFETY: the caller guarantees AVX2 and that eight bytes can be read; the table is
            // aligned.
            unsafe {
                let order = _mm_load_si128(LANES[ends as usize].0.as_ptr().cast());
                let pairs = _mm_shuffle_epi8(_mm_loadl_epi64(bytes.cast()), order);
                let low = _mm_and_si128(pairs, _mm_set1_epi16(0x007f));
                let high = _mm_and_si128(pairs, _mm_set1_epi16(0x7f00));
                let numbers: __m128i = _mm_or_si128(low, _mm_srli_epi16::<1>(high));
                _mm_storeu_si128(lanes.as_mut_ptr().cast(), numbers);
            }
            lanes
        }
    }

    /// Where the two bytes of each lane come from, for a shuffle; [`NONE`] gives zero.
    #[derive(Clone, Copy)]
    #[repr(align(16))]
    struct Order([u8; 16]);

    const NONE: u8 = 0x80;

    /// By the mask of the bytes that end a number. Of a number of more than two bytes the last
    /// two are taken; no such mask is looked up.
    static LANES: [Order; 256] = {
        let mut lanes = [Order([NONE; 16]); 256];
        let mut ends = 0;
        while ends < lanes.len() {
            let (mut lane, mut byte) = (0, 0);
            while byte < 8 {
                if ends >> byte & 1 == 1 {
                    let begins = byte == 0 || ends >> (byte - 1) & 1 == 1;
                    lanes[ends].0[2 * lane] = if begins { byte } else { byte - 1 };
                    lanes[ends].0[2 * lane + 1] = if begins { NONE } else { byte };
                    lane += 1;
                }
                byte += 1;
            }
            ends += 1;
        }
        lanes
    };
}
