//! The fabric's part of an envelope: identity, sequence, fragments, acknowledgement.
//!
//! ```text
//! Envelope  { fixed64 program = 1; uint64 sequence = 2; (content) = 3;
//!             Fragment fragment = 4; Ack ack = 5; }
//! Fragment  { uint64 message = 1; uint32 index = 2; uint32 count = 3; uint32 total = 4;
//!             bytes data = 5; }
//! Ack       { fixed64 incarnation = 1; fixed64 peer = 2; uint64 stream = 3;
//!             uint64 acknowledged = 4; uint64 cumulative = 5; bytes selective = 6;
//!             uint32 window = 7; }
//! ```
//! The content is the owner's: fields with number 3, encoded, one after the other. Encoded fields
//! may follow each other in any order and in any number of pieces, so a datagram is made by putting
//! pieces one after the other: a head here, content that was encoded when it was queued there.

/// The number of the field that holds content.
pub const CONTENT: u64 = 3;

/// All of an envelope but its content.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Head<'a> {
    /// The identity of the sender's program, 0 if it does not say.
    pub program: u64,
    /// Counts datagrams: of the reliable stream if `ack` is present, else all to this peer; 0 for a
    /// datagram that is not to be acknowledged.
    pub sequence: u64,
    /// There is content, too.
    pub has_content: bool,
    /// A part of a larger message.
    pub fragment: Option<Fragment<'a>>,
    /// The state of reliable delivery.
    pub ack: Option<Ack<'a>>,
}

/// A part of a message; all parts but the last have the size of the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Fragment<'a> {
    /// Numbers the sender's messages.
    pub message: u64,
    /// Which part, from 0.
    pub index: u32,
    /// The number of parts.
    pub count: u32,
    /// Bytes of the whole message.
    pub total: u32,
    /// The part.
    pub data: &'a [u8],
}

/// The state of reliable delivery between two nodes, as the sender sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ack<'a> {
    /// Which life of the sender this is; later lives have higher numbers. Never 0.
    pub incarnation: u64,
    /// The life of the receiver that it speaks to, 0 if it knows none yet.
    pub peer: u64,
    /// The sender's stream that `sequence` counts, from 1.
    pub stream: u64,
    /// The receiver's stream that the rest acknowledges, 0 for none.
    pub acknowledged: u64,
    /// All datagrams up to this one have come.
    pub cumulative: u64,
    /// Bit `i`, lowest of each byte first: datagram `cumulative + 1 + i` has come.
    pub selective: &'a [u8],
    /// Datagrams beyond `cumulative` that are taken.
    pub window: u32,
}

/// The bytes are no envelope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed;

impl<'a> Head<'a> {
    /// Reads the head of an envelope. Fields that are not known are skipped; of a field that comes
    /// twice the later one counts. Of content only the length is looked at.
    ///
    /// # Errors
    /// A field is cut, or of another type than its number says.
    pub fn decode(bytes: &'a [u8]) -> Result<Head<'a>, Malformed> {
        let mut head = Head::default();
        for field in fields(bytes) {
            match field? {
                (1, Value::Fixed(value)) => head.program = value,
                (2, Value::Varint(value)) => head.sequence = value,
                (CONTENT, Value::Bytes(_)) => head.has_content = true,
                (4, Value::Bytes(inner)) => {
                    read_fragment(head.fragment.get_or_insert_default(), inner)?;
                }
                (5, Value::Bytes(inner)) => read_ack(head.ack.get_or_insert_default(), inner)?,
                (1..=5, _) => return Err(Malformed),
                _ => {}
            }
        }
        Ok(head)
    }

    /// Appends the present fields.
    pub fn append(&self, out: &mut Vec<u8>) {
        put_fixed(out, 1, self.program);
        put_varint(out, 2, self.sequence);
        if let Some(fragment) = &self.fragment {
            put_message(out, 4, |out| {
                put_varint(out, 1, fragment.message);
                put_varint(out, 2, fragment.index.into());
                put_varint(out, 3, fragment.count.into());
                put_varint(out, 4, fragment.total.into());
                put_bytes(out, 5, fragment.data);
            });
        }
        if let Some(ack) = &self.ack {
            put_message(out, 5, |out| {
                put_fixed(out, 1, ack.incarnation);
                put_fixed(out, 2, ack.peer);
                put_varint(out, 3, ack.stream);
                put_varint(out, 4, ack.acknowledged);
                put_varint(out, 5, ack.cumulative);
                put_bytes(out, 6, ack.selective);
                put_varint(out, 7, ack.window.into());
            });
        }
    }
}

fn read_fragment<'a>(fragment: &mut Fragment<'a>, bytes: &'a [u8]) -> Result<(), Malformed> {
    for field in fields(bytes) {
        match field? {
            (1, Value::Varint(value)) => fragment.message = value,
            (2, Value::Varint(value)) => fragment.index = value as u32,
            (3, Value::Varint(value)) => fragment.count = value as u32,
            (4, Value::Varint(value)) => fragment.total = value as u32,
            (5, Value::Bytes(value)) => fragment.data = value,
            (1..=5, _) => return Err(Malformed),
            _ => {}
        }
    }
    Ok(())
}

