//! Cookies: under load, the first message of a handshake counts only if its sender shows that it
//! receives what is sent to its address.
//!
//! A cookie is a keyed hash of the sender's address, by a secret that changes every
//! [`SECRET_NS`]; so nothing has to be stored for its receiver. It travels sealed by the fleet's
//! key and bound to the message that it answers: an attacker that only replays recorded messages
//! cannot read it, and forging one takes the key.

use snow::params::CipherChoice;
use snow::resolvers::{CryptoResolver, DefaultResolver};

use super::frame::{CookieReply, NONCE_BYTES, SEALED_COOKIE_BYTES};
use super::keys::FleetKey;
use super::mac::{MAC_BYTES, MacKey, Tag, derive, mac, verify};

/// The time for which a secret is used for new cookies; its cookies are accepted for as long again.
pub(super) const SECRET_NS: u64 = 120_000_000_000;

/// A cookie.
pub(super) type Cookie = Tag;

/// Makes and verifies cookies.
#[derive(Clone, Default)]
pub(super) struct Cookies {
    /// The secret in use, and from when on.
    current: Option<(MacKey, u64)>,
    previous: Option<(MacKey, u64)>,
}

impl Cookies {
    /// Whether a new secret is needed before [`Cookies::make`].
    pub(super) fn needs_secret(&self, now_ns: u64) -> bool {
        self.current.is_none_or(|(_, since_ns)| now_ns.saturating_sub(since_ns) >= SECRET_NS)
    }

    /// Takes 32 random bytes for the next secret.
    pub(super) fn renew(&mut self, secret: MacKey, now_ns: u64) {
        self.previous = self.current.replace((secret, now_ns));
    }

    /// The cookie for an address; `None` without a secret.
    pub(super) fn make(&self, route: &str) -> Option<Cookie> {
        self.current.map(|(secret, _)| mac(&secret, &[route.as_bytes()]))
    }

    /// Whether `tag` is the hash of `covered` by a cookie of that address.
    pub(super) fn verify(&self, route: &str, covered: &[u8], tag: &[u8], now_ns: u64) -> bool {
        [&self.current, &self.previous].into_iter().flatten().any(|(secret, since_ns)| {
            let is_recent = now_ns.saturating_sub(*since_ns) < 2 * SECRET_NS;
            is_recent && prove_matches(&mac(secret, &[route.as_bytes()]), covered, tag)
        })
    }
}

/// The proof that a sender has the cookie: the hash of its message.
pub(super) fn prove(cookie: &Cookie, covered: &[u8]) -> Tag {
    mac(&proof_key(cookie), &[covered])
}

fn prove_matches(cookie: &Cookie, covered: &[u8], tag: &[u8]) -> bool {
    verify(&proof_key(cookie), &[covered], tag)
}

fn proof_key(cookie: &Cookie) -> MacKey {
    derive(&[0; 32], &[cookie])
}

/// Seals a cookie as the answer to the message whose keyed hash is `answered`.
///
/// The key of each answer follows from its random nonce and from what it answers, so the cipher's
/// own nonce can be 0.
pub(super) fn seal(
    cookie: &Cookie,
    key: &FleetKey,
    nonce: [u8; NONCE_BYTES],
    answered: &Tag,
) -> Option<[u8; SEALED_COOKIE_BYTES]> {
    let mut cipher = DefaultResolver.resolve_cipher(&CipherChoice::ChaChaPoly)?;
    cipher.set(&derive(&key.cookie, &[&nonce, answered]));
    let mut sealed = [0; SEALED_COOKIE_BYTES];
    cipher.encrypt(0, answered, cookie, &mut sealed);
    Some(sealed)
}

/// Opens an answer to the message whose keyed hash is `answered`.
pub(super) fn open(reply: &CookieReply<'_>, key: &FleetKey, answered: &Tag) -> Option<Cookie> {
    let mut cipher = DefaultResolver.resolve_cipher(&CipherChoice::ChaChaPoly)?;
    cipher.set(&derive(&key.cookie, &[reply.nonce, answered]));
    let mut cookie = [0; MAC_BYTES];
    cipher.decrypt(0, answered, reply.sealed, &mut cookie).ok()?;
    Some(cookie)
}

#[cfg(test)]
mod tests {
    use super::super::keys::FleetKeys;
    use super::*;

    fn key(text: &str) -> FleetKeys {
        FleetKeys::parse(&text.repeat(8)).unwrap()
    }

    #[test]
    fn a_cookie_belongs_to_an_address_and_ends() {
        let mut cookies = Cookies::default();
        assert!(cookies.needs_secret(0));
        assert_eq!(cookies.make("a:1"), None);
        cookies.renew([1; 32], 10);
        let cookie = cookies.make("a:1").unwrap();
        let tag = prove(&cookie, b"message");
        assert!(cookies.verify("a:1", b"message", &tag, 20));
        assert!(!cookies.verify("b:1", b"message", &tag, 20));
        assert!(!cookies.verify("a:1", b"another", &tag, 20));
        assert!(!cookies.verify("a:1", b"message", &[0; 16], 20));
        assert!(!cookies.needs_secret(9 + SECRET_NS) && cookies.needs_secret(10 + SECRET_NS));
        cookies.renew([2; 32], 10 + SECRET_NS);
        assert!(cookies.verify("a:1", b"message", &tag, 20 + SECRET_NS));
        assert!(!cookies.verify("a:1", b"message", &tag, 10 + 2 * SECRET_NS));
    }

    #[test]
    fn only_who_has_the_key_and_asked_reads_a_cookie() {
        let (ours, other) = (key("01234567"), key("76543210"));
        let (cookie, nonce, answered) = ([7; 16], [3; NONCE_BYTES], [9; 16]);
        let sealed = seal(&cookie, ours.first(), nonce, &answered).unwrap();
        let reply = CookieReply { receiver: 1, nonce: &nonce, sealed: &sealed };
        assert_eq!(open(&reply, ours.first(), &answered), Some(cookie));
        assert_eq!(open(&reply, other.first(), &answered), None);
        assert_eq!(open(&reply, ours.first(), &[8; 16]), None);
        for at in 0..sealed.len() {
            let mut forged = sealed;
            forged[at] ^= 1;
            let reply = CookieReply { sealed: &forged, ..reply };
            assert_eq!(open(&reply, ours.first(), &answered), None, "{at}");
        }
    }
}
