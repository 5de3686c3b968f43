//! The simulated host: virtual time, seeded randomness, and a network of its own making.
//!
//! Time stands still while turns run and jumps to the next deadline or delivery when the loop
//! waits. Everything random comes from streams that are forked by purpose from one seed, so a
//! draw more in one place shifts nothing in another. A run is repeated bit for bit by its seed.

mod network;

use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tidemill_stdx::rng::Rng;

use crate::host::{
    Address, Endpoint, Host, HostStats, Interest, Ready, Slice, Source, Streams, Transport, Wait,
    Wake, Waker, no_such_endpoint, unsupported,
};
use crate::slab::{Key, Slab};
use crate::time::Time;
use network::Network;

pub use network::{Faults, SimDrops, Traffic};

/// Steps of a turn's slice.
const SLICE_STEPS: u64 = 10_000;
/// Steps after which the clock of a loop that never waits moves on, and by how much.
const SPIN_STEPS: u64 = 1 << 20;
const SPIN: Duration = Duration::from_millis(1);
/// Datagrams that wait at one endpoint; more are dropped and counted.
const INBOX_MAX: usize = 4096;

/// One open port.
struct Port {
    node: u32,
    inbox: std::collections::VecDeque<(u32, Vec<u8>)>,
    /// The token and interest it is watched with.
    watched: Option<(u64, Interest)>,
}

/// The simulated host; see the module.
pub struct Sim {
    now: Time,
    random: Rng,
    ports: Slab<Port>,
    network: Network,
    stats: HostStats,
    /// Steps since the loop last waited.
    spun: u64,
}

impl Sim {
    /// A simulation at time 0, with a faultless network without delay.
    pub fn new(seed: u64) -> Sim {
        let seed = Rng::new(seed);
        Sim {
            now: Time::ZERO,
            random: seed.fork(0),
            ports: Slab::new(),
            network: Network::new(&seed),
            stats: HostStats::default(),
            spun: 0,
        }
    }

    /// The faults of the network, to be changed at any time.
    pub fn faults(&mut self) -> &mut Faults {
        &mut self.network.faults
    }

    /// Cuts the network: nodes named in different groups do not hear each other. Nodes named in
    /// none hear everybody. Replaces an earlier partition.
    pub fn partition(&mut self, groups: &[Vec<String>]) {
        self.network.partition(groups);
    }

    /// Ends a partition.
    pub fn heal(&mut self) {
        self.network.partition(&[]);
    }

    /// What a node has sent and received.
    pub fn traffic(&self, node: &str) -> Traffic {
        self.network.traffic(node)
    }

    /// What the network has dropped, by reason.
    pub fn drops(&self) -> SimDrops {
        self.network.drops
    }

    fn deliver_due(&mut self) {
        while let Some((to, from, bytes)) = self.network.take_due(self.now) {
            // A node that is down, or starts anew while a datagram is under way: the port decides.
            let port = self.network.port_of(to).and_then(|key| self.ports.get_mut(key));
            match port {
                None => self.network.drops.nobody += 1,
                Some(port) if port.inbox.len() >= INBOX_MAX => {
                    self.network.drops.inbox_full += 1;
                    self.stats.dropped_full += 1;
                }
                Some(port) => port.inbox.push_back((from, bytes)),
            }
        }
    }

    fn report(&self, ready: &mut Vec<Ready>) {
        for (_, port) in self.ports.iter() {
            let Some((token, interest)) = port.watched else { continue };
            let readable = interest.reads() && !port.inbox.is_empty();
            let writable = interest.writes();
            if readable || writable {
                ready.push(Ready { token, readable, writable, trouble: None });
            }
        }
    }

    fn port(&mut self, endpoint: Endpoint) -> io::Result<&mut Port> {
        self.ports.get_mut(endpoint.0).ok_or_else(no_such_endpoint)
    }
}

impl Host for Sim {
    fn now(&mut self) -> Time {
        self.now
    }

    fn wall_ns(&mut self) -> i64 {
        i64::try_from(self.now.0).unwrap_or(i64::MAX)
    }

    fn random(&mut self) -> u64 {
        self.random.next_u64()
    }

    fn slice(&self) -> Slice {
        Slice::Steps(SLICE_STEPS)
    }

    fn spent(&mut self, steps: u64) {
        self.spun += steps;
        if self.spun >= SPIN_STEPS {
            self.spun = 0;
            self.now += SPIN;
        }
    }

    fn register(&mut self, source: Source, token: u64, interest: Interest) -> io::Result<()> {
        let Source::Endpoint(endpoint) = source else {
            return Err(unsupported("a simulation has no descriptors"));
        };
        let port = self.port(endpoint)?;
        if port.watched.is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        port.watched = Some((token, interest));
        Ok(())
    }

