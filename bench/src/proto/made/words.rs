//! Texts similar to those of real programs.

use tidemill_stdx::rng::Rng;

const WORDS: [&str; 32] = [
    "request",
    "timeout",
    "user",
    "session",
    "cache",
    "database",
    "query",
    "retry",
    "connection",
    "payload",
    "header",
    "token",
    "shard",
    "replica",
    "commit",
    "queue",
    "worker",
    "stream",
    "index",
    "bucket",
    "region",
    "policy",
    "metric",
    "span",
    "flush",
    "lease",
    "quota",
    "cursor",
    "größe",
    "naïve",
    "日本",
    "backoff",
];

/// A random word, rarely one that is not ASCII.
pub fn word(rng: &mut Rng) -> &'static str {
    let common = !rng.chance(0.02);
    WORDS[rng.below(WORDS.len() as u64) as usize % if common { 28 } else { WORDS.len() }]
}

/// `count` words.
pub fn words(rng: &mut Rng, count: u64, between: &str) -> String {
    (0..count).map(|_| word(rng)).collect::<Vec<_>>().join(between)
}

/// `bytes` random bytes.
pub fn noise(rng: &mut Rng, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|_| rng.next_u64() as u8).collect()
}
