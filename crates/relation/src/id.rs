//! Ring identifiers: unsigned integers of 160 bits, as SHA-1 gives them; arithmetic wraps.

use std::fmt;

/// An identifier on the ring, modulo 2^160.
///
/// Limbs are stored most significant first, so the derived order is the numeric one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Id([u32; Id::LIMBS]);

impl Id {
    const LIMBS: usize = 5;
    /// Size in bytes.
    pub const BYTES: usize = 20;
    /// Size in bits.
    pub const BITS: u32 = 160;
    /// The identifier 0.
    pub const ZERO: Id = Id([0; Id::LIMBS]);

    /// From 20 bytes, most significant first.
    pub fn from_be_bytes(bytes: [u8; Id::BYTES]) -> Id {
        let mut limbs = [0; Id::LIMBS];
        for (limb, chunk) in limbs.iter_mut().zip(bytes.chunks_exact(4)) {
            *limb = u32::from_be_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]);
        }
        Id(limbs)
    }

    /// As 20 bytes, most significant first.
    pub fn to_be_bytes(self) -> [u8; Id::BYTES] {
        let mut bytes = [0; Id::BYTES];
        for (chunk, limb) in bytes.chunks_exact_mut(4).zip(self.0) {
            chunk.copy_from_slice(&limb.to_be_bytes());
        }
        bytes
    }

    /// As the bytes that the limbs have in memory, which need no conversion.
    #[inline]
    pub(crate) fn to_memory(self) -> [u8; Id::BYTES] {
        let mut bytes = [0; Id::BYTES];
        for (chunk, limb) in bytes.chunks_exact_mut(4).zip(self.0) {
            chunk.copy_from_slice(&limb.to_ne_bytes());
        }
        bytes
    }

    /// From what [`Id::to_memory`] gave.
    #[inline]
    pub(crate) fn from_memory(bytes: [u8; Id::BYTES]) -> Id {
        let mut limbs = [0; Id::LIMBS];
        for (limb, chunk) in limbs.iter_mut().zip(bytes.chunks_exact(4)) {
            *limb = u32::from_ne_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]);
        }
        Id(limbs)
    }

    /// The limbs, most significant first.
    pub(crate) fn limbs(self) -> [u32; Id::LIMBS] {
        self.0
    }

    /// From limbs, most significant first.
    pub(crate) fn from_limbs(limbs: [u32; Id::LIMBS]) -> Id {
        Id(limbs)
    }

    /// An integer as an identifier; negative ones count down from 2^160.
    pub fn from_int(value: i64) -> Id {
        let fill = if value < 0 { u32::MAX } else { 0 };
        Id([fill, fill, fill, (value >> 32) as u32, value as u32])
    }

    /// The integer that [`Id::from_int`] makes this identifier from, if there is one.
    pub fn to_int(self) -> Option<i64> {
        let value = ((self.0[3] as u64) << 32 | self.0[4] as u64) as i64;
        (Id::from_int(value) == self).then_some(value)
    }

    /// Sum modulo 2^160.
    pub fn wrapping_add(self, other: Id) -> Id {
        let mut out = [0; Id::LIMBS];
        let mut carry = 0u64;
        for i in (0..Id::LIMBS).rev() {
            let sum = self.0[i] as u64 + other.0[i] as u64 + carry;
            out[i] = sum as u32;
            carry = sum >> 32;
        }
        Id(out)
    }

    /// Difference modulo 2^160: the distance from `other` to `self` clockwise.
    pub fn wrapping_sub(self, other: Id) -> Id {
        let complement = Id(other.0.map(|limb| !limb));
        self.wrapping_add(complement).wrapping_add(Id::from_int(1))
    }

    /// Shift to the left; 160 and more give 0.
    pub fn shift_left(self, bits: u32) -> Id {
        let (words, rest) = ((bits / 32) as usize, bits % 32);
        let limb = |i: usize| self.0.get(i).copied().unwrap_or(0);
        let mut out = [0; Id::LIMBS];
        for (i, slot) in out.iter_mut().enumerate() {
            let pair = (limb(i + words) as u64) << 32 | limb(i + words + 1) as u64;
            *slot = (pair << rest >> 32) as u32;
        }
        Id(out)
    }

    /// Shift to the right; 160 and more give 0.
    pub fn shift_right(self, bits: u32) -> Id {
        let (words, rest) = ((bits / 32) as usize, bits % 32);
        let limb = |i: Option<usize>| i.map_or(0, |i| self.0[i]);
        let mut out = [0; Id::LIMBS];
        for (i, slot) in out.iter_mut().enumerate() {
            let low = i.checked_sub(words);
            let high = low.and_then(|low| low.checked_sub(1));
            let pair = (limb(high) as u64) << 32 | limb(low) as u64;
            *slot = (pair >> rest) as u32;
        }
        Id(out)
    }

    /// Applies `f` limb by limb to both.
    pub fn zip(self, other: Id, f: impl Fn(u32, u32) -> u32) -> Id {
        Id(std::array::from_fn(|i| f(self.0[i], other.0[i])))
    }

    /// From digits of a radix up to 36, most significant first; `None` for none, for other
    /// characters, and for a number of more than 160 bits.
    pub fn from_digits(digits: &str, radix: u32) -> Option<Id> {
        if digits.is_empty() {
            return None;
        }
        let mut id = Id::ZERO;
        for digit in digits.chars() {
            let mut carry = digit.to_digit(radix)?;
            for limb in id.0.iter_mut().rev() {
                let sum = u64::from(*limb) * u64::from(radix) + u64::from(carry);
                (*limb, carry) = (sum as u32, (sum >> 32) as u32);
            }
            if carry > 0 {
                return None;
            }
        }
        Some(id)
    }
}

