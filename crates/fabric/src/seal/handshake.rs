//! The handshake: Noise XX with the fleet's key mixed in first.
//!
//! ```text
//! Noise_XXpsk0_25519_ChaChaPoly_BLAKE2s
//!   -> psk, e            sealed: the responder's name, the initiator's name
//!   <- e, ee, s, es      sealed: the responder's name
//!   -> s, se             sealed: the initiator's name
//! ```
//! The first message costs neither side a Diffie-Hellman operation to read, each other two. Both
//! names of the first are known to members of the fleet only; identities to the two sides only.

use chacha20poly1305::{ChaCha20Poly1305, KeyInit};
use snow::error::Error;
use snow::{Builder, HandshakeState};

use super::NAME_BYTES_MAX;
use super::frame::{FIRST_BYTES, INITIATION_BYTES};
use super::keys::{FleetKey, Identity, KEY_BYTES, PublicKey};
use super::session::{Ciphers, Session};
use crate::noise::{Ephemeral, Resolver};

const PATTERN: &str = "Noise_XXpsk0_25519_ChaChaPoly_BLAKE2s";

/// The prologue, on which both sides must agree beside the keys.
const PROLOGUE: &[u8] = b"tidemill 1";

/// Bytes of the first message's payload, so that the message has [`FIRST_BYTES`].
const FIRST_PAYLOAD_BYTES: usize = FIRST_BYTES - KEY_BYTES - 16;

/// The message is not one of a handshake with this side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Refused;

impl From<Error> for Refused {
    fn from(_: Error) -> Refused {
        Refused
    }
}

/// One side of a handshake under way.
pub(super) struct Handshake(Box<HandshakeState>);

impl Handshake {
    /// Begins one; its first message.
    ///
    /// # Errors
    /// A name is over [`NAME_BYTES_MAX`].
    pub(super) fn initiate(
        key: &FleetKey,
        identity: &Identity,
        ephemeral: Ephemeral,
        [asked, asking]: [&str; 2],
    ) -> Result<(Handshake, Vec<u8>), Refused> {
        let mut payload = Vec::with_capacity(FIRST_PAYLOAD_BYTES);
        put_name(&mut payload, asked)?;
        put_name(&mut payload, asking)?;
        payload.resize(FIRST_PAYLOAD_BYTES, 0);
        let mut state = builder(key, identity, ephemeral)?.build_initiator()?;
        let first = write(&mut state, &payload)?;
        Ok((Handshake(Box::new(state)), first))
    }

    /// Takes a first message; returns the names in it: the responder's, then the initiator's.
    ///
    /// # Errors
    /// It is not sealed by that key, or is malformed.
    pub(super) fn respond(
        key: &FleetKey,
        identity: &Identity,
        ephemeral: Ephemeral,
        first: &[u8],
    ) -> Result<(Handshake, [Box<str>; 2]), Refused> {
        let mut state = builder(key, identity, ephemeral)?.build_responder()?;
        let payload = read(&mut state, first)?;
        let mut rest = &payload[..];
        let names = [take_name(&mut rest)?, take_name(&mut rest)?];
        if rest.iter().any(|&byte| byte != 0) {
            return Err(Refused);
        }
        Ok((Handshake(Box::new(state)), names))
    }

    /// The second or third message, which carries the sender's name.
    ///
    /// # Errors
    /// It is not this side's turn.
    pub(super) fn answer(&mut self, own_name: &str) -> Result<Vec<u8>, Refused> {
        let mut payload = Vec::new();
        put_name(&mut payload, own_name)?;
        write(&mut self.0, &payload)
    }

    /// Takes the second or third message: the name and the identity of its sender.
    ///
    /// # Errors
    /// It is not the next one of this handshake.
    pub(super) fn receive(&mut self, message: &[u8]) -> Result<(Box<str>, PublicKey), Refused> {
        let payload = read(&mut self.0, message)?;
        let mut rest = &payload[..];
        let name = take_name(&mut rest)?;
        let identity = self.0.get_remote_static().ok_or(Refused)?;
        let identity = PublicKey(identity.try_into().map_err(|_| Refused)?);
        if rest.is_empty() { Ok((name, identity)) } else { Err(Refused) }
    }

    /// The session, after the third message. `local` and `remote` are its indices.
    ///
    /// # Errors
    /// The handshake is not complete.
    pub(super) fn finish(self, local: u32, remote: u32, now_ns: u64) -> Result<Session, Refused> {
        let mut state = self.0;
        let is_initiator = state.is_initiator();
        if !state.is_handshake_finished() {
            return Err(Refused);
        }
        let (ours, theirs) = match (is_initiator, state.dangerously_get_raw_split()) {
            (true, (initiator, responder)) => (initiator, responder),
            (false, (initiator, responder)) => (responder, initiator),
        };
        let [send, receive] = [ours, theirs].map(|key| ChaCha20Poly1305::new(&key.into()));
        Ok(Session::new(Ciphers { send, receive }, [local, remote], is_initiator, now_ns))
    }
}

