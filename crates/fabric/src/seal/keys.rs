//! Keys as texts: the keys of a fleet, the identity of a node, the identities of its peers.
//!
//! ```text
//! fleet key    32 secret bytes that all nodes of a fleet share, a line;
//!              two lines while one replaces the other: both are accepted, the first begins
//! identity     32 secret bytes of one node, a line
//! peers        ADDRESS PUBLICKEY, a line for each peer that is let in
//! ```
//! A key is 64 hexadecimal digits or 44 characters of Base64; it is printed as the former. Empty
//! lines and lines that begin with `#` are ignored. Reading files is the caller's.

use std::fmt;
use std::str::FromStr;

use snow::params::DHChoice;
use snow::resolvers::{CryptoResolver, DefaultResolver};
use tidemill_stdx::sorted::SortedMap;

use super::NAME_BYTES_MAX;
use super::mac::{MacKey, derive};

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;

/// Fleet keys that may be in use at a time.
pub const FLEET_KEYS_MAX: usize = 2;

/// The error in a text of keys; lines count from 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeyError {
    /// A line is no key.
    NoKey {
        /// Which line.
        line: usize,
    },
    /// A key of which all bytes are equal protects nothing.
    Weak {
        /// Which line.
        line: usize,
    },
    /// There is no key in it.
    Empty,
    /// There are more keys in it than may be.
    TooMany {
        /// The maximal number.
        max: usize,
    },
    /// A line of peers that is not `ADDRESS PUBLICKEY`.
    NoPeer {
        /// Which line.
        line: usize,
    },
    /// A duplicate address.
    Twice {
        /// Which line.
        line: usize,
    },
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyError::NoKey { line } => {
                write!(f, "line {line} is no key: 64 hexadecimal digits or 44 of Base64")
            }
            KeyError::Weak { line } => {
                write!(f, "the key in line {line} protects nothing: all its bytes are equal")
            }
            KeyError::Empty => f.write_str("there is no key in it"),
            KeyError::TooMany { max: 1 } => f.write_str("there is more than one key in it"),
            KeyError::TooMany { max } => write!(f, "there are more than {max} keys in it"),
            KeyError::NoPeer { line } => write!(f, "line {line} is not `ADDRESS PUBLICKEY`"),
            KeyError::Twice { line } => write!(f, "the address in line {line} is there twice"),
        }
    }
}

impl std::error::Error for KeyError {}

/// A key as it is printed.
pub fn encode(key: &[u8; KEY_BYTES]) -> String {
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn decode(text: &str) -> Option<[u8; KEY_BYTES]> {
    match text.len() {
        64 => decode_digits(text, 16, 4),
        44 => decode_digits(text.strip_suffix('=')?, 64, 6),
        _ => None,
    }
}

/// Digits of `bits` bits each, the highest first; the bits left over must be zero.
fn decode_digits(text: &str, base: u32, bits: u32) -> Option<[u8; KEY_BYTES]> {
    let (mut key, mut length) = ([0; KEY_BYTES], 0);
    let (mut held, mut held_bits) = (0u32, 0);
    for character in text.chars() {
        let digit = if base == 16 { character.to_digit(16)? } else { base64_digit(character)? };
        held = held << bits | digit;
        held_bits += bits;
        if held_bits >= 8 {
            held_bits -= 8;
            *key.get_mut(length)? = (held >> held_bits) as u8;
            length += 1;
            held &= (1 << held_bits) - 1;
        }
    }
    (length == KEY_BYTES && held == 0).then_some(key)
}

fn base64_digit(character: char) -> Option<u32> {
    match character {
        'A'..='Z' => Some(character as u32 - 'A' as u32),
        'a'..='z' => Some(character as u32 - 'a' as u32 + 26),
        '0'..='9' => Some(character as u32 - '0' as u32 + 52),
        '+' => Some(62),
        '/' => Some(63),
        _ => None,
    }
}

/// The lines that are not ignored, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn secrets(text: &str, max: usize) -> Result<Vec<[u8; KEY_BYTES]>, KeyError> {
    let mut keys = Vec::new();
    for (line, text) in lines(text) {
        let key = decode(text).ok_or(KeyError::NoKey { line })?;
        if key.iter().all(|&byte| byte == key[0]) {
            return Err(KeyError::Weak { line });
        }
        if keys.len() == max {
            return Err(KeyError::TooMany { max });
        }
        keys.push(key);
    }
    if keys.is_empty() { Err(KeyError::Empty) } else { Ok(keys) }
}

