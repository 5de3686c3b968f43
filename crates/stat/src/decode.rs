//! Reads the files, which may change meanwhile, and may be corrupt.
//!
//! Files are read, not mapped: truncating a mapped file would kill its readers. Every piece of data
//! is read between two readings of a number that shows whether it changed (see
//! [`layout`](crate::layout)).

use crate::histogram::{Distribution, SEQUENCE};
use crate::layout::{
    ENTRY_BYTES, HEADER_BYTES, Header, LOG_HEAD_BYTES, RECORD_BYTES, RECORD_TEXT_BYTES_MAX, Shape,
    SlotKind, WORD_BYTES, live_name, unpack,
};
use crate::log::{KIND_LEN, LogRecord, NUMBER, TEXT, TIME};
use crate::snapshot::Snapshot;
use std::fmt::Display;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of reads of a histogram that changes all the time. Then its counts are taken as they
/// are: each is right at its own time.
const TRIES_MAX: usize = 32;

/// A source of words.
pub(crate) trait Source {
    /// The length in bytes.
    fn bytes(&self) -> io::Result<u64>;

    /// The words from a place on; all reads before come before, and all later ones after.
    fn read(&self, offset_bytes: usize, words: &mut [u64]) -> io::Result<()>;

    fn read_vec(&self, offset_bytes: usize, bytes: usize) -> io::Result<Vec<u64>> {
        let mut words = vec![0; bytes / WORD_BYTES];
        self.read(offset_bytes, &mut words)?;
        Ok(words)
    }
}

impl Source for File {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read(&self, offset_bytes: usize, words: &mut [u64]) -> io::Result<()> {
        let mut bytes = vec![0; words.len() * WORD_BYTES];
        // A system call for each piece keeps their order.
        self.read_exact_at(&mut bytes, offset_bytes as u64)?;
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<WORD_BYTES>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        Ok(())
    }
}

impl Source for [AtomicU64] {
    fn bytes(&self) -> io::Result<u64> {
        Ok((self.len() * WORD_BYTES) as u64)
    }

    fn read(&self, offset_bytes: usize, words: &mut [u64]) -> io::Result<()> {
        let start = offset_bytes / WORD_BYTES;
        let source = self.get(start..start + words.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        for (word, source) in words.iter_mut().zip(source) {
            // Acquire: pairs with the release stores and fences of the writers, and keeps the
            // order of these loads.
            *word = source.load(Ordering::Acquire);
        }
        Ok(())
    }
}

/// Assembles a snapshot from files.
pub(crate) struct Decoder {
    snapshot: Snapshot,
}

impl Decoder {
    pub(crate) fn new(pid: u32) -> Decoder {
        Decoder { snapshot: Snapshot { pid, ..Snapshot::default() } }
    }

    pub(crate) fn problem(&mut self, name: &dyn Display, reason: &dyn Display) {
        self.snapshot.problems.push(format!("{name}: {reason}"));
    }

    /// Adds the contents of a file; errors are recorded as problems.
    pub(crate) fn add<S: Source + ?Sized>(&mut self, name: impl Display, source: &S) {
        if let Err(error) = self.read(source) {
            self.problem(&name, &error);
        }
    }

    pub(crate) fn finish(mut self) -> Snapshot {
        for records in self.snapshot.logs.values_mut() {
            records.sort_by_key(|record| (record.time_ns, record.number));
        }
        self.snapshot
    }

    fn read<S: Source + ?Sized>(&mut self, source: &S) -> io::Result<()> {
        // A file in the making is empty first, then zeros; its magic is written last.
        if source.bytes()? == 0 {
            return Ok(());
        }
        let header = source.read_vec(0, HEADER_BYTES)?;
        if header.iter().all(|&word| word == 0) {
            return Ok(());
        }
        let header = Header::decode(&header, source.bytes()?).map_err(io::Error::other)?;
        if header.pid != self.snapshot.pid {
            return Err(io::Error::other(format!("made by process {}", header.pid)));
        }
        let shape = header.shape;
        let entries_bytes = shape.slots * ENTRY_BYTES;
        let before = source.read_vec(shape.entry_offset(0), entries_bytes)?;
        let data = self.read_data(source, shape, &before)?;
        let after = source.read_vec(shape.entry_offset(0), entries_bytes)?;
        let entries = before.chunks(ENTRY_BYTES / WORD_BYTES);
        let again = after.chunks(ENTRY_BYTES / WORD_BYTES);
        for ((entry, again), data) in entries.zip(again).zip(data) {
            if let (Some(name), Some(data), true) = (live_name(entry), data, entry[0] == again[0]) {
                self.add_slot(name, data);
            }
        }
        Ok(())
    }

