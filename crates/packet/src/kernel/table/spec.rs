//! The declaration of a table: its columns, its writer, and what happens when it is full.

use std::fmt;

/// Words of a key at most.
pub const KEY_WORDS_MAX: usize = 4;

/// Values of an entry at most.
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
    /// An address of the link layer.
    Mac,
}

impl Meaning {
    /// Those that have a name, and how many bits they have.
    pub(crate) const NAMES: [(Meaning, &'static str, u32); 3] =
        [(Meaning::Truth, "bool", 1), (Meaning::Ipv4, "ipv4", 32), (Meaning::Mac, "mac", 48)];
}

/// A number of each entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The number of bits, 1 to 64.
    pub bits: u32,
    /// Their meaning.
    pub meaning: Meaning,
}

impl Column {
    /// The greatest number that fits.
    pub fn mask(&self) -> u64 {
        low_bits(self.bits)
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

/// `bits` ones.
pub fn low_bits(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// Where a column lies in the words of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyPlace {
    /// The word.
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
    /// The columns of the key. Each lies within a word, packed from the lowest bits up.
    pub key: Vec<Column>,
    /// The other columns, a word each.
    pub values: Vec<Column>,
    /// Its writer.
    pub writer: TableWriter,
    /// Entries at most.
    pub size: u32,
    /// What happens then.
    pub when_full: WhenFull,
    /// How long an entry stays that is not refreshed, in nanoseconds; 0: for ever.
    pub expire_ns: u64,
    /// The period at which changed values are reported to observers, in nanoseconds; 0: never,
    /// unless requested.
    pub report_ns: u64,
}

impl TableSpec {
    /// Where each column of the key lies.
    pub fn key_places(&self) -> Vec<KeyPlace> {
        let mut next = KeyPlace { word: 0, shift: 0 };
        let place = |column: &Column| {
            if next.shift + column.bits > 64 {
                next = KeyPlace { word: next.word + 1, shift: 0 };
            }
            let place = next;
            next.shift += column.bits;
            place
        };
        self.key.iter().map(place).collect()
    }

    /// Words of the key.
    pub fn key_words(&self) -> usize {
        self.key_places().last().map_or(0, |last| last.word + 1)
    }

    /// Columns of a key as its words.
    pub fn pack(&self, columns: &[u64]) -> [u64; KEY_WORDS_MAX] {
        let mut words = [0; KEY_WORDS_MAX];
        for ((place, column), number) in self.key_places().iter().zip(&self.key).zip(columns) {
            if let Some(word) = words.get_mut(place.word) {
                *word |= (number & column.mask()) << place.shift;
            }
        }
        words
    }

    /// The columns of a key's words.
    pub fn unpack(&self, words: &[u64]) -> Vec<u64> {
        let places = self.key_places();
        let column = |(place, column): (&KeyPlace, &Column)| {
            words.get(place.word).map_or(0, |word| word >> place.shift & column.mask())
        };
        places.iter().zip(&self.key).map(column).collect()
    }

    /// Words of the draft of an entry: the key, its mask, the priority, the values.
    pub fn draft_words(&self) -> u32 {
        (2 * self.key_words() + 1 + self.values.len()) as u32
    }

    /// The error of a key without columns, or with too many.
    fn key_error(&self) -> String {
        let (name, words, bits) = (&self.name, self.key_words(), KEY_WORDS_MAX * 64);
        let sum: usize = self.key.iter().map(|column| column.bits as usize).sum();
        if sum == 0 || sum > bits {
            return format!("the key of `{name}` has at least one column and at most {bits} bits");
        }
        format!(
            "the key of `{name}` takes {words} words of 64 bits, as no column spans two, and may \
             take {KEY_WORDS_MAX}: put the widest columns first"
        )
    }

    /// Its error.
    pub fn verify(&self) -> Option<String> {
        let is_column = |column: &Column| (1..=64).contains(&column.bits);
        let name = &self.name;
        if !self.key.iter().chain(&self.values).all(is_column) {
            Some(format!("columns of `{name}` have 1 to 64 bits"))
        } else if self.key.is_empty() || self.key_words() > KEY_WORDS_MAX {
            Some(self.key_error())
        } else if self.values.len() > VALUES_MAX {
            Some(format!("`{name}` has more than {VALUES_MAX} values"))
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
        if *report_ns > 0 {
            write!(f, " report {report_ns}")?;
        }
        f.write_str(" key")?;
        self.key.iter().try_for_each(|column| write!(f, " {column}"))?;
        f.write_str(" values")?;
        self.values.iter().try_for_each(|column| write!(f, " {column}"))
    }
}
