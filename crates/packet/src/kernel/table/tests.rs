//! Tables against a list that is searched from end to end.

use tidemill_stdx::rng::Rng;

use super::masks::MASKS_MAX;
use super::spec::{Column, Meaning, TableWriter};
use super::*;

const MS: u64 = 1_000_000;

fn spec(kind: TableKind, when_full: WhenFull, expire_ns: u64) -> TableSpec {
    let column =
        |name: &str, bits| Column { name: name.to_owned(), bits, meaning: Meaning::Number };
    TableSpec {
        name: "t".to_owned(),
        kind,
        key: vec![column("a", 8), column("b", 64), column("c", 3)],
        values: vec![column("n", 16)],
        writer: TableWriter::Kernel,
        size: 12,
        when_full,
        expire_ns,
        expire_by: None,
        report_ns: 0,
    }
}

/// An entry of the list.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    key: [u64; 3],
    mask: [u64; 3],
    priority: u64,
    value: u64,
    queued: u64,
    touched: u64,
    order: u64,
}

impl Known {
    fn fits(&self, key: [u64; 3]) -> bool {
        (0..3).all(|at| (key[at] ^ self.key[at]) & self.mask[at] == 0)
    }
}

fn find(list: &[Known], key: [u64; 3]) -> Option<usize> {
    let fitting = (0..list.len()).filter(|&at| list[at].fits(key));
    fitting.max_by_key(|&at| (list[at].priority, !list[at].order))
}

fn masks(list: &[Known]) -> usize {
    let mut masks: Vec<[u64; 3]> = list.iter().map(|known| known.mask).collect();
    masks.sort_unstable();
    masks.dedup();
    masks.len()
}

fn packed(key: [u64; 3]) -> [u64; 3] {
    // 8 bits, then 64 that do not fit beside them, then 3.
    key
}

fn evict(list: &mut Vec<Known>) {
    for _ in 0..PASSED_MAX {
        if list[0].touched <= list[0].queued {
            break;
        }
        let mut oldest = list.remove(0);
        oldest.queued = oldest.touched;
        list.push(oldest);
    }
    list.remove(0);
}

fn check(kind: TableKind, when_full: WhenFull, expire_ns: u64, seed: u64) {
    let table = Table::new(spec(kind, when_full, expire_ns), Secret::new(seed));
    let (mut rng, mut list, mut now, mut order) = (Rng::new(seed), Vec::<Known>::new(), 0, 0);
    let mut seen = [0; 4];
    for _ in 0..3000 {
        now += rng.below(4) * MS;
        let key = [rng.below(3), rng.below(4) << 62 | rng.below(2), rng.below(2) << 2];
        let found = table.find(&packed(key));
        assert_eq!(
            find(&list, key).map(|at| list[at].value),
            (found != 0).then(|| table.value(found, 0))
        );
        match rng.below(4) {
            0 if found != 0 => {
                let at = find(&list, key).expect("it is there");
                table.delete(found);
                list.remove(at);
                seen[0] += 1;
            }
            1 if found != 0 => {
                let at = find(&list, key).expect("it is there");
                table.refresh(found, now);
                list[at].touched = now;
                seen[1] += 1;
            }
            _ => {
                let mask = match kind {
                    TableKind::Exact => [255, u64::MAX, 7],
                    TableKind::Prefix => [255, u64::MAX, 7 << rng.below(4) & 7],
                    TableKind::Ternary => [rng.below(2) * 255, u64::MAX << rng.below(64), 7],
                };
                let priority = match kind {
                    TableKind::Exact => 0,
                    TableKind::Prefix => mask.iter().map(|word| u64::from(word.count_ones())).sum(),
                    TableKind::Ternary => rng.below(3),
                };
                let value = rng.below(1 << 16);
                for at in 0..3 {
                    table.set_draft(at, key[at as usize]);
                    table.set_draft(3 + at, mask[at as usize]);
                }
                table.set_draft(6, priority);
                table.set_draft(7, value | 1 << 40);
                let inserted = table.insert(now) != 0;
                let left = [key[0] & mask[0], key[1] & mask[1], key[2] & mask[2]];
                let same = list.iter().position(|known| (known.key, known.mask) == (left, mask));
                let mut known =
                    Known { key: left, mask, priority, value, queued: now, touched: now, order };
                let has_room = match same {
                    Some(at) => {
                        known.order = list.remove(at).order;
                        true
                    }
                    None if list.len() == 12 && when_full == WhenFull::Refuse => false,
                    None => {
                        if list.len() == 12 {
                            evict(&mut list);
                            seen[2] += 1;
                        }
                        order += 1;
                        known.order = order;
                        true
                    }
                };
                assert_eq!(inserted, has_room);
                if has_room {
                    list.push(known);
                } else {
                    seen[3] += 1;
                }
            }
        }
        while let Some(entry) = table.expired(now) {
            let key = table.key(entry, 1);
            let tick_ns = age::tick_ns(expire_ns);
            let at = list.iter().position(|known| {
                known.key[1] == key
                    && known.touched + expire_ns <= now
                    && known.value == table.value(entry, 0)
            });
            list.remove(at.expect("its time is over"));
            table.expire(entry);
            assert!(
                list.iter().all(|known| known.touched + expire_ns + tick_ns > now - tick_ns * 4)
            );
        }
        let rows = table.rows().into_iter().map(|row| (row.key, row.mask, row.values));
        let columns = |words: [u64; 3]| words.map(u128::from).to_vec();
        let known =
            list.iter().map(|it| (columns(it.key), columns(it.mask), vec![it.value.into()]));
        assert_eq!(rows.collect::<Vec<_>>(), known.collect::<Vec<_>>());
        assert!(masks(&list) <= MASKS_MAX);
        assert_eq!(table.counts().entries as usize, list.len());
    }
    let counts = table.counts();
    assert_eq!([counts.deleted, counts.evicted, counts.refused], [seen[0], seen[2], seen[3]]);
    assert!(seen[1] > 0 && (counts.expired > 0) == (expire_ns > 0));
}

