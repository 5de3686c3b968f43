//! The server of control connections: accepts them, dispatches their requests, and ends them.

use std::io;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use tidemill_event::{Address, Endpoint, Handlers, Interest, Loop, Time, TimerId, WatchId};
use tidemill_fabric::refusals::Refusals;
use tidemill_fabric::token::{Channel, Token};
use tidemill_overlog::control::{self, Control, End, Message, Status};
use tidemill_overlog::fleet::{NodeId, Takes};
use tidemill_overlog::query::AskerId;
use tidemill_stat::Registry;
use tidemill_stdx::log::Level;
use tidemill_stdx::say;
use tidemill_stdx::sorted::SortedMap;

use super::connection::{Connection, Ending, Standing};
use super::counters::ControlCounters;
use super::place::{Files, own_uid};

/// The maximum log level of this file.
const CEILING: Level = Level::Debug;

/// Limits on the number and the times of connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The maximum number of connections to the socket, and of authenticated ones over the network.
    pub connections: usize,
    /// The maximum number of connections over the network that have not shown the token; one more
    /// ends the oldest of them.
    pub half_open: usize,
    /// The time that they have for it.
    pub handshake: Duration,
    /// The time that a connection may send no request.
    pub idle: Duration,
    /// The time that an answer may wait to be read.
    pub stalled: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 64,
            half_open: 64,
            handshake: Duration::from_secs(5),
            idle: Duration::from_secs(60),
            stalled: Duration::from_secs(30),
        }
    }
}

/// The period of the check for expired connections.
const SWEEP: Duration = Duration::from_secs(1);

/// Connections accepted in a row before other work gets its turn.
const ACCEPT_BATCH: usize = 16;
/// Reads in a row, and writes.
const BATCH: usize = 4;
/// The size of the read buffer.
const READ_BYTES: usize = 16 << 10;
/// The pause of the listener when the system has no descriptors left.
const REST: Duration = Duration::from_millis(500);

/// The maximum age of a snapshot for `top`: taking one needs a while.
const SNAPSHOT_AGE: Duration = Duration::from_millis(250);
/// Counters in one part of an answer, and bytes of text.
const COUNTERS_PART: usize = 256;
const TEXT_PART: usize = 16 << 10;

/// The answer to `top`.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Counters by name.
    pub counters: Vec<(String, u64)>,
    /// The component tree as text, if there is one.
    pub tree: String,
}

/// The world of a loop with control connections.
pub trait Controlled: Sized + 'static {
    /// Its server; `None` if it accepts no connections.
    fn control(&mut self) -> Option<&mut Server>;

    /// The current counters and component tree.
    fn snapshot(&mut self) -> Snapshot;

    /// Measures the cost of rules for some seconds, if there are rules.
    fn measure(&mut self, events: &mut Loop<Self>) {
        let _ = events;
    }

    /// Sends a query to a node: by name, where an empty one means the only node, or by number. The
    /// answer is passed to [`reply`].
    ///
    /// # Errors
    /// The end of the answer, if the query is refused.
    fn query(
        &mut self,
        events: &mut Loop<Self>,
        whom: QueriedNode<'_>,
        question: (AskerId, u64),
        text: &str,
    ) -> Result<(), End> {
        let _ = (events, whom, question, text);
        Err(End::refusal(Status::Unsupported, "this run has no nodes of rules to ask"))
    }

    /// Installs rules under a name at all nodes, replacing those of that name; without rules,
    /// removes them.
    ///
    /// # Errors
    /// The reason, if nothing has changed.
    fn install(
        &mut self,
        events: &mut Loop<Self>,
        name: &str,
        text: Option<String>,
    ) -> Result<(), End> {
        let _ = (events, name, text);
        Err(End::refusal(Status::Unsupported, "this run takes no rules"))
    }

    /// The connection of an asker has ended.
    fn gone(&mut self, events: &mut Loop<Self>, asker: AskerId) {
        let _ = (events, asker);
    }

    /// An asker is ready for more of its answer.
    fn resume(&mut self, events: &mut Loop<Self>, asker: AskerId) {
        let _ = (events, asker);
    }

    /// Whether a request of an asker is pending.
    fn is_asking(&mut self, asker: AskerId) -> bool {
        let _ = asker;
        false
    }
}

