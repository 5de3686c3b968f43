//! The declaration of a table: its columns, its writer, and what happens when it is full.

use std::fmt;

/// Words of a key at most.
pub const KEY_WORDS_MAX: usize = 6;

/// Words of the values of an entry at most.
pub const VALUES_MAX: usize = 8;

/// Entries of a table at most.
pub const SIZE_MAX: u32 = 1 << 20;

/// How keys are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableKind {
    /// All bits are equal.
    Exact,
    /// The bits of the entry's prefix are equal; the longest prefix wins.
    Prefix,
    /// The bits of the entry's mask are equal; the highest priority wins.
    Ternary,
}

impl TableKind {
    pub(crate) const NAMES: [(TableKind, &'static str); 3] = [
        (TableKind::Exact, "exact"),
        (TableKind::Prefix, "prefix"),
        (TableKind::Ternary, "ternary"),
    ];

    /// Its name in programs.
    pub fn name(self) -> &'static str {
        name_of(&TableKind::NAMES, self)
    }
}

/// The writer of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableWriter {
    /// The kernel, packet by packet.
    Kernel,
    /// The program around the graph, between two breaths.
    Program,
}

impl TableWriter {
    pub(crate) const NAMES: [(TableWriter, &'static str); 2] =
        [(TableWriter::Kernel, "kernel"), (TableWriter::Program, "program")];

    /// Its name in programs.
    pub fn name(self) -> &'static str {
        name_of(&TableWriter::NAMES, self)
    }
}

/// What becomes of an insert when there is no room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhenFull {
    /// The oldest entry goes.
    Evict,
    /// The new one is not taken.
    Refuse,
}

