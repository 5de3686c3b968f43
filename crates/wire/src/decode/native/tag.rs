//! Tags as generated code compares them: all bytes of one at once.
//!
//! A tag is a varint of `number << 3 | wire type`. It is loaded as a number of the machine, least
//! significant byte first, and compared with a constant; nothing is decoded:
//!
//! ```text
//! field 1, LEN        tag 1 << 3 | 2   = 0x00a    bytes 0a       raw 0x0a
//! field 300, VARINT   tag 300 << 3 | 0 = 0x960    bytes e0 12    raw 0x12e0
//! ```
//! Every byte of a varint but the last has its highest bit set. So tags of different lengths are
//! never equal in the bytes of the shorter one, and one byte whose highest bit is clear is all of
//! a tag, of a number below 16.

/// A tag as it is in the input.
#[derive(Clone, Copy, Debug)]
pub(super) struct TagBytes {
    /// Its bytes, the first one lowest; 0 beyond them.
    pub(super) raw: u64,
    /// 1 to 5.
    pub(super) length: i64,
}

impl TagBytes {
    pub(super) fn of(tag: u32) -> TagBytes {
        let mut bytes = Vec::new();
        crate::varint::write(&mut bytes, u64::from(tag));
        let length = bytes.len() as i64;
        bytes.resize(8, 0);
        let raw = bytes.iter().rev().fold(0, |raw, &byte| raw << 8 | u64::from(byte));
        TagBytes { raw, length }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_module() {
        for (tag, raw, length) in [(1 << 3 | 2, 0x0a, 1), (300 << 3, 0x12e0, 2)] {
            let bytes = TagBytes::of(tag);
            assert_eq!((bytes.raw, bytes.length), (raw, length));
        }
    }

    #[test]
    fn a_tag_is_not_the_beginning_of_a_longer_one() {
        let ends = [1, 15, 16, 2047, 2048, 262_143, 262_144, 33_554_431, 33_554_432, 536_870_911];
        let tags: Vec<TagBytes> = ends.map(|number| TagBytes::of(number << 3 | 5)).into();
        for short in &tags {
            assert!(short.raw >> (8 * short.length) == 0, "{short:?}");
            let mask = (1 << (8 * short.length)) - 1;
            let same = tags.iter().filter(|long| long.raw & mask == short.raw).count();
            assert_eq!(same, 1, "{short:?}");
        }
        assert_eq!(tags.iter().map(|tag| tag.length).max(), Some(5));
    }
}
