//! Floods under forged addresses, and those that the node knows.

use super::*;
use crate::fragment;
use crate::head::{Ack, Fragment, append_content};

fn content(number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    append_content(&mut bytes, &number.to_le_bytes());
    bytes
}

fn endpoint(peers_max: usize, memory_bytes: usize) -> Endpoint {
    Endpoint::new(7, Config { peers_max, memory_bytes, ..Config::default() })
}

fn receive(endpoint: &mut Endpoint, from: &str, bytes: &[u8], now_ns: u64) -> usize {
    let mut delivered = 0;
    endpoint.receive(from, bytes, now_ns, &mut |_, _| delivered += 1);
    endpoint.flush(now_ns, &mut |_, _| {});
    delivered
}

/// The first of two fragments of a message of `total` bytes.
fn fragment(message: u64, total: usize) -> Vec<u8> {
    let bytes = vec![1; total];
    let first = fragment::split(message, &bytes, total.div_ceil(2)).next().expect("a fragment");
    assert_eq!(first.count, 2);
    let fragment: Option<Fragment<'_>> = Some(first);
    let mut out = Vec::new();
    Head { fragment, ..Head::default() }.append(&mut out);
    out
}

#[test]
fn forged_addresses_push_out_none_that_is_known() {
    let mut node = endpoint(100, 1 << 20);
    // Twenty peers that the node speaks to.
    for number in 0..20 {
        assert!(node.post(&format!("known{number}:1"), Mode::BestEffort, 0, |_| Some(content(1))));
        let mut answer = Vec::new();
        Head { program: 7, ..Head::default() }.append(&mut answer);
        receive(&mut node, &format!("known{number}:1"), &answer, 0);
    }
    for number in 0..5000u64 {
        let from = format!("127.0.{}.{}:{number}", number >> 8, number & 255);
        assert_eq!(receive(&mut node, &from, &content(number), number), 1);
    }
    assert_eq!(node.peers(), 75, "a quarter of the places is kept");
    for number in 0..20 {
        let mut is_same = false;
        assert!(node.post(&format!("known{number}:1"), Mode::BestEffort, 9, |same| {
            is_same = same;
            Some(content(2))
        }));
        assert!(is_same, "what was known of {number} is forgotten");
    }
    // And there is room for eighty more that the node speaks to.
    for number in 0..90 {
        node.post(&format!("new{number}:1"), Mode::Reliable, 9, |_| Some(content(1)));
    }
    assert_eq!(node.peers(), 100);
    assert_eq!(node.counters().get(Count::TooManyPeers), 10);
}

#[test]
fn strangers_that_something_waits_for_are_few() {
    let mut node = endpoint(100, 64 << 20);
    for number in 0..500 {
        receive(&mut node, &format!("s{number}:1"), &fragment(1, 1000), 0);
    }
    assert_eq!(node.peers(), 75);
    assert_eq!(node.counters().get(Count::TooManyPeers), 425);
    for number in 0..25 {
        assert!(node.post(&format!("n{number}:1"), Mode::Reliable, 0, |_| Some(content(1))));
    }
    // They make room after the timeout.
    node.on_time(fragment::TIMEOUT_NS);
    assert_eq!(receive(&mut node, "t:1", &content(1), fragment::TIMEOUT_NS), 1);
    assert_eq!(node.peers(), 100);
}

#[test]
fn half_a_message_of_a_stranger_makes_way_for_one_that_is_known() {
    let total = MESSAGE_BYTES_MAX - 1000;
    let mut node = endpoint(100, 3 << 20);
    node.post("known:1", Mode::BestEffort, 0, |_| Some(content(1)));
    for number in 0..10 {
        receive(&mut node, &format!("s{number}:1"), &fragment(1, total), 0);
    }
    assert!(node.counters().get(Count::FragmentFull) >= 7);
    let bytes = vec![5; total];
    let mut message = Vec::new();
    append_content(&mut message, &bytes);
    let mut delivered = 0;
    for part in fragment::split(3, &message, 1200) {
        let mut datagram = Vec::new();
        Head { fragment: Some(part), ..Head::default() }.append(&mut datagram);
        delivered += receive(&mut node, "known:1", &datagram, 0);
    }
    assert_eq!(delivered, 1);
    assert_eq!(node.counters().get(Count::FragmentEvicted), 3);
}

#[test]
fn whoever_echoes_is_known() {
    let mut node = endpoint(4, 1 << 20);
    // Three conversations that others begin; one of them goes on.
    let mut locals = Vec::new();
    for from in ["a:1", "b:1", "c:1"] {
        let ack = Ack { incarnation: 5, stream: 1, window: 9, ..Ack::default() };
        let mut bytes = Vec::new();
        Head { sequence: 1, ack: Some(ack), ..Head::default() }.append(&mut bytes);
        bytes.extend_from_slice(&content(1));
        node.receive(from, &bytes, 0, &mut |_, _| {});
        node.on_time(1_000_000_000);
        node.flush(1_000_000_000, &mut |to, bytes| {
            let ack = Head::decode(bytes).expect("a head").ack.expect("an acknowledgement");
            locals.push((to.to_owned(), ack.incarnation));
        });
    }
    assert_eq!(locals.len(), 3);
    assert!(locals[0].1 != locals[1].1 && locals[1].1 != locals[2].1, "each has its own");
    let ack = Ack { incarnation: 5, peer: locals[1].1, stream: 1, window: 9, ..Ack::default() };
    let mut bytes = Vec::new();
    Head { ack: Some(ack), ..Head::default() }.append(&mut bytes);
    receive(&mut node, "b:1", &bytes, 2_000_000_000);
    for number in 0..50 {
        receive(&mut node, &format!("s{number}:1"), &content(1), 3_000_000_000);
    }
    assert!(node.by_address.contains_key("b:1"));
    assert!(!node.by_address.contains_key("a:1") && !node.by_address.contains_key("c:1"));
}
