//! Keyed hashes (BLAKE2s): the first check, which separates members of a fleet from strangers.

use blake2::Blake2sMac;
use blake2::digest::Mac;
use blake2::digest::consts::{U16, U32};

/// Bytes of a keyed hash on the wire.
pub(crate) const MAC_BYTES: usize = 16;

/// A keyed hash.
pub(crate) type Tag = [u8; MAC_BYTES];

/// A key for [`mac`] and [`derive`].
pub(crate) type MacKey = [u8; 32];

fn hasher(key: &MacKey, parts: &[&[u8]]) -> Blake2sMac<U16> {
    let mut hasher = <Blake2sMac<U16> as Mac>::new(key.into());
    parts.iter().for_each(|part| hasher.update(part));
    hasher
}

/// The keyed hash of all parts, one after the other.
pub(crate) fn mac(key: &MacKey, parts: &[&[u8]]) -> Tag {
    hasher(key, parts).finalize().into_bytes().into()
}

/// Compares in constant time.
pub(crate) fn verify(key: &MacKey, parts: &[&[u8]], tag: &[u8]) -> bool {
    hasher(key, parts).verify_slice(tag).is_ok()
}

/// Another key, for the purpose that `parts` name. Never equals a [`Tag`]: BLAKE2s hashes its
/// output length, too.
pub(crate) fn derive(key: &MacKey, parts: &[&[u8]]) -> MacKey {
    let mut hasher = <Blake2sMac<U32> as Mac>::new(key.into());
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_depends_on_key_and_content() {
        let tag = mac(&[1; 32], &[b"ab", b"c"]);
        assert_eq!(tag, mac(&[1; 32], &[b"a", b"bc"]));
        assert!(verify(&[1; 32], &[b"abc"], &tag));
        assert!(!verify(&[2; 32], &[b"abc"], &tag));
        assert!(!verify(&[1; 32], &[b"abd"], &tag));
        assert!(!verify(&[1; 32], &[b"abc"], &tag[..15]));
        assert_ne!(derive(&[1; 32], &[b"abc"])[..16], tag);
        assert_ne!(derive(&[1; 32], &[b"x"]), derive(&[1; 32], &[b"y"]));
    }

    #[test]
    fn the_hash_is_blake2s() {
        // Keyed BLAKE2s-256 of nothing: the first vector of the reference implementation.
        let key: Vec<u8> = (0..32).collect();
        let hash = derive(key[..].try_into().unwrap(), &[]);
        assert_eq!(hash[..8], [0x48, 0xa8, 0x99, 0x7d, 0xa4, 0x07, 0x87, 0x6b]);
    }
}
