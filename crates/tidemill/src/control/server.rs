//! The side of a run: who is connected, what they ask, and who has to go.

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

/// What this file says at most.
const CEILING: Level = Level::Debug;

/// How many may be connected, and for how long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Connections by the socket, and as many over the network that have shown the token.
    pub connections: usize,
    /// Connections over the network that have not yet; one more ends the oldest of them.
    pub half_open: usize,
    /// How long they may take for it.
    pub handshake: Duration,
    /// How long a connection may ask nothing.
    pub idle: Duration,
    /// How long an answer may wait to be read.
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

/// How often is looked for those.
const SWEEP: Duration = Duration::from_secs(1);

/// Connections taken at a stretch before others get their turn.
const ACCEPT_BATCH: usize = 16;
/// Reads at a stretch, and writes.
const BATCH: usize = 4;
/// Bytes read at once.
const READ_BYTES: usize = 16 << 10;
/// How long the listener rests when the system has no descriptors left.
const REST: Duration = Duration::from_millis(500);

/// How old counters may be that `top` is answered with: to gather them takes a while.
const SNAPSHOT_AGE: Duration = Duration::from_millis(250);
/// Counters in one part of an answer, and bytes of text.
const COUNTERS_PART: usize = 256;
const TEXT_PART: usize = 16 << 10;

/// What `top` is answered with.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Counters by name.
    pub counters: Vec<(String, u64)>,
    /// The component tree as text, if there is one.
    pub tree: String,
}

/// The world of a loop that can be talked to.
pub trait Controlled: Sized + 'static {
    /// Who talks to it; nobody does, if `None`.
    fn control(&mut self) -> Option<&mut Server>;

    /// The counters and the component tree of now.
    fn snapshot(&mut self) -> Snapshot;

    /// Measures what rules cost for some seconds, if it has some.
    fn measure(&mut self, events: &mut Loop<Self>) {
        let _ = events;
    }

    /// Asks a node: by the name that it is called, the only one if that is empty, or by its number.
    /// The answer goes to [`reply`].
    ///
    /// # Errors
    /// The end of the answer, if the question is not taken.
    fn query(
        &mut self,
        events: &mut Loop<Self>,
        whom: Whom<'_>,
        question: (AskerId, u64),
        text: &str,
    ) -> Result<(), End> {
        let _ = (events, whom, question, text);
        Err(End::refusal(Status::Unsupported, "this run has no nodes of rules to ask"))
    }

    /// Adds rules under a name to those of all nodes, in the place of what has the name; takes
    /// these away if there are none.
    ///
    /// # Errors
    /// Why nothing has changed.
    fn install(
        &mut self,
        events: &mut Loop<Self>,
        name: &str,
        text: Option<String>,
    ) -> Result<(), End> {
        let _ = (events, name, text);
        Err(End::refusal(Status::Unsupported, "this run takes no rules"))
    }

    /// An asker has gone.
    fn gone(&mut self, events: &mut Loop<Self>, asker: AskerId) {
        let _ = (events, asker);
    }

    /// An asker takes more of its answer.
    fn resume(&mut self, events: &mut Loop<Self>, asker: AskerId) {
        let _ = (events, asker);
    }

    /// Whether something that an asker has asked is not answered.
    fn is_asking(&mut self, asker: AskerId) -> bool {
        let _ = asker;
        false
    }
}

/// Which node is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whom<'a> {
    /// The one that is called so, or the only one.
    Name(&'a str),
    /// The one to whose port the asker has connected.
    Node(NodeId),
}

/// Where a connection comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    Socket,
    Port(NodeId),
}

/// One connection and what the loop knows of it.
#[derive(Debug)]
struct ControlConnection {
    endpoint: Endpoint,
    watch: WatchId,
    interest: Interest,
    origin: Origin,
    /// Who is at the other end, for logs.
    peer: Box<str>,
    connection: Connection,
    /// It ends as soon as what waits has gone.
    ends: bool,
}

impl ControlConnection {
    fn is(&self, kind: OriginKind, standing: Standing) -> bool {
        self.origin.kind() == kind && self.connection.standing() == standing
    }
}

/// Why somebody is refused, or let go.
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

/// Who talks to a run; see the module.
#[derive(Debug)]
pub struct Server {
    limits: Limits,
    token: Option<Token>,
    counters: ControlCounters,
    files: Option<Files>,
    lines: SortedMap<u64, ControlConnection>,
    /// What was logged, by peer and reason.
    refusals: Refusals,
    /// The number of the next connection.
    next: u64,
    sweeper: Option<TimerId>,
    snapshot: Option<(Time, Rc<Snapshot>)>,
}

impl Server {
    /// Nobody is connected; over the network only who has `token` will be.
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

    /// Likewise, with connections numbered from there.
    pub fn numbered_from(self, next: u64) -> Server {
        Server { next, ..self }
    }

    /// Likewise, with other limits than the usual ones.
    pub fn with_limits(self, limits: Limits) -> Server {
        Server { limits, ..self }
    }

