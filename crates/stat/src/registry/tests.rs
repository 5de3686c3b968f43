use super::*;
use crate::layout::{FILE_BYTES_MAX, HEADER_BYTES, HISTOGRAM_BYTES, Header, SlotKind};

use proptest::prelude::*;
use std::fs;
use std::fs::File;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// A folder of its own for a test, removed at its end.
struct TempDir(PathBuf);

impl TempDir {
    fn new() -> TempDir {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("tidemill-test-{}-{number}", std::process::id()));
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        TempDir(path)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The words of the first file of a kind.
pub(crate) fn words_of(registry: &Registry, kind: SlotKind) -> Vec<u64> {
    let state = registry.0.state();
    let mut chunks = state.chunks.iter().map(|slots| &slots.chunk);
    let chunk = chunks.find(|chunk| chunk.shape().kind == kind).unwrap();
    chunk.words().iter().map(|word| u64::from_le(word.load(Ordering::Relaxed))).collect()
}

fn own_pid() -> u32 {
    std::process::id()
}

#[test]
fn another_process_sees_what_is_counted() {
    let base = TempDir::new();
    let registry = Registry::open_in(&base.0);
    assert_eq!(registry.problem(), None);
    let tx = registry.counter("link/a->b/tx_packets");
    let depth = registry.counter("queue/x/depth");
    let latency = registry.histogram("app/x/latency_ns");
    let log = registry.log("log/main/events", 4);
    for i in 0..100 {
        tx.add(3);
        latency.record(i);
        log.append(1000 + i as i64, 7, &format!("turn {i}"));
    }
    depth.set(5);
    let seen = Snapshot::open_in(&base.0, own_pid()).unwrap();
    assert_eq!(seen.problems, Vec::<String>::new());
    assert_eq!(seen, registry.snapshot());
    assert_eq!(
        (seen.counter("link/a->b/tx_packets"), seen.counter("queue/x/depth")),
        (Some(300), Some(5))
    );
    assert_eq!((tx.get(), seen.counters.len()), (300, 2));
    let distribution = &seen.histograms["app/x/latency_ns"];
    assert_eq!((distribution.count(), distribution.sum(), distribution.max()), (100, 4950, 99));
    let texts: Vec<&str> = seen.logs["log/main/events"].iter().map(|r| &*r.text).collect();
    assert_eq!(texts, ["turn 96", "turn 97", "turn 98", "turn 99"]);
    let last = seen.logs["log/main/events"].last().unwrap();
    assert_eq!((last.number, last.time_ns, last.kind), (100, 1099, 7));
    assert_eq!(place::processes(&base.0), [own_pid()]);
}

#[test]
fn what_is_dropped_disappears_and_its_place_is_used_again() {
    let base = TempDir::new();
    let registry = Registry::open_in(&base.0);
    let keep = registry.counter("keep/0/n");
    for round in 0..3 {
        let many: Vec<Counter> =
            (0..1000).map(|i| registry.counter(&format!("app/{round}-{i}/n"))).collect();
        many.iter().zip(1..).for_each(|(counter, n)| counter.add(n));
        let seen = Snapshot::open_in(&base.0, own_pid()).unwrap();
        assert_eq!(seen.counters.len(), 1001);
        assert_eq!(seen.counter(&format!("app/{round}-999/n")), Some(1000));
    }
    keep.add(1);
    drop(registry.log("log/gone/events", 10));
    let seen = Snapshot::open_in(&base.0, own_pid()).unwrap();
    assert_eq!(seen.counters.into_iter().collect::<Vec<_>>(), [("keep/0/n".to_owned(), 1)]);
    assert!(seen.logs.is_empty());
    let directory = registry.directory().unwrap().to_owned();
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
    drop((keep, registry));
    assert!(!directory.exists());
}

#[test]
fn things_of_one_name_are_put_together() {
    let registry = Registry::in_memory();
    let (a, b) = (registry.counter("loop/turns/n"), registry.counter("loop/turns/n"));
    let (h, i) = (registry.histogram("loop/turns/ns"), registry.histogram("loop/turns/ns"));
    a.add(1);
    b.add(2);
    h.record(10);
    i.record(1 << 40);
    let seen = registry.snapshot();
    assert_eq!(seen.counter("loop/turns/n"), Some(3));
    let both = &seen.histograms["loop/turns/ns"];
    assert_eq!((both.count(), both.max(), both.sum()), (2, 1 << 40, (1 << 40) + 10));
}

#[test]
fn two_registries_of_one_process_do_not_meet() {
    let base = TempDir::new();
    let (one, two) = (Registry::open_in(&base.0), Registry::open_in(&base.0));
    let (a, b) = (one.counter("a/a/a"), two.counter("b/b/b"));
    a.add(1);
    b.add(2);
    let names = |snapshot: Snapshot| snapshot.counters.into_keys().collect::<Vec<_>>();
    assert_eq!(names(Snapshot::open_in(&base.0, own_pid()).unwrap()), ["a/a/a", "b/b/b"]);
    assert_eq!(names(two.snapshot()), ["b/b/b"]);
    drop((b, two));
    assert_eq!(names(Snapshot::open_in(&base.0, own_pid()).unwrap()), ["a/a/a"]);
}

#[test]
fn without_a_folder_it_counts_in_memory_and_says_why() {
    let base = TempDir::new();
    let file = base.0.join("file");
    fs::write(&file, "").unwrap();
    let registry = Registry::open_in(&file);
    assert!(registry.problem().unwrap().contains("file"), "{:?}", registry.problem());
    let counter = registry.counter("a/b/c");
    counter.add(7);
    assert_eq!(registry.snapshot().counter("a/b/c"), Some(7));
    assert_eq!(registry.directory(), None);

    // The folder is removed while the registry uses it.
    let registry = Registry::open_in(&base.0);
    fs::remove_dir(registry.directory().unwrap()).unwrap();
    let counter = registry.counter("a/b/c");
    counter.add(8);
    assert_eq!(registry.snapshot().counter("a/b/c"), Some(8));
    assert!(registry.problem().is_some());
}

#[test]
fn folders_that_others_may_write_to_are_refused() {
    let base = TempDir::new();
    let open = base.0.join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(place::create_private(&open).is_err());
    let link = base.0.join("link");
    std::os::unix::fs::symlink(&base.0, &link).unwrap();
    assert!(place::create_private(&link).is_err());
    assert!(place::create_private(&base.0).is_ok());
}

/// Writes a file as process `pid`, started at `start_ticks`, would have left it.
fn leave_file(base: &Path, pid: u32, start_ticks: u64) -> PathBuf {
    let directory = base.join(pid.to_string());
    fs::create_dir_all(&directory).unwrap();
    let header = Header { pid, start_ticks, shape: Shape::COUNTERS };
    let bytes: Vec<u8> = header.encode().into_iter().flat_map(u64::to_le_bytes).collect();
    let path = directory.join("counters.0");
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn files_of_dead_processes_are_removed() {
    let base = TempDir::new();
    // Above the greatest process number that Linux allows.
    let dead = leave_file(&base.0, 5_000_000, 1);
    let number_again = leave_file(&base.0, 1, u64::MAX);
    let own_number = leave_file(&base.0, own_pid(), 1);
    // Process 1 is always alive.
    let alive = base.0.join("1x");
    fs::create_dir(&alive).unwrap();
    let stranger = base.0.join("notes.txt");
    fs::write(&stranger, "").unwrap();
    let registry = Registry::open_in(&base.0);
    assert!(!dead.parent().unwrap().exists());
    assert!(!number_again.parent().unwrap().exists());
    assert!(!own_number.exists());
    assert!(alive.exists() && stranger.exists());
    let counter = registry.counter("a/b/c");
    // The files of the living stay.
    place::clean(&base.0);
    assert_eq!(Snapshot::open_in(&base.0, own_pid()).unwrap().counter("a/b/c"), Some(0));
    drop(counter);
    let living = leave_file(&base.0, 1, place::start_ticks(1).unwrap());
    place::clean(&base.0);
    assert!(living.exists());
}

#[test]
fn a_process_without_files_is_an_error() {
    let base = TempDir::new();
    let error = Snapshot::open_in(&base.0, 1).unwrap_err();
    assert_eq!(error.to_string(), "process 1 has no counters here");
}

#[test]
fn hostile_files_are_problems_not_panics() {
    let base = TempDir::new();
    let directory = base.0.join("1");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("counters.0"), b"").unwrap();
    fs::write(directory.join("counters.1"), [0xFF; 4096]).unwrap();
    fs::create_dir(directory.join("counters.2")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", directory.join("counters.3")).unwrap();
    let huge = File::create(directory.join("log.0")).unwrap();
    let header = Header { pid: 1, start_ticks: 0, shape: Shape::log(usize::MAX) };
    let bytes: Vec<u8> = header.encode().into_iter().flat_map(u64::to_le_bytes).collect();
    std::os::unix::fs::FileExt::write_all_at(&huge, &bytes, 0).unwrap();
    huge.set_len(FILE_BYTES_MAX + 8).unwrap();
    leave_file(&base.0, 1, 0);
    fs::rename(directory.join("counters.0"), directory.join("counters.4")).unwrap();
    fs::write(directory.join("control"), "not ours").unwrap();
    let seen = Snapshot::open_in(&base.0, 1).unwrap();
    assert_eq!(seen.problems.len(), 5, "{:#?}", seen.problems);
    assert!(seen.counters.is_empty());
}

proptest! {
    #[test]
    fn damaged_files_are_read_without_panic(
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u64>()), 1..40),
        cut in 0usize..5000,
    ) {
        let registry = Registry::in_memory();
        let (counter, histogram) = (registry.counter("a/b/c"), registry.histogram("a/b/h"));
        let log = registry.log("a/b/log", 5);
        for i in 0..9u64 {
            counter.add(i);
            histogram.record(i << i);
            log.append(0, 0, "text");
        }
        let chunks: Vec<Arc<Chunk>> =
            registry.0.state().chunks.iter().map(|slots| slots.chunk.clone()).collect();
        for chunk in chunks {
            let words = chunk.words();
            for (place, value) in &damage {
                // Mostly small values, which are more likely to be taken for lengths.
                let value = if value % 2 == 0 { *value } else { value % 300 };
                words[place.index(words.len())].store(value, Ordering::Relaxed);
            }
            let mut decoder = Decoder::new(own_pid());
            decoder.add("whole", words);
            decoder.add("cut", &words[..words.len() - cut.min(words.len())]);
            let seen = decoder.finish();
            for distribution in seen.histograms.values() {
                let p99 = distribution.quantile(0.99);
                prop_assert!(p99 <= distribution.max());
            }
        }
    }
}

