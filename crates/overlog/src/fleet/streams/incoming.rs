//! Connections from peers: taken, read, and ended when they misbehave.

use std::io;
use std::time::Duration;

use tidemill_event::{Endpoint, Handlers, Interest, Loop, WatchId};
use tidemill_stdx::log::Level;
use tidemill_stdx::say;

use super::{CONNECTIONS_MAX, Link, NodeId, Streams, World};
use crate::fleet::{Alive, Call, INBOX_MAX, timers, turns};
use crate::net::mail::canonical;
use tidemill_fabric::counters::Count;
use tidemill_fabric::greeting::greeter;
use tidemill_fabric::head::Head;
use tidemill_fabric::stream::{FrameReader, write_frame};
use tidemill_fabric::token::is_hello;

/// What this file says at most.
const CEILING: Level = Level::Trace;

/// Connections taken at a stretch before others get their turn.
const ACCEPT_BATCH: usize = 16;

/// Reads at a stretch.
const READ_BATCH: usize = 4;

/// How long the port rests when the system has no descriptors left.
const REST: Duration = Duration::from_millis(500);

/// Bytes of frames of which a part has come, over all connections of a node.
const HELD_BYTES_MAX: usize = 64 << 20;

/// Events in the inbox above which nothing is read, and below which reading goes on.
const PAUSE_ABOVE: usize = INBOX_MAX / 2;
const RESUME_BELOW: usize = INBOX_MAX / 8;

/// One connection that was taken.
pub(super) struct Incoming {
    pub(super) link: Link,
    from: Sender,
    reader: FrameReader,
    /// When it was made or something last came.
    heard_ns: u64,
}

/// Who is at the other end.
enum Sender {
    /// Nobody has said so yet; where the connection comes from.
    Unknown(String),
    /// The node of this address.
    Node(String),
    /// Someone who cannot be answered; where the connection comes from.
    Nameless(String),
}

impl Sender {
    fn name(&self) -> &str {
        match self {
            Sender::Unknown(name) | Sender::Node(name) | Sender::Nameless(name) => name,
        }
    }
}

/// How a connection goes on after a read.
enum After {
    /// It may have more.
    More,
    /// It has nothing more for now.
    Quiet,
    /// It is at its end.
    Ended,
    /// It is ended for this reason.
    Bad(Count),
    /// It is not of a node: a tool begins it with this frame.
    Tool(Vec<u8>),
}

/// Watches the port.
pub(super) fn watch<W: World>(
    events: &mut Loop<W>,
    port: Endpoint,
    id: NodeId,
    life: u32,
) -> io::Result<WatchId> {
    let handlers = Handlers::new()
        .read(move |world: &mut W, events: &mut Loop<W>, _| accept(world, events, id, life))
        .error(move |_, _, _, error| say!(Error, "net", "the port for connections: {error}"));
    events.watch(port, Interest::Read, handlers)
}

fn accept<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    for _ in 0..ACCEPT_BATCH {
        let Some((Alive { streams: Some(streams), mail, .. }, _)) = world.fleet().alive(id, life)
        else {
            return;
        };
        let taken = match events.host().accept(streams.port.endpoint) {
            Ok(None) => return,
            Ok(Some((endpoint, address))) => {
                let from = events.host().name_of(address).into_owned();
                take(streams, events, (id, life), endpoint, from)
            }
            Err(error) => Err(error),
        };
        match taken {
            Ok(evicted) => {
                mail.counters_mut().count(Count::Accepted);
                mail.counters_mut().add(Count::ConnectionEvicted, u64::from(evicted));
            }
            Err(error) => {
                mail.counters_mut().count(Count::ConnectionBroken);
                say!(Warn, "net", "a connection cannot be taken: {error}");
                return rest(events, streams.port.watch);
            }
        }
    }
}

/// The port would be ready again and again with nothing to be done about it.
fn rest<W: World>(events: &mut Loop<W>, port: WatchId) {
    if events.modify(port, Interest::None).is_ok() {
        let at = events.now() + REST;
        events.timer(at, move |_: &mut W, events: &mut Loop<W>| {
            // The port may be closed meanwhile.
            let _ = events.modify(port, Interest::Read);
        });
    }
}

