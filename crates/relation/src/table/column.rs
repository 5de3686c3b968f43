//! The layout of one column in the rows of a table.
//!
//! Rows are fixed numbers of 32-bit words. A column starts as narrow as can be and widens when a
//! value does not fit:
//!
//! ```text
//! Const   0 words   every row has the same value (the location column stays so)
//! Int32   1 word    integers of 32 bits
//! Word    2 words   one type of: int64, double, bool, time, interval
//! Text    4 words   up to 15 bytes inside, longer ones in the table's heap
//! Id      5 words
//! Any     6 words   a tag, then up to 20 bytes inside or a place in the heap
//! ```

use tidemill_stdx::keyed::Secret;

use crate::flat::{OwnedValue, SeqParts};
use crate::id::Id;
use crate::value::{Type, Value};

/// The representation of a column; see the module.
#[derive(Clone, Debug)]
pub(super) enum Repr {
    /// No row yet.
    Empty,
    /// The same value in every row.
    Const(Constant),
    /// Integers of 32 bits.
    Int32,
    /// A type that fits 64 bits.
    Word(Type),
    /// Texts.
    Text,
    /// Ring identifiers.
    Id,
    /// Values of several types.
    Any,
}

/// The value of a column that has the same in every row, with its hash.
#[derive(Clone, Debug)]
pub(super) struct Constant {
    value: OwnedValue,
    /// The value if it is a text: most such columns hold the address of a node.
    text: Option<Box<str>>,
    hash: u64,
}

impl Constant {
    fn new(value: &Value<'_>, secret: &Secret) -> Constant {
        let text = value.as_str().map(Box::from);
        Constant { value: OwnedValue::new(*value), text, hash: value.hash(secret) }
    }

    #[inline]
    pub(super) fn get(&self) -> Value<'_> {
        match &self.text {
            Some(text) => Value::Str(text),
            None => self.value.get(),
        }
    }

    /// [`Value::hash`] of it, by the secret of the table.
    pub(super) fn hash(&self) -> u64 {
        self.hash
    }
}

const TEXT_INSIDE: usize = 15;
const ANY_INSIDE: usize = 20;
/// Length byte of a value that lies in the heap.
const IN_HEAP: u8 = 0xFF;

impl Repr {
    /// Words that a row spends on the column.
    pub(super) fn words(&self) -> usize {
        match self {
            Repr::Empty | Repr::Const(_) => 0,
            Repr::Int32 => 1,
            Repr::Word(_) => 2,
            Repr::Text => 4,
            Repr::Id => 5,
            Repr::Any => 6,
        }
    }

    /// True if `value` can be stored without widening.
    #[inline]
    pub(super) fn fits(&self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Repr::Int32, Value::Int(value)) => i32::try_from(*value).is_ok(),
            (Repr::Word(kind), value) => *kind == value.type_of(),
            (Repr::Text, Value::Str(_)) | (Repr::Id, Value::Id(_)) | (Repr::Any, _) => true,
            (Repr::Const(constant), value) => constant.get().is_identical(value),
            _ => false,
        }
    }

    /// The narrowest representation for the stored values and `value`.
    pub(super) fn widened(&self, value: &Value<'_>, secret: &Secret) -> Repr {
        match self {
            Repr::Empty => Repr::Const(Constant::new(value, secret)),
            Repr::Const(constant) => {
                let narrow = Repr::narrowest(&constant.get());
                if narrow.fits(value) { narrow } else { narrow.widened(value, secret) }
            }
            Repr::Int32 if value.type_of() == Type::Int => Repr::Word(Type::Int),
            _ => Repr::Any,
        }
    }

    pub(super) fn narrowest(value: &Value<'_>) -> Repr {
        match value {
            Value::Int(value) if i32::try_from(*value).is_ok() => Repr::Int32,
            Value::Int(_)
            | Value::Bool(_)
            | Value::Double(_)
            | Value::Time(_)
            | Value::Interval(_) => Repr::Word(value.type_of()),
            Value::Str(_) => Repr::Text,
            Value::Id(_) => Repr::Id,
            _ => Repr::Any,
        }
    }
}

/// The long parts of a table's values.
#[derive(Clone, Debug, Default)]
pub(super) struct Heap {
    pub(super) bytes: Vec<u8>,
    /// Bytes that no row refers to any more.
    pub(super) dead: usize,
}

