//! The format of the files.
//!
//! A file holds slots of one kind. Everything is 64-bit words, little-endian:
//!
//! ```text
//! byte 0   magic "TIDEMILL"
//!      8   version (u32), kind (u32): 1 counters, 2 histograms, 3 a log
//!     16   process id (u32), number of slots (u32)
//!     24   start time of the process, in clock ticks after boot (field 22 of /proc/PID/stat)
//!     32   bytes of data per slot (u64)
//!     40   zeros
//!     64   the data of each slot
//!      .   the entry of each slot, 256 bytes:
//!            generation (u32), length of the name in bytes (u32), name (248 bytes)
//! ```
//!
//! The data of a
//!
//! * counter is its value;
//! * histogram is 4096 bytes: a sequence number, odd while it is being changed; the sum of all
//!   values; the greatest; 13 zeros; and the counts of 496 buckets, see [`bucket_of`];
//! * log is the number of records ever appended, 7 zeros, and a ring of records of 256 bytes:
//!   its number counted from 1 (0 while it is being written), time in ns, kind (u32), length of
//!   the text in bytes (u32), text (232 bytes).
//!
//! **Slots come and go while others read.** The generation of a slot is even and not 0 while it is
//! in use. Changing the name makes it odd first and even again last, so a reader that finds the
//! same even generation before and after reading the data has read the data of that name.
//!
//! Files never grow: when one is full there is another, `counters.0`, `counters.1` and so on.

/// The first 8 bytes of each file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"TIDEMILL");
/// The version of the format.
pub const VERSION: u32 = 1;
/// Bytes before the first slot.
pub const HEADER_BYTES: usize = 64;
/// Bytes of a slot's entry.
pub const ENTRY_BYTES: usize = 256;
/// The longest name in bytes; longer ones lose their middle.
pub const NAME_BYTES_MAX: usize = ENTRY_BYTES - 8;
/// Bytes of a histogram's data.
pub const HISTOGRAM_BYTES: usize = 4096;
/// Bytes of a log's data before its records.
pub const LOG_HEAD_BYTES: usize = 64;
/// Bytes of a record of a log.
pub const RECORD_BYTES: usize = 256;
/// The longest text of a record in bytes.
pub const RECORD_TEXT_BYTES_MAX: usize = RECORD_BYTES - 24;
/// Readers refuse larger files.
pub const FILE_BYTES_MAX: u64 = 64 << 20;
/// Bytes of a word.
pub const WORD_BYTES: usize = 8;

/// The number of buckets of a histogram.
pub const BUCKET_COUNT: usize = 496;
/// The word of a histogram's data where its buckets start.
pub(crate) const BUCKETS_WORD: usize = HISTOGRAM_BYTES / WORD_BYTES - BUCKET_COUNT;

/// log2 of the buckets per power of two.
const BUCKETS_BITS: u32 = 3;

/// The bucket of a value: exact below 8, then 8 buckets for each power of two, so that a bucket
/// is at most 1/8 wider than its lowest value.
#[inline]
pub fn bucket_of(value: u64) -> usize {
    match value.checked_ilog2() {
        Some(power @ BUCKETS_BITS..) => {
            let within = value >> (power - BUCKETS_BITS) & ((1 << BUCKETS_BITS) - 1);
            (((power - BUCKETS_BITS + 1) << BUCKETS_BITS) as u64 + within) as usize
        }
        _ => value as usize,
    }
}

/// The lowest and the highest value of a bucket.
///
/// # Panics
/// From bucket [`BUCKET_COUNT`] on.
pub fn bucket_bounds(bucket: usize) -> (u64, u64) {
    assert!(bucket < BUCKET_COUNT, "no bucket {bucket}");
    let (group, within) = (bucket as u32 >> BUCKETS_BITS, bucket as u64 & 7);
    let Some(shift) = group.checked_sub(1) else { return (within, within) };
    let low = (8 + within) << shift;
    (low, low + ((1 << shift) - 1))
}

/// The kind of the slots of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotKind {
    /// 64-bit counters.
    Counters,
    /// Log-bucket histograms.
    Histograms,
    /// A ring log.
    Log,
}

impl SlotKind {
    /// All kinds.
    pub const ALL: [SlotKind; 3] = [SlotKind::Counters, SlotKind::Histograms, SlotKind::Log];

    /// The number in the header.
    pub fn number(self) -> u32 {
        match self {
            SlotKind::Counters => 1,
            SlotKind::Histograms => 2,
            SlotKind::Log => 3,
        }
    }

