//! Tuples over connections between real sockets: order, limits, and peers that restart.

// Each test uses a part of it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::harness::{Network, open_both};
use tidemill_fabric::counters::Count;
use tidemill_fabric::stream::write_frame;
use tidemill_overlog::fleet::{self, NodeId, World};
use tidemill_overlog::net::envelope::{self, Content};
use tidemill_relation::Value;

const ITEMS: &str = r#"
    s1 item(@P, N, X) :- send(@N, P, X).
    watchmod(item, "c").
"#;

const VIEW: &str = r#"
    materialize(link, infinity, infinity, keys(1, 2)).
    materialize(known, infinity, infinity, keys(1, 2)).
    v1 known(@P, N) :- link(@N, P).
"#;

/// A program whose tuples are large.
const LOADS: &str = r#"s1 load(@P, X) :- send(@N, P, X)."#;

/// The address of each node.
fn addresses(network: &mut Network) -> Vec<String> {
    let fleet = network.world.fleet();
    fleet.ids().map(|id| fleet.identity(id).address.clone()).collect()
}

fn count(network: &mut Network, node: u32, count: Count) -> u64 {
    network.world.fleet().mail(NodeId(node)).expect("alive").counters().get(count)
}

/// Runs until a condition holds, at most ten seconds.
fn run_until(network: &mut Network, mut is_so: impl FnMut(&mut Network) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so(network) {
        assert!(Instant::now() < deadline, "it never was; seen: {:?}", network.lines.borrow());
        network.run_for(0.02);
    }
}

/// The numbers in the observed tuples from `address`.
fn items_from(network: &Network, address: &str) -> Vec<u32> {
    let from = format!(", \"{address}\", ");
    let lines = network.lines.borrow();
    let of = |line: &String| line.split_once(&from)?.1.strip_suffix(')')?.parse().ok();
    lines.iter().filter_map(of).collect()
}

#[test]
fn a_thousand_tuples_come_both_ways_in_order() {
    let mut network = Network::of_streams(ITEMS, 2);
    let at = addresses(&mut network);
    for x in 0..1000 {
        network.inject(0, &format!("send(\"{}\", \"{}\", {x})", at[0], at[1]));
        network.inject(1, &format!("send(\"{}\", \"{}\", {x})", at[1], at[0]));
        if x % 100 == 0 {
            network.run_for(0.001);
        }
    }
    run_until(&mut network, |network| network.lines.borrow().len() >= 2000);
    let all: Vec<u32> = (0..1000).collect();
    assert_eq!(items_from(&network, &at[0]), all);
    assert_eq!(items_from(&network, &at[1]), all);
    for node in 0..2 {
        // One connection each way, and nothing was a datagram.
        assert_eq!(count(&mut network, node, Count::Connected), 1);
        assert_eq!(count(&mut network, node, Count::Accepted), 1);
    }
    assert_eq!(network.events.host().stats().sent, 0);
}

#[test]
fn a_peer_that_is_killed_and_comes_back_is_connected_again() {
    let mut network = Network::of_streams(ITEMS, 2);
    let at = addresses(&mut network);
    let send = |network: &mut Network, x: u32| {
        network.inject(0, &format!("send(\"{}\", \"{}\", {x})", at[0], at[1])).run_for(0.02);
    };
    send(&mut network, 1);
    run_until(&mut network, |network| items_from(network, &at[0]) == [1]);
    let endpoint = fleet::crash(&mut network.world, &mut network.events, NodeId(1)).expect("alive");
    network.run_for(0.1);
    // Refused, and refused again: it waits.
    send(&mut network, 2);
    network.run_for(0.4);
    send(&mut network, 3);
    assert!(count(&mut network, 0, Count::ConnectionBroken) >= 2);
    assert_eq!(items_from(&network, &at[0]), [1]);
    fleet::restart(&mut network.world, &mut network.events, endpoint, NodeId(1)).expect("starts");
    run_until(&mut network, |network| items_from(network, &at[0]) == [1, 2, 3]);
    assert_eq!(count(&mut network, 0, Count::Connected), 2);
}

