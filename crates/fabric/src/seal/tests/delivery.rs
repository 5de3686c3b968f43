//! Contents between members arrive, over bad networks and long times.

use super::super::session::{OVERLAP_NS, REKEY_DATAGRAMS, REKEY_NS, SEAL_BYTES};
use super::super::{DATAGRAM_BYTES_MAX, PeerState, WAIT_BYTES_MAX, WAIT_NS};
use super::world::*;
use crate::counters::Count;

#[test]
fn content_waits_for_a_session_and_comes_in_order() {
    let mut world = World::new(1, 2);
    world.delay_ns = (10 * MS, 10 * MS + 1);
    (0..20).for_each(|number| world.send(0, "b:1", &format!("{number}")));
    world.pass(S);
    assert_eq!(world.nodes[1].texts(), (0..20).map(|n| n.to_string()).collect::<Vec<_>>());
    assert!(world.nodes[1].got.iter().all(|(from, _)| from == "a:1"));
    world.send(1, "a:1", "back");
    world.pass(S);
    assert_eq!(world.nodes[0].texts(), ["back"]);
    // One handshake, four messages: the last says that the third came.
    let handshake: Vec<u8> = world.seen[..3].iter().map(|passing| passing.bytes[0]).collect();
    assert_eq!(handshake, [1, 2, 4]);
    assert_eq!(world.nodes.iter().map(|node| node.count(Count::Handshakes)).sum::<u64>(), 2);
    assert!(world.nodes.iter().all(|node| node.counters.drops() == 0));
}

#[test]
fn the_largest_content_fills_a_datagram() {
    let mut world = World::new(1, 2);
    let largest = vec![7; DATAGRAM_BYTES_MAX - SEAL_BYTES];
    world.nodes[0].send("b:1", &largest, 0);
    world.nodes[0].send("b:1", &[&largest[..], &[0]].concat(), 0);
    world.pass(S);
    assert_eq!(world.nodes[1].got, [("a:1".to_owned(), largest)]);
    assert_eq!(world.nodes[0].count(Count::Unsendable), 1);
    let longest = world.seen.iter().map(|passing| passing.bytes.len()).max();
    assert_eq!(longest, Some(DATAGRAM_BYTES_MAX));
}

#[test]
fn any_message_of_a_handshake_may_be_lost() {
    for lost in [(1, 0), (2, 0), (4, 1), (4, 0)] {
        for count in [1, 3] {
            let mut world = World::new(3, 2);
            let mut left = count;
            world.meddle = Some(Box::new(move |passing| {
                let is_it = passing.bytes[..2] == [lost.0, lost.1] && left > 0;
                left -= usize::from(is_it);
                is_it.then(Vec::new)
            }));
            world.send(0, "b:1", "hello");
            world.pass(9 * S);
            let name = format!("{lost:?} {count}");
            if lost == (4, 0) {
                // Beside the answer to the third message it is content that is lost.
                assert!(world.nodes[0].is_connected("b:1", world.now_ns), "{name}");
                world.send(0, "b:1", "hello");
                world.pass(S);
                assert!(world.nodes[1].texts().contains(&"hello".to_owned()), "{name}");
            } else {
                assert_eq!(world.nodes[1].texts(), ["hello"], "{name}");
            }
        }
    }
}

#[test]
fn both_may_begin_at_once() {
    for seed in 0..20 {
        let mut world = World::new(seed, 2);
        world.delay_ns = (5 * MS, 60 * MS);
        world.send(0, "b:1", "from a");
        world.send(1, "a:1", "from b");
        world.pass(2 * S);
        assert_eq!(world.nodes[1].texts(), ["from a"], "{seed}");
        assert_eq!(world.nodes[0].texts(), ["from b"], "{seed}");
        // The handshake that the lower address began is the only one that came to its end.
        let finished = world.seen.iter().filter(|one| one.bytes[..2] == [4, 1]);
        assert!(finished.clone().count() > 0 && finished.into_iter().all(|one| one.from == "a:1"));
        assert!(world.nodes.iter().all(|node| node.count(Count::Handshakes) == 1), "{seed}");
    }
}

#[test]
fn the_lower_address_does_not_insist_for_ever() {
    let mut world = World::new(5, 2);
    // The first datagrams of a never arrive, as if b were behind a NAT.
    world.meddle = Some(Box::new(|one| (one.bytes[0] == 1 && one.from == "a:1").then(Vec::new)));
    world.send(0, "b:1", "from a");
    world.send(1, "a:1", "from b");
    world.pass(5 * S);
    assert_eq!(world.nodes[0].texts(), ["from b"]);
    assert_eq!(world.nodes[1].texts(), ["from a"]);
}

