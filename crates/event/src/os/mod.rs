//! The host that is the operating system: epoll, monotonic clock, sockets.
//!
//! ```text
//! poller    what is watched, and waiting for it
//! wake      ending a wait from another thread
//! sockets   the endpoints, and datagrams
//! receive   several datagrams by one system call
//! streams   connections
//! resolve   names to addresses, without blocking
//! shared_time   a clock that skips idle time, for several hosts
//! ```
//! Clocks are read through the vDSO, random numbers come from a generator: of a turn's calls of its
//! host only sending, receiving and entropy cost a system call, and each is counted.

mod poller;
mod receive;
mod resolve;
mod shared_time;
mod socket;
mod sockets;
mod streams;
mod wake;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustix::rand::{GetRandomFlags, getrandom};
use rustix::time::{ClockId, Timespec, clock_gettime};
use tidemill_stdx::keyed::Secret;
use tidemill_stdx::rng::Rng;

use crate::Time;
use crate::host::{Host, HostStats, Slice, Spent, Wait, Wake, Waker};
use crate::slab::Slab;
use crate::source::{Interest, Ready, Source, SourceError};
use poller::Poller;
use resolve::Resolver;
pub use shared_time::SharedTime;
use shared_time::{Membership, Rest};
use socket::Socket;
use wake::EventFd;

/// A turn runs for at most this long before others get theirs.
const SLICE: Duration = Duration::from_millis(1);

/// The operating system as a [`Host`].
pub struct Os {
    /// The monotonic clock at the start, in nanoseconds.
    start_ns: u64,
    random: Rng,
    /// The secret of hash tables, once it was requested.
    secret: Option<Secret>,
    poller: Poller,
    wake: Arc<EventFd>,
    resolver: Resolver,
    sockets: Slab<Socket>,
    /// Reports the kernel does not make: of connections whose name has no address.
    reports: Vec<Ready>,
    stats: HostStats,
    slice: Slice,
    /// The clock, if it skips idle time.
    skipped: Option<Skipped>,
}

/// A clock that stands still while something runs, and jumps when nothing is left to do.
struct Skipped {
    now: Time,
    /// The wall clock at time 0.
    wall_ns: i64,
    /// The clock that it follows, if it is shared with other hosts.
    shared: Option<Membership>,
    /// The last poll before a jump.
    polled: Polled,
}

/// A poll of the descriptors.
#[derive(Default)]
struct Polled {
    /// When it was.
    at: Time,
    /// The jumps since then.
    jumps: u32,
    /// The system calls of the host up to then.
    syscalls: u64,
}

/// The most jumps from one poll to the next, and the furthest.
const JUMPS_MAX: u32 = 64;
const JUMPS_SPAN: Duration = Duration::from_millis(10);

impl Skipped {
    fn new(now: Time, wall_ns: i64, shared: Option<Membership>) -> Skipped {
        Skipped { now, wall_ns, shared, polled: Polled::default() }
    }

    /// Whether the clock may jump without a poll, as a packet of a capture is due soon after the
    /// one before. What arrives from outside may be late by a little. What the program itself has
    /// sent or watches since the last poll may not, so it polls after that; and a clock that is
    /// shared waits for what the others have sent.
    fn jumps_unpolled(&self, to: Time, syscalls: u64) -> bool {
        let Polled { at, jumps, syscalls: before } = self.polled;
        self.shared.is_none() && jumps < JUMPS_MAX && to <= at + JUMPS_SPAN && syscalls == before
    }

    fn jump(&mut self, to: Time) {
        self.now = to.max(self.now);
    }
}

impl Os {
    /// A host whose random numbers are seeded by the kernel.
    ///
    /// # Errors
    /// The error of the kernel when it has no descriptors or no randomness left.
    pub fn new() -> io::Result<Os> {
        let mut seed = [0; 8];
        getrandom(&mut seed, GetRandomFlags::empty())?;
        Os::with_seed(u64::from_le_bytes(seed))
    }