    /// The start of the name of such files.
    pub fn file_stem(self) -> &'static str {
        match self {
            SlotKind::Counters => "counters",
            SlotKind::Histograms => "histograms",
            SlotKind::Log => "log",
        }
    }
}

/// The shape of a file: its header without the owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// The kind of its slots.
    pub kind: SlotKind,
    /// The number of slots.
    pub slots: usize,
    /// Bytes of data per slot.
    pub data_bytes: usize,
}

impl Shape {
    /// A file of counters.
    pub const COUNTERS: Shape =
        Shape { kind: SlotKind::Counters, slots: 128, data_bytes: WORD_BYTES };
    /// A file of histograms.
    pub const HISTOGRAMS: Shape =
        Shape { kind: SlotKind::Histograms, slots: 8, data_bytes: HISTOGRAM_BYTES };

    /// A file with a log that keeps `records` records, at least one.
    pub fn log(records: usize) -> Shape {
        let records_max = (FILE_BYTES_MAX as usize - 4096) / RECORD_BYTES;
        let records = records.clamp(1, records_max);
        let data_bytes = LOG_HEAD_BYTES + records * RECORD_BYTES;
        Shape { kind: SlotKind::Log, slots: 1, data_bytes }
    }

    /// The length of the file.
    pub fn file_bytes(self) -> usize {
        HEADER_BYTES + self.slots * (self.data_bytes + ENTRY_BYTES)
    }

    /// The offset of the data of a slot.
    pub(crate) fn data_offset(self, slot: usize) -> usize {
        HEADER_BYTES + slot * self.data_bytes
    }

    /// The offset of the entry of a slot.
    pub(crate) fn entry_offset(self, slot: usize) -> usize {
        self.data_offset(self.slots) + slot * ENTRY_BYTES
    }
}

/// The first 64 bytes of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// The process whose file it is.
    pub pid: u32,
    /// When that process started, in clock ticks after boot.
    pub start_ticks: u64,
    /// The contents of the file.
    pub shape: Shape,
}

impl Header {
    /// The header as words.
    pub fn encode(&self) -> [u64; HEADER_BYTES / WORD_BYTES] {
        let Header { pid, start_ticks, shape } = *self;
        let kind = u64::from(shape.kind.number());
        [
            MAGIC,
            u64::from(VERSION) | kind << 32,
            u64::from(pid) | (shape.slots as u64) << 32,
            start_ticks,
            shape.data_bytes as u64,
            0,
            0,
            0,
        ]
    }

    /// Reads a header of a file of `file_bytes` bytes and checks that its shape fits it.
    ///
    /// # Errors
    /// The error in it.
    pub fn decode(words: &[u64], file_bytes: u64) -> Result<Header, &'static str> {
        let &[magic, version_kind, pid_slots, start_ticks, data_bytes, ..] = words else {
            return Err("shorter than a header");
        };
        if magic != MAGIC {
            return Err("not a file of counters");
        }
        if version_kind as u32 != VERSION {
            return Err("of another version");
        }
        if file_bytes > FILE_BYTES_MAX {
            return Err("too large");
        }
        let number = (version_kind >> 32) as u32;
        let kind = SlotKind::ALL.into_iter().find(|kind| kind.number() == number);
        let kind = kind.ok_or("of an unknown kind")?;
        let slots = pid_slots >> 32;
        let fits = |data_bytes: u64| match kind {
            SlotKind::Counters => data_bytes == WORD_BYTES as u64,
            SlotKind::Histograms => data_bytes == HISTOGRAM_BYTES as u64,
            SlotKind::Log => {
                slots == 1
                    && data_bytes > LOG_HEAD_BYTES as u64
                    && (data_bytes - LOG_HEAD_BYTES as u64).is_multiple_of(RECORD_BYTES as u64)
            }
        };
        // All at most 2^32 or so, hence no overflow below.
        if data_bytes > FILE_BYTES_MAX || slots > FILE_BYTES_MAX || !fits(data_bytes) {
            return Err("of a shape that does not fit its kind");
        }
        if HEADER_BYTES as u64 + slots * (data_bytes + ENTRY_BYTES as u64) != file_bytes {
            return Err("of a length that does not fit its header");
        }
        let shape = Shape { kind, slots: slots as usize, data_bytes: data_bytes as usize };
        Ok(Header { pid: pid_slots as u32, start_ticks, shape })
    }
}