/// `0x`, 40 lower-case hex digits, `I`.
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        for limb in self.0 {
            write!(f, "{limb:08x}")?;
        }
        f.write_str("I")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_wraps_at_160_bits() {
        let one = Id::from_int(1);
        let top = Id::from_int(-1);
        assert_eq!(top.wrapping_add(one), Id::ZERO);
        assert_eq!(Id::ZERO.wrapping_sub(one), top);
        assert_eq!(one.shift_left(159).shift_right(159), one);
        assert_eq!(one.shift_left(160), Id::ZERO);
        assert_eq!(one.shift_left(64).shift_right(1), one.shift_left(63));
        assert_eq!(one.shift_left(33).to_string(), "0x0000000000000000000000000000000200000000I");
    }

    #[test]
    fn integers_and_bytes_round_trip() {
        for value in [0, 1, -1, i64::MAX, i64::MIN, 1 << 33] {
            assert_eq!(Id::from_int(value).to_int(), Some(value));
            let id = Id::from_int(value);
            assert_eq!(Id::from_be_bytes(id.to_be_bytes()), id);
        }
        assert_eq!(Id::from_int(1).shift_left(64).to_int(), None);
    }

    #[test]
    fn digits_are_those_of_their_radix_and_fit() {
        assert_eq!(Id::from_digits("ff", 16), Some(Id::from_int(255)));
        assert_eq!(Id::from_digits("0255", 10), Some(Id::from_int(255)));
        assert_eq!(Id::from_digits(&"f".repeat(40), 16), Some(Id::from_int(-1)));
        assert_eq!(Id::from_digits(&"f".repeat(41), 16), None);
        let all = "1461501637330902918203684832716283019655932542975";
        assert_eq!(Id::from_digits(all, 10), Some(Id::from_int(-1)));
        assert_eq!(Id::from_digits("1461501637330902918203684832716283019655932542976", 10), None);
        assert_eq!((Id::from_digits("xyz", 16), Id::from_digits("a", 10)), (None, None));
        assert_eq!(Id::from_digits("", 10), None);
    }
}
