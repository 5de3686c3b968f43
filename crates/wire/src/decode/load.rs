//! Unchecked reads: their callers guarantee [`SLACK`] bytes.

/// The bytes that can be read from the start of a tag: two varints of maximal length, and what
/// reading whole words adds.
pub(crate) const SLACK: usize = 32;

/// # Safety
/// Eight bytes can be read.
#[inline(always)]
pub(super) unsafe fn u64_at(at: *const u8) -> u64 {
    // SAFETY: the caller guarantees that eight bytes can be read.
    u64::from_le_bytes(unsafe { at.cast::<[u8; 8]>().read_unaligned() })
}

/// # Safety
/// Four bytes can be read.
#[inline(always)]
pub(super) unsafe fn u32_at(at: *const u8) -> u32 {
    // SAFETY: the caller guarantees that four bytes can be read.
    u32::from_le_bytes(unsafe { at.cast::<[u8; 4]>().read_unaligned() })
}

/// # Safety
/// Two bytes can be read.
#[inline(always)]
pub(super) unsafe fn u16_at(at: *const u8) -> u16 {
    // SAFETY: the caller guarantees that two bytes can be read.
    u16::from_le_bytes(unsafe { at.cast::<[u8; 2]>().read_unaligned() })
}

/// A varint and its length; a length of 0 if it has more than ten bytes.
///
/// # Safety
/// Sixteen bytes can be read.
#[inline(always)]
pub(super) unsafe fn varint(at: *const u8) -> (u64, usize) {
    // SAFETY: the caller guarantees that sixteen bytes can be read.
    let two = u64::from(unsafe { u16_at(at) });
    if two & 0x80 == 0 {
        return (two & 0x7f, 1);
    }
    if two & 0x8000 == 0 {
        return (two & 0x7f | two >> 1 & 0x3f80, 2);
    }
    // SAFETY: the caller guarantees that sixteen bytes can be read.
    unsafe { long_varint(at) }
}

/// The same, for those of three bytes and more: the seven-bit groups of eight bytes are packed in
/// three steps.
///
/// # Safety
/// Sixteen bytes can be read.
pub(super) unsafe fn long_varint(at: *const u8) -> (u64, usize) {
    // SAFETY: the caller guarantees that sixteen bytes can be read.
    let word = unsafe { u64_at(at) };
    let ends = !word & 0x8080_8080_8080_8080;
    // Up to the first byte without a continuation bit; all of them if there is none.
    let value = together(word & (ends ^ ends.wrapping_sub(1)));
    if ends != 0 {
        return (value, ends.trailing_zeros() as usize / 8 + 1);
    }
    let value = together(word);
    // SAFETY: two more bytes can be read.
    let (ninth, tenth) = unsafe { (*at.add(8), *at.add(9)) };
    let value = value | u64::from(ninth & 0x7f) << 56;
    match (ninth < 0x80, tenth < 0x80) {
        (true, _) => (value, 9),
        // Nine bytes have 63 bits: of the tenth, all but the lowest are shifted out.
        (_, true) => (value | u64::from(tenth) << 63, 10),
        _ => (0, 0),
    }
}

/// The low seven bits of each of eight bytes as a number of 56 bits: in each step the upper half of
/// a pair of groups moves down by the gap between them, which is 1, then 2, then 4 bits.
#[inline(always)]
fn together(word: u64) -> u64 {
    let sevens = word & 0x7f7f_7f7f_7f7f_7f7f;
    let fourteens = sevens & 0x007f_007f_007f_007f | (sevens & 0x7f00_7f00_7f00_7f00) >> 1;
    let twenty_eights =
        fourteens & 0x0000_3fff_0000_3fff | (fourteens & 0x3fff_0000_3fff_0000) >> 2;
    twenty_eights & 0x0fff_ffff | (twenty_eights & 0x0fff_ffff_0000_0000) >> 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_varints_are_those_of_the_slow_way() {
        for shift in 0..64 {
            for value in [1u64 << shift, (1u64 << shift) - 1, u64::MAX >> shift, !0 << shift] {
                let mut bytes = Vec::new();
                crate::varint::write(&mut bytes, value);
                let length = bytes.len();
                bytes.resize(32, 0xff);
                // SAFETY: there are 32 bytes.
                let read = unsafe { (varint(bytes.as_ptr()), long_varint(bytes.as_ptr())) };
                assert_eq!(read, ((value, length), (value, length)));
            }
        }
        // SAFETY: there are 32 bytes.
        assert_eq!(unsafe { varint([0x80; 32].as_ptr()) }.1, 0);
    }
}