fn read_ack<'a>(ack: &mut Ack<'a>, bytes: &'a [u8]) -> Result<(), Malformed> {
    for field in fields(bytes) {
        match field? {
            (1, Value::Fixed(value)) => ack.incarnation = value,
            (2, Value::Fixed(value)) => ack.peer = value,
            (3, Value::Varint(value)) => ack.stream = value,
            (4, Value::Varint(value)) => ack.acknowledged = value,
            (5, Value::Varint(value)) => ack.cumulative = value,
            (6, Value::Bytes(value)) => ack.selective = value,
            (7, Value::Varint(value)) => ack.window = value as u32,
            (1..=7, _) => return Err(Malformed),
            _ => {}
        }
    }
    Ok(())
}

/// A field's value, by how it is encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Value<'a> {
    Varint(u64),
    Fixed(u64),
    Bytes(&'a [u8]),
    Short,
}

/// The fields of a message, with their numbers, up to the first that is malformed.
fn fields(mut rest: &[u8]) -> impl Iterator<Item = Result<(u64, Value<'_>), Malformed>> {
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let field = take_field(&mut rest).ok_or(Malformed);
        if field.is_err() {
            rest = &[];
        }
        Some(field)
    })
}

fn take_field<'a>(rest: &mut &'a [u8]) -> Option<(u64, Value<'a>)> {
    let tag = u32::try_from(take_varint(rest)?).ok()?;
    let number = u64::from(tag >> 3);
    let value = match tag & 7 {
        0 => Value::Varint(take_varint(rest)?),
        1 => Value::Fixed(u64::from_le_bytes(*take(rest, 8)?.first_chunk()?)),
        2 => {
            let length = usize::try_from(take_varint(rest)?).ok()?;
            Value::Bytes(take(rest, length)?)
        }
        5 => take(rest, 4).map(|_| Value::Short)?,
        _ => return None,
    };
    (number > 0).then_some((number, value))
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(count)?;
    *rest = left;
    Some(taken)
}

#[inline]
fn take_varint(rest: &mut &[u8]) -> Option<u64> {
    match *rest {
        [byte @ ..0x80, left @ ..] => {
            *rest = left;
            Some(u64::from(*byte))
        }
        _ => take_long_varint(rest),
    }
}

fn take_long_varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for at in 0..10 {
        let (&byte, left) = rest.split_first()?;
        *rest = left;
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            // The tenth byte has room for one bit.
            return (at < 9 || byte < 2).then_some(value);
        }
    }
    None
}

fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Zeros and empty bytes are not written: an absent field has these values.
fn put_varint(out: &mut Vec<u8>, number: u8, value: u64) {
    if value != 0 {
        out.push(number << 3);
        push_varint(out, value);
    }
}