#[test]
fn histograms_and_logs_are_whole_while_they_are_written() {
    let base = TempDir::new();
    let registry = Registry::open_in(&base.0);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let (histogram, log) = (registry.histogram("a/b/h"), registry.log("a/b/log", 16));
        let _end = SetOnDrop(&stop);
        let stop = &stop;
        scope.spawn(move || {
            let mut i = 0u64;
            while !stop.load(Ordering::Relaxed) {
                histogram.record(1000);
                let letter = char::from(b'a' + (i % 26) as u8);
                log.append(i as i64, (i % 26) as u32, &letter.to_string().repeat(200));
                i += 1;
            }
        });
        let mut values_seen = 0;
        while values_seen < 300 {
            for seen in [Snapshot::open_in(&base.0, own_pid()).unwrap(), registry.snapshot()] {
                assert_eq!(seen.problems, Vec::<String>::new());
                let distribution = &seen.histograms["a/b/h"];
                values_seen += u64::from(distribution.count() > 0);
                // 1000 is in the bucket 960..=1023: the bound of the sum if it was not in step.
                assert_eq!(distribution.max(), if distribution.count() == 0 { 0 } else { 1000 });
                assert!(
                    distribution.mean() == 0.0 || (960.0..=1023.0).contains(&distribution.mean())
                );
                for record in &seen.logs["a/b/log"] {
                    let letter = char::from(b'a' + record.kind as u8);
                    assert_eq!(record.text, letter.to_string().repeat(200));
                    assert_eq!(record.number, record.time_ns as u64 + 1);
                }
            }
        }
    });
}

