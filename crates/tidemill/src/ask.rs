//! Requests to a run: the rows of a table, the result of a rule, counters.
//!
//! A run on this host is reached over its control socket, found by the address of one of its nodes;
//! a run elsewhere over TCP to the node, with a token. A failed connection is retried and an
//! interrupted request is sent again, until nothing has arrived for the timeout.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tidemill_event::{Endpoint, Handlers, Host, Interest, Loop, Outcome, WatchId};
use tidemill_fabric::stream::{FrameReader, TooLong, write_frame};
use tidemill_fabric::token::{Broken, Channel, Token};
use tidemill_overlog::control::{
    self, ANSWER_BYTES_MAX, Control, End, Malformed, Message, RULES_BYTES_MAX, Status,
    TEXT_BYTES_MAX,
};
use tidemill_relation::OwnedValue;

use crate::control::place::{self, FoundRun};
use crate::keys::KeyFileError;
use crate::reach::Reach;

/// The delay between two connection attempts.
const AGAIN: Duration = Duration::from_millis(100);
/// The size of the read buffer, and the reads per turn.
const READ_BYTES: usize = 64 << 10;
const READS: usize = 16;
/// The maximum size of a component tree in bytes.
const TREE_BYTES_MAX: usize = 1 << 20;

/// The address of a run.
#[derive(Clone, Debug)]
pub enum RunAddress {
    /// A node of this host, by its address.
    Here(String),
    /// A run of this host, by its socket.
    Socket(PathBuf),
    /// A node anywhere, with a token.
    Anywhere(String, Token),
}

impl RunAddress {
    /// The node of an address; over the network if there is a token.
    ///
    /// # Errors
    /// [`AskError::Elsewhere`]: it is not on this host, and there is no token.
    pub fn node(address: &str, token: Option<Token>) -> Result<RunAddress, AskError> {
        if let Some(token) = token {
            return Ok(RunAddress::Anywhere(address.to_owned(), token));
        }
        // A run of this host may have a node of an address that others reach.
        if Reach::of(address) == Reach::Loopback || place::find(address).is_ok() {
            return Ok(RunAddress::Here(address.to_owned()));
        }
        Err(AskError::Elsewhere(address.to_owned()))
    }

    /// The name of the target in messages.
    fn name(&self) -> String {
        match self {
            RunAddress::Here(address) | RunAddress::Anywhere(address, _) => address.clone(),
            RunAddress::Socket(path) => path.display().to_string(),
        }
    }
}

/// Rows of a table or of a rule's head, sorted.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Rows {
    /// The name of the table or head.
    pub name: String,
    /// The rows.
    pub rows: Vec<Vec<OwnedValue>>,
}

/// What a run counts, and its component tree.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counted {
    /// Counters by name.
    pub counters: Vec<(String, u64)>,
    /// The tree as text; empty if there is none.
    pub tree: String,
}

/// Why a request has no answer.
#[derive(Debug)]
pub enum AskError {
    /// The run refused it, with this reason.
    Refused(String),
    /// Nothing has arrived for the timeout.
    Silence {
        /// The target of the request.
        whom: String,
        /// The timeout.
        waited: Duration,
        /// The last error of the connection.
        reason: Option<String>,
    },
    /// The request is longer than a frame may be.
    TooLong,
    /// The node of this address is not on this host, and there is no token.
    Elsewhere(String),
    /// There is no token in its file.
    KeyFile(KeyFileError),
    /// The peer has another token.
    Token(String),
    /// The peer is not the run that was addressed.
    Impostor(String),
    /// This machine has no event queue.
    NoQueue(io::Error),
    /// An I/O error of this machine.
    Io(io::Error),
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AskError::Refused(reason) => f.write_str(reason),
            AskError::Silence { whom, waited, reason } => {
                write!(f, "no answer from {whom} within {} s", waited.as_secs_f64())?;
                reason.iter().try_for_each(|reason| write!(f, ": {reason}"))
            }
            AskError::TooLong => write!(f, "a query has at most {TEXT_BYTES_MAX} bytes"),
            AskError::Token(whom) => {
                write!(f, "{whom} refuses the token: its run has another one in --token-file")
            }
            AskError::Impostor(what) => f.write_str(what),
            AskError::Elsewhere(address) => write!(
                f,
                "{address} is no node of this user on this host: elsewhere nodes that run with \
                 --token-file FILE answer who has the same token (--token-file FILE)"
            ),
            AskError::KeyFile(error) => error.fmt(f),
            AskError::NoQueue(error) => {
                write!(f, "the system gives no event queue: {error}")
            }
            AskError::Io(error) => write!(f, "the system fails: {error}"),
        }
    }
}

impl std::error::Error for AskError {}

