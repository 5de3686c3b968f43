//! A small run, and clients that connect to it over real sockets.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tidemill_event::{Loop, Os};
use tidemill_fabric::stream::{FrameReader, write_frame};
use tidemill_fabric::token::{Channel, Token};
use tidemill_overlog::control::{self, ANSWER_BYTES_MAX, Control, End, Message, Status};
use tidemill_overlog::fleet::{NodeId, Takes};
use tidemill_overlog::query::AskerId;
use tidemill_stat::Registry;

use super::*;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A run whose node answers `endless` for as long as the answer is read, and all else at once.
struct Little {
    server: Option<Server>,
    registry: Registry,
    asking: Vec<(AskerId, u64)>,
    gone: usize,
}

impl Controlled for Little {
    fn control(&mut self) -> Option<&mut Server> {
        self.server.as_mut()
    }

    fn snapshot(&mut self) -> Snapshot {
        let counters = self.registry.snapshot().counters.into_iter().collect();
        Snapshot { counters, tree: "Main\n".repeat(10_000) }
    }

    fn query(
        &mut self,
        events: &mut Loop<Little>,
        whom: QueriedNode<'_>,
        (asker, id): (AskerId, u64),
        text: &str,
    ) -> Result<(), End> {
        if text == "endless" {
            self.asking.push((asker, id));
            self.resume(events, asker);
            return Ok(());
        }
        let name = format!("{text} of {whom:?}");
        Err(End { status: Status::Done, name, reason: String::new() })
    }

    fn gone(&mut self, _: &mut Loop<Little>, asker: AskerId) {
        self.gone += 1;
        self.asking.retain(|(other, _)| *other != asker);
    }

    fn resume(&mut self, events: &mut Loop<Little>, asker: AskerId) {
        let Some(&(_, id)) = self.asking.iter().find(|(other, _)| *other == asker) else { return };
        for _ in 0..1000 {
            if reply(self, events, asker, &control::text(id, &"x".repeat(10_000))) == Takes::Later {
                return;
            }
        }
    }

    fn is_asking(&mut self, asker: AskerId) -> bool {
        self.asking.iter().any(|(other, _)| *other == asker)
    }
}

struct Run {
    events: Loop<Little>,
    world: Little,
    folder: PathBuf,
    /// The address for remote tools.
    port: String,
}

