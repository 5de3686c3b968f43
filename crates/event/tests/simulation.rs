//! A simulated network: gossip under faults, repeated bit for bit.

use std::time::Duration;

use tidemill_event::{
    Conditions, Endpoint, Handlers, Interest, Loop, NetStats, Outcome, Sim, Time,
};

const NODES: usize = 20;

#[derive(Default)]
struct World {
    ports: Vec<Endpoint>,
    /// Time, node and hops of each delivery.
    trace: Vec<(Time, usize, u8)>,
    /// Additional random numbers that each delivery draws.
    extra_draws: usize,
}

fn name(node: usize) -> String {
    format!("n{node}:1")
}

fn spread(world: &mut World, lp: &mut Loop<World>, from: usize, hops: u8) {
    for _ in 0..2 {
        let to = lp.random() as usize % NODES;
        lp.host().send(world.ports[from], &name(to), &[hops]).unwrap();
    }
    for _ in 0..world.extra_draws {
        lp.random();
    }
}

/// Twenty nodes that forward rumours, ten hops each, for two seconds of timers and faults.
fn gossip(seed: u64, conditions: Conditions, script: fn(&mut Loop<World>)) -> (World, NetStats) {
    let mut lp = Loop::new(Box::new(Sim::new(seed).with_conditions(conditions)));
    let mut world = World::default();
    for node in 0..NODES {
        let port = lp.host().bind(&name(node)).unwrap();
        world.ports.push(port);
        let read = move |world: &mut World, lp: &mut Loop<World>, _| {
            let mut buf = [0; 8];
            while let Some((_, _)) = lp.host().recv(port, &mut buf).unwrap() {
                let hops = buf[0];
                world.trace.push((lp.now(), node, hops));
                if hops > 0 {
                    let owner = tidemill_event::Owner::LOOP;
                    lp.event(owner, move |world, lp| spread(world, lp, node, hops - 1)).unwrap();
                }
            }
        };
        lp.watch(port, Interest::Read, Handlers::new().read(read)).unwrap();
    }
    script(&mut lp);
    for start in 0..5 {
        lp.timer(Time::ZERO + Duration::from_millis(start * 100), move |world, lp| {
            spread(world, lp, start as usize, 6);
        });
    }
    assert!(matches!(lp.run(&mut world), Outcome::Idle));
    let stats = *lp.host().sim().unwrap().net_stats();
    (world, stats)
}

fn faulty() -> Conditions {
    Conditions { loss: 0.05, duplicate: 0.05, reorder: 0.1, ..Conditions::default() }
}

fn faults_on_the_way(lp: &mut Loop<World>) {
    let at = |ms: u64| Time::ZERO + Duration::from_millis(ms);
    lp.timer(at(50), |_, lp| {
        lp.host().sim().unwrap().partition(&[&["n0:1", "n1:1", "n2:1"], &["n3:1", "n4:1"]]);
    });
    lp.timer(at(120), |_, lp| lp.host().sim().unwrap().crash("n5:1"));
    lp.timer(at(250), |_, lp| lp.host().sim().unwrap().heal());
    lp.timer(at(300), |_, lp| lp.host().sim().unwrap().restart("n5:1"));
}

#[test]
fn the_same_seed_gives_the_same_trace_and_another_seed_another() {
    let (one, one_stats) = gossip(1, faulty(), faults_on_the_way);
    let (again, again_stats) = gossip(1, faulty(), faults_on_the_way);
    let (other, _) = gossip(2, faulty(), faults_on_the_way);
    assert_eq!(one.trace, again.trace);
    assert_eq!(one_stats, again_stats);
    assert_ne!(one.trace, other.trace);
    assert!(one.trace.len() > 200, "{}", one.trace.len());
    assert!(one_stats.lost > 0 && one_stats.duplicated > 0 && one_stats.reordered > 0);
    assert!(one_stats.dropped_partitioned > 0 && one_stats.dropped_crashed > 0, "{one_stats:?}");
}

