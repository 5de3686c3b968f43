//! The four kinds of sealed frames. Numbers are little endian.
//!
//! ```text
//! initiation   1  0 0 0  sender:u32                noise:472  hash:16  proof:16      512 bytes
//! response     2  0 0 0  receiver:u32  sender:u32  noise      hash:16
//! cookie       3  0 0 0  receiver:u32  nonce:24    sealed:32                          64 bytes
//! data         4  k 0 0  receiver:u32  counter:u64 sealed                      k = 0
//!                                      0:u64       noise      hash:16          k = 1: finish
//! ```
//! `sender` and `receiver` are indices of handshakes and sessions, chosen by the side they name.
//! `hash` is a keyed hash, by the fleet's key, of all before it; `proof` one by a cookie, or zeros.
//! An unsealed envelope never begins with 1 to 4: these are tags of a field 0, which does not
//! exist.

use super::keys::FleetKey;
use super::mac::{MAC_BYTES, Tag, mac, verify};

/// Bytes of an initiation: no answer to it is longer.
pub const INITIATION_BYTES: usize = 512;

/// Bytes of random numbers in a cookie reply.
pub(super) const NONCE_BYTES: usize = 24;

/// Bytes of a sealed cookie.
pub(super) const SEALED_COOKIE_BYTES: usize = 2 * MAC_BYTES;

/// Bytes of a cookie reply.
pub(super) const COOKIE_REPLY_BYTES: usize = 8 + NONCE_BYTES + SEALED_COOKIE_BYTES;

/// Bytes of a data frame before the sealed part.
pub(crate) const DATA_HEAD_BYTES: usize = 16;

/// Bytes of an initiation that its keyed hash covers.
const HASHED_BYTES: usize = INITIATION_BYTES - 2 * MAC_BYTES;

/// Bytes of the handshake's first message.
pub(super) const FIRST_BYTES: usize = HASHED_BYTES - 8;

const INITIATION: u8 = 1;
const RESPONSE: u8 = 2;
const COOKIE: u8 = 3;
const DATA: u8 = 4;
const FINISH: u8 = 1;

/// Whether a datagram is a sealed frame, by its first byte.
pub fn is_sealed(bytes: &[u8]) -> bool {
    matches!(bytes.first(), Some(INITIATION..=DATA))
}

/// A frame, taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Frame<'a> {
    Initiation(Initiation<'a>),
    Response(Response<'a>),
    Cookie(CookieReply<'a>),
    Finish(Finish<'a>),
    Data(Data),
}

/// The first message of a handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Initiation<'a> {
    pub(super) sender: u32,
    pub(super) noise: &'a [u8],
    hashed: &'a [u8],
    pub(super) hash: Tag,
    /// The bytes that the proof covers.
    pub(super) proved: &'a [u8],
    pub(super) proof: &'a [u8],
}

/// The second message of a handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Response<'a> {
    pub(super) receiver: u32,
    pub(super) sender: u32,
    pub(super) noise: &'a [u8],
    hashed: &'a [u8],
    hash: &'a [u8],
}

/// A cookie, sealed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CookieReply<'a> {
    pub(super) receiver: u32,
    pub(super) nonce: &'a [u8; NONCE_BYTES],
    pub(super) sealed: &'a [u8; SEALED_COOKIE_BYTES],
}

/// The third message of a handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Finish<'a> {
    pub(super) receiver: u32,
    pub(super) noise: &'a [u8],
    hashed: &'a [u8],
    pub(super) hash: Tag,
}

/// The head of what is sealed by a session, which follows it ([`DATA_HEAD_BYTES`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Data {
    pub(super) receiver: u32,
    pub(super) counter: u64,
}

