//! The flat encoding of values: how lists, stored tuples and long values lie in bytes.
//!
//! ```text
//! value  = tag u8, payload
//!   null, false, true      -
//!   int, time, interval    8 bytes, little endian
//!   double                 8 bytes, the bits
//!   id                     20 bytes: five words as memory has them, most significant first
//!   str, bytes             length u32, bytes
//!   list, vector, matrix   length u32 of what follows, count u32, count values
//! ```
//! The encoding stays inside the process (the wire has its own). Only [`write_value`] makes it,
//! and the types that hold it ([`Seq`], [`OwnedValue`], [`TupleBuf`]) are made in no other way: so
//! reading trusts it.

use crate::id::Id;
use crate::value::Value;

/// The first byte of an encoded value.
pub(crate) mod tag {
    pub const NULL: u8 = 0;
    pub const FALSE: u8 = 1;
    pub const TRUE: u8 = 2;
    pub const INT: u8 = 3;
    pub const DOUBLE: u8 = 4;
    pub const STR: u8 = 5;
    pub const BYTES: u8 = 6;
    pub const ID: u8 = 7;
    pub const TIME: u8 = 8;
    pub const INTERVAL: u8 = 9;
    pub const LIST: u8 = 10;
    pub const VECTOR: u8 = 11;
    pub const MATRIX: u8 = 12;
}

/// The elements of a list, vector or matrix.
#[derive(Clone, Copy, Debug)]
pub struct Seq<'a> {
    count: u32,
    /// The encoded values, one after the other.
    bytes: &'a [u8],
}

impl<'a> Seq<'a> {
    /// No elements.
    pub const EMPTY: Seq<'static> = Seq { count: 0, bytes: &[] };

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The elements in order.
    pub fn iter(&self) -> SeqIter<'a> {
        SeqIter { left: self.count, bytes: self.bytes }
    }

    /// Element `index` from 0; takes time in proportion to `index`.
    pub fn get(&self, index: usize) -> Option<Value<'a>> {
        self.iter().nth(index)
    }

    /// The encoding, for owners that store it in memory of their own.
    pub(crate) fn parts(&self) -> SeqParts<'a> {
        SeqParts { count: self.count, bytes: self.bytes }
    }

    /// All elements but the first; `None` if there is none.
    pub fn tail(&self) -> Option<Seq<'a>> {
        let mut rest = self.iter();
        rest.next()?;
        Some(Seq { count: rest.left, bytes: rest.bytes })
    }
}

/// Count and encoding of a [`Seq`], only for storing and rebuilding it.
pub(crate) struct SeqParts<'a> {
    pub(crate) count: u32,
    pub(crate) bytes: &'a [u8],
}

impl<'a> From<SeqParts<'a>> for Seq<'a> {
    fn from(parts: SeqParts<'a>) -> Seq<'a> {
        Seq { count: parts.count, bytes: parts.bytes }
    }
}

impl<'a> IntoIterator for Seq<'a> {
    type Item = Value<'a>;
    type IntoIter = SeqIter<'a>;
    fn into_iter(self) -> SeqIter<'a> {
        self.iter()
    }
}

/// Iterates over the elements of a [`Seq`].
#[derive(Clone, Debug)]
pub struct SeqIter<'a> {
    left: u32,
    bytes: &'a [u8],
}

impl<'a> SeqIter<'a> {
    /// Writes the next element to `to`; false if there is none.
    #[inline]
    pub(crate) fn next_into(&mut self, to: &mut Value<'a>) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        *to = read_value(&mut self.bytes);
        true
    }
}

impl<'a> Iterator for SeqIter<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        Some(read_value(&mut self.bytes))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for SeqIter<'_> {}

/// Builds the elements of a list, vector or matrix.
#[derive(Clone, Debug, Default)]
pub struct SeqBuilder {
    count: u32,
    bytes: Vec<u8>,
}

