use std::io;
use std::time::Duration;

use super::*;
use crate::host::{Host, Transport, Wait};
use crate::source::{Endpoint, Interest};
use crate::{Handlers, Loop, Outcome};

/// Two nodes that answer each other; what arrived when.
#[derive(Default)]
struct World {
    ports: Vec<Endpoint>,
    trace: Vec<(u64, usize, Vec<u8>)>,
}

fn run(seed: u64, change: impl Fn(&mut Sim)) -> (Vec<(u64, usize, Vec<u8>)>, NetStats) {
    let mut lp: Loop<World> = Loop::new(Box::new(Sim::new(seed)));
    let mut world = World::default();
    let sim = lp.host().sim().unwrap();
    sim.conditions().latency = Duration::from_millis(10)..=Duration::from_millis(50);
    change(sim);
    for node in 0..2 {
        let port = lp.host().bind(&format!("n{node}:1")).unwrap();
        world.ports.push(port);
        let read = move |world: &mut World, lp: &mut Loop<World>, _| {
            let mut buf = [0; 64];
            while let Ok(Some((length, from))) = lp.host().recv(port, &mut buf) {
                let bytes = buf[..length].to_vec();
                if bytes[0] < 20 {
                    lp.host().send_to(port, from, &[bytes[0] + 1]).unwrap();
                }
                world.trace.push((lp.now().0, node, bytes));
            }
        };
        lp.watch(port, Interest::Read, Handlers::new().read(read)).unwrap();
    }
    for number in 0..5 {
        lp.host().send(world.ports[0], "n1:1", &[number]).unwrap();
    }
    assert!(matches!(lp.run(&mut world), Outcome::Idle));
    let drops = *lp.host().sim().unwrap().net_stats();
    (world.trace, drops)
}

#[test]
fn one_seed_gives_one_run() {
    let faults = |sim: &mut Sim| {
        sim.conditions().loss = 0.1;
        sim.conditions().duplicate = 0.1;
        sim.conditions().reorder = 0.2;
    };
    assert_eq!(run(7, faults), run(7, faults));
    assert_ne!(run(7, faults).0, run(8, faults).0);
}

#[test]
fn another_seed_replaces_all_streams_of_the_first() {
    let faults = |sim: &mut Sim| sim.conditions().loss = 0.1;
    let reseeded = |sim: &mut Sim| {
        faults(sim);
        sim.reseed(8);
    };
    assert_eq!(run(7, reseeded), run(8, faults));
    let (mut one, mut other) = (Sim::new(7), Sim::new(8));
    one.reseed(8);
    assert!((0..10).all(|_| one.random() == other.random()));
    let (mut bytes, mut others) = ([0; 9], [0; 9]);
    one.fill_entropy(&mut bytes).unwrap();
    other.fill_entropy(&mut others).unwrap();
    assert_eq!(bytes, others);
}

#[test]
fn a_faultless_network_keeps_order_and_loses_nothing() {
    let (trace, drops) = run(1, |_| {});
    assert_eq!(drops.sent, drops.received);
    // Five exchanges of 0..=20, 1..=20, ... each answered until 20.
    assert_eq!(trace.len(), 21 + 20 + 19 + 18 + 17);
    let first: Vec<u8> = trace.iter().filter(|t| t.1 == 1).map(|t| t.2[0]).take(5).collect();
    assert_eq!(first, [0, 1, 2, 3, 4]);
    assert!(trace.iter().all(|t| t.0 >= 10_000_000));
}

#[test]
fn loss_duplication_and_partitions_are_counted() {
    let (trace, drops) = run(3, |sim| sim.conditions().loss = 1.0);
    assert_eq!((trace.len(), drops.lost), (0, 5));
    let (trace, _) = run(3, |sim| sim.conditions().duplicate = 0.5);
    assert!(trace.len() > 1000);
    let cut: [&[&str]; 2] = [&["n0:1"], &["n1:1"]];
    let (trace, drops) = run(3, |sim| sim.partition(&cut));
    assert_eq!((trace.len(), drops.dropped_partitioned), (0, 5));
}

#[test]
fn a_closed_port_receives_nothing_and_can_be_opened_again() {
    let mut sim = Sim::new(1);
    let a = sim.bind("a:1").unwrap();
    let b = sim.bind("b:1").unwrap();
    assert_eq!(sim.bind("b:1").unwrap_err().kind(), io::ErrorKind::AddrInUse);
    sim.close(b);
    sim.send(a, "b:1", b"lost").unwrap();
    sim.wait(Wait::Forever, &mut Vec::new()).unwrap();
    assert_eq!(sim.net_stats().dropped_unbound, 1);
    let b = sim.bind("b:1").unwrap();
    sim.send(a, "b:1", b"found").unwrap();
    sim.wait(Wait::Forever, &mut Vec::new()).unwrap();
    let mut buf = [0; 8];
    let (length, from) = sim.recv(b, &mut buf).unwrap().unwrap();
    assert_eq!((&buf[..length], &*sim.name_of(from)), (&b"found"[..], "a:1"));
    assert_eq!(sim.node_stats("a:1").unwrap().sent, 2);
}

