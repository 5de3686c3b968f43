//! Datagrams, streams and names on the operating system's sockets.

use std::io;
use std::time::Duration;

use tidemill_event::{
    Address, Endpoint, Handlers, Host, Interest, Loop, Os, Outcome, Streams as _, Time,
    Transport as _, WatchId,
};

fn os<W: 'static>() -> Loop<W> {
    Loop::new(Box::new(Os::with_seed(1).unwrap()))
}

/// Two ports that send a number back and forth until it is 100.
fn ping_pong(first: &str, second: &str, spoken_to: impl Fn(String) -> String) -> Vec<String> {
    let mut lp = os::<Vec<String>>();
    let mut ports = Vec::new();
    for addr in [first, second] {
        let port = lp.host().bind(addr).unwrap();
        let read = move |log: &mut Vec<String>, lp: &mut Loop<Vec<String>>, _| {
            let mut buf = [0; 16];
            while let Some((length, from)) = lp.host().recv(port, &mut buf).unwrap() {
                assert_eq!(length, 1);
                let from_name = lp.host().name_of(from).into_owned();
                if !log.contains(&from_name) {
                    log.push(from_name);
                }
                match buf[0] {
                    100 => lp.stop(),
                    n => lp.host().send_to(port, from, &[n + 1]).unwrap(),
                }
            }
        };
        lp.watch(port, Interest::Read, Handlers::new().read(read)).unwrap();
        ports.push(port);
    }
    let to = spoken_to(lp.host().local_addr(ports[1]).unwrap());
    lp.host().send(ports[0], &to, &[0]).unwrap();
    let end = lp.now() + Duration::from_secs(10);
    let mut log = Vec::new();
    assert!(matches!(lp.run_until(&mut log, end), Outcome::Stopped));
    let stats = lp.host().stats();
    assert_eq!((stats.sent, stats.received, stats.received_bytes), (101, 101, 101));
    log
}

#[test]
fn datagrams_between_names_and_literals() {
    let names = ping_pong("localhost:0", "localhost:0", |name| name);
    assert_eq!(names.len(), 2);
    assert!(names.iter().all(|name| name.starts_with("localhost:") && !name.ends_with(":0")));
    ping_pong("127.0.0.1:0", "127.0.0.1:0", |name| name);
}

#[test]
fn datagrams_over_ipv6_and_between_the_families() {
    if std::net::UdpSocket::bind("[::1]:0").is_err() {
        // A machine without IPv6 cannot test it; the other families are tested above.
        return;
    }
    ping_pong("[::1]:0", "[::1]:0", |name| name);
    let names = ping_pong("[::]:0", "127.0.0.1:0", |name| name);
    assert!(names.iter().any(|name| name.starts_with("127.0.0.1:")), "{names:?}");
}

#[test]
fn a_datagram_longer_than_the_buffer_is_dropped_and_counted() {
    let mut lp = os::<()>();
    let (a, b) = (lp.host().bind("localhost:0").unwrap(), lp.host().bind("localhost:0").unwrap());
    let to = lp.host().local_addr(b).unwrap();
    lp.host().send(a, &to, &[1; 100]).unwrap();
    lp.host().send(a, &to, &[2; 10]).unwrap();
    let mut buf = [0; 10];
    let (length, _) = lp.host().recv(b, &mut buf).unwrap().unwrap();
    assert_eq!((length, buf), (10, [2; 10]));
    assert_eq!(lp.host().recv(b, &mut buf).unwrap(), None);
    assert_eq!(lp.host().stats().dropped_truncated, 1);
}

#[test]
fn datagrams_that_the_kernel_drops_are_counted() {
    let mut lp = os::<()>();
    let (a, b) = (lp.host().bind("localhost:0").unwrap(), lp.host().bind("localhost:0").unwrap());
    let to = lp.host().local_addr(b).unwrap();
    for _ in 0..10_000 {
        lp.host().send(a, &to, &[1; 1000]).unwrap();
    }
    let mut buf = [0; 1000];
    while lp.host().recv(b, &mut buf).unwrap().is_some() {}
    let stats = lp.host().stats();
    assert_eq!(stats.received + stats.dropped_kernel, 10_000);
    assert!(stats.dropped_kernel > 0 && stats.received > 50, "{stats:?}");
    lp.host().close(b);
    assert_eq!(lp.host().stats().dropped_kernel, stats.dropped_kernel);
}

/// Whether this host has ::1.
fn has_ipv6() -> bool {
    std::net::UdpSocket::bind("[::1]:0").is_ok()
}

