//! Parts of a world, and the scopes of closures.

use std::time::Duration;

use tidemill_event::{Handlers, Interest, Loop, Outcome, Owner, Scope, Sim, Time};

/// Counters, one for each part; a part that has ended has none.
struct World {
    parts: Vec<Option<u32>>,
    current: usize,
}

impl World {
    fn new(parts: usize) -> World {
        World { parts: vec![Some(0); parts], current: 0 }
    }

    fn count(&mut self) {
        *self.parts[self.current].as_mut().expect("a part that is there") += 1;
    }
}

fn lp() -> Loop<World> {
    let mut lp = Loop::new(Box::new(Sim::new(1)));
    lp.on_switch(|world: &mut World, Scope(scope)| {
        let lives = world.parts[scope as usize].is_some();
        if lives {
            world.current = scope as usize;
        }
        lives
    });
    lp
}

fn owner(world: &mut World, lp: &mut Loop<World>, scope: u32) -> Owner {
    lp.within(world, Scope(scope), |_, lp| lp.owner("part")).expect("it is there")
}

#[test]
fn what_a_scope_leads_to_is_of_that_scope() {
    let (mut world, mut lp) = (World::new(3), lp());
    let owners = [1, 2].map(|scope| owner(&mut world, &mut lp, scope));
    assert_eq!(lp.scope(), Scope::LOOP);
    for owner in owners {
        lp.event(owner, |world: &mut World, lp: &mut Loop<World>| {
            world.count();
            lp.dpc(|world, lp| {
                world.count();
                let mut left = 3;
                lp.every(Duration::from_secs(1), move |world: &mut World, lp, timer| {
                    world.count();
                    // Outside a turn: an event that the scope goes with.
                    lp.dpc(|world, _| world.count());
                    left -= 1;
                    if left == 0 {
                        lp.cancel(timer);
                    }
                });
            });
        })
        .expect("room");
    }
    assert!(matches!(lp.run(&mut world), Outcome::Idle));
    assert_eq!(world.parts, [Some(0), Some(8), Some(8)]);
    assert_eq!((lp.scope(), world.current), (Scope::LOOP, 0));
}

#[test]
fn watches_are_of_the_scope_that_they_were_made_in() {
    let (mut world, mut lp) = (World::new(3), lp());
    for (scope, name) in [(1, "a:1"), (2, "b:1")] {
        lp.within(&mut world, Scope(scope), |_, lp| {
            let endpoint = lp.host().bind(name).expect("it is free");
            let read = move |world: &mut World, lp: &mut Loop<World>, _| {
                while let Ok(Some(_)) = lp.host().recv(endpoint, &mut [0; 8]) {
                    world.count();
                }
            };
            lp.watch(endpoint, Interest::Read, Handlers::new().read(read)).expect("it can");
        });
    }
    let from = lp.host().bind("c:1").expect("it is free");
    for to in ["a:1", "b:1", "b:1"] {
        lp.host().send(from, to, b"hi").expect("it goes");
    }
    lp.run_until(&mut world, Time(1_000_000_000));
    assert_eq!(world.parts, [Some(0), Some(1), Some(2)]);
    lp.end(Scope(2));
    assert_eq!(lp.watched(), 1);
}

#[test]
fn nothing_of_an_ended_scope_runs() {
    let (mut world, mut lp) = (World::new(3), lp());
    let owners = [1, 2].map(|scope| owner(&mut world, &mut lp, scope));
    for owner in owners {
        lp.event(owner, |world: &mut World, _| world.count()).expect("room");
    }
    lp.within(&mut world, Scope(1), |_, lp| {
        lp.timer(Time(5), |world: &mut World, _| world.count());
    });
    lp.within(&mut world, Scope(2), |_, lp| {
        lp.timer(Time(5), |world: &mut World, _| world.count());
        lp.every(Duration::from_secs(1), |world: &mut World, _, _| world.count());
    });
    world.parts[2] = None;
    lp.end(Scope(2));
    assert_eq!(lp.timers_armed(), 1);
    assert!(lp.within(&mut world, Scope(2), |_, _| ()).is_none());
    assert!(matches!(lp.run(&mut world), Outcome::Idle));
    assert_eq!(world.parts, [Some(0), Some(2), None]);
    // The call, and the event that was queued.
    assert_eq!(lp.stats().dropped_ended, 2);
}
