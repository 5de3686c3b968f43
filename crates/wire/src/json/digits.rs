//! Decimals, eight digits at a time: a word holds a digit in each byte, the first in the lowest.

const ZEROS: u64 = 0x3030_3030_3030_3030;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// The first number that needs more than eight digits.
const BLOCK: u64 = 100_000_000;

/// Bytes that [`write`] may write to: a sign and twenty digits, and the excess of a word.
pub(crate) const ROOM: usize = 32;

/// Writes a decimal at `at`; returns its end. Bytes after it may be overwritten.
///
/// # Safety
/// [`ROOM`] bytes at `at` may be written.
#[inline]
pub(crate) unsafe fn write(mut at: *mut u8, negative: bool, amount: u64) -> *mut u8 {
    // SAFETY: a sign, at most four digits in front and two blocks of eight stay within the room.
    unsafe {
        at.write(b'-');
        at = at.add(usize::from(negative));
        if amount < BLOCK {
            return write_short(at, amount);
        }
        let (high, low) = (amount / BLOCK, amount % BLOCK);
        if high < BLOCK {
            at = write_short(at, high);
        } else {
            at = write_short(at, high / BLOCK);
            at = write_block(at, high % BLOCK);
        }
        write_block(at, low)
    }
}

/// Writes a point and four digits, without trailing zeros, and without a point if no digits are
/// left.
///
/// # Safety
/// [`ROOM`] bytes at `at` may be written.
#[inline]
pub(crate) unsafe fn write_places(at: *mut u8, amount: u64) -> *mut u8 {
    if amount == 0 {
        return at;
    }
    let digits = (digits(amount) >> 32) as u32;
    // SAFETY: a point and four digits.
    unsafe {
        at.write(b'.');
        // The last digit is in the highest byte: zeros at the end are in front in the word.
        at.add(1).cast::<[u8; 4]>().write((digits | ZEROS as u32).to_le_bytes());
        at.add(5 - digits.leading_zeros() as usize / 8)
    }
}

/// Writes a number below [`BLOCK`] without zeros in front.
///
/// # Safety
/// Eight bytes at `at` may be written.
#[inline]
unsafe fn write_short(at: *mut u8, amount: u64) -> *mut u8 {
    let digits = digits(amount);
    // The last digit is written even if it is 0.
    let zeros = (digits | 1 << 56).trailing_zeros() & !7;
    // SAFETY: the caller guarantees room for eight bytes at `at`.
    unsafe {
        at.cast::<[u8; 8]>().write(((digits | ZEROS) >> zeros).to_le_bytes());
        at.add(8 - zeros as usize / 8)
    }
}

/// Writes a number below [`BLOCK`] as eight digits.
///
/// # Safety
/// Eight bytes at `at` may be written.
#[inline]
unsafe fn write_block(at: *mut u8, amount: u64) -> *mut u8 {
    // SAFETY: the caller guarantees room for eight bytes at `at`.
    unsafe {
        at.cast::<[u8; 8]>().write((digits(amount) | ZEROS).to_le_bytes());
        at.add(8)
    }
}

/// The digits of a number below [`BLOCK`]: halves of it, then of each half, in lanes of the word.
///
/// Division by 100 and 10 is multiplication and shift, exact for numbers as small as these.
#[inline]
fn digits(amount: u64) -> u64 {
    let fours = (amount / 10_000) | ((amount % 10_000) << 32);
    let hundreds = (fours * 10_486) >> 20 & 0x7f_0000_007f;
    let twos = (fours - 100 * hundreds) << 16 | hundreds;
    let tens = (twos * 103) >> 10 & 0x000f_000f_000f_000f;
    (twos - 10 * tens) << 8 | tens
}

