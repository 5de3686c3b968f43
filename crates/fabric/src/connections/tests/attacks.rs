//! Attacks on connections by strangers, men in the middle and members with other keys.

use super::super::{UNPROVEN_MAX, UNPROVEN_NS};
use super::net::{End, MS, Net, Passing, Random, S, config, harm, identity, keys, known};
use crate::counters::Count;
use crate::seal::{Config, REKEY_NS};

/// Two nodes that have talked.
fn pair() -> Net {
    let mut net = Net::sealed(2);
    net.send(0, "b:1", b"hello");
    net.run(S);
    assert_eq!(net.nodes[1].texts(), ["hello"]);
    net
}

/// Whether the pair still talks, both ways, over the connection that it had.
fn assert_talks(net: &mut Net) {
    let connected = net.nodes[0].count(Count::Connected) + net.nodes[1].count(Count::Connected);
    net.send(0, "b:1", b"there");
    net.send(1, "a:1", b"back");
    net.run(S);
    assert_eq!(net.nodes[1].texts().last().map(String::as_str), Some("there"));
    assert_eq!(net.nodes[0].texts().last().map(String::as_str), Some("back"));
    let now = net.nodes[0].count(Count::Connected) + net.nodes[1].count(Count::Connected);
    assert_eq!(now, connected);
}

#[test]
fn plain_frames_end_a_connection_and_are_counted() {
    let mut net = pair();
    let greeting = super::super::greeting::greeting("c:1");
    for frame in [greeting, b"\x0a\x03abc".to_vec(), Vec::new(), vec![9; 400]] {
        let before = net.nodes[0].count(Count::Unsealed);
        let pipe = net.call(0);
        net.say(pipe, &[frame.clone(), frame]);
        net.run(100 * MS);
        assert!(net.is_closed(pipe));
        assert_eq!(net.nodes[0].count(Count::Unsealed), before + 1, "the first was enough");
        assert_eq!(net.answers.get(&pipe), None, "there was no answer");
    }
    assert_eq!(net.nodes[0].got, []);
    assert_talks(&mut net);
}

#[test]
fn a_node_without_a_key_hears_no_sealed_frame() {
    let mut net = pair();
    let frames = net.sent(End { pipe: 0, side: 0 });
    let mut open = Net::open(1);
    let pipe = open.call(0);
    open.say(pipe, &frames);
    open.run(S);
    // The state machine passes them on, although they are no envelopes.
    for (_, bytes) in &open.nodes[0].got {
        assert!(crate::head::Head::decode(bytes).is_err());
    }
    assert_talks(&mut net);
}

#[test]
fn a_stranger_holds_no_more_than_an_initiation() {
    let mut net = pair();
    let pipe = net.call(0);
    net.say_bytes(pipe, &513u32.to_le_bytes());
    net.run(100 * MS);
    assert!(net.is_closed(pipe));
    assert_eq!(net.nodes[0].count(Count::FrameTooLong), 1);
    // A connection that stops inside a frame ends after a timeout.
    let pipe = net.call(0);
    net.say_bytes(pipe, &[0, 2, 0, 0, 1, 0, 0, 0]);
    net.run(UNPROVEN_NS - S);
    assert!(!net.is_closed(pipe));
    net.run(2 * S);
    assert!(net.is_closed(pipe));
    assert_eq!(net.nodes[0].count(Count::HandshakeTimeout), 1);
    assert_talks(&mut net);
}

#[test]
fn garbage_changes_nothing() {
    let mut net = pair();
    let mut random = Random(7);
    let genuine: Vec<Vec<u8>> = net.seen.iter().map(|passing| passing.bytes.clone()).collect();
    for _ in 0..3000 {
        let pipe = net.call((random.next() % 2) as usize);
        for _ in 0..random.next() % 4 {
            let mut frame = match random.next() % 3 {
                0 => vec![0; (random.next() % 600) as usize],
                _ => genuine[random.next() as usize % genuine.len()].clone(),
            };
            for _ in 0..random.next() % 4 {
                let length = frame.len().max(1);
                let at = random.next() as usize % length;
                frame.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= random.next() as u8);
            }
            match random.next() % 4 {
                0 => net.say_bytes(pipe, &frame),
                _ => net.say(pipe, &[frame]),
            }
        }
        if random.next().is_multiple_of(50) {
            net.run(random.next() % S);
        }
    }
    net.run(S);
    assert_eq!((net.nodes[0].got.len(), net.nodes[1].got.len()), (0, 1));
    assert_talks(&mut net);
    net.run(30 * S);
    assert_eq!((net.nodes[0].open(), net.nodes[1].open()), (1, 1));
}

