//! Strangers without a key: no memory, no long answers, and no way past a full table.

use std::collections::BTreeMap;

use super::super::{COOKIE_FROM, HALF_OPEN_MAX, HALF_OPEN_NS, INITIATION_BYTES};
use super::world::*;
use crate::counters::Count;

/// First messages by members whose third message never comes, each from a route of its own.
fn initiations(count: usize) -> Vec<Passing> {
    let number = |index: usize| ((index % 200) as u8, index as u64);
    let one = |index: usize| {
        let (identity, seed) = number(index);
        let name = format!("m{index}:1");
        let mut node = Node::new(config(&name, identity), seed << 20 | 5);
        node.send("a:1", b"x", 0);
        let (to, bytes) = node.wire.sent.remove(0);
        Passing { from: name, to, bytes }
    };
    (0..count).map(one).collect()
}

#[test]
fn floods_of_any_kind_cost_no_state_and_get_no_answer() {
    let mut world = World::connected(1);
    let before = world.nodes[1].guard.peers(world.now_ns).count();
    let (mut node, now_ns) = (world.nodes.remove(1), world.now_ns);
    node.wire.sent.clear();
    let mut random = Random(9);
    for number in 0..20_000u64 {
        let length = match number % 5 {
            0 => INITIATION_BYTES,
            1 => 64,
            2 => 33,
            _ => (random.next() % 1200) as usize,
        };
        let mut bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        let head = [(random.next() % 6) as u8, (random.next() % 2) as u8, 0, 0];
        bytes.iter_mut().zip(head).for_each(|(byte, value)| *byte = value);
        node.receive(&format!("127.0.{}.{}:9", number >> 8, number & 255), &bytes, now_ns);
    }
    assert!(node.wire.sent.is_empty());
    assert_eq!(node.guard.half_open(), 0);
    assert_eq!(node.guard.peers(now_ns).count(), before);
    assert_eq!(node.got.len(), 1);
    assert_eq!(node.counters.drops(), 20_000);
    assert!(node.count(Count::BadMac) > 200 && node.count(Count::UnknownSession) > 1000);
}

#[test]
fn datagrams_without_seal_are_not_heard() {
    let mut world = World::connected(1);
    let mut envelope = Vec::new();
    crate::head::append_content(&mut envelope, b"violation");
    world.inject("a:1", "b:1", &envelope);
    world.inject("a:1", "b:1", &[]);
    world.pass(S);
    assert_eq!(world.nodes[1].texts(), ["hello"]);
    assert_eq!(world.nodes[1].count(Count::Unsealed), 2);
}

#[test]
fn another_fleet_is_strangers() {
    let mut world = World::new(1, 2);
    let other = super::super::guard::Config { keys: keys(&["3210abcd"]), ..config("b:1", 1) };
    world.nodes[1] = Node::new(other, 7);
    world.send(0, "b:1", "hello");
    world.send(1, "a:1", "hello");
    world.pass(12 * S);
    assert!(world.nodes.iter().all(|node| node.got.is_empty()));
    assert!(world.nodes.iter().all(|node| node.guard.half_open() == 0));
    assert!(world.nodes.iter().all(|node| node.count(Count::BadMac) > 3));
    assert!(world.nodes.iter().all(|node| node.count(Count::NoSession) == 1));
    assert!(world.seen.iter().all(|passing| passing.bytes[0] == 1));
}

#[test]
fn no_answer_is_longer_than_what_it_answers() {
    let mut world = World::new(1, 1);
    let node = &mut world.nodes[0];
    for (count, one) in initiations(COOKIE_FROM + 40).iter().enumerate() {
        // From a forged route, as in a replay.
        node.receive("9.9.9.9:9", &one.bytes, 0);
        let sent = std::mem::take(&mut node.wire.sent);
        assert_eq!(sent.len(), 1);
        assert_no_amplification(&sent, one.bytes.len());
        assert_eq!(sent[0].1[0], if count < COOKIE_FROM { 2 } else { 3 });
    }
}