#[test]
fn tables_are_lists_that_are_searched() {
    for (seed, kind) in
        [TableKind::Exact, TableKind::Prefix, TableKind::Ternary].into_iter().enumerate()
    {
        for (when_full, expire_ns) in
            [(WhenFull::Evict, 0), (WhenFull::Refuse, 0), (WhenFull::Evict, 40 * MS)]
        {
            check(kind, when_full, expire_ns, seed as u64);
        }
    }
}

#[test]
fn there_are_as_many_masks_as_are_looked_up() {
    let mut spec = spec(TableKind::Ternary, WhenFull::Refuse, 0);
    spec.size = 1000;
    let table = Table::new(spec, Secret::new(1));
    let insert = |mask: u64| {
        table.set_draft(4, mask);
        table.insert(0) != 0
    };
    assert!((0..MASKS_MAX as u64).all(&insert));
    assert!(!insert(MASKS_MAX as u64));
    assert!(insert(3));
    assert_eq!((table.counts().entries, table.counts().refused), (64, 1));
}

#[test]
fn a_mask_of_a_prefix_counts_up_to_its_first_zero() {
    let mut spec = spec(TableKind::Prefix, WhenFull::Refuse, 0);
    spec.key = vec![Column { name: "net".to_owned(), bits: 32, meaning: Meaning::Ipv4 }];
    let table = Table::new(spec, Secret::new(3));
    for (mask, left) in [
        (0xFF00_FF00, 0xFF00_0000),
        (0x7FFF_FFFF, 0),
        (u64::MAX, 0xFFFF_FFFF),
        (0xF_FFFF_0000, 0xFFFF_0000),
    ] {
        table.set_draft(0, 0xABCD_1234_5678);
        table.set_draft(1, mask);
        let entry = table.insert(0);
        assert_ne!(entry, 0);
        assert_eq!(table.key(entry, 0), 0x1234_5678 & left, "{mask:x}");
        let row = table.rows().pop().expect("it is there");
        assert_eq!((row.key, row.mask), (vec![0x1234_5678 & left as u128], vec![left as u128]));
        // Bits beyond the column do not count.
        assert_eq!(table.find(&[0x7_1234_5678]), entry);
        table.delete(entry);
        assert_eq!(table.find(&[0x1234_5678]), 0);
    }
}

#[test]
fn keys_are_packed_into_words() {
    let mut spec = spec(TableKind::Exact, WhenFull::Refuse, 0);
    let all = u64::MAX;
    assert_eq!(spec.pack(&[0x1FF, all.into(), 9])[..3], [0xFF, all, 1]);
    assert_eq!(spec.unpack(&[0xFF, all, 1]), [0xFF, all.into(), 1]);
    spec.key.remove(1);
    assert_eq!((spec.pack(&[1, 2])[0], spec.key_words()), (0x201, 1));
    assert_eq!(spec.verify(), None);
    spec.key = vec![Column { name: "wide".to_owned(), bits: 64, meaning: Meaning::Number }; 7];
    assert!(spec.verify().is_some_and(|what| what.contains("384 bits")));
}

