//! Packets with keys: those that fill a table, and those that look up and insert.
//!
//! ```text
//! file  = fill, packets, capacity, kind (0: exact, 1: prefix), each of 64 bits | frame ...
//! frame = 14 bytes of Ethernet | is_insert | 13 bytes of key | bits | 3 | 8 of value | 20
//! ```
//! The numbers of a file have this machine's order, those of frames the network's. Values have 24
//! bits and are not 0: a look-up that finds nothing leaves a 0. Half of the look-ups do: addresses
//! that no prefix covers are odd in their first byte, all prefixes are longer than that, and even.

use std::collections::HashSet;
use std::path::Path;

use tidemill_stdx::rng::Rng;

use super::plan::{Choice, KeyKind, Plan, Writes};

/// Bytes of a frame, without its checksum.
pub const FRAME: usize = 60;

/// Where the parts of a frame are.
const INSERT_AT: usize = 14;
const KEY_AT: usize = 15;
const KEY: usize = 13;
const BITS_AT: usize = 28;
const VALUE_AT: usize = 32;

/// Bytes before the frames.
const HEAD: usize = 32;

/// Two addresses of machines, and the type that is set aside for experiments.
const ETHERNET: [u8; 14] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xB5];

/// The bit in which addresses differ from all prefixes.
const ABSENT: u32 = 1 << 24;

/// Prefix lengths and how many of 200 prefixes have them: as in a routing table of the Internet.
const LENGTHS: [(u32, u64); 12] = [
    (24, 120),
    (23, 20),
    (22, 24),
    (21, 10),
    (20, 10),
    (19, 6),
    (18, 3),
    (17, 1),
    (16, 2),
    (27, 1),
    (29, 1),
    (32, 2),
];

/// A key, and how many bits of it count if it is a prefix.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Key {
    bytes: [u8; KEY],
    bits: u8,
}

impl Key {
    fn of_address(address: u32, bits: u32) -> Key {
        let mut bytes = [0; KEY];
        bytes[..4].copy_from_slice(&address.to_be_bytes());
        Key { bytes, bits: bits as u8 }
    }

    fn exact(rng: &mut Rng) -> Key {
        let mut bytes = [0; KEY];
        rng.fill(&mut bytes);
        Key { bytes, bits: 0 }
    }

    fn prefix(rng: &mut Rng) -> Key {
        let mut left = rng.below(LENGTHS.iter().map(|(_, share)| share).sum());
        let mut bits = 24;
        for (length, share) in LENGTHS {
            bits = length;
            match left.checked_sub(share) {
                Some(rest) => left = rest,
                None => break,
            }
        }
        let address = rng.next_u64() as u32 & u32::MAX << (32 - bits) & !ABSENT;
        Key::of_address(address, bits)
    }

    /// An address that the prefix covers.
    fn covered(self, rng: &mut Rng) -> u32 {
        let [a, b, c, d, ..] = self.bytes;
        let host = u32::MAX.checked_shr(self.bits.into()).unwrap_or(0);
        u32::from_be_bytes([a, b, c, d]) | rng.next_u64() as u32 & host
    }
}

/// Chooses one of some keys.
enum Chooser {
    Uniform(u64),
    /// The sums of the weights up to each.
    Zipf(Vec<f64>),
}

impl Chooser {
    fn new(choice: Choice, keys: u64) -> Chooser {
        match choice {
            Choice::Uniform => Chooser::Uniform(keys),
            Choice::Zipf => {
                let weights = (1..=keys).map(|rank| 1.0 / rank as f64);
                let sums = weights.scan(0.0, |sum, weight| {
                    *sum += weight;
                    Some(*sum)
                });
                Chooser::Zipf(sums.collect())
            }
        }
    }

    fn choose(&self, rng: &mut Rng) -> usize {
        match self {
            Chooser::Uniform(keys) => rng.below(*keys) as usize,
            Chooser::Zipf(sums) => {
                let point = rng.f64() * sums.last().copied().unwrap_or(0.0);
                sums.partition_point(|sum| *sum <= point).min(sums.len() - 1)
            }
        }
    }
}

/// A frame that looks a key up, or inserts it with a value.
fn add_frame(out: &mut Vec<u8>, key: Key, value: Option<u64>) {
    let mut frame = [0; FRAME];
    frame[..INSERT_AT].copy_from_slice(&ETHERNET);
    frame[INSERT_AT] = value.is_some().into();
    frame[KEY_AT..BITS_AT].copy_from_slice(&key.bytes);
    frame[BITS_AT] = key.bits;
    let value = value.unwrap_or(0).to_be_bytes();
    frame[VALUE_AT..VALUE_AT + 8].copy_from_slice(&value);
    out.extend(frame);
}