impl From<KeyFileError> for AskError {
    fn from(error: KeyFileError) -> AskError {
        AskError::KeyFile(error)
    }
}

impl From<io::Error> for AskError {
    fn from(error: io::Error) -> AskError {
        AskError::Io(error)
    }
}

/// A client of one run, over one connection for as long as that lasts.
pub struct Asker {
    events: Loop<Asking>,
    asking: Asking,
    whom: RunAddress,
}

impl fmt::Debug for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asker").field("whom", &self.whom).finish_non_exhaustive()
    }
}

/// Whether to measure the cost of rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Costs {
    /// Change nothing.
    Unasked,
    /// Measure for some seconds, and publish the result as counters.
    Measured,
}

/// Why received bytes are no answer.
enum NoAnswer {
    /// They were changed on the way, or the peer has another token.
    Changed,
    Malformed(Malformed),
    TooLong(TooLong),
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoAnswer::Changed => f.write_str("what comes was changed on the way, or is no answer"),
            NoAnswer::Malformed(error) => error.fmt(f),
            NoAnswer::TooLong(frame) => write!(f, "an answer of {} bytes", frame.bytes),
        }
    }
}

/// Why a connection attempt failed.
enum ConnectError {
    /// It may succeed if retried.
    Transient(String),
    Fatal(AskError),
}

impl From<io::Error> for ConnectError {
    fn from(error: io::Error) -> ConnectError {
        ConnectError::Fatal(error.into())
    }
}

impl Asker {
    /// Creates a client on a host of its own. Connects on the first request.
    pub fn new(host: Box<dyn Host>, whom: RunAddress) -> Asker {
        Asker { events: Loop::new(host), asking: Asking::default(), whom }
    }

