//! Tables: what a kernel remembers by key.
//!
//! ```text
//! entry = | words of the key | mask's number | values | when it was refreshed |    from 1 on
//!                              (not if exact)
//! draft = | words of a key | its mask | priority | values |      what the next insert takes
//! ```
//! All memory is allocated at the beginning and does not move, so generated code looks keys up,
//! reads values and writes them by itself; for the rest it calls. Entries are found by a hash with
//! a secret ([`Secret`]), as keys come from outside. Entry 0 is none.
//!
//! | part | does |
//! |---|---|
//! | [`spec`] | the declaration |
//! | `index` | from the hash of a key to its entry |
//! | `masks` | prefixes and masks with priorities |
//! | `lpm` | longest prefixes of short keys, for generated code |
//! | `write` | changes by the program around the graph |
//! | `observed` | the rows that an observer knows, and the changes that it does not know yet |
//! | `follow` | recording changes of the table for it |
//! | `row` | an entry as its columns |
//! | `zeros` | memory that is allocated at the beginning |
//! | `ahead` | memory that is fetched before look-ups |
//! | `age` | the oldest entry; a timer wheel for expired ones |
//!
//! It reads no clock: the time is an argument.

pub mod age;
mod ahead;
mod follow;
pub mod index;
mod lpm;
mod masks;
mod observed;
mod row;
pub mod spec;
mod write;
mod zeros;

use std::cell::{Cell, RefCell};

use tidemill_stdx::keyed::Secret;

use age::{Queue, Wheel};
use index::Index;
use lpm::Lpm;
pub(crate) use lpm::{CHILD, NODE_BITS, Steps};
use masks::{Mask, Masks, Words};
pub use observed::Delta;
use observed::Observed;
pub use row::Row;
use spec::{KEY_WORDS_MAX, TableKind, TableSpec, VALUES_MAX, WhenFull};
pub use write::{Change, TableError};
use zeros::zeros;

/// Refreshed entries that are passed over in search of the oldest, at most.
const PASSED_MAX: usize = 16;

/// Words of a draft at most.
const DRAFT_WORDS_MAX: usize = 2 * KEY_WORDS_MAX + 1 + VALUES_MAX;

/// Memory of tables that stays in the nearest caches anyhow.
const NEAR_BYTES: usize = 256 << 10;

/// Look-ups by different masks that are prepared at once.
const MASKS_AHEAD: usize = 8;

/// Look-ups that are prepared at once: the lines that they read stay in the nearest cache.
pub(crate) const AHEAD_MAX: usize = 64;

/// Counts of changes of a table.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TableCounts {
    /// Existing entries.
    pub entries: u64,
    /// Inserted entries.
    pub inserted: u64,
    /// Entries that were deleted.
    pub deleted: u64,
    /// Expired entries.
    pub expired: u64,
    /// Entries removed to make room.
    pub evicted: u64,
    /// Inserts for which there was no room.
    pub refused: u64,
}

/// Where the parts of a table are, for generated code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TableAddresses {
    pub table: usize,
    pub index: usize,
    pub index_mask: usize,
    pub entries: usize,
    /// The slots of the trie, if it has one.
    pub trie: Option<usize>,
    pub query: usize,
    pub draft: usize,
    /// What [`Table::prefetch`] reads; nothing if it is not worth it.
    pub ahead: Option<usize>,
    /// See [`Secret::words`].
    pub secret: [u64; 3],
}

/// A table.
pub struct Table {
    spec: TableSpec,
    layout: EntryLayout,
    secret: Secret,
    index: Index,
    entries: Box<[Cell<u64>]>,
    /// The key that code looks up.
    query: [Cell<u64>; KEY_WORDS_MAX],
    draft: [Cell<u64>; DRAFT_WORDS_MAX],
    /// What code will look up.
    ahead: Box<[Cell<u64>]>,
    books: RefCell<Books>,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Table({}: {:?})", self.spec, self.counts())
    }
}

/// Words of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EntryLayout {
    /// Words of the key.
    pub key: usize,
    /// Words that an entry is found by: the key, and the number of its mask.
    pub found_by: usize,
    /// Where the time of the last refresh is.
    pub touched: usize,
    /// All of them.
    pub words: usize,
    /// The bits of each word of the values that its column uses.
    pub value_masks: [u64; VALUES_MAX],
}

