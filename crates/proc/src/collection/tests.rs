//! Collections against sorted maps of the library.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};

use proptest::prelude::*;

use super::*;
use crate::layout::quick;
use crate::program::{Program, Shape, WordKind};
use crate::worker::Options;

fn free(worker: &mut Worker, word: u64) {
    super::free(worker, word, words::free_word);
}

fn worker(keys: Vec<Key>, element: WordKind) -> Box<Worker> {
    worker_with(Shape::Collection { keys, element, pinned: true })
}

/// Of integers, whose elements may move.
fn flat_worker() -> Box<Worker> {
    flat_worker_of(Key::Integer)
}

fn flat_worker_of(key: Key) -> Box<Worker> {
    let keys = vec![key];
    worker_with(Shape::Collection { keys, element: WordKind::Scalar, pinned: false })
}

fn worker_with(shape: Shape) -> Box<Worker> {
    let shapes = vec![shape];
    Worker::for_test(Program { shapes, ..Program::default() }, Options::quiet())
}

/// The next element, as FOREACH steps, with the order built at once.
fn next_of(worker: &mut Worker, word: u64, at: Words, first: bool) -> bool {
    if let Some(head) = Head::of(word) {
        while !order::is_ready(head) {
            let keys = keys_of(worker, head);
            order::make_some(worker, head, keys).unwrap();
        }
    }
    step(worker, word, at, first).unwrap()
}

/// Integers near each other, near page borders, and far away.
fn integer() -> impl Strategy<Value = i64> {
    prop_oneof![
        0i64..40,
        -40i64..0,
        0i64..3000,
        any::<i64>(),
        Just(i64::MIN),
        Just(i64::MAX),
        (0i64..1 << 20).prop_map(|n| n * 1000),
    ]
}

proptest! {
    #[test]
    fn integer_keys_agree_with_a_sorted_map(
        steps in prop::collection::vec((0..3, integer(), any::<u64>()), 1..400),
        flat in any::<bool>(),
    ) {
        let mut worker =
            if flat { flat_worker() } else { worker(vec![Key::Integer], WordKind::Scalar) };
        let mut model = BTreeMap::new();
        let mut owner = 0u64;
        let word = Words(&raw mut owner);
        for (what, key, value) in steps {
            let mut at = key as u64;
            let at = Words(&raw mut at);
            match what {
                0 | 1 => {
                    find_or_insert(&mut worker, word, 0, at).unwrap().set(0, value);
                    model.insert(key, value);
                }
                _ => {
                    if let Some(head) = Head::of(word.get(0))
                        && find_in(&worker, head, at).is_some()
                    {
                        remove(&mut worker, head, at);
                    }
                    model.remove(&key);
                }
            }
            let head = Head::of(word.get(0));
            let found = head.and_then(|head| find_in(&worker, head, at)).map(|v| v.get(0));
            prop_assert_eq!(found, model.get(&key).copied());
        }
        let mut seen = Vec::new();
        for_each(word.get(0), |key, value| {
            seen.push((key.get(0) as i64, value.get(0)));
            true
        });
        seen.sort_unstable();
        let expected: Vec<(i64, u64)> = model.iter().map(|(&k, &v)| (k, v)).collect();
        prop_assert_eq!(&seen, &expected);
        let values: Vec<u64> = values(&worker, word.get(0)).iter().map(|v| v.get(0)).collect();
        prop_assert!(values.iter().eq(model.values()));
        let mut at = 0u64;
        let mut walked = Vec::new();
        let mut first = true;
        while next_of(&mut worker, word.get(0), Words(&raw mut at), first) {
            first = false;
            walked.push(at as i64);
        }
        prop_assert!(walked.iter().eq(model.keys()));
        free(&mut worker, word.take(0));
        prop_assert_eq!(worker.used_bytes(), 0);
    }

    #[test]
    fn keys_of_several_words_agree_with_a_sorted_map(
        steps in prop::collection::vec((0..3, 0i64..4, "[ab]{0,2}", "[a-c]{1,5}"), 1..200)
    ) {
        let mut worker = worker(vec![Key::Integer, Key::Text], WordKind::Text);
        let mut model = BTreeMap::new();
        let mut owner = 0u64;
        let word = Words(&raw mut owner);
        for (what, number, name, value) in steps {
            let mut keys = [number as u64, text::make(&mut worker, name.as_bytes()).unwrap()];
            let at = Words(keys.as_mut_ptr());
            if what < 2 {
                let own = text::make(&mut worker, value.as_bytes()).unwrap();
                let place = find_or_insert(&mut worker, word, 0, at).unwrap();
                words::free_word(&mut worker, WordKind::Text, place);
                place.set(0, own);
                model.insert((number, name), value);
            } else {
                let head = Head::of(word.get(0));
                if let Some(place) = head.and_then(|head| find_in(&worker, head, at)) {
                    words::free_word(&mut worker, WordKind::Text, place);
                    remove(&mut worker, head.unwrap(), at);
                }
                model.remove(&(number, name));
            }
            text::free(&mut worker, at.take(1));
        }
        let mut seen = Vec::new();
        for_each(word.get(0), |keys, value| {
            let string = |word| String::from_utf8(text::bytes(word).to_vec()).unwrap();
            let key = (keys.get(0) as i64, string(keys.get(1)));
            seen.push((key, string(value.get(0))));
            true
        });
        seen.sort();
        prop_assert!(seen.into_iter().eq(model.clone()));
        let count = Head::of(word.get(0)).map_or(0, Head::count);
        prop_assert_eq!(count as usize, model.len());
        free(&mut worker, word.take(0));
        prop_assert_eq!((worker.used_bytes(), worker.counts().texts.alive), (0, 0));
    }
}

