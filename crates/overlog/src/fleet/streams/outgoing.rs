//! Connections to peers: made when something waits, written, and made again when they break.
//!
//! ```text
//!             something waits            it can be written
//!   Resting ------------------> Connecting ------------> Connected
//!                                  ^    | fails             | breaks
//!                    time is over  |    v                   v
//!                                  +-- Waiting <------------+
//!                                        | nothing waits, or for too long
//!                                        v
//!                                     forgotten
//! ```

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tidemill_event::{Handlers, Interest, Loop};
use tidemill_stdx::log::Level;
use tidemill_stdx::say;

use super::{Link, NodeId, Streams, World};
use crate::fleet::Alive;
use tidemill_fabric::counters::{Count, Counters};
use tidemill_fabric::outgoing::{BACKOFF_MAX_NS, Full, Outgoing};
use tidemill_fabric::reliable::LEASE_NS;

/// What this file says at most.
const CEILING: Level = Level::Trace;

/// How long making a connection may take.
const CONNECT_MAX: Duration = Duration::from_secs(5);

/// How long something may wait without any of it going: the peer is lost then.
const PATIENCE: Duration = Duration::from_nanos(LEASE_NS);

/// Writes at a stretch before others get their turn.
const WRITE_BATCH: usize = 16;

/// One peer and the connection to it.
pub(super) struct Peer {
    queue: Outgoing,
    state: State,
    /// Counts changes of `state`: a timer of an earlier one is of no concern.
    epoch: u64,
    /// When something was last written, or began to wait.
    well_ns: u64,
    /// When the connection was made.
    connected_ns: u64,
    /// The connection takes nothing more for now.
    is_blocked: bool,
    /// A timer looks whether a blocked connection moves.
    is_guarded: bool,
}

#[derive(Clone, Copy)]
enum State {
    /// There was no connection yet.
    Resting,
    /// It is not yet time for the next one.
    Waiting,
    /// It is being made.
    Connecting(Link),
    /// It is there.
    Connected(Link),
}

impl Peer {
    pub(super) fn new(greeting: Arc<[u8]>) -> Peer {
        Peer {
            queue: Outgoing::new(greeting),
            state: State::Resting,
            epoch: 0,
            well_ns: 0,
            connected_ns: 0,
            is_blocked: false,
            is_guarded: false,
        }
    }

    pub(super) fn push(&mut self, envelope: &[u8], now_ns: u64) -> Result<(), Full> {
        if self.is_idle() {
            self.well_ns = now_ns;
        }
        self.queue.push(envelope)
    }

    pub(super) fn link(&self) -> Option<Link> {
        match self.state {
            State::Connecting(link) | State::Connected(link) => Some(link),
            State::Resting | State::Waiting => None,
        }
    }

    /// True if nothing waits.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.waiting() == 0
    }

    pub(super) fn well_ns(&self) -> u64 {
        self.well_ns
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.epoch += 1;
        self.is_blocked = false;
        self.is_guarded = false;
    }

    /// Nothing of what waits has gone for too long.
    fn is_lost(&self, now_ns: u64) -> bool {
        !self.is_idle() && now_ns.saturating_sub(self.well_ns) >= LEASE_NS
    }
}

/// Which peer of which node.
#[derive(Clone)]
struct To {
    id: NodeId,
    life: u32,
    address: Arc<str>,
}

impl To {
    fn streams<'w, W: World>(
        &self,
        world: &'w mut W,
    ) -> Option<(&'w mut Streams, &'w mut Counters)> {
        let (Alive { mail, streams, .. }, _) = world.fleet().alive(self.id, self.life)?;
        Some((streams.as_mut()?, mail.counters_mut()))
    }

    fn peer<'w, W: World>(&self, world: &'w mut W) -> Option<(&'w mut Peer, &'w mut Counters)> {
        let (streams, counters) = self.streams(world)?;
        Some((streams.peers.get_mut(&self.address)?, counters))
    }
}

/// Sends what waits, as far as it goes now.
pub(in crate::fleet) fn pump<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let Some((alive, _)) = world.fleet().alive(id, life) else { return };
    let Some(streams) = &mut alive.streams else { return };
    let touched = std::mem::take(&mut streams.touched);
    for link in std::mem::take(&mut streams.evicted) {
        link.close(events);
    }
    for address in touched {
        let to = To { id, life, address };
        match to.peer(world).map(|(peer, _)| peer.state) {
            Some(State::Resting) => connect(world, events, &to),
            Some(State::Connected(_)) => write(world, events, &to),
            // A time or the host will tell when to go on; the peer may be gone, too.
            Some(State::Waiting | State::Connecting(_)) | None => {}
        }
    }
}

fn connect<W: World>(world: &mut W, events: &mut Loop<W>, to: &To) {
    let link = match begin(events, to) {
        Ok(link) => link,
        Err(error) => return fail(world, events, to, &error),
    };
    let Some((peer, _)) = to.peer(world) else { return link.close(events) };
    peer.enter(State::Connecting(link));
    let epoch = peer.epoch;
    look_again(events, to, epoch, CONNECT_MAX);
}

fn begin<W: World>(events: &mut Loop<W>, to: &To) -> io::Result<Link> {
    let endpoint = events.host().connect(&to.address)?;
    let (reader, writer, failed) = (to.clone(), to.clone(), to.clone());
    let handlers = Handlers::new()
        .read(move |world: &mut W, events: &mut Loop<W>, _| read(world, events, &reader))
        .write(move |world: &mut W, events: &mut Loop<W>, _| write(world, events, &writer))
        .error(move |world: &mut W, events: &mut Loop<W>, _, error| {
            fail(world, events, &failed, &error);
        });
    let watched = events.watch(endpoint, Interest::Write, handlers);
    let watch = watched.inspect_err(|_| events.host().close(endpoint))?;
    Ok(Link { endpoint, watch })
}