    /// A host whose random numbers follow from `seed`. Time and the network still do not.
    ///
    /// # Errors
    /// The error of the kernel when it has no descriptors left.
    pub fn with_seed(seed: u64) -> io::Result<Os> {
        let wake = Arc::new(EventFd::new()?);
        let poller = Poller::new(&wake)?;
        Ok(Os {
            start_ns: clock_ns(ClockId::Monotonic) as u64,
            random: Rng::new(seed),
            secret: None,
            poller,
            resolver: Resolver::new(wake.clone()),
            wake,
            sockets: Slab::new(),
            reports: Vec::new(),
            stats: HostStats::default(),
            slice: Slice::Span(SLICE),
            skipped: None,
        })
    }

    /// With slices of `steps` steps instead of spans of time: what runs does not depend on how
    /// fast it runs.
    pub fn with_counted_slices(self, steps: u64) -> Os {
        Os { slice: Slice::Steps(steps), ..self }
    }

    /// With a clock that stands still while something runs, and jumps to the next deadline when
    /// nothing is left to do; its wall clock begins at `wall_ns`. Slices are counted. For data that
    /// bring times of their own.
    pub fn with_skipped_time(self, wall_ns: i64, steps: u64) -> Os {
        let skipped = Some(Skipped::new(Time::ZERO, wall_ns, None));
        Os { skipped, slice: Slice::Steps(steps), ..self }
    }

    /// With a clock that [skips idle time](Os::with_skipped_time), as the host of this number of
    /// those that share it: it jumps when nothing is left to do at any of them.
    pub fn with_shared_time(
        self,
        (time, number): (SharedTime, u32),
        wall_ns: i64,
        steps: u64,
    ) -> Os {
        let member = Membership::new(time, number, self.wake.clone());
        let skipped = Some(Skipped::new(member.now(), wall_ns, Some(member)));
        Os { skipped, slice: Slice::Steps(steps), ..self }
    }

    /// The system calls made so far.
    fn syscalls(&self) -> u64 {
        self.stats.syscalls + self.poller.syscalls
    }

    /// Lets the clock jump to the end of a wait, if that needs no poll.
    fn jumped_unpolled(&mut self, wait: Wait) -> bool {
        let syscalls = self.syscalls();
        let (Wait::Until(to), Some(skipped)) = (wait, &mut self.skipped) else { return false };
        let jumps = self.resolver.is_idle() && skipped.jumps_unpolled(to, syscalls);
        if jumps {
            skipped.jump(to);
            skipped.polled.jumps += 1;
        }
        jumps
    }

    fn time(&self) -> Time {
        if let Some(Skipped { now, .. }) = self.skipped {
            return now;
        }
        Time((clock_ns(ClockId::Monotonic) as u64).saturating_sub(self.start_ns))
    }
}

/// A clock of the kernel, read without a system call.
fn clock_ns(clock: ClockId) -> i64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    tv_sec * 1_000_000_000 + tv_nsec
}

/// Monotonic nanoseconds of the machine, wherever the program's time comes from: for reports of
/// how long work took. Nothing that a program can see may follow it.
pub fn machine_ns() -> u64 {
    u64::try_from(clock_ns(ClockId::Monotonic)).unwrap_or(0)
}

impl Host for Os {
    fn now(&mut self) -> Time {
        self.time()
    }

    fn stopwatch(&self) -> Option<fn() -> u64> {
        self.skipped.is_none().then_some(machine_ns)
    }

    fn wall_ns(&mut self) -> i64 {
        match &self.skipped {
            Some(Skipped { now, wall_ns, .. }) => wall_ns.saturating_add_unsigned(now.0),
            None => clock_ns(ClockId::Realtime),
        }
    }

    fn random(&mut self) -> u64 {
        self.random.next_u64()
    }

