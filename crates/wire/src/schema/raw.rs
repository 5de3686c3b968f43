//! Messages without a schema: numbers, wire types, payloads.
//!
//! It reads descriptors and options, before there is a schema.

use super::{FIELD_NUMBER_MAX, WireType};
use crate::varint;

/// The maximal nesting of groups.
const DEPTH_MAX: usize = 100;

/// One field's payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RawValue<'a> {
    /// A varint.
    Varint(u64),
    /// Eight bytes.
    Fixed64(u64),
    /// Bytes after their length.
    Length(&'a [u8]),
    /// The fields between a start and its end.
    Group(&'a [u8]),
    /// Four bytes.
    Fixed32(u32),
}

/// The fields of a message in the order of its bytes; an error ends it.
#[derive(Clone, Debug)]
pub struct RawFields<'a> {
    rest: &'a [u8],
}

/// The error of bytes that are no message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed;

impl<'a> RawFields<'a> {
    /// The fields of `bytes`.
    pub fn new(bytes: &'a [u8]) -> RawFields<'a> {
        RawFields { rest: bytes }
    }

    /// The bytes not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[inline]
    fn varint(&mut self) -> Result<u64, Malformed> {
        let (value, length) = varint::read(self.rest).map_err(|_| Malformed)?;
        self.rest = &self.rest[length..];
        Ok(value)
    }

    #[inline]
    fn take(&mut self, length: u64) -> Result<&'a [u8], Malformed> {
        let length = usize::try_from(length).map_err(|_| Malformed)?;
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.take(N as u64)?.try_into().map_err(|_| Malformed)
    }

    #[inline]
    fn tag(&mut self) -> Result<(u32, WireType), Malformed> {
        let tag = self.varint()?;
        let number = tag >> 3;
        let wire_type = WireType::from_tag(tag).ok_or(Malformed)?;
        if (1..=u64::from(FIELD_NUMBER_MAX)).contains(&number) {
            Ok((number as u32, wire_type))
        } else {
            Err(Malformed)
        }
    }

    #[inline]
    fn value(
        &mut self,
        number: u32,
        wire_type: WireType,
        depth: usize,
    ) -> Result<RawValue<'a>, Malformed> {
        Ok(match wire_type {
            WireType::Varint => RawValue::Varint(self.varint()?),
            WireType::Fixed64 => RawValue::Fixed64(u64::from_le_bytes(self.fixed()?)),
            WireType::Fixed32 => RawValue::Fixed32(u32::from_le_bytes(self.fixed()?)),
            WireType::Length => {
                let length = self.varint()?;
                RawValue::Length(self.take(length)?)
            }
            WireType::StartGroup => RawValue::Group(self.group(number, depth)?),
            WireType::EndGroup => return Err(Malformed),
        })
    }

    fn group(&mut self, number: u32, depth: usize) -> Result<&'a [u8], Malformed> {
        if depth >= DEPTH_MAX {
            return Err(Malformed);
        }
        let start = self.rest;
        loop {
            let before = self.rest.len();
            let (inner, wire_type) = self.tag()?;
            if wire_type == WireType::EndGroup {
                let length = start.len() - before;
                return if inner == number { Ok(&start[..length]) } else { Err(Malformed) };
            }
            self.value(inner, wire_type, depth + 1)?;
        }
    }

    /// Reads the most common form of a field: one byte of tag, and one that is the value or the
    /// length.
    #[inline]
    fn short_field(&mut self) -> Option<(u32, RawValue<'a>)> {
        let &[tag @ 8..0x80, second @ ..0x80, ref rest @ ..] = self.rest else { return None };
        let number = u32::from(tag >> 3);
        match WireType::from_tag(tag.into())? {
            WireType::Varint => {
                self.rest = rest;
                Some((number, RawValue::Varint(second.into())))
            }
            WireType::Length => {
                let (taken, rest) = rest.split_at_checked(second.into())?;
                self.rest = rest;
                Some((number, RawValue::Length(taken)))
            }
            _ => None,
        }
    }

    fn field(&mut self) -> Result<(u32, RawValue<'a>), Malformed> {
        let (number, wire_type) = self.tag()?;
        Ok((number, self.value(number, wire_type, 0)?))
    }
}

impl<'a> Iterator for RawFields<'a> {
    type Item = Result<(u32, RawValue<'a>), Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        if let Some(field) = self.short_field() {
            return Some(Ok(field));
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// The last varint of that field, which replaces earlier ones.
pub fn last_varint(bytes: &[u8], number: u32) -> Option<u64> {
    if bytes.is_empty() {
        return None; // Most elements have no options.
    }
    RawFields::new(bytes)
        .flatten()
        .filter_map(|field| match field {
            (found, RawValue::Varint(value)) if found == number => Some(value),
            _ => None,
        })
        .last()
}

/// All length-delimited payloads of that field.
pub fn lengths(bytes: &[u8], number: u32) -> impl Iterator<Item = &[u8]> {
    RawFields::new(bytes).flatten().filter_map(move |field| match field {
        (found, RawValue::Length(value)) if found == number => Some(value),
        _ => None,
    })
}

/// Appends a tag.
#[inline]
pub fn put_tag(out: &mut Vec<u8>, number: u32, wire_type: WireType) {
    varint::write(out, u64::from(number) << 3 | wire_type as u64);
}

/// Appends a varint field.
#[inline]
pub fn put_varint(out: &mut Vec<u8>, number: u32, value: u64) {
    put_tag(out, number, WireType::Varint);
    varint::write(out, value);
}

/// Appends bytes, a string or a message with its length.
#[inline]
pub fn put_length(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    put_tag(out, number, WireType::Length);
    varint::write(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_in_order_and_groups_whole() {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, 1, 300);
        put_tag(&mut bytes, 2, WireType::StartGroup);
        put_length(&mut bytes, 3, b"x");
        put_tag(&mut bytes, 2, WireType::EndGroup);
        put_varint(&mut bytes, 1, 7);
        let found: Vec<_> = RawFields::new(&bytes).collect::<Result<_, _>>().unwrap();
        let group = RawValue::Group(b"\x1a\x01x");
        assert_eq!(found, [(1, RawValue::Varint(300)), (2, group), (1, RawValue::Varint(7))]);
        assert_eq!(last_varint(&bytes, 1), Some(7));
        for cut in 1..bytes.len() {
            let fields = RawFields::new(&bytes[..cut]);
            assert!(fields.count() <= 3);
        }
        assert_eq!(RawFields::new(b"\x13\x1c").last(), Some(Err(Malformed)));
    }
}
