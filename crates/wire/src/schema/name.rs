//! Short texts, of which a schema has thousands: names of fields, of types, of values.
//!
//! ```text
//! up to 22 bytes   | 0 | length | bytes ...            |
//! longer           | 1 | -      | pointer | length     |
//! ```
//! Nearly all names fit inline and so need no allocation.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;

/// The bytes that fit beside the length.
const SHORT_MAX: usize = 22;

/// An immutable text, which derefs to `str`.
#[derive(Clone)]
pub struct Name(Repr);

#[derive(Clone)]
enum Repr {
    /// Zeros after the text.
    Short(u8, [u8; SHORT_MAX]),
    Long(Box<str>),
}

impl Name {
    /// The empty text.
    pub const EMPTY: Name = Name(Repr::Short(0, [0; SHORT_MAX]));

    /// The text of `bytes`; `None` if they are not UTF-8.
    pub fn from_utf8(bytes: &[u8]) -> Option<Name> {
        match short(bytes) {
            Some(repr @ Repr::Short(_, copied)) if copied.is_ascii() => Some(Name(repr)),
            _ => std::str::from_utf8(bytes).ok().map(Name::from),
        }
    }

    /// The text of an iterator of bytes; `None` if they are not UTF-8.
    pub fn collect(mut bytes: impl Iterator<Item = u8>) -> Option<Name> {
        let (mut first, mut length) = ([0; SHORT_MAX], 0);
        while let Some(byte) = bytes.next() {
            let Some(place) = first.get_mut(length) else {
                let all = first.into_iter().chain([byte]).chain(bytes).collect();
                return String::from_utf8(all).ok().map(Name::from);
            };
            *place = byte;
            length += 1;
        }
        Name::from_utf8(&first[..length])
    }

    /// The text.
    #[inline]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            // SAFETY: these bytes were copied from a `str`, or are ASCII.
            Repr::Short(length, bytes) => unsafe {
                std::str::from_utf8_unchecked(&bytes[..usize::from(*length)])
            },
            Repr::Long(text) => text,
        }
    }
}

#[inline]
fn short(text: &[u8]) -> Option<Repr> {
    let mut bytes = [0; SHORT_MAX];
    bytes.get_mut(..text.len())?.copy_from_slice(text);
    Some(Repr::Short(text.len() as u8, bytes))
}

impl From<&str> for Name {
    #[inline]
    fn from(text: &str) -> Name {
        Name(short(text.as_bytes()).unwrap_or_else(|| Repr::Long(text.into())))
    }
}

impl From<String> for Name {
    fn from(text: String) -> Name {
        Name(short(text.as_bytes()).unwrap_or_else(|| Repr::Long(text.into())))
    }
}

impl Default for Name {
    fn default() -> Name {
        Name::EMPTY
    }
}

impl Deref for Name {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq for Name {
    #[inline]
    fn eq(&self, other: &Name) -> bool {
        **self == **other
    }
}

impl Eq for Name {}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Name) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Name) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl PartialEq<str> for Name {
    #[inline]
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for Name {
    #[inline]
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_all_lengths_come_back() {
        for length in 0..60 {
            let text: String = "aä€b".chars().cycle().take(length).collect();
            let name = Name::from(text.as_str());
            assert_eq!(&*name, text);
            assert_eq!(name.clone(), Name::from(text.clone()));
            assert_eq!(Name::from_utf8(text.as_bytes()), Some(name.clone()));
            assert_eq!(Name::collect(text.bytes()), Some(name));
        }
        assert_eq!(size_of::<Option<Name>>(), 24);
    }

    #[test]
    fn bytes_that_are_no_text_make_no_name() {
        for length in 1..60 {
            let mut bytes = vec![b'a'; length];
            bytes[length - 1] = 0xC3;
            assert_eq!(Name::from_utf8(&bytes), None, "{length}");
            assert_eq!(Name::collect(bytes.into_iter()), None, "{length}");
        }
    }
}
