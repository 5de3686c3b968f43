//! Sealed frames between members of a fleet: frames without its key are dropped.
//!
//! ```text
//!   content for a name                                    content from a name
//!         |                                                        ^
//!      [guard]    all peers: what to do with a datagram, what to send, and when
//!         |  [peer]      one name: sessions, handshakes, what waits for a session
//!         |  [half_open] handshakes of others that have not come to their end
//!         |  [handshake] Noise_XXpsk0_25519_ChaChaPoly_BLAKE2s
//!         |  [session]   counters, nonces, [window] of replays
//!         |  [cookie]    under load: show that you receive at your address
//!      [frame]    the four kinds of frames        [mac]  keyed hashes     [keys]  as texts
//! ```
//! A *name* is the name of a node (`NODE`); a *route* is where its datagrams come from and go to;
//! an *identity* is its static key. A name belongs to one identity while its session lives; the
//! route follows the latest authenticated datagram. The same frames go over
//! [connections](crate::connections): there a route is one connection, and a session belongs to the
//! one that it was made on ([`Carrier`]).
//!
//! The costs of strangers: a keyed hash of 480 bytes for what looks like an initiation, a look-up
//! for all else; no memory, and no answer. What replayed messages cost: at most
//! [`half_open::COOKIE_FROM`] handshakes in five seconds, and answers that are shorter than what
//! was sent.

mod cookie;
mod frame;
pub mod guard;
mod half_open;
mod handshake;
pub mod keys;
pub(crate) mod mac;
mod peer;
mod session;
mod window;

#[cfg(test)]
mod tests;

use std::fmt;

pub(crate) use frame::DATA_HEAD_BYTES;
pub use frame::{INITIATION_BYTES, is_sealed};
pub use guard::{Carrier, Config, Content, Context, Guard, Opened, PeerInfo, PeerState};
pub use half_open::{COOKIE_FROM, HALF_OPEN_MAX, HALF_OPEN_NS};
pub use peer::{WAIT_BYTES_MAX, WAIT_NS};
pub use session::{OVERLAP_NS, REKEY_DATAGRAMS, REKEY_NS, SEAL_BYTES};

/// Bytes of a name: both names of a first message fit into it.
pub const NAME_BYTES_MAX: usize = 200;

/// Bytes of a UDP payload, seal included.
pub const DATAGRAM_BYTES_MAX: usize = 1200;

/// No randomness is available: no handshake can begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoEntropy;

impl fmt::Display for NoEntropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no randomness to be had")
    }
}

impl std::error::Error for NoEntropy {}

/// The environment of a guard: a way to send, and randomness.
pub trait Port {
    /// Sends a datagram to a route.
    fn send(&mut self, route: &str, datagram: &[u8]);

    /// Fills `bytes` with unpredictable random bytes.
    ///
    /// # Errors
    /// There are none.
    fn fill_entropy(&mut self, bytes: &mut [u8]) -> Result<(), NoEntropy>;
}
