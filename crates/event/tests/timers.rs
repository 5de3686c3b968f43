//! Timers: order, lateness, cancelling and re-arming, and the units of waiting.

use std::time::{Duration, Instant};

use tidemill_event::{Loop, Os, Outcome, Owner, Sim, Time, TimerId};

fn sim<W: 'static>() -> Loop<W> {
    Loop::new(Box::new(Sim::new(1)))
}

#[test]
fn timers_fire_in_the_order_of_their_deadlines_and_time_jumps() {
    let mut lp = sim::<Vec<(u64, u64)>>();
    for at in [30, 10, 20, 10] {
        lp.timer(Time(at), move |log, lp| log.push((at, lp.now().0)));
    }
    let mut log = Vec::new();
    assert!(matches!(lp.run(&mut log), Outcome::Idle));
    assert_eq!(log, [(10, 10), (10, 10), (20, 20), (30, 30)]);
}

/// Of one deadline, whenever they were armed for it: by the order of arming, last time counting.
#[test]
fn equal_timers_fire_in_the_order_in_which_they_were_armed() {
    for count in [2usize, 3, 5, 17, 64, 200] {
        let mut lp = sim::<Vec<usize>>();
        let ids: Vec<TimerId> = (0..count)
            .map(|name| {
                // Others before and after move them about in the heap.
                lp.timer(Time(1 + name as u64 % 7), |_, _| {});
                let id = lp.timer(Time(50), move |log: &mut Vec<usize>, _| log.push(name));
                lp.timer(Time(90 - name as u64 % 7), |_, _| {});
                id
            })
            .collect();
        // Every third is armed for another time and then, backwards, for the same as before.
        let again: Vec<usize> = (0..count).step_by(3).collect();
        again.iter().for_each(|&name| assert!(lp.rearm(ids[name], Time(70))));
        again.iter().rev().for_each(|&name| assert!(lp.rearm(ids[name], Time(50))));
        let kept = (0..count).filter(|name| name % 3 != 0);
        let expected: Vec<usize> = kept.chain(again.iter().rev().copied()).collect();
        let mut log = Vec::new();
        lp.run(&mut log);
        assert_eq!(log, expected, "{count} timers");
    }
}

#[test]
fn timers_cancel_and_rearm_themselves_from_inside_their_handlers() {
    let mut lp = sim::<Vec<(&str, Time)>>();
    lp.alarm(Time(1), |log, lp, me| {
        log.push(("rearmed", lp.now()));
        if lp.now() < Time(3) {
            let next = lp.now() + Duration::from_nanos(1);
            assert!(lp.rearm(me, next));
        } else {
            assert!(lp.cancel(me));
            assert!(!lp.rearm(me, Time(9)));
        }
    });
    lp.every(Duration::from_nanos(10), |log, lp, me| {
        log.push(("cancelled", lp.now()));
        assert!(lp.cancel(me));
        assert!(!lp.cancel(me));
    });
    let mut log = Vec::new();
    assert!(matches!(lp.run(&mut log), Outcome::Idle));
    let expected = [("rearmed", 1), ("rearmed", 2), ("rearmed", 3), ("cancelled", 10)];
    assert_eq!(log, expected.map(|(what, at)| (what, Time(at))));
}

#[test]
fn a_handler_cancels_and_moves_others_that_are_due_at_the_same_time() {
    let mut lp = sim::<(Vec<u32>, Vec<TimerId>)>();
    lp.timer(Time(1), |world, lp| {
        world.0.push(0);
        assert!(lp.cancel(world.1[0]));
        assert!(lp.rearm(world.1[1], Time(5)));
    });
    let others: Vec<_> =
        (1..4).map(|name| lp.timer(Time(1), move |world, _| world.0.push(name))).collect();
    let mut world = (Vec::new(), others);
    lp.run(&mut world);
    assert_eq!(world.0, [0, 3, 2]);
    assert!(world.1.iter().all(|&id| !lp.cancel(id)), "ids of fired timers name nothing");
}

#[test]
fn a_late_timer_fires_once() {
    let mut lp = sim::<Vec<Time>>();
    lp.every(Duration::from_micros(100), |log, lp, me| {
        log.push(lp.now());
        // One turn that lasts for a millisecond: ten periods.
        lp.event(Owner::LOOP, |_, lp| lp.charge(1_000_000)).unwrap();
        if log.len() == 3 {
            lp.cancel(me);
        }
    });
    let mut log = Vec::new();
    lp.run(&mut log);
    let micros: Vec<_> = log.iter().map(|at| at.0 / 1000).collect();
    assert_eq!(micros, [100, 1100, 2100]);
    assert_eq!(lp.stats().periods_missed, 18);
    assert_eq!(lp.stats().timer_late_max, Duration::from_micros(900));
}