#[test]
fn every_message_is_accounted_for() {
    for seed in 0..20 {
        let (_, stats) = gossip(seed, faulty(), faults_on_the_way);
        let ends = stats.received
            + stats.lost
            + stats.dropped_partitioned
            + stats.dropped_crashed
            + stats.dropped_unbound
            + stats.dropped_full
            + stats.dropped_truncated;
        assert_eq!(stats.sent + stats.duplicated, ends, "seed {seed}: {stats:?}");
    }
}

/// The delays of the messages of one sender, by number; none for a lost one.
fn delays(
    seed: u64,
    conditions: Conditions,
    program_draws: usize,
    others: u32,
) -> Vec<Option<u64>> {
    let mut lp = Loop::new(Box::new(Sim::new(seed).with_conditions(conditions)));
    let from = lp.host().bind("from:1").unwrap();
    let other = lp.host().bind("other:1").unwrap();
    let mut delays = Vec::new();
    for number in 0..200u32 {
        // A receiver for each, so that no message queues behind another.
        let to = lp.host().bind(&format!("to{number}:1")).unwrap();
        let read = move |delays: &mut Vec<Option<u64>>, lp: &mut Loop<_>, id| {
            lp.host().recv(to, &mut [0; 8]).unwrap();
            delays[number as usize] = Some(lp.now().0);
            lp.unwatch(id);
        };
        lp.watch(to, Interest::Read, Handlers::new().read(read)).unwrap();
        lp.host().send(from, &format!("to{number}:1"), b"x").unwrap();
        (0..others).for_each(|_| lp.host().send(other, "nowhere:1", b"x").unwrap());
        for _ in 0..program_draws {
            lp.random();
        }
        delays.push(None);
    }
    lp.run(&mut delays);
    delays
}

#[test]
fn a_draw_in_one_place_shifts_nothing_in_another() {
    let plain = delays(1, Conditions::default(), 0, 0);
    assert!(plain.iter().all(Option::is_some));
    assert_eq!(plain, delays(1, Conditions::default(), 3, 0), "the program's draws");
    assert_eq!(plain, delays(1, Conditions::default(), 0, 3), "what others send");
    let lossy = delays(1, Conditions { loss: 0.3, ..Conditions::default() }, 0, 0);
    let lost = lossy.iter().filter(|delay| delay.is_none()).count();
    assert!((30..90).contains(&lost), "{lost} of 200 lost at 0.3");
    let kept = plain.iter().zip(&lossy).all(|(plain, lossy)| lossy.is_none() || plain == lossy);
    assert!(kept, "who is lost changes nothing for who is not");
}

/// The statistics of `messages` messages under these conditions: those lost and duplicated.
fn counted(seed: u64, messages: u64, conditions: Conditions) -> NetStats {
    let mut lp = Loop::new(Box::new(Sim::new(seed).with_conditions(conditions)));
    let from = lp.host().bind("from:1").unwrap();
    let _to = lp.host().bind("to:1").unwrap();
    for _ in 0..messages {
        lp.host().send(from, "to:1", b"x").unwrap();
    }
    lp.run(&mut ());
    *lp.host().sim().unwrap().net_stats()
}

/// A share that is met within five standard deviations, and exactly at both ends.
fn is_near(count: u64, messages: u64, probability: f64) -> bool {
    let expected = messages as f64 * probability;
    let deviation = (expected * (1.0 - probability)).sqrt();
    (count as f64 - expected).abs() <= 5.0 * deviation
}

#[test]
fn faults_happen_as_often_as_they_are_asked_for() {
    const MESSAGES: u64 = 20_000;
    for (seed, probability) in (0..).zip([0.0, 0.001, 0.02, 0.1, 0.5, 0.9, 0.999, 1.0]) {
        let calm = Conditions { inbox_limit: 1 << 20, ..Conditions::default() };
        let lossy = counted(seed, MESSAGES, Conditions { loss: probability, ..calm.clone() });
        assert!(is_near(lossy.lost, MESSAGES, probability), "{probability}: {lossy:?}");
        assert_eq!((lossy.duplicated, lossy.reordered), (0, 0));
        let doubled =
            counted(seed, MESSAGES, Conditions { duplicate: probability, ..calm.clone() });
        assert!(is_near(doubled.duplicated, MESSAGES, probability), "{probability}: {doubled:?}");
        assert_eq!((doubled.lost, doubled.reordered), (0, 0));
        let mixed = counted(seed, MESSAGES, Conditions { reorder: probability, ..calm });
        assert!(is_near(mixed.reordered, MESSAGES, probability), "{probability}: {mixed:?}");
        assert_eq!((mixed.lost, mixed.duplicated), (0, 0));
    }
}