fn put_fixed(out: &mut Vec<u8>, number: u8, value: u64) {
    if value != 0 {
        out.push(number << 3 | 1);
        out.extend_from_slice(&value.to_le_bytes());
    }
}

fn put_bytes(out: &mut Vec<u8>, number: u8, bytes: &[u8]) {
    if !bytes.is_empty() {
        out.push(number << 3 | 2);
        push_varint(out, bytes.len() as u64);
        out.extend_from_slice(bytes);
    }
}

fn put_message(out: &mut Vec<u8>, number: u8, put: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    put(&mut inner);
    out.push(number << 3 | 2);
    push_varint(out, inner.len() as u64);
    out.extend_from_slice(&inner);
}

/// Appends content: bytes as the field that holds it.
#[cfg(test)]
pub(crate) fn append_content(out: &mut Vec<u8>, bytes: &[u8]) {
    put_message(out, CONTENT as u8, |out| out.extend_from_slice(bytes));
}

/// The pieces of content in an envelope.
#[cfg(test)]
pub(crate) fn contents(bytes: &[u8]) -> Vec<&[u8]> {
    let found = fields(bytes).filter_map(|field| match field.expect("a field") {
        (CONTENT, Value::Bytes(content)) => Some(content),
        _ => None,
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_head_has_its_known_bytes() {
        let mut bytes = Vec::new();
        Head { program: 0x0102, sequence: 5, ..Head::default() }.append(&mut bytes);
        assert_eq!(bytes, b"\x09\x02\x01\x00\x00\x00\x00\x00\x00\x10\x05");
    }

    #[test]
    fn a_later_field_counts_and_messages_merge() {
        let bytes = b"\x10\x05\x10\x06\x22\x02\x08\x01\x22\x02\x10\x02\x1a\x00\x32\x00";
        let fragment = Fragment { message: 1, index: 2, ..Fragment::default() };
        let head =
            Head { sequence: 6, fragment: Some(fragment), has_content: true, ..Head::default() };
        assert_eq!(Head::decode(bytes), Ok(head));
    }

    #[test]
    fn what_is_no_envelope_is_refused() {
        let wrong: [&[u8]; 9] = [
            b"\x10",
            b"\x10\x80",
            b"\x11\x00",
            b"\x08\x00",
            b"\x1a\x02\x00",
            b"\x00\x00",
            b"\x0b\x0c",
            b"\x22\x02\x0a\x00",
            b"\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
        ];
        for bytes in wrong {
            assert_eq!(Head::decode(bytes), Err(Malformed), "{bytes:x?}");
        }
    }

    proptest! {
        #[test]
        fn heads_come_back(
            (program, sequence) in any::<(u64, u64)>(),
            fragment in prop::option::of(any::<(u64, u32, u32, u32)>()),
            ack in prop::option::of((any::<[u64; 5]>(), any::<u32>())),
            data in prop::collection::vec(any::<u8>(), 0..300),
            has_content in any::<bool>(),
        ) {
            let fragment = fragment.map(|(message, index, count, total)| Fragment {
                message, index, count, total, data: &data,
            });
            let ack = ack.map(|([incarnation, peer, stream, acknowledged, cumulative], window)| {
                let selective = &data;
                Ack { incarnation, peer, stream, acknowledged, cumulative, selective, window }
            });
            let head = Head { program, sequence, has_content, fragment, ack };
            let mut bytes = Vec::new();
            head.append(&mut bytes);
            if has_content {
                append_content(&mut bytes, &data);
            }
            prop_assert_eq!(Head::decode(&bytes), Ok(head));
            for length in 0..bytes.len() {
                // Cut anywhere it is another head or none.
                let _ = Head::decode(&bytes[..length]);
            }
        }

        #[test]
        fn any_bytes_are_a_head_or_none(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Head::decode(&bytes);
        }
    }
}