    fn modify(&mut self, source: Source, token: u64, interest: Interest) -> io::Result<()> {
        let Source::Endpoint(endpoint) = source else { return Err(no_such_endpoint()) };
        match &mut self.port(endpoint)?.watched {
            Some((watched, slot)) if *watched == token => {
                *slot = interest;
                Ok(())
            }
            _ => Err(no_such_endpoint()),
        }
    }

    fn deregister(&mut self, source: Source, token: u64) {
        if let Source::Endpoint(endpoint) = source
            && let Ok(port) = self.port(endpoint)
            && port.watched.is_some_and(|(watched, _)| watched == token)
        {
            port.watched = None;
        }
    }

    fn wait(&mut self, wait: Wait, ready: &mut Vec<Ready>) -> io::Result<Wake> {
        self.deliver_due();
        self.report(ready);
        if !ready.is_empty() || wait == Wait::Poll {
            return Ok(Wake::Ready);
        }
        self.spun = 0;
        let target = match (wait, self.network.next_due()) {
            (Wait::Until(at), Some(due)) => at.min(due),
            (Wait::Until(at), None) => at,
            (_, Some(due)) => due,
            (_, None) => return Ok(Wake::Ready),
        };
        self.now = self.now.max(target);
        self.deliver_due();
        self.report(ready);
        Ok(Wake::Ready)
    }

    fn is_idle(&self) -> bool {
        self.network.next_due().is_none() && self.ports.iter().all(|(_, p)| p.inbox.is_empty())
    }

    fn waker(&mut self) -> io::Result<Arc<dyn Waker>> {
        Err(unsupported("other threads would make a simulation's runs differ"))
    }

    fn stats(&self) -> HostStats {
        self.stats
    }

    fn sim(&mut self) -> Option<&mut Sim> {
        Some(self)
    }
}

impl Transport for Sim {
    fn bind(&mut self, addr: &str) -> io::Result<Endpoint> {
        let node = self.network.node(addr);
        if self.network.port_of(node).is_some() {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        let inbox = std::collections::VecDeque::new();
        let key = self.ports.insert(Port { node, inbox, watched: None });
        self.network.open(node, key);
        Ok(Endpoint(key))
    }

    fn local_addr(&self, endpoint: Endpoint) -> io::Result<String> {
        let port = self.ports.get(endpoint.0).ok_or_else(no_such_endpoint)?;
        Ok(self.network.name(port.node).to_owned())
    }

    fn send(&mut self, endpoint: Endpoint, to: &str, bytes: &[u8]) -> io::Result<()> {
        let from = self.port(endpoint)?.node;
        let to = self.network.node(to);
        self.stats.sent += 1;
        self.stats.sent_bytes += bytes.len() as u64;
        self.network.send(self.now, from, to, bytes);
        Ok(())
    }

    fn send_to(&mut self, endpoint: Endpoint, to: Address, bytes: &[u8]) -> io::Result<()> {
        let name = self.name_of(to).into_owned();
        self.send(endpoint, &name, bytes)
    }

    fn recv(&mut self, endpoint: Endpoint, buf: &mut [u8]) -> io::Result<Option<(usize, Address)>> {
        loop {
            let Some((from, bytes)) = self.port(endpoint)?.inbox.pop_front() else {
                return Ok(None);
            };
            let Some(target) = buf.get_mut(..bytes.len()) else {
                self.stats.dropped_truncated += 1;
                continue;
            };
            target.copy_from_slice(&bytes);
            self.stats.received += 1;
            self.stats.received_bytes += bytes.len() as u64;
            let node = self.port(endpoint)?.node;
            self.network.count_received(node, bytes.len());
            return Ok(Some((bytes.len(), Address::Sim(from))));
        }
    }

    fn name_of(&self, address: Address) -> Cow<'_, str> {
        match address {
            Address::Sim(node) => Cow::Borrowed(self.network.name(node)),
            Address::Inet(address) => Cow::Owned(address.to_string()),
        }
    }

    fn close(&mut self, endpoint: Endpoint) {
        let key: Key = endpoint.0;
        if let Some(port) = self.ports.remove(key) {
            self.network.close(port.node);
        }
    }
}

/// A simulation has datagrams alone.
impl Streams for Sim {
    fn listen(&mut self, _: &str) -> io::Result<Endpoint> {
        Err(unsupported("a simulation has no streams"))
    }

    fn accept(&mut self, _: Endpoint) -> io::Result<Option<(Endpoint, Address)>> {
        Err(unsupported("a simulation has no streams"))
    }

    fn connect(&mut self, _: &str) -> io::Result<Endpoint> {
        Err(unsupported("a simulation has no streams"))
    }

    fn read(&mut self, _: Endpoint, _: &mut [u8]) -> io::Result<Option<usize>> {
        Err(unsupported("a simulation has no streams"))
    }

    fn write(&mut self, _: Endpoint, _: &[u8]) -> io::Result<Option<usize>> {
        Err(unsupported("a simulation has no streams"))
    }
}

#[cfg(test)]
mod tests;
