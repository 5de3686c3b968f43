//! Datagrams that are taken together.

use std::net::UdpSocket;
use std::time::Duration;

use tidemill_event::{
    Address, Datagrams, Endpoint, Handlers, Host, Interest, Loop, Os, Sim, Time, Transport as _,
};

/// Takes all that is there; the number of calls, and the first byte and sender of each.
fn all_of(
    host: &mut dyn Host,
    port: Endpoint,
    datagrams: &mut Datagrams,
) -> (usize, Vec<(u8, Address)>) {
    let (mut calls, mut all) = (0, Vec::new());
    loop {
        calls += 1;
        let are_more = host.recv_all(port, datagrams).unwrap();
        assert!(datagrams.len() <= Datagrams::MOST);
        all.extend(datagrams.iter_mut().map(|(bytes, from)| (bytes[0], from)));
        if !are_more {
            return (calls, all);
        }
    }
}

#[test]
fn a_call_takes_several_datagrams_in_order_with_their_senders() {
    let mut os = Os::with_seed(1).unwrap();
    for address in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
        let Ok(port) = os.bind(address) else {
            continue; // a machine without IPv6
        };
        let to = os.local_addr(port).unwrap().replace("[::]", "127.0.0.1");
        let near = if to.contains("::1") { "[::1]:0" } else { "127.0.0.1:0" };
        let senders = [(); 2].map(|()| UdpSocket::bind(near).unwrap());
        for number in 0..40u8 {
            // Lengths differ, and the first is the longest.
            let datagram = vec![number; 1000 - 20 * usize::from(number)];
            senders[usize::from(number % 2)].send_to(&datagram, &to).unwrap();
        }
        let (before, mut datagrams) = (os.stats(), Datagrams::new());
        let (calls, all) = all_of(&mut os, port, &mut datagrams);
        let sender = |number: u8| senders[usize::from(number % 2)].local_addr().unwrap();
        let expected: Vec<_> = (0..40).map(|it| (it, Address::Inet(sender(it)))).collect();
        assert_eq!((calls, all), (40 / Datagrams::MOST + 1, expected), "{address}");
        let stats = os.stats();
        assert_eq!(stats.syscalls - before.syscalls, calls as u64);
        assert_eq!(stats.received - before.received, 40);
        let bytes: u64 = (0..40).map(|number| 1000 - 20 * number).sum();
        assert_eq!(stats.received_bytes - before.received_bytes, bytes);
        assert!(!os.recv_all(port, &mut datagrams).unwrap());
        assert!(datagrams.is_empty());
        os.close(port);
        assert!(os.recv_all(port, &mut datagrams).is_err());
    }
}

#[test]
fn the_longest_datagram_fits_and_an_empty_one_is_one() {
    let mut os = Os::with_seed(1).unwrap();
    let [from, port] = [(); 2].map(|()| os.bind("127.0.0.1:0").unwrap());
    let to = os.local_addr(port).unwrap();
    let longest = vec![7; 65_507];
    for datagram in [&longest[..], &[], &[1]] {
        os.send(from, &to, datagram).unwrap();
    }
    let mut datagrams = Datagrams::new();
    assert!(!os.recv_all(port, &mut datagrams).unwrap());
    let all: Vec<_> = datagrams.iter_mut().map(|(bytes, _)| bytes.to_vec()).collect();
    assert!(all == [longest, Vec::new(), vec![1]]);
    assert_eq!(os.stats().dropped_truncated, 0);
}

#[test]
fn neither_family_of_localhost_keeps_the_other_from_being_heard() {
    if UdpSocket::bind("[::1]:0").is_err() {
        return;
    }
    let mut os = Os::with_seed(1).unwrap();
    let port = os.bind("localhost:0").unwrap();
    let number: u16 = os.local_addr(port).unwrap().rsplit_once(':').unwrap().1.parse().unwrap();
    for (many, one) in [("127.0.0.1", "::1"), ("::1", "127.0.0.1")] {
        let flood = UdpSocket::bind((many, 0)).unwrap();
        for _ in 0..200 {
            flood.send_to(b"x", (many, number)).unwrap();
        }
        let quiet = UdpSocket::bind((one, 0)).unwrap();
        quiet.send_to(b"!", (one, number)).unwrap();
        let (_, all) = all_of(&mut os, port, &mut Datagrams::new());
        let found = all.iter().position(|(byte, _)| *byte == b'!');
        assert!(all.len() == 201 && found.is_some_and(|at| at < 100), "{found:?}");
    }
}

/// When each of 40 datagrams was taken in a simulation, with its first byte and sender.
fn simulated(take: fn(&mut dyn Host, Endpoint) -> Vec<(u8, Address)>) -> Vec<(Time, u8, Address)> {
    let mut lp = Loop::new(Box::new(Sim::new(3)));
    let [from, port] = ["a:1", "b:1"].map(|name| lp.host().bind(name).unwrap());
    let handlers = Handlers::new().read(move |log: &mut Vec<_>, lp: &mut Loop<Vec<_>>, _| {
        let now = lp.now();
        log.extend(take(lp.host(), port).into_iter().map(|(byte, from)| (now, byte, from)));
    });
    lp.watch(port, Interest::Read, handlers).unwrap();
    for number in 0..40 {
        lp.host().send(from, "b:1", &[number]).unwrap();
    }
    let (mut log, end) = (Vec::new(), lp.now() + Duration::from_secs(10));
    lp.run_until(&mut log, end);
    assert_eq!(lp.host().stats().received, 40);
    log
}

#[test]
fn a_simulation_takes_what_it_would_one_by_one() {
    let together = simulated(|host, port| all_of(host, port, &mut Datagrams::new()).1);
    let one_by_one = simulated(|host, port| {
        let mut buffer = [0; 8];
        let next = || host.recv(port, &mut buffer).unwrap().map(|(_, from)| (buffer[0], from));
        std::iter::from_fn(next).collect()
    });
    assert!(together == one_by_one && together.len() == 40, "{together:?}, {one_by_one:?}");
}