    /// The data of each slot that is in use.
    fn read_data<S: Source + ?Sized>(
        &self,
        source: &S,
        shape: Shape,
        entries: &[u64],
    ) -> io::Result<Vec<Option<Data>>> {
        if shape.kind == SlotKind::Counters {
            let values = source.read_vec(shape.data_offset(0), shape.slots * shape.data_bytes)?;
            return Ok(values.into_iter().map(|value| Some(Data::Counter(value))).collect());
        }
        let mut all = Vec::with_capacity(shape.slots);
        for (slot, entry) in entries.chunks(ENTRY_BYTES / WORD_BYTES).enumerate() {
            let start = shape.data_offset(slot);
            all.push(match (live_name(entry), shape.kind) {
                (None, _) => None,
                (_, SlotKind::Log) => Some(Data::Log(read_log(source, start, shape.data_bytes)?)),
                _ => Some(Data::Histogram(read_histogram(source, start, shape.data_bytes)?)),
            });
        }
        Ok(all)
    }

    fn add_slot(&mut self, name: String, data: Data) {
        let Snapshot { counters, histograms, logs, .. } = &mut self.snapshot;
        match data {
            Data::Counter(value) => {
                let sum = counters.entry(name).or_default();
                *sum = sum.wrapping_add(value);
            }
            Data::Histogram(distribution) => {
                histograms.entry(name).or_default().merge(&distribution);
            }
            Data::Log(records) => logs.entry(name).or_default().extend(records),
        }
    }
}

/// The contents of a slot.
enum Data {
    Counter(u64),
    Histogram(Distribution),
    Log(Vec<LogRecord>),
}

fn read_histogram<S: Source + ?Sized>(
    source: &S,
    start: usize,
    bytes: usize,
) -> io::Result<Distribution> {
    let mut sequence = [0];
    let mut tries = 0;
    loop {
        source.read(start + SEQUENCE * WORD_BYTES, &mut sequence)?;
        let before = sequence[0];
        let words = source.read_vec(start, bytes)?;
        source.read(start + SEQUENCE * WORD_BYTES, &mut sequence)?;
        tries += 1;
        if (before == sequence[0] && before.is_multiple_of(2)) || tries == TRIES_MAX {
            return Ok(Distribution::from_words(&words));
        }
    }
}

fn read_log<S: Source + ?Sized>(
    source: &S,
    start: usize,
    bytes: usize,
) -> io::Result<Vec<LogRecord>> {
    let (start, bytes) = (start + LOG_HEAD_BYTES, bytes - LOG_HEAD_BYTES);
    // A piece is copied in any order, so what was read with a number may be older than it: records
    // are those whose number was there before and after they were read.
    let before = source.read_vec(start, bytes)?;
    let records = source.read_vec(start, bytes)?;
    let after = source.read_vec(start, bytes)?;
    let words = RECORD_BYTES / WORD_BYTES;
    let numbers =
        before.chunks(words).zip(after.chunks(words)).map(|it| (it.0[NUMBER], it.1[NUMBER]));
    Ok(records
        .chunks(words)
        .zip(numbers)
        .filter(|(record, (before, after))| {
            record[NUMBER] != 0 && record[NUMBER] == *before && before == after
        })
        .map(|(record, _)| LogRecord {
            number: record[NUMBER],
            time_ns: record[TIME] as i64,
            kind: record[KIND_LEN] as u32,
            text: {
                let len = (record[KIND_LEN] >> 32) as usize;
                unpack(&record[TEXT..], len.min(RECORD_TEXT_BYTES_MAX))
            },
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Registry;
    use crate::registry::tests::words_of;
    use std::cell::Cell;

    /// A file whose words change after `left` readings of one of them.
    struct Changing {
        words: Vec<u64>,
        /// That word, its value until then, and the readings that are left.
        flag: usize,
        meanwhile: u64,
        left: Cell<u32>,
        /// Words that are wrong until then.
        torn: std::ops::Range<usize>,
    }

    impl Source for Changing {
        fn bytes(&self) -> io::Result<u64> {
            Ok((self.words.len() * WORD_BYTES) as u64)
        }

        fn read(&self, offset_bytes: usize, words: &mut [u64]) -> io::Result<()> {
            let start = offset_bytes / WORD_BYTES;
            let is_torn = self.left.get() > 0;
            for (at, word) in (start..).zip(words.iter_mut()) {
                *word = match at {
                    _ if is_torn && at == self.flag => self.meanwhile,
                    _ if is_torn && self.torn.contains(&at) => 77,
                    _ => self.words[at],
                };
            }
            if is_torn && (start..start + words.len()).contains(&self.flag) {
                self.left.set(self.left.get() - 1);
            }
            Ok(())
        }
    }

    fn seen(source: &Changing) -> Snapshot {
        let mut decoder = Decoder::new(std::process::id());
        decoder.add("changing", source);
        decoder.finish()
    }

    /// A histogram whose number is odd is being changed: it is read again until that is over.
    #[test]
    fn a_histogram_is_not_taken_while_its_number_is_odd() {
        let registry = Registry::in_memory();
        let histogram = registry.histogram("a/b/h");
        (0..50).for_each(|_| histogram.record(1000));
        let words = words_of(&registry, SlotKind::Histograms);
        let start = Shape::HISTOGRAMS.data_offset(0) / WORD_BYTES;
        let flag = start + SEQUENCE;
        assert_eq!(words[flag] % 2, 0);
        let torn = start + 1..start + crate::layout::HISTOGRAM_BYTES / WORD_BYTES;
        // Odd all the while, which two equal readings do not make right.
        for left in [0, 1, 3, 4, 6, 30, 60, 90] {
            let source = Changing {
                words: words.clone(),
                flag,
                meanwhile: words[flag] | 1,
                left: Cell::new(left),
                torn: torn.clone(),
            };
            let distribution = &seen(&source).histograms["a/b/h"];
            assert_eq!((distribution.count(), distribution.max()), (50, 1000), "{left}");
        }
        // Another even number: one change began and ended between two readings.
        for left in [1, 2] {
            let meanwhile = words[flag] - 2;
            let left = Cell::new(left);
            let (words, torn) = (words.clone(), torn.clone());
            let source = Changing { words, flag, meanwhile, left, torn };
            assert_eq!(seen(&source).histograms["a/b/h"].count(), 50);
        }
        // One that never ends is taken as it is.
        let left = Cell::new(u32::MAX);
        let source = Changing { meanwhile: words[flag] | 1, words, flag, left, torn };
        assert_ne!(seen(&source).histograms["a/b/h"].count(), 50);
    }

    /// A slot without a name, or whose name changes meanwhile, is left out.
    #[test]
    fn a_slot_is_left_out_while_its_generation_is_odd_or_another() {
        let registry = Registry::in_memory();
        let counter = registry.counter("a/b/c");
        counter.add(5);
        let words = words_of(&registry, SlotKind::Counters);
        let flag = Shape::COUNTERS.entry_offset(0) / WORD_BYTES;
        let whole = |meanwhile: u64, left: u32| Changing {
            words: words.clone(),
            flag,
            meanwhile,
            left: Cell::new(left),
            torn: 0..0,
        };
        let counters = |source: &Changing| {
            let seen = seen(source);
            assert_eq!(seen.problems, Vec::<String>::new());
            seen.counters.into_values().collect::<Vec<u64>>()
        };
        assert_eq!(counters(&whole(0, 0)), [5]);
        for meanwhile in [words[flag] + 1, words[flag] + 2, words[flag] & !0xffff_ffff, 0] {
            // Read twice: before the data and after it.
            for left in [1, 2] {
                let expected: &[u64] = match (meanwhile == words[flag] + 2, left) {
                    (true, 2) => &[5],
                    _ => &[],
                };
                assert_eq!(counters(&whole(meanwhile, left)), expected, "{meanwhile:x} {left}");
            }
        }
    }

    /// A record that is being written has the number 0, and one that was overwritten another.
    #[test]
    fn a_record_is_left_out_while_it_is_written() {
        let registry = Registry::in_memory();
        let log = registry.log("a/b/log", 4);
        (0..4).for_each(|time| log.append(time, 1, "text"));
        let words = words_of(&registry, SlotKind::Log);
        let record = (HEADER_BYTES + LOG_HEAD_BYTES + 2 * RECORD_BYTES) / WORD_BYTES;
        let flag = record + NUMBER;
        assert_eq!(words[flag], 3);
        for (meanwhile, left, expected) in
            [(0, 0, 4), (0, 1, 3), (0, 2, 3), (7, 1, 3), (7, 2, 3), (7, 3, 4), (2, 1, 3)]
        {
            let left = Cell::new(left);
            let (words, torn) = (words.clone(), 0..0);
            let source = Changing { words, flag, meanwhile, left, torn };
            assert_eq!(seen(&source).logs["a/b/log"].len(), expected, "{meanwhile}");
        }
    }
}