    /// Sends a query and waits for the whole answer; fails when nothing has arrived for `timeout`.
    ///
    /// # Errors
    /// See [`AskError`].
    pub fn ask(&mut self, text: &str, timeout: Duration) -> Result<Rows, AskError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(AskError::TooLong);
        }
        let name = self.request(timeout, |id, node| control::query(id, node, text))?;
        Ok(Rows { name, rows: std::mem::take(&mut self.asking.rows) })
    }

    /// Installs rules under a name, replacing those of that name; without rules, removes them.
    ///
    /// # Errors
    /// See [`AskError`]; the run is unchanged.
    pub fn install(
        &mut self,
        name: &str,
        text: Option<&str>,
        timeout: Duration,
    ) -> Result<(), AskError> {
        if name.len() + text.map_or(0, str::len) > RULES_BYTES_MAX {
            return Err(AskError::Refused(format!(
                "rules that are installed have at most {RULES_BYTES_MAX} bytes"
            )));
        }
        let request = |id, node: &str| match text {
            Some(text) => control::install(id, node, name, text),
            None => control::uninstall(id, node, name),
        };
        self.request(timeout, request).map(|_| ())
    }

    /// Requests counters and the component tree; with [`Costs::Measured`] also starts measuring the
    /// cost of rules for some seconds.
    ///
    /// # Errors
    /// See [`AskError`].
    pub fn top(&mut self, costs: Costs, timeout: Duration) -> Result<Counted, AskError> {
        let request = match costs {
            Costs::Unasked => control::top,
            Costs::Measured => control::top_of_costs,
        };
        self.request(timeout, |id, _| request(id))?;
        let Asking { counters, tree, .. } = &mut self.asking;
        Ok(Counted { counters: std::mem::take(counters), tree: std::mem::take(tree) })
    }

    /// Runs the loop for `span`.
    ///
    /// # Errors
    /// If the host fails to wait.
    pub fn pause(&mut self, span: Duration) -> io::Result<()> {
        let end = self.events.now() + span;
        match self.events.run_until(&mut self.asking, end) {
            Outcome::Failed(error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Sends a request, again after each lost connection, until it is answered; returns the name of
    /// the answer.
    fn request(
        &mut self,
        timeout: Duration,
        request: impl Fn(u64, &str) -> Vec<u8>,
    ) -> Result<String, AskError> {
        // The loop has not updated its clock since it last ran.
        self.pause(Duration::ZERO)?;
        let mut deadline = self.events.now() + timeout;
        let mut reason = None;
        loop {
            self.asking.begin();
            let opened = if self.asking.connection.is_some() { Ok(()) } else { self.connect() };
            match opened {
                Ok(()) => {
                    let node = self.asking.node.clone();
                    self.asking.send(&mut self.events, &request(self.asking.id, &node));
                }
                Err(ConnectError::Transient(why)) => reason = Some(why),
                Err(ConnectError::Fatal(error)) => return Err(error),
            }
            while self.asking.connection.is_some() && self.asking.end.is_none() {
                self.asking.has_progress = false;
                if let Outcome::Failed(error) = self.events.run_until(&mut self.asking, deadline) {
                    return Err(error.into());
                }
                if self.asking.has_progress {
                    deadline = self.events.now() + timeout;
                } else if self.events.now() >= deadline {
                    break;
                }
            }
            if let Some(End { status, name, reason }) = self.asking.end.take() {
                return match status {
                    Status::Done => Ok(name),
                    _ => Err(AskError::Refused(reason)),
                };
            }
            if self.asking.refused {
                return Err(AskError::Token(self.whom.name()));
            }
            if let Some(why) = self.asking.broken.take() {
                reason = Some(why);
            }
            if self.events.now() >= deadline {
                // Late messages must not count for the next request.
                self.asking.hang_up(&mut self.events);
                return Err(AskError::Silence { whom: self.whom.name(), waited: timeout, reason });
            }
            let again = (self.events.now() + AGAIN).min(deadline);
            if let Outcome::Failed(error) = self.events.run_until(&mut self.asking, again) {
                return Err(error.into());
            }
        }
    }

    fn connect(&mut self) -> Result<(), ConnectError> {
        let host = self.events.host();
        let (endpoint, channel, hello, node) = match &self.whom {
            RunAddress::Here(address) => {
                let found = place::find(address);
                let FoundRun { socket, node } =
                    found.map_err(|none| ConnectError::Transient(none.to_string()))?;
                (local(host, &socket)?, None, Vec::new(), node)
            }
            RunAddress::Socket(socket) => (local(host, socket)?, None, Vec::new(), String::new()),
            RunAddress::Anywhere(address, token) => {
                let (mut ephemeral, mut hello) = ([0; 32], Vec::new());
                host.fill_entropy(&mut ephemeral)?;
                let channel = Channel::call(token, ephemeral, &mut hello);
                let channel = channel.map_err(|_| io::Error::other("no handshake begins"))?;
                let endpoint = host.connect(address).map_err(|error| unreachable(&error));
                (endpoint.map_err(ConnectError::Transient)?, Some(channel), hello, String::new())
            }
        };
        let handlers = Handlers::new()
            .read(|asking: &mut Asking, events: &mut Loop<Asking>, _| asking.read(events))
            .write(|asking: &mut Asking, events: &mut Loop<Asking>, _| asking.write(events))
            .error(|asking: &mut Asking, events: &mut Loop<Asking>, _, error| {
                asking.lose(events, unreachable(&error));
            });
        let watched = self.events.watch(endpoint, Interest::ReadWrite, handlers);
        let watch = watched.inspect_err(|_| self.events.host().close(endpoint))?;
        self.asking.node = node;
        let reader = FrameReader::new(ANSWER_BYTES_MAX);
        let connection =
            Connection { endpoint, watch, channel, reader, out: hello, plain: Vec::new() };
        self.asking.connection = Some(connection);
        Ok(())
    }
}

fn unreachable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            format!("{error} (does its run have --token-file?)")
        }
        _ => error.to_string(),
    }
}

/// Connects to the socket of a run, which must belong to this user or root.
fn local(host: &mut dyn Host, socket: &Path) -> Result<Endpoint, ConnectError> {
    let wrong = |error: io::Error| format!("{}: {error}", socket.display());
    let (endpoint, peer) = match host.connect_local(socket) {
        Ok(connected) => connected,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let why = format!("{} (runs answer their owner only)", wrong(error));
            return Err(ConnectError::Fatal(AskError::Impostor(why)));
        }
        Err(error) => return Err(ConnectError::Transient(wrong(error))),
    };
    let own = rustix::process::geteuid().as_raw();
    if own != 0 && peer.uid != 0 && peer.uid != own {
        host.close(endpoint);
        let why = format!("{}: this is a run of user {}", socket.display(), peer.uid);
        return Err(ConnectError::Fatal(AskError::Impostor(why)));
    }
    Ok(endpoint)
}

/// A connection.
struct Connection {
    endpoint: Endpoint,
    watch: WatchId,
    channel: Option<Channel>,
    reader: FrameReader,
    /// Bytes to write.
    out: Vec<u8>,
    /// Frames to be sealed once the peer has completed the handshake.
    plain: Vec<u8>,
}

impl Connection {
    /// The likely reason for which the run closed the connection.
    fn why_closed(&self) -> &'static str {
        match &self.channel {
            Some(channel) if !channel.is_open() => {
                "the run has closed the connection (does it have --token-file?)"
            }
            _ => "the run has closed the connection",
        }
    }
}

