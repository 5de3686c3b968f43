//! Mutated JSON and text.

use crate::mutate;
mod texts;

use std::cell::Cell;

fn bombard(folder: &str, check: fn(&[u8]) -> bool) {
    let seeds = mutate::seeds(folder, &[]);
    for (path, bytes) in &seeds {
        assert!(check(bytes), "{path:?} is read");
    }
    let (right, wrong) = (Cell::new(0), Cell::new(0));
    mutate::bombard(&seeds, 5000, |input| {
        let count = if check(input) { &right } else { &wrong };
        count.set(count.get() + 1);
    });
    // Both what is wrong and what is read are met.
    let (right, wrong) = (right.get(), wrong.get());
    assert!(right > 200 && wrong > 1000, "{right} right, {wrong} wrong");
}

#[test]
fn mutated_json_does_no_harm() {
    bombard("tests/corpora/json", texts::check_json);
}

#[test]
fn mutated_text_does_no_harm() {
    bombard("tests/corpora/prototext", texts::check_text);
}
