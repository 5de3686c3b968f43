//! Two sides over a channel that loses, doubles, delays and reorders, driven by virtual time.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::head;

const MS: u64 = 1_000_000;

/// A small generator; the same seed gives the same run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % limit
    }

    fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

struct Side {
    reliable: Reliable,
    budget: Budget,
    counters: Counters,
    /// The numbers of the messages delivered.
    delivered: Vec<u32>,
    events: Vec<PeerEvent>,
}

const BUDGET: usize = 4 << 20;

impl Side {
    fn new(life: u8, now_ns: u64) -> Side {
        Side {
            reliable: Reliable::new(77, [life; 32], Limits::default(), now_ns),
            budget: Budget::new(BUDGET),
            counters: Counters::new(),
            delivered: Vec::new(),
            events: Vec::new(),
        }
    }

    fn send(&mut self, number: u32, size: usize, now_ns: u64) {
        self.reliable.send(message(number, size), now_ns).unwrap();
    }

    fn receive(&mut self, bytes: &[u8], now_ns: u64) {
        let Ok(head) = Head::decode(bytes) else { return };
        let mut out = Vec::new();
        let tools = (&mut self.budget, &mut self.counters);
        self.reliable.on_datagram(&head, bytes, now_ns, tools, &mut out);
        for delivery in out {
            match delivery {
                Delivery::This => self.deliver(bytes),
                Delivery::Message(bytes) => self.deliver(&bytes),
            }
        }
        self.events.extend(std::iter::from_fn(|| self.reliable.poll_event()));
    }

    fn deliver(&mut self, bytes: &[u8]) {
        for content in head::contents(bytes) {
            let (number, body) = content.split_first_chunk().expect("a number");
            let number = u32::from_le_bytes(*number);
            assert!(body.iter().all(|&byte| byte == number as u8));
            self.delivered.push(number);
        }
    }
}

/// A message with its number and a body of `size` bytes.
fn message(number: u32, size: usize) -> Vec<u8> {
    let mut content = number.to_le_bytes().to_vec();
    content.resize(4 + size, number as u8);
    let mut bytes = Vec::new();
    head::append_content(&mut bytes, &content);
    bytes
}

struct Channel {
    random: Random,
    loss_percent: u64,
    duplicate_percent: u64,
    delay_ns: (u64, u64),
    cut: bool,
    /// Receiver and datagram, by arrival and order of sending.
    under_way: BTreeMap<(u64, u64), (usize, Vec<u8>)>,
    sent: u64,
}

impl Channel {
    fn new(seed: u64, loss_percent: u64) -> Channel {
        Channel {
            random: Random(seed),
            loss_percent,
            duplicate_percent: loss_percent,
            delay_ns: (10 * MS, 60 * MS),
            cut: false,
            under_way: BTreeMap::new(),
            sent: 0,
        }
    }

    fn send(&mut self, to: usize, bytes: &[u8], now_ns: u64) {
        let copies = 1 + u64::from(self.random.percent(self.duplicate_percent));
        for _ in 0..copies {
            if self.cut || self.random.percent(self.loss_percent) {
                continue;
            }
            self.sent += 1;
            let (from, to_ns) = self.delay_ns;
            let arrival = now_ns + from + self.random.below(to_ns - from);
            self.under_way.insert((arrival, self.sent), (to, bytes.to_vec()));
        }
    }
}

struct World {
    sides: [Side; 2],
    channel: Channel,
    now_ns: u64,
}

impl World {
    fn new(seed: u64, loss_percent: u64) -> World {
        let channel = Channel::new(seed, loss_percent);
        World { sides: [Side::new(1, 0), Side::new(2, 0)], channel, now_ns: 0 }
    }