impl<'a> Frame<'a> {
    /// Takes a datagram apart; `None` if it is no frame of these.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Frame<'a>> {
        let (&[kind, form, 0, 0], rest) = bytes.split_first_chunk()? else { return None };
        let (&index, rest) = rest.split_first_chunk()?;
        let index = u32::from_le_bytes(index);
        match (kind, form) {
            (INITIATION, 0) if bytes.len() == INITIATION_BYTES => {
                let (hashed, hash) = bytes[..INITIATION_BYTES - MAC_BYTES].split_last_chunk()?;
                let (proved, proof) = bytes.split_at(INITIATION_BYTES - MAC_BYTES);
                let noise = &hashed[8..];
                let hash = *hash;
                let initiation = Initiation { sender: index, noise, hashed, hash, proved, proof };
                Some(Frame::Initiation(initiation))
            }
            (RESPONSE, 0) if bytes.len() <= INITIATION_BYTES => {
                let (&sender, rest) = rest.split_first_chunk()?;
                let (noise, hash) = split_hash(rest)?;
                let hashed = &bytes[..bytes.len() - MAC_BYTES];
                let sender = u32::from_le_bytes(sender);
                Some(Frame::Response(Response { receiver: index, sender, noise, hashed, hash }))
            }
            (COOKIE, 0) if bytes.len() == COOKIE_REPLY_BYTES => {
                let (nonce, sealed) = rest.split_first_chunk()?;
                let sealed = sealed.try_into().ok()?;
                Some(Frame::Cookie(CookieReply { receiver: index, nonce, sealed }))
            }
            (DATA, 0) => {
                let (&counter, sealed) = rest.split_first_chunk()?;
                let counter = u64::from_le_bytes(counter);
                let is_long = sealed.len() > MAC_BYTES;
                is_long.then_some(Frame::Data(Data { receiver: index, counter }))
            }
            (DATA, FINISH) if bytes.len() <= INITIATION_BYTES => {
                let (&[0, 0, 0, 0, 0, 0, 0, 0], rest) = rest.split_first_chunk()? else {
                    return None;
                };
                let (noise, _) = split_hash(rest)?;
                let (hashed, hash) = bytes.split_last_chunk()?;
                Some(Frame::Finish(Finish { receiver: index, noise, hashed, hash: *hash }))
            }
            _ => None,
        }
    }
}

fn split_hash(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    bytes.split_at_checked(bytes.len().checked_sub(MAC_BYTES)?)
}

impl Initiation<'_> {
    /// Whether its hash is by that key.
    pub(super) fn is_by(&self, key: &FleetKey) -> bool {
        verify(&key.mac, &[self.hashed], &self.hash)
    }

    /// Whether it brings a proof at all.
    pub(super) fn has_proof(&self) -> bool {
        self.proof != [0; MAC_BYTES]
    }
}

impl Response<'_> {
    pub(super) fn is_by(&self, key: &FleetKey) -> bool {
        verify(&key.mac, &[self.hashed], self.hash)
    }
}

impl Finish<'_> {
    pub(super) fn is_by(&self, key: &FleetKey) -> bool {
        verify(&key.mac, &[self.hashed], &self.hash)
    }
}

fn head(kind: u8, form: u8, index: u32) -> Vec<u8> {
    let mut bytes = vec![kind, form, 0, 0];
    bytes.extend_from_slice(&index.to_le_bytes());
    bytes
}

fn hashed(mut bytes: Vec<u8>, key: &FleetKey) -> Vec<u8> {
    let hash = mac(&key.mac, &[&bytes]);
    bytes.extend_from_slice(&hash);
    bytes
}

/// An initiation without proof; `noise` has [`FIRST_BYTES`].
pub(super) fn initiation(sender: u32, noise: &[u8], key: &FleetKey) -> Vec<u8> {
    let mut bytes = head(INITIATION, 0, sender);
    bytes.extend_from_slice(noise);
    let mut bytes = hashed(bytes, key);
    bytes.resize(INITIATION_BYTES, 0);
    bytes
}

/// The bytes of an initiation that its proof covers, and the place of the proof.
pub(super) fn proof_of(initiation: &mut [u8]) -> (&[u8], &mut [u8]) {
    let at = initiation.len().saturating_sub(MAC_BYTES);
    let (proved, proof) = initiation.split_at_mut(at);
    (proved, proof)
}

