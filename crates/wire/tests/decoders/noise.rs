//! Random bytes as a schema and its input: all decoders have the same events.
//!
//! Most of the time is spent on compiling a schema, so inputs share schemas. An input is
//! * a number of one byte, and bytes: the numbers name the schemas of the corpus first, random ones
//!   after them;
//! * or a case as text (it begins with `#` or `-`), of a schema of the corpus or of a new one. Only
//!   a few new texts are used, chosen by their hash, as a text has too many mutations.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use tidemill_stdx::rng::Rng;

use super::case::{self, Head};
use super::check::{Cuts, Engines};
use super::schemas;
use tidemill_support::mutate;

/// The number of random schemas; greater numbers wrap around to the corpus.
const RANDOM: u64 = 8;
/// One in `NEW_OF` new texts is used.
const NEW_OF: u64 = 512;
const BYTES_MAX: usize = 4096;

thread_local! {
    static KNOWN: Rc<Known> = Rc::new(Known::new());
}

/// Panics if decoders differ on an input, in a few ways of decoding it. Returns false if the input
/// has a new schema: a fuzzer that kept it would do so for its coverage of the compiler.
pub fn check(input: &[u8]) -> bool {
    let known = KNOWN.with(Rc::clone);
    match input {
        [] => true,
        [b'#' | b'-', ..] => match case::read(&String::from_utf8_lossy(input)) {
            Ok(case) => check_text(&known, case),
            Err(_) => true,
        },
        [number, bytes @ ..] => {
            check_few(&known.engines[usize::from(*number) % known.engines.len()], bytes);
            true
        }
    }
}

fn check_text(known: &Known, case: case::Case) -> bool {
    if let Some(engines) = known.engines.iter().find(|engines| engines.head == case.head) {
        check_few(engines, &case.bytes);
        return true;
    }
    let mut hasher = DefaultHasher::new();
    case.head.hash(&mut hasher);
    if hasher.finish().is_multiple_of(NEW_OF)
        && let Ok(engines) = Engines::new(case.head)
    {
        check_few(&engines, &case.bytes);
    }
    false
}

fn check_few(engines: &Engines, bytes: &[u8]) {
    if bytes.len() <= BYTES_MAX {
        let _outcome = engines.check(bytes, Cuts::Few);
    }
}

/// Panics if decoders differ on a case, in any way of decoding it; ignores other inputs.
pub fn check_all_ways(input: &[u8]) {
    let Ok(case) = case::read(&String::from_utf8_lossy(input)) else { return };
    if case.bytes.len() > BYTES_MAX {
        return;
    }
    if let Ok(engines) = Engines::new(case.head) {
        let _outcome = engines.check(&case.bytes, Cuts::Every);
    }
}

/// Decoders of the numbered schemas, compiled before anything is checked.
struct Known {
    engines: Vec<Engines>,
}

impl Known {
    fn new() -> Known {
        let mut heads: Vec<Head> = Vec::new();
        for (path, text) in mutate::seeds("tests/wire", &["wire"]) {
            let case = case::read(&String::from_utf8_lossy(&text));
            let head = case.unwrap_or_else(|error| panic!("{path:?}: {error}")).head;
            if !heads.contains(&head) {
                heads.push(head);
            }
        }
        heads.extend((0..RANDOM).map(|seed| schemas::head(&mut Rng::new(seed))));
        let new = |head| Engines::new(head).unwrap_or_else(|error| panic!("{error}"));
        Known { engines: heads.into_iter().map(new).collect() }
    }
}