/// Ends other threads of a test however it ends.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn names_come_and_go_while_they_are_read() {
    let registry = Registry::in_memory();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let (writer, stop) = (registry.clone(), &stop);
        scope.spawn(move || {
            // Names differ from all others that are alive, and in length.
            let mut alive = std::collections::VecDeque::new();
            let mut i = 0u64;
            while !stop.load(Ordering::Relaxed) {
                let number = i % 1000;
                let counter = writer.counter(&name_of(number));
                counter.set(number);
                alive.push_back(counter);
                if alive.len() > 100 {
                    alive.pop_front();
                }
                i += 1;
            }
        });
        let (mut names, mut changes, mut last) = (0, 0, None);
        while names < 20_000 || changes < 1000 {
            let seen = registry.snapshot().counters;
            for (name, value) in &seen {
                let number: u64 = name.split('/').nth(1).unwrap().parse().unwrap();
                assert_eq!(*name, name_of(number));
                assert!(*value == number || *value == 0, "{name} has {value}");
            }
            names += seen.len();
            changes += u64::from(last.is_some_and(|last| last != seen));
            last = Some(seen);
        }
        stop.store(true, Ordering::Relaxed);
    });
}

fn name_of(number: u64) -> String {
    format!("app/{number}/{}", "x".repeat(number as usize % 100))
}