/// One key of a fleet and the keys that follow from it.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct FleetKey {
    /// The secret that the handshake mixes in.
    pub(super) psk: [u8; KEY_BYTES],
    /// For the keyed hash of handshake messages.
    pub(super) mac: MacKey,
    /// For sealing cookies.
    pub(super) cookie: MacKey,
}

impl FleetKey {
    fn new(psk: [u8; KEY_BYTES]) -> FleetKey {
        let mac = derive(&psk, &[b"tidemill mac"]);
        let cookie = derive(&psk, &[b"tidemill cookie"]);
        FleetKey { psk, mac, cookie }
    }
}

/// The keys of a fleet: one, or two while one replaces the other.
#[derive(Clone, PartialEq, Eq)]
pub struct FleetKeys {
    keys: Vec<FleetKey>,
}

impl FleetKeys {
    /// Reads the text of a file of fleet keys.
    ///
    /// # Errors
    /// The error in it.
    pub fn parse(text: &str) -> Result<FleetKeys, KeyError> {
        let keys = secrets(text, FLEET_KEYS_MAX)?;
        Ok(FleetKeys { keys: keys.into_iter().map(FleetKey::new).collect() })
    }

    /// The key that handshakes begin with.
    pub(super) fn first(&self) -> &FleetKey {
        &self.keys[0]
    }

    /// All accepted keys.
    pub(super) fn iter(&self) -> impl Iterator<Item = &FleetKey> {
        self.keys.iter()
    }
}

impl fmt::Debug for FleetKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FleetKeys({})", self.keys.len())
    }
}

/// The public half of a node's identity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublicKey(pub [u8; KEY_BYTES]);

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&encode(&self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<PublicKey, KeyError> {
        decode(text).map(PublicKey).ok_or(KeyError::NoKey { line: 1 })
    }
}

/// The static key pair (X25519) of one node.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    pub(super) private: [u8; KEY_BYTES],
    public: PublicKey,
}

impl Identity {
    /// The identity with that secret: random bytes.
    pub fn new(private: [u8; KEY_BYTES]) -> Identity {
        let mut public = [0; KEY_BYTES];
        if let Some(mut dh) = DefaultResolver.resolve_dh(&DHChoice::Curve25519) {
            dh.set(&private);
            public.copy_from_slice(dh.pubkey());
        }
        Identity { private, public: PublicKey(public) }
    }

    /// Reads the text of an identity file.
    ///
    /// # Errors
    /// The error in it.
    pub fn parse(text: &str) -> Result<Identity, KeyError> {
        secrets(text, 1).map(|keys| Identity::new(keys[0]))
    }

    /// The public half.
    pub fn public(&self) -> PublicKey {
        self.public
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.public)
    }
}

/// The peers that are let in, and the identities that they must have.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct KnownPeers {
    by_name: SortedMap<Box<str>, PublicKey>,
}