#[test]
fn a_recorded_connection_cannot_be_played_again() {
    let mut net = pair();
    (0..50).for_each(|_| net.send(0, "b:1", b"pay 7"));
    net.run(S);
    let frames = net.sent(End { pipe: 0, side: 0 });
    assert!(frames.len() > 50);
    for _ in 0..100 {
        let pipe = net.call(1);
        net.say(pipe, &frames);
        net.run(200 * MS);
        assert!(net.is_closed(pipe));
        let answered = net.answers.get(&pipe).map_or(0, Vec::len);
        assert!(answered <= 4 + 512, "one answer, no longer than the request: {answered}");
    }
    // Also while half of a frame is held back and sent later.
    let pipe = net.call(1);
    net.say(pipe, &frames[..1]);
    net.run(S);
    net.say(pipe, &frames[1..]);
    net.run(S);
    assert_eq!(net.nodes[1].got.len(), 51);
    assert!(net.nodes[1].count(Count::UnknownSession) >= 100);
    assert_talks(&mut net);
}

/// Sends 40 texts through an attacker; what came, which is checked to be a part of them in order.
fn through(meddle: impl FnMut(&Passing) -> Vec<Vec<u8>> + 'static) -> Net {
    let mut net = Net::sealed(2);
    net.meddle = Some(Box::new(meddle));
    for number in 0..40u8 {
        net.send(0, "b:1", &[number; 100]);
        net.run(300 * MS);
    }
    net.run(20 * S);
    let got: Vec<u8> = net.nodes[1].got.iter().map(|(_, bytes)| bytes[0]).collect();
    assert!(net.nodes[1].got.iter().all(|(_, bytes)| *bytes == [bytes[0]; 100]));
    assert!(got.is_sorted_by(|one, next| one < next), "{got:?}");
    net
}

#[test]
fn a_flipped_bit_costs_a_connection_and_no_more() {
    for number in 0..12 {
        for bit in [0, 9, 33, 64, 100, 130, 300, 800] {
            let mut flips = 1;
            let net = through(move |passing| {
                let mut bytes = passing.bytes.clone();
                if passing.number == number && flips > 0 && bit / 8 < bytes.len() {
                    bytes[bit / 8] ^= 1 << (bit % 8);
                    flips -= 1;
                }
                vec![bytes]
            });
            // Texts in flight with it may be lost; all later texts arrive.
            assert!(net.nodes[1].got.len() >= 30, "{number} {bit}: {}", net.nodes[1].got.len());
            let last = net.nodes[1].got.last().map(|(_, bytes)| bytes[0]);
            assert_eq!(last, Some(39), "{number} {bit}");
        }
    }
}

#[test]
fn a_frame_that_is_cut_out_or_comes_twice_ends_the_connection() {
    let mut cuts = 1;
    let net = through(move |passing| {
        let is_cut = passing.from.side == 0 && passing.number == 10 && cuts > 0;
        cuts -= u32::from(is_cut);
        if is_cut { Vec::new() } else { vec![passing.bytes.clone()] }
    });
    assert_eq!(net.nodes[1].count(Count::OutOfOrder), 1);
    assert_eq!(net.nodes[0].count(Count::Connected), 2);
    assert_eq!(net.nodes[1].got.len(), 38, "the frame, and the one that showed it");
    let mut doubles = 1;
    let net = through(move |passing| {
        let is_double = passing.from.side == 0 && passing.number == 10 && doubles > 0;
        doubles -= usize::from(is_double);
        vec![passing.bytes.clone(); 1 + usize::from(is_double)]
    });
    assert_eq!(net.nodes[1].count(Count::Replayed), 1);
    assert_eq!(net.nodes[1].got.len(), 40);
}

