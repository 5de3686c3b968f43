//! Both decoders, whole and in pieces: a corpus, random messages, changed bytes.

pub mod case;
mod check;
mod log;
mod noise;
mod random;
mod schemas;
mod system_calls;

use tidemill_support::{golden, mutate};

use self::check::{Cuts, Engines};

#[test]
fn the_corpus_is_decoded_as_it_says() {
    golden::check_cases("tests/wire", 61, |case, place, _| {
        let read = case::read(&case.source).unwrap_or_else(|error| panic!("{place}: {error}"));
        let engines = Engines::new(read.head).unwrap_or_else(|error| panic!("{place}: {error}"));
        let (mut events, result) = engines.whole(&read.bytes);
        if let Err(error) = result {
            events.push_str(&format!("error: {error}\n"));
        }
        let _outcome = engines.check(&read.bytes, Cuts::Every);
        case.source = read.top + &events;
    });
}

#[test]
fn changed_cases_are_decoded_alike() {
    mutate::bombard(&mutate::seeds("tests/wire", &["wire"]), 400, noise::check_all_ways);
}

#[test]
fn noise_is_decoded_alike() {
    let mut seeds = mutate::seeds("tests/wire", &["wire"]);
    // The same bytes after the number of any schema.
    let numbered: Vec<_> = (0..=255_u8)
        .zip(seeds.iter().cycle())
        .map(|(number, (path, text))| {
            let case = case::read(&String::from_utf8_lossy(text)).unwrap();
            (path.with_extension(number.to_string()), [&[number][..], &case.bytes].concat())
        })
        .collect();
    seeds.extend(numbered);
    mutate::bombard(&seeds, 4000, |input| {
        noise::check(input);
    });
}
