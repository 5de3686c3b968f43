//! A hash for tables whose keys strangers choose: without its secret, keys that collide and so make
//! a table slow cannot be chosen.
//!
//! The step is a *folded multiplication*: a word times an odd factor gives 128 bits, whose halves
//! are combined by exclusive or. So every bit of the word reaches both ends of the hash, from which
//! tables take their buckets and tags. The other factor is never data, so no word can erase what
//! was hashed before it. The offset of words and both factors are secret: an initial state alone
//! would not help, as words that collide would still do so.
//!
//! A secret comes from the host, or is one per process. Nothing whose order shows may follow it: it
//! is for tables that are probed, never for those that are iterated.
//!
//! ```
//! use tidemill_stdx::keyed::Secret;
//!
//! let secret = Secret::of_process();
//! assert_eq!(secret.bytes(b"n1"), Secret::of_process().bytes(b"n1"));
//! assert_ne!(secret.bytes(b"n1"), secret.bytes(b"n2"));
//! ```

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// The secret of a hash; see the module.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret {
    /// Keeps small words away from zero.
    offset: u64,
    /// Odd.
    word_factor: u64,
    /// Odd.
    step_factor: u64,
}

/// Multiplies to 128 bits and folds the halves.
#[inline]
const fn fold(word: u64, factor: u64) -> u64 {
    let product = word as u128 * factor as u128;
    product as u64 ^ (product >> 64) as u64
}

impl Secret {
    /// The published secret: that of [`hash`](crate::hash), the same on every run and machine.
    pub const FIXED: Secret = Secret {
        // 2^64 divided by the golden ratio, then odd factors of which about half the bits are ones.
        offset: 0x9E37_79B9_7F4A_7C15,
        word_factor: 0xA076_1D64_78BD_642F,
        step_factor: 0xE703_7ED1_A0B4_28DB,
    };

    /// The secret that a seed gives: for simulations and tests.
    pub const fn new(seed: u64) -> Secret {
        let offset = Secret::FIXED.word(seed);
        let word = Secret::FIXED.combine(offset, 1);
        Secret::of_words([offset, word, Secret::FIXED.combine(word, 2)])
    }

    /// The secret that random bytes give.
    pub fn of_bytes(bytes: &[u8; 24]) -> Secret {
        Secret::of_words([0, 8, 16].map(|at| read_u64(bytes, at)))
    }

    const fn of_words([offset, word, step]: [u64; 3]) -> Secret {
        Secret { offset, word_factor: word | 1, step_factor: step | 1 }
    }

    /// The secret of this process, drawn from the system on first use.
    #[inline]
    pub fn of_process() -> Secret {
        static SECRET: OnceLock<Secret> = OnceLock::new();
        *SECRET.get_or_init(|| {
            let system = RandomState::new();
            Secret::of_words([0, 1, 2].map(|word: u64| system.hash_one(word)))
        })
    }

    /// The offset, the factor of [`Secret::word`] and that of [`Secret::combine`]: only for
    /// generated code, which hashes by itself.
    pub const fn words(&self) -> [u64; 3] {
        [self.offset, self.word_factor, self.step_factor]
    }

    /// Hash of one word.
    #[inline]
    pub const fn word(&self, word: u64) -> u64 {
        fold(word ^ self.offset, self.word_factor)
    }

    /// Adds `word` to a running hash; the order of words matters.
    #[inline]
    pub const fn combine(&self, state: u64, word: u64) -> u64 {
        fold(state.rotate_left(32) ^ word ^ self.offset, self.step_factor)
    }

    /// Hash of bytes, with their length.
    #[inline]
    pub fn bytes(&self, bytes: &[u8]) -> u64 {
        let (low, high) = match bytes.len() {
            17.. => return self.long(bytes),
            // Two reads that overlap cover all lengths of a class without a loop.
            8.. => (read_u64(bytes, 0), read_u64(bytes, bytes.len() - 8)),
            4.. => (read_u32(bytes, 0), read_u32(bytes, bytes.len() - 4)),
            1.. => {
                let [first, middle, last] =
                    [bytes[0], bytes[bytes.len() / 2], bytes[bytes.len() - 1]].map(u64::from);
                (first << 16 | middle << 8 | last, 0)
            }
            0 => (0, 0),
        };
        self.combine(self.combine(bytes.len() as u64, low), high)
    }