impl Heap {
    /// Appends `bytes`; the caller has checked the limit of 4 GiB ([`Heap::has_room`]).
    fn push(&mut self, bytes: &[u8]) -> (u32, u32) {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(bytes);
        (start, bytes.len() as u32)
    }

    pub(super) fn has_room(&self, more: usize) -> bool {
        self.bytes.len().saturating_add(more) <= u32::MAX as usize
    }

    fn get(&self, start: u32, length: u32) -> &[u8] {
        &self.bytes[start as usize..][..length as usize]
    }
}

/// Writes `value`, which fits, into the words of its column.
#[inline]
pub(super) fn store(repr: &Repr, words: &mut [u32], heap: &mut Heap, value: &Value<'_>) {
    match (repr, value) {
        (Repr::Const(_), _) => {}
        (Repr::Int32, Value::Int(value)) => words[0] = *value as i32 as u32,
        (Repr::Word(_), value) => set_word(words, word_of(value)),
        (Repr::Text, Value::Str(text)) => store_bytes(words, heap, text.as_bytes(), TEXT_INSIDE),
        (Repr::Id, Value::Id(id)) => words.copy_from_slice(&id.limbs()),
        (Repr::Any, value) => store_any(words, heap, value),
        _ => unreachable!("the caller widens the column first"),
    }
}

fn word_of(value: &Value<'_>) -> u64 {
    match *value {
        Value::Int(value) | Value::Time(value) | Value::Interval(value) => value as u64,
        Value::Bool(value) => value as u64,
        Value::Double(value) => value.to_bits(),
        _ => unreachable!("other types do not fit a word"),
    }
}

fn set_word(words: &mut [u32], word: u64) {
    words[0] = word as u32;
    words[1] = (word >> 32) as u32;
}

#[inline]
pub(super) fn get_word(words: &[u32]) -> u64 {
    words[0] as u64 | (words[1] as u64) << 32
}

/// Up to `inside` bytes in the words, longer ones in the heap; the last byte says which.
fn store_bytes(words: &mut [u32], heap: &mut Heap, bytes: &[u8], inside: usize) {
    words.fill(0);
    let length = if bytes.len() <= inside {
        as_bytes_mut(words)[..bytes.len()].copy_from_slice(bytes);
        bytes.len() as u8
    } else {
        (words[0], words[1]) = heap.push(bytes);
        IN_HEAP
    };
    if let Some(last) = as_bytes_mut(words).last_mut() {
        *last = length;
    }
}

fn load_bytes<'t>(words: &'t [u32], heap: &'t Heap) -> &'t [u8] {
    let bytes = as_bytes(words);
    match bytes.last() {
        Some(&IN_HEAP) => heap.get(words[0], words[1]),
        Some(&length) => &bytes[..length as usize],
        None => &[],
    }
}

/// `words[0]` is the type and, for sequences, nothing more; five words follow as for texts.
fn store_any(words: &mut [u32], heap: &mut Heap, value: &Value<'_>) {
    words.fill(0);
    words[0] = value.type_of() as u32;
    let rest = &mut words[1..];
    match value {
        Value::Null => {}
        Value::Id(id) => rest.copy_from_slice(&id.limbs()),
        Value::Str(text) => store_bytes(rest, heap, text.as_bytes(), ANY_INSIDE - 1),
        Value::Bytes(bytes) => store_bytes(rest, heap, bytes, ANY_INSIDE - 1),
        Value::List(seq) | Value::Vector(seq) | Value::Matrix(seq) => {
            let parts = seq.parts();
            rest[4] = parts.count;
            (rest[0], rest[1]) = heap.push(parts.bytes);
        }
        _ => set_word(rest, word_of(value)),
    }
}

/// Reads the value of a column from its words.
#[inline]
pub(super) fn load<'t>(repr: &'t Repr, words: &'t [u32], heap: &'t Heap) -> Value<'t> {
    match repr {
        Repr::Int32 => Value::Int(words[0] as i32 as i64),
        Repr::Word(kind) => word_value(*kind, get_word(words)),
        Repr::Text => Value::Str(text(load_bytes(words, heap))),
        Repr::Const(constant) => constant.get(),
        Repr::Id => Value::Id(id(words)),
        Repr::Any => load_any(words, heap),
        Repr::Empty => Value::Null,
    }
}