#[test]
fn an_address_of_ipv6_takes_two_words() {
    let mut spec = spec(TableKind::Exact, WhenFull::Refuse, 0);
    let address = Column { name: "a".to_owned(), bits: 128, meaning: Meaning::Ipv6 };
    spec.key.insert(1, address.clone());
    spec.values.insert(0, address.clone());
    let wide = 0x2001_0db8_0000_0000_0000_0000_0000_0001;
    let (high, low) = (0x2001_0db8_0000_0000, 1);
    let words = spec.pack(&[7, wide, 9, 5]);
    assert_eq!((words, spec.key_words()), ([7, high, low, 9, 5, 0], 5));
    assert_eq!(spec.unpack(&words), [7, wide, 9, 5]);
    assert_eq!(spec.split_values(&[wide, 4]), [high, low, 4]);
    assert_eq!(spec.join_values([high, low, 4].into_iter()), [wide, 4]);
    assert_eq!((spec.value_masks()[..3].to_vec(), spec.draft_words()), (vec![!0, !0, 0xFFFF], 14));
    assert_eq!(spec.verify(), None);
    spec.key[1].bits = 127;
    assert!(spec.verify().is_some_and(|what| what.contains("128")));
    // It does not share a word with what is before it.
    spec.key = vec![address.clone(), address.clone(), address.clone()];
    assert_eq!((spec.verify(), spec.key_words()), (None, 6));
    spec.values = vec![address; 5];
    assert!(spec.verify().is_some_and(|what| what.contains("8 words")));
}

#[test]
fn prefixes_of_ipv6_have_any_length() {
    // A small table is searched length by length, a large one several lengths at once.
    for size in [200, 100_000] {
        prefixes_of_ipv6(size);
    }
}

fn prefixes_of_ipv6(size: u32) {
    let mut spec = spec(TableKind::Prefix, WhenFull::Refuse, 0);
    spec.key = vec![Column { name: "net".to_owned(), bits: 128, meaning: Meaning::Ipv6 }];
    (spec.size, spec.writer) = (size, TableWriter::Program);
    let table = Table::new(spec, Secret::new(3));
    let mask = |bits: u32| !u128::MAX.checked_shr(bits).unwrap_or(0);
    let address = 0x2001_0db8_ffff_0000_1234_5678_9abc_def1_u128;
    let row = |bits: u32| Row {
        key: vec![address & mask(bits)],
        mask: vec![mask(bits)],
        priority: 0,
        values: vec![bits.into()],
    };
    let all: Vec<Change> = (0..=128).map(|bits| Change::Insert(row(bits))).collect();
    assert_eq!(table.write(&all, 0), Ok(()));
    let halves = |number: u128| [(number >> 64) as u64, number as u64];
    let longest = |number: u128| {
        let entry = table.find(&halves(number));
        (entry != 0).then(|| table.value(entry, 0))
    };
    for bit in 0..128 {
        assert_eq!(longest(address ^ 1 << (127 - bit)), Some(bit));
        assert_eq!(longest(address ^ (u128::MAX >> bit)), Some(bit));
    }
    assert_eq!(longest(address), Some(128));
    for bits in [128, 65, 64, 63, 0] {
        assert_eq!(table.write(&[Change::Delete(row(bits))], 0), Ok(()));
    }
    assert_eq!((longest(address), longest(address ^ 1 << 63)), (Some(127), Some(62)));
    assert_eq!(longest(!address), None);
    let bad = Row { mask: vec![0xFF << 64], key: vec![0], ..row(8) };
    assert_eq!(table.write(&[Change::Insert(bad)], 0), Err(TableError::BadRow(0)));
}