#[test]
fn latency_stays_within_its_range_and_uses_all_of_it() {
    let delays: Vec<_> = delays(7, Conditions::default(), 0, 0).into_iter().flatten().collect();
    let (least, most) = (*delays.iter().min().unwrap(), *delays.iter().max().unwrap());
    assert!((10_000_000..12_000_000).contains(&least), "{least}");
    assert!((48_000_000..=50_000_000).contains(&most), "{most}");
}

#[test]
fn more_random_numbers_in_the_program_change_the_program() {
    let mut lp: Loop<World> = Loop::new(Box::new(Sim::new(1)));
    let first: Vec<_> = (0..4).map(|_| lp.random()).collect();
    let mut again: Loop<World> = Loop::new(Box::new(Sim::new(1)));
    assert_eq!(first, (0..4).map(|_| again.random()).collect::<Vec<_>>());
    assert_eq!(lp.wall(), 0, "a simulation starts at the epoch");
}

#[test]
fn the_wall_clock_goes_on_with_the_loops_own() {
    let mut lp: Loop<Vec<(u64, i64)>> = Loop::new(Box::new(Sim::new(1)));
    for at in [3u64, 5, 5, 900_000] {
        lp.timer(Time(at), |_: &mut Vec<(u64, i64)>, lp: &mut Loop<Vec<(u64, i64)>>| {
            lp.dpc(|seen, lp| {
                let now = lp.now().0;
                seen.push((now, lp.wall()));
                assert_eq!(seen.last(), Some(&(now, lp.wall())));
            });
        });
    }
    let mut seen = Vec::new();
    lp.run(&mut seen);
    assert_eq!(seen, [(3, 3), (5, 5), (5, 5), (900_000, 900_000)]);
}

#[test]
fn ten_thousand_nodes_in_one_process() {
    let mut lp: Loop<u64> = Loop::new(Box::new(Sim::new(3)));
    let mut ports = Vec::new();
    for node in 0..10_000u32 {
        let port = lp.host().bind(&format!("n{node}:1")).unwrap();
        let next = format!("n{}:1", (node + 1) % 10_000);
        let read = move |hops: &mut u64, lp: &mut Loop<u64>, _| {
            while lp.host().recv(port, &mut [0; 8]).unwrap().is_some() {
                *hops += 1;
                if *hops < 30_000 {
                    lp.host().send(port, &next, b"x").unwrap();
                }
            }
        };
        lp.watch(port, Interest::Read, Handlers::new().read(read)).unwrap();
        ports.push(port);
    }
    lp.host().send(ports[0], "n1:1", b"x").unwrap();
    let mut hops = 0;
    let began = std::time::Instant::now();
    assert!(matches!(lp.run(&mut hops), Outcome::Idle));
    assert_eq!(hops, 30_000);
    // A round that scanned all ports instead of the ready ones would take minutes.
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert!(lp.now() > Time::ZERO + Duration::from_secs(300));
}

/// Whatever never comes to rest at one instant, time goes on and timers fire.
#[test]
fn neither_unread_ports_nor_restless_timers_stop_the_clock() {
    let mut lp: Loop<()> = Loop::new(Box::new(Sim::new(1)));
    let port = lp.host().bind("n0:1").unwrap();
    lp.watch(port, Interest::Write, Handlers::new().write(|_: &mut (), _, _| {})).unwrap();
    lp.alarm(Time::ZERO, |_, lp, id| {
        lp.rearm(id, Time::ZERO);
    });
    lp.timer(Time::ZERO + Duration::from_millis(2), |_, lp| lp.stop());
    assert!(matches!(lp.run(&mut ()), Outcome::Stopped));
}
