//! The simulation as a host of a loop.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tidemill_stdx::keyed::Secret;

use crate::Time;
use crate::host::{Host, HostStats, Slice, Spent, Streams, Transport, Wait, Wake, Waker};
use crate::source::{Address, Endpoint, Interest, Ready, Source, no_such_endpoint, unsupported};

use super::Sim;

/// Closures and checkpoints of one turn before others get theirs.
const SLICE_STEPS: u64 = 10_000;
/// Steps of one node, and polls of the loop, at one instant before the clock is advanced
/// regardless, and by how much. Far more than any program needs that becomes idle; one that never
/// does still sees its timers fire.
const INSTANT_STEPS: u64 = 1_000_000;
const INSTANT: Duration = Duration::from_millis(1);
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

    fn fill_entropy(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        for chunk in bytes.chunks_mut(8) {
            let drawn = self.entropy.next_u64().to_le_bytes();
            chunk.copy_from_slice(&drawn[..chunk.len()]);
        }
        Ok(())
    }

    fn hash_secret(&mut self) -> io::Result<Secret> {
        Ok(self.secret)
    }

    fn slice(&self) -> Slice {
        Slice::Steps(SLICE_STEPS)
    }

    fn spent(&mut self, spent: Spent) {
        self.looks += 1;
        if self.looks.max(spent.of_one) >= INSTANT_STEPS {
            self.pushes += 1;
            self.advance(self.now + INSTANT);
        }
    }

    fn register(&mut self, source: Source, token: u64, interest: Interest) -> io::Result<()> {
        match source {
            Source::Fd(_) => Err(unsupported("descriptors do not exist in a simulation")),
            Source::Endpoint(endpoint) => self.net.register(endpoint, token, interest),
        }
    }

    fn modify(&mut self, source: Source, token: u64, interest: Interest) -> io::Result<()> {
        match source {
            Source::Fd(_) => Err(no_such_endpoint()),
            Source::Endpoint(endpoint) => self.net.modify(endpoint, token, interest),
        }
    }

    fn deregister(&mut self, source: Source, token: u64) {
        if let Source::Endpoint(endpoint) = source {
            self.net.deregister(endpoint, token);
        }
    }

    fn wait(&mut self, wait: Wait, ready: &mut Vec<Ready>) -> io::Result<Wake> {
        let delivered = self.net.deliver(self.now);
        self.net.report(ready);
        let limit = match wait {
            Wait::Poll => self.now,
            Wait::Until(at) => at,
            Wait::Forever => Time::MAX,
        };
        if delivered || !ready.is_empty() || limit <= self.now {
            return Ok(Wake::Ready);
        }
        // One jump at most: the arrival may be dropped, and then the loop polls again.
        let next = self.net.next_arrival().unwrap_or(Time::MAX).min(limit);
        if next == Time::MAX {
            let never = "the simulation waits for what never comes";
            return Err(io::Error::new(io::ErrorKind::Deadlock, never));
        }
        self.advance(next);
        self.net.deliver(self.now);
        self.net.report(ready);
        Ok(Wake::Ready)
    }

    fn is_idle(&self) -> bool {
        self.net.is_idle()
    }

    fn waker(&mut self) -> io::Result<Arc<dyn Waker>> {
        Err(unsupported("other threads would make a simulation differ from run to run"))
    }

    fn stats(&self) -> HostStats {
        let net = &self.net.stats;
        HostStats {
            sent: net.sent,
            sent_bytes: net.sent_bytes,
            received: net.received,
            received_bytes: net.received_bytes,
            dropped_full: net.dropped_full,
            dropped_truncated: net.dropped_truncated,
            ..HostStats::default()
        }
    }

    fn sim(&mut self) -> Option<&mut Sim> {
        Some(self)
    }
}

impl Transport for Sim {
    fn bind(&mut self, addr: &str) -> io::Result<Endpoint> {
        self.net.bind(addr)
    }

    fn local_addr(&self, endpoint: Endpoint) -> io::Result<String> {
        self.net.name_at(endpoint).map(String::from)
    }

    fn send(&mut self, endpoint: Endpoint, to: &str, bytes: &[u8]) -> io::Result<()> {
        let to = self.net.node(to);
        self.net.send(self.now, endpoint, to, bytes)
    }

    fn send_to(&mut self, endpoint: Endpoint, to: Address, bytes: &[u8]) -> io::Result<()> {
        match to {
            Address::Sim(to) => self.net.send(self.now, endpoint, to, bytes),
            Address::Inet(_) | Address::Local(_) => Err(no_such_endpoint()),
        }
    }

    fn recv(&mut self, endpoint: Endpoint, buf: &mut [u8]) -> io::Result<Option<(usize, Address)>> {
        self.net.recv(endpoint, buf)
    }

    fn name_of(&self, address: Address) -> Cow<'_, str> {
        match address {
            Address::Sim(index) => Cow::Borrowed(self.net.name(index)),
            Address::Inet(address) => Cow::Owned(address.to_string()),
            Address::Local(_) => Cow::Borrowed(""),
        }
    }

    fn close(&mut self, endpoint: Endpoint) {
        self.net.close(endpoint);
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
