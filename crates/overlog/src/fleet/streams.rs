//! The sockets of a node whose tuples travel by connections.
//!
//! Their contents, and when they are made and ended, are decided by
//! [`Connections`](tidemill_fabric::connections::Connections); here are the sockets and the loop.
//!
//! ```text
//! mail -> send, pump -> [Connections] -> actions: connect, write, close -> host
//! host -> accept, read, write -> push, step, advance -> contents        -> mail
//! ```

use std::io;
use std::time::Duration;

use tidemill_event::{Endpoint, Handlers, Host, Interest, Loop, WatchId};
use tidemill_fabric::connections::{Action, ConnectionId, Connections, Context, Ended, Step};
use tidemill_fabric::counters::Count;
use tidemill_fabric::seal::{Guard, NoEntropy};
use tidemill_fabric::stream::write_frame;
use tidemill_stdx::log::Level;
use tidemill_stdx::ordered::OrderedMap;
use tidemill_stdx::say;

use super::links::{Link, Streams};
use super::post::{arm_post, post};
use super::state::{Alive, INBOX_MAX, NodeId};
use super::turns;
use super::world::{Call, World};

/// The most verbose level of this file's log lines.
const CEILING: Level = Level::Trace;

/// Connections accepted in one call before other work runs.
const ACCEPT_BATCH: usize = 16;

/// Reads, and writes, in one call.
const READ_BATCH: usize = 4;
const WRITE_BATCH: usize = 16;

/// The pause of accepting when the system has no descriptors left.
const REST: Duration = Duration::from_millis(500);

/// Events in the inbox above which nothing is read, and below which reading goes on.
const PAUSE_ABOVE: usize = INBOX_MAX / 2;
const RESUME_BELOW: usize = INBOX_MAX / 8;

/// The state of a connection after a read.
enum After {
    /// It may have more.
    More,
    /// It has nothing more for now.
    Quiet,
    /// It is at its end.
    Closed,
    /// It is gone.
    Broken,
    /// It is ended for this reason.
    Bad(Count),
    /// It is not of a node: a tool begins it with this frame.
    Tool(Vec<u8>),
}

/// A node, in one of its lives.
type Whose = (NodeId, u32);

impl Streams {
    /// Takes connections from `port`, a listener. `address` is the name of the node.
    ///
    /// # Errors
    /// The host's error on watching the port, which is closed then.
    pub(super) fn open<W: World>(
        events: &mut Loop<W>,
        port: Endpoint,
        whose: Whose,
        address: &str,
        guard: Option<Box<Guard>>,
    ) -> io::Result<Streams> {
        let opened = match Connections::new(address, guard) {
            Ok(connections) => watch_port(events, port, whose).map(|watch| (connections, watch)),
            Err(_) => Err(io::Error::new(io::ErrorKind::InvalidInput, "an address without end")),
        };
        let (connections, watch) = opened.inspect_err(|_| events.host().close(port))?;
        let port = Link { endpoint: port, watch, interest: Interest::Read };
        Ok(Streams { port, links: OrderedMap::new(), connections, is_paused: false })
    }
}

fn watch_port<W: World>(events: &mut Loop<W>, port: Endpoint, whose: Whose) -> io::Result<WatchId> {
    let handlers = Handlers::new()
        .read(move |world: &mut W, events: &mut Loop<W>, _| accept(world, events, whose))
        .error(move |_, _, _, error| say!(Error, "net", "the port for connections: {error}"));
    events.watch(port, Interest::Read, handlers)
}

fn watch<W: World>(
    events: &mut Loop<W>,
    endpoint: Endpoint,
    whose: Whose,
    id: ConnectionId,
    interest: Interest,
) -> io::Result<Link> {
    let handlers = Handlers::new()
        .read(move |world: &mut W, events: &mut Loop<W>, _| read(world, events, whose, id))
        .write(move |world: &mut W, events: &mut Loop<W>, _| write(world, events, whose, id))
        .error(move |world: &mut W, events: &mut Loop<W>, _, error| {
            fail(world, events, whose, id, &error);
            post(world, events, whose.0, whose.1);
        });
    let watched = events.watch(endpoint, interest, handlers);
    let watch = watched.inspect_err(|_| events.host().close(endpoint))?;
    Ok(Link { endpoint, watch, interest })
}