#[test]
fn a_loop_that_never_waits_still_sees_its_timers_fire() {
    struct Spinning(u64);
    fn spin(world: &mut Spinning, lp: &mut Loop<Spinning>) {
        world.0 += 1;
        lp.event(crate::Owner::LOOP, spin).unwrap();
    }
    let mut lp = Loop::new(Box::new(Sim::new(1)));
    lp.event(crate::Owner::LOOP, spin).unwrap();
    lp.timer(Time(1_000_000), |_: &mut Spinning, lp: &mut Loop<Spinning>| lp.stop());
    assert!(matches!(lp.run(&mut Spinning(0)), Outcome::Stopped));
}

/// An observation of a simulated node: the time, the hops of a message, and its sender.
type Seen = (u64, String, u8, String);

/// A simulation, or a part of one.
struct Part {
    lp: Loop<Vec<Seen>>,
    world: Vec<Seen>,
}

/// Eight nodes that send each other messages at the same times, so that much happens at one
/// instant.
const NODES: usize = 8;
const HOPS: u8 = 6;

fn part(of: impl Fn(usize) -> Option<u16>) -> Part {
    let tick = Duration::from_millis(1);
    let conditions = Conditions { latency: tick..=tick, duplicate: 0.2, ..Conditions::default() };
    let mut lp: Loop<Vec<Seen>> = Loop::new(Box::new(Sim::new(5).with_conditions(conditions)));
    for node in 0..NODES {
        let name = format!("n{node}");
        if let Some(part) = of(node) {
            lp.host().sim().unwrap().place_elsewhere(&name, part);
            continue;
        }
        let endpoint = lp.host().bind(&name).unwrap();
        let owner = lp.owner("node");
        let receiver = name.clone();
        let read = move |_: &mut Vec<Seen>, lp: &mut Loop<Vec<Seen>>, _| {
            let mut buf = [0; 8];
            while let Ok(Some((_, from))) = lp.host().recv(endpoint, &mut buf) {
                let (hops, from, name) =
                    (buf[0], lp.host().name_of(from).into_owned(), receiver.clone());
                lp.event(owner, move |world: &mut Vec<Seen>, lp: &mut Loop<Vec<Seen>>| {
                    world.push((lp.now().0, name, hops, from));
                    for to in (0..NODES).filter(|to| hops < HOPS && (to + node) % 3 == 0) {
                        lp.host().send(endpoint, &format!("n{to}"), &[hops + 1]).unwrap();
                    }
                    lp.charge(4000);
                })
                .unwrap();
            }
        };
        lp.watch(endpoint, Interest::Read, Handlers::new().read(read)).unwrap();
        lp.timer(Time(0), move |_: &mut Vec<Seen>, lp: &mut Loop<Vec<Seen>>| {
            lp.host().send(endpoint, &format!("n{}", (node * 3) % NODES), &[0]).unwrap();
        });
    }
    Part { lp, world: Vec::new() }
}

#[test]
fn parts_of_a_simulation_do_what_one_does() {
    let mut whole = part(|_| None);
    assert!(matches!(whole.lp.run(&mut whole.world), Outcome::Idle));
    whole.world.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    for parts in [2_u16, 3] {
        let home = |node: usize| node as u16 % parts;
        let mut all: Vec<Part> =
            (0..parts).map(|me| part(|node| (home(node) != me).then_some(home(node)))).collect();
        while let Some(due) = all.iter_mut().filter_map(|part| part.lp.next_due()).min() {
            // Up to where what is sent now may arrive.
            let last = Time(due.0 + 999_999);
            for Part { lp, world } in &mut all {
                assert!(matches!(lp.run_through(world, last), Outcome::Reached));
            }
            let departed: Vec<Departure> =
                all.iter_mut().flat_map(|it| it.lp.host().sim().unwrap().departures()).collect();
            for message in departed {
                let part = usize::from(message.part());
                all[part].lp.host().sim().unwrap().arrive([message]);
            }
        }
        let mut seen: Vec<Seen> = all.iter().flat_map(|part| part.world.clone()).collect();
        seen.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        assert_eq!(seen, whole.world, "{parts} parts");
        let sums = all.iter_mut().map(|part| part.lp.host().sim().unwrap().net_stats().sent);
        assert_eq!(sums.sum::<u64>(), whole.lp.host().sim().unwrap().net_stats().sent);
    }
}