    /// Writes the list of the run's nodes, names and where they listen, for tools to find it by.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn list_nodes(&self, nodes: &[(String, String)]) -> io::Result<()> {
        self.files.as_ref().map_or(Ok(()), |files| files.write_nodes(nodes))
    }

    /// Counts why a peer is refused or let go, and logs it once for each peer and reason.
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
        if let Some(whom) = self.refusals.first(peer, text) {
            say!(Info, "control", "{whom} is refused: {text}");
        }
    }

    fn count(&self, kind: OriginKind, standing: Standing) -> usize {
        self.lines.values().filter(|line| line.is(kind, standing)).count()
    }

    /// The half-open connection that is the oldest, if there are as many as may be.
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
/// What the host says.
pub fn open<W: Controlled>(world: &mut W, events: &mut Loop<W>, folder: &Path) -> io::Result<()> {
    let files = Files::new(folder);
    let listener = events.host().listen_local(&files.socket())?;
    watch(events, listener, Origin::Socket)?;
    if let Some(server) = world.control() {
        server.files = Some(files);
    }
    Ok(())
}

/// Takes connections of tools from a listener at the port of a node.
///
/// # Errors
/// What the host says about watching it; it is closed then.
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
                // The listener would be ready again and again with nothing to be done about it.
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

/// Who connects, without the port, which is another one each time.
fn peer_of<W: Controlled>(events: &mut Loop<W>, address: Address) -> String {
    match address {
        Address::Inet(address) => address.ip().to_string(),
        Address::Local(peer) => format!("user {}", peer.uid),
        Address::Sim(_) => events.host().name_of(address).into_owned(),
    }
}

/// Whether whoever connects may: by the socket its owner and root, over the network everyone, for
/// now.
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

/// Goes on with a connection of `peer` to the port of a node that was taken by somebody else, who
/// has read `bytes` of it and watches it no more.
pub fn adopt<W: Controlled>(
    world: &mut W,
    events: &mut Loop<W>,
    endpoint: Endpoint,
    (node, peer): (NodeId, &str),
    bytes: &[u8],
) {
    // Without the port, if it has one.
    let host = peer.rsplit_once(':').map_or(peer, |(host, _)| host);
    take(world, events, endpoint, (Origin::Port(node), host), bytes);
}

/// Keeps a connection, as far as there is room.
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

/// A new connection's beginning, if it may be: one of those over the network may have to go for it.
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

/// Takes bytes that came over a connection.
fn came<W: Controlled>(world: &mut W, events: &mut Loop<W>, number: u64, bytes: &[u8]) {
    let now_ns = events.now().0;
    let Some(server) = world.control() else { return };
    let Some(line) = server.lines.get_mut(&number) else { return };
    let was = line.connection.standing();
    let pushed = line.connection.push(bytes, now_ns);
    let (is, kind) = (line.connection.standing(), line.origin.kind());
    // It counts itself.
    if was != is && server.count(kind, Standing::Admitted) > server.limits.connections {
        return refuse(world, events, number, Reason::Full);
    }
    match pushed {
        Ok(()) => requests(world, events, number),
        Err(ending) => cut(world, number, ending),
    }
}

/// Serves the requests that have come.
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

/// Notes why a connection ends; it does when what waits has gone.
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
                Some(Origin::Port(node)) => Whom::Node(node),
                Some(Origin::Socket) | None => Whom::Name(&node),
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

/// Sends a message to an asker, or keeps it until it can go.
pub fn reply<W: Controlled>(
    world: &mut W,
    events: &mut Loop<W>,
    asker: AskerId,
    message: &[u8],
) -> Takes {
    queue(world, events, asker, message);
    write(world, events, asker.0);
    let line = world.control().and_then(|server| server.lines.get_mut(&asker.0));
    match line.is_some_and(|line| line.connection.pause()) {
        true => Takes::Later,
        false => Takes::More,
    }
}

fn queue<W: Controlled>(world: &mut W, events: &Loop<W>, asker: AskerId, message: &[u8]) {
    let now_ns = events.now().0;
    let Some(server) = world.control() else { return };
    let Some(line) = server.lines.get_mut(&asker.0).filter(|line| !line.ends) else { return };
    if let Err(ending) = line.connection.say(message, now_ns) {
        cut(world, asker.0, ending);
    }
}

/// Writes what waits, as far as it goes now.
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
            Ok(Some(count)) => goes_on |= line.connection.went(count, now_ns),
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
        // Later, as this may be called while a request is served: the next one would be inside it.
        events.dpc(move |world, events| go_on(world, events, number));
    }
}

/// Serves requests that have come while answers waited, and goes on with those.
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

/// Ends a connection, which may be gone already.
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

/// Ends the connections that have had their time.
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
            Standing::HalfOpen if passed(line.connection.heard_ns, limits.handshake) => {
                Reason::Handshake
            }
            Standing::Admitted if line.connection.waiting() > 0 => {
                if !passed(line.connection.moved_ns, limits.stalled) {
                    continue;
                }
                Reason::Stalled
            }
            Standing::Admitted if !is_asking && passed(line.connection.heard_ns, limits.idle) => {
                Reason::Idle
            }
            Standing::HalfOpen | Standing::Admitted => continue,
        };
        refuse(world, events, number, reason);
    }
}