#[test]
fn quantiles_are_those_of_the_values_within_an_eighth() {
    let registry = Registry::in_memory();
    let histogram = registry.histogram("a/b/h");
    let mut values: Vec<u64> = (0..1000u64).map(|i| i * i * 37 % 1_000_003).collect();
    values.iter().for_each(|&value| histogram.record(value));
    values.sort_unstable();
    let seen = registry.snapshot().histograms["a/b/h"].clone();
    for q in [0.0f64, 0.01, 0.25, 0.5, 0.9, 0.99, 1.0] {
        let exact = values[((q * 1000.0).ceil().max(1.0)) as usize - 1];
        let found = seen.quantile(q);
        assert!(exact <= found && found <= exact + exact / 8, "{q}: {exact} {found}");
    }
    assert_eq!(seen.quantile(2.0), *values.last().unwrap());
    assert_eq!(seen.buckets().map(|(_, _, count)| count).sum::<u64>(), 1000);
    assert_eq!(seen.sum(), values.iter().map(|&v| u128::from(v)).sum());
    assert_eq!((HEADER_BYTES, HISTOGRAM_BYTES), (64, 4096));
}

#[test]
fn counters_of_a_prefix_are_kept_when_they_are_dropped() {
    let registry = Registry::keeping("border/");
    let kept = registry.counter("border/a/seen");
    let other = registry.counter("app/a/seen");
    kept.add(3);
    other.add(3);
    drop((kept, other));
    let again = registry.counter("border/a/seen");
    again.add(4);
    let own = || registry.snapshot().counters;
    assert_eq!(own(), [("border/a/seen".to_owned(), 7)].into());
    drop(again);
    assert_eq!(own(), [("border/a/seen".to_owned(), 7)].into());
    let plain = Registry::in_memory();
    plain.counter("border/a/seen").add(1);
    assert_eq!(plain.snapshot().counters, [].into());
}

#[test]
fn what_is_held_stays_when_its_owner_drops_it() {
    for registry in [Registry::in_memory(), Registry::keeping("node/")] {
        let (gone, stays) = (registry.counter("node/gone"), registry.counter("stays"));
        gone.add(3);
        stays.add(4);
        let held = [registry.hold(), registry.hold()];
        drop(gone);
        let again = registry.counter("again");
        again.add(5);
        let counts = |registry: &Registry| registry.snapshot().counters;
        let of = |name: &str| counts(&registry).get(name).copied();
        let [one, other] = held;
        drop(one);
        assert_eq!((of("node/gone"), of("stays"), of("again")), (Some(3), Some(4), Some(5)));
        drop(other);
        let keeps = registry.0.state().keeps.is_some();
        assert_eq!((of("node/gone"), of("again")), (keeps.then_some(3), Some(5)));
    }
}

#[test]
fn counters_are_those_of_the_snapshot() {
    let registry = Registry::keeping("border/");
    let [long, short] = ["border/".to_owned() + &"x".repeat(300), "border/a/b".to_owned()];
    let counters = [long.as_str(), &short, "border/a/b", "bord", "borders", "node/border/"];
    let counters: Vec<_> = counters.map(|name| registry.counter(name)).into();
    (1..).zip(&counters).for_each(|(count, counter)| counter.set(count));
    registry.counter("border/gone").set(7);
    registry.counter("gone").set(8);
    let histogram = registry.histogram("border/times");
    histogram.record(1);
    for prefix in ["", "b", "border/", "border/a/b", "none"] {
        let mut expected = registry.snapshot().counters;
        expected.retain(|name, _| name.starts_with(prefix));
        assert_eq!(registry.counters(prefix), expected, "{prefix:?}");
    }
    assert_eq!(registry.counters("border/")["border/a/b"], 5);
}