#[test]
fn a_timer_that_sets_itself_to_the_past_starves_nobody() {
    let mut lp = sim::<(u32, bool)>();
    lp.alarm(Time(5), |world, lp, me| {
        world.0 += 1;
        if !world.1 {
            lp.rearm(me, Time::ZERO);
        }
    });
    lp.timer(Time(5), |_, lp| lp.event(Owner::LOOP, |world, _| world.1 = true).unwrap());
    let mut world = (0, false);
    assert!(matches!(lp.run(&mut world), Outcome::Idle));
    assert!(world.1 && world.0 < 5, "{world:?}");
}

#[test]
fn a_million_timers() {
    let mut lp = sim::<(u64, Time)>();
    let mut ids = Vec::new();
    for n in 0..1_000_000u64 {
        let at = Time(n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40);
        ids.push(lp.timer(at, |world, lp| {
            assert!(world.1 <= lp.now());
            *world = (world.0 + 1, lp.now());
        }));
    }
    for id in ids.iter().step_by(2) {
        assert!(lp.cancel(*id));
    }
    for id in ids.iter().skip(1).step_by(2) {
        assert!(lp.rearm(*id, Time(id_spread(*id))));
    }
    let mut world = (0, Time::ZERO);
    lp.run(&mut world);
    assert_eq!(world.0, 500_000);
}

fn id_spread(id: TimerId) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish() >> 40
}

#[test]
fn run_until_reaches_its_end_and_does_what_is_due_then() {
    let mut lp = sim::<Vec<u64>>();
    for at in [10, 20, 21] {
        lp.timer(Time(at), move |_, lp| {
            lp.event(Owner::LOOP, move |log: &mut Vec<u64>, _| log.push(at)).unwrap();
        });
    }
    let mut log = Vec::new();
    assert!(matches!(lp.run_until(&mut log, Time(20)), Outcome::Reached));
    assert_eq!((&log[..], lp.now()), (&[10, 20][..], Time(20)));
    assert!(matches!(lp.run_until(&mut log, Time(100)), Outcome::Reached));
    assert_eq!((&log[..], lp.now()), (&[10, 20, 21][..], Time(100)));
}

/// A flood is interrupted and continues with the next call; until then its time does not advance.
#[test]
fn run_within_ends_after_so_many_steps() {
    let mut lp = sim::<u32>();
    fn flood(count: &mut u32, lp: &mut Loop<u32>) {
        *count += 1;
        if *count < 1000 {
            lp.event(Owner::LOOP, flood).unwrap();
        }
    }
    lp.event(Owner::LOOP, flood).unwrap();
    lp.timer(Time(20), |count: &mut u32, _| *count += 1_000_000);
    let mut count = 0;
    for _ in 0..2 {
        assert!(matches!(lp.run_within(&mut count, Time(10), 400), Outcome::Stopped));
    }
    assert!((800..820).contains(&count) && lp.now() == Time(0), "{count} at {:?}", lp.now());
    assert!(matches!(lp.run_within(&mut count, Time(10), 400), Outcome::Reached));
    assert_eq!((count, lp.now()), (1000, Time(10)));
    assert!(matches!(lp.run_within(&mut count, Time(20), 400), Outcome::Reached));
    assert_eq!((count, lp.now()), (1_001_000, Time(20)));
}

/// The loop polls when it has work, and waits when it has none.
#[test]
fn the_timeout_is_not_inverted_between_idle_and_busy() {
    let mut lp: Loop<u32> = Loop::new(Box::new(Os::new().unwrap()));
    fn busy(count: &mut u32, lp: &mut Loop<u32>) {
        *count += 1;
        if *count < 10_000 {
            lp.event(Owner::LOOP, busy).unwrap();
        }
    }
    lp.event(Owner::LOOP, busy).unwrap();
    let idle_until = lp.now() + Duration::from_millis(300);
    lp.timer(idle_until, |_, _| {});
    let began = Instant::now();
    let mut count = 0;
    assert!(matches!(lp.run(&mut count), Outcome::Idle));
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(300), "idle did not wait: {took:?}");
    assert!(took < Duration::from_millis(1300), "busy waited: {took:?}");
    assert_eq!(count, 10_000);
    assert!(lp.stats().waits < 10, "{:?}", lp.stats());
}

/// Milliseconds, microseconds and nanoseconds were mixed up on the way to the kernel.
#[test]
fn waits_are_in_nanoseconds_all_the_way() {
    let mut lp: Loop<Vec<Duration>> = Loop::new(Box::new(Os::new().unwrap()));
    let mut log = Vec::new();
    for wait in [Duration::from_micros(200), Duration::from_millis(2), Duration::from_millis(30)] {
        // The best of several tries, as other programs may delay any single one.
        let mut best = Duration::MAX;
        for tries in 1..=200 {
            let began = Instant::now();
            let at = lp.now() + wait;
            lp.timer(at, |_, _| {});
            lp.run(&mut log);
            best = best.min(began.elapsed());
            if tries >= 20 && best < wait + Duration::from_micros(700) {
                break;
            }
        }
        assert!(best + Duration::from_micros(150) >= wait, "{wait:?} took only {best:?}");
        assert!(best < wait + Duration::from_micros(700), "{wait:?} took {best:?} at best");
    }
}