impl EntryLayout {
    pub fn of(spec: &TableSpec) -> EntryLayout {
        let key = spec.key_words();
        let found_by = key + usize::from(spec.kind != TableKind::Exact);
        let touched = found_by + spec.value_words();
        let value_masks = spec.value_masks();
        EntryLayout { key, found_by, touched, words: touched + 1, value_masks }
    }
}

/// What only changes need.
struct Books {
    masks: Masks,
    trie: Option<Lpm>,
    /// By number.
    priorities: Vec<Priority>,
    ages: Queue,
    /// When each entry took its place in the queue, by number.
    queued_ns: Vec<u64>,
    wheel: Option<Wheel>,
    free: Vec<u32>,
    /// Numbers that have been used.
    used: u32,
    counts: TableCounts,
    /// The state of an observer around the graph.
    observed: Option<Observed>,
}

#[derive(Clone, Copy, Default)]
struct Priority {
    priority: u64,
    /// Lower for earlier ones.
    order: u64,
}

/// How many look-ups in a table are prepared at once; 0: it is not worth it.
fn look_ups_ahead(spec: &TableSpec) -> usize {
    let is_read_by_code = spec.kind == TableKind::Exact || Steps::of(spec).is_some();
    // An entry, and two slots of the index.
    let bytes = spec.size as usize * (EntryLayout::of(spec).words + 2) * 8;
    if is_read_by_code && bytes > NEAR_BYTES { AHEAD_MAX } else { 0 }
}

/// The wheel of a table whose entries expire.
fn wheel_of(spec: &TableSpec) -> Option<Wheel> {
    let wheel = || match spec.expire_by {
        // A new entry is looked at by the next tick, when its values are known.
        Some(_) => Wheel::of_deadlines(),
        None => Wheel::new(spec.expire_ns),
    };
    (spec.expire_ns > 0).then(wheel)
}

impl Table {
    /// An empty table; the declaration has been verified.
    pub fn new(spec: TableSpec, secret: Secret) -> Table {
        let layout = EntryLayout::of(&spec);
        let books = Books {
            masks: Masks::of(&spec),
            trie: Lpm::of(&spec),
            priorities: Vec::new(),
            ages: Queue::default(),
            queued_ns: Vec::new(),
            wheel: wheel_of(&spec),
            free: Vec::new(),
            used: 0,
            counts: TableCounts::default(),
            observed: None,
        };
        Table {
            layout,
            secret,
            index: Index::new(spec.size),
            entries: zeros((spec.size as usize + 1) * layout.words),
            query: [const { Cell::new(0) }; KEY_WORDS_MAX],
            draft: [const { Cell::new(0) }; DRAFT_WORDS_MAX],
            ahead: zeros(look_ups_ahead(&spec)),
            books: RefCell::new(books),
            spec,
        }
    }

    /// Its declaration.
    pub fn spec(&self) -> &TableSpec {
        &self.spec
    }

    /// Its counts.
    pub fn counts(&self) -> TableCounts {
        self.books.borrow().counts
    }

    pub(crate) fn addresses(&self) -> TableAddresses {
        TableAddresses {
            table: std::ptr::from_ref(self).expose_provenance(),
            index: self.index.address(),
            index_mask: self.index.mask(),
            entries: self.entries.as_ptr().expose_provenance(),
            trie: self.books.borrow().trie.as_ref().map(Lpm::address),
            query: self.query.as_ptr().expose_provenance(),
            draft: self.draft.as_ptr().expose_provenance(),
            ahead: (!self.ahead.is_empty()).then(|| self.ahead.as_ptr().expose_provenance()),
            secret: self.secret.words(),
        }
    }

    fn word(&self, entry: u32, word: usize) -> &Cell<u64> {
        &self.entries[entry as usize * self.layout.words + word]
    }

    /// A word of an entry's key.
    pub(crate) fn key(&self, entry: u32, word: u32) -> u64 {
        self.word(entry, word as usize).get()
    }

    /// A word of the values of an entry.
    pub(crate) fn value(&self, entry: u32, value: u32) -> u64 {
        self.word(entry, self.layout.found_by + value as usize).get()
    }

