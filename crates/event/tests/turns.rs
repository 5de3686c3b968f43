//! Turns, the order of calls, and the counters of a loop.

use std::time::Duration;

use tidemill_event::{Limits, Loop, Os, Outcome, Owner, Sim, Time};

fn sim<W: 'static>() -> Loop<W> {
    Loop::new(Box::new(Sim::new(1)))
}

#[test]
fn dpcs_queued_by_actions_are_drained_before_the_next_action() {
    let mut lp = sim::<Vec<u32>>();
    lp.event(Owner::LOOP, |log, lp| {
        log.push(0);
        lp.action(|log, lp| {
            log.push(3);
            lp.dpc(|log, lp| {
                log.push(4);
                lp.dpc(|log, _| log.push(5));
            });
        });
        lp.action(|log, _| log.push(6));
        lp.dpc(|log, lp| {
            log.push(1);
            lp.dpc(|log, _| log.push(2));
        });
    })
    .unwrap();
    lp.event(Owner::LOOP, |log, _| log.push(7)).unwrap();
    let mut log = Vec::new();
    assert!(matches!(lp.run(&mut log), Outcome::Idle));
    assert_eq!(log, (0..8).collect::<Vec<_>>());
    assert_eq!((lp.stats().turns, lp.stats().steps), (2, 8));
}

#[test]
fn a_callback_that_registers_itself_again_loses_no_wake_up() {
    fn again(count: &mut u32, lp: &mut Loop<u32>) {
        *count += 1;
        if *count < 1000 {
            // From inside itself, as an event, a call, and a timer due at once.
            match *count % 3 {
                0 => lp.event(Owner::LOOP, again).unwrap(),
                1 => lp.dpc(again),
                _ => drop(lp.timer(Time::ZERO, again)),
            }
        }
    }
    let mut lp = sim();
    lp.event(Owner::LOOP, again).unwrap();
    let mut count = 0;
    lp.run(&mut count);
    assert_eq!(count, 1000);
}

/// Runs `left` calls, one after the other, in one turn.
fn spin(left: u32, log: &mut Vec<String>, lp: &mut Loop<Vec<String>>) {
    if left > 0 {
        lp.dpc(move |log, lp| spin(left - 1, log, lp));
    } else {
        log.push("long done".into());
    }
}

#[test]
fn a_turn_that_outlasts_its_slice_lets_other_owners_pass_and_holds_its_own_events() {
    let mut lp = sim::<Vec<String>>();
    let (long, short) = (lp.owner("long"), lp.owner("short"));
    lp.event(long, |log, lp| spin(99_999, log, lp)).unwrap();
    lp.event(long, |log, _| log.push("long second".into())).unwrap();
    lp.event(long, |log, _| log.push("long third".into())).unwrap();
    lp.event(short, |log, _| log.push("short".into())).unwrap();
    let mut log = Vec::new();
    lp.run(&mut log);
    assert_eq!(log, ["short", "long done", "long second", "long third"]);
    let stats = lp.stats();
    assert_eq!(stats.suspensions, 9);
    let long = stats.kinds.iter().find(|kind| kind.kind == "long").unwrap();
    assert_eq!((long.turns, long.steps, long.steps_max), (3, 100_002, 100_000));
}

#[test]
fn long_turns_take_slices_in_turns() {
    let mut lp = sim::<Vec<u32>>();
    fn spin(name: u32, left: u32, log: &mut Vec<u32>, lp: &mut Loop<Vec<u32>>) {
        log.push(name);
        if left > 0 {
            lp.dpc(move |log, lp| spin(name, left - 1, log, lp));
        }
    }
    for name in 0..3 {
        let owner = lp.owner("long");
        lp.event(owner, move |log, lp| spin(name, 29_999, log, lp)).unwrap();
    }
    let mut log = Vec::new();
    lp.run(&mut log);
    let mut slices: Vec<(u32, usize)> = Vec::new();
    for name in log {
        match slices.last_mut() {
            Some((last, count)) if *last == name => *count += 1,
            _ => slices.push((name, 1)),
        }
    }
    let expected: Vec<_> = (0..9).map(|slice| (slice % 3, 10_000)).collect();
    assert_eq!(slices, expected);
}