impl WhenFull {
    pub(crate) const NAMES: [(WhenFull, &'static str); 2] =
        [(WhenFull::Evict, "evict"), (WhenFull::Refuse, "refuse")];

    /// Its name in programs.
    pub fn name(self) -> &'static str {
        name_of(&WhenFull::NAMES, self)
    }
}

/// What programs call one of these.
fn name_of<T: Copy + PartialEq>(names: &[(T, &'static str)], it: T) -> &'static str {
    names.iter().find(|(named, _)| *named == it).map_or("", |(_, name)| name)
}

/// The meaning of the number in a column, outside of the graph; to kernels it is a number.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Meaning {
    /// A number.
    #[default]
    Number,
    /// A truth value, of one bit.
    Truth,
    /// An address of IPv4.
    Ipv4,
    /// An address of IPv6: two words, the upper half first.
    Ipv6,
    /// An address of the link layer.
    Mac,
}

impl Meaning {
    /// Those that have a name, and how many bits they have.
    pub(crate) const NAMES: [(Meaning, &'static str, u32); 4] = [
        (Meaning::Truth, "bool", 1),
        (Meaning::Ipv4, "ipv4", 32),
        (Meaning::Ipv6, "ipv6", 128),
        (Meaning::Mac, "mac", 48),
    ];
}

/// A number of each entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The number of bits: 1 to 64, or 128 for an address of IPv6.
    pub bits: u32,
    /// Their meaning.
    pub meaning: Meaning,
}

impl Column {
    /// The greatest number that fits.
    pub fn mask(&self) -> u128 {
        if self.bits >= 128 { u128::MAX } else { (1 << self.bits) - 1 }
    }

    /// Words that it takes: 1, or 2 if it is wider than a word.
    pub fn words(&self) -> usize {
        if self.bits > 64 { 2 } else { 1 }
    }

    /// The bits of each of its words that it uses, the upper word first.
    fn masks(&self) -> impl Iterator<Item = u64> + use<> {
        let mask = self.mask();
        halves(mask).into_iter().skip(2 - self.words())
    }

    fn is_valid(&self) -> bool {
        match self.meaning {
            Meaning::Ipv6 => self.bits == 128,
            _ => (1..=64).contains(&self.bits),
        }
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Meaning::NAMES.iter().find(|(meaning, ..)| *meaning == self.meaning);
        match named {
            Some((_, name, _)) => write!(f, "{}:{name}", self.name),
            None => write!(f, "{}:{}", self.name, self.bits),
        }
    }
}

/// The words of a number, the upper one first.
pub(crate) fn halves(number: u128) -> [u64; 2] {
    [(number >> 64) as u64, number as u64]
}

/// `bits` ones.
pub fn low_bits(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// Where a column lies in the words of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyPlace {
    /// The word; the first one of a column that takes two.
    pub word: usize,
    /// Bits of the word below it.
    pub shift: u32,
}

/// The declaration of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableSpec {
    /// Its name.
    pub name: String,
    /// How keys are compared.
    pub kind: TableKind,
    /// The columns of the key. Each lies within a word, packed from the lowest bits up, or takes
    /// two words.
    pub key: Vec<Column>,
    /// The other columns, a word or two each.
    pub values: Vec<Column>,
    /// Its writer.
    pub writer: TableWriter,
    /// Entries at most.
    pub size: u32,
    /// What happens then.
    pub when_full: WhenFull,
    /// How long an entry stays that is not refreshed, in nanoseconds; 0: for ever.
    pub expire_ns: u64,
    /// The word of the values that has this time of each entry, in units of `expire_ns`; 0 in it:
    /// for ever.
    pub expire_by: Option<u32>,
    /// The period at which changed values are reported to observers, in nanoseconds; 0: never,
    /// unless requested.
    pub report_ns: u64,
}

impl TableSpec {
    /// Where each column of the key lies.
    pub fn key_places(&self) -> Vec<KeyPlace> {
        let mut next = KeyPlace { word: 0, shift: 0 };
        let place = |column: &Column| {
            if next.shift > 0 && next.shift + column.bits > 64 {
                next = KeyPlace { word: next.word + 1, shift: 0 };
            }
            let place = next;
            match column.words() {
                1 => next.shift += column.bits,
                words => next.word += words,
            }
            place
        };
        self.key.iter().map(place).collect()
    }

    /// Words of the key.
    pub fn key_words(&self) -> usize {
        let last = self.key_places().last().copied().zip(self.key.last());
        last.map_or(0, |(place, column)| place.word + column.words())
    }

    /// Columns of a key as its words.
    pub fn pack(&self, columns: &[u128]) -> [u64; KEY_WORDS_MAX] {
        let mut words = [0; KEY_WORDS_MAX];
        for ((place, column), number) in self.key_places().iter().zip(&self.key).zip(columns) {
            let own = words.get_mut(place.word..place.word + column.words()).into_iter().flatten();
            let halves = halves(number & column.mask());
            for (word, half) in own.zip(&halves[2 - column.words()..]) {
                *word |= half << place.shift;
            }
        }
        words
    }

    /// The columns of a key's words.
    pub fn unpack(&self, words: &[u64]) -> Vec<u128> {
        let places = self.key_places();
        let column = |(place, column): (&KeyPlace, &Column)| {
            let own = words.iter().skip(place.word).take(column.words());
            let number = own.fold(0, |number, word| number << 64 | u128::from(*word));
            number >> place.shift & column.mask()
        };
        places.iter().zip(&self.key).map(column).collect()
    }

    /// Words of the values.
    pub fn value_words(&self) -> usize {
        self.values.iter().map(Column::words).sum()
    }

    /// The bits of each word of the values that its column uses.
    pub(crate) fn value_masks(&self) -> [u64; VALUES_MAX] {
        let mut masks = [0; VALUES_MAX];
        let words = self.values.iter().flat_map(Column::masks);
        masks.iter_mut().zip(words).for_each(|(to, mask)| *to = mask);
        masks
    }

    /// Values of an entry as their words.
    pub(crate) fn split_values(&self, values: &[u128]) -> Vec<u64> {
        let words = self
            .values
            .iter()
            .zip(values)
            .flat_map(|(column, number)| halves(*number).into_iter().skip(2 - column.words()));
        words.collect()
    }

    /// The values of their words.
    pub(crate) fn join_values(&self, mut words: impl Iterator<Item = u64>) -> Vec<u128> {
        let join = |column: &Column| {
            let own = words.by_ref().take(column.words());
            own.fold(0, |number, word| number << 64 | u128::from(word))
        };
        self.values.iter().map(join).collect()
    }

    /// Words of the draft of an entry: the key, its mask, the priority, the values.
    pub fn draft_words(&self) -> u32 {
        (2 * self.key_words() + 1 + self.value_words()) as u32
    }

    /// The error of a key without columns, or with too many.
    fn key_error(&self) -> String {
        let (name, words, bits) = (&self.name, self.key_words(), KEY_WORDS_MAX * 64);
        let sum: usize = self.key.iter().map(|column| column.bits as usize).sum();
        if sum == 0 || sum > bits {
            return format!("the key of `{name}` has at least one column and at most {bits} bits");
        }
        format!(
            "the key of `{name}` takes {words} words of 64 bits, as no column of up to 64 \
             bits spans two, and may take {KEY_WORDS_MAX}: put the widest columns first"
        )
    }

    /// Its error.
    pub fn verify(&self) -> Option<String> {
        let name = &self.name;
        if !self.key.iter().chain(&self.values).all(Column::is_valid) {
            Some(format!("columns of `{name}` have 1 to 64 bits, or 128 of an IPv6 address"))
        } else if self.key.is_empty() || self.key_words() > KEY_WORDS_MAX {
            Some(self.key_error())
        } else if self.value_words() > VALUES_MAX {
            Some(format!("`{name}` has values of more than {VALUES_MAX} words of 64 bits"))
        } else if self.expire_by.is_some_and(|word| word as usize >= self.value_words()) {
            Some(format!("entries of `{name}` expire by a value that there is not"))
        } else if self.size == 0 || self.size > SIZE_MAX {
            Some(format!("`{name}` has room for 1 to {SIZE_MAX} entries"))
        } else if self.writer == TableWriter::Program && self.when_full == WhenFull::Evict {
            Some(format!("`{name}` is written by the program, so it evicts nothing"))
        } else if self.writer == TableWriter::Program && self.report_ns > 0 {
            Some(format!("`{name}` is written by the program, which knows its values"))
        } else {
            None
        }
    }
}

impl fmt::Display for TableSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TableSpec { name, size, expire_ns, report_ns, .. } = self;
        let (kind, writer) = (self.kind.name(), self.writer.name());
        let full = self.when_full.name();
        write!(f, "{name} {kind} {writer} {size} {full} {expire_ns}")?;
        if let Some(word) = self.expire_by {
            write!(f, " by {word}")?;
        }
        if *report_ns > 0 {
            write!(f, " report {report_ns}")?;
        }
        f.write_str(" key")?;
        self.key.iter().try_for_each(|column| write!(f, " {column}"))?;
        f.write_str(" values")?;
        self.values.iter().try_for_each(|column| write!(f, " {column}"))
    }
}