    /// Changes a word of the values of an entry: the bits that its column has.
    pub(crate) fn set_value(&self, entry: u32, value: u32, number: u64) {
        let word = self.word(entry, self.layout.found_by + value as usize);
        word.set(number & self.layout.value_masks[value as usize]);
    }

    /// The entry's age begins anew.
    pub(crate) fn refresh(&self, entry: u32, now_ns: u64) {
        self.word(entry, self.layout.touched).set(now_ns);
    }

    /// Changes a word of what the next insert takes.
    pub(crate) fn set_draft(&self, word: u32, number: u64) {
        self.draft[word as usize].set(number);
    }

    fn hash(&self, words: &[u64]) -> u64 {
        let (first, rest) = words.split_first().map_or((0, words), |(first, rest)| (*first, rest));
        rest.iter().fold(self.secret.word(first), |hash, &word| self.secret.combine(hash, word))
    }

    /// The entry that is found by these words.
    fn probe(&self, words: &[u64]) -> u32 {
        self.probe_hashed(words, self.hash(words))
    }

    fn probe_hashed(&self, words: &[u64], hash: u64) -> u32 {
        let is_it = |entry| {
            let own = self.entries[entry as usize * self.layout.words..].iter();
            own.zip(words).all(|(own, word)| own.get() == *word)
        };
        self.index.find(hash, is_it)
    }

    /// What entries of a mask are found by.
    fn found_by(&self, left: Words, number: u64) -> [u64; KEY_WORDS_MAX + 1] {
        let mut words = [0; KEY_WORDS_MAX + 1];
        words[..KEY_WORDS_MAX].copy_from_slice(&left);
        if self.spec.kind != TableKind::Exact {
            words[self.layout.key] = number;
        }
        words
    }

    /// The entry of a key; 0: there is none.
    pub(crate) fn find(&self, key: &[u64]) -> u32 {
        let words = self.layout.found_by;
        match self.spec.kind {
            TableKind::Exact => self.probe(key),
            TableKind::Prefix => self.longest(&self.books.borrow().masks, key, |_| true),
            TableKind::Ternary => {
                let books = self.books.borrow();
                let (mut best, mut rank) = (0, (0, 0));
                for mask in books.masks.iter() {
                    if best != 0 && mask.priority_max < rank.0 {
                        break;
                    }
                    let entry = self.probe(&self.found_by(mask.of(key), mask.number)[..words]);
                    let Priority { priority, order } = books.priorities[entry as usize];
                    // Of the same priority the first that was inserted.
                    if entry != 0 && (best == 0 || (priority, !order) > rank) {
                        (best, rank) = (entry, (priority, !order));
                    }
                }
                best
            }
        }
    }

    /// The entry with the longest prefix of a key, of those with some masks.
    fn longest(&self, masks: &Masks, key: &[u64], is_one: impl Fn(&Mask) -> bool) -> u32 {
        let mut masks = masks.iter().filter(|mask| is_one(mask));
        // Most look-ups find nothing; in a large table the memory of several is fetched at once.
        let is_near = self.index.mask() * 8 < NEAR_BYTES;
        let ahead = if is_near { 1 } else { MASKS_AHEAD };
        let mut group = [([0; KEY_WORDS_MAX + 1], 0); MASKS_AHEAD];
        loop {
            let mut count = 0;
            for (place, mask) in group[..ahead].iter_mut().zip(&mut masks) {
                let words = self.found_by(mask.of(key), mask.number);
                let hash = self.hash(&words[..self.layout.found_by]);
                self.index.prefetch(hash);
                *place = (words, hash);
                count += 1;
            }
            for (words, hash) in &group[..count] {
                let entry = self.probe_hashed(&words[..self.layout.found_by], *hash);
                if entry != 0 {
                    return entry;
                }
            }
            if count < ahead {
                return 0;
            }
        }
    }

    /// The entry of the key that code has put there.
    pub(crate) fn find_query(&self) -> u32 {
        let key: [u64; KEY_WORDS_MAX] = std::array::from_fn(|at| self.query[at].get());
        self.find(&key[..self.layout.key])
    }