#[test]
fn a_stop_after_now_lets_all_that_is_due_happen() {
    let mut lp: Loop<Vec<u32>> = Loop::new(Box::new(Sim::new(1)));
    for number in 0..3 {
        let owner = lp.owner("node");
        let at_once = move |world: &mut Vec<u32>, lp: &mut Loop<Vec<u32>>| {
            world.push(number);
            lp.stop_after_now();
            lp.event(owner, move |world: &mut Vec<u32>, _| world.push(10 + number)).unwrap();
        };
        lp.event(owner, at_once).unwrap();
        lp.timer(Time(1), move |world: &mut Vec<u32>, _| world.push(20 + number));
    }
    let mut seen = Vec::new();
    assert!(matches!(lp.run(&mut seen), Outcome::Stopped));
    assert_eq!(seen, [0, 1, 2, 10, 11, 12]);
}

#[test]
fn entropy_has_a_stream_of_its_own() {
    let bytes = |sim: &mut Sim, length: usize| {
        let mut bytes = vec![0; length];
        sim.fill_entropy(&mut bytes).unwrap();
        bytes
    };
    let (mut with, mut without) = (Sim::new(7), Sim::new(7));
    let drawn = bytes(&mut with, 100);
    assert!((0..10).all(|_| with.random() == without.random()));
    assert_eq!(drawn, bytes(&mut without, 100));
    assert_ne!(drawn, bytes(&mut with, 100));
    assert_ne!(drawn, bytes(&mut Sim::new(8), 100));
    assert!(bytes(&mut with, 0).is_empty());
}

#[test]
fn a_partition_of_one_way_stops_one_way() {
    let forth: [&[&str]; 2] = [&["n0:1"], &["n1:1"]];
    let (trace, drops) = run(3, |sim| sim.partition_one_way(&forth));
    assert_eq!((trace.len(), drops.dropped_partitioned), (0, 5));
    let back: [&[&str]; 2] = [&["n1:1"], &["n0:1"]];
    let (trace, drops) = run(3, |sim| sim.partition_one_way(&back));
    assert_eq!((trace.len(), drops.dropped_partitioned), (5, 5));
}

#[test]
fn orders_concern_the_message_that_is_meant() {
    let meant = |byte: u8| -> Meant { Box::new(move |bytes| bytes[0] == byte) };
    let (trace, drops) = run(1, |sim| {
        sim.record();
        assert!(!sim.order(Act::Drop, "n0:1", "n1:1", meant(3)));
        assert!(!sim.order(Act::Drop, "n1:1", "n0:1", meant(2)));
        let after = Duration::from_millis(5);
        assert!(!sim.order(Act::Duplicate { after }, "n0:1", "n1:1", meant(4)));
        // Nothing waits.
        assert!(!sim.order(Act::Deliver, "n0:1", "n1:1", meant(0)));
    });
    assert_eq!((drops.lost, drops.duplicated), (2, 1));
    let first: Vec<u8> = trace.iter().filter(|t| t.1 == 1).map(|t| t.2[0]).take(5).collect();
    assert_eq!(first, [4, 0, 1, 2, 4]);
}

#[test]
fn messages_that_wait_arrive_when_they_are_delivered() {
    let mut sim = Sim::new(1);
    let (from, to) = (sim.bind("n0:1").unwrap(), sim.bind("n1:1").unwrap());
    sim.hold_messages();
    sim.record();
    for byte in 0..3 {
        sim.send(from, "n1:1", &[byte]).unwrap();
    }
    assert!(sim.net.next_arrival().is_none());
    assert_eq!(sim.recorded().len(), 3);
    let one = |byte: u8| -> Meant { Box::new(move |bytes| bytes[0] == byte) };
    assert!(sim.order(Act::Deliver, "n0:1", "n1:1", one(2)));
    assert!(!sim.order(Act::Deliver, "n0:1", "n1:1", one(2)));
    assert!(sim.order(Act::Drop, "n0:1", "n1:1", one(0)));
    sim.net.deliver(Time::ZERO);
    let mut buffer = [0; 8];
    assert_eq!(sim.recv(to, &mut buffer).unwrap().map(|(length, _)| length), Some(1));
    assert_eq!((buffer[0], sim.net_stats().lost), (2, 1));
}

#[test]
fn a_frozen_node_neither_reads_nor_sends() {
    let mut sim = Sim::new(1);
    let (from, to) = (sim.bind("n0:1").unwrap(), sim.bind("n1:1").unwrap());
    sim.register(crate::source::Source::Endpoint(to), 7, Interest::Read).unwrap();
    sim.freeze("n0:1");
    sim.send(from, "n1:1", &[1]).unwrap();
    assert_eq!(sim.net_stats().sent, 0);
    sim.thaw("n0:1");
    assert_eq!(sim.net_stats().sent, 1);
    sim.freeze("n1:1");
    sim.net.deliver(Time(1_000_000_000));
    let mut ready = Vec::new();
    sim.net.report(&mut ready);
    assert!(ready.is_empty());
    sim.thaw("n1:1");
    assert_eq!(sim.net.next_arrival(), Some(Time::ZERO));
    sim.net.deliver(Time(1_000_000_000));
    sim.net.report(&mut ready);
    assert_eq!(ready.len(), 1);
}