    /// Runs until virtual time `end_ns`, or until nothing is left to do.
    fn run(&mut self, end_ns: u64) {
        loop {
            self.transmit();
            let arrival = self.channel.under_way.keys().next().map(|&(at, _)| at);
            let timeouts = self.sides.iter().filter_map(|side| side.reliable.next_timeout());
            let Some(next_ns) = timeouts.chain(arrival).min().filter(|&at| at <= end_ns) else {
                return;
            };
            self.now_ns = self.now_ns.max(next_ns);
            for side in &mut self.sides {
                side.reliable.on_time(self.now_ns, &mut side.budget, &mut side.counters);
                side.events.extend(std::iter::from_fn(|| side.reliable.poll_event()));
            }
            while let Some(entry) = self.channel.under_way.first_entry() {
                if entry.key().0 > self.now_ns {
                    break;
                }
                let (to, bytes) = entry.remove();
                self.sides[to].receive(&bytes, self.now_ns);
            }
        }
    }

    fn transmit(&mut self) {
        for (i, side) in self.sides.iter_mut().enumerate() {
            while let Some(bytes) = side.reliable.poll_transmit(self.now_ns, &mut side.counters) {
                assert!(bytes.len() <= Limits::default().datagram_bytes, "{}", bytes.len());
                self.channel.send(1 - i, &bytes, self.now_ns);
            }
        }
    }
}

#[test]
fn everything_comes_once_and_in_order() {
    for seed in 0..30 {
        for loss_percent in [0, 1, 10, 25] {
            let mut world = World::new(seed, loss_percent);
            let mut sizes = Random(seed);
            for number in 1..=200 {
                for side in &mut world.sides {
                    let size = match sizes.below(20) {
                        0 => sizes.below(20_000),
                        _ => sizes.below(1000),
                    };
                    side.send(number, size as usize, world.now_ns);
                }
                world.run(world.now_ns + 2 * MS);
                world.now_ns += 2 * MS;
            }
            world.run(u64::MAX);
            for side in &world.sides {
                assert_eq!(side.delivered, (1..=200).collect::<Vec<_>>(), "{seed} {loss_percent}");
                assert_eq!(side.events, []);
                assert_eq!(side.budget.left(), BUDGET);
                assert!(side.reliable.is_idle());
                assert_eq!(side.counters.get(Count::BadAck), 0);
            }
        }
    }
}

#[test]
fn a_clean_channel_sees_no_retransmission() {
    let mut world = World::new(1, 0);
    world.channel.delay_ns = (20 * MS, 20 * MS + 1);
    for number in 1..=2000 {
        world.sides[0].send(number, 1000, 0);
    }
    world.run(u64::MAX);
    assert_eq!(world.sides[1].delivered.len(), 2000);
    assert_eq!(world.sides[0].counters.get(Count::Retransmitted), 0);
    // Slow start to the full window: 2000 datagrams in a few round trips of 40 ms.
    assert!(world.now_ns < 1_000 * MS, "{}", world.now_ns);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = || {
        let mut world = World::new(9, 20);
        (1..300).for_each(|number| world.sides[0].send(number, 500, 0));
        world.run(u64::MAX);
        (world.now_ns, world.channel.sent)
    };
    assert_eq!(run(), run());
}

#[test]
fn a_restarted_peer_gets_only_what_is_sent_to_its_new_life() {
    for seed in 0..50 {
        let mut world = World::new(seed, 10);
        (1..=100).for_each(|number| world.sides[0].send(number, 800, 0));
        (1..=100).for_each(|number| world.sides[1].send(number, 800, 0));
        world.run(150 * MS);
        let before = world.sides[1].delivered.clone();
        assert_eq!(before, (1..=before.len() as u32).collect::<Vec<_>>());
        world.sides[1] = Side::new(100, world.now_ns);
        world.sides[1].send(500, 10, world.now_ns);
        world.run(world.now_ns + 5_000 * MS);
        assert_eq!(world.sides[0].events, [PeerEvent::Restarted], "{seed}");
        world.sides[0].send(900, 10, world.now_ns);
        world.run(u64::MAX);
        assert_eq!(world.sides[0].delivered.last(), Some(&500));
        assert_eq!(world.sides[1].delivered, [900], "{seed}");
        assert_eq!(world.sides[1].events, []);
    }
}

