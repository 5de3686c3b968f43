//! A fast hash for tables: the same on every run and every machine.
//!
//! It is the hash of [`keyed`](crate::keyed) with a published secret.
//!
//! Its factors are known, so keys can be chosen to collide. Tables whose keys strangers choose hash
//! with a [`Secret`].
//!
//! ```
//! use tidemill_stdx::hash::{Map, combine, hash_bytes, hash_u64};
//!
//! let row = combine(hash_u64(7), hash_bytes(b"n1"));
//! assert_ne!(row, combine(hash_bytes(b"n1"), hash_u64(7)));
//!
//! let mut costs = Map::default();
//! costs.insert("n1", 7);
//! assert_eq!(costs["n1"], 7);
//! ```

use std::hash::{BuildHasher, Hasher};

use crate::keyed::Secret;

/// A map of std with this hash: iteration has the same order on every run with the same operations.
pub type Map<K, V> = std::collections::HashMap<K, V, Build>;

/// A set of std with this hash: iteration has the same order on every run with the same operations.
pub type Set<T> = std::collections::HashSet<T, Build>;

/// Hash of one word.
#[inline]
pub const fn hash_u64(word: u64) -> u64 {
    Secret::FIXED.word(word)
}

/// Adds `word` to a running hash; the order of words matters.
#[inline]
pub const fn combine(state: u64, word: u64) -> u64 {
    Secret::FIXED.combine(state, word)
}

/// Hash of bytes, with their length.
#[inline]
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    Secret::FIXED.bytes(bytes)
}

/// Makes a [`TableHasher`] for each key of a [`Map`].
#[derive(Clone, Copy, Default, Debug)]
pub struct Build;

impl BuildHasher for Build {
    type Hasher = TableHasher;

    #[inline]
    fn build_hasher(&self) -> TableHasher {
        TableHasher::default()
    }
}

/// This hash behind the interface of std.
#[derive(Clone, Copy, Default, Debug)]
pub struct TableHasher {
    state: u64,
}

impl Hasher for TableHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.write_u64(hash_bytes(bytes));
    }

    #[inline]
    fn write_u8(&mut self, word: u8) {
        self.write_u64(word.into());
    }

    #[inline]
    fn write_u16(&mut self, word: u16) {
        self.write_u64(word.into());
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.state = combine(self.state, word);
    }

    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// How unevenly hashes fall into `2^bits` buckets, by their lowest or highest bits: the
    /// chi-squared statistic per degree of freedom, about 1 for a random function.
    fn unevenness(hashes: &[u64], bits: u32, bucket: impl Fn(u64) -> u64) -> f64 {
        let mut counts = vec![0u32; 1 << bits];
        for &hash in hashes {
            counts[bucket(hash) as usize] += 1;
        }
        let expected = hashes.len() as f64 / counts.len() as f64;
        let squares: f64 = counts.iter().map(|&n| (f64::from(n) - expected).powi(2)).sum();
        squares / expected / (counts.len() - 1) as f64
    }

    fn check_spread(name: &str, hashes: &[u64]) {
        let distinct: BTreeSet<u64> = hashes.iter().copied().collect();
        assert_eq!(distinct.len(), hashes.len(), "{name}: equal hashes");
        for bits in [7, 12] {
            let low = unevenness(hashes, bits, |hash| hash & ((1 << bits) - 1));
            let high = unevenness(hashes, bits, |hash| hash >> (64 - bits));
            assert!(low < 1.5 && high < 1.5, "{name}: {low} {high} in {bits} bits");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "statistics of many hashes")]
    fn keys_as_they_occur_spread_evenly() {
        let n = 1 << 16;
        let hash = |f: &dyn Fn(u64) -> u64| (0..n).map(f).collect::<Vec<_>>();
        check_spread("counting", &hash(&hash_u64));
        check_spread("multiples", &hash(&|i| hash_u64(i << 32)));
        check_spread("pairs", &hash(&|i| combine(hash_u64(i & 255), hash_u64(i >> 8))));
        check_spread("raw pairs", &hash(&|i| combine(i & 255, i >> 8)));
        check_spread("doubles", &hash(&|i| hash_u64((i as f64).to_bits())));
        check_spread("names", &hash(&|i| hash_bytes(format!("n{i}:10000").as_bytes())));
        check_spread("urls", &hash(&|i| hash_bytes(format!("http://host/{i}/index").as_bytes())));
        check_spread("3 bytes", &hash(&|i| hash_bytes(&i.to_le_bytes()[..3])));
    }

    #[test]
    fn a_changed_bit_changes_half_of_the_hash() {
        for bytes in [1, 3, 4, 7, 8, 9, 16, 17, 24, 31, 32, 33, 100] {
            let text = vec![0x55; bytes];
            let hash = hash_bytes(&text);
            for bit in 0..bytes * 8 {
                let mut other = text.clone();
                other[bit / 8] ^= 1 << (bit % 8);
                let changed = (hash ^ hash_bytes(&other)).count_ones();
                assert!((10..=54).contains(&changed), "{bytes} bytes, bit {bit}: {changed}");
            }
        }
    }

    #[test]
    fn lengths_of_zeros_differ() {
        let zeros = [0; 200];
        let hashes: BTreeSet<u64> = (0..=200).map(|len| hash_bytes(&zeros[..len])).collect();
        assert_eq!(hashes.len(), 201);
    }

    #[test]
    fn the_hash_is_the_same_everywhere() {
        // Traces that name the order of a table depend on these.
        assert_eq!(hash_u64(1), 41_593_898_313_400_349);
        assert_eq!(combine(1, 2), 4_408_906_052_122_008_030);
        assert_eq!(hash_bytes(b"tidemill"), 7_525_223_569_774_762_800);
        assert_eq!(
            hash_bytes(b"tidemill, a runtime for network programs"),
            3_578_374_711_721_830_063
        );
    }

    #[test]
    fn maps_take_any_key() {
        let mut map = Map::default();
        let n = if cfg!(miri) { 50 } else { 1000 };
        for i in 0..n {
            map.insert((i, format!("{i}"), i as u8 as char), i);
        }
        assert!((0..n).all(|i| map[&(i, format!("{i}"), i as u8 as char)] == i));
    }
}
