//! A session: the keys of two sides after a handshake, sealing and opening.
//!
//! ```text
//!        0 s                      120 s              180 s
//! keys   |  used                  |  used and replaced  |  ended
//! ```
//! The plaintext is a kind, one byte, and the content. The counter of a datagram is its nonce, so
//! each is used once, and changing it is detected. Sealing copies the content once, after its
//! head; opening is done in place.

use chacha20poly1305::{AeadInPlace, ChaCha20Poly1305, Error, Nonce};

use super::frame::{DATA_HEAD_BYTES, put_data_head};
use super::mac::{MAC_BYTES, Tag};
use super::window::Window;

/// After this time new keys are made.
pub const REKEY_NS: u64 = 120_000_000_000;

/// The delay after which the side that answered the handshake begins, if the other has not.
pub(super) const REKEY_GRACE_NS: u64 = 10_000_000_000;

/// The lifetime of a session after its keys were or should have been replaced.
pub const OVERLAP_NS: u64 = 60_000_000_000;

/// The number of datagrams after which new keys are made.
pub const REKEY_DATAGRAMS: u64 = 1 << 32;

/// Bytes that sealing adds to a datagram.
pub const SEAL_BYTES: usize = DATA_HEAD_BYTES + 1 + MAC_BYTES;

/// Why a datagram was not opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OpenError {
    /// It has come before, or is too old for the replay window.
    Replayed,
    /// It came over a connection, and is not the next one.
    OutOfOrder,
    /// It was not sealed by this session.
    Forged,
}

/// One cipher for each direction.
pub(super) struct Ciphers {
    pub(super) send: ChaCha20Poly1305,
    pub(super) receive: ChaCha20Poly1305,
}

/// A session; see the module.
pub(super) struct Session {
    ciphers: Ciphers,
    /// The index by which the other side names it.
    pub(super) local: u32,
    /// The index by which this side names it to the other.
    pub(super) remote: u32,
    pub(super) is_initiator: bool,
    pub(super) since_ns: u64,
    /// When it ends, if nothing ends it before.
    pub(super) ends_ns: u64,
    /// The hash of the third message that began it, where this side answered: should it come again,
    /// its sender has not received the confirmation.
    pub(super) finish: Option<Tag>,
    /// The connection that it belongs to, if it belongs to one: all of its frames come there, in
    /// order.
    route: Option<Box<str>>,
    /// The counter of the next frame on that connection.
    due: u64,
    next: u64,
    window: Window,
}

impl Session {
    pub(super) fn new(
        ciphers: Ciphers,
        [local, remote]: [u32; 2],
        is_initiator: bool,
        now_ns: u64,
    ) -> Session {
        Session {
            ciphers,
            local,
            remote,
            is_initiator,
            since_ns: now_ns,
            ends_ns: now_ns.saturating_add(REKEY_NS + OVERLAP_NS),
            finish: None,
            route: None,
            due: 0,
            next: 0,
            window: Window::default(),
        }
    }

    /// Whether it may still be used.
    pub(super) fn is_alive(&self, now_ns: u64) -> bool {
        now_ns < self.ends_ns && self.next < 2 * REKEY_DATAGRAMS
    }

    /// The session, which belongs to that connection if there is one.
    pub(super) fn bind(self, route: Option<Box<str>>) -> Session {
        Session { route, ..self }
    }

    /// Whether frames of it may come and go by that route.
    pub(super) fn is_bound_to(&self, route: &str) -> bool {
        self.route.as_deref().is_none_or(|bound| bound == route)
    }

    /// Whether this side should make new keys.
    pub(super) fn is_old(&self, now_ns: u64) -> bool {
        let grace = if self.is_initiator { 0 } else { REKEY_GRACE_NS };
        now_ns.saturating_sub(self.since_ns) >= REKEY_NS + grace || self.next >= REKEY_DATAGRAMS
    }

    /// Whether it has sent no datagram yet.
    pub(super) fn is_unused(&self) -> bool {
        self.next == 0
    }

    /// Advances the counter, as if datagrams had been sent.
    #[cfg(test)]
    pub(super) fn skip_to(&mut self, counter: u64) {
        self.next = counter;
    }

    /// Seals content of a kind as a datagram, which replaces what is in `out`.
    ///
    /// # Errors
    /// The content is longer than the cipher takes (256 GiB).
    pub(super) fn seal(
        &mut self,
        kind: u8,
        content: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        out.clear();
        out.reserve(content.len() + SEAL_BYTES);
        put_data_head(out, self.remote, self.next);
        out.push(kind);
        out.extend_from_slice(content);
        let (nonce, sealed) = (nonce(self.next), &mut out[DATA_HEAD_BYTES..]);
        let tag = self.ciphers.send.encrypt_in_place_detached(&nonce, &[], sealed)?;
        out.extend_from_slice(&tag);
        self.next += 1;
        Ok(())
    }

    /// Opens in place what was sealed under that counter: its kind and the content.
    pub(super) fn open<'a>(
        &mut self,
        counter: u64,
        sealed: &'a mut [u8],
    ) -> Result<(u8, &'a [u8]), OpenError> {
        if !self.window.accepts(counter) {
            return Err(OpenError::Replayed);
        }
        if self.route.is_some() && counter != self.due {
            return Err(OpenError::OutOfOrder);
        }
        let (opened, tag) = sealed.split_last_chunk_mut::<MAC_BYTES>().ok_or(OpenError::Forged)?;
        let (nonce, tag) = (nonce(counter), (&*tag).into());
        let cipher = &self.ciphers.receive;
        let genuine = cipher.decrypt_in_place_detached(&nonce, &[], opened, tag);
        genuine.map_err(|_| OpenError::Forged)?;
        let (&kind, content) = opened.split_first().ok_or(OpenError::Forged)?;
        self.window.note(counter);
        self.due = counter.wrapping_add(1);
        Ok((kind, content))
    }

    /// Whether that counter is beyond all that have come.
    pub(super) fn is_newest(&self, counter: u64) -> bool {
        self.window.is_newest(counter)
    }
}

/// The nonce of a counter, as Noise has it for this cipher.
fn nonce(counter: u64) -> Nonce {
    let mut nonce = Nonce::default();
    nonce[4..].copy_from_slice(&counter.to_le_bytes());
    nonce
}
