//! A hash for tables whose keys strangers choose: who does not know its secret cannot choose keys
//! that collide, and so cannot make a table slow.
//!
//! As in [`hash`](crate::hash) a step is a folded multiplication, but both the word that is mixed
//! in and the factor are secret: words that meet for one factor do not for another. The secret is
//! one per process, from the system; so nothing whose order shows may follow it. It is for indexes
//! that are probed, never for what is walked.
//!
//! ```
//! use tidemill_stdx::keyed::Secret;
//!
//! let secret = Secret::of_process();
//! assert_eq!(secret.bytes(b"n1"), Secret::of_process().bytes(b"n1"));
//! assert_ne!(secret.bytes(b"n1"), secret.bytes(b"n2"));
//! ```

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use crate::hash::hash_u64;

/// What strangers do not know; see the module.
#[derive(Clone, Copy, Debug)]
pub struct Secret {
    offset: u64,
    /// Odd.
    factor: u64,
}

impl Secret {
    /// The secret that a seed gives, for tests.
    pub const fn new(seed: u64) -> Secret {
        let factor = hash_u64(hash_u64(seed)) | 1;
        Secret { offset: hash_u64(seed), factor }
    }

    /// The one of this process, which the system gives when it is first asked for.
    #[inline]
    pub fn of_process() -> Secret {
        static SECRET: OnceLock<Secret> = OnceLock::new();
        *SECRET.get_or_init(|| {
            let system = RandomState::new();
            Secret { offset: system.hash_one(0), factor: system.hash_one(1) | 1 }
        })
    }

    #[inline]
    fn step(self, state: u64, word: u64) -> u64 {
        let product = u128::from(state ^ word ^ self.offset) * u128::from(self.factor);
        product as u64 ^ (product >> 64) as u64
    }

    /// Hash of one word.
    #[inline]
    pub fn word(self, word: u64) -> u64 {
        // Twice, as the low bits of a product know the low bits of the word only.
        self.step(self.step(0, word).rotate_left(32), 0)
    }

    /// Hash of bytes, with their length.
    #[inline]
    pub fn bytes(self, bytes: &[u8]) -> u64 {
        let (words, rest) = bytes.as_chunks::<8>();
        let mut state = bytes.len() as u64;
        for &word in words {
            state = self.step(state, u64::from_le_bytes(word)).rotate_left(32);
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.word(self.step(state, u64::from_le_bytes(last)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::hash_bytes;
    use std::collections::BTreeSet;

    /// The most keys of one bucket of 2^12.
    fn fullest(hashes: impl Iterator<Item = u64>) -> usize {
        let mut counts = vec![0; 1 << 12];
        for hash in hashes {
            counts[(hash >> 32) as usize % (1 << 12)] += 1;
        }
        counts.into_iter().max().unwrap_or(0)
    }

    #[test]
    fn keys_that_collide_without_a_secret_spread_with_any() {
        let chosen = |key: u64| (hash_u64(key) >> 32) % (1 << 12) == 7;
        let words: Vec<u64> = (0..).filter(|&key| chosen(key)).take(500).collect();
        assert_eq!(fullest(words.iter().map(|&key| hash_u64(key))), 500);
        let texts: Vec<String> = (0..1u64 << 32)
            .map(|at| format!("key number {at}"))
            .filter(|text| (hash_bytes(text.as_bytes()) >> 32) % (1 << 12) == 7)
            .take(100)
            .collect();
        assert_eq!(fullest(texts.iter().map(|text| hash_bytes(text.as_bytes()))), 100);
        for seed in 0..50 {
            let secret = Secret::new(seed);
            assert!(fullest(words.iter().map(|&key| secret.word(key))) < 8, "{seed}");
            let full = fullest(texts.iter().map(|text| secret.bytes(text.as_bytes())));
            assert!(full < 8, "{seed}");
        }
    }

    #[test]
    fn keys_as_they_occur_spread() {
        let secret = Secret::of_process();
        for shift in [0, 8, 16, 32, 48] {
            let full = fullest((0..4096u64).map(|key| secret.word(key << shift)));
            assert!(full < 16, "{shift}: {full}");
        }
        let full = fullest((0..4096).map(|at| secret.bytes(format!("n{at}:10000").as_bytes())));
        assert!(full < 16, "{full}");
    }

    #[test]
    fn lengths_of_zeros_differ() {
        let zeros = [0; 200];
        let hashes: BTreeSet<u64> =
            (0..=200).map(|len| Secret::of_process().bytes(&zeros[..len])).collect();
        assert_eq!(hashes.len(), 201);
    }
}