/// An observer of a table knows all of it once there is nothing more to take, whatever has
/// happened meanwhile, and the pending changes never take more room than the table has.
fn follow(kind: TableKind, expire_ns: u64, seed: u64) {
    let mut spec = spec(kind, WhenFull::Evict, expire_ns);
    let mut rng = Rng::new(seed);
    let mut table = Table::new(spec.clone(), Secret::new(seed));
    let mut known: Vec<Row> = Vec::new();
    let take = |table: &Table, known: &mut Vec<Row>| -> bool {
        let same = |row: &Row, other: &Row| (&row.key, &row.mask) == (&other.key, &other.mask);
        match table.take_change() {
            Some(Delta::Removed(row)) => {
                let at = known.iter().position(|other| *other == row).expect("it was known");
                known.remove(at);
            }
            Some(Delta::Inserted(row)) => {
                let before = known.iter().position(|other| same(other, &row));
                before.into_iter().for_each(|at| assert_ne!(known.remove(at), row));
                known.push(row);
            }
            None => return false,
        }
        true
    };
    let (mut now, mut came, mut compared) = (0, 0, 0);
    for step in 0..30_000 {
        now += rng.below(MS);
        if step % 5000 == 0 {
            // It takes the place of another one, of which something is known.
            spec.size = 4 + rng.below(12) as u32;
            table = Table::new(spec.clone(), Secret::new(seed));
            table.observe(known.clone());
        }
        let key = [rng.below(4), rng.below(2), rng.below(8)];
        let found = table.find(&table.spec().pack(&key.map(u128::from))[..3]);
        match rng.below(6) {
            0 if found != 0 => table.delete(found),
            1 if found != 0 => table.set_value(found, 0, rng.below(1 << 16)),
            2 => came += usize::from(take(&table, &mut known)),
            _ => {
                let mask = match kind {
                    TableKind::Exact | TableKind::Prefix => 7,
                    TableKind::Ternary => 7 << rng.below(3) & 7,
                };
                let words = [key[0], key[1], key[2], 255, u64::MAX, mask];
                for (at, word) in words.into_iter().enumerate() {
                    table.set_draft(at as u32, word);
                }
                table.set_draft(6, rng.below(3));
                table.set_draft(7, rng.below(3));
                table.insert(now);
            }
        }
        while let Some(entry) = table.expired(now) {
            table.expire(entry);
        }
        assert!(table.waiting() <= 2 * 16);
        if rng.below(50) == 0 {
            table.report();
            while take(&table, &mut known) {
                came += 1;
            }
            let sorted = |mut rows: Vec<Row>| {
                rows.sort_by(|one, other| (&one.key, &one.mask).cmp(&(&other.key, &other.mask)));
                rows
            };
            assert_eq!(sorted(known.clone()), sorted(table.rows()));
            assert!(!table.has_changes());
            compared += 1;
        }
    }
    assert!(came > 1000 && compared > 100);
}

#[test]
fn whoever_follows_a_table_knows_what_is_there() {
    for (seed, kind) in
        [TableKind::Exact, TableKind::Prefix, TableKind::Ternary].into_iter().enumerate()
    {
        for expire_ns in [0, 40 * MS] {
            follow(kind, expire_ns, seed as u64);
        }
    }
}

#[test]
fn entries_may_have_a_time_of_their_own() {
    const S: u64 = 1_000_000_000;
    let mut spec = spec(TableKind::Exact, WhenFull::Refuse, S);
    (spec.size, spec.expire_by) = (400, Some(0));
    let (table, mut rng) = (Table::new(spec, Secret::new(3)), Rng::new(3));
    // By entry: its seconds, and when they are over.
    let mut known = vec![None; 401];
    let end = |now: u64, seconds: u64| if seconds == 0 { u64::MAX } else { now + seconds * S };
    let mut gone = 0;
    for step in 0..4000_u64 {
        let now = 5 * S + step * S / 8;
        let seconds = *rng.pick(&[0, 1, 5, 60, 600]).expect("some");
        match rng.below(3) {
            0 => {
                table.set_draft(1, step);
                table.set_draft(7, seconds);
                let entry = table.insert(now);
                if entry != 0 {
                    known[entry as usize] = Some((seconds, end(now, seconds), now));
                }
            }
            _ => {
                let entry = 1 + rng.below(400) as usize;
                if let Some((own, over, changed)) = &mut known[entry] {
                    // A longer time, or a shorter one.
                    if rng.below(4) == 0 {
                        table.set_value(entry as u32, 0, seconds);
                        *own = seconds;
                    }
                    table.refresh(entry as u32, now);
                    (*over, *changed) = (end(now, *own), now);
                }
            }
        }
        while let Some(entry) = table.expired(now) {
            let (_, over, _) = known[entry as usize].take().expect("it is there");
            assert!(over <= now, "{step}: {over} {now}");
            table.expire(entry);
            gone += 1;
        }
        let late = |(_, over, changed): &(u64, u64, u64)| {
            let seen = (changed + age::LOOK_NS).max(*over);
            *over != u64::MAX && seen + 2 * age::DEADLINE_TICK_NS < now
        };
        assert!(known.iter().flatten().all(|entry| !late(entry)), "{step}");
    }
    assert!(gone > 200 && known.iter().flatten().any(|entry| entry.0 == 0), "{gone}");
}