#[test]
fn localhost_hears_both_families_and_answers_in_kind() {
    let mut lp = os::<Vec<String>>();
    let port = lp.host().bind("localhost:0").unwrap();
    let number = lp.host().local_addr(port).unwrap().rsplit_once(':').unwrap().1.to_owned();
    let echo = move |seen: &mut Vec<String>, lp: &mut Loop<Vec<String>>, _| {
        let mut buf = [0; 16];
        while let Some((length, from)) = lp.host().recv(port, &mut buf).unwrap() {
            lp.host().send_to(port, from, &buf[..length]).unwrap();
            seen.push(String::from_utf8_lossy(&buf[..length]).into_owned());
        }
    };
    lp.watch(port, Interest::Read, Handlers::new().read(echo)).unwrap();
    let addresses: &[&str] = if has_ipv6() { &["127.0.0.1", "::1"] } else { &["127.0.0.1"] };
    let mut seen = Vec::new();
    for (round, address) in addresses.iter().cycle().take(6).enumerate() {
        let from = std::net::UdpSocket::bind((*address, 0)).unwrap();
        from.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let text = format!("{round} {address}");
        from.send_to(text.as_bytes(), (*address, number.parse().unwrap())).unwrap();
        let end = lp.now() + Duration::from_millis(50);
        lp.run_until(&mut seen, end);
        let mut buf = [0; 16];
        let (length, answered) = from.recv_from(&mut buf).unwrap();
        assert_eq!(&buf[..length], text.as_bytes());
        assert_eq!(answered.to_string(), from_text(address, &number));
        assert_eq!(seen.len(), round + 1);
    }
    // All watches end with the endpoint.
    lp.host().close(port);
    for address in addresses {
        std::net::UdpSocket::bind((*address, number.parse().unwrap())).unwrap();
    }
}

fn from_text(address: &str, port: &str) -> String {
    if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
}

#[test]
fn neither_family_of_localhost_keeps_the_other_from_being_heard() {
    if !has_ipv6() {
        return;
    }
    let mut os = Os::with_seed(1).unwrap();
    let port = os.bind("localhost:0").unwrap();
    let number: u16 = os.local_addr(port).unwrap().rsplit_once(':').unwrap().1.parse().unwrap();
    for (many, one) in [("127.0.0.1", "::1"), ("::1", "127.0.0.1")] {
        let flood = std::net::UdpSocket::bind((many, 0)).unwrap();
        for _ in 0..200 {
            flood.send_to(b"x", (many, number)).unwrap();
        }
        let quiet = std::net::UdpSocket::bind((one, 0)).unwrap();
        quiet.send_to(b"!", (one, number)).unwrap();
        let mut buf = [0; 4];
        let mut found = 0;
        while let Some((1, _)) = os.recv(port, &mut buf).unwrap() {
            found += 1;
            if buf[0] == b'!' {
                break;
            }
        }
        assert!(buf[0] == b'!' && found < 100, "{found}");
        while os.recv(port, &mut buf).unwrap().is_some() {}
    }
}

#[test]
fn localhost_takes_connections_of_both_families() {
    let mut os = Os::with_seed(1).unwrap();
    let listener = os.listen("localhost:0").unwrap();
    let number: u16 = os.local_addr(listener).unwrap().rsplit_once(':').unwrap().1.parse().unwrap();
    let addresses: &[&str] = if has_ipv6() { &["127.0.0.1", "::1"] } else { &["127.0.0.1"] };
    for address in addresses.iter().cycle().take(4) {
        let client = std::net::TcpStream::connect((*address, number)).unwrap();
        let (stream, from) = os.accept(listener).unwrap().expect("a connection");
        assert_eq!(os.name_of(from), client.local_addr().unwrap().to_string());
        os.close(stream);
    }
    assert!(os.accept(listener).unwrap().is_none());
}

