//! Names of communications with system components, maps from them, and their messages.

use std::borrow::Cow;
use std::cell::Cell;

/// Names one communication with a system component, or from outside: its place, which is used
/// again, and in the upper half how many there have been before it.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Communication(pub(crate) u64);

impl Communication {
    /// No communication.
    pub const NONE: Communication = Communication(0);

    pub(crate) fn new(place: u32, number: u32) -> Communication {
        Communication(u64::from(number) << 32 | u64::from(place))
    }

    #[inline]
    pub(crate) fn place(self) -> usize {
        self.0 as u32 as usize
    }
}

/// The table of communications: a place for each that is open at a time.
#[derive(Clone, Debug)]
pub struct CommunicationMap<T> {
    places: Vec<Option<(Communication, T)>>,
    len: usize,
}

impl<T> Default for CommunicationMap<T> {
    fn default() -> Self {
        CommunicationMap { places: Vec::new(), len: 0 }
    }
}

impl<T> CommunicationMap<T> {
    /// Enters or replaces. The entry of a former communication at the place is dropped.
    pub fn insert(&mut self, at: Communication, value: T) {
        if at.place() >= self.places.len() {
            self.places.resize_with(at.place() + 1, || None);
        }
        let old = self.places[at.place()].replace((at, value));
        self.len += usize::from(old.is_none());
    }

    /// The record of a communication.
    #[inline]
    pub fn get(&self, at: Communication) -> Option<&T> {
        match self.places.get(at.place()) {
            Some(Some((name, value))) if *name == at => Some(value),
            _ => None,
        }
    }

    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self, at: Communication) -> Option<&mut T> {
        match self.places.get_mut(at.place()) {
            Some(Some((name, value))) if *name == at => Some(value),
            _ => None,
        }
    }

    /// Takes it out.
    pub fn remove(&mut self, at: Communication) -> Option<T> {
        let place = self.places.get_mut(at.place())?;
        let (_, value) = place.take_if(|(name, _)| *name == at)?;
        self.len -= 1;
        Some(value)
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Communication, &mut T)> {
        self.places.iter_mut().flatten().map(|(name, value)| (*name, value))
    }

    /// All of them, by place.
    pub fn iter(&self) -> impl Iterator<Item = (Communication, &T)> {
        self.places.iter().flatten().map(|(name, value)| (*name, value))
    }
}

/// A parameter of an answer.
#[derive(Clone, PartialEq, Debug)]
pub enum Value<'a> {
    /// INTEGER, CHARACTER, BOOLEAN; REAL by its bits.
    Word(u64),
    /// TEXT.
    Text(Cow<'a, [u8]>),
}

impl Value<'_> {
    /// The same for longer.
    pub fn kept(&self) -> Value<'static> {
        match self {
            Value::Word(word) => Value::Word(*word),
            Value::Text(bytes) => Value::Text(Cow::Owned(bytes.to_vec())),
        }
    }
}

/// The parameters of a message, to be read one after the other; in memory that is used again.
#[derive(Clone, Default, Debug)]
pub struct Values {
    parts: Vec<Part>,
    bytes: Vec<u8>,
    next: Cell<usize>,
}

#[derive(Clone, Copy, Debug)]
enum Part {
    Word(u64),
    /// From where to where.
    Text(usize, usize),
}

/// Memory of longer texts is not kept.
const KEPT_BYTES_MAX: usize = 1 << 16;

impl Values {
    pub(crate) fn clear(&mut self) {
        self.parts.clear();
        self.bytes.clear();
        if self.bytes.capacity() > KEPT_BYTES_MAX {
            self.bytes.shrink_to(KEPT_BYTES_MAX);
        }
        self.next.set(0);
    }

    pub(crate) fn push_word(&mut self, word: u64) {
        self.parts.push(Part::Word(word));
    }

    pub(crate) fn push_text(&mut self, bytes: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.parts.push(Part::Text(start, self.bytes.len()));
    }

    fn next(&self) -> Option<Part> {
        let part = self.parts.get(self.next.get()).copied();
        self.next.set(self.next.get() + 1);
        part
    }

    /// The next parameter, which is none of TEXT; 0 if there is none.
    pub fn word(&self) -> u64 {
        match self.next() {
            Some(Part::Word(word)) => word,
            _ => 0,
        }
    }

    /// The next parameter, INTEGER; 0 if there is none.
    pub fn integer(&self) -> i64 {
        self.word().cast_signed()
    }

    /// The next parameter, all bytes of a TEXT; empty if there is none.
    pub fn bytes(&self) -> &[u8] {
        match self.next() {
            Some(Part::Text(start, end)) => &self.bytes[start..end],
            _ => &[],
        }
    }

    /// The next parameter, a TEXT up to its 0X.
    pub fn text(&self) -> &[u8] {
        let bytes = self.bytes();
        let end = bytes.iter().position(|&byte| byte == 0);
        &bytes[..end.unwrap_or(bytes.len())]
    }

    /// All texts that are left, one after the other.
    pub fn joined(&self) -> &[u8] {
        let rest = self.parts.iter().skip(self.next.replace(self.parts.len()));
        let start = rest.clone().find_map(|part| match part {
            Part::Text(start, _) => Some(*start),
            Part::Word(_) => None,
        });
        &self.bytes[start.unwrap_or(self.bytes.len())..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_outlives_its_communication_harmlessly() {
        let (first, second) = (Communication::new(3, 1), Communication::new(3, 2));
        let mut map = CommunicationMap::default();
        map.insert(first, 'a');
        assert_eq!((map.get(first), map.get(second), map.len()), (Some(&'a'), None, 1));
        assert_eq!((map.remove(second), map.remove(first)), (None, Some('a')));
        map.insert(second, 'b');
        assert!(map.get_mut(first).is_none() && map.len() == 1);
        assert_eq!(map.iter().collect::<Vec<_>>(), [(second, &'b')]);
        map.insert(first, 'c');
        assert_eq!((map.get(second), map.len()), (None, 1), "it is what is at the place now");
    }

    #[test]
    fn parameters_come_in_order() {
        let mut values = Values::default();
        for round in 0..2 {
            values.clear();
            values.push_word(u64::MAX);
            values.push_text(b"with\0nul");
            values.push_text(b"cut\0off");
            values.push_text(b"");
            assert_eq!(values.integer(), -1, "round {round}");
            assert_eq!((values.bytes(), values.text()), (&b"with\0nul"[..], &b"cut"[..]));
            assert_eq!((values.bytes(), values.bytes()), (&b""[..], &b""[..]));
            assert_eq!(values.word(), 0);
        }
        values.clear();
        assert_eq!(values.joined(), b"");
        values.push_word(1);
        values.push_text(b"ab");
        values.push_text(b"c");
        values.next.set(0);
        assert_eq!((values.word(), values.joined(), values.bytes()), (1, &b"abc"[..], &b""[..]));
    }
}
