//! The key of a flow: some fields of a packet, as bytes.
//!
//! ```text
//! each field: length, or 255 if there is none; then its bytes; integers without leading zeros
//! ```

use tidemill_packet::fields::{FieldValue, Fields};
use tidemill_packet::packet::Packet;

/// The maximum length of a key without a heap block: five fields of IPv4 have 20 bytes at most.
const SHORT: usize = 22;

/// A field that the packet lacks.
const ABSENT: u8 = u8::MAX;

/// The key of a flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Key {
    Short { len: u8, bytes: [u8; SHORT] },
    Long(Box<[u8]>),
}

impl Key {
    /// The key of a packet; `spare` is a buffer.
    #[inline]
    pub(super) fn of(per: &Fields, packet: &Packet, spare: &mut Vec<u8>) -> Key {
        spare.clear();
        for field in per.of(packet) {
            match field {
                FieldValue::Absent => spare.push(ABSENT),
                FieldValue::Integer(number) | FieldValue::Time(number) => {
                    let all = number.to_be_bytes();
                    put(spare, &all[(number.leading_zeros() / 8) as usize..]);
                }
                FieldValue::Bytes(bytes) => put(spare, bytes),
            }
        }
        match spare.len() {
            len @ ..=SHORT => {
                let mut bytes = [0; SHORT];
                bytes[..len].copy_from_slice(spare);
                Key::Short { len: len as u8, bytes }
            }
            _ => Key::Long(spare.as_slice().into()),
        }
    }

    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Key::Short { len, bytes } => &bytes[..usize::from(*len)],
            Key::Long(bytes) => bytes,
        }
    }
}

/// A long field, such as a payload, is preceded by its full length.
fn put(all: &mut Vec<u8>, field: &[u8]) {
    match u8::try_from(field.len()) {
        Ok(len) if len < ABSENT - 1 => all.push(len),
        _ => {
            all.push(ABSENT - 1);
            all.extend((field.len() as u64).to_be_bytes());
        }
    }
    all.extend_from_slice(field);
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemill_packet::packet::Pool;

    #[test]
    fn keys_differ_where_fields_do() {
        let pool = Pool::new(8);
        let mut spare = Vec::new();
        let mut key = |per: &str, frame: &[u8]| {
            let packet = pool.packet_of(frame).expect("a packet");
            Key::of(&Fields::parse(per).expect("fields"), &packet, &mut spare)
        };
        let all: Vec<Key> = [
            key("", b""),
            key("ip.src", b""),
            key("ip.src, bytes", b""),
            key("bytes, ip.src", b""),
            key("len", &[0]),
            key("len", &[0; 256]),
            key("bytes", &[0; 200]),
            key("bytes", &[0; 254]),
            key("bytes", &[0; 255]),
            key("bytes", &[0; 256]),
        ]
        .to_vec();
        for (at, one) in all.iter().enumerate() {
            assert!(all[at + 1..].iter().all(|other| one != other), "{at}: {one:?}");
        }
        assert_eq!(key("bytes", &[1; 300]), key("bytes", &[1; 300]));
    }
}