#[test]
fn what_is_no_address_and_what_is_closed_are_errors() {
    let mut lp = os::<()>();
    let port = lp.host().bind("localhost:0").unwrap();
    let kind = |result: io::Result<()>| result.unwrap_err().kind();
    assert_eq!(kind(lp.host().send(port, "nonsense", b"")), io::ErrorKind::InvalidInput);
    assert_eq!(kind(lp.host().send_to(port, Address::Sim(1), b"")), io::ErrorKind::NotFound);
    let taken = lp.host().local_addr(port).unwrap();
    assert_eq!(lp.host().bind(&taken).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    lp.host().close(port);
    assert_eq!(kind(lp.host().send(port, &taken, b"")), io::ErrorKind::NotFound);
    assert_eq!(lp.host().local_addr(port).unwrap_err().kind(), io::ErrorKind::NotFound);
    lp.host().bind(&taken).unwrap();
}

/// `.invalid` never has an address (RFC 6761), however the machine is connected.
#[test]
fn an_unknown_name_is_looked_up_aside_and_its_datagrams_dropped_and_counted() {
    let mut lp = os::<()>();
    let port = lp.host().bind("localhost:0").unwrap();
    let began = std::time::Instant::now();
    for _ in 0..100 {
        let sent = lp.host().send(port, "nobody.invalid:10000", b"lost");
        assert!(sent.is_ok() || sent.unwrap_err().kind() == io::ErrorKind::WouldBlock);
    }
    assert!(began.elapsed() < Duration::from_secs(1), "sending waited for the name");
    // The loop does not end as idle while the answer is out.
    assert!(matches!(lp.run(&mut ()), Outcome::Idle));
    let stats = lp.host().stats();
    assert_eq!((stats.lookups, stats.sent), (1, 0));
    assert_eq!((stats.dropped_unresolved, stats.dropped_full), (64, 36));
    let refused = lp.host().send(port, "nobody.invalid:10000", b"lost").unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::NotFound);
}

#[derive(Default)]
struct Streams {
    received: Vec<u8>,
    echoed: usize,
    sent: usize,
    errors: Vec<io::ErrorKind>,
}

const BULK: usize = 3_000_000;

fn echo(world: &mut Streams, lp: &mut Loop<Streams>, stream: Endpoint, id: WatchId) {
    let mut buf = [0; 4096];
    loop {
        match lp.host().read(stream, &mut buf).unwrap() {
            None => break,
            Some(0) => {
                lp.unwatch(id);
                lp.host().close(stream);
                break;
            }
            Some(length) => {
                world.echoed += length;
                world.received.truncate(0);
                world.received.extend_from_slice(&buf[..length]);
            }
        }
    }
}

#[test]
fn streams_connect_carry_bulk_and_end() {
    let mut lp = os::<Streams>();
    let listener = lp.host().listen("localhost:0").unwrap();
    let to = lp.host().local_addr(listener).unwrap();
    let accept = move |_: &mut Streams, lp: &mut Loop<Streams>, id| {
        while let Some((stream, from)) = lp.host().accept(listener).unwrap() {
            assert!(lp.host().name_of(from).starts_with("127.0.0.1:"));
            let read = move |world: &mut Streams, lp: &mut Loop<Streams>, id| {
                echo(world, lp, stream, id);
            };
            lp.watch(stream, Interest::Read, Handlers::new().read(read)).unwrap();
            lp.unwatch(id);
        }
    };
    lp.watch(listener, Interest::Read, Handlers::new().read(accept)).unwrap();
    let stream = lp.host().connect(&to).unwrap();
    let write = move |world: &mut Streams, lp: &mut Loop<Streams>, id| {
        let chunk = [7; 16384];
        while world.sent < BULK {
            let left = chunk.len().min(BULK - world.sent);
            match lp.host().write(stream, &chunk[..left]).unwrap() {
                Some(length) => world.sent += length,
                None => return,
            }
        }
        lp.unwatch(id);
        lp.host().close(stream);
    };
    lp.watch(stream, Interest::Write, Handlers::new().write(write)).unwrap();
    let mut world = Streams::default();
    assert!(matches!(lp.run(&mut world), Outcome::Idle));
    assert_eq!((world.sent, world.echoed), (BULK, BULK));
}

#[test]
fn a_refused_connection_is_reported_once() {
    let mut lp = os::<Streams>();
    let listener = lp.host().listen("localhost:0").unwrap();
    let to = lp.host().local_addr(listener).unwrap();
    lp.host().close(listener);
    let stream = lp.host().connect(&to).unwrap();
    let handlers = Handlers::new()
        .write(|_: &mut Streams, _, _| unreachable!("it is not connected"))
        .error(move |world, lp: &mut Loop<Streams>, _, error| {
            world.errors.push(error.kind());
            lp.host().close(stream);
        });
    lp.watch(stream, Interest::Write, handlers).unwrap();
    let mut world = Streams::default();
    assert!(matches!(lp.run(&mut world), Outcome::Idle));
    assert_eq!(world.errors, [io::ErrorKind::ConnectionRefused]);
}

