//! Contents arrive once and in order, as long as connections last.

use super::super::{MADE_IDLE_NS, TAKEN_IDLE_NS};
use super::net::{End, MS, Net, S, config, identity, known};
use crate::counters::Count;
use crate::seal::{Config, REKEY_NS};

fn numbers(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("text {number}")).collect()
}

fn total(net: &Net, count: Count) -> u64 {
    net.nodes.iter().map(|node| node.count(count)).sum()
}

#[test]
fn contents_go_both_ways_over_one_connection_in_order() {
    let mut net = Net::sealed(2);
    let texts = numbers(500);
    for text in &texts {
        net.send(0, "b:1", text.as_bytes());
    }
    net.run(S);
    for text in &texts {
        net.send(1, "a:1", text.as_bytes());
    }
    net.run(S);
    assert_eq!((net.nodes[0].texts(), net.nodes[1].texts()), (texts.clone(), texts));
    assert!(net.nodes[1].got.iter().all(|(from, _)| from == "a:1"));
    assert_eq!((total(&net, Count::Connected), total(&net, Count::Handshakes)), (1, 2));
    assert_eq!((net.nodes[0].open(), net.nodes[1].open()), (1, 1));
    let drops: Vec<u64> = net.nodes.iter().map(|node| node.counters.drops()).collect();
    assert_eq!(drops, [0, 0]);
    assert!(net.nodes.iter().all(|node| node.connections.has_written_all()));
}

#[test]
fn nothing_of_a_content_can_be_seen_on_the_way() {
    let mut net = Net::sealed(2);
    (0..20).for_each(|_| net.send(0, "b:1", b"a secret that is easily found"));
    net.run(S);
    assert_eq!(net.nodes[1].got.len(), 20);
    let holds = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|one| one == part);
    for passing in &net.seen {
        assert!(!holds(&passing.bytes, b"secret") && !holds(&passing.bytes, b"a:1"));
    }
}

#[test]
fn both_sides_may_begin_at_once() {
    let mut net = Net::sealed(2);
    let texts = numbers(50);
    for text in &texts {
        net.send(0, "b:1", text.as_bytes());
        net.send(1, "a:1", text.as_bytes());
    }
    net.run(2 * S);
    assert_eq!((net.nodes[0].texts(), net.nodes[1].texts()), (texts.clone(), texts));
    net.run(20 * S);
    assert_eq!((net.nodes[0].open(), net.nodes[1].open()), (1, 1), "one was enough");
}

#[test]
fn contents_may_be_long() {
    let mut net = Net::sealed(2);
    for length in [0, 1, 1199, 65_536, 1 << 20, 7 << 20] {
        net.send(0, "b:1", &vec![7; length]);
        net.run(5 * S);
        let (_, got) = net.nodes[1].got.last().expect("it came");
        assert_eq!(got, &vec![7; length]);
    }
    assert_eq!(net.nodes[1].got.len(), 6);
}

#[test]
fn a_content_that_was_written_in_part_goes_again_and_comes_once() {
    for has_key in [true, false] {
        for room in 0..60 {
            let mut net = if has_key { Net::sealed(2) } else { Net::open(2) };
            net.piece_bytes = 7;
            net.send(0, "b:1", b"first");
            net.run(S);
            net.make_room(0, room);
            net.send(0, "b:1", b"a content in pieces");
            net.send(0, "b:1", b"and another one");
            net.run(S);
            net.cut(End { pipe: 0, side: room % 2 });
            net.run(100 * MS);
            net.make_room(0, usize::MAX);
            net.run(S);
            net.send(0, "b:1", b"last");
            net.run(S);
            let texts = ["first", "a content in pieces", "and another one", "last"];
            assert_eq!(net.nodes[1].texts(), texts, "{has_key} {room}");
        }
    }
}

#[test]
fn keys_are_replaced_on_the_connection() {
    let mut net = Net::sealed(2);
    let texts = numbers(100);
    for text in &texts {
        net.send(0, "b:1", text.as_bytes());
        net.send(1, "a:1", text.as_bytes());
        net.run(REKEY_NS / 20);
    }
    assert_eq!((net.nodes[0].texts(), net.nodes[1].texts()), (texts.clone(), texts));
    assert!(net.nodes[0].count(Count::Handshakes) >= 4, "{:?}", net.nodes[0].counters);
    assert_eq!(net.nodes[0].open(), 1);
    assert_eq!(total(&net, Count::Connected), 2, "both began at once, and none broke");
    assert_eq!(total(&net, Count::ConnectionBroken), 0);
}

#[test]
fn a_connection_outlives_its_session() {
    let mut net = Net::sealed(2);
    net.send(0, "b:1", b"one");
    net.run(600 * S);
    net.send(1, "a:1", b"two");
    net.send(0, "b:1", b"three");
    net.run(5 * S);
    assert_eq!(net.nodes[1].texts(), ["one", "three"]);
    assert_eq!(net.nodes[0].texts(), ["two"]);
    assert_eq!(total(&net, Count::Connected), 1);
}