/// The node that a query is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueriedNode<'a> {
    /// The node of that name, or the only one.
    Name(&'a str),
    /// The node to whose port the asker has connected.
    Node(NodeId),
}

/// The origin of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    Socket,
    Port(NodeId),
}

/// A connection and its state in the loop.
#[derive(Debug)]
struct ControlConnection {
    endpoint: Endpoint,
    watch: WatchId,
    interest: Interest,
    origin: Origin,
    /// The peer, for logs.
    peer: Box<str>,
    connection: Connection,
    /// It ends as soon as its queue is sent.
    ends: bool,
}

impl ControlConnection {
    fn is(&self, kind: OriginKind, standing: Standing) -> bool {
        self.origin.kind() == kind && self.connection.standing() == standing
    }
}

/// Why a connection is refused or ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reason {
    User,
    Full,
    NoToken,
    Evicted,
    Handshake,
    Idle,
    Stalled,
    Broken,
    Ending(Ending),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OriginKind {
    Socket,
    Network,
}

impl Origin {
    fn kind(self) -> OriginKind {
        match self {
            Origin::Socket => OriginKind::Socket,
            Origin::Port(_) => OriginKind::Network,
        }
    }
}

/// The server of a run; see the module.
#[derive(Debug)]
pub struct Server {
    limits: Limits,
    token: Option<Token>,
    counters: ControlCounters,
    files: Option<Files>,
    lines: SortedMap<u64, ControlConnection>,
    /// Refusals that have been logged, by peer and reason.
    refusals: Refusals,
    /// The number of the next connection.
    next: u64,
    sweeper: Option<TimerId>,
    snapshot: Option<(Time, Rc<Snapshot>)>,
}

impl Server {
    /// A server without connections; over the network it admits only peers with `token`.
    pub fn new(registry: &Registry, token: Option<Token>) -> Server {
        Server {
            limits: Limits::default(),
            token,
            counters: ControlCounters::new(registry),
            files: None,
            lines: SortedMap::new(),
            refusals: Refusals::default(),
            next: 0,
            sweeper: None,
            snapshot: None,
        }
    }

    /// Sets the number of the first connection.
    pub fn numbered_from(self, next: u64) -> Server {
        Server { next, ..self }
    }

    /// Sets the limits.
    pub fn with_limits(self, limits: Limits) -> Server {
        Server { limits, ..self }
    }

    /// Writes the list of the run's nodes, names and addresses, by which tools find the run.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn list_nodes(&self, nodes: &[(String, String)]) -> io::Result<()> {
        self.files.as_ref().map_or(Ok(()), |files| files.write_nodes(nodes))
    }

    /// Counts a refusal, and logs it once for each peer and reason.
    fn refuse(&mut self, peer: &str, reason: Reason) {
        let (counter, text) = match reason {
            Reason::User => (&self.counters.refused_user, "another user"),
            Reason::Full => (&self.counters.refused_full, "too many connections"),
            Reason::NoToken => (&self.counters.refused_no_token, "the run has no token"),
            Reason::Evicted => (&self.counters.half_open_evicted, "others need its place"),
            Reason::Handshake => (&self.counters.handshake_timeouts, "no token in time"),
            Reason::Idle => (&self.counters.idle, "it asks nothing"),
            Reason::Stalled => (&self.counters.stalled, "it does not read its answer"),
            Reason::Broken => (&self.counters.broken, "the connection broke"),
            Reason::Ending(Ending::Token) => (&self.counters.refused_token, "another token"),
            Reason::Ending(Ending::Malformed) => (&self.counters.malformed, "no request"),
            Reason::Ending(Ending::TooLong) => (&self.counters.too_long, "too long a frame"),
            Reason::Ending(Ending::Seal) => (&self.counters.bad_seal, "not sealed by it"),
        };
        counter.add(1);
        let Some(whom) = self.refusals.first(peer, text) else { return };
        match reason {
            // A tool of a friend may do so.
            Reason::Idle | Reason::Stalled | Reason::Broken => {
                say!(Info, "control", "{whom} is refused: {text}");
            }
            _ => say!(Warn, "control", "{whom} is refused: {text}"),
        }
    }

    fn count(&self, kind: OriginKind, standing: Standing) -> usize {
        self.lines.values().filter(|line| line.is(kind, standing)).count()
    }

    /// The oldest half-open connection, if there are as many as permitted.
    fn surplus(&self) -> Option<u64> {
        let half_open = |line: &ControlConnection| line.is(OriginKind::Network, Standing::HalfOpen);
        let (count, oldest) =
            (self.count(OriginKind::Network, Standing::HalfOpen), self.lines.iter());
        let oldest = oldest.filter(|(_, line)| half_open(line)).map(|(&number, _)| number).min();
        oldest.filter(|_| count >= self.limits.half_open)
    }
}