fn accept<W: World>(world: &mut W, events: &mut Loop<W>, whose: Whose) {
    for _ in 0..ACCEPT_BATCH {
        let Some((alive, _)) = world.fleet().alive(whose.0, whose.1) else { return };
        let Alive { streams: Some(streams), mail, .. } = alive else { return };
        let taken = match events.host().accept(streams.port.endpoint) {
            Ok(None) => break,
            Ok(Some((endpoint, address))) => {
                let from = events.host().name_of(address).into_owned();
                let now_ns = events.now().0;
                say!(Debug, "net", "a connection from {from}");
                let counters = mail.counters_mut();
                let id = streams.with(events.host(), now_ns, counters, |connections, cx| {
                    connections.accept(from, cx)
                });
                let interest = streams.interest(id);
                match watch(events, endpoint, whose, id, interest) {
                    Ok(link) => {
                        streams.links.insert(id, link);
                        Ok(())
                    }
                    Err(error) => {
                        streams.connections.release(id);
                        Err(error)
                    }
                }
            }
            Err(error) => Err(error),
        };
        if let Err(error) = taken {
            mail.counters_mut().count(Count::ConnectionBroken);
            say!(Warn, "net", "a connection cannot be taken: {error}");
            rest(events, streams.port.watch);
            break;
        }
    }
    act(world, events, whose);
    arm_post(world, events, whose.0, whose.1);
}

/// Pauses accepting: the port would be ready again and again without a free descriptor.
fn rest<W: World>(events: &mut Loop<W>, port: WatchId) {
    if events.modify(port, Interest::None).is_ok() {
        let at = events.now() + REST;
        events.timer(at, move |_: &mut W, events: &mut Loop<W>| {
            // The port may be closed meanwhile.
            let _ = events.modify(port, Interest::Read);
        });
    }
}

/// Reads what has come over a connection.
fn read<W: World>(world: &mut W, events: &mut Loop<W>, whose: Whose, id: ConnectionId) {
    let mut buffer = world.fleet().take_buffer();
    let mut count = 0;
    let mut after = After::More;
    for _ in 0..READ_BATCH {
        let Some((alive, _)) = world.fleet().alive(whose.0, whose.1) else { break };
        after = alive.read(events, id, &mut buffer, &mut count);
        if !matches!(after, After::More) {
            break;
        }
    }
    world.fleet().give_back(buffer);
    match after {
        After::More | After::Quiet => {}
        After::Closed => {
            end(world, events, whose, id, "closed by the other side", Connections::closed);
        }
        After::Broken => end(world, events, whose, id, "it broke", Connections::broken),
        After::Bad(reason) => {
            refuse(world, whose, id, reason);
            end(world, events, whose, id, reason.name(), Connections::end);
        }
        After::Tool(hello) => give_away(world, events, whose, id, &hello),
    }
    turns::schedule(world, events, whose.0, whose.1, count);
    post(world, events, whose.0, whose.1);
}

impl Alive {
    /// Reads once; adds the number of events to `count`.
    fn read<W: World>(
        &mut self,
        events: &mut Loop<W>,
        id: ConnectionId,
        buffer: &mut [u8],
        count: &mut usize,
    ) -> After {
        let now_ns = events.now().0;
        // Taking frames needs the rest of the node.
        let Some(mut streams) = self.streams.take() else { return After::Quiet };
        let after = self.read_link(&mut streams, events, id, buffer, count, now_ns);
        self.streams = Some(streams);
        after
    }

    fn read_link<W: World>(
        &mut self,
        streams: &mut Streams,
        events: &mut Loop<W>,
        id: ConnectionId,
        buffer: &mut [u8],
        count: &mut usize,
        now_ns: u64,
    ) -> After {
        if self.node.waiting() > PAUSE_ABOVE && streams.connections.reads(id) {
            streams.is_paused = true;
            streams.rewatch_all(events);
            return After::Quiet;
        }
        let Some(link) = streams.links.get(&id) else { return After::Quiet };
        let length = match events.host().read(link.endpoint, buffer) {
            Ok(None) => return After::Quiet,
            Ok(Some(0)) => return After::Closed,
            Ok(Some(length)) => length,
            Err(_) => return After::Broken,
        };
        streams.connections.push(id, &buffer[..length], now_ns);
        let end = self.take_frames(streams, events.host(), id, now_ns, count);
        let rest = if length == buffer.len() { After::More } else { After::Quiet };
        end.unwrap_or(rest)
    }