/// Words of a name, its length in the first word's upper half; the lower half, the generation, is
/// 0. A name that is too long loses its middle.
pub(crate) fn encode_name(name: &str) -> [u64; ENTRY_BYTES / WORD_BYTES] {
    let mut bytes = [0; NAME_BYTES_MAX];
    let len = if name.len() <= NAME_BYTES_MAX {
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        name.len()
    } else {
        let half = (NAME_BYTES_MAX - 3) / 2;
        let start = &name[..name.floor_char_boundary(half)];
        let end = &name[name.ceil_char_boundary(name.len() - half)..];
        let short = format!("{start}...{end}");
        bytes[..short.len()].copy_from_slice(short.as_bytes());
        short.len()
    };
    let mut words = [0; ENTRY_BYTES / WORD_BYTES];
    words[0] = (len as u64) << 32;
    pack(&bytes, &mut words[1..]);
    words
}

/// The name of an entry that is in use.
pub(crate) fn live_name(entry: &[u64]) -> Option<String> {
    let (generation, len) = (entry[0] as u32, (entry[0] >> 32) as usize);
    let live = generation != 0 && generation % 2 == 0 && len <= NAME_BYTES_MAX;
    live.then(|| unpack(&entry[1..], len))
}

/// Packs bytes into words, zeros after them.
pub(crate) fn pack(bytes: &[u8], words: &mut [u64]) {
    for (word, chunk) in words.iter_mut().zip(bytes.chunks(WORD_BYTES)) {
        let mut padded = [0; WORD_BYTES];
        padded[..chunk.len()].copy_from_slice(chunk);
        *word = u64::from_le_bytes(padded);
    }
}

/// The first `len` bytes of words as text that is safe to print; fewer if there are fewer.
pub(crate) fn unpack(words: &[u64], len: usize) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).take(len).collect();
    let text = String::from_utf8_lossy(&bytes);
    // Names are printed on terminals, which control characters would steer.
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_follow_each_other_without_gap() {
        let mut expected = 0;
        for bucket in 0..BUCKET_COUNT {
            let (low, high) = bucket_bounds(bucket);
            assert_eq!(low, expected);
            assert_eq!((bucket_of(low), bucket_of(high)), (bucket, bucket));
            assert!(high - low <= low / 8);
            expected = high.wrapping_add(1);
        }
        assert_eq!(expected, 0, "the last bucket ends with u64::MAX");
    }

    #[test]
    fn headers_come_back() {
        for shape in [Shape::COUNTERS, Shape::HISTOGRAMS, Shape::log(0), Shape::log(100)] {
            let header = Header { pid: 77, start_ticks: 123_456, shape };
            let file_bytes = shape.file_bytes() as u64;
            assert_eq!(Header::decode(&header.encode(), file_bytes), Ok(header));
            assert!(Header::decode(&header.encode(), file_bytes - 8).is_err());
            assert!(Header::decode(&header.encode(), file_bytes + 8).is_err());
        }
        assert!(Shape::log(usize::MAX).file_bytes() as u64 <= FILE_BYTES_MAX);
    }

    #[test]
    fn names_come_back_and_long_ones_lose_their_middle() {
        let name = |text: &str| {
            let words = encode_name(text);
            unpack(&words[1..], (words[0] >> 32) as usize)
        };
        assert_eq!(name("link/a->b/tx"), "link/a->b/tx");
        assert_eq!(name(""), "");
        assert_eq!(name("a\x1b[2Jb"), "a\u{fffd}[2Jb");
        let exact = "x".repeat(NAME_BYTES_MAX);
        assert_eq!(name(&exact), exact);
        let long = format!("component/{}/processes", "é".repeat(300));
        let short = name(&long);
        assert!(short.starts_with("component/é") && short.ends_with("é/processes"), "{short}");
        assert!(short.contains("é...é") && short.len() <= NAME_BYTES_MAX);
    }

    proptest! {
        #[test]
        fn no_header_is_too_strange(words in proptest::collection::vec(any::<u64>(), 0..9),
                                    kind in 0u64..5, slots: u32, data_bytes: u64, len: u64) {
            let _ = Header::decode(&words, len);
            let words =
                [MAGIC, u64::from(VERSION) | kind << 32, u64::from(slots) << 32, 0, data_bytes];
            if let Ok(header) = Header::decode(&words, len) {
                prop_assert_eq!(header.shape.file_bytes() as u64, len);
            }
        }
    }
}