#[test]
fn a_silent_peer_is_lost_and_meets_again() {
    let mut world = World::new(3, 0);
    for side in &mut world.sides {
        side.reliable.hold_lease(0);
    }
    world.run(100_000 * MS);
    assert!(world.sides.iter().all(|side| side.events.is_empty()));
    // Both spoke about every two seconds.
    assert!((90..120).contains(&world.channel.sent), "{}", world.channel.sent);
    world.channel.cut = true;
    world.sides[0].send(1, 10, world.now_ns);
    world.run(140_000 * MS);
    assert!(world.sides.iter().all(|side| side.events == [PeerEvent::Lost]));
    assert_eq!(world.sides[0].counters.get(Count::PeerLost), 1);
    world.channel.cut = false;
    world.sides[0].send(2, 10, world.now_ns);
    world.run(200_000 * MS);
    assert_eq!(world.sides[1].delivered, [2]);
}

#[test]
fn one_way_silence_is_signalled_to_the_other_side() {
    let mut world = World::new(3, 0);
    for side in &mut world.sides {
        side.reliable.hold_lease(0);
    }
    world.run(15_000 * MS);
    // Side 0 receives nothing for a while; side 1 does not notice until its datagrams arrive again.
    let hears = |world: &mut World, end_ns: u64| {
        while world.now_ns < end_ns {
            world.channel.under_way.retain(|_, (to, _)| *to != 0);
            world.run(world.now_ns + MS);
            world.now_ns += MS;
        }
    };
    hears(&mut world, 50_000 * MS);
    assert_eq!(world.sides[0].events, [PeerEvent::Lost]);
    world.run(80_000 * MS);
    assert_eq!(world.sides[1].events, [PeerEvent::Restarted]);
}

#[test]
fn a_dead_address_is_given_up() {
    let mut world = World::new(1, 100);
    world.sides[0].send(1, 10, 0);
    world.run(u64::MAX);
    assert_eq!(world.sides[0].events, [PeerEvent::Lost]);
    assert!(world.now_ns >= LEASE_NS && world.now_ns < LEASE_NS + 1_000 * MS);
    assert_eq!(world.sides[0].reliable.next_timeout(), None);
    // Silence while nothing waits does not count.
    world.channel.loss_percent = 0;
    world.channel.duplicate_percent = 0;
    world.now_ns += 100_000 * MS;
    world.sides[0].send(2, 10, world.now_ns);
    world.run(u64::MAX);
    assert_eq!(world.sides[1].delivered, [2]);
    assert_eq!(world.sides[0].events.len(), 1);
}

#[test]
fn queues_have_limits() {
    let limits = Limits { queue_bytes: 5000, ..Limits::default() };
    let mut reliable = Reliable::new(1, [1; 32], limits, 0);
    let large = vec![0; MESSAGE_BYTES_MAX + 1];
    assert_eq!(reliable.send(large, 0), Err(SendError::TooLarge));
    (0..4).for_each(|number| reliable.send(message(number, 1000), 0).unwrap());
    assert_eq!(reliable.send(message(4, 1000), 0), Err(SendError::QueueFull));
}

#[test]
fn memory_for_what_is_out_of_order_is_bounded() {
    let mut sender = Side::new(1, 0);
    let mut receiver = Side::new(2, 0);
    receiver.budget = Budget::new(5_000);
    sender.send(1, 100_000, 0);
    (2..50).for_each(|number| sender.send(number, 1000, 0));
    // The first message does not fit into the budget; what follows is held as far as it fits.
    for round in 0..20 {
        let now_ns = round * 10_000 * MS;
        sender.reliable.on_time(now_ns, &mut sender.budget, &mut sender.counters);
        while let Some(bytes) = sender.reliable.poll_transmit(now_ns, &mut sender.counters) {
            receiver.receive(&bytes, now_ns);
        }
        while let Some(bytes) = receiver.reliable.poll_transmit(now_ns, &mut receiver.counters) {
            sender.receive(&bytes, now_ns);
        }
    }
    assert!(receiver.counters.get(Count::FragmentFull) > 0);
    assert!(receiver.counters.get(Count::ReorderFull) > 0);
    assert_eq!(receiver.delivered, []);
    receiver.budget.give(1 << 20);
    let mut world = World::new(1, 0);
    world.now_ns = 191_000 * MS;
    world.sides = [sender, receiver];
    world.run(u64::MAX);
    assert_eq!(world.sides[1].delivered, (1..50).collect::<Vec<_>>());
    assert_eq!(world.sides[1].budget.left(), 5_000 + (1 << 20));
}

