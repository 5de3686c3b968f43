//! The seals of messages between nodes of a fleet.

use std::io;

use tidemill_event::Host;
use tidemill_fabric::seal::keys::{FleetKeys, Identity as Keys, KnownPeers};
use tidemill_fabric::seal::{Carrier, Config, DATAGRAM_BYTES_MAX, Guard, SEAL_BYTES};

use crate::net::address::canonical;

/// Bytes of a datagram before it is sealed.
pub(super) const CONTENT_BYTES: usize = DATAGRAM_BYTES_MAX - SEAL_BYTES;

/// Peers that a node keeps sessions with.
const PEERS_MAX: usize = 4096;

/// The seals of messages between nodes of a fleet.
#[derive(Clone, Debug)]
pub struct Seal {
    /// The keys of the fleet.
    pub keys: FleetKeys,
    /// Their identities; if `None`, each node draws a new one at each start.
    pub identity: Option<Keys>,
    /// The peers that they accept; if `None`, all that have a key.
    pub known: Option<KnownPeers>,
}

impl Seal {
    /// The guard of a node that starts under `address`.
    pub(super) fn guard(
        &self,
        address: &str,
        carrier: Carrier,
        host: &mut dyn Host,
    ) -> io::Result<Guard> {
        let identity = match &self.identity {
            Some(identity) => identity.clone(),
            None => Keys::new(entropy(host)?),
        };
        let (keys, known) = (self.keys.clone(), self.known.clone());
        let name = canonical(address).into();
        Ok(Guard::new(Config { carrier, name, keys, identity, known, peers_max: PEERS_MAX }))
    }
}

/// 32 unpredictable random bytes.
pub(super) fn entropy(host: &mut dyn Host) -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    host.fill_entropy(&mut bytes)?;
    Ok(bytes)
}