/// Powers of ten for the digits of one block.
const POWERS: [u64; 9] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Reads the digits at `at` after those of `amount`; gives the whole and where they end.
///
/// More than nineteen digits in all may be too many for the word: then the amount is wrong.
#[inline]
pub(crate) fn read(bytes: &[u8], mut at: usize, mut amount: u64) -> (u64, usize) {
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*block) ^ ZEROS;
        let others = others(word);
        if others == 0 {
            amount = amount.wrapping_mul(BLOCK).wrapping_add(value(word));
            at += 8;
            continue;
        }
        let count = others.trailing_zeros() / 8;
        if count == 0 {
            return (amount, at);
        }
        // The last digit has to be in the highest byte; the bytes below get zeros, which are digits
        // in front.
        let value = value(word << (64 - 8 * count));
        return (
            amount.wrapping_mul(POWERS[count as usize]).wrapping_add(value),
            at + count as usize,
        );
    }
    while let Some(digit) = bytes.get(at).map(|byte| byte.wrapping_sub(b'0'))
        && digit < 10
    {
        amount = amount.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    (amount, at)
}

/// The end of the digits at `at`.
#[inline]
pub(crate) fn end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        match others(u64::from_le_bytes(*block) ^ ZEROS) {
            0 => at += 8,
            others => return at + others.trailing_zeros() as usize / 8,
        }
    }
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    at
}

/// For a word in which digits are 0 to 9: the highest bit of each byte that is no digit, exact up
/// to the first of them.
#[inline]
fn others(word: u64) -> u64 {
    // A carry changes later bytes only, which are not used.
    (word.wrapping_add(0x7676_7676_7676_7676) | word) & HIGHS
}

/// The value of eight digits: of pairs of them, of pairs of those, and of the two halves. Each
/// product adds the first of a pair, times its power of ten, to the second.
#[inline]
fn value(digits: u64) -> u64 {
    let twos = digits.wrapping_mul(10 << 8 | 1) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = twos.wrapping_mul(100 << 16 | 1) >> 16 & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000 << 32 | 1) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(negative: bool, amount: u64) -> String {
        let mut room = [0u8; ROOM];
        // SAFETY: `room` has `ROOM` bytes.
        let end = unsafe { write(room.as_mut_ptr(), negative, amount) };
        let length = end.addr() - room.as_ptr().addr();
        String::from_utf8(room[..length].to_vec()).unwrap()
    }

    #[test]
    fn decimals_come_back() {
        let mut amounts: Vec<u64> = (0..if cfg!(miri) { 10 } else { 20_000 }).collect();
        for power in (0..20).step_by(if cfg!(miri) { 6 } else { 1 }) {
            let power = 10u64.pow(power);
            for factor in (1..10).step_by(if cfg!(miri) { 8 } else { 1 }) {
                let near = power.saturating_mul(factor);
                amounts.extend([near - 1, near, near.saturating_add(1), near / 3, near / 7 * 5]);
            }
        }
        amounts.extend([u64::MAX, u64::MAX - 1, i64::MAX as u64, 1 << 63]);
        for amount in amounts {
            let plain = amount.to_string();
            assert_eq!(text(false, amount), plain);
            assert_eq!(text(true, amount), format!("-{amount}"));
            for after in ["", "x", ".", " 12345678", "/////////", ":", "\u{ff}9", "9x"] {
                let digits = after.bytes().take_while(u8::is_ascii_digit).count();
                let all = format!("{plain}{after}");
                let (read, end) = read(all.as_bytes(), 0, 0);
                assert_eq!(end, plain.len() + digits, "{all}");
                assert_eq!(super::end(all.as_bytes(), 0), end, "{all}");
                assert!(digits > 0 || read == amount, "{all}");
            }
        }
    }

    #[test]
    fn digits_end_at_any_other_byte() {
        for byte in (0..=255u8).step_by(if cfg!(miri) { 19 } else { 1 }) {
            if byte.is_ascii_digit() {
                continue;
            }
            for place in 0..20 {
                let mut bytes = *b"1234567890123456789012345678";
                bytes[place] = byte;
                assert_eq!(read(&bytes, 0, 0).1, place, "{byte}");
                assert_eq!(read(&bytes[..place], 0, 0).1, place);
                assert_eq!((end(&bytes, 0), end(&bytes[..place], 0)), (place, place));
            }
        }
        assert_eq!(read(b"25.50", 3, 25), (2550, 5));
    }
}