/// A pair that makes new keys while contents go from one to the other: an attacker has their
/// frames, and knows which are of the old session.
fn while_rekeyed(mut meddle: impl FnMut(Vec<u8>, bool) -> Vec<Vec<u8>> + 'static) -> Net {
    let mut net = pair();
    net.send(0, "b:1", b"one");
    net.run(REKEY_NS);
    let mut session = None;
    net.meddle = Some(Box::new(move |passing| {
        let is_content = passing.bytes.starts_with(&[4, 0]) && passing.from.side == 0;
        if !is_content {
            return vec![passing.bytes.clone()];
        }
        // After four bytes of kind a frame names its session.
        let named = passing.bytes.get(4..8).map(<[u8]>::to_vec);
        let is_old = *session.get_or_insert(named.clone()) == named;
        meddle(passing.bytes.clone(), is_old)
    }));
    for number in 0..4u8 {
        net.send(0, "b:1", &[number]);
        net.run(S);
    }
    net.run(10 * S);
    net
}

#[test]
fn what_is_cut_out_at_the_end_of_a_session_ends_the_connection() {
    let net = while_rekeyed(|frame, is_old| if is_old { Vec::new() } else { vec![frame] });
    assert_eq!(net.nodes[1].count(Count::OutOfOrder), 1);
    assert_eq!(net.nodes[1].open(), 1, "there is another one");
    assert!(net.nodes[0].count(Count::Connected) > 1);
}

#[test]
fn what_comes_behind_its_session_ends_the_connection() {
    // It comes after two frames of the next one, of which the second is a content.
    let (mut held, mut new) = (Vec::new(), 0);
    let net = while_rekeyed(move |frame, is_old| {
        new += u32::from(!is_old);
        match (is_old, new) {
            (true, _) => {
                held.push(frame);
                Vec::new()
            }
            (false, 2) => std::iter::once(frame).chain(std::mem::take(&mut held)).collect(),
            (false, _) => vec![frame],
        }
    });
    let numbers: Vec<u8> = net.nodes[1].got.iter().map(|(_, bytes)| bytes[0]).collect();
    let (_, numbers) = numbers.split_at(2);
    assert!(numbers.is_sorted(), "{numbers:?}");
    assert!(net.nodes[0].count(Count::Connected) > 1);
}

#[test]
fn frames_that_change_places_end_the_connection() {
    let mut held: Option<Vec<u8>> = None;
    let net = through(move |passing| {
        let mut frames = vec![passing.bytes.clone()];
        if passing.from == (End { pipe: 0, side: 0 }) {
            match passing.number {
                10 => held = frames.pop(),
                11 => frames.extend(held.take()),
                _ => {}
            }
        }
        frames
    });
    assert_eq!(net.nodes[1].count(Count::OutOfOrder), 1);
    assert_eq!(net.nodes[1].got.len(), 38);
}

#[test]
fn a_frame_that_does_not_end_swallows_contents_for_seconds() {
    let mut net = pair();
    // All following bytes seem to be a part of it.
    net.say_to(End { pipe: 0, side: 1 }, &(16u32 << 20).to_le_bytes());
    for number in 0..20u8 {
        net.send(0, "b:1", &[number]);
        net.run(S);
    }
    let numbers: Vec<u8> = net.nodes[1].got.iter().skip(1).map(|(_, bytes)| bytes[0]).collect();
    assert_eq!(numbers.last(), Some(&19));
    assert!(numbers[0] <= 12 && numbers.is_sorted_by(|one, next| one + 1 == *next), "{numbers:?}");
    assert_eq!(net.nodes[0].count(Count::Connected), 2);
    assert_eq!((net.nodes[0].open(), net.nodes[1].open()), (1, 1));
}

#[test]
fn frames_of_one_connection_count_for_nothing_on_another() {
    let mut net = Net::sealed(3);
    for from in [0, 2] {
        net.send(from, "b:1", b"hello");
    }
    net.run(S);
    assert_eq!(net.nodes[1].got.len(), 2);
    // The next frame of a's connection is held back, and goes over c's.
    let stolen = std::rc::Rc::new(std::cell::RefCell::new(None));
    let held = stolen.clone();
    net.meddle = Some(Box::new(move |passing| {
        let data = passing.bytes.first() == Some(&4);
        let ours = passing.from == (End { pipe: 0, side: 0 }) && data;
        match (ours, passing.from.pipe) {
            (true, _) => {
                held.borrow_mut().get_or_insert(passing.bytes.clone());
                Vec::new()
            }
            (false, 1) if passing.from.side == 0 => {
                held.borrow().iter().chain([&passing.bytes]).cloned().collect()
            }
            _ => vec![passing.bytes.clone()],
        }
    }));
    net.send(0, "b:1", b"from a");
    net.run(MS);
    net.send(2, "b:1", b"from c");
    net.run(500 * MS);
    assert!(stolen.borrow().is_some());
    assert_eq!(net.nodes[1].count(Count::UnknownSession), 1);
    assert!(net.nodes[1].got.iter().all(|(from, text)| text == b"hello" || from == "c:1"));
}