/// An attacker that sends datagrams under another's address, and receives none, stops nothing.
#[test]
fn forged_datagrams_do_not_stop_a_conversation() {
    for incarnation in [1, 1 << 63, u64::MAX] {
        for peer in [0, 1, u64::MAX] {
            let mut world = World::new(3, 0);
            (1..=50).for_each(|number| world.sides[0].send(number, 700, 0));
            world.run(60 * MS);
            for cumulative in [0, 1, 10, 49, 1000, u64::MAX] {
                let ack = Ack {
                    incarnation,
                    peer,
                    stream: u64::MAX,
                    acknowledged: 1,
                    cumulative,
                    selective: &[0xff; 32],
                    window: 0,
                };
                for sequence in [0, 1, 30, u64::MAX] {
                    let mut bytes = Vec::new();
                    Head { ack: Some(ack), sequence, ..Head::default() }.append(&mut bytes);
                    (0..2).for_each(|to| world.sides[to].receive(&bytes, world.now_ns));
                }
            }
            (51..=99).for_each(|number| world.sides[0].send(number, 700, world.now_ns));
            world.sides[1].send(1, 10, world.now_ns);
            world.run(u64::MAX);
            assert_eq!(world.sides[1].delivered, (1..=99).collect::<Vec<_>>());
            assert_eq!(world.sides[0].delivered, [1]);
            assert!(world.sides.iter().all(|side| side.events.is_empty()));
        }
    }
}

/// A sender under a forged address gets no more than it has sent.
#[test]
fn a_life_that_is_not_believed_gets_no_long_answer() {
    let mut side = Side::new(2, 0);
    let first = Ack { incarnation: 1, ..Ack::default() };
    for (incarnation, is_answered) in [(2, true), (3, false)] {
        let mut lengths = Vec::new();
        for ack in [first, Ack { incarnation, ..Ack::default() }] {
            let program = if is_answered { 77 } else { 0 };
            let mut bytes = Vec::new();
            Head { program, ack: Some(ack), ..Head::default() }.append(&mut bytes);
            side.receive(&bytes, 0);
            lengths.push(bytes.len());
        }
        let answer = side.reliable.poll_transmit(0, &mut side.counters);
        assert_eq!(answer.as_ref().map(Vec::len), is_answered.then_some(ANSWER_BYTES));
        assert_eq!(is_answered, ANSWER_BYTES <= lengths[1]);
    }
}

/// A forged first datagram is all that is known, until one of the right side comes.
#[test]
fn a_forged_beginning_does_not_last() {
    let mut world = World::new(3, 0);
    let ack = Ack { incarnation: u64::MAX, stream: 9, window: 1, ..Ack::default() };
    let mut bytes = Vec::new();
    Head { ack: Some(ack), sequence: 1, ..Head::default() }.append(&mut bytes);
    world.sides[1].receive(&bytes, 0);
    (1..=50).for_each(|number| world.sides[0].send(number, 700, 0));
    (1..=50).for_each(|number| world.sides[1].send(number, 700, 0));
    world.run(u64::MAX);
    for side in &world.sides {
        assert_eq!(side.delivered, (1..=50).collect::<Vec<_>>());
    }
}

