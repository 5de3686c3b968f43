//! Multiplication and division of identifiers, which ring arithmetic needs rarely.

use crate::id::Id;

/// Product modulo 2^160.
pub(super) fn multiply(a: Id, b: Id) -> Id {
    let (a, b) = (a.limbs(), b.limbs());
    let mut product = [0u32; 5];
    for i in (0..5).rev() {
        let mut carry = 0u64;
        // Limbs are most significant first: limb i of a times limb j of b counts 2^32 to the
        // power of (4 - i) + (4 - j), which is limb i + j - 4 of the product.
        for j in (4 - i..5).rev() {
            let k = i + j - 4;
            let sum = u64::from(a[i]) * u64::from(b[j]) + u64::from(product[k]) + carry;
            product[k] = sum as u32;
            carry = sum >> 32;
        }
    }
    Id::from_limbs(product)
}

/// Quotient and remainder, by one bit at a time; `None` if `divisor` is 0.
pub(super) fn divide(dividend: Id, divisor: Id) -> Option<(Id, Id)> {
    if divisor == Id::ZERO {
        return None;
    }
    let one = Id::from_int(1);
    let (mut quotient, mut rest) = (Id::ZERO, Id::ZERO);
    for bit in (0..Id::BITS).rev() {
        let lost = rest.shift_right(Id::BITS - 1) == one;
        rest = rest.shift_left(1).zip(bit_of(dividend, bit), |a, b| a | b);
        // With the lost bit the true remainder is above 2^160 and so above the divisor; the
        // difference wraps back into range.
        if lost || rest >= divisor {
            rest = rest.wrapping_sub(divisor);
            quotient = quotient.zip(one.shift_left(bit), |a, b| a | b);
        }
    }
    Some((quotient, rest))
}

/// Power modulo 2^160, by squaring.
pub(super) fn power(base: Id, exponent: Id) -> Id {
    let one = Id::from_int(1);
    let mut result = one;
    for bit in (0..Id::BITS).rev() {
        result = multiply(result, result);
        if bit_of(exponent, bit) == one {
            result = multiply(result, base);
        }
    }
    result
}

/// Bit `bit` of `id`, as 0 or 1.
fn bit_of(id: Id, bit: u32) -> Id {
    id.shift_right(bit).zip(Id::from_int(1), |a, b| a & b)
}