#[test]
fn under_load_only_who_receives_at_its_address_gets_on() {
    let mut world = World::new(1, 2);
    let recorded = initiations(COOKIE_FROM + 200);
    for one in &recorded {
        world.nodes[0].receive(&one.from, &one.bytes, 0);
    }
    world.nodes[0].wire.sent.clear();
    assert_eq!(world.nodes[0].guard.half_open(), COOKIE_FROM);
    assert_eq!(world.nodes[0].count(Count::CookieSent), 200);
    // b is sent a cookie, returns it, and completes the handshake.
    world.send(1, "a:1", "hello");
    world.pass(S);
    assert_eq!(world.nodes[0].texts(), ["hello"]);
    assert_eq!(world.nodes[0].count(Count::CookieSent), 201);
    assert_eq!(world.nodes[0].count(Count::BadCookie), 0);
    // The same first message with its proof, from another route, is worth nothing.
    let proven = world.seen.iter().rfind(|one| one.bytes[0] == 1).expect("seen").clone();
    assert_ne!(proven.bytes[INITIATION_BYTES - 16..], [0; 16]);
    let before = world.nodes[0].guard.half_open();
    world.inject("9.9.9.9:9", "a:1", &proven.bytes);
    world.pass(1);
    assert_eq!(world.nodes[0].count(Count::BadCookie), 1);
    assert_eq!(world.nodes[0].guard.half_open(), before);
}

#[test]
fn a_proof_is_not_forged_by_chance() {
    let mut world = World::new(1, 1);
    for one in &initiations(COOKIE_FROM) {
        world.nodes[0].receive(&one.from, &one.bytes, 0);
    }
    let mut forged = initiations(COOKIE_FROM + 1).pop().expect("one").bytes;
    let mut random = Random(3);
    for _ in 0..1000 {
        forged[INITIATION_BYTES - 16..].iter_mut().for_each(|byte| *byte = random.next() as u8);
        world.nodes[0].receive("m64:1", &forged, 0);
    }
    assert_eq!(world.nodes[0].count(Count::BadCookie), 1000);
    assert_eq!(world.nodes[0].guard.half_open(), COOKIE_FROM);
}

#[test]
fn unfinished_handshakes_are_few_and_end() {
    let mut world = World::new(1, 1);
    // Members that do everything but finish: each gives its proof.
    let count = HALF_OPEN_MAX + 20;
    let mut members: BTreeMap<String, Node> = BTreeMap::new();
    for index in 0..count {
        let name = format!("m{index}:1");
        let mut member = Node::new(config(&name, (index % 200) as u8), index as u64);
        member.send("a:1", b"x", 0);
        members.insert(name, member);
    }
    for (name, member) in &mut members {
        for _ in 0..2 {
            for (_, bytes) in std::mem::take(&mut member.wire.sent) {
                world.nodes[0].receive(name, &bytes, 0);
            }
            for (_, bytes) in std::mem::take(&mut world.nodes[0].wire.sent) {
                if bytes[0] == 3 {
                    member.receive("a:1", &bytes, 0);
                }
            }
        }
    }
    assert_eq!(world.nodes[0].guard.half_open(), HALF_OPEN_MAX);
    assert_eq!(world.nodes[0].count(Count::HalfOpenFull), 20);
    assert_eq!(world.nodes[0].guard.peers(0).count(), 0);
    world.pass(HALF_OPEN_NS);
    assert_eq!(world.nodes[0].guard.half_open(), 0);
    assert_eq!(world.nodes[0].count(Count::HandshakeTimeout), HALF_OPEN_MAX as u64);
}

#[test]
fn a_flood_does_not_push_out_who_is_known() {
    let mut world = World::new(1, 2);
    world.nodes[0] = Node::new(super::super::guard::Config { peers_max: 3, ..config("a:1", 0) }, 5);
    world.send(1, "a:1", "hello");
    world.pass(S);
    for one in initiations(300) {
        world.inject(&one.from, "a:1", &one.bytes);
    }
    // More names than there is room for, of which none answers.
    for number in 0..10 {
        world.send(0, &format!("n{number}:1"), "lost");
    }
    world.send(1, "a:1", "still here");
    world.pass(S);
    assert_eq!(world.nodes[0].texts(), ["hello", "still here"]);
    assert_eq!(world.nodes[0].count(Count::TooManyPeers), 8);
    // When they are given up, others get their place.
    world.pass(20 * S);
    world.send(0, "n11:1", "lost");
    assert_eq!(world.nodes[0].count(Count::TooManyPeers), 8);
    assert!(world.nodes[0].guard.peers(world.now_ns).any(|peer| peer.name == "b:1"));
}