/// The file of a case.
pub fn made(plan: &Plan) -> Vec<u8> {
    let rng = &mut Rng::new(plan.seed);
    let draw = match plan.kind {
        KeyKind::Exact => Key::exact,
        KeyKind::Prefix => Key::prefix,
    };
    let mut known = HashSet::new();
    let mut distinct = |count: u64, rng: &mut Rng| {
        let mut keys = Vec::new();
        while (keys.len() as u64) < count {
            let key = draw(rng);
            if known.insert(key) {
                keys.push(key);
            }
        }
        keys
    };
    let (resident, fresh) = (distinct(plan.entries, rng), distinct(plan.fresh(), rng));
    let absent = match plan.kind {
        KeyKind::Exact => distinct(plan.entries, rng),
        KeyKind::Prefix => Vec::new(),
    };
    let value = |rng: &mut Rng| Some(rng.range(1..=0xFF_FFFF));
    let kind = u64::from(plan.kind == KeyKind::Prefix);
    let head = [plan.entries, plan.packets, plan.capacity(), kind];
    let mut out: Vec<u8> = head.iter().flat_map(|word| word.to_ne_bytes()).collect();
    for key in &resident {
        add_frame(&mut out, *key, value(rng));
    }
    let chooser = Chooser::new(plan.choice, plan.entries);
    for _ in 0..plan.packets {
        let one = chooser.choose(rng);
        if plan.writes == Writes::Some && rng.chance(0.01) {
            let key = if rng.chance(0.5) { resident.get(one) } else { rng.pick(&fresh) };
            add_frame(&mut out, key.copied().unwrap_or(resident[one]), value(rng));
            continue;
        }
        let hits = rng.chance(0.5);
        let key = match (plan.kind, hits) {
            (KeyKind::Exact, true) => resident[one],
            (KeyKind::Exact, false) => absent[one],
            (KeyKind::Prefix, true) => Key::of_address(resident[one].covered(rng), 32),
            (KeyKind::Prefix, false) => Key::of_address(resident[one].covered(rng) | ABSENT, 32),
        };
        add_frame(&mut out, key, None);
    }
    out
}

/// What look-ups have found: how many something, and the sum of the values.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Found {
    pub hits: u64,
    pub sum: u64,
}

impl Found {
    /// Adds what a packet says that has been handled.
    pub fn read(&mut self, frame: &[u8]) {
        let value = frame.get(VALUE_AT..).and_then(|rest| rest.first_chunk());
        if let (Some(0), Some(value)) = (frame.get(INSERT_AT), value) {
            let value = u64::from_be_bytes(*value);
            self.hits += u64::from(value != 0);
            self.sum += value;
        }
    }
}

/// The frames of a file: those that fill a table, then those of a pass.
pub struct Requests {
    bytes: Vec<u8>,
    fill: usize,
}

impl Requests {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or is none of these.
    pub fn read(path: &Path) -> Result<Requests, String> {
        let wrong = |what: &str| format!("{}: {what}", path.display());
        let bytes = std::fs::read(path).map_err(|error| wrong(&error.to_string()))?;
        let fill = bytes.first_chunk().map(|word| u64::from_ne_bytes(*word) as usize);
        match fill {
            Some(fill) if bytes.len() >= HEAD + fill * FRAME => Ok(Requests { bytes, fill }),
            _ => Err(wrong("these are no requests")),
        }
    }

    /// Frames that fill the table.
    pub fn fill(&self) -> usize {
        self.fill
    }

    /// All frames.
    pub fn frames(&self) -> &[[u8; FRAME]] {
        self.bytes[HEAD..].as_chunks().0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(kind: KeyKind, choice: Choice) -> Plan {
        Plan { kind, entries: 500, choice, writes: Writes::Some, packets: 20_000, seed: 3 }
    }

    /// The frames of a pass, by key and by whether they insert.
    fn pass(plan: &Plan) -> Vec<(bool, [u8; KEY])> {
        let file = made(plan);
        let frames = file[HEAD..].as_chunks::<FRAME>().0;
        assert_eq!(frames.len() as u64, plan.entries + plan.packets);
        let key = |frame: &[u8; FRAME]| -> [u8; KEY] {
            frame[KEY_AT..BITS_AT].try_into().expect("13 bytes")
        };
        let frames = frames[plan.entries as usize..].iter();
        frames.map(|frame| (frame[INSERT_AT] != 0, key(frame))).collect()
    }

    #[test]
    fn one_in_a_hundred_inserts_and_the_seed_decides_all() {
        for kind in [KeyKind::Exact, KeyKind::Prefix] {
            let plan = plan(kind, Choice::Uniform);
            let inserts = pass(&plan).iter().filter(|(is_insert, _)| *is_insert).count();
            assert!((150..250).contains(&inserts), "{inserts}");
            assert_eq!(made(&plan), made(&plan));
            assert_ne!(made(&plan), made(&Plan { seed: 4, ..plan }));
            let none = Plan { writes: Writes::None, ..plan };
            assert!(pass(&none).iter().all(|(is_insert, _)| !is_insert));
        }
    }

    #[test]
    fn zipf_favours_few_keys_and_uniform_none() {
        let most = |choice| {
            let mut counts = std::collections::HashMap::new();
            for (_, key) in pass(&plan(KeyKind::Exact, choice)) {
                *counts.entry(key).or_insert(0) += 1;
            }
            counts.into_values().max().expect("keys")
        };
        // Ten thousand hits: a 500th, and the harmonic number's reciprocal (0.147), of them.
        assert!((20..60).contains(&most(Choice::Uniform)));
        assert!((1300..1650).contains(&most(Choice::Zipf)));
    }

    #[test]
    fn what_is_found_is_counted_in_look_ups_only() {
        let mut found = Found::default();
        let mut frames = Vec::new();
        let key = Key::of_address(7, 32);
        add_frame(&mut frames, key, Some(5));
        add_frame(&mut frames, key, None);
        let mut hit = frames[FRAME..].to_vec();
        hit[VALUE_AT + 7] = 9;
        for frame in frames.chunks(FRAME).chain([&hit[..], &hit[..20]]) {
            found.read(frame);
        }
        assert_eq!(found, Found { hits: 1, sum: 9 });
    }
}