#[test]
fn a_peer_that_comes_back_gets_what_has_waited() {
    let mut net = Net::sealed(2);
    net.send(0, "b:1", b"before");
    net.run(S);
    net.crash(1);
    net.run(S);
    numbers(100).iter().for_each(|text| net.send(0, "b:1", text.as_bytes()));
    net.run(8 * S);
    net.restart(1, config("b:1", 1), 9);
    net.run(12 * S);
    assert_eq!(net.nodes[1].texts(), numbers(100));
    // And with another identity, which gets the name when the old one is silent.
    net.crash(1);
    net.run(S);
    numbers(50).iter().for_each(|text| net.send(0, "b:1", text.as_bytes()));
    net.restart(1, config("b:1", 5), 10);
    net.run(20 * S);
    assert_eq!(net.nodes[1].texts(), numbers(50));
    assert!(net.nodes[0].count(Count::NameTaken) > 0);
}

#[test]
fn what_waits_for_a_node_that_is_not_there_is_dropped_after_a_while() {
    let mut net = Net::sealed(1);
    net.send(0, "b:1", b"text");
    net.run(29 * S);
    assert_eq!(net.nodes[0].count(Count::NoSession), 0);
    net.run(10 * S);
    assert_eq!(net.nodes[0].count(Count::NoSession), 1);
    assert!(net.nodes[0].connections.has_written_all());
    // 8 MiB wait, more does not.
    (0..20).for_each(|_| net.send(0, "b:1", &vec![0; 1 << 20]));
    assert_eq!(net.nodes[0].count(Count::QueueFull), 13);
}

#[test]
fn who_is_taken_off_the_list_loses_its_connection() {
    let mut net = Net::sealed(2);
    net.send(0, "b:1", b"one");
    net.run(S);
    let keys = super::net::keys("0123abcd");
    net.with(0, |all, cx| all.replace_keys(keys, Some(known(&[("c:1", 2)])), cx));
    net.run(S);
    assert_eq!((net.nodes[0].open(), net.nodes[1].open()), (0, 0));
    net.send(0, "b:1", b"two");
    net.send(1, "a:1", b"three");
    net.run(S);
    assert_eq!((net.nodes[1].texts(), net.nodes[0].got.len()), (vec!["one".to_owned()], 0));
    assert!(net.nodes[0].count(Count::WrongIdentity) >= 2);
}

#[test]
fn a_name_belongs_to_one_identity_while_it_shows_that_it_lives() {
    let mut net = Net::sealed(2);
    net.send(1, "a:1", b"mine");
    net.run(S);
    // Another member, under the same name, beside the one that has it.
    net.add(Config { identity: identity(7), ..config("b:1", 1) });
    net.send(2, "a:1", b"not yours");
    net.run(4 * S);
    net.send(1, "a:1", b"still mine");
    net.run(30 * S);
    assert_eq!(net.nodes[0].texts(), ["mine", "still mine"]);
    assert!(net.nodes[0].count(Count::NameTaken) > 0);
}

#[test]
fn without_a_key_frames_go_one_way_over_each_connection() {
    let mut net = Net::open(2);
    let texts = numbers(100);
    for text in &texts {
        net.send(0, "b:1", text.as_bytes());
        net.send(1, "a:1", text.as_bytes());
    }
    net.run(S);
    assert_eq!((net.nodes[0].texts(), net.nodes[1].texts()), (texts.clone(), texts));
    assert_eq!((total(&net, Count::Connected), total(&net, Count::Accepted)), (2, 2));
    assert!(net.nodes[1].got.iter().all(|(from, _)| from == "a:1"));
    // Nothing is sent to a node because it connects.
    net.crash(1);
    net.run(100 * MS);
    net.send(0, "b:1", b"lost");
    net.run(60 * S);
    assert_eq!(net.nodes[0].count(Count::PeerLost), 1);
}

#[test]
fn idle_connections_without_a_key_end_and_are_made_again() {
    let mut net = Net::open(2);
    net.send(0, "b:1", b"hello");
    net.run(S);
    // Another host that greets, and one that says nothing at all.
    let (greeted, silent) = (net.call(1), net.call(1));
    net.say(greeted, &[super::super::greeting::greeting("c:1")]);
    net.run(MADE_IDLE_NS - 2 * S);
    net.send(0, "b:1", b"still there");
    net.run(10 * S);
    assert_eq!((net.nodes[0].open(), net.nodes[1].open()), (1, 3));
    net.run(MADE_IDLE_NS);
    assert_eq!((net.nodes[0].open(), net.nodes[1].open()), (0, 2));
    net.say(greeted, &[b"an envelope".to_vec()]);
    net.run(TAKEN_IDLE_NS - 2 * MADE_IDLE_NS);
    assert!(net.is_closed(silent) && !net.is_closed(greeted));
    net.send(0, "b:1", b"again");
    net.run(S);
    assert_eq!(net.nodes[1].texts(), ["hello", "still there", "an envelope", "again"]);
    net.run(TAKEN_IDLE_NS);
    assert!(net.is_closed(greeted));
    assert_eq!((net.nodes[0].open(), net.nodes[1].open()), (0, 0));
    assert_eq!((net.nodes[0].sockets(), net.nodes[1].sockets()), (0, 0));
    let idle = |node: usize| net.nodes[node].count(Count::ConnectionIdle);
    assert_eq!((idle(0), idle(1)), (2, 2));
    assert_eq!(total(&net, Count::ConnectionBroken), 0);
}
