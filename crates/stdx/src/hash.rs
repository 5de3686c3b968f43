//! A fast hash for tables: deterministic, not for hostile keys of cryptographic weight.

const K: u64 = 0x9E37_79B9_7F4A_7C15;

/// Multiplies to 128 bits and folds.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

/// Hash of one word.
#[inline]
pub fn hash_u64(word: u64) -> u64 {
    fold(word ^ K, 0xA076_1D64_78BD_642F)
}

/// Adds `word` to a running hash.
#[inline]
pub fn combine(state: u64, word: u64) -> u64 {
    fold(state ^ K, word ^ 0xE703_7ED1_A0B4_28DB)
}

/// Hash of bytes.
#[inline]
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut state = bytes.len() as u64;
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        state = combine(state, u64::from_le_bytes(chunk.try_into().expect("8 bytes")));
    }
    let mut last = [0; 8];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    combine(state, u64::from_le_bytes(last))
}