/// Opens the socket of a run in the folder of its counters.
///
/// # Errors
/// Those of the host.
pub fn open<W: Controlled>(world: &mut W, events: &mut Loop<W>, folder: &Path) -> io::Result<()> {
    let files = Files::new(folder);
    let listener = events.host().listen_local(&files.socket())?;
    watch(events, listener, Origin::Socket)?;
    if let Some(server) = world.control() {
        server.files = Some(files);
    }
    Ok(())
}

/// Accepts connections of tools from a listener at the port of a node.
///
/// # Errors
/// Those of the host when watching the listener, which is closed then.
pub fn listen<W: Controlled>(
    events: &mut Loop<W>,
    listener: Endpoint,
    node: NodeId,
) -> io::Result<()> {
    watch(events, listener, Origin::Port(node))
}

fn watch<W: Controlled>(
    events: &mut Loop<W>,
    listener: Endpoint,
    origin: Origin,
) -> io::Result<()> {
    let handlers = Handlers::new()
        .read(move |world: &mut W, events: &mut Loop<W>, id| {
            accept(world, events, listener, id, origin);
        })
        .error(move |_, _, _, error| say!(Error, "control", "the listener: {error}"));
    let watched = events.watch(listener, Interest::Read, handlers);
    watched.map(drop).inspect_err(|_| events.host().close(listener))
}

fn accept<W: Controlled>(
    world: &mut W,
    events: &mut Loop<W>,
    listener: Endpoint,
    watch: WatchId,
    origin: Origin,
) {
    for _ in 0..ACCEPT_BATCH {
        match events.host().accept(listener) {
            Ok(None) => return,
            Ok(Some((endpoint, address))) => {
                let peer = peer_of(events, address);
                if is_admitted(world, address, &peer) {
                    take(world, events, endpoint, (origin, &peer), &[]);
                } else {
                    events.host().close(endpoint);
                }
            }
            Err(error) => {
                say!(Warn, "control", "a connection cannot be taken: {error}");
                // Otherwise the listener would be ready all the time, and nothing could be
                // accepted.
                if events.modify(watch, Interest::None).is_ok() {
                    let at = events.now() + REST;
                    events.timer(at, move |_: &mut W, events: &mut Loop<W>| {
                        let _ = events.modify(watch, Interest::Read);
                    });
                }
                return;
            }
        }
    }
}

/// The peer without its port, which changes with each connection.
fn peer_of<W: Controlled>(events: &mut Loop<W>, address: Address) -> String {
    match address {
        Address::Inet(address) => address.ip().to_string(),
        Address::Local(peer) => format!("user {}", peer.uid),
        Address::Sim(_) => events.host().name_of(address).into_owned(),
    }
}

/// Whether a connection is permitted: to the socket by its owner and root, over the network by
/// everyone at first.
fn is_admitted<W: Controlled>(world: &mut W, address: Address, peer: &str) -> bool {
    let Some(server) = world.control() else { return false };
    let admitted = match address {
        Address::Local(process) => process.uid == 0 || process.uid == own_uid(),
        Address::Inet(_) | Address::Sim(_) => true,
    };
    if !admitted {
        server.refuse(peer, Reason::User);
    }
    admitted
}

/// Takes over a connection of `peer` to the port of a node from another listener, which has read
/// `bytes` of it and stopped watching it.
pub fn adopt<W: Controlled>(
    world: &mut W,
    events: &mut Loop<W>,
    endpoint: Endpoint,
    (node, peer): (NodeId, &str),
    bytes: &[u8],
) {
    // Drops the port, if there is one.
    let host = peer.rsplit_once(':').map_or(peer, |(host, _)| host);
    take(world, events, endpoint, (Origin::Port(node), host), bytes);
}