#[test]
fn a_connection_to_an_unknown_name_fails_when_the_answer_is_there() {
    let mut lp = os::<Streams>();
    let stream = lp.host().connect("nobody.invalid:1").unwrap();
    assert_eq!(lp.host().write(stream, b"early").unwrap(), None);
    let handlers = Handlers::new()
        .write(|_: &mut Streams, _, _| unreachable!("it is not connected"))
        .error(|world, _, _, error| world.errors.push(error.kind()));
    lp.watch(stream, Interest::Write, handlers).unwrap();
    let mut world = Streams::default();
    assert!(matches!(lp.run(&mut world), Outcome::Idle));
    assert_eq!(world.errors, [io::ErrorKind::NotFound]);
}

#[test]
fn the_kernel_gives_entropy_whatever_the_seed() {
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..2 {
        let mut os = Os::with_seed(1).unwrap();
        for _ in 0..2 {
            // More than the kernel returns at once without interruption.
            let mut bytes = vec![0; 1000];
            os.fill_entropy(&mut bytes).unwrap();
            assert!(bytes.chunks(8).filter(|chunk| **chunk == [0; 8]).count() < 2);
            seen.insert(bytes);
        }
    }
    assert_eq!(seen.len(), 4);
}

#[test]
fn local_streams_are_their_owners_and_name_the_other_side() {
    use std::os::unix::fs::PermissionsExt;

    let folder = std::env::temp_dir().join(format!("tidemill-local-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("socket");
    let mut os = Os::with_seed(1).unwrap();
    assert_eq!(os.connect_local(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    let listener = os.listen_local(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(os.listen_local(&path).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    assert!(os.accept(listener).unwrap().is_none());
    let (near, server) = os.connect_local(&path).unwrap();
    let (far, Address::Local(client)) = os.accept(listener).unwrap().unwrap() else {
        panic!("a local stream comes from a process of this host")
    };
    assert_eq!(client, server);
    assert_eq!(client.pid, std::process::id());
    let mut buffer = [0; 8];
    assert_eq!(os.read(far, &mut buffer).unwrap(), None);
    assert_eq!(os.write(near, b"hello").unwrap(), Some(5));
    assert_eq!(os.read(far, &mut buffer).unwrap(), Some(5));
    assert_eq!(&buffer[..5], b"hello");
    os.close(near);
    assert_eq!(os.read(far, &mut buffer).unwrap(), Some(0));
    // A closed listener refuses connections.
    os.close(far);
    os.close(listener);
    assert_eq!(os.connect_local(&path).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    let long = folder.join("x".repeat(200));
    assert!(os.listen_local(&long).is_err(), "longer than a socket's path may be");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A clock that skips idle time polls seldom where deadlines are close to each other; what the
/// program has sent is there before the clock goes on, and what comes from outside soon.
#[test]
fn short_jumps_of_a_clock_need_no_polls() {
    const TICK: Duration = Duration::from_micros(10);
    type Log = Vec<(u8, Time)>;
    let mut lp: Loop<Log> =
        Loop::new(Box::new(Os::with_seed(1).unwrap().with_skipped_time(0, 1000)));
    let port = lp.host().bind("127.0.0.1:0").unwrap();
    let address = lp.host().local_addr(port).unwrap();
    let read = move |log: &mut Log, lp: &mut Loop<Log>, _| {
        let mut buf = [0; 16];
        while let Some((1, _)) = lp.host().recv(port, &mut buf).unwrap() {
            log.push((buf[0], lp.now()));
        }
    };
    lp.watch(port, Interest::Read, Handlers::new().read(read)).unwrap();
    let other = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut ticks = 0;
    lp.every(TICK, move |_: &mut Log, lp: &mut Loop<Log>, _| {
        ticks += 1;
        match ticks {
            300 => lp.host().send(port, &address, &[1]).unwrap(),
            600 => assert_eq!(other.send_to(&[2], &address).unwrap(), 1),
            1000 => lp.stop(),
            _ => {}
        }
    });
    let mut log = Log::new();
    assert!(matches!(lp.run(&mut log), Outcome::Stopped));
    let [(1, own), (2, foreign)] = log[..] else { panic!("{log:?}") };
    assert_eq!(own, Time::ZERO + TICK * 300);
    assert!((600..=665).contains(&(foreign.0 / 10_000)), "{foreign:?}");
    let syscalls = lp.host_stats().syscalls;
    assert!(syscalls < 1000 / 10, "{syscalls} system calls for 1000 ticks");
}