impl SeqBuilder {
    /// No elements yet.
    pub fn new() -> SeqBuilder {
        SeqBuilder::default()
    }

    /// No elements yet, and room for `bytes` bytes of them.
    pub fn with_capacity(bytes: usize) -> SeqBuilder {
        SeqBuilder { count: 0, bytes: Vec::with_capacity(bytes) }
    }

    /// Appends one element.
    #[inline]
    pub fn push(&mut self, value: Value<'_>) {
        self.count += 1;
        append(&mut self.bytes, value);
    }

    /// Appends all elements of another sequence.
    pub fn extend(&mut self, seq: Seq<'_>) {
        self.count += seq.count;
        self.bytes.extend_from_slice(seq.bytes);
    }

    /// Forgets all elements and keeps the memory.
    pub fn clear(&mut self) {
        self.count = 0;
        self.bytes.clear();
    }

    /// Bytes that the elements occupy.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes that it holds.
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// The value built so far.
    pub fn as_seq(&self) -> Seq<'_> {
        Seq { count: self.count, bytes: &self.bytes }
    }

    /// Copies what has been built into memory that `alloc` provides, such as a turn's region.
    pub fn finish<'a>(&self, alloc: impl FnOnce(&[u8]) -> &'a [u8]) -> Seq<'a> {
        let bytes = alloc(&self.bytes);
        assert_eq!(bytes, self.bytes, "the allocator must copy");
        Seq { count: self.count, bytes }
    }
}

impl<'a> FromIterator<Value<'a>> for SeqBuilder {
    fn from_iter<I: IntoIterator<Item = Value<'a>>>(values: I) -> SeqBuilder {
        let mut row = SeqBuilder::new();
        values.into_iter().for_each(|value| row.push(value));
        row
    }
}

impl From<&[OwnedValue]> for SeqBuilder {
    fn from(values: &[OwnedValue]) -> SeqBuilder {
        values.iter().map(OwnedValue::get).collect()
    }
}

impl PartialEq for SeqBuilder {
    fn eq(&self, other: &SeqBuilder) -> bool {
        let (own, others) = (self.as_seq(), other.as_seq());
        own.len() == others.len() && own.iter().zip(others).all(|(one, other)| one.equal(&other))
    }
}

/// Appends the encoding of `value`: inline for integers and texts, which most are.
#[inline]
fn append(out: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Int(value) => write_word(out, tag::INT, value as u64),
        Value::Str(text) => write_bytes(out, tag::STR, text.as_bytes()),
        value => write_value(out, value),
    }
}

/// Appends the encoding of `value`.
pub fn write_value(out: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Null => out.push(tag::NULL),
        Value::Bool(false) => out.push(tag::FALSE),
        Value::Bool(true) => out.push(tag::TRUE),
        Value::Int(value) => write_word(out, tag::INT, value as u64),
        Value::Double(value) => write_word(out, tag::DOUBLE, value.to_bits()),
        Value::Time(value) => write_word(out, tag::TIME, value as u64),
        Value::Interval(value) => write_word(out, tag::INTERVAL, value as u64),
        Value::Id(id) => {
            out.push(tag::ID);
            out.extend_from_slice(&id.to_memory());
        }
        Value::Str(text) => write_bytes(out, tag::STR, text.as_bytes()),
        Value::Bytes(bytes) => write_bytes(out, tag::BYTES, bytes),
        Value::List(seq) => write_seq(out, tag::LIST, seq),
        Value::Vector(seq) => write_seq(out, tag::VECTOR, seq),
        Value::Matrix(seq) => write_seq(out, tag::MATRIX, seq),
    }
}

/// Bytes of a value of one word.
const WORD: usize = 9;