#[test]
fn a_flood_of_short_events_does_not_starve_a_suspended_turn() {
    fn flood(done: &mut bool, lp: &mut Loop<bool>) {
        if !*done {
            lp.event(Owner::LOOP, flood).unwrap();
        }
    }
    fn long(left: u32, done: &mut bool, lp: &mut Loop<bool>) {
        match left {
            0 => *done = true,
            _ => lp.dpc(move |done, lp| long(left - 1, done, lp)),
        }
    }
    let run = |mut lp: Loop<bool>| {
        let owner = lp.owner("long");
        lp.event(owner, |done, lp| long(100_000, done, lp)).unwrap();
        lp.event(Owner::LOOP, flood).unwrap();
        let mut done = false;
        assert!(matches!(lp.run(&mut done), Outcome::Idle));
        lp.stats().turns
    };
    // Ten slices for the long turn, and about as much for the flood between them.
    let turns = run(Loop::new(Box::new(Os::new().unwrap().with_counted_slices(10_000))));
    assert!((90_000..120_000).contains(&turns), "{turns}");
    // In a simulation each round is a slice of the long turn and an event of the flood.
    assert_eq!(run(sim()), 12);
}

#[test]
fn a_suspended_turn_sees_one_time() {
    let mut lp = sim::<Vec<Time>>();
    let owner = lp.owner("long");
    lp.timer(Time(5), move |_, lp| {
        lp.event(owner, |log, lp| {
            log.push(lp.now());
            // Beyond the slice, and beyond the limit of the simulation for one instant.
            lp.charge(2_000_000);
            lp.dpc(|log, lp| log.push(lp.now()));
        })
        .unwrap();
    });
    let mut log = Vec::new();
    lp.run(&mut log);
    assert_eq!(log, [Time(5), Time(5)]);
    assert_eq!(lp.now(), Time(5) + Duration::from_millis(1));
}

#[test]
fn limits_hold_and_drops_are_counted() {
    let limits = Limits { events: 3, calls: 10, ..Limits::default() };
    let mut lp = Loop::with_limits(Box::new(Sim::new(1)), limits);
    let accepted = (0..5).filter(|_| lp.event(Owner::LOOP, |n, _| *n += 1).is_ok()).count();
    assert_eq!((accepted, lp.stats().dropped_events, lp.stats().queue_high_water), (3, 2, 3));
    let mut ran = 0u32;
    lp.run(&mut ran);
    assert_eq!(ran, 3);
    lp.event(Owner::LOOP, |_, lp| (0..11).for_each(|_| lp.dpc(|n, _| *n += 1))).unwrap();
    lp.run(&mut ran);
    assert_eq!(ran, 3, "a turn beyond its limit is cut off whole");
    assert_eq!((lp.stats().turns_abandoned, lp.stats().dropped_calls), (1, 11));
}

#[test]
fn what_is_queued_for_an_owner_can_be_discarded() {
    let mut lp = sim::<Vec<u32>>();
    let (dead, alive) = (lp.owner("node"), lp.owner("node"));
    lp.event(dead, |_, lp| {
        lp.charge(10_000);
        lp.dpc(|log, _| log.push(1));
    })
    .unwrap();
    lp.event(dead, |log, _| log.push(2)).unwrap();
    lp.event(alive, move |_, lp| lp.discard(dead)).unwrap();
    lp.event(dead, |log, _| log.push(3)).unwrap();
    lp.event(alive, |log, _| log.push(4)).unwrap();
    let mut log = Vec::new();
    lp.run(&mut log);
    assert_eq!(log, [4]);
    lp.event(dead, |log, _| log.push(5)).unwrap();
    lp.run(&mut log);
    assert_eq!(log, [4, 5]);
}

#[test]
fn stop_ends_the_run_after_the_turn_and_keeps_what_is_queued() {
    let mut lp = sim::<Vec<u32>>();
    lp.event(Owner::LOOP, |log, lp| {
        lp.stop();
        log.push(1);
        lp.dpc(|log, _| log.push(2));
    })
    .unwrap();
    lp.event(Owner::LOOP, |log, _| log.push(3)).unwrap();
    let mut log = Vec::new();
    assert!(matches!(lp.run(&mut log), Outcome::Stopped));
    assert_eq!(log, [1, 2]);
    assert!(matches!(lp.run(&mut log), Outcome::Idle));
    assert_eq!(log, [1, 2, 3]);
}

#[test]
fn running_the_loop_inside_itself_is_an_error() {
    let mut lp = sim::<u32>();
    lp.event(Owner::LOOP, |world, lp| {
        assert!(matches!(lp.run(world), Outcome::Failed(_)));
        *world += 1;
    })
    .unwrap();
    let mut ran = 0;
    lp.run(&mut ran);
    assert_eq!(ran, 1);
}

#[test]
fn outside_a_turn_deferring_makes_an_event() {
    let mut lp = sim::<Vec<u32>>();
    lp.timer(Time(1), |log, lp| {
        lp.action(|log, _| log.push(2));
        lp.dpc(|log, _| log.push(3));
        log.push(1);
    });
    let mut log = Vec::new();
    lp.run(&mut log);
    assert_eq!(log, [1, 2, 3]);
    assert_eq!(lp.stats().turns, 2);
}