#[test]
fn silent_connections_make_room_for_others_and_none_for_known_peers() {
    let mut net = pair();
    let pipes: Vec<usize> = (0..300).map(|_| net.call(1)).collect();
    net.run(S);
    let silent = pipes.iter().filter(|&&pipe| !net.is_closed(pipe)).count();
    assert_eq!((silent, net.nodes[1].open()), (UNPROVEN_MAX, UNPROVEN_MAX + 1));
    assert_eq!(net.nodes[1].count(Count::ConnectionEvicted), 300 - UNPROVEN_MAX as u64);
    assert_talks(&mut net);
    // A member that comes now is let in, too.
    net.add(config("c:1", 2));
    net.send(2, "b:1", b"me too");
    net.run(S);
    assert_eq!(net.nodes[1].texts().last().map(String::as_str), Some("me too"));
    net.run(UNPROVEN_NS);
    assert!(pipes.iter().all(|&pipe| net.is_closed(pipe)));
    assert_eq!(net.nodes[1].open(), 2);
    assert_talks(&mut net);
}

#[test]
fn a_flood_of_connections_keeps_no_member_out() {
    let mut net = Net::sealed(2);
    // Far more of them while a handshake is under way than there is room for.
    for round in 0..100 {
        if round == 10 {
            net.send(0, "b:1", b"hello");
        }
        (0..200).for_each(|_| _ = net.call(1));
        net.run(5 * MS);
    }
    assert_eq!(net.nodes[1].texts(), ["hello"]);
    assert_eq!(net.nodes[0].count(Count::Connected), 1);
    net.run(S);
    assert_eq!(net.nodes[1].open(), UNPROVEN_MAX + 1);
    assert_talks(&mut net);
}

#[test]
fn recorded_first_messages_make_one_handshake_and_keep_no_member_out() {
    let mut net = pair();
    let first = net.sent(End { pipe: 0, side: 0 })[..1].to_vec();
    for _ in 0..2000 {
        let pipe = net.call(1);
        net.say(pipe, &first);
    }
    net.run(100 * MS);
    // Repeats of a message are one handshake.
    assert!(net.nodes[1].connections.guard().is_some_and(|guard| guard.half_open() <= 1));
    assert_talks(&mut net);
    net.add(config("c:1", 2));
    net.send(2, "b:1", b"me too");
    net.run(3 * S);
    assert_eq!(net.nodes[1].texts().last().map(String::as_str), Some("me too"));
}

#[test]
fn another_key_is_refused() {
    let mut net = pair();
    net.add(Config { keys: keys("3210abcd"), ..config("c:1", 2) });
    net.send(2, "a:1", b"let me in");
    net.send(0, "c:1", b"let me in");
    net.run(60 * S);
    assert_eq!((net.nodes[0].got.len(), net.nodes[2].got.len()), (0, 0));
    for node in [0, 2] {
        assert!(net.nodes[node].count(Count::BadMac) > 2);
        assert!(net.nodes[node].count(Count::BadMac) < 40, "it waits longer each time");
        assert_eq!(net.nodes[node].count(Count::NoSession), 1);
    }
    assert_talks(&mut net);
}

#[test]
fn with_a_list_only_those_are_heard_that_are_in_it() {
    let list = known(&[("a:1", 0), ("b:1", 1)]);
    let mut net = Net::of([
        Config { known: Some(list.clone()), ..config("a:1", 0) },
        Config { known: Some(list.clone()), ..config("b:1", 1) },
        config("c:1", 2),
    ]);
    net.send(0, "b:1", b"hello");
    net.send(2, "a:1", b"let me in");
    net.run(2 * S);
    // And one that claims to be b, with another identity.
    net.add(Config { identity: identity(9), ..config("b:1", 9) });
    net.send(3, "a:1", b"I am b");
    net.run(2 * S);
    assert_eq!((net.nodes[0].got.len(), net.nodes[1].got.len()), (0, 1));
    assert!(net.nodes[0].count(Count::WrongIdentity) >= 2);
    assert_talks(&mut net);
}