/// Numbers in no order.
fn scattered(i: u64) -> u64 {
    i.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Inserts many, removes most and inserts others, with look-ups of present and absent keys all the
/// time; tables grow and are moved meanwhile.
fn agrees_while_it_grows(mut worker: Box<Worker>, kind: Key, key_of: fn(&mut Worker, u64) -> u64) {
    let mut model = BTreeMap::new();
    let mut owner = 0u64;
    let word = Words(&raw mut owner);
    let mut chance = 1u64;
    for round in 0..30_000u64 {
        chance = chance.wrapping_mul(0xD129_0DDB_53C4_3E49).wrapping_add(1);
        let number = (chance >> 32) % 6000;
        let removes = (round / 6000) % 2 == 1 && chance >> 20 & 3 > 0;
        let mut key = key_of(&mut worker, number);
        let at = Words(&raw mut key);
        let head = Head::of(word.get(0));
        let found = head.and_then(|head| find_in(&worker, head, at)).map(|v| v.get(0));
        assert_eq!(found, model.get(&number).copied(), "{number} in round {round}");
        if removes {
            if let Some(head) = head.filter(|_| found.is_some()) {
                remove(&mut worker, head, at);
            }
            model.remove(&number);
        } else {
            find_or_insert(&mut worker, word, 0, at).unwrap().set(0, round);
            model.insert(number, round);
        }
        if kind == Key::Text {
            text::free(&mut worker, key);
        }
        if round % 5000 == 0 {
            let mut all: Vec<u64> = values(&worker, word.get(0)).iter().map(|v| v.get(0)).collect();
            all.sort_unstable();
            let mut expected: Vec<u64> = model.values().copied().collect();
            expected.sort_unstable();
            assert_eq!(all, expected);
        }
    }
    assert_eq!(count(word.get(0)), model.len());
    free(&mut worker, word.take(0));
    assert_eq!(worker.used_bytes(), 0);
}

/// A text for each number, of up to 40 bytes, none for 0; other bytes after a 0X mean nothing.
fn spelled(worker: &mut Worker, number: u64) -> u64 {
    let mut spelled = format!("{}{number}", "x".repeat(number as usize % 36));
    let is_none = number == 0;
    if is_none {
        spelled.clear();
    }
    if number.is_multiple_of(3) && !(is_none && worker.counts().texts.created.is_multiple_of(2)) {
        spelled.push('\0');
        spelled.push_str(&"y".repeat(worker.counts().texts.created as usize % 12));
    }
    text::make(worker, spelled.as_bytes()).unwrap()
}

#[test]
fn tables_agree_with_a_sorted_map_while_they_grow() {
    agrees_while_it_grows(flat_worker(), Key::Integer, |_, i| scattered(i + 1));
    let nodes = worker(vec![Key::Integer], WordKind::Scalar);
    agrees_while_it_grows(nodes, Key::Integer, |_, i| scattered(i + 1));
    for texts in [worker(vec![Key::Text], WordKind::Scalar), flat_worker_of(Key::Text)] {
        agrees_while_it_grows(texts, Key::Text, spelled);
    }
}

proptest! {
    /// The same of a flat table, with the values looked up.
    #[test]
    fn steps_through_a_flat_table_go_to_the_smallest_key_above(
        start in prop::collection::vec(0u64..500, 0..300),
        changes in prop::collection::vec((any::<bool>(), 0u64..500), 0..600),
        every in 1..5usize,
    ) {
        let mut worker = flat_worker();
        let mut model = BTreeMap::new();
        let mut owner = 0u64;
        let word = Words(&raw mut owner);
        let change = |worker: &mut Worker, model: &mut BTreeMap<i64, u64>, adds, number: u64| {
            let mut key = scattered(number);
            let at = Words(&raw mut key);
            if adds {
                find_or_insert(worker, word, 0, at).unwrap().set(0, number);
                model.insert(at.get(0) as i64, number);
            } else {
                if let Some(head) = Head::of(word.get(0)) && find_in(worker, head, at).is_some() {
                    remove(worker, head, at);
                }
                model.remove(&(at.get(0) as i64));
            }
        };
        for number in start {
            change(&mut worker, &mut model, true, number);
        }
        let mut changes = changes.into_iter();
        for _ in 0..3 {
            let (mut key, mut last) = (0u64, None);
            while next_of(&mut worker, word.get(0), Words(&raw mut key), last.is_none()) {
                let here = key as i64;
                let expected = match last {
                    None => model.first_key_value(),
                    Some(last) => model.range((Excluded(last), Unbounded)).next(),
                };
                let head = Head::of(word.get(0)).unwrap();
                let value = find_in(&worker, head, Words(&raw mut key)).unwrap().get(0);
                prop_assert_eq!(Some((&here, &value)), expected);
                last = Some(here);
                for (adds, number) in changes.by_ref().take(every) {
                    change(&mut worker, &mut model, adds, number);
                }
            }
            let rest = last.and_then(|last| model.range((Excluded(last), Unbounded)).next());
            prop_assert_eq!(rest, None);
        }
        free(&mut worker, word.take(0));
        prop_assert_eq!(worker.used_bytes(), 0);
    }

    /// The same of texts in their slots, some of which are longer than those.
    #[test]
    fn steps_through_a_table_of_texts_go_to_the_smallest_key_above(
        start in prop::collection::vec(0u64..500, 0..300),
        changes in prop::collection::vec((any::<bool>(), 0u64..500), 0..600),
        every in 1..5usize,
    ) {
        let mut worker = flat_worker_of(Key::Text);
        let mut model = BTreeMap::new();
        let mut owner = 0u64;
        let word = Words(&raw mut owner);
        let change = |worker: &mut Worker, model: &mut BTreeMap<_, u64>, adds, number: u64| {
            let mut key = spelled(worker, number);
            let at = Words(&raw mut key);
            let shown = text::shown(key).to_vec();
            if adds {
                find_or_insert(worker, word, 0, at).unwrap().set(0, number);
                model.insert(shown, number);
            } else {
                if let Some(head) = Head::of(word.get(0)) && find_in(worker, head, at).is_some() {
                    remove(worker, head, at);
                }
                model.remove(&shown);
            }
            text::free(worker, at.take(0));
        };
        for number in start {
            change(&mut worker, &mut model, true, number);
        }
        let mut changes = changes.into_iter();
        for _ in 0..3 {
            let mut key = 0u64;
            let at = Words(&raw mut key);
            let mut last: Option<Vec<u8>> = None;
            while next_of(&mut worker, word.get(0), at, last.is_none()) {
                let expected = match &last {
                    None => model.first_key_value(),
                    Some(last) => model.range((Excluded(last.clone()), Unbounded)).next(),
                };
                let here = text::bytes(at.get(0)).to_vec();
                let value = find_in(&worker, Head::of(word.get(0)).unwrap(), at).unwrap().get(0);
                prop_assert_eq!(Some((&here, &value)), expected);
                last = Some(here);
                for (adds, number) in changes.by_ref().take(every) {
                    change(&mut worker, &mut model, adds, number);
                }
            }
            let rest = last.and_then(|last| model.range((Excluded(last), Unbounded)).next());
            prop_assert_eq!(rest, None);
            text::free(&mut worker, at.take(0));
        }
        let mut seen = Vec::new();
        for_each(word.get(0), |keys, value| {
            seen.push((text::bytes(keys.get(0)).to_vec(), value.get(0)));
            true
        });
        seen.sort_unstable();
        prop_assert!(seen.into_iter().eq(model.clone()));
        let values: Vec<u64> = values(&worker, word.get(0)).iter().map(|v| v.get(0)).collect();
        prop_assert!(values.iter().eq(model.values()));
        free(&mut worker, word.take(0));
        prop_assert_eq!((worker.used_bytes(), worker.counts().texts.alive), (0, 0));
    }

    /// What FOREACH finds, where each step may be followed by changes: the smallest key above.
    #[test]
    fn steps_go_to_the_smallest_key_above(
        start in prop::collection::vec(0i64..3000, 0..300),
        changes in prop::collection::vec((any::<bool>(), 0i64..3000), 0..600),
        every in 1..5usize,
    ) {
        let mut worker = worker(vec![Key::Integer, Key::Text], WordKind::Scalar);
        let mut model = BTreeSet::new();
        let mut owner = 0u64;
        let word = Words(&raw mut owner);
        let change = |worker: &mut Worker, model: &mut BTreeSet<_>, adds, key: i64| {
            let (number, name) = (key / 100, (key % 100).to_string());
            let mut keys = [number as u64, text::make(worker, name.as_bytes()).unwrap()];
            let at = Words(keys.as_mut_ptr());
            if adds {
                find_or_insert(worker, word, 0, at).unwrap();
                model.insert((number, name));
            } else {
                if let Some(head) = Head::of(word.get(0))
                    && find_in(worker, head, at).is_some()
                {
                    remove(worker, head, at);
                }
                model.remove(&(number, name));
            }
            text::free(worker, at.take(1));
        };
        for key in start {
            change(&mut worker, &mut model, true, key);
        }
        let mut changes = changes.into_iter();
        let mut keys = [0, 0];
        for _ in 0..3 {
            let mut last = None;
            while next_of(&mut worker, word.get(0), Words(keys.as_mut_ptr()), last.is_none()) {
                let name = String::from_utf8(text::bytes(keys[1]).to_vec()).unwrap();
                let here = (keys[0] as i64, name);
                let expected = match &last {
                    None => model.first(),
                    Some(last) => model.range((Excluded(last), Unbounded)).next(),
                };
                prop_assert_eq!(Some(&here), expected);
                last = Some(here);
                for (adds, key) in changes.by_ref().take(every) {
                    change(&mut worker, &mut model, adds, key);
                }
            }
            let rest = last.and_then(|last| model.range((Excluded(last), Unbounded)).next());
            prop_assert_eq!(rest, None);
            text::free(&mut worker, Words(keys.as_mut_ptr()).take(1));
        }
        free(&mut worker, word.take(0));
        prop_assert_eq!((worker.used_bytes(), worker.counts().texts.alive), (0, 0));
    }
}

#[test]
fn a_large_order_is_made_in_pieces() {
    let mut worker = worker(vec![Key::Integer], WordKind::Scalar);
    let mut owner = 0u64;
    let word = Words(&raw mut owner);
    let key = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for mut at in (0..50_000).map(key) {
        find_or_insert(&mut worker, word, 0, Words(&raw mut at)).unwrap();
    }
    let head = Head::of(word.get(0)).unwrap();
    let mut pieces = 0;
    while !order::is_ready(head) {
        order::make_some(&mut worker, head, &[Key::Integer]).unwrap();
        pieces += 1;
    }
    assert!(pieces > 20, "{pieces}");
    let (mut at, mut seen, mut before) = (0u64, 0, None);
    while step(&mut worker, word.get(0), Words(&raw mut at), before.is_none()).unwrap() {
        assert!(before < Some(at as i64));
        before = Some(at as i64);
        seen += 1;
    }
    assert_eq!(seen, 50_000);
    free(&mut worker, owner);
    assert_eq!(worker.used_bytes(), 0);
}

#[test]
fn keys_far_apart_take_little_memory() {
    let mut worker = worker(vec![Key::Integer], WordKind::Scalar);
    let mut owner = 0u64;
    for i in 0..90_000u64 {
        let mut at = i * 1_000_003;
        find_or_insert(&mut worker, Words(&raw mut owner), 0, Words(&raw mut at)).unwrap();
    }
    assert!(worker.used_bytes() < 90_000 * 40, "{} bytes", worker.used_bytes());
    for i in 0..90_000u64 {
        let mut at = i * 1_000_003;
        remove(&mut worker, Head::of(owner).unwrap(), Words(&raw mut at));
    }
    assert!(worker.used_bytes() < 5000, "{} bytes", worker.used_bytes());
    free(&mut worker, owner);
    assert_eq!(worker.used_bytes(), 0);
}

#[test]
fn dense_keys_are_dense() {
    let mut worker = worker(vec![Key::Integer], WordKind::Scalar);
    let mut owner = 0u64;
    for key in 1..=100_000u64 {
        let mut at = key;
        find_or_insert(&mut worker, Words(&raw mut owner), 0, Words(&raw mut at)).unwrap();
    }
    assert!(worker.used_bytes() < 100_000 * 12, "{} bytes", worker.used_bytes());
    free(&mut worker, owner);
}

#[test]
fn elements_stay_where_they_are() {
    let mut worker = worker(vec![Key::Integer], WordKind::Scalar);
    let mut owner = 0u64;
    let mut places = Vec::new();
    // From far above down to 0, so that pages move from the list into the directory.
    for key in (0..2000u64).rev().map(|i| i * 7) {
        let mut at = key;
        let place =
            find_or_insert(&mut worker, Words(&raw mut owner), 0, Words(&raw mut at)).unwrap();
        place.set(0, key);
        places.push(place);
    }
    for (place, key) in places.into_iter().zip((0..2000u64).rev().map(|i| i * 7)) {
        assert_eq!(place.get(0), key);
    }
    free(&mut worker, owner);
}

/// The inlined look-up that [`quick`] describes: the value, none, or that an operation is needed.
fn sought_by_code(word: u64, key: u64) -> Result<Option<Words>, ()> {
    let head = address::at(word);
    let at = |offset: i32| offset as usize / 8;
    let first = head.get(at(quick::COLLECTION_FIRST));
    if first == 0 {
        return Err(());
    }
    let (a, f) = (head.get(at(quick::COLLECTION_SEED)), head.get(at(quick::COLLECTION_SEED) + 1));
    let product = u128::from(key ^ a) * u128::from(f);
    let hash = (product >> 64) as u64 ^ product as u64;
    let bits = head.get(at(quick::COLLECTION_BITS)) as u32;
    let number = hash.checked_shr(64 - bits).unwrap_or(0) as usize;
    let chunk = address::at(first).at(number << (quick::CHUNK_SHIFT - 3));
    let tags = chunk.get(0);
    let tag = hash & (quick::TAG_TOP - 1) | quick::TAG_TOP;
    let slot = (0..7).find(|slot| tags >> (8 * slot) & 0xFF == tag);
    match slot.map(|slot| chunk.at(2 * slot + 1)) {
        Some(slot) if slot.get(0) == key => Ok(Some(slot.at(1))),
        None if tags >> quick::TAG_BITS == 0 => Ok(None),
        _ => Err(()),
    }
}

#[test]
fn code_finds_what_the_table_has() {
    let mut worker = flat_worker();
    let mut owner = 0u64;
    let word = Words(&raw mut owner);
    let (mut found, mut missing) = (0, 0);
    for i in 0..40_000u64 {
        let key = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1 << 63;
        let (mut new, old) = (key(i), key(i / 2));
        let at = find_or_insert(&mut worker, word, 0, Words(&raw mut new)).unwrap();
        at.set(0, i);
        if i % 3 == 0 {
            remove(&mut worker, Head::of(owner).unwrap(), Words(&raw mut new));
        }
        for mut key in [new, old, new ^ 1] {
            let known = find_in(&worker, Head::of(owner).unwrap(), Words(&raw mut key));
            if let Ok(sought) = sought_by_code(owner, key) {
                assert_eq!(sought, known, "{i} {key}");
                if sought.is_some() { found += 1 } else { missing += 1 }
            }
        }
    }
    // Most of them, but not while a table grows.
    assert!(found > 40_000 && missing > 25_000, "{found} {missing}");
    free(&mut worker, std::mem::take(&mut owner));
    assert_eq!(worker.used_bytes(), 0);
}

#[test]
fn code_leaves_to_operations_what_is_not_one_flat_table() {
    let mut pinned = worker(vec![Key::Integer], WordKind::Scalar);
    let mut flat = flat_worker();
    for (worker, in_pages) in [(&mut pinned, false), (&mut flat, true)] {
        let mut owner = 0u64;
        for i in 0..100u64 {
            let mut key = if in_pages { i } else { i << 40 };
            find_or_insert(worker, Words(&raw mut owner), 0, Words(&raw mut key)).unwrap();
            assert_eq!(sought_by_code(owner, key), Err(()));
        }
        free(worker, owner);
    }
}