pub(super) fn response(receiver: u32, sender: u32, noise: &[u8], key: &FleetKey) -> Vec<u8> {
    let mut bytes = head(RESPONSE, 0, receiver);
    bytes.extend_from_slice(&sender.to_le_bytes());
    bytes.extend_from_slice(noise);
    hashed(bytes, key)
}

pub(super) fn finish(receiver: u32, noise: &[u8], key: &FleetKey) -> Vec<u8> {
    let mut bytes = head(DATA, FINISH, receiver);
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(noise);
    hashed(bytes, key)
}

pub(super) fn cookie_reply(reply: &CookieReply<'_>) -> Vec<u8> {
    let mut bytes = head(COOKIE, 0, reply.receiver);
    bytes.extend_from_slice(reply.nonce);
    bytes.extend_from_slice(reply.sealed);
    bytes
}

/// Appends the head of data.
pub(super) fn put_data_head(out: &mut Vec<u8>, receiver: u32, counter: u64) {
    let mut head = [DATA; DATA_HEAD_BYTES];
    head[1..4].fill(0);
    head[4..8].copy_from_slice(&receiver.to_le_bytes());
    head[8..].copy_from_slice(&counter.to_le_bytes());
    out.extend_from_slice(&head);
}

#[cfg(test)]
mod tests {
    use super::super::keys::FleetKeys;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn frames_come_back() {
        let keys = FleetKeys::parse(&"0123abcd".repeat(8)).unwrap();
        let other = FleetKeys::parse(&"3210abcd".repeat(8)).unwrap();
        let noise = [5; FIRST_BYTES];
        let bytes = initiation(7, &noise, keys.first());
        let Some(Frame::Initiation(first)) = Frame::parse(&bytes) else { panic!() };
        assert_eq!((bytes.len(), first.sender, first.noise), (512, 7, &noise[..]));
        assert!(first.is_by(keys.first()) && !first.is_by(other.first()) && !first.has_proof());
        let bytes = response(7, 9, &noise[..100], keys.first());
        let Some(Frame::Response(second)) = Frame::parse(&bytes) else { panic!() };
        assert_eq!((second.receiver, second.sender, second.noise), (7, 9, &noise[..100]));
        assert!(second.is_by(keys.first()) && !second.is_by(other.first()));
        let bytes = finish(9, &noise[..100], keys.first());
        let Some(Frame::Finish(third)) = Frame::parse(&bytes) else { panic!() };
        assert_eq!((third.receiver, third.noise), (9, &noise[..100]));
        assert!(third.is_by(keys.first()) && !third.is_by(other.first()));
        let reply = CookieReply { receiver: 3, nonce: &[1; 24], sealed: &[2; 32] };
        assert_eq!(Frame::parse(&cookie_reply(&reply)), Some(Frame::Cookie(reply)));
        let mut bytes = Vec::new();
        put_data_head(&mut bytes, 5, 6);
        assert_eq!(bytes.len(), DATA_HEAD_BYTES);
        bytes.extend([8; MAC_BYTES]);
        assert_eq!(Frame::parse(&bytes), None, "nothing is sealed in it");
        bytes.push(8);
        let data = Data { receiver: 5, counter: 6 };
        assert_eq!(Frame::parse(&bytes), Some(Frame::Data(data)));
        assert!(is_sealed(&bytes) && !is_sealed(&[9]) && !is_sealed(&[0]) && !is_sealed(&[]));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_frame_or_none(
            kind in 0u8..6,
            form in 0u8..3,
            length in prop_oneof![0usize..700, Just(512), Just(64)],
        ) {
            let mut bytes = vec![0; length];
            bytes.iter_mut().take(2).zip([kind, form]).for_each(|(byte, value)| *byte = value);
            let _ = Frame::parse(&bytes);
        }
    }
}
