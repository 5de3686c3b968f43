//! Seeded mutations of inputs: the short, repeatable form of fuzzing.
//!
//! A target is a function that takes bytes and panics if the program handles them wrongly.
//! [`bombard`] calls it with every seed and with mutations of them; the same targets and seeds
//! serve the fuzzer (`fuzz/`).

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tidemill_stdx::rng::Rng;

use crate::cases;

/// Far longer than any input takes on the slowest machine.
const INPUT_TIME_MAX: Duration = Duration::from_secs(20);

/// The maximum size of a mutated input.
const INPUT_BYTES_MAX: usize = 1 << 16;

/// The files of a folder, and of those inside it, with one of these endings (none: all files),
/// by name. Sources in files of cases count as files.
pub fn seeds(folder: &str, endings: &[&str]) -> Vec<(PathBuf, Vec<u8>)> {
    let root = crate::root().join(folder);
    let mut folders = vec![root.clone()];
    let is_wanted = |path: &Path| endings.is_empty() || endings.contains(&ending(path));
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{folder:?}: {e}"));
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if ending(&path) == cases::ENDING {
                let inside = path.strip_prefix(&root).unwrap().with_file_name("");
                let named = cases::read(&path).into_iter();
                let named = named.map(|case| (inside.join(case.name), case.source.into_bytes()));
                found.extend(named.filter(|(path, _)| is_wanted(path)));
            } else if is_wanted(&path) {
                let bytes = std::fs::read(&path).unwrap();
                found.push((path.strip_prefix(&root).unwrap().to_owned(), bytes));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "no seeds in {folder}");
    found
}

fn ending(path: &Path) -> &str {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or("")
}

/// Calls `target` with every seed and with `count` mutations; `MUTATIONS=20` multiplies that by
/// twenty.
pub fn bombard(seeds: &[(PathBuf, Vec<u8>)], count: u64, target: impl Fn(&[u8])) {
    for (path, bytes) in seeds {
        check(&format!("seed {}", path.display()), bytes, &target);
    }
    let factor = crate::variable("MUTATIONS").unwrap_or(1);
    for number in 0..count * factor {
        let bytes = mutation(seeds, number);
        check(&format!("mutation {number}"), &bytes, &target);
    }
}

fn check(name: &str, bytes: &[u8], target: impl Fn(&[u8])) {
    /// Prints the input that made the target panic.
    struct Culprit<'a>(&'a str, &'a [u8]);

    impl Drop for Culprit<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("{}: {:?}", self.0, String::from_utf8_lossy(self.1));
            }
        }
    }
    let culprit = Culprit(name, bytes);
    let start = Instant::now();
    target(bytes);
    assert!(start.elapsed() < INPUT_TIME_MAX, "took {:?}", start.elapsed());
    drop(culprit);
}

/// Mutation `number` of one of the seeds.
fn mutation(seeds: &[(PathBuf, Vec<u8>)], number: u64) -> Vec<u8> {
    let mut random = Rng::new(number);
    let seed = |random: &mut Rng| random.pick(seeds).map_or(&[][..], |(_, bytes)| &bytes[..]);
    let mut bytes = seed(&mut random).to_vec();
    // Half of them keep to words and lines, so that most of the result remains valid.
    let gentle = random.chance(0.5);
    for _ in 0..random.range(1..=4) {
        let other = seed(&mut random);
        if gentle {
            rearrange(&mut random, &mut bytes, other)
        } else {
            mutate(&mut random, &mut bytes, other)
        }
        bytes.truncate(INPUT_BYTES_MAX);
    }
    bytes
}

/// Changes words or lines.
fn rearrange(random: &mut Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    let lines = spans(bytes, |byte| byte != b'\n');
    let words = spans(bytes, |byte| byte.is_ascii_alphanumeric());
    let pick = |random: &mut Rng, from: &[Range<usize>]| random.pick(from).cloned();
    match random.below(5) {
        // A line is removed, or another one inserted.
        0 => {
            bytes.drain(pick(random, &lines).unwrap_or(0..0));
        }
        1 => {
            let new = pick(random, &spans(other, |byte| byte != b'\n')).unwrap_or(0..0);
            let place = pick(random, &lines).map_or(0, |line| line.start);
            let new = [&other[new], b"\n"].concat();
            bytes.splice(place..place, new);
        }
        // A word is replaced by a similar one.
        _ => {
            let Some(word) = pick(random, &words) else { return };
            let kind = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_uppercase());
            let source = if random.chance(0.7) { bytes.clone() } else { other.to_vec() };
            let mut others = spans(&source, |byte| byte.is_ascii_alphanumeric());
            others.retain(|other| kind(source[other.start]) == kind(bytes[word.start]));
            if let Some(new) = pick(random, &others) {
                bytes.splice(word, source[new].iter().copied());
            }
        }
    }
}

/// Runs of bytes of which `inside` is true.
fn spans(bytes: &[u8], inside: impl Fn(u8) -> bool) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    for (place, _) in bytes.iter().enumerate().filter(|(_, byte)| inside(**byte)) {
        match spans.last_mut() {
            Some(last) if last.end == place => last.end += 1,
            _ => spans.push(place..place + 1),
        }
    }
    spans
}

/// One change; `other` is the source of pieces.
fn mutate(random: &mut Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    let place = random.below(bytes.len() as u64 + 1) as usize;
    let some = piece(random, bytes.len(), 24);
    match random.below(10) {
        // Another byte, mostly a printable one.
        0 | 1 => {
            if let Some(byte) = bytes.get_mut(place) {
                *byte = byte_of(random);
            }
        }
        2 => bytes.insert(place, byte_of(random)),
        3 => drop(bytes.drain(some)),
        4 => {
            let piece = bytes[some].to_vec();
            bytes.splice(place..place, piece);
        }
        5 | 6 => {
            let piece = piece(random, other.len(), 60);
            bytes.splice(place..place, other[piece].iter().copied());
        }
        7 => {
            let piece = piece(random, other.len(), 60);
            bytes.splice(some, other[piece].iter().copied());
        }
        8 => {
            if let Some(byte) = bytes.get_mut(place) {
                *byte ^= 1 << random.below(8);
            }
        }
        // Repetition: nesting, long numbers, long lists.
        _ => {
            let end = (place + random.range(1..=3) as usize).min(bytes.len());
            let piece = bytes[place..end].repeat(random.range(2..=300) as usize);
            bytes.splice(place..place, piece);
        }
    }
}

fn byte_of(random: &mut Rng) -> u8 {
    match random.below(3) {
        0 => random.next_u64() as u8,
        1 => *random.pick(b"()[]{}<>,.:;@\"'\\/*%#=!&|+-_ \n0159azAZIUts").unwrap_or(&0),
        _ => random.range(32..=126) as u8,
    }
}

/// A range of at most `length_max` inside `0..length`.
fn piece(random: &mut Rng, length: usize, length_max: u64) -> Range<usize> {
    let start = random.below(length as u64 + 1) as usize;
    let end = start + random.below(length_max) as usize;
    start..end.min(length)
}