#[inline]
fn write_word(out: &mut Vec<u8>, tag: u8, word: u64) {
    out.reserve(WORD);
    // SAFETY: `WORD` bytes are reserved after the length.
    unsafe {
        let to = out.as_mut_ptr().add(out.len());
        to.write(tag);
        to.add(1).cast::<[u8; 8]>().write(word.to_le_bytes());
        out.set_len(out.len() + WORD);
    }
}

/// Bytes before those of a text: the tag and the length.
const HEAD: usize = 5;

#[inline]
fn write_bytes(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    let length = length(bytes.len());
    out.reserve(HEAD + bytes.len());
    let end = out.len() + HEAD + bytes.len();
    // SAFETY: there is room for the head and the bytes after what is there; they lie elsewhere, as
    // `out` is borrowed for this alone.
    unsafe {
        let to = out.as_mut_ptr().add(out.len());
        to.write(tag);
        to.add(1).cast::<[u8; 4]>().write(length.to_le_bytes());
        copy(to.add(HEAD), bytes);
        out.set_len(end);
    }
}

/// Copies bytes; without a call if they are as long as most texts.
///
/// # Safety
/// At `to` there is room for them, which does not overlap them.
#[inline(always)]
unsafe fn copy(to: *mut u8, bytes: &[u8]) {
    // SAFETY: there is room for all of them at `to`; each range of lengths starts at its `N`.
    unsafe {
        match bytes.len() {
            4..8 => copy_ends::<4>(to, bytes),
            8..=16 => copy_ends::<8>(to, bytes),
            length => to.copy_from_nonoverlapping(bytes.as_ptr(), length),
        }
    }
}

/// Copies the first and the last `N` bytes, which may overlap.
///
/// # Safety
/// There are at least `N`; at `to` there is room for all, which does not overlap them.
#[inline(always)]
unsafe fn copy_ends<const N: usize>(to: *mut u8, bytes: &[u8]) {
    let (from, last) = (bytes.as_ptr(), bytes.len() - N);
    // SAFETY: both ends are in the bytes, as there are `N` of them, and there is room for both at
    // `to`; arrays of bytes may lie anywhere.
    unsafe {
        let ends = (from.cast::<[u8; N]>().read(), from.add(last).cast::<[u8; N]>().read());
        to.cast::<[u8; N]>().write(ends.0);
        to.add(last).cast::<[u8; N]>().write(ends.1);
    }
}

fn write_seq(out: &mut Vec<u8>, tag: u8, seq: Seq<'_>) {
    out.push(tag);
    out.extend_from_slice(&length(seq.bytes.len() + 4).to_le_bytes());
    out.extend_from_slice(&seq.count.to_le_bytes());
    out.extend_from_slice(seq.bytes);
}

fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).expect("a value stays below 4 GiB: its sources are limited far below")
}

/// Reads one value from the front of `bytes`, which [`write_value`] wrote.
#[inline]
pub(crate) fn read_value<'a>(bytes: &mut &'a [u8]) -> Value<'a> {
    match take::<1>(bytes)[0] {
        tag::NULL => Value::Null,
        tag::FALSE => Value::Bool(false),
        tag::TRUE => Value::Bool(true),
        tag::INT => Value::Int(i64::from_le_bytes(take(bytes))),
        tag::DOUBLE => Value::Double(f64::from_bits(u64::from_le_bytes(take(bytes)))),
        tag::TIME => Value::Time(i64::from_le_bytes(take(bytes))),
        tag::INTERVAL => Value::Interval(i64::from_le_bytes(take(bytes))),
        tag::ID => Value::Id(Id::from_memory(take(bytes))),
        tag::STR => {
            let text = take_slice(bytes);
            // SAFETY: STR payloads are written from a `str` alone, and nothing alters them.
            Value::Str(unsafe { std::str::from_utf8_unchecked(text) })
        }
        tag::BYTES => Value::Bytes(take_slice(bytes)),
        tag::LIST => Value::List(read_seq(bytes)),
        tag::VECTOR => Value::Vector(read_seq(bytes)),
        tag::MATRIX => Value::Matrix(read_seq(bytes)),
        other => unreachable!("tag {other} is never written"),
    }
}