/// The hash of the value in the words of a column: [`Value::hash`] by the secret of the table.
#[inline]
pub(super) fn hash(repr: &Repr, words: &[u32], heap: &Heap, secret: &Secret) -> u64 {
    match repr {
        Repr::Int32 => secret.word(words[0] as i32 as i64 as u64),
        Repr::Const(constant) => constant.hash,
        _ => load(repr, words, heap).hash(secret),
    }
}

/// The hash of a value in a column of this form; precomputed for one that all rows have.
#[inline]
pub(super) fn hash_of(repr: &Repr, value: &Value<'_>, secret: &Secret) -> u64 {
    match repr {
        Repr::Const(constant) if constant.get().is_identical(value) => constant.hash,
        _ => value.hash(secret),
    }
}

/// Whether the value in the words of a column equals another.
#[inline]
pub(super) fn holds(repr: &Repr, words: &[u32], heap: &Heap, value: &Value<'_>) -> bool {
    match (repr, value) {
        (Repr::Int32, Value::Int(value)) => i64::from(words[0] as i32) == *value,
        (Repr::Text, Value::Str(text)) => load_bytes(words, heap) == text.as_bytes(),
        _ => load(repr, words, heap).equal(value),
    }
}

/// Whether two rows have equal values in a column, given its words in both.
#[inline]
pub(super) fn equal(repr: &Repr, a: &[u32], b: &[u32], heap: &Heap) -> bool {
    match repr {
        Repr::Int32 => a[0] == b[0],
        Repr::Const(_) => true,
        _ => load(repr, a, heap).equal(&load(repr, b, heap)),
    }
}

fn load_any<'t>(words: &'t [u32], heap: &'t Heap) -> Value<'t> {
    let kind = Type::ALL[words[0] as usize];
    let rest = &words[1..];
    let seq = || {
        let bytes = heap.get(rest[0], rest[1]);
        SeqParts { count: rest[4], bytes }
    };
    match kind {
        Type::Null => Value::Null,
        Type::Id => Value::Id(id(rest)),
        Type::Str => Value::Str(text(load_bytes(rest, heap))),
        Type::Bytes => Value::Bytes(load_bytes(rest, heap)),
        Type::List => Value::List(seq().into()),
        Type::Vector => Value::Vector(seq().into()),
        Type::Matrix => Value::Matrix(seq().into()),
        _ => word_value(kind, get_word(rest)),
    }
}

/// Bytes of the heap that the words refer to.
pub(super) fn heap_bytes(repr: &Repr, words: &[u32]) -> usize {
    let of_bytes = |words: &[u32]| match as_bytes(words).last() {
        Some(&IN_HEAP) => words[1] as usize,
        _ => 0,
    };
    match repr {
        Repr::Text => of_bytes(words),
        Repr::Any => match Type::ALL[words[0] as usize] {
            Type::Str | Type::Bytes => of_bytes(&words[1..]),
            Type::List | Type::Vector | Type::Matrix => words[2] as usize,
            _ => 0,
        },
        _ => 0,
    }
}

/// An upper bound of the bytes that storing `value` adds to the heap.
pub(super) fn heap_need(value: &Value<'_>) -> usize {
    match value {
        Value::Str(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => value.as_seq().map_or(0, |seq| seq.parts().bytes.len()),
    }
}

fn word_value(kind: Type, word: u64) -> Value<'static> {
    match kind {
        Type::Int => Value::Int(word as i64),
        Type::Bool => Value::Bool(word != 0),
        Type::Double => Value::Double(f64::from_bits(word)),
        Type::Time => Value::Time(word as i64),
        Type::Interval => Value::Interval(word as i64),
        _ => unreachable!("other types do not fit a word"),
    }
}

fn id(words: &[u32]) -> Id {
    let mut limbs = [0; 5];
    limbs.copy_from_slice(&words[..5]);
    Id::from_limbs(limbs)
}

fn text(bytes: &[u8]) -> &str {
    // SAFETY: the column stores texts alone (`Repr::Text`, or the tag says so), byte for byte.
    unsafe { std::str::from_utf8_unchecked(bytes) }
}

fn as_bytes(words: &[u32]) -> &[u8] {
    // SAFETY: any u32 is four initialised bytes, and u8 has no alignment.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

fn as_bytes_mut(words: &mut [u32]) -> &mut [u8] {
    let length = size_of_val(words);
    // SAFETY: u8 has no alignment, any four bytes are a u32, and the borrow is exclusive.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), length) }
}