/// Three parties that talk for 20 minutes over a network that loses, doubles and reorders: each
/// content comes at most once, from whom it says, and nearly all come.
#[test]
fn three_parties_talk_through_many_sessions() {
    for seed in 0..6 {
        let mut world = World::new(seed, 3);
        (world.loss_percent, world.duplicate_percent) = (10, 20);
        world.delay_ns = (5 * MS, 300 * MS);
        let mut sent = 0u64;
        while world.now_ns < 1200 * S {
            for from in 0..3usize {
                let to = (from + 1 + (world.random.next() % 2) as usize) % 3;
                let name = world.nodes[to].guard_name();
                world.send(from, &name, &format!("{from} {sent}"));
                sent += 1;
            }
            world.pass(world.random.clone().next() % (2 * S) + 1);
            world.random.next();
        }
        world.pass(30 * S);
        let mut got = 0;
        for node in &world.nodes {
            let mut texts = node.texts();
            got += texts.len() as u64;
            for (from, bytes) in &node.got {
                let index = usize::from(from.as_bytes()[0] - b'a');
                assert!(bytes.starts_with(format!("{index} ").as_bytes()), "{seed}");
            }
            texts.sort();
            texts.dedup();
            assert_eq!(texts.len(), node.got.len(), "{seed}");
            // Some ten changes of keys with each of two peers.
            let handshakes = node.count(Count::Handshakes);
            assert!((18..60).contains(&handshakes), "{seed} {handshakes}");
            assert_eq!(node.count(Count::BadSeal) + node.count(Count::BadMac), 0);
        }
        assert!(got * 100 > sent * 85, "{seed}: {got} of {sent}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let run = || {
        let mut world = World::new(4, 3);
        world.loss_percent = 20;
        (0..50).for_each(|number| {
            world.send(0, "b:1", &format!("{number}"));
            world.send(1, "c:1", &format!("{number}"));
            world.pass(S);
        });
        world.seen.into_iter().map(|passing| passing.bytes).collect::<Vec<_>>()
    };
    assert_eq!(run(), run());
}

#[test]
fn keys_are_replaced_and_the_old_session_ends() {
    let mut world = World::connected(2);
    let old = world.seen.iter().rfind(|one| one.bytes[..2] == [4, 0]).expect("data").clone();
    let index = |one: &Passing| one.bytes[4..8].to_vec();
    world.now_ns = REKEY_NS + S;
    // The old session goes on until the new one is confirmed.
    world.send(0, "b:1", "first");
    world.pass(S);
    world.send(0, "b:1", "second");
    world.pass(S);
    assert_eq!(world.nodes[1].texts(), ["hello", "first", "second"]);
    let last = world.seen.iter().rfind(|one| one.bytes[..2] == [4, 0] && one.from == old.from);
    assert_ne!(index(last.expect("data")), index(&old));
    assert_eq!(world.nodes[0].count(Count::Handshakes), 2);
    // Within the overlap a late datagram of the old session counts, if it is new; after, it does
    // not even reach the window.
    world.inject(&old.from, &old.to, &old.bytes);
    world.pass(S);
    assert_eq!(world.nodes[1].count(Count::Replayed) + world.nodes[0].count(Count::Replayed), 1);
    world.pass(OVERLAP_NS);
    world.inject(&old.from, &old.to, &old.bytes);
    world.pass(S);
    let unknown = |node: &Node| node.count(Count::UnknownSession);
    assert_eq!(world.nodes.iter().map(unknown).sum::<u64>(), 1);
}

#[test]
fn many_datagrams_make_new_keys() {
    let mut world = World::connected(2);
    world.nodes[0].guard.skip_to("b:1", REKEY_DATAGRAMS - 1);
    (0..3).for_each(|number| {
        world.send(0, "b:1", &format!("{number}"));
        world.pass(S);
    });
    assert_eq!(world.nodes[1].texts(), ["hello", "0", "1", "2"]);
    assert_eq!(world.nodes[0].count(Count::Handshakes), 2);
}

#[test]
fn a_session_that_nothing_goes_through_ends() {
    let mut world = World::connected(2);
    world.pass(REKEY_NS + OVERLAP_NS);
    assert!(
        world
            .nodes
            .iter()
            .all(|node| node.guard.peers(world.now_ns).all(|p| p.state != PeerState::Session))
    );
    assert!(world.nodes.iter().all(|node| node.guard.next_timeout().is_none()));
    world.send(1, "a:1", "again");
    world.pass(S);
    assert_eq!(world.nodes[0].texts(), ["again"]);
}

#[test]
fn what_waits_has_limits() {
    let mut world = World::new(1, 1);
    let content = [0; 1024];
    for _ in 0..WAIT_BYTES_MAX / 1024 + 5 {
        world.nodes[0].send("nowhere:1", &content, 0);
    }
    assert_eq!(world.nodes[0].count(Count::NoSession), 5);
    world.pass(WAIT_NS);
    assert_eq!(world.nodes[0].count(Count::NoSession), 5 + WAIT_BYTES_MAX as u64 / 1024);
    world.pass(10 * S);
    assert!(world.nodes[0].guard.only_upkeep() && world.nodes[0].guard.next_timeout().is_none());
    // At most two handshakes, of some messages each.
    assert!(world.seen.len() <= 12, "{}", world.seen.len());
}

#[test]
fn a_side_that_forgot_the_session_is_met_again() {
    let mut world = World::connected(2);
    // b starts again, with the same identity, and says nothing.
    world.nodes[1] = Node::new(config("b:1", 1), 99);
    for number in 0..10 {
        world.send(0, "b:1", &format!("{number}"));
        world.pass(S);
    }
    assert_eq!(world.nodes[1].texts().last().map(String::as_str), Some("9"));
    assert!(world.nodes[1].count(Count::UnknownSession) >= 5);
}

#[test]
fn without_randomness_nothing_begins_and_all_else_goes_on() {
    let mut world = World::connected(2);
    world.nodes[0].wire.is_dry = true;
    world.send(0, "b:1", "sealed");
    world.send(0, "c:1", "not");
    world.pass(S);
    assert_eq!(world.nodes[1].texts(), ["hello", "sealed"]);
    assert!(world.nodes[0].count(Count::NoEntropy) > 0);
}