/// Registers a connection, if there is room.
fn take<W: Controlled>(
    world: &mut W,
    events: &mut Loop<W>,
    endpoint: Endpoint,
    (origin, peer): (Origin, &str),
    bytes: &[u8],
) {
    let Some(connection) = begin(world, events, (origin, peer)) else {
        return events.host().close(endpoint);
    };
    let Some(server) = world.control() else { return events.host().close(endpoint) };
    let number = server.next;
    server.next += 1;
    let handlers = Handlers::new()
        .read(move |world: &mut W, events: &mut Loop<W>, _| read(world, events, number))
        .write(move |world: &mut W, events: &mut Loop<W>, _| write(world, events, number))
        .error(move |world: &mut W, events: &mut Loop<W>, _, error| {
            say!(Debug, "control", "connection {number}: {error}");
            refuse(world, events, number, Reason::Broken);
        });
    let watch = match events.watch(endpoint, Interest::Read, handlers) {
        Ok(watch) => watch,
        Err(error) => {
            say!(Warn, "control", "a connection cannot be watched: {error}");
            return events.host().close(endpoint);
        }
    };
    let interest = Interest::Read;
    let (peer, ends) = (peer.into(), false);
    let line = ControlConnection { endpoint, watch, interest, origin, peer, connection, ends };
    server.lines.insert(number, line);
    server.counters.accepted.add(1);
    say!(Debug, "control", "connection {number} from {origin:?}");
    if server.sweeper.is_none() {
        let sweep = |world: &mut W, events: &mut Loop<W>, _| sweep(world, events);
        server.sweeper = Some(events.every(SWEEP, sweep));
    }
    if !bytes.is_empty() {
        came(world, events, number, bytes);
        write(world, events, number);
    }
}

/// The state of a new connection, if it is permitted; may end the oldest half-open one.
fn begin<W: Controlled>(
    world: &mut W,
    events: &mut Loop<W>,
    (origin, peer): (Origin, &str),
) -> Option<Connection> {
    let now_ns = events.now().0;
    let server = world.control()?;
    if server.count(origin.kind(), Standing::Admitted) >= server.limits.connections {
        server.refuse(peer, Reason::Full);
        return None;
    }
    if origin == Origin::Socket {
        return Some(Connection::new(None, now_ns));
    }
    let Some(token) = server.token.clone() else {
        server.refuse(peer, Reason::NoToken);
        return None;
    };
    if let Some(surplus) = server.surplus() {
        refuse(world, events, surplus, Reason::Evicted);
    }
    let mut ephemeral = [0; 32];
    let drawn = events.host().fill_entropy(&mut ephemeral);
    let channel = drawn.ok().and_then(|()| Channel::answer(&token, ephemeral).ok())?;
    Some(Connection::new(Some(channel), now_ns))
}

fn read<W: Controlled>(world: &mut W, events: &mut Loop<W>, number: u64) {
    let mut buffer = [0; READ_BYTES];
    for _ in 0..BATCH {
        let Some(line) = world.control().and_then(|server| server.lines.get_mut(&number)) else {
            return;
        };
        if line.ends || !line.connection.reads() {
            break;
        }
        match events.host().read(line.endpoint, &mut buffer) {
            Ok(None) => break,
            Ok(Some(0)) => return end(world, events, number),
            Err(_) => return refuse(world, events, number, Reason::Broken),
            Ok(Some(length)) => {
                came(world, events, number, &buffer[..length]);
                if length < buffer.len() {
                    break;
                }
            }
        }
    }
    write(world, events, number);
}

/// Processes bytes received on a connection.
fn came<W: Controlled>(world: &mut W, events: &mut Loop<W>, number: u64, bytes: &[u8]) {
    let now_ns = events.now().0;
    let Some(server) = world.control() else { return };
    let Some(line) = server.lines.get_mut(&number) else { return };
    let was = line.connection.standing();
    let pushed = line.connection.push(bytes, now_ns);
    let (is, kind) = (line.connection.standing(), line.origin.kind());
    // The count includes this connection.
    if was != is && server.count(kind, Standing::Admitted) > server.limits.connections {
        return refuse(world, events, number, Reason::Full);
    }
    match pushed {
        Ok(()) => requests(world, events, number),
        Err(ending) => cut(world, number, ending),
    }
}