    /// Takes the draft in; the entry, or 0 if there is no room. An entry of the same key gets the
    /// new values.
    pub(crate) fn insert(&self, now_ns: u64) -> u32 {
        let (words, drafted) = (self.layout.key, |at: usize| self.draft[at].get());
        let (mut key, mut mask) = ([0; KEY_WORDS_MAX], [0; KEY_WORDS_MAX]);
        for word in 0..words {
            (key[word], mask[word]) = (drafted(word), drafted(words + word));
        }
        let books = &mut *self.books.borrow_mut();
        if let Some(trie) = &books.trie {
            mask[0] = trie.mask(mask[0]);
        }
        let priority = match self.spec.kind {
            TableKind::Exact => 0,
            // The longest wins.
            TableKind::Prefix => mask.iter().map(|word| u64::from(word.count_ones())).sum(),
            TableKind::Ternary => drafted(2 * words),
        };
        if self.spec.kind == TableKind::Exact {
            mask = [u64::MAX; KEY_WORDS_MAX];
        }
        for (key, mask) in key.iter_mut().zip(&mask) {
            *key &= mask;
        }
        let entry = self.entry_for(books, key, mask, now_ns);
        if entry == 0 {
            books.counts.refused += 1;
            return 0;
        }
        for value in 0..self.layout.touched - self.layout.found_by {
            self.set_value(entry, value as u32, drafted(2 * words + 1 + value));
        }
        self.refresh(entry, now_ns);
        if self.spec.kind != TableKind::Exact {
            books.priorities[entry as usize].priority = priority;
            books.masks.raise(self.key(entry, words as u32), priority);
        }
        self.note_change(books, entry);
        entry
    }

    /// The entry of a key, or a new one, if there is room.
    fn entry_for(&self, books: &mut Books, key: Words, mask: Words, now_ns: u64) -> u32 {
        let known = match self.spec.kind {
            TableKind::Exact => Some(0),
            _ => books.masks.find(&mask).map(|mask| mask.number),
        };
        let found_by = self.layout.found_by;
        let found = known.map(|number| self.probe(&self.found_by(key, number)[..found_by]));
        if let Some(entry) = found.filter(|&entry| entry != 0) {
            books.ages.remove(entry);
            books.append(entry, now_ns);
            return entry;
        }
        if books.counts.entries == u64::from(self.spec.size) {
            match self.spec.when_full {
                WhenFull::Refuse => return 0,
                WhenFull::Evict => self.evict(books),
            }
        }
        let number = match self.spec.kind {
            TableKind::Exact => 0,
            _ => match books.masks.add(&mask) {
                Some(mask) => mask.number,
                None => return 0,
            },
        };
        let entry = books.number();
        let words = &self.found_by(key, number)[..found_by];
        for (at, word) in words.iter().enumerate() {
            self.word(entry, at).set(*word);
        }
        self.index.insert(self.hash(words), entry);
        if let Some(trie) = &mut books.trie {
            trie.add(trie.prefix(key[0], mask[0]), entry);
        }
        books.append(entry, now_ns);
        if let Some(wheel) = &mut books.wheel {
            wheel.add(entry, now_ns);
        }
        books.counts.entries += 1;
        books.counts.inserted += 1;
        books.priorities[entry as usize].order = books.counts.inserted;
        entry
    }

    /// Makes room: the oldest goes. Those refreshed since they were queued wait anew, but not so
    /// many that one packet would take long (second chance).
    fn evict(&self, books: &mut Books) {
        for _ in 0..PASSED_MAX {
            let Some(oldest) = books.ages.first() else { return };
            let touched_ns = self.word(oldest, self.layout.touched).get();
            if touched_ns <= books.queued_ns[oldest as usize] {
                break;
            }
            books.ages.remove(oldest);
            books.append(oldest, touched_ns);
        }
        if let Some(oldest) = books.ages.first() {
            self.remove(books, oldest);
            books.counts.evicted += 1;
        }
    }

    fn remove(&self, books: &mut Books, entry: u32) {
        self.note_removal(books, entry);
        let first = entry as usize * self.layout.words;
        let own = &self.entries[first..first + self.layout.found_by];
        let mut words = [0; KEY_WORDS_MAX + 1];
        for (word, own) in words.iter_mut().zip(own) {
            *word = own.get();
        }
        self.index.remove(self.hash(&words[..self.layout.found_by]), entry);
        self.uncover(books, entry, words);
        if self.spec.kind != TableKind::Exact {
            books.masks.remove(words[self.layout.key]);
        }
        books.ages.remove(entry);
        if let Some(wheel) = &mut books.wheel {
            wheel.remove(entry);
        }
        books.free.push(entry);
        books.counts.entries -= 1;
    }

