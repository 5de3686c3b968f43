//! The Noise protocol's primitives with random bytes that were drawn before: the library would draw
//! them itself, but all randomness comes through the host.

use snow::error::Error;
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::types::{Cipher, Dh, Hash, Random};

use crate::seal::keys::KEY_BYTES;

/// Random bytes that one side of a handshake takes: its ephemeral key.
pub(crate) type Ephemeral = [u8; KEY_BYTES];

/// The library's own primitives, with random bytes that were drawn before.
pub(crate) struct Resolver(pub(crate) Ephemeral);

impl CryptoResolver for Resolver {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(Drawn(Some(self.0))))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        DefaultResolver.resolve_dh(choice)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        DefaultResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        DefaultResolver.resolve_cipher(choice)
    }
}

/// Random bytes that are given once, for one key.
struct Drawn(Option<Ephemeral>);

impl Random for Drawn {
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Error> {
        match self.0.take() {
            Some(drawn) if drawn.len() == out.len() => {
                out.copy_from_slice(&drawn);
                Ok(())
            }
            _ => Err(Error::Rng),
        }
    }
}