impl Run {
    fn new(name: &str, limits: Limits, token: Option<&str>) -> Run {
        let name = format!("tidemill-control-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        let mut events = Loop::new(Box::new(Os::new().unwrap()));
        let registry = Registry::in_memory();
        let token = token.map(|token| Token::parse(token).unwrap());
        let server = Some(Server::new(&registry, token).with_limits(limits));
        let mut world = Little { server, registry, asking: Vec::new(), gone: 0 };
        open(&mut world, &mut events, &folder).unwrap();
        let listener = events.host().listen("127.0.0.1:0").unwrap();
        let port = events.host().local_addr(listener).unwrap();
        listen(&mut events, listener, NodeId(3)).unwrap();
        Run { events, world, folder, port }
    }

    fn turn(&mut self) {
        let end = self.events.now() + Duration::from_millis(5);
        self.events.run_until(&mut self.world, end);
    }

    /// Runs the loop until a condition holds.
    fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Run) -> bool) {
        let end = Instant::now() + Duration::from_secs(30);
        while !is_so(self) {
            assert!(Instant::now() < end, "{what} does not happen");
            self.turn();
        }
    }

    fn until_counted(&mut self, name: &str, count: u64) {
        self.until(name, |run| run.count(name) >= count);
        assert_eq!(self.count(name), count, "{name}");
    }

    fn count(&self, name: &str) -> u64 {
        self.world.registry.snapshot().counter(&format!("control/run/{name}")).unwrap_or(0)
    }

    fn local(&mut self) -> UnixStream {
        let accepted = self.count("accepted") + self.count("refused_full");
        let stream = UnixStream::connect(self.folder.join(place::SOCKET)).unwrap();
        stream.set_nonblocking(true).unwrap();
        self.until("taken", |run| run.count("accepted") + run.count("refused_full") > accepted);
        stream
    }

    fn remote(&mut self) -> TcpStream {
        let accepted = self.count("accepted");
        let stream = TcpStream::connect(&self.port).unwrap();
        stream.set_nonblocking(true).unwrap();
        self.until("taken", |run| run.count("accepted") > accepted);
        stream
    }

    /// The next message of a connection.
    fn message(&mut self, stream: &mut impl Read, frames: &mut FrameReader) -> Control {
        let mut buffer = [0; 4096];
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            if let Some(frame) = frames.next_frame().unwrap() {
                return Control::decode(frame).unwrap();
            }
            assert!(Instant::now() < end, "no answer");
            match stream.read(&mut buffer) {
                Ok(length) if length > 0 => frames.push(&buffer[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.turn(),
                other => panic!("{other:?}"),
            }
        }
    }

    fn until_closed(&mut self, stream: &mut impl Read) {
        let mut buffer = [0; 4096];
        self.until("closed", |_| match stream.read(&mut buffer) {
            Ok(length) => length == 0,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        });
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn frame(message: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    write_frame(&mut frame, message).unwrap();
    frame
}

fn frames() -> FrameReader {
    FrameReader::new(ANSWER_BYTES_MAX)
}

fn end(control: Control) -> (u64, Status, String) {
    match control.message {
        Some(Message::End(end)) => (control.id, end.status, end.name + &end.reason),
        other => panic!("{other:?}"),
    }
}

#[test]
fn requests_are_answered_one_by_one() {
    let mut run = Run::new("requests", Limits::default(), None);
    let mut tool = run.local();
    let mut frames = frames();
    tool.write_all(&frame(&control::query(1, "n", "edge"))).unwrap();
    let first = run.message(&mut tool, &mut frames);
    assert_eq!(end(first), (1, Status::Done, "edge of Name(\"n\")".to_owned()));
    // Several at once: counters and a long text, a request of another version, and a later one.
    let others = [control::top(2), b"\x08\x03\x22\x00".to_vec(), b"\x08\x04\x52\x00".to_vec()];
    others.iter().for_each(|message| tool.write_all(&frame(message)).unwrap());
    let (mut counters, mut tree) = (0, String::new());
    loop {
        let control = run.message(&mut tool, &mut frames);
        match control.message {
            Some(Message::Counters(more)) => counters += more.len(),
            Some(Message::Text(more)) => tree += &more,
            _ => break assert_eq!(end(control).1, Status::Done),
        }
    }
    assert!(counters > 10 && tree == "Main\n".repeat(10_000));
    for (id, name) in [(3, "`inject`"), (4, "`this request`")] {
        let refusal = format!("{name} is not supported by this version");
        let control = run.message(&mut tool, &mut frames);
        assert_eq!(end(control), (id, Status::Unsupported, refusal));
    }
    assert_eq!((run.count("requests"), run.count("unsupported")), (4, 2));
    drop(tool);
    run.until("gone", |run| run.world.gone == 1);
}

#[test]
fn garbage_ends_its_connection_alone() {
    let mut run = Run::new("garbage", Limits::default(), None);
    let mut other = run.local();
    for (number, garbage) in
        (1..).zip([&b"\x03\0\0\0\xff\xff\xff"[..], &frame(&control::text(1, "x"))])
    {
        let mut tool = run.local();
        tool.write_all(garbage).unwrap();
        run.until_closed(&mut tool);
        run.until_counted("malformed", number);
    }
    let mut tool = run.local();
    tool.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    run.until_closed(&mut tool);
    run.until_counted("too_long", 1);
    // Half a frame does not count as activity.
    let mut half = run.local();
    half.write_all(&[200, 0, 0, 0, 1]).unwrap();
    other.write_all(&frame(&control::query(1, "", "edge"))).unwrap();
    assert_eq!(end(run.message(&mut other, &mut frames())).1, Status::Done);
}

#[test]
fn many_idle_connections_neither_grow_nor_stay() {
    let limits = Limits { connections: 8, idle: Duration::from_millis(1500), ..Limits::default() };
    let mut run = Run::new("idle", limits, None);
    let mut idle: Vec<UnixStream> = (0..8).map(|_| run.local()).collect();
    let mut surplus = run.local();
    run.until_closed(&mut surplus);
    assert_eq!(run.count("refused_full"), 1);
    // A connection with a pending request stays.
    let mut asking = idle.pop().unwrap();
    let began = Instant::now();
    while run.count("idle") < 7 {
        asking.write_all(&frame(&control::query(1, "", "edge"))).unwrap();
        end(run.message(&mut asking, &mut frames()));
        assert!(began.elapsed() < Duration::from_secs(30), "idle connections stay");
    }
    idle.iter_mut().for_each(|stream| run.until_closed(stream));
    run.local();
    assert_eq!((run.count("refused_full"), run.count("accepted")), (1, 9));
}

#[test]
fn an_answer_that_is_not_read_waits_and_then_ends() {
    let limits = Limits { stalled: Duration::from_millis(1500), ..Limits::default() };
    let mut run = Run::new("stalled", limits, None);
    let mut deaf = run.local();
    // It sends requests and never reads.
    deaf.write_all(&frame(&control::query(1, "", "endless"))).unwrap();
    let questions = frame(&control::top(2)).repeat(10_000);
    let _ = deaf.write(&questions);
    run.until("asked", |run| run.world.asking.len() == 1);
    let mut other = run.local();
    other.write_all(&frame(&control::query(1, "", "edge"))).unwrap();
    assert_eq!(end(run.message(&mut other, &mut frames())).1, Status::Done);
    run.until_counted("stalled", 1);
    assert_eq!(run.world.gone, 1);
    assert!(run.count("requests") < 100, "requests are not read while answers wait");
    // A reader gets more than fits into any queue.
    other.write_all(&frame(&control::query(2, "", "endless"))).unwrap();
    let (mut frames, mut bytes) = (frames(), 0);
    while bytes < 5_000_000 {
        match run.message(&mut other, &mut frames).message {
            Some(Message::Text(text)) => bytes += text.len(),
            other => panic!("{other:?}"),
        }
    }
}

/// Reads from a sealed connection until a condition holds; returns what was decrypted.
fn opened(
    run: &mut Run,
    tool: &mut TcpStream,
    channel: &mut Channel,
    is_so: impl Fn(&Channel, &[u8]) -> bool,
) -> Vec<u8> {
    let (mut plain, mut buffer) = (Vec::new(), [0; 4096]);
    run.until("answered", |_| {
        if let Ok(length) = tool.read(&mut buffer) {
            channel.receive(&buffer[..length], &mut plain, &mut Vec::new()).unwrap();
        }
        is_so(channel, &plain)
    });
    plain
}

fn call(tool: &mut TcpStream, token: &str) -> (Channel, Vec<u8>) {
    let mut hello = Vec::new();
    let channel = Channel::call(&Token::parse(token).unwrap(), [9; 32], &mut hello).unwrap();
    tool.write_all(&hello).unwrap();
    (channel, hello)
}

#[test]
fn remote_connections_need_a_token_first() {
    let mut run = Run::new("token", Limits::default(), Some(TOKEN));
    let mut tool = run.remote();
    let (mut channel, hello) = call(&mut tool, TOKEN);
    opened(&mut run, &mut tool, &mut channel, |channel, _| channel.is_open());
    let mut question = Vec::new();
    channel.seal(&frame(&control::query(5, "any", "edge")), &mut question).unwrap();
    tool.write_all(&question).unwrap();
    let answer = opened(&mut run, &mut tool, &mut channel, |_, plain| plain.len() > 4);
    let answer = end(Control::decode(&answer[4..]).unwrap());
    // The node whose port it is, whatever name the tool gives.
    assert_eq!(answer, (5, Status::Done, "edge of Node(NodeId(3))".to_owned()));
    // A recorded session is not accepted a second time.
    let mut replayed = run.remote();
    replayed.write_all(&[hello, question].concat()).unwrap();
    run.until_closed(&mut replayed);
    run.until_counted("bad_seal", 1);
    let mut unsealed = run.remote();
    unsealed.write_all(&frame(&control::query(1, "", "edge"))).unwrap();
    run.until_closed(&mut unsealed);
    run.until_counted("malformed", 1);
    let mut other = run.remote();
    call(&mut other, &TOKEN.replace('0', "f"));
    run.until_closed(&mut other);
    run.until_counted("refused_token", 1);
    assert_eq!(run.count("requests"), 1);
}

#[test]
fn half_open_connections_make_room_and_end() {
    let limits = Limits { half_open: 4, handshake: Duration::from_secs(4), ..Limits::default() };
    let mut run = Run::new("half-open", limits, Some(TOKEN));
    let mut idle: Vec<TcpStream> = (0..6).map(|_| run.remote()).collect();
    idle[..2].iter_mut().for_each(|oldest| run.until_closed(oldest));
    assert_eq!(run.count("half_open_evicted"), 2);
    run.until_counted("handshake_timeouts", 4);
    idle[2..].iter_mut().for_each(|stream| run.until_closed(stream));
    // Without a token no remote connection is admitted.
    let mut run = Run::new("no-token", Limits::default(), None);
    let mut stream = TcpStream::connect(&run.port).unwrap();
    stream.set_nonblocking(true).unwrap();
    run.until_closed(&mut stream);
    run.until_counted("refused_no_token", 1);
}