#[test]
fn a_peer_that_is_answered_and_does_not_read_loses_its_connection() {
    // Initiations on a connection that is proven are answered, and answers have a limit.
    let mut net = pair();
    let initiation = net.sent(End { pipe: 0, side: 0 })[0].clone();
    let mut repeats = 300;
    net.meddle = Some(Box::new(move |passing| {
        let count = if passing.from.side == 0 { std::mem::take(&mut repeats) } else { 0 };
        let initiations = std::iter::repeat_n(initiation.clone(), count);
        initiations.chain([passing.bytes.clone()]).collect()
    }));
    net.make_room(1, 0);
    net.send(0, "b:1", b"there");
    net.run(100 * MS);
    assert_eq!(net.nodes[1].count(Count::QueueFull), 1);
    assert_eq!(net.nodes[1].open(), 0);
    // A stranger that repeats what it has recorded is answered less often.
    let first = net.sent(End { pipe: 0, side: 0 })[0].clone();
    let pipe = net.call(1);
    net.say(pipe, &vec![first; 20]);
    net.run(100 * MS);
    assert_eq!(net.nodes[1].count(Count::QueueFull), 2);
    assert!(net.is_closed(pipe));
}

/// An attacker who has the network to itself: of frames it flips, cuts, repeats and replays some.
fn chaos(seed: u64, harm_percent: u64) -> impl FnMut(&Passing) -> Vec<Vec<u8>> {
    let (mut random, mut seen) = (Random(seed), Vec::<Vec<u8>>::new());
    move |passing| {
        let mut frames = vec![passing.bytes.clone()];
        if random.next() % 100 < harm_percent {
            let old = seen.get(random.next() as usize % seen.len().max(1)).cloned();
            frames = harm(&passing.bytes, old, random.next(), random.next() as usize);
        }
        seen.push(passing.bytes.clone());
        frames
    }
}

#[test]
fn under_any_attack_contents_come_once_and_in_order_or_not_at_all() {
    for seed in 0..100 {
        let mut random = Random(seed);
        let mut net = Net::sealed(2);
        net.meddle = Some(Box::new(chaos(seed, 2 + seed % 20)));
        let mut earlier = [Vec::new(), Vec::new()];
        for number in 0..60u32 {
            for (from, to) in [(0, "b:1"), (1, "a:1")] {
                let mut content = number.to_le_bytes().to_vec();
                content.resize(4 + random.next() as usize % 9000, from as u8);
                net.send(from, to, &content);
            }
            net.run(random.next() % S);
            if random.next().is_multiple_of(40) {
                let index = (random.next() % 2) as usize;
                net.crash(index);
                net.run(random.next() % (2 * S));
                earlier[index].append(&mut net.nodes[index].got);
                let name = ["a:1", "b:1"][index];
                net.restart(index, config(name, index as u8), seed ^ u64::from(number) << 32);
            }
        }
        net.meddle = None;
        net.run(60 * S);
        // The first may show that the one before it was cut out, and go with its connection.
        for last in [u32::MAX - 1, u32::MAX] {
            for (from, to) in [(0, "b:1"), (1, "a:1")] {
                net.send(from, to, &last.to_le_bytes());
            }
            net.run(20 * S);
        }
        for (index, earlier) in earlier.iter_mut().enumerate() {
            earlier.append(&mut net.nodes[index].got);
            let number = |bytes: &[u8]| u32::from_le_bytes(bytes[..4].try_into().expect("four"));
            let numbers: Vec<u32> = earlier.iter().map(|(_, bytes)| number(bytes)).collect();
            assert!(numbers.is_sorted_by(|one, next| one < next), "{seed}: {numbers:?}");
            assert_eq!(numbers.last(), Some(&u32::MAX), "{seed}: the last was sent in peace");
            for (from, bytes) in earlier {
                assert_eq!(from, ["b:1", "a:1"][index]);
                let sender = 1 - index as u8;
                assert!(bytes[4..].iter().all(|&byte| byte == sender), "{seed}");
            }
        }
    }
}