/// Serves the received requests.
fn requests<W: Controlled>(world: &mut W, events: &mut Loop<W>, number: u64) {
    let now_ns = events.now().0;
    loop {
        let Some(server) = world.control() else { return };
        let Some(line) = server.lines.get_mut(&number).filter(|line| !line.ends) else { return };
        match line.connection.next(now_ns) {
            Ok(None) => return,
            Ok(Some(control)) => {
                server.counters.requests.add(1);
                request(world, events, number, control);
            }
            Err(ending) => return cut(world, number, ending),
        }
    }
}

/// Records why a connection ends; it is closed when its queue is sent.
fn cut<W: Controlled>(world: &mut W, number: u64, ending: Ending) {
    let Some(server) = world.control() else { return };
    let Some(line) = server.lines.get_mut(&number) else { return };
    line.ends = true;
    let peer = line.peer.clone();
    server.refuse(&peer, Reason::Ending(ending));
}

fn request<W: Controlled>(world: &mut W, events: &mut Loop<W>, number: u64, control: Control) {
    let Control { id, message } = control;
    let asker = AskerId(number);
    let refusal = match message {
        Some(Message::Query { node, text }) => {
            let origin = world.control().and_then(|server| Some(server.lines.get(&number)?.origin));
            let whom = match origin {
                Some(Origin::Port(node)) => QueriedNode::Node(node),
                Some(Origin::Socket) | None => QueriedNode::Name(&node),
            };
            world.query(events, whom, (asker, id), &text).err()
        }
        Some(Message::Top { costs }) => {
            if costs {
                world.measure(events);
            }
            top(world, events, asker, id);
            Some(End::default())
        }
        Some(Message::Install { name, text, .. }) => {
            Some(world.install(events, &name, Some(text)).err().unwrap_or_default())
        }
        Some(Message::Uninstall { name, .. }) => {
            Some(world.install(events, &name, None).err().unwrap_or_default())
        }
        Some(Message::Unsupported(name)) => Some(End::unsupported(name)),
        None => Some(End::unsupported("this request")),
        Some(Message::Rows(_) | Message::Counters(_) | Message::Text(_) | Message::End(_)) => {
            return cut(world, number, Ending::Malformed);
        }
    };
    let Some(refusal) = refusal else { return };
    if refusal.status == Status::Unsupported
        && let Some(server) = world.control()
    {
        server.counters.unsupported.add(1);
    }
    reply(world, events, asker, &control::end(id, &refusal));
}

/// Sends the counters and the component tree.
fn top<W: Controlled>(world: &mut W, events: &mut Loop<W>, asker: AskerId, id: u64) {
    let now = events.now();
    let known = world.control().and_then(|server| server.snapshot.clone());
    let snapshot = match known {
        Some((at, snapshot)) if now - at < SNAPSHOT_AGE => snapshot,
        _ => {
            let snapshot = Rc::new(world.snapshot());
            if let Some(server) = world.control() {
                server.snapshot = Some((now, snapshot.clone()));
            }
            snapshot
        }
    };
    for counters in snapshot.counters.chunks(COUNTERS_PART) {
        queue(world, events, asker, &control::counters(id, counters));
    }
    let mut rest = snapshot.tree.as_str();
    while !rest.is_empty() {
        let (part, after) = rest.split_at(rest.floor_char_boundary(TEXT_PART));
        queue(world, events, asker, &control::text(id, part));
        rest = after;
    }
}

/// Sends a message to an asker, or queues it.
pub fn reply<W: Controlled>(
    world: &mut W,
    events: &mut Loop<W>,
    asker: AskerId,
    message: &[u8],
) -> Takes {
    queue(world, events, asker, message);
    write(world, events, asker.0);
    let line = world.control().and_then(|server| server.lines.get_mut(&asker.0));
    if line.is_some_and(|line| line.connection.pause()) { Takes::Later } else { Takes::More }
}