/// Writes what waits; the host tells when it takes more.
fn write<W: World>(world: &mut W, events: &mut Loop<W>, to: &To) {
    if let Err(error) = try_write(world, events, to) {
        fail(world, events, to, &error);
    }
}

fn try_write<W: World>(world: &mut W, events: &mut Loop<W>, to: &To) -> io::Result<()> {
    let now_ns = events.now().0;
    let Some((peer, counters)) = to.peer(world) else { return Ok(()) };
    let (link, is_new) = match peer.state {
        State::Connecting(link) => (link, true),
        State::Connected(link) => (link, false),
        State::Resting | State::Waiting => return Ok(()),
    };
    if is_new {
        counters.count(Count::Connected);
        peer.enter(State::Connected(link));
        peer.connected_ns = now_ns;
        say!(Debug, "net", "connected to {}", to.address);
    }
    for _ in 0..WRITE_BATCH {
        let unwritten = peer.queue.unwritten();
        if unwritten.is_empty() {
            break;
        }
        let Some(count) = events.host().write(link.endpoint, unwritten)? else { break };
        say!(Trace, "net", "wrote {count} bytes to {}", to.address);
        peer.queue.advance(count);
        peer.well_ns = now_ns;
    }
    let is_blocked = !peer.is_idle();
    if is_new || is_blocked != peer.is_blocked {
        peer.is_blocked = is_blocked;
        let interest = if is_blocked { Interest::ReadWrite } else { Interest::Read };
        events.modify(link.watch, interest)?;
    }
    if is_blocked && !peer.is_guarded {
        peer.is_guarded = true;
        look_again(events, to, peer.epoch, PATIENCE);
    }
    Ok(())
}

/// Nothing is expected from there but the end.
fn read<W: World>(world: &mut W, events: &mut Loop<W>, to: &To) {
    let Some((peer, counters)) = to.peer(world) else { return };
    let Some(link) = peer.link() else { return };
    let error = match events.host().read(link.endpoint, &mut [0; 64]) {
        Ok(None) => return,
        Ok(Some(0)) => io::Error::new(io::ErrorKind::UnexpectedEof, "the other side has closed it"),
        Ok(Some(_)) => {
            counters.count(Count::Malformed);
            io::Error::new(io::ErrorKind::InvalidData, "the other side speaks out of turn")
        }
        Err(error) => error,
    };
    fail(world, events, to, &error);
}

/// The connection is gone, or could not be made.
fn fail<W: World>(world: &mut W, events: &mut Loop<W>, to: &To, error: &io::Error) {
    let now_ns = events.now().0;
    let Some((peer, counters)) = to.peer(world) else { return };
    counters.count(Count::ConnectionBroken);
    if let Some(link) = peer.link() {
        link.close(events);
    }
    // One that is closed as soon as it is made must not be made again at once.
    let lasted = now_ns.saturating_sub(peer.connected_ns) >= BACKOFF_MAX_NS;
    if lasted && matches!(peer.state, State::Connected(_)) {
        peer.queue.calm();
    }
    peer.queue.rewind();
    peer.enter(State::Waiting);
    let (epoch, wait) = (peer.epoch, Duration::from_nanos(peer.queue.back_off()));
    let waiting = peer.queue.waiting();
    say!(Debug, "net", "no connection to {}: {error}; {waiting} frames wait", to.address);
    look_again(events, to, epoch, wait);
}

fn look_again<W: World>(events: &mut Loop<W>, to: &To, epoch: u64, after: Duration) {
    let (to, at) = (to.clone(), events.now() + after);
    events.timer(at, move |world: &mut W, events: &mut Loop<W>| look(world, events, &to, epoch));
}

/// The time given to a state is over.
fn look<W: World>(world: &mut W, events: &mut Loop<W>, to: &To, epoch: u64) {
    let now_ns = events.now().0;
    let Some((peer, _)) = to.peer(world) else { return };
    if peer.epoch != epoch {
        return;
    }
    let is_lost = peer.is_lost(now_ns);
    let stuck = || io::Error::new(io::ErrorKind::TimedOut, "it does not move");
    match peer.state {
        State::Resting => {}
        State::Waiting if is_lost || peer.is_idle() => forget(world, to),
        State::Waiting => connect(world, events, to),
        State::Connecting(_) => fail(world, events, to, &stuck()),
        State::Connected(_) if is_lost => fail(world, events, to, &stuck()),
        State::Connected(_) => {
            peer.is_guarded = peer.is_blocked;
            if peer.is_guarded {
                let left = LEASE_NS.saturating_sub(now_ns.saturating_sub(peer.well_ns));
                look_again(events, to, epoch, Duration::from_nanos(left));
            }
        }
    }
}

/// Drops a peer without connection and what waits for it.
fn forget<W: World>(world: &mut W, to: &To) {
    let Some((streams, counters)) = to.streams(world) else { return };
    let Some(peer) = streams.peers.remove(&to.address) else { return };
    let dropped = peer.queue.waiting() as u64;
    if dropped > 0 {
        counters.add(Count::PeerLost, dropped);
        say!(Info, "net", "{} is lost; {dropped} frames for it are dropped", to.address);
    }
}