    /// Takes an entry out of the trie: what it has covered, the next shorter prefix covers.
    fn uncover(&self, books: &mut Books, entry: u32, words: [u64; KEY_WORDS_MAX + 1]) {
        let Some(mask) = books.masks.numbered(words[self.layout.key]) else { return };
        let Some(trie) = &mut books.trie else { return };
        let prefix = trie.prefix(words[0], mask.words[0]);
        let is_shorter = |other: &Mask| other.words[0].count_ones() < prefix.bits;
        let next = self.longest(&books.masks, &words[..self.layout.key], is_shorter);
        trie.remove(prefix, entry, next);
    }

    /// Deletes an entry that exists.
    pub(crate) fn delete(&self, entry: u32) {
        let books = &mut *self.books.borrow_mut();
        self.remove(books, entry);
        books.counts.deleted += 1;
    }

    /// The next expired entry. The caller ends it with [`Table::expire`].
    pub(crate) fn expired(&self, now_ns: u64) -> Option<u32> {
        let books = &mut *self.books.borrow_mut();
        let touched_ns = |entry| {
            let touched_ns = self.word(entry, self.layout.touched).get();
            match self.spec.expire_by.map(|word| self.value(entry, word)) {
                None => touched_ns,
                Some(0) => u64::MAX,
                Some(units) => touched_ns.saturating_add(units.saturating_mul(self.spec.expire_ns)),
            }
        };
        books.wheel.as_mut()?.expired(now_ns, touched_ns)
    }

    /// Ends an expired entry.
    pub(crate) fn expire(&self, entry: u32) {
        let books = &mut *self.books.borrow_mut();
        self.remove(books, entry);
        books.counts.expired += 1;
    }

    /// The period at which the caller has to check for expired entries.
    pub(crate) fn tick_ns(&self) -> Option<u64> {
        let tick_ns = match self.spec.expire_by {
            Some(_) => age::DEADLINE_TICK_NS,
            None => age::tick_ns(self.spec.expire_ns),
        };
        (self.spec.expire_ns > 0).then_some(tick_ns)
    }

    /// All entries, in the order in which they were inserted or refreshed by an insert.
    pub fn rows(&self) -> Vec<Row> {
        let books = self.books.borrow();
        books.ages.iter().map(|entry| self.row(&books, entry)).collect()
    }

    fn row(&self, books: &Books, entry: u32) -> Row {
        let key: Vec<u64> = (0..self.layout.key).map(|at| self.key(entry, at as u32)).collect();
        let mask = match self.spec.kind {
            TableKind::Exact => [u64::MAX; KEY_WORDS_MAX],
            _ => {
                let number = self.key(entry, self.layout.key as u32);
                books.masks.numbered(number).map_or([0; KEY_WORDS_MAX], |mask| mask.words)
            }
        };
        let values = (0..self.spec.value_words() as u32).map(|at| self.value(entry, at));
        Row {
            key: self.spec.unpack(&key),
            mask: self.spec.unpack(&mask),
            priority: self.priority(books, entry),
            values: self.spec.join_values(values),
        }
    }

    /// The priority of an entry, where the table has such.
    fn priority(&self, books: &Books, entry: u32) -> u64 {
        match self.spec.kind {
            TableKind::Ternary => books.priorities[entry as usize].priority,
            TableKind::Exact | TableKind::Prefix => 0,
        }
    }
}

impl Books {
    fn number(&mut self) -> u32 {
        if let Some(entry) = self.free.pop() {
            return entry;
        }
        self.used += 1;
        let count = self.used as usize + 1;
        self.priorities.resize(count, Priority::default());
        self.queued_ns.resize(count, 0);
        self.used
    }

    fn append(&mut self, entry: u32, now_ns: u64) {
        self.ages.append(entry);
        self.queued_ns[entry as usize] = now_ns;
    }
}

#[cfg(test)]
mod tests;