fn queue<W: Controlled>(world: &mut W, events: &Loop<W>, asker: AskerId, message: &[u8]) {
    let now_ns = events.now().0;
    let Some(server) = world.control() else { return };
    let Some(line) = server.lines.get_mut(&asker.0).filter(|line| !line.ends) else { return };
    if let Err(ending) = line.connection.send(message, now_ns) {
        cut(world, asker.0, ending);
    }
}

/// Writes the queue, as far as the socket takes it.
fn write<W: Controlled>(world: &mut W, events: &mut Loop<W>, number: u64) {
    let now_ns = events.now().0;
    let Some(line) = world.control().and_then(|server| server.lines.get_mut(&number)) else {
        return;
    };
    let mut goes_on = false;
    let was_full = !line.connection.reads();
    for _ in 0..BATCH {
        if line.connection.waiting() == 0 {
            break;
        }
        match events.host().write(line.endpoint, line.connection.unsent()) {
            Ok(None) => break,
            Ok(Some(count)) => goes_on |= line.connection.advance(count, now_ns),
            Err(_) => return refuse(world, events, number, Reason::Broken),
        }
    }
    let waits = line.connection.waiting() > 0;
    if line.ends && !waits {
        return end(world, events, number);
    }
    let interest = match (!line.ends && line.connection.reads(), waits) {
        (true, true) => Interest::ReadWrite,
        (true, false) => Interest::Read,
        (false, true) => Interest::Write,
        (false, false) => Interest::None,
    };
    if interest != line.interest {
        line.interest = interest;
        if events.modify(line.watch, interest).is_err() {
            return refuse(world, events, number, Reason::Broken);
        }
    }
    let reads_on = was_full && line.connection.reads();
    if goes_on || reads_on {
        // Deferred, as this may run while a request is served, and would serve the next one inside
        // of it.
        events.dpc(move |world, events| go_on(world, events, number));
    }
}

/// Resumes paused answers, and serves requests that arrived meanwhile.
fn go_on<W: Controlled>(world: &mut W, events: &mut Loop<W>, number: u64) {
    requests(world, events, number);
    world.resume(events, AskerId(number));
    write(world, events, number);
}

/// Ends a connection for a reason.
fn refuse<W: Controlled>(world: &mut W, events: &mut Loop<W>, number: u64, reason: Reason) {
    if let Some(server) = world.control()
        && let Some(peer) = server.lines.get(&number).map(|line| line.peer.clone())
    {
        server.refuse(&peer, reason);
    }
    end(world, events, number);
}

/// Ends a connection, which may have ended already.
fn end<W: Controlled>(world: &mut W, events: &mut Loop<W>, number: u64) {
    let Some(server) = world.control() else { return };
    let Some(line) = server.lines.remove(&number) else { return };
    events.unwatch(line.watch);
    events.host().close(line.endpoint);
    if server.lines.is_empty()
        && let Some(sweeper) = server.sweeper.take()
    {
        server.snapshot = None;
        events.cancel(sweeper);
    }
    world.gone(events, AskerId(number));
}

/// Ends expired connections.
fn sweep<W: Controlled>(world: &mut W, events: &mut Loop<W>) {
    let now_ns = events.now().0;
    let numbers: Vec<u64> = match world.control() {
        Some(server) => server.lines.keys().copied().collect(),
        None => return,
    };
    for number in numbers {
        let is_asking = world.is_asking(AskerId(number));
        let Some(server) = world.control() else { return };
        let Some(line) = server.lines.get(&number) else { continue };
        let limits = server.limits;
        let passed = |since_ns: u64, span: Duration| {
            now_ns.saturating_sub(since_ns) >= span.as_nanos() as u64
        };
        let reason = match line.connection.standing() {
            Standing::HalfOpen if passed(line.connection.received_ns, limits.handshake) => {
                Reason::Handshake
            }
            Standing::Admitted if line.connection.waiting() > 0 => {
                if !passed(line.connection.progress_ns, limits.stalled) {
                    continue;
                }
                Reason::Stalled
            }
            Standing::Admitted
                if !is_asking && passed(line.connection.received_ns, limits.idle) =>
            {
                Reason::Idle
            }
            Standing::HalfOpen | Standing::Admitted => continue,
        };
        refuse(world, events, number, reason);
    }
}