    /// Takes the complete frames; returns whether the connection has to end.
    fn take_frames(
        &mut self,
        streams: &mut Streams,
        host: &mut dyn Host,
        id: ConnectionId,
        now_ns: u64,
        count: &mut usize,
    ) -> Option<After> {
        let mut entropy = |bytes: &mut [u8]| host.fill_entropy(bytes).map_err(|_| NoEntropy);
        loop {
            let (drops, counters) = (self.mail.counters().drops(), self.mail.counters_mut());
            let mut cx = Context { now_ns, entropy: &mut entropy, counters };
            match streams.connections.step(id, &mut cx) {
                Step::Quiet => return None,
                Step::Taken { from, bytes } => self.log_drop(from, bytes, drops),
                Step::Named { from, name } => say!(Debug, "net", "{from} is {name}"),
                Step::Content { from, bytes } => *count += self.take_in(from, bytes, now_ns),
                Step::Tool(hello) => return Some(After::Tool(hello)),
                Step::Bad(reason) => return Some(After::Bad(reason)),
            }
        }
    }
}

/// Hands a connection of a tool to the world.
fn give_away<W: World>(
    world: &mut W,
    events: &mut Loop<W>,
    whose: Whose,
    id: ConnectionId,
    hello: &[u8],
) {
    let Some((alive, _)) = world.fleet().alive(whose.0, whose.1) else { return };
    let Some(streams) = &mut alive.streams else { return };
    let (link, released) = (streams.links.remove(&id), streams.connections.release(id));
    let (Some(link), Some((from, rest))) = (link, released) else { return };
    events.unwatch(link.watch);
    let mut bytes = Vec::new();
    // It came as a frame, so it is not too long for one.
    let _ = write_frame(&mut bytes, hello);
    bytes.extend(rest);
    world.called(events, whose.0, Call { endpoint: link.endpoint, from: &from, bytes: &bytes });
}

/// Logs that a connection ends because of its content.
fn refuse<W: World>(world: &mut W, whose: Whose, id: ConnectionId, reason: Count) {
    let Some((alive, _)) = world.fleet().alive(whose.0, whose.1) else { return };
    let Alive { streams: Some(streams), refusals, node, .. } = alive else { return };
    let (name, why) = (&node.identity().address, reason.name());
    if reason.is_refusal()
        && let Some(whom) = refusals.first(streams.connections.name(id), why)
    {
        say!(Warn, "net", "{name}: {whom} is refused: {why}");
    }
}

/// A connection broke, or could not be made.
fn fail<W: World>(
    world: &mut W,
    events: &mut Loop<W>,
    whose: Whose,
    id: ConnectionId,
    error: &io::Error,
) {
    end(world, events, whose, id, &error.to_string(), Connections::broken);
}

