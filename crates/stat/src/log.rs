//! Ring logs: the latest events.

use crate::layout::{LOG_HEAD_BYTES, RECORD_BYTES, RECORD_TEXT_BYTES_MAX, WORD_BYTES, pack};
use crate::slots::Slot;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{Ordering, fence};

/// Words of a record.
pub(crate) const NUMBER: usize = 0;
pub(crate) const TIME: usize = 1;
pub(crate) const KIND_LEN: usize = 2;
pub(crate) const TEXT: usize = 3;

/// One record of a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogRecord {
    /// The number of the record in its log, from 1; never reused.
    pub number: u64,
    /// The time that the writer gave it, in ns.
    pub time_ns: i64,
    /// The kind, defined by the writer.
    pub kind: u32,
    /// The event.
    pub text: String,
}

/// A log with one owner, in a mapped file. The newest record takes the place of the oldest;
/// the numbers of records show readers how many they missed.
///
/// May move to another thread, but is never used by two.
pub struct RingLog {
    slot: Slot,
    _one_writer: PhantomData<Cell<u64>>,
}

impl RingLog {
    pub(crate) fn new(slot: Slot) -> RingLog {
        RingLog { slot, _one_writer: PhantomData }
    }

    /// Appends a record; a text of more than 232 bytes loses its end.
    pub fn append(&self, time_ns: i64, kind: u32, text: &str) {
        let data = self.slot.data();
        let (head, records) = data.split_at(LOG_HEAD_BYTES / WORD_BYTES);
        let appended = head[0].load(Ordering::Relaxed);
        let words = RECORD_BYTES / WORD_BYTES;
        let at = (appended % (records.len() / words) as u64) as usize * words;
        let record = &records[at..at + words];

        let text = &text.as_bytes()[..text.floor_char_boundary(RECORD_TEXT_BYTES_MAX)];
        let mut packed = [0; RECORD_TEXT_BYTES_MAX / WORD_BYTES];
        pack(text, &mut packed);

        record[NUMBER].store(0, Ordering::Relaxed);
        // Release: a reader that sees a change below sees that the number is gone.
        fence(Ordering::Release);
        record[TIME].store(time_ns as u64, Ordering::Relaxed);
        let kind_len = u64::from(kind) | (text.len() as u64) << 32;
        record[KIND_LEN].store(kind_len, Ordering::Relaxed);
        for (word, value) in record[TEXT..].iter().zip(&packed[..text.len().div_ceil(WORD_BYTES)]) {
            word.store(*value, Ordering::Relaxed);
        }
        // Release: a reader that sees the number sees the whole record; then the head.
        record[NUMBER].store(appended + 1, Ordering::Release);
        head[0].store(appended + 1, Ordering::Release);
    }

    /// The number of appended records, those overwritten included.
    pub fn appended(&self) -> u64 {
        self.slot.data()[0].load(Ordering::Relaxed)
    }
}

impl fmt::Debug for RingLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RingLog").field("appended", &self.appended()).finish_non_exhaustive()
    }
}