    fn fill_entropy(&mut self, mut bytes: &mut [u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.stats.syscalls += 1;
            let count = match getrandom(&mut *bytes, GetRandomFlags::empty()) {
                Ok(count) => count,
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            bytes = &mut bytes[count..];
        }
        Ok(())
    }

    fn hash_secret(&mut self) -> io::Result<Secret> {
        if let Some(secret) = self.secret {
            return Ok(secret);
        }
        let mut bytes = [0; 24];
        self.fill_entropy(&mut bytes)?;
        Ok(*self.secret.insert(Secret::of_bytes(&bytes)))
    }

    fn slice(&self) -> Slice {
        self.slice
    }

    fn spent(&mut self, spent: Spent) {
        if spent.steps > 0 {
            self.poller.note_activity();
        }
    }

    fn register(&mut self, source: Source, token: u64, interest: Interest) -> io::Result<()> {
        match source {
            Source::Fd(fd) => self.poller.add(fd, token, interest, poller::Held::ByCaller),
            Source::Endpoint(endpoint) => self.register_endpoint(endpoint, token, interest),
        }
    }

    fn modify(&mut self, source: Source, token: u64, interest: Interest) -> io::Result<()> {
        match source {
            Source::Fd(fd) => self.poller.modify(fd, token, interest),
            Source::Endpoint(endpoint) => self.modify_endpoint(endpoint, token, interest),
        }
    }

    fn deregister(&mut self, source: Source, token: u64) {
        match source {
            Source::Fd(_) => self.poller.remove(token),
            Source::Endpoint(endpoint) => self.deregister_endpoint(endpoint, token),
        }
    }

    fn wait(&mut self, wait: Wait, ready: &mut Vec<Ready>) -> io::Result<Wake> {
        if !self.resolver.is_idle() {
            self.poller.expect_wakes();
        }
        let now = self.time();
        ready.append(&mut self.reports);
        let wait = if ready.is_empty() { wait } else { Wait::Poll };
        if self.jumped_unpolled(wait) {
            return Ok(Wake::Ready);
        }
        // The clock jumps at a rest.
        let (wait, rest) = match (wait, &self.skipped) {
            (Wait::Until(at), Some(_)) => (Wait::Poll, Some(at)),
            (Wait::Forever, Some(Skipped { shared: Some(_), .. })) => (Wait::Poll, Some(Time::MAX)),
            (wait, _) => (wait, None),
        };
        let mut wake = self.poller.wait(wait, now, ready)?;
        let syscalls = self.syscalls();
        match &mut self.skipped {
            Some(Skipped { now, shared: Some(member), .. }) => {
                if let Some(at) = rest.filter(|_| ready.is_empty())
                    && member.rest(at) == Rest::Waits
                {
                    let waited = self.poller.wait(Wait::Forever, *now, ready);
                    member.go_on();
                    wake = waited?;
                }
                *now = member.now();
            }
            Some(skipped) if ready.is_empty() => {
                skipped.jump(rest.unwrap_or(skipped.now));
                skipped.polled = Polled { at: skipped.now, jumps: 0, syscalls };
            }
            _ => {}
        }
        if self.poller.take_woken() {
            self.wake.clear();
            self.poller.syscalls += 1;
            self.finish_lookups();
            ready.append(&mut self.reports);
        }
        Ok(wake)
    }

    fn is_idle(&self) -> bool {
        self.poller.is_empty() && self.resolver.is_idle() && self.reports.is_empty()
    }

    fn waker(&mut self) -> io::Result<Arc<dyn Waker>> {
        self.poller.expect_wakes();
        let shared = self.skipped.as_ref().and_then(|skipped| skipped.shared.as_ref());
        Ok(match shared {
            Some(member) => member.waker(self.wake.clone()),
            None => self.wake.clone(),
        })
    }

    fn stats(&self) -> HostStats {
        HostStats {
            syscalls: self.syscalls(),
            bad_descriptors: self.poller.bad_descriptors,
            lookups: self.resolver.lookups,
            dropped_kernel: self.stats.dropped_kernel + self.kernel_drops(),
            ..self.stats
        }
    }
}

/// The report of an endpoint that could not be opened.
fn failed(token: u64, error: io::Error) -> Ready {
    let error = Some(SourceError::Lasting(error));
    Ready { token, readable: false, writable: false, error }
}