/// Ends a connection, which may be gone already.
fn end<W: World>(
    world: &mut W,
    events: &mut Loop<W>,
    whose: Whose,
    id: ConnectionId,
    why: &str,
    how: impl FnOnce(&mut Connections, ConnectionId, &mut Context<'_>) -> Option<Ended>,
) {
    let now_ns = events.now().0;
    let Some((alive, _)) = world.fleet().alive(whose.0, whose.1) else { return };
    let Alive { streams: Some(streams), mail, .. } = alive else { return };
    let counters = mail.counters_mut();
    let ended =
        streams.with(events.host(), now_ns, counters, |connections, cx| how(connections, id, cx));
    let Some(Ended { name, waiting }) = ended else { return };
    match waiting {
        Some(frames) => say!(Debug, "net", "no connection to {name}: {why}; {frames} frames wait"),
        None => say!(Debug, "net", "the connection from {name} has ended: {why}"),
    }
}

/// Handles a connection that has become writable.
fn write<W: World>(world: &mut W, events: &mut Loop<W>, whose: Whose, id: ConnectionId) {
    let now_ns = events.now().0;
    let Some((alive, _)) = world.fleet().alive(whose.0, whose.1) else { return };
    let Alive { streams: Some(streams), mail, .. } = alive else { return };
    if streams.connections.is_connecting(id) {
        let counters = mail.counters_mut();
        streams.with(events.host(), now_ns, counters, |connections, cx| {
            connections.connected(id, cx);
        });
        say!(Debug, "net", "connected to {}", streams.connections.name(id));
    }
    write_out(world, events, whose, id);
    act(world, events, whose);
    arm_post(world, events, whose.0, whose.1);
}

/// Writes what waits; the host reports when it takes more.
fn write_out<W: World>(world: &mut W, events: &mut Loop<W>, whose: Whose, id: ConnectionId) {
    let Some((alive, _)) = world.fleet().alive(whose.0, whose.1) else { return };
    if let Err(error) = alive.write(events, id) {
        fail(world, events, whose, id, &error);
    }
}

impl Alive {
    fn write<W: World>(&mut self, events: &mut Loop<W>, id: ConnectionId) -> io::Result<()> {
        let now_ns = events.now().0;
        let Alive { streams: Some(streams), mail, .. } = self else { return Ok(()) };
        for _ in 0..WRITE_BATCH {
            let Some(&Link { endpoint, .. }) = streams.links.get(&id) else { return Ok(()) };
            let unwritten = streams.connections.unwritten(id);
            if unwritten.is_empty() {
                break;
            }
            let Some(count) = events.host().write(endpoint, unwritten)? else { break };
            say!(Trace, "net", "wrote {count} bytes to {}", streams.connections.name(id));
            let counters = mail.counters_mut();
            streams.with(events.host(), now_ns, counters, |connections, cx| {
                connections.advance(id, count, cx);
            });
        }
        streams.rewatch(events, id)
    }
}

/// Sends what waits, as far as possible now.
pub(super) fn pump<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let now_ns = events.now().0;
    let Some((alive, _)) = world.fleet().alive(id, life) else { return };
    let Alive { streams: Some(streams), mail, .. } = alive else { return };
    streams.with(events.host(), now_ns, mail.counters_mut(), |connections, cx| {
        connections.pump(cx);
    });
    act(world, events, (id, life));
}

/// Handles what is due.
pub(super) fn on_time<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let now_ns = events.now().0;
    let Some((alive, _)) = world.fleet().alive(id, life) else { return };
    let Alive { streams: Some(streams), mail, .. } = alive else { return };
    streams.with(events.host(), now_ns, mail.counters_mut(), |connections, cx| {
        connections.on_time(cx);
    });
}

/// Carries out the actions of the connections.
fn act<W: World>(world: &mut W, events: &mut Loop<W>, whose: Whose) {
    loop {
        let Some((alive, _)) = world.fleet().alive(whose.0, whose.1) else { return };
        let Some(streams) = &mut alive.streams else { return };
        match streams.connections.next_action() {
            Some(Action::Connect(id, to)) => {
                let made = events.host().connect(&to);
                let link = made.and_then(|made| watch(events, made, whose, id, Interest::Write));
                match link {
                    Ok(link) => {
                        streams.links.insert(id, link);
                    }
                    Err(error) => fail(world, events, whose, id, &error),
                }
            }
            Some(Action::Write(id)) => write_out(world, events, whose, id),
            Some(Action::Close(id)) => {
                streams.links.remove(&id).into_iter().for_each(|link| link.close(events));
            }
            Some(Action::Lost(name, frames)) => {
                say!(Info, "net", "{name} is lost; {frames} frames for it are dropped");
            }
            None => return,
        }
    }
}

/// Resumes reading once the node has caught up.
pub(super) fn resume<W: World>(alive: &mut Alive, events: &mut Loop<W>) {
    let waiting = alive.node.waiting();
    if let Some(streams) = &mut alive.streams
        && streams.is_paused
        && waiting < RESUME_BELOW
    {
        streams.is_paused = false;
        streams.rewatch_all(events);
    }
}