fn read_seq<'a>(bytes: &mut &'a [u8]) -> Seq<'a> {
    let mut body = take_slice(bytes);
    let count = u32::from_le_bytes(take(&mut body));
    Seq { count, bytes: body }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> [u8; N] {
    let (head, rest) = bytes.split_first_chunk::<N>().expect("encodings are complete");
    *bytes = rest;
    *head
}

fn take_slice<'a>(bytes: &mut &'a [u8]) -> &'a [u8] {
    let length = u32::from_le_bytes(take(bytes)) as usize;
    let (head, rest) = bytes.split_at(length);
    *bytes = rest;
    head
}

/// A value that owns its bytes: a program's constants, node parameters, aggregates between rows.
#[derive(Clone, Debug)]
pub struct OwnedValue(Owned);

#[derive(Clone, Debug)]
enum Owned {
    /// A value without parts elsewhere, ready to be used.
    Plain(Value<'static>),
    /// The encoding of any other.
    Encoded(Vec<u8>),
}

impl OwnedValue {
    /// Copies `value`.
    pub fn new(value: Value<'_>) -> OwnedValue {
        OwnedValue(match value.without_parts() {
            Some(plain) => Owned::Plain(plain),
            None => {
                let mut bytes = Vec::new();
                write_value(&mut bytes, value);
                Owned::Encoded(bytes)
            }
        })
    }

    /// The value.
    #[inline]
    pub fn get(&self) -> Value<'_> {
        match &self.0 {
            Owned::Plain(value) => *value,
            Owned::Encoded(bytes) => read_value(&mut bytes.as_slice()),
        }
    }

    /// Replaces the value, keeping the memory.
    pub fn set(&mut self, value: Value<'_>) {
        match (&mut self.0, value.without_parts()) {
            (Owned::Encoded(bytes), None) => {
                bytes.clear();
                write_value(bytes, value);
            }
            _ => *self = OwnedValue::new(value),
        }
    }
}

impl From<Value<'_>> for OwnedValue {
    fn from(value: Value<'_>) -> OwnedValue {
        OwnedValue::new(value)
    }
}

impl PartialEq for OwnedValue {
    fn eq(&self, other: &OwnedValue) -> bool {
        self.get().equal(&other.get())
    }
}

/// A bag of tuples in the order in which they were pushed, each with a label of the caller's.
///
/// A turn collects its derivations in one: one buffer, no allocation per tuple, cleared as a whole.
#[derive(Clone, PartialEq, Debug)]
pub struct TupleBuf<L> {
    entries: Vec<Entry<L>>,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Entry<L> {
    label: L,
    start: usize,
    columns: u32,
}

impl<L> Default for TupleBuf<L> {
    fn default() -> TupleBuf<L> {
        TupleBuf { entries: Vec::new(), bytes: Vec::new() }
    }
}

impl<L: Copy> TupleBuf<L> {
    /// Empty.
    pub fn new() -> TupleBuf<L> {
        TupleBuf::default()
    }

    /// Appends a tuple.
    pub fn push(&mut self, label: L, columns: &[Value<'_>]) {
        let start = self.bytes.len();
        for value in columns {
            append(&mut self.bytes, *value);
        }
        self.entries.push(Entry { label, start, columns: columns.len() as u32 });
    }

    /// Appends a tuple with these columns.
    pub fn push_all<'v>(&mut self, label: L, columns: impl Iterator<Item = Value<'v>>) {
        let (start, mut count) = (self.bytes.len(), 0);
        for value in columns {
            write_value(&mut self.bytes, value);
            count += 1;
        }
        self.entries.push(Entry { label, start, columns: count });
    }