#[test]
fn views_outlive_connections_and_peers() {
    let mut network = Network::of_streams(VIEW, 2);
    let at = addresses(&mut network);
    let link = format!("link(\"{}\", \"{}\")", at[0], at[1]);
    let known = format!("known(\"{}\", \"{}\")", at[1], at[0]);
    network.inject(0, &link);
    run_until(&mut network, |network| network.rows(1, "known") == [known.clone()]);
    // A restarted, empty node is sent its lost rows again once it has appeared.
    let endpoint = fleet::crash(&mut network.world, &mut network.events, NodeId(1)).expect("alive");
    network.run_for(0.05);
    fleet::restart(&mut network.world, &mut network.events, endpoint, NodeId(1)).expect("starts");
    assert!(network.rows(1, "known").is_empty());
    network.inject(1, &format!("link(\"{}\", \"{}\")", at[1], at[0]));
    run_until(&mut network, |network| network.rows(1, "known") == [known.clone()]);
    run_until(&mut network, |network| network.rows(0, "known").len() == 1);
    network.delete(0, &link);
    run_until(&mut network, |network| network.rows(1, "known").is_empty());
}

#[test]
fn strangers_are_heard_but_not_answered_and_hostile_lengths_end_a_connection() {
    let mut network = Network::of_streams(ITEMS, 1);
    let at = addresses(&mut network);
    let mut stranger = TcpStream::connect(&at[0]).expect("connects");
    let mut tuple = Vec::new();
    let columns = &[Value::Str(&at[0]), Value::Str("x:1"), Value::Int(7)];
    envelope::append_tuple(&mut tuple, Content::Columns { name: "item", columns }, false);
    let mut frames = Vec::new();
    write_frame(&mut frames, &tuple).expect("short");
    // An empty acknowledgement.
    write_frame(&mut frames, b"\x2a\x00").expect("short");
    write_frame(&mut frames, b"no envelope").expect("short");
    for byte in &frames {
        stranger.write_all(&[*byte]).expect("writes");
    }
    run_until(&mut network, |network| count(network, 0, Count::Malformed) == 1);
    assert_eq!(items_from(&network, "x:1"), [7]);
    assert_eq!(count(&mut network, 0, Count::BadAck), 1);
    // The connection remains for others; this one announces four gigabytes.
    let mut hostile = TcpStream::connect(&at[0]).expect("connects");
    hostile.write_all(&u32::MAX.to_le_bytes()).expect("writes");
    run_until(&mut network, |network| count(network, 0, Count::FrameTooLong) == 1);
    assert!(matches!(hostile.read(&mut [0; 1]), Ok(0) | Err(_)));
    stranger.write_all(&frames).expect("writes");
    run_until(&mut network, |network| items_from(network, "x:1") == [7, 7]);
    // Ends in the middle of a frame are counted, others are not.
    assert_eq!(count(&mut network, 0, Count::ConnectionBroken), 0);
    stranger.write_all(&frames[..5]).expect("writes");
    drop(stranger);
    run_until(&mut network, |network| count(network, 0, Count::ConnectionBroken) == 1);
}

#[test]
fn a_peer_that_does_not_read_costs_bounded_memory_and_no_time() {
    let mut network = Network::of_streams(LOADS, 1);
    let at = addresses(&mut network);
    let deaf = TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = deaf.local_addr().expect("an address").to_string();
    let load = "x".repeat(100_000);
    for _ in 0..20 {
        for _ in 0..20 {
            network.inject(0, &format!("send(\"{}\", \"{to}\", \"{load}\")", at[0]));
        }
        network.run_for(0.01);
    }
    network.run_for(0.5);
    let full = count(&mut network, 0, Count::QueueFull);
    assert!(full > 0 && full < 400, "{full}");
    let before = network.events.stats().clone();
    network.run_for(0.5);
    let after = network.events.stats();
    let looks = after.polls + after.waits - before.polls - before.waits;
    assert!(looks < 20, "{looks}");
    // It wakes up, reads what was sent, and gets the rest.
    let (mut stream, _) = deaf.accept().expect("a connection");
    stream.set_nonblocking(true).expect("possible");
    let (mut bytes, mut buffer) = (0, vec![0; 1 << 20]);
    let expected = (400 - full) as usize * load.len();
    run_until(&mut network, |_| {
        while let Ok(count) = stream.read(&mut buffer) {
            bytes += count;
        }
        bytes > expected
    });
}

#[test]
fn a_port_that_is_taken_is_an_error() {
    let mut network = Network::of_streams(ITEMS, 1);
    let (ports, address) = open_both(network.events.host());
    let identity = network.world.fleet().identity(NodeId(0)).clone();
    let identity = tidemill_overlog::node::Identity { address, ..identity };
    // The listener exists, but is not passed: the node would open its own.
    let started = fleet::start(&mut network.world, &mut network.events, ports.datagrams, identity);
    assert_eq!(started.unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
}
