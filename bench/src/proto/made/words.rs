//! Texts that look like what programs write.

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

/// Any of them, seldom one that is not ASCII.
pub fn word(rng: &mut Rng) -> &'static str {
    let common = !rng.chance(0.02);
    WORDS[rng.below(WORDS.len() as u64) as usize % if common { 28 } else { WORDS.len() }]
}

/// So many of them.
pub fn words(rng: &mut Rng, count: u64, between: &str) -> String {
    (0..count).map(|_| word(rng)).collect::<Vec<_>>().join(between)
}

/// So many bytes.
pub fn noise(rng: &mut Rng, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|_| rng.next_u64() as u8).collect()
}