impl KnownPeers {
    /// Reads the text of a file of peers; `canonical` gives the spelling of an address by which
    /// peers are compared.
    ///
    /// # Errors
    /// The error in it.
    pub fn parse(text: &str, canonical: impl Fn(&str) -> String) -> Result<KnownPeers, KeyError> {
        let mut by_name = SortedMap::new();
        for (line, text) in lines(text) {
            let mut words = text.split_whitespace();
            let (Some(name), Some(key), None) = (words.next(), words.next(), words.next()) else {
                return Err(KeyError::NoPeer { line });
            };
            let name = canonical(name);
            if name.len() > NAME_BYTES_MAX {
                return Err(KeyError::NoPeer { line });
            }
            let key = decode(key).ok_or(KeyError::NoKey { line })?;
            if by_name.insert(name.into(), PublicKey(key)).is_some() {
                return Err(KeyError::Twice { line });
            }
        }
        Ok(KnownPeers { by_name })
    }

    /// The identity that a peer must have, if it is let in.
    pub fn get(&self, name: &str) -> Option<PublicKey> {
        self.by_name.get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F";
    const BASE64: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

    #[test]
    fn keys_come_as_hexadecimal_digits_or_base64() {
        let key: [u8; 32] = std::array::from_fn(|index| index as u8);
        assert_eq!(decode(HEX), Some(key));
        assert_eq!(decode(BASE64), Some(key));
        assert_eq!(encode(&key), HEX.to_lowercase());
        assert_eq!(HEX.parse::<PublicKey>(), Ok(PublicKey(key)));
        for wrong in ["", "00", &HEX[1..], &BASE64[1..], &BASE64.replace("8=", "9="), "ä"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
        assert_eq!(decode(&BASE64.replace('A', "-")), None);
        assert_eq!(decode(&"ä".repeat(32)), None);
    }

    #[test]
    fn a_file_has_one_key_or_two() {
        let two = format!("# the new one\n{HEX}\n\n  {}  \n", HEX.replace('0', "1"));
        assert_eq!(FleetKeys::parse(HEX).unwrap().iter().count(), 1);
        assert_eq!(FleetKeys::parse(&two).unwrap().iter().count(), 2);
        let wrong = [
            ("", KeyError::Empty),
            ("# nothing\n", KeyError::Empty),
            ("\nsecret\n", KeyError::NoKey { line: 2 }),
            (&"0".repeat(64), KeyError::Weak { line: 1 }),
            (&format!("{two}{HEX}"), KeyError::TooMany { max: 2 }),
        ];
        for (text, error) in wrong {
            assert_eq!(FleetKeys::parse(text), Err(error), "{text}");
        }
        assert_eq!(Identity::parse(&two), Err(KeyError::TooMany { max: 1 }));
    }

    #[test]
    fn secrets_are_not_printed() {
        let keys = FleetKeys::parse(HEX).unwrap();
        assert_eq!(format!("{keys:?}"), "FleetKeys(1)");
        let identity = Identity::parse(HEX).unwrap();
        assert!(!format!("{identity:?}").contains("0405"));
    }

    #[test]
    fn the_public_half_is_that_of_x25519() {
        // RFC 7748, section 5.2: the base point times its own coordinate.
        let private = format!("09{}", "00".repeat(31));
        let public = "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079";
        assert_eq!(encode(&Identity::parse(&private).unwrap().public().0), public);
    }

    #[test]
    fn a_file_of_peers_names_each_once() {
        let same = str::to_owned;
        let text = format!("a:1 {HEX}\nb:1\t{BASE64}\n# c:1 no\n");
        let peers = KnownPeers::parse(&text, same).unwrap();
        assert_eq!(peers.get("a:1"), peers.get("b:1"));
        assert_eq!(peers.get("c:1"), None);
        let wrong = [
            ("a:1".to_owned(), KeyError::NoPeer { line: 1 }),
            (format!("a:1 {HEX} x"), KeyError::NoPeer { line: 1 }),
            ("a:1 key".to_owned(), KeyError::NoKey { line: 1 }),
            (format!("{text}a:1 {HEX}"), KeyError::Twice { line: 4 }),
            (format!("{} {HEX}", "a".repeat(300)), KeyError::NoPeer { line: 1 }),
        ];
        for (text, error) in wrong {
            assert_eq!(KnownPeers::parse(&text, same), Err(error), "{text}");
        }
    }
}
