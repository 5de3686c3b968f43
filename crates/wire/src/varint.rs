//! Variable-length integers: seven bits a byte, least significant first, the top bit set if more
//! follow; and the zigzag order that keeps small negative numbers short.

/// The maximal length of a varint in bytes.
pub const BYTES_MAX: usize = 10;

/// The error of a malformed varint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VarintError {
    /// The input ends inside it.
    Truncated,
    /// It continues after ten bytes.
    TooLong,
}

/// Reads a varint from the front of `bytes`: its value and its length.
///
/// Longer encodings than needed are accepted, up to ten bytes; bits above the 64th are dropped.
#[inline]
pub fn read(bytes: &[u8]) -> Result<(u64, usize), VarintError> {
    match bytes {
        [first, ..] if *first < 0x80 => Ok((u64::from(*first), 1)),
        [first, second, ..] if *second < 0x80 => {
            Ok((u64::from(*first & 0x7f) | u64::from(*second) << 7, 2))
        }
        _ => read_long(bytes),
    }
}

fn read_long(bytes: &[u8]) -> Result<(u64, usize), VarintError> {
    let mut value = 0;
    for (i, &byte) in bytes.iter().take(BYTES_MAX).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Ok((value, i + 1));
        }
    }
    Err(if bytes.len() < BYTES_MAX { VarintError::Truncated } else { VarintError::TooLong })
}

/// Appends `value` in its shortest form.
#[inline]
pub fn write(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The number of bytes that [`write()`] appends.
#[inline]
pub fn len(value: u64) -> usize {
    // One byte per seven bits, rounded up; zero counts as one bit.
    let bits = 64 - (value | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// 0, -1, 1, -2 ... as 0, 1, 2, 3 ...
#[inline]
pub fn zigzag(value: i64) -> u64 {
    (value << 1) as u64 ^ (value >> 63) as u64
}

/// The inverse of [`zigzag`].
#[inline]
pub fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_change_at_powers_of_128() {
        for shift in 0..64 {
            for value in [1u64 << shift, (1u64 << shift) - 1, u64::MAX >> shift] {
                let mut bytes = Vec::new();
                write(&mut bytes, value);
                assert_eq!(bytes.len(), len(value));
                assert_eq!(read(&bytes), Ok((value, bytes.len())));
                let short = &bytes[..bytes.len() - 1];
                assert_eq!(read(short), Err(VarintError::Truncated));
            }
        }
    }

    #[test]
    fn overlong_forms_end_at_ten_bytes() {
        let mut bytes = [0x80; 11];
        bytes[0] = 0x81;
        bytes[9] = 0;
        assert_eq!(read(&bytes), Ok((1, 10)));
        bytes[9] = 0x7f; // only the lowest bit of the tenth byte has a place
        assert_eq!(read(&bytes), Ok((1 | 1 << 63, 10)));
        bytes[9] = 0x80;
        assert_eq!(read(&bytes), Err(VarintError::TooLong));
    }

    #[test]
    fn zigzag_orders_by_magnitude() {
        assert_eq!([0, -1, 1, -2].map(zigzag), [0, 1, 2, 3]);
        for value in [i64::MIN, i64::MAX, -1, 0, 77] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
    }
}
