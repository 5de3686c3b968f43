//! Sealed datagrams between a node's socket and its mail.

use std::io;

use tidemill_event::{Endpoint, Host, Loop};
use tidemill_fabric::counters::{Count, Counters};
use tidemill_fabric::seal::keys::{FleetKeys, Identity as Keys, KnownPeers};
use tidemill_fabric::seal::{
    Carrier, Config, Context, DATAGRAM_BYTES_MAX, Guard, NoEntropy, Port, SEAL_BYTES,
};

use super::{Alive, Fleet, World, timers};
use crate::net::address::canonical;

/// Bytes of a datagram before it is sealed.
pub(super) const CONTENT_BYTES: usize = DATAGRAM_BYTES_MAX - SEAL_BYTES;

/// Peers that a node keeps sessions with.
const PEERS_MAX: usize = 4096;

/// How the nodes of a fleet seal what they send each other.
#[derive(Clone, Debug)]
pub struct Seal {
    /// What they all have.
    pub keys: FleetKeys,
    /// Who they are; if nothing is given, each is somebody new at each start.
    pub identity: Option<Keys>,
    /// Whom they hear; if nothing is given, all that have a key.
    pub known: Option<KnownPeers>,
}

impl Seal {
    /// The guard of a node that starts under that address.
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

/// 32 random bytes that nobody can guess.
pub(super) fn entropy(host: &mut dyn Host) -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    host.fill_entropy(&mut bytes)?;
    Ok(bytes)
}

/// The socket and the randomness that a guard works with.
pub(super) struct HostPort<'a> {
    pub(super) host: &'a mut dyn Host,
    pub(super) endpoint: Endpoint,
    /// Datagrams that the host did not take.
    pub(super) unsent: u64,
}

impl Port for HostPort<'_> {
    fn send(&mut self, route: &str, datagram: &[u8]) {
        self.unsent += u64::from(self.host.send(self.endpoint, route, datagram).is_err());
    }

    fn fill_entropy(&mut self, bytes: &mut [u8]) -> Result<(), NoEntropy> {
        self.host.fill_entropy(bytes).map_err(|_| NoEntropy)
    }
}

/// Gives all nodes, and those that start from now on, other keys and another list of those who
/// are heard. Identities stay; sessions go on until they are replaced, unless their peer is not
/// heard any more.
pub fn replace_keys<W: World>(world: &mut W, events: &mut Loop<W>, seal: &Seal) {
    let now_ns = events.now().0;
    let fleet = world.fleet();
    if let Some(old) = &mut fleet.seal {
        *old = Seal { identity: old.identity.clone(), ..seal.clone() };
    }
    for id in fleet.ids() {
        let Some(slot) = world.fleet().slots.get_mut(id.0 as usize) else { continue };
        let (Some(alive), life) = (&mut slot.alive, slot.life) else { continue };
        let (keys, known) = (seal.keys.clone(), seal.known.clone());
        let counters = alive.mail.counters_mut();
        if let Some(guard) = &mut alive.guard {
            guard.set_keys(keys);
            guard.set_known(known, counters);
        } else if let Some(streams) = &mut alive.streams {
            streams.with(events.host(), now_ns, counters, |connections, cx| {
                connections.replace_keys(keys, known, cx);
            });
        }
        alive.mail.counters_mut().count(Count::KeysTaken);
        timers::post(world, events, id, life);
    }
}

impl Fleet {
    /// Notes that keys could not be replaced.
    pub fn keep_keys(&mut self) {
        for alive in self.slots.iter_mut().filter_map(|slot| slot.alive.as_mut()) {
            alive.mail.counters_mut().count(Count::KeysRefused);
        }
    }
}

impl Alive {
    /// The guard of its datagrams, or that of its connections.
    pub(super) fn any_guard(&self) -> Option<&Guard> {
        let streams = || self.streams.as_ref()?.connections().guard();
        self.guard.as_deref().or_else(streams)
    }

    /// Takes a sealed datagram, which is opened where it lies; returns how many events came of it.
    pub(super) fn open(
        &mut self,
        host: &mut dyn Host,
        route: &str,
        bytes: &mut [u8],
        now_ns: u64,
    ) -> usize {
        let Some(mut guard) = self.guard.take() else { return 0 };
        let (length, drops) = (bytes.len(), self.mail.counters().drops());
        let mut port = HostPort { host, endpoint: self.endpoint, unsent: 0 };
        let counters = self.mail.counters_mut();
        let mut context = Context { now_ns, port: &mut port, counters };
        let content = guard.receive(route, bytes, &mut context);
        self.mail.count_unsent(port.unsent);
        self.log_drop(route, length, drops);
        let events = match content {
            Some(content) => self.take_in(content.name, content.bytes, now_ns),
            None => 0,
        };
        self.guard = Some(guard);
        events
    }

    /// Seals and sends what the mail has ready.
    pub(super) fn seal_all(&mut self, host: &mut dyn Host, now_ns: u64) {
        let Some(guard) = &mut self.guard else { return };
        let mut counters = Counters::new();
        let mut port = HostPort { host, endpoint: self.endpoint, unsent: 0 };
        let mut context = Context { now_ns, port: &mut port, counters: &mut counters };
        self.mail.flush(now_ns, &mut |to, datagram| guard.send(to, datagram, &mut context));
        self.mail.counters_mut().merge(&counters);
        self.mail.count_unsent(port.unsent);
    }

    /// Gives the guard a turn; nothing if the node has none.
    pub(super) fn guarded<T>(
        &mut self,
        host: &mut dyn Host,
        now_ns: u64,
        f: impl FnOnce(&mut Guard, &mut Context<'_>) -> T,
    ) -> Option<T> {
        let guard = self.guard.as_mut()?;
        let mut port = HostPort { host, endpoint: self.endpoint, unsent: 0 };
        let counters = self.mail.counters_mut();
        let result = f(guard, &mut Context { now_ns, port: &mut port, counters });
        self.mail.count_unsent(port.unsent);
        Some(result)
    }
}