/// Keeps a connection, if need be in the place of the one that was silent longest: whether one
/// had to go.
fn take<W: World>(
    streams: &mut Streams,
    events: &mut Loop<W>,
    (id, life): (NodeId, u32),
    endpoint: Endpoint,
    from: String,
) -> io::Result<bool> {
    let number = streams.accepted;
    streams.accepted += 1;
    let handlers = Handlers::new()
        .read(move |world: &mut W, events: &mut Loop<W>, _| read(world, events, id, life, number))
        .error(move |world: &mut W, events: &mut Loop<W>, _, error| {
            say!(Debug, "net", "a connection broke: {error}");
            end(world, events, (id, life), number, Some(Count::ConnectionBroken));
        });
    let interest = if streams.is_paused { Interest::None } else { Interest::Read };
    let watched = events.watch(endpoint, interest, handlers);
    let watch = watched.inspect_err(|_| events.host().close(endpoint))?;
    let full = streams.incoming.len() >= CONNECTIONS_MAX;
    if full {
        let connections = streams.incoming.iter();
        let oldest = connections.min_by_key(|(_, one)| one.heard_ns).map(|(&number, _)| number);
        if let Some(old) = oldest.and_then(|number| streams.incoming.remove(&number)) {
            streams.held -= old.reader.held();
            old.link.close(events);
        }
    }
    say!(Debug, "net", "a connection from {from}");
    let link = Link { endpoint, watch };
    let (from, reader) = (Sender::Unknown(from), FrameReader::default());
    let incoming = Incoming { link, from, reader, heard_ns: events.now().0 };
    streams.incoming.insert(number, incoming);
    Ok(full)
}

/// Reads what has come over a connection.
fn read<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32, number: u64) {
    let mut buffer = std::mem::take(&mut world.fleet().buffer);
    let mut count = 0;
    let mut after = After::More;
    for _ in 0..READ_BATCH {
        let Some((alive, _)) = world.fleet().alive(id, life) else { break };
        after = alive.read(events, number, &mut buffer, &mut count);
        if !matches!(after, After::More) {
            break;
        }
    }
    world.fleet().buffer = buffer;
    match after {
        After::More | After::Quiet => {}
        After::Ended => end(world, events, (id, life), number, None),
        After::Bad(reason) => end(world, events, (id, life), number, Some(reason)),
        After::Tool(hello) => give_away(world, events, (id, life), number, &hello),
    }
    turns::schedule(world, events, id, life, count);
    timers::post(world, events, id, life);
}

impl Alive {
    /// Reads once; adds to `count` how many events came of it.
    fn read<W: World>(
        &mut self,
        events: &mut Loop<W>,
        number: u64,
        buffer: &mut [u8],
        count: &mut usize,
    ) -> After {
        let now_ns = events.now().0;
        let Some(streams) = &mut self.streams else { return After::Quiet };
        if self.node.waiting() > PAUSE_ABOVE {
            streams.pause(events);
            return After::Quiet;
        }
        let Some(mut one) = streams.incoming.remove(&number) else { return After::Quiet };
        let length = events.host().read(one.link.endpoint, buffer);
        streams.held -= one.reader.held();
        let after = match length {
            Ok(None) => After::Quiet,
            Ok(Some(0)) if one.reader.held() == 0 => After::Ended,
            Ok(Some(0)) | Err(_) => After::Bad(Count::ConnectionBroken),
            Ok(Some(length)) => {
                one.heard_ns = now_ns;
                one.reader.push(&buffer[..length]);
                let is_full = length == buffer.len();
                let rest = if is_full { After::More } else { After::Quiet };
                self.take_frames(&mut one, now_ns, count).unwrap_or(rest)
            }
        };
        let Some(streams) = &mut self.streams else { return After::Quiet };
        streams.held += one.reader.held();
        streams.incoming.insert(number, one);
        match streams.held > HELD_BYTES_MAX {
            true => After::Bad(Count::FrameFull),
            false => after,
        }
    }

