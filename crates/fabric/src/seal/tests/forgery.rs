//! An attacker that sees all datagrams, repeats, changes and redirects them, and has no key.

use super::super::half_open::HALF_OPEN_NS;
use super::super::session::SEAL_BYTES;
use super::super::window::WINDOW;
use super::world::*;
use crate::counters::Count;

#[test]
fn nothing_that_is_repeated_has_an_effect() {
    let mut world = World::connected(2);
    world.send(1, "a:1", "back");
    world.pass(S);
    let seen = world.seen.clone();
    let routes: Vec<String> = world
        .nodes
        .iter()
        .flat_map(|node| node.guard.peers(0).map(|p| p.route.to_owned()))
        .collect();
    for _ in 0..3 {
        for one in &seen {
            world.inject("6.6.6.6:6", &one.to, &one.bytes);
        }
        world.pass(S);
    }
    assert_eq!(world.nodes[1].texts(), ["hello"]);
    assert_eq!(world.nodes[0].texts(), ["back"]);
    let replayed: u64 = world.nodes.iter().map(|node| node.count(Count::Replayed)).sum();
    assert!(replayed >= 6, "{replayed}");
    assert_eq!(world.nodes[1].count(Count::Handshakes), 1);
    let after: Vec<String> = world
        .nodes
        .iter()
        .flat_map(|node| node.guard.peers(0).map(|p| p.route.to_owned()))
        .collect();
    assert_eq!(after, routes, "no route has moved");
    // The session goes on.
    world.send(0, "b:1", "more");
    world.pass(S);
    assert_eq!(world.nodes[1].texts(), ["hello", "more"]);
}

#[test]
fn a_handshake_that_is_repeated_later_comes_to_nothing() {
    let mut world = World::connected(2);
    let handshake: Vec<Passing> = world.seen[..3].to_vec();
    world.pass(HALF_OPEN_NS * 2);
    for one in &handshake {
        world.inject(&one.from, &one.to, &one.bytes);
        world.pass(100 * MS);
    }
    // The first message is answered, shorter than it is; no initiator goes on.
    assert_eq!(world.nodes[1].guard.half_open(), 1);
    world.pass(HALF_OPEN_NS);
    assert_eq!(world.nodes[1].guard.half_open(), 0);
    assert!(world.nodes.iter().all(|node| node.count(Count::Handshakes) == 1));
    world.send(0, "b:1", "more");
    world.pass(S);
    assert_eq!(world.nodes[1].texts(), ["hello", "more"]);
}

#[test]
fn a_changed_message_is_dropped_and_the_right_one_counts() {
    for (kind, form) in [(1, 0), (2, 0), (4, 1), (4, 0)] {
        for place in [4, 8, 12, 16, 17, 40, 70, usize::MAX] {
            let mut world = World::new(7, 2);
            let mut is_done = false;
            // The attacker's copy arrives before the right one.
            world.meddle = Some(Box::new(move |one| {
                let is_it = one.bytes[..2] == [kind, form] && !is_done;
                is_done |= is_it;
                is_it.then(|| vec![200 * MS])
            }));
            world.send(0, "b:1", "hello");
            let mut forged = false;
            while world.now_ns < 2 * S {
                world.pass(5 * MS);
                let found = world.seen.iter().find(|one| one.bytes[..2] == [kind, form]).cloned();
                if let Some(Passing { from, to, mut bytes }) = found.filter(|_| !forged) {
                    forged = true;
                    let place = place.min(bytes.len() - 1);
                    bytes[place] ^= 0x10;
                    world.inject(&from, &to, &bytes);
                }
            }
            assert!(forged);
            let name = format!("{kind} {form} {place}");
            assert_eq!(world.nodes[1].texts(), ["hello"], "{name}");
            let drops: u64 = world.nodes.iter().map(|node| node.counters.drops()).sum();
            assert!(drops > 0, "{name}");
            assert!(world.nodes.iter().all(|node| node.count(Count::Handshakes) == 1), "{name}");
        }
    }
}