/// A forged acknowledgement by an eavesdropper makes the sender free what did not arrive: the two
/// sides can never agree again, and restart.
#[test]
fn a_link_that_cannot_go_on_begins_anew_and_says_so() {
    let mut world = World::new(3, 0);
    (1..=5).for_each(|number| world.sides[0].send(number, 700, 0));
    world.run(200 * MS);
    assert_eq!(world.sides[1].delivered.len(), 5);
    // Datagrams 6 to 8 are lost, and acknowledged by forgery.
    world.channel.cut = true;
    (6..=8).for_each(|number| world.sides[0].send(number, 700, world.now_ns));
    world.run(210 * MS);
    world.channel.cut = false;
    let (sender, receiver) = (&world.sides[0].reliable, &world.sides[1].reliable);
    let ack = Ack {
        incarnation: receiver.lives.local(),
        peer: sender.lives.local(),
        stream: 1,
        acknowledged: 1,
        cumulative: 8,
        selective: &[],
        window: 256,
    };
    let mut bytes = Vec::new();
    Head { ack: Some(ack), ..Head::default() }.append(&mut bytes);
    world.sides[0].receive(&bytes, world.now_ns);
    for number in 9..30 {
        world.sides[0].send(number, 700, world.now_ns);
        world.run(world.now_ns + 1000 * MS);
        world.now_ns += 1000 * MS;
    }
    assert_eq!(world.sides[0].events, [PeerEvent::Lost]);
    assert_eq!(world.sides[1].events, [PeerEvent::Restarted]);
    assert_eq!(world.sides[0].counters.get(Count::LinkRestarted), 1);
    assert_eq!(world.sides[1].delivered.last(), Some(&29));
}

/// Datagrams as two sides exchanged them, in both directions.
fn recorded() -> Vec<Vec<u8>> {
    let mut world = World::new(5, 20);
    (1..30).for_each(|number| world.sides[0].send(number, 700, 0));
    world.sides[1].send(1, 9000, 0);
    let mut datagrams = Vec::new();
    for step in 0..60 {
        world.run(step * 20 * MS);
        datagrams.extend(world.channel.under_way.values().map(|(_, bytes)| bytes.clone()));
    }
    datagrams
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Changed datagrams, in any order, to either side: no panic, and memory is released.
    #[test]
    fn mutated_datagrams_do_no_harm(
        picks in prop::collection::vec(
            (any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()),
            1..100,
        ),
    ) {
        let datagrams = recorded();
        let mut side = Side::new(2, 0);
        (1..20).for_each(|number| side.send(number, 700, 0));
        for (step, (which, place, byte)) in picks.iter().enumerate() {
            let now_ns = step as u64 * 500 * MS;
            let mut bytes = datagrams[which.index(datagrams.len())].clone();
            let place = place.index(bytes.len());
            bytes[place] = *byte;
            let Ok(head) = Head::decode(&bytes) else { continue };
            let mut out = Vec::new();
            let tools = (&mut side.budget, &mut side.counters);
            side.reliable.on_datagram(&head, &bytes, now_ns, tools, &mut out);
            side.reliable.on_time(now_ns, &mut side.budget, &mut side.counters);
            while side.reliable.poll_transmit(now_ns, &mut side.counters).is_some() {}
            prop_assert!(side.budget.left() <= BUDGET);
        }
        let Side { reliable, mut budget, mut counters, .. } = side;
        reliable.close(&mut budget, &mut counters);
        prop_assert_eq!(budget.left(), BUDGET);
    }

    /// Any acknowledgement, from a peer that lies.
    #[test]
    fn lying_acknowledgements_do_no_harm(
        lies in prop::collection::vec(
            (0u64..4, 0u64..3, 0u64..4, 0u64..40, prop::collection::vec(any::<u8>(), 0..40)),
            1..40,
        ),
    ) {
        let mut side = Side::new(2, 0);
        (1..60).for_each(|number| side.send(number, 700, 0));
        for (step, (incarnation, stream, acknowledged, cumulative, selective)) in
            lies.iter().enumerate()
        {
            let now_ns = step as u64 * 300 * MS;
            while side.reliable.poll_transmit(now_ns, &mut side.counters).is_some() {}
            let ack = Ack {
                incarnation: *incarnation,
                peer: side.reliable.lives.local(),
                stream: *stream,
                acknowledged: *acknowledged,
                cumulative: *cumulative,
                selective,
                window: 9,
            };
            let header = Head { ack: Some(ack), sequence: 3, ..Head::default() };
            let mut bytes = Vec::new();
            header.append(&mut bytes);
            side.receive(&bytes, now_ns);
            side.reliable.on_time(now_ns, &mut side.budget, &mut side.counters);
        }
        side.reliable.close(&mut side.budget, &mut side.counters);
        prop_assert_eq!(side.budget.left(), BUDGET);
    }
}