    /// Two lanes, so that the multiplications of one do not wait for the other.
    fn long(&self, bytes: &[u8]) -> u64 {
        let (mut low, mut high) = (bytes.len() as u64, 0);
        let mut at = 0;
        while at + 16 < bytes.len() {
            low = self.combine(low, read_u64(bytes, at));
            high = self.combine(high, read_u64(bytes, at + 8));
            at += 16;
        }
        // The last 16 bytes, some of them perhaps for the second time.
        low = self.combine(low, read_u64(bytes, bytes.len() - 16));
        high = self.combine(high, read_u64(bytes, bytes.len() - 8));
        self.combine(low, high)
    }
}

/// A map of std whose keys strangers choose. The order of iteration must not show.
pub type Map<K, V> = std::collections::HashMap<K, V, Build>;

/// Makes a [`SecretHasher`] for each key of a [`Map`].
#[derive(Clone, Copy, Debug)]
pub struct Build(Secret);

impl Default for Build {
    fn default() -> Build {
        Build(Secret::of_process())
    }
}

impl BuildHasher for Build {
    type Hasher = SecretHasher;

    #[inline]
    fn build_hasher(&self) -> SecretHasher {
        SecretHasher { secret: self.0, state: 0 }
    }
}

/// This hash behind the interface of std.
#[derive(Clone, Copy, Debug)]
pub struct SecretHasher {
    secret: Secret,
    state: u64,
}

impl Hasher for SecretHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.write_u64(self.secret.bytes(bytes));
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
        self.state = self.secret.combine(self.state, word);
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

/// Does not print the secret.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[inline]
fn read_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

#[inline]
fn read_u32(bytes: &[u8], at: usize) -> u64 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes")).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{hash_bytes, hash_u64};
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
    #[cfg_attr(miri, ignore = "statistics of many hashes")]
    fn keys_that_collide_without_a_secret_spread_with_any() {
        let (some_words, some_texts) = (500, 100);
        let chosen = |key: u64| (hash_u64(key) >> 32) % (1 << 12) == 7;
        let words: Vec<u64> = (0..).filter(|&key| chosen(key)).take(some_words).collect();
        assert_eq!(fullest(words.iter().map(|&key| hash_u64(key))), some_words);
        let texts: Vec<String> = (0..1u64 << 32)
            .map(|at| format!("key number {at}"))
            .filter(|text| (hash_bytes(text.as_bytes()) >> 32) % (1 << 12) == 7)
            .take(some_texts)
            .collect();
        assert_eq!(fullest(texts.iter().map(|text| hash_bytes(text.as_bytes()))), some_texts);
        for seed in 0..50 {
            let secret = Secret::new(seed);
            assert!(fullest(words.iter().map(|&key| secret.word(key))) < 8, "{seed}");
            let full = fullest(texts.iter().map(|text| secret.bytes(text.as_bytes())));
            assert!(full < 8, "{seed}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "statistics of many hashes")]
    fn keys_as_they_occur_spread() {
        let secret = Secret::of_process();
        for shift in [0, 8, 16, 32, 48] {
            let full =
                fullest((0..4096u64).map(|key| secret.combine(0, secret.word(key << shift))));
            assert!(full < 16, "{shift}: {full}");
        }
        let full = fullest((0..4096).map(|at| secret.bytes(format!("n{at}:10000").as_bytes())));
        assert!(full < 16, "{full}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "statistics of many hashes")]
    fn maps_spread_keys_that_collide_without_a_secret() {
        let hash = |build: Build, key: u64| build.hash_one((1u8, key));
        let fixed = Build(Secret::FIXED);
        let chosen = |key: &u64| (hash(fixed, *key) >> 32) % (1 << 12) == 7;
        let keys: Vec<u64> = (0..).filter(chosen).take(300).collect();
        assert!(fullest(keys.iter().map(|&key| hash(Build::default(), key))) < 12);
        let map: Map<u64, usize> = keys.iter().copied().zip(0..).collect();
        assert!(keys.iter().zip(0..).all(|(key, at)| map[key] == at));
    }

    #[test]
    fn lengths_of_zeros_differ() {
        let zeros = [0; 200];
        let hashes: BTreeSet<u64> =
            (0..=200).map(|len| Secret::of_process().bytes(&zeros[..len])).collect();
        assert_eq!(hashes.len(), 201);
    }
}