#[test]
fn a_cookie_that_was_not_given_is_refused() {
    let mut world = World::new(1, 2);
    world.meddle = Some(Box::new(|one| (one.bytes[0] == 2).then(Vec::new)));
    world.send(0, "b:1", "hello");
    world.pass(50 * MS);
    let first = world.seen_of(1, 0);
    let before = world.seen.len();
    for number in 0..100u8 {
        let mut cookie = vec![number; 64];
        cookie[..4].copy_from_slice(&[3, 0, 0, 0]);
        cookie[4..8].copy_from_slice(&first.bytes[4..8]);
        world.inject("b:1", "a:1", &cookie);
    }
    world.pass(50 * MS);
    assert_eq!(world.nodes[0].count(Count::BadCookie), 100);
    assert_eq!(world.seen.len(), before, "nothing was sent because of them");
}

#[test]
fn a_handshake_that_is_led_to_another_node_comes_to_nothing() {
    // All datagrams from a to b arrive at c, and vice versa.
    let mut world = World::new(1, 3);
    world.nodes[1].route = "c:1".into();
    world.nodes[2].route = "b:1".into();
    world.send(0, "b:1", "for b");
    world.pass(12 * S);
    assert!(world.nodes.iter().all(|node| node.got.is_empty()));
    assert!(world.nodes[2].count(Count::WrongName) > 0);
    assert_eq!(world.nodes[0].count(Count::NoSession), 1);
    // The same for datagrams that are reflected to their sender.
    let first = world.seen_of(1, 0);
    world.inject("b:1", "a:1", &first.bytes);
    world.pass(S);
    assert_eq!(world.nodes[0].count(Count::WrongName), 1);
}

#[test]
fn counters_may_come_in_any_order_once() {
    let mut world = World::connected(3);
    let from = world.seen.len();
    for number in 0..WINDOW + 10 {
        world.send(0, "b:1", &format!("{number}"));
    }
    world.meddle = Some(Box::new(|_| Some(Vec::new())));
    world.pass(MS);
    let mut sealed: Vec<Passing> = world.seen[from..].to_vec();
    assert_eq!(sealed.len() as u64, WINDOW + 10);
    sealed.reverse();
    for one in sealed.iter().chain(&sealed) {
        world.inject("a:1", "b:1", &one.bytes);
    }
    world.pass(MS);
    // The newest came first: the oldest are beyond the replay window.
    assert_eq!(world.nodes[1].got.len() as u64, 1 + WINDOW);
    assert_eq!(world.nodes[1].count(Count::Replayed), WINDOW + 10 + 10);
}

#[test]
fn the_route_follows_the_latest_datagram_and_the_name_does_not() {
    let mut world = World::connected(2);
    world.nodes[0].route = "7.7.7.7:7".into();
    world.send(0, "b:1", "moved");
    world.pass(S);
    assert_eq!(world.nodes[1].got.last().map(|(from, _)| from.as_str()), Some("a:1"));
    assert_eq!(world.nodes[1].count(Count::RouteMoved), 1);
    world.send(1, "a:1", "there");
    world.pass(S);
    assert_eq!(world.nodes[0].texts(), ["there"]);
    // A datagram of before the move, kept by an attacker, does not move it back.
    let old = world.seen.iter().find(|one| one.bytes[..2] == [4, 0] && one.from == "a:1");
    let old = old.expect("seen").clone();
    world.inject("6.6.6.6:6", "b:1", &old.bytes);
    world.pass(S);
    assert_eq!(world.nodes[1].count(Count::RouteMoved), 1);
}

#[test]
fn contents_are_not_to_be_read_on_the_way() {
    let mut world = World::new(1, 2);
    let secret = "a secret of twenty-eight bytes";
    world.send(0, "b:1", secret);
    world.pass(S);
    world.send(0, "b:1", secret);
    world.pass(S);
    assert_eq!(world.nodes[1].texts(), [secret, secret]);
    let holds = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|one| one == part);
    for one in &world.seen {
        assert!(!holds(&one.bytes, b"twenty"));
        // An eavesdropper sees neither names nor identities.
        assert!(!holds(&one.bytes, b"a:1") && !holds(&one.bytes, b"b:1"));
        assert!(!holds(&one.bytes, &identity(0).public().0[..8]));
    }
    let sealed: Vec<&Passing> =
        world.seen.iter().filter(|one| one.bytes.len() == secret.len() + SEAL_BYTES).collect();
    assert_eq!(sealed.len(), 2);
    assert_ne!(sealed[0].bytes[16..], sealed[1].bytes[16..], "the same is not sealed the same");
}
