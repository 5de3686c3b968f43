//! Names and identities: members that claim what is not theirs, and changes of keys.

use super::super::guard::Config;
use super::super::keys::{Identity, KnownPeers};
use super::super::session::{OVERLAP_NS, REKEY_NS};
use super::world::*;
use crate::counters::Count;

/// A third node that says it is a:1, with an identity of its own.
fn with_thief(seed: u64) -> World {
    let mut world = World::connected(seed);
    let mut thief = Node::new(config("a:1", 77), 4711);
    thief.route = "6.6.6.6:6".into();
    world.nodes.push(thief);
    world
}

#[test]
fn a_name_is_not_taken_from_who_lives() {
    let mut world = with_thief(1);
    world.send(2, "b:1", "stolen");
    for _ in 0..30 {
        world.pass(S);
    }
    assert_eq!(world.nodes[1].texts(), ["hello"]);
    assert!(world.nodes[1].count(Count::NameTaken) > 0);
    assert!(world.nodes[2].count(Count::NoSession) > 0);
    world.send(1, "a:1", "for a");
    world.pass(S);
    assert_eq!(world.nodes[0].texts(), ["for a"]);
    assert!(world.nodes[2].got.is_empty());
}

#[test]
fn who_starts_again_with_a_fresh_identity_gets_its_name_back() {
    let mut world = World::connected(1);
    world.nodes[0] = Node::new(config("a:1", 50), 51);
    world.send(0, "b:1", "again");
    world.pass(5 * S);
    assert_eq!(world.nodes[1].texts(), ["hello", "again"]);
    assert_eq!(world.nodes[1].count(Count::NameTaken), 1);
    world.send(1, "a:1", "back");
    world.pass(S);
    assert_eq!(world.nodes[0].texts(), ["back"]);
}

#[test]
fn who_is_met_again_under_a_fresh_identity_gets_its_name_back() {
    let mut world = World::connected(1);
    // b starts again and says nothing: a notices that no answer comes.
    world.nodes[1] = Node::new(config("b:1", 50), 51);
    for number in 0..15 {
        world.send(0, "b:1", &format!("{number}"));
        world.pass(S);
    }
    assert_eq!(world.nodes[0].count(Count::NameTaken), 1);
    assert_eq!(world.nodes[1].texts().last().map(String::as_str), Some("14"));
}

#[test]
fn only_those_in_the_list_are_let_in_and_only_as_who_they_are() {
    let list = Some(known(&[("a:1", 0), ("b:1", 1)]));
    let mut world = World::new(1, 3);
    world.nodes[1] = Node::new(Config { known: list, ..config("b:1", 1) }, 5);
    world.send(0, "b:1", "in the list");
    world.send(2, "b:1", "not in the list");
    world.pass(15 * S);
    assert_eq!(world.nodes[1].texts(), ["in the list"]);
    assert!(world.nodes[1].count(Count::WrongIdentity) > 0);
    assert_eq!(world.nodes[1].guard.half_open(), 0);
    world.send(1, "c:1", "never goes");
    world.pass(S);
    assert!(world.nodes[2].got.is_empty());
    // The right name with another identity.
    world.pass(REKEY_NS + OVERLAP_NS);
    world.nodes[0] = Node::new(config("a:1", 9), 10);
    world.send(0, "b:1", "who am I");
    let before = world.nodes[1].count(Count::WrongIdentity);
    world.pass(15 * S);
    assert_eq!(world.nodes[1].texts(), ["in the list"]);
    assert!(world.nodes[1].count(Count::WrongIdentity) > before);
    // And in the other direction: b initiates, and the responder's identity is not the one in the
    // list.
    world.send(1, "a:1", "for the right one");
    world.pass(15 * S);
    assert!(world.nodes[0].got.is_empty());
}

#[test]
fn a_fleet_changes_its_key_without_a_pause() {
    let (old, new) = ("0123abcd", "fedc9876");
    let mut world = World::new(1, 3);
    let mut sent = 0;
    // In each step the nodes get the next keys one by one, talking all the while.
    let steps = [&[old][..], &[old, new], &[new, old], &[new]];
    for step in steps {
        for node in 0..3 {
            world.nodes[node].guard.set_keys(keys(step));
            for _ in 0..5 {
                for from in 0..3usize {
                    let to = world.nodes[(from + 1) % 3].guard_name();
                    world.send(from, &to, &format!("{sent}"));
                    sent += 1;
                }
                world.pass(50 * S);
            }
        }
    }
    world.pass(S);
    let got: usize = world.nodes.iter().map(|node| node.got.len()).sum();
    assert_eq!(got, sent);
    assert!(world.nodes.iter().all(|node| node.count(Count::BadMac) == 0));
    assert!(world.nodes.iter().all(|node| node.count(Count::Handshakes) >= 6));
}

#[test]
fn the_old_key_is_worth_nothing_after_the_change() {
    let mut world = World::new(1, 2);
    world.nodes[1].guard.set_keys(keys(&["fedc9876"]));
    world.send(0, "b:1", "by the old key");
    world.pass(12 * S);
    assert!(world.nodes[1].got.is_empty());
    assert!(world.nodes[1].count(Count::BadMac) > 0);
}

#[test]
fn who_is_taken_out_of_the_list_is_not_heard_any_more() {
    let mut world = World::connected(1);
    let identity = world.nodes[0].guard.identity();
    let list = |text: String| Some(KnownPeers::parse(&text, str::to_owned).expect("a list"));
    let set = |world: &mut World, known| {
        let node = &mut world.nodes[1];
        node.guard.set_known(known, &mut node.counters);
    };
    // In the list, its session goes on.
    set(&mut world, list(format!("a:1 {identity}\n")));
    let handshakes = world.nodes[1].count(Count::Handshakes);
    world.send(0, "b:1", "known");
    world.pass(S);
    assert_eq!(world.nodes[1].texts(), ["hello", "known"]);
    assert_eq!(world.nodes[1].count(Count::Handshakes), handshakes);
    // Under another identity, or without one, it has no session from that moment, and gets none.
    let other = Identity::new([99; 32]).public();
    for known in [format!("a:1 {other}\n"), format!("c:1 {identity}\n")] {
        set(&mut world, list(known));
        world.send(0, "b:1", "refused");
        world.send(1, "a:1", "to nobody");
        world.pass(20 * S);
        assert_eq!(world.nodes[1].texts(), ["hello", "known"]);
        assert!(world.nodes[0].got.is_empty());
    }
    set(&mut world, None);
    // a notices that no answer arrives, and restarts.
    for number in 0..20 {
        world.send(0, "b:1", &format!("{number}"));
        world.pass(S);
    }
    assert_eq!(world.nodes[1].texts().last().map(String::as_str), Some("19"));
}