    /// Takes the whole frames in; tells if the connection has to end.
    fn take_frames(&mut self, one: &mut Incoming, now_ns: u64, count: &mut usize) -> Option<After> {
        loop {
            let frame = match one.reader.next_frame() {
                Ok(Some(frame)) => frame,
                Ok(None) => return None,
                Err(_) => return Some(After::Bad(Count::FrameTooLong)),
            };
            if let Sender::Unknown(from) = &mut one.from {
                if is_hello(frame) {
                    return Some(After::Tool(frame.to_vec()));
                }
                match greeter(frame) {
                    Some(address) => {
                        say!(Debug, "net", "{from} is {address}");
                        one.from = Sender::Node(canonical(address));
                        continue;
                    }
                    None => one.from = Sender::Nameless(std::mem::take(from)),
                }
            }
            if matches!(one.from, Sender::Nameless(_)) && wants_answer(frame) {
                self.mail.counters_mut().count(Count::BadAck);
                continue;
            }
            *count += self.take_in(one.from.name(), frame, now_ns);
        }
    }
}

/// Hands a connection of a tool to the world.
fn give_away<W: World>(
    world: &mut W,
    events: &mut Loop<W>,
    (id, life): (NodeId, u32),
    number: u64,
    hello: &[u8],
) {
    let Some((Alive { streams: Some(streams), .. }, _)) = world.fleet().alive(id, life) else {
        return;
    };
    let Some(one) = streams.incoming.remove(&number) else { return };
    streams.held -= one.reader.held();
    events.unwatch(one.link.watch);
    let mut bytes = Vec::new();
    // It came as a frame, so it is not too long for one.
    let _ = write_frame(&mut bytes, hello);
    bytes.extend(one.reader.into_rest());
    let call = Call { endpoint: one.link.endpoint, from: one.from.name(), bytes: &bytes };
    world.called(events, id, call);
}

/// True if an envelope asks for an acknowledgement, which goes to the sender's address.
fn wants_answer(bytes: &[u8]) -> bool {
    Head::decode(bytes).is_ok_and(|head| head.ack.is_some())
}

/// Ends a connection, which may be gone already.
fn end<W: World>(
    world: &mut W,
    events: &mut Loop<W>,
    (id, life): (NodeId, u32),
    number: u64,
    reason: Option<Count>,
) {
    let Some((alive, _)) = world.fleet().alive(id, life) else { return };
    let Alive { streams: Some(streams), mail, refusals, .. } = alive else { return };
    let Some(one) = streams.incoming.remove(&number) else { return };
    streams.held -= one.reader.held();
    one.link.close(events);
    let why = reason.map_or("closed by the other side", Count::name);
    say!(Debug, "net", "the connection from {} has ended: {why}", one.from.name());
    if let Some(reason) = reason {
        mail.counters_mut().count(reason);
        if reason.is_refusal()
            && let Some(whom) = refusals.first(one.from.name(), why)
        {
            say!(Info, "net", "{whom} is refused: {why}");
        }
    }
}

impl Streams {
    /// Stops reading; what comes waits with those who send it.
    fn pause<W: World>(&mut self, events: &mut Loop<W>) {
        if !self.is_paused {
            self.is_paused = true;
            self.listen_to_all(events, Interest::None);
        }
    }

    fn listen_to_all<W: World>(&self, events: &mut Loop<W>, interest: Interest) {
        for one in self.incoming.values() {
            // A watch that has ended tells its connection by itself.
            let _ = events.modify(one.link.watch, interest);
        }
    }
}

/// Goes on reading once the node has caught up.
pub(in crate::fleet) fn resume<W: World>(alive: &mut Alive, events: &mut Loop<W>) {
    let waiting = alive.node.waiting();
    if let Some(streams) = &mut alive.streams
        && streams.is_paused
        && waiting < RESUME_BELOW
    {
        streams.is_paused = false;
        streams.listen_to_all(events, Interest::Read);
    }
}
