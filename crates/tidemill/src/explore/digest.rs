//! Digests of what states consist of, which are equal for equal things of two programs.
//!
//! Numbers of relations, timers and events differ from program to program and from search to
//! search, so digests are of names and values.

use sha2::{Digest as _, Sha256};
use tidemill_overlog::node::Node;

/// A digest.
pub(super) type Digest = u128;

/// The digest of bytes: the first half of their SHA-256.
pub(super) fn of_bytes(bytes: &[u8]) -> Digest {
    let hash = Sha256::digest(bytes);
    hash.iter().take(size_of::<Digest>()).fold(0, |all, byte| all << 8 | Digest::from(*byte))
}

/// Appends a name, with its length.
pub(super) fn append_name(name: &str, out: &mut Vec<u8>) {
    out.extend((name.len() as u32).to_le_bytes());
    out.extend(name.as_bytes());
}

/// The digest of the contents of a node's tables. Empty tables have no part in it.
pub(super) fn of_tables(node: &Node, number: u32, in_order: bool, now_ns: u64) -> Digest {
    let mut sum = of_bytes(&number.to_le_bytes());
    node.each_content(in_order, now_ns, &mut |name, contents| {
        let mut table = Vec::with_capacity(name.len() + contents.len() + 4);
        append_name(name, &mut table);
        table.extend(contents);
        sum = sum.wrapping_add(of_bytes(&table));
    });
    sum
}

/// A digest mixed so that sums of the results say which digests there were, not only what these sum
/// up to: a Feistel network, so different digests remain different.
pub(super) fn scattered(digest: Digest) -> Digest {
    let (mut high, mut low) = ((digest >> 64) as u64, digest as u64);
    for round in [0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93, 0xa076_1d64_78bd_642f] {
        (high, low) = (low ^ finalized(high ^ round), high);
    }
    Digest::from(high) << 64 | Digest::from(low)
}

/// A word mixed so that each bit depends on each (the finalizer of MurmurHash3).
#[inline]
pub(super) fn finalized(mut word: u64) -> u64 {
    word ^= word >> 33;
    word = word.wrapping_mul(0xff51_afd7_ed55_8ccd);
    word ^= word >> 33;
    word = word.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    word ^ word >> 33
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_scattered_digests_differ_where_sums_do_not() {
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|text| of_bytes(text.as_bytes()));
        let of =
            |states: [Digest; 2]| states.map(scattered).into_iter().fold(0, u128::wrapping_add);
        let [one, other] =
            [[(a, c), (b, d)], [(a, d), (b, c)]].map(|it| it.map(|(x, y)| x.wrapping_add(y)));
        assert_eq!(one[0].wrapping_add(one[1]), other[0].wrapping_add(other[1]));
        assert_ne!(of(one), of(other));
        assert_eq!(of(one), of([one[1], one[0]]));
    }
}