/// The current request, and what has arrived of its answer.
#[derive(Default)]
struct Asking {
    connection: Option<Connection>,
    /// The name of the node in its run.
    node: String,
    id: u64,
    rows: Vec<Vec<OwnedValue>>,
    counters: Vec<(String, u64)>,
    tree: String,
    end: Option<End>,
    /// Part of the answer has arrived since the timeout was last restarted.
    has_progress: bool,
    /// The peer has another token.
    refused: bool,
    /// Why the connection was lost.
    broken: Option<String>,
}

impl Asking {
    fn begin(&mut self) {
        self.id += 1;
        self.rows.clear();
        self.counters.clear();
        self.tree.clear();
        (self.end, self.broken, self.refused) = (None, None, false);
    }

    /// Sends a message, or queues it until the handshake is complete.
    fn send(&mut self, events: &mut Loop<Asking>, message: &[u8]) {
        let Some(connection) = &mut self.connection else { return };
        let mut frame = Vec::new();
        // No request is too long for a frame.
        let _ = write_frame(&mut frame, message);
        match &mut connection.channel {
            Some(channel) if channel.is_open() => {
                // The channel is open, so sealing cannot fail.
                let _ = channel.seal(&frame, &mut connection.out);
            }
            Some(_) => connection.plain.extend(frame),
            None => connection.out.extend(frame),
        }
        self.write(events);
    }

    fn write(&mut self, events: &mut Loop<Asking>) {
        let Some(connection) = &mut self.connection else { return };
        while !connection.out.is_empty() {
            match events.host().write(connection.endpoint, &connection.out) {
                Ok(None) => break,
                Ok(Some(count)) => drop(connection.out.drain(..count)),
                Err(error) => return self.lose(events, unreachable(&error)),
            }
        }
        let interest = if connection.out.is_empty() { Interest::Read } else { Interest::ReadWrite };
        if let Err(error) = events.modify(connection.watch, interest) {
            self.lose(events, error.to_string());
        }
    }

    fn read(&mut self, events: &mut Loop<Asking>) {
        let mut buffer = vec![0; READ_BYTES];
        for _ in 0..READS {
            let Some(connection) = &mut self.connection else { return };
            match events.host().read(connection.endpoint, &mut buffer) {
                Ok(None) => break,
                Ok(Some(0)) => {
                    let why = connection.why_closed();
                    return self.lose(events, why.to_owned());
                }
                Err(error) => return self.lose(events, unreachable(&error)),
                Ok(Some(length)) => {
                    if let Err(why) = self.take_in(&buffer[..length]) {
                        return self.lose(events, why.to_string());
                    }
                }
            }
        }
        self.write(events);
        if self.end.is_some() {
            events.stop();
        }
    }

    /// Processes received bytes.
    fn take_in(&mut self, bytes: &[u8]) -> Result<(), NoAnswer> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        match &mut connection.channel {
            None => connection.reader.push(bytes),
            Some(channel) => {
                let mut plain = Vec::new();
                let received = channel.receive(bytes, &mut plain, &mut connection.out);
                if let Err(broken) = received {
                    self.refused = broken == Broken::Token;
                    return Err(NoAnswer::Changed);
                }
                connection.reader.push(&plain);
                if channel.is_open() && !connection.plain.is_empty() {
                    // The channel is open, so sealing cannot fail.
                    let _ =
                        channel.seal(&std::mem::take(&mut connection.plain), &mut connection.out);
                }
            }
        }
        let mut messages = Vec::new();
        loop {
            match connection.reader.next_frame() {
                Ok(None) => break,
                Ok(Some(frame)) => {
                    messages.push(Control::decode(frame).map_err(NoAnswer::Malformed)?);
                }
                Err(too_long) => return Err(NoAnswer::TooLong(too_long)),
            }
        }
        messages.into_iter().for_each(|message| self.receive(message));
        Ok(())
    }

    fn receive(&mut self, control: Control) {
        // The rest of an answer to an abandoned request.
        if control.id != self.id {
            return;
        }
        self.has_progress = true;
        match control.message {
            Some(Message::Rows(rows)) => self.rows.extend(rows),
            Some(Message::Counters(counters)) => self.counters.extend(counters),
            Some(Message::Text(text)) if self.tree.len() + text.len() <= TREE_BYTES_MAX => {
                self.tree += &text;
            }
            Some(Message::End(end)) => self.end = Some(end),
            // Messages added by a later version are ignored.
            _ => {}
        }
    }

    fn lose(&mut self, events: &mut Loop<Asking>, why: String) {
        self.hang_up(events);
        self.broken = Some(why);
        events.stop();
    }

    fn hang_up(&mut self, events: &mut Loop<Asking>) {
        if let Some(connection) = self.connection.take() {
            events.unwatch(connection.watch);
            events.host().close(connection.endpoint);
        }
    }
}
