//! The host that is made up: virtual time, seeded randomness, a simulated network.
//!
//! ```text
//! now       0 at the start; waiting jumps to the next deadline or arrival, working takes no time
//! random    one stream for the program, and for each datagram of the network its own draws
//! network   nodes, datagrams under way
//! ```
//! The same program and seed give the same run, bit for bit. Everything may be changed while
//! running: `lp.host().sim()` gives the simulation, in a turn or between two.

mod faults;
mod network;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tidemill_stdx::rng::Rng;

use crate::Time;
use crate::host::{
    Address, Endpoint, Host, HostStats, Interest, Ready, Slice, Source, Streams, Transport, Wait,
    Wake, Waker, no_such_endpoint, unsupported,
};
pub use faults::Faults;
use network::Network;
pub use network::{SimDrops, Traffic};

/// Closures and checkpoints of one turn before others get theirs.
const SLICE_STEPS: u64 = 10_000;
/// Steps at one instant before the clock moves on regardless, and by how much. Far more than
/// any program needs that comes to rest; one that never does still sees its timers fire.
const INSTANT_STEPS: u64 = 1_000_000;
const INSTANT: Duration = Duration::from_millis(1);

/// A simulated machine room as a [`Host`].
pub struct Sim {
    now: Time,
    random: Rng,
    network: Network,
    /// Steps run at the current instant.
    steps: u64,
}

impl Sim {
    /// A simulation at time 0, with a faultless network without delay.
    pub fn new(seed: u64) -> Sim {
        Sim { now: Time::ZERO, random: Rng::new(seed), network: Network::new(seed), steps: 0 }
    }

    /// What the network does to datagrams; a change concerns what is sent from now on.
    pub fn faults(&mut self) -> &mut Faults {
        &mut self.network.faults
    }

    /// Takes a node off the network: what waits there and what arrives until [`Sim::restart`] is
    /// dropped and counted, and so is what it sends. What it sent before is under way and
    /// arrives. What the node makes of it is its owner's business; one that closes its port and
    /// binds it anew later has crashed just as well.
    pub fn crash(&mut self, node: &str) {
        self.network.crash(node);
    }

    /// Brings a node back.
    pub fn restart(&mut self, node: &str) {
        self.network.restart(node);
    }

    /// Cuts the network: nodes named in different groups do not hear each other, datagrams under
    /// way included. Nodes named in none hear everybody. Replaces an earlier partition.
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

    /// Datagrams delivered twice by chance.
    pub fn duplicated(&self) -> u64 {
        self.network.duplicated
    }

    /// Datagrams held up by chance, so that others pass them.
    pub fn reordered(&self) -> u64 {
        self.network.reordered
    }

    /// Datagrams under way.
    pub fn in_flight(&self) -> usize {
        self.network.in_flight()
    }

    fn advance(&mut self, to: Time) {
        if to > self.now {
            self.now = to;
            self.steps = 0;
        }
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
        self.steps = self.steps.saturating_add(steps);
        if self.steps >= INSTANT_STEPS {
            self.advance(self.now + INSTANT);
        }
    }

    fn register(&mut self, source: Source, token: u64, interest: Interest) -> io::Result<()> {
        match source {
            Source::Fd(_) => Err(unsupported("descriptors do not exist in a simulation")),
            Source::Endpoint(endpoint) => self.network.register(endpoint, token, interest),
        }
    }

    fn modify(&mut self, source: Source, token: u64, interest: Interest) -> io::Result<()> {
        match source {
            Source::Fd(_) => Err(no_such_endpoint()),
            Source::Endpoint(endpoint) => self.network.modify(endpoint, token, interest),
        }
    }

    fn deregister(&mut self, source: Source, token: u64) {
        if let Source::Endpoint(endpoint) = source {
            self.network.deregister(endpoint, token);
        }
    }

    fn wait(&mut self, wait: Wait, ready: &mut Vec<Ready>) -> io::Result<Wake> {
        let delivered = self.network.deliver(self.now);
        self.network.report(ready);
        let limit = match wait {
            Wait::Poll => self.now,
            Wait::Until(at) => at,
            Wait::Forever => Time::MAX,
        };
        if delivered || !ready.is_empty() || limit <= self.now {
            return Ok(Wake::Ready);
        }
        // One jump at most: the arrival may be dropped, and then the loop looks again.
        let next = self.network.next_arrival().unwrap_or(Time::MAX).min(limit);
        if next == Time::MAX {
            let never = "the simulation waits for what never comes";
            return Err(io::Error::new(io::ErrorKind::Deadlock, never));
        }
        self.advance(next);
        self.network.deliver(self.now);
        self.network.report(ready);
        Ok(Wake::Ready)
    }

    fn is_idle(&self) -> bool {
        self.network.is_idle()
    }

    fn waker(&mut self) -> io::Result<Arc<dyn Waker>> {
        Err(unsupported("other threads would make a simulation differ from run to run"))
    }

    fn stats(&self) -> HostStats {
        let (totals, drops) = (&self.network.totals, &self.network.drops);
        HostStats {
            sent: totals.sent,
            sent_bytes: totals.sent_bytes,
            received: totals.received,
            received_bytes: totals.received_bytes,
            dropped_full: drops.inbox_full + drops.flight_full,
            dropped_truncated: drops.truncated,
            ..HostStats::default()
        }
    }

    fn sim(&mut self) -> Option<&mut Sim> {
        Some(self)
    }
}

impl Transport for Sim {
    fn bind(&mut self, addr: &str) -> io::Result<Endpoint> {
        self.network.bind(addr)
    }

    fn local_addr(&self, endpoint: Endpoint) -> io::Result<String> {
        self.network.name_at(endpoint).map(String::from)
    }

    fn send(&mut self, endpoint: Endpoint, to: &str, bytes: &[u8]) -> io::Result<()> {
        let to = self.network.node(to);
        self.network.send(self.now, endpoint, to, bytes)
    }

    fn send_to(&mut self, endpoint: Endpoint, to: Address, bytes: &[u8]) -> io::Result<()> {
        match to {
            Address::Sim(to) => self.network.send(self.now, endpoint, to, bytes),
            Address::Inet(_) => Err(no_such_endpoint()),
        }
    }

    fn recv(&mut self, endpoint: Endpoint, buf: &mut [u8]) -> io::Result<Option<(usize, Address)>> {
        self.network.recv(endpoint, buf)
    }

    fn name_of(&self, address: Address) -> Cow<'_, str> {
        match address {
            Address::Sim(index) => Cow::Borrowed(self.network.name(index)),
            Address::Inet(address) => Cow::Owned(address.to_string()),
        }
    }

    fn close(&mut self, endpoint: Endpoint) {
        self.network.close(endpoint);
    }
}

/// Streams are not simulated: what runs in a simulation speaks in datagrams.
impl Streams for Sim {
    fn listen(&mut self, _: &str) -> io::Result<Endpoint> {
        Err(unsupported("streams are not simulated"))
    }

    fn accept(&mut self, _: Endpoint) -> io::Result<Option<(Endpoint, Address)>> {
        Err(unsupported("streams are not simulated"))
    }

    fn connect(&mut self, _: &str) -> io::Result<Endpoint> {
        Err(unsupported("streams are not simulated"))
    }

    fn read(&mut self, _: Endpoint, _: &mut [u8]) -> io::Result<Option<usize>> {
        Err(unsupported("streams are not simulated"))
    }

    fn write(&mut self, _: Endpoint, _: &[u8]) -> io::Result<Option<usize>> {
        Err(unsupported("streams are not simulated"))
    }
}
