//! Both decoders, whole and in pieces: a corpus, random messages, changed bytes.

mod case;
mod check;
mod log;
#[path = "../../../../tests/support/mutate.rs"]
mod mutate;
mod noise;
mod random;
mod system_calls;

use std::path::Path;

use check::Engines;

#[test]
fn the_corpus_is_decoded_as_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/wire");
    let mut count = 0;
    for (path, text) in mutate::seeds("tests/wire", &["wire"]) {
        let text = String::from_utf8(text).unwrap();
        let case = case::read(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let mut engines = Engines::new(&case.schema, &case.tables);
        engines.depth_max = case.depth_max.unwrap_or(engines.depth_max);
        let (mut events, result) = engines.whole(case.message, &case.bytes);
        if let Err(error) = result {
            events.push_str(&format!("error: {error}\n"));
        }
        if std::env::var_os("BLESS").is_some() && events != case.events {
            std::fs::write(folder.join(&path), case.head + &events).unwrap();
        } else {
            assert_eq!(events, case.events, "{path:?}");
        }
        let _told = engines.check(case.message, &case.bytes);
        count += 1;
    }
    assert!(count >= 20, "{count} cases");
}

#[test]
fn changed_cases_are_decoded_alike() {
    mutate::bombard(&mutate::seeds("tests/wire", &["wire"]), 400, noise::check);
}