fn builder<'a>(
    key: &'a FleetKey,
    identity: &'a Identity,
    ephemeral: Ephemeral,
) -> Result<Builder<'a>, Refused> {
    let params = PATTERN.parse().map_err(|_: Error| Refused)?;
    Ok(Builder::with_resolver(params, Box::new(Resolver(ephemeral)))
        .prologue(PROLOGUE)?
        .local_private_key(&identity.private)?
        .psk(0, &key.psk)?)
}

fn write(state: &mut HandshakeState, payload: &[u8]) -> Result<Vec<u8>, Refused> {
    let mut message = vec![0; INITIATION_BYTES];
    let length = state.write_message(payload, &mut message)?;
    message.truncate(length);
    Ok(message)
}

fn read(state: &mut HandshakeState, message: &[u8]) -> Result<Vec<u8>, Refused> {
    let mut payload = vec![0; INITIATION_BYTES];
    let length = state.read_message(message, &mut payload)?;
    payload.truncate(length);
    Ok(payload)
}

fn put_name(out: &mut Vec<u8>, name: &str) -> Result<(), Refused> {
    if name.len() > NAME_BYTES_MAX {
        return Err(Refused);
    }
    out.push(name.len() as u8);
    out.extend_from_slice(name.as_bytes());
    Ok(())
}

fn take_name(rest: &mut &[u8]) -> Result<Box<str>, Refused> {
    let (&length, bytes) = rest.split_first().ok_or(Refused)?;
    let (name, after) = bytes.split_at_checked(length.into()).ok_or(Refused)?;
    *rest = after;
    let name = str::from_utf8(name).map_err(|_| Refused)?;
    let is_name = !name.is_empty() && name.len() <= NAME_BYTES_MAX;
    if is_name { Ok(name.into()) } else { Err(Refused) }
}

#[cfg(test)]
mod tests {
    use super::super::keys::FleetKeys;
    use super::*;

    fn key(text: &str) -> FleetKeys {
        FleetKeys::parse(&text.repeat(8)).unwrap()
    }

    /// Two sides, the first message and the names in it.
    fn begun(key: &FleetKeys) -> (Handshake, Handshake, [Box<str>; 2]) {
        let (a, b) = (Identity::new([1; 32]), Identity::new([2; 32]));
        let names = ["b:1", "a:1"];
        let (first, bytes) = Handshake::initiate(key.first(), &a, [3; 32], names).unwrap();
        assert_eq!(bytes.len(), FIRST_BYTES);
        let (second, names) = Handshake::respond(key.first(), &b, [4; 32], &bytes).unwrap();
        (first, second, names)
    }

    #[test]
    fn both_sides_learn_name_and_identity() {
        let (mut a, mut b, names) = begun(&key("01234567"));
        assert_eq!(names.map(|name| name.to_string()), ["b:1", "a:1"]);
        let second = b.answer("b:1").unwrap();
        assert!(second.len() + 28 <= INITIATION_BYTES);
        assert_eq!(a.receive(&second), Ok(("b:1".into(), Identity::new([2; 32]).public())));
        let third = a.answer("a:1").unwrap();
        assert_eq!(b.receive(&third), Ok(("a:1".into(), Identity::new([1; 32]).public())));
        let (mut a, mut b) = (a.finish(5, 6, 0).unwrap(), b.finish(6, 5, 0).unwrap());
        let mut sealed = Vec::new();
        a.seal(0, b"hello", &mut sealed).unwrap();
        assert_eq!(b.open(0, &mut sealed[16..]), Ok((0, &b"hello"[..])));
    }

    #[test]
    fn another_key_or_a_changed_message_is_refused() {
        let (a, ours, other) = (Identity::new([1; 32]), key("01234567"), key("76543210"));
        let names = ["b:1", "a:1"];
        let (_, first) = Handshake::initiate(ours.first(), &a, [3; 32], names).unwrap();
        assert!(Handshake::respond(other.first(), &a, [4; 32], &first).is_err());
        for at in (0..first.len()).step_by(37) {
            let mut changed = first.clone();
            changed[at] ^= 1;
            assert!(Handshake::respond(ours.first(), &a, [4; 32], &changed).is_err(), "{at}");
        }
        let (mut a, mut b, _) = begun(&ours);
        let mut second = b.answer("b:1").unwrap();
        second[40] ^= 1;
        assert_eq!(a.receive(&second), Err(Refused));
        second[40] ^= 1;
        assert!(a.receive(&second).is_ok(), "a forged answer does not end the handshake");
    }

    #[test]
    fn the_longest_names_fit_and_longer_ones_do_not() {
        let (a, keys) = (Identity::new([1; 32]), key("01234567"));
        let (longest, longer) = ("n".repeat(NAME_BYTES_MAX), "n".repeat(NAME_BYTES_MAX + 1));
        let begin =
            |name: &str| Handshake::initiate(keys.first(), &a, [3; 32], [name, name]).map(|_| ());
        assert_eq!(begin(&longest), Ok(()));
        assert_eq!(begin(&longer), Err(Refused));
        let (mut a, mut b, _) = begun(&keys);
        let second = b.answer(&longest).unwrap();
        assert!(second.len() + 28 <= INITIATION_BYTES);
        assert!(a.receive(&second).is_ok());
    }
}
