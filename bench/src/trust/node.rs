//! Guards of one fleet, and the datagrams between them in memory.

use tidemill_fabric::counters::{Count, Counters};
use tidemill_fabric::seal::keys::{FleetKeys, Identity};
use tidemill_fabric::seal::{Carrier, Config, Context, Guard, NoEntropy, Port};
use tidemill_stdx::rng::Rng;

/// The key of the fleet, and another one.
pub const KEY: &str = "0123abcd";
pub const OTHER_KEY: &str = "3210abcd";

/// The maximum number of peers of a guard.
const PEERS_MAX: usize = 1 << 16;

/// A port that stores sent datagrams.
pub struct Wire {
    pub random: Rng,
    pub sent: Vec<Vec<u8>>,
}

impl Port for Wire {
    fn send(&mut self, _: &str, datagram: &[u8]) {
        self.sent.push(datagram.to_vec());
    }

    fn fill_entropy(&mut self, bytes: &mut [u8]) -> Result<(), NoEntropy> {
        fill(&mut self.random, bytes);
        Ok(())
    }
}

/// Fills bytes; keys of a benchmark may be guessable.
pub fn fill(random: &mut Rng, bytes: &mut [u8]) {
    for chunk in bytes.chunks_mut(8) {
        chunk.copy_from_slice(&random.next_u64().to_le_bytes()[..chunk.len()]);
    }
}

/// A guard; `number` seeds its identity.
///
/// # Errors
/// The key is invalid.
pub fn guard(name: &str, key: &str, number: u64) -> Result<Guard, String> {
    let keys = FleetKeys::parse(&key.repeat(8)).map_err(|_| "no key")?;
    let mut private = [0; 32];
    fill(&mut Rng::new(number), &mut private);
    let identity = Identity::new(private);
    let (name, known) = (name.into(), None);
    Ok(Guard::new(Config {
        carrier: Carrier::Datagrams,
        name,
        keys,
        identity,
        known,
        peers_max: PEERS_MAX,
    }))
}

/// A guard with its wire.
pub struct Node {
    pub guard: Guard,
    pub wire: Wire,
    pub counters: Counters,
}

impl Node {
    pub fn new(name: &str, key: &str, number: u64) -> Result<Node, String> {
        let wire = Wire { random: Rng::new(!number), sent: Vec::new() };
        Ok(Node { guard: guard(name, key, number)?, wire, counters: Counters::new() })
    }

    pub fn send(&mut self, to: &str, content: &[u8]) {
        let Node { guard, wire, counters } = self;
        guard.send(to, content, &mut Context { now_ns: 0, port: wire, counters });
    }

    /// Receives a datagram; returns whether it holds a content.
    pub fn receive(&mut self, route: &str, bytes: &mut [u8]) -> bool {
        let Node { guard, wire, counters } = self;
        let mut context = Context { now_ns: 0, port: wire, counters };
        guard.receive(route, bytes, &mut context).is_some()
    }

    pub fn count(&self, count: Count) -> u64 {
        self.counters.get(count)
    }
}