    /// Appends a tuple whose columns are elements of a sequence.
    #[inline]
    pub fn push_seq(&mut self, label: L, columns: Seq<'_>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(columns.bytes);
        self.entries.push(Entry { label, start, columns: columns.count });
    }

    /// Number of tuples.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes that the tuples occupy.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Tuple `index`: its label and its columns.
    #[inline]
    pub fn get(&self, index: usize) -> Option<(L, Seq<'_>)> {
        let entry = self.entries.get(index)?;
        let end = self.entries.get(index + 1).map_or(self.bytes.len(), |next| next.start);
        let bytes = &self.bytes[entry.start..end];
        Some((entry.label, Seq { count: entry.columns, bytes }))
    }

    /// All tuples in order.
    pub fn iter(&self) -> impl Iterator<Item = (L, Seq<'_>)> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Forgets all tuples but the first `count`.
    pub fn truncate(&mut self, count: usize) {
        if let Some(first) = self.entries.get(count) {
            self.bytes.truncate(first.start);
            self.entries.truncate(count);
        }
    }

    /// Forgets all tuples and keeps the memory.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.bytes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value_survives() {
        let mut inner = SeqBuilder::new();
        inner.push(Value::Str("ä"));
        inner.push(Value::Null);
        let mut outer = SeqBuilder::new();
        outer.push(Value::List(inner.as_seq()));
        outer.push(Value::Id(Id::from_int(-5)));
        let values = [
            Value::Null,
            Value::Bool(true),
            Value::Bool(false),
            Value::Int(i64::MIN),
            Value::Double(-0.5),
            Value::Str("text"),
            Value::Bytes(&[0, 255]),
            Value::Time(7),
            Value::Interval(-7),
            Value::Vector(inner.as_seq()),
            Value::Matrix(outer.as_seq()),
        ];
        let mut tuples = TupleBuf::new();
        tuples.push('a', &values);
        tuples.push('b', &values[..2]);
        let (label, columns) = tuples.get(0).unwrap();
        assert_eq!((label, columns.len()), ('a', values.len()));
        for (got, want) in columns.iter().zip(values) {
            assert_eq!(got, want);
            assert_eq!(got.type_of(), want.type_of());
            assert_eq!(OwnedValue::new(want).get(), want);
        }
        assert_eq!(tuples.get(1).unwrap().1.len(), 2);
        let mut row = SeqBuilder::new();
        row.push(Value::Str("before"));
        let before = row.clone();
        row.clear();
        values.into_iter().for_each(|value| row.push(value));
        assert!(row != before && row == row.clone());
        tuples.push_seq('c', row.as_seq());
        let (label, columns) = tuples.get(2).unwrap();
        assert_eq!((label, columns.iter().collect::<Vec<_>>()), ('c', values.to_vec()));
    }

    #[test]
    fn texts_of_every_length_survive_beside_each_other() {
        let all: String = (' '..='~').collect();
        let texts: Vec<&str> = (0..=40).map(|length| &all[length..2 * length]).collect();
        let mut row = SeqBuilder::new();
        texts.iter().for_each(|text| row.push(Value::Str(text)));
        texts.iter().for_each(|text| row.push(Value::Bytes(text.as_bytes())));
        let columns: Vec<_> = row.as_seq().iter().collect();
        let strings = texts.iter().map(|text| Value::Str(text));
        let bytes = texts.iter().map(|text| Value::Bytes(text.as_bytes()));
        assert_eq!(columns, strings.chain(bytes).collect::<Vec<_>>());
    }

    #[test]
    fn the_tail_of_a_list_needs_no_copy() {
        let mut list = SeqBuilder::new();
        assert!(list.as_seq().tail().is_none());
        list.push(Value::Int(1));
        list.push(Value::Int(2));
        let tail = list.as_seq().tail().unwrap();
        assert_eq!(tail.iter().collect::<Vec<_>>(), [Value::Int(2)]);
        assert!(tail.tail().unwrap().is_empty());
    }
}
