//! Descriptors: handlers that change their own watches, errors, and invalid descriptors.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tidemill_event::{Handlers, Interest, Loop, Os, Outcome, Owner, Sim, WatchId};

fn os<W: 'static>() -> Loop<W> {
    Loop::new(Box::new(Os::new().unwrap()))
}

fn pair() -> (UnixStream, UnixStream) {
    let (a, b) = UnixStream::pair().unwrap();
    a.set_nonblocking(true).unwrap();
    b.set_nonblocking(true).unwrap();
    (a, b)
}

/// The descriptor's file under a number that no test running beside this one is given once it is
/// closed, as the kernel gives out the lowest free number.
fn numbered(number: i32, file: impl AsFd) -> OwnedFd {
    let fd = rustix::io::fcntl_dupfd_cloexec(file, number).unwrap();
    assert_eq!(fd.as_raw_fd(), number, "each test has a number of its own");
    fd
}

#[test]
fn read_write_and_end_have_their_handlers() {
    let mut lp = os::<Vec<String>>();
    let (a, b) = pair();
    let fd = a.as_raw_fd();
    let (mut a, mut b) = (a, Some(b));
    let handlers = Handlers::new()
        .write(move |log: &mut Vec<String>, lp, id| {
            log.push("writable".into());
            lp.modify(id, Interest::Read).unwrap();
            b.take().unwrap().write_all(b"hello").unwrap();
        })
        .read(move |log, lp, id| {
            let mut text = String::new();
            a.read_to_string(&mut text).unwrap();
            log.push(text);
            assert!(lp.unwatch(id));
            assert!(!lp.unwatch(id));
            assert_eq!(lp.modify(id, Interest::None).unwrap_err().kind(), io::ErrorKind::NotFound);
        });
    lp.watch(fd, Interest::Write, handlers).unwrap();
    let mut log = Vec::new();
    assert!(matches!(lp.run(&mut log), Outcome::Idle));
    assert_eq!(log, ["writable", "hello"]);
}

#[test]
fn a_descriptor_is_watched_anew_from_inside_its_own_handler() {
    let mut lp = os::<Vec<u32>>();
    let (a, mut b) = pair();
    b.write_all(b"x").unwrap();
    let a = Rc::new(a);
    fn watch(lp: &mut Loop<Vec<u32>>, a: Rc<UnixStream>, round: u32) -> WatchId {
        let fd = a.as_raw_fd();
        let read = move |log: &mut Vec<u32>, lp: &mut Loop<Vec<u32>>, id| {
            log.push(round);
            assert!(lp.unwatch(id));
            if round < 5 {
                // Nothing was read, so the new watch must be ready like the old one.
                watch(lp, a.clone(), round + 1);
            }
        };
        lp.watch(fd, Interest::Read, Handlers::new().read(read)).unwrap()
    }
    watch(&mut lp, a, 1);
    let mut log = Vec::new();
    assert!(matches!(lp.run(&mut log), Outcome::Idle));
    assert_eq!(log, [1, 2, 3, 4, 5]);
}

#[test]
fn a_watch_ended_by_another_handler_of_the_same_round_is_not_called() {
    let mut lp = os::<(u32, Vec<WatchId>)>();
    let pairs: Vec<_> = (0..8).map(|_| pair()).collect();
    let mut ids = Vec::new();
    for (a, b) in &pairs {
        (&*b).write_all(b"x").unwrap();
        let read = |world: &mut (u32, Vec<WatchId>), lp: &mut Loop<_>, _| {
            world.0 += 1;
            world.1.drain(..).for_each(|id| assert!(lp.unwatch(id)));
        };
        ids.push(lp.watch(a.as_raw_fd(), Interest::Read, Handlers::new().read(read)).unwrap());
    }
    let mut world = (0, ids);
    assert!(matches!(lp.run(&mut world), Outcome::Idle));
    assert_eq!(world.0, 1);
}

#[test]
fn what_cannot_be_watched_is_refused_at_once() {
    let mut lp = os::<()>();
    let (a, _b) = pair();
    let reads = || Handlers::new().read(|_: &mut (), _, _| {});
    let kind = |result: io::Result<WatchId>| result.unwrap_err().raw_os_error();
    assert_eq!(kind(lp.watch(-1, Interest::Read, reads())), Some(9));
    assert_eq!(kind(lp.watch(1_000_000, Interest::Read, reads())), Some(9));
    let file = std::fs::File::open("Cargo.toml").unwrap();
    assert_eq!(kind(lp.watch(file.as_raw_fd(), Interest::Read, reads())), Some(1));
    let without = lp.watch(a.as_raw_fd(), Interest::Write, reads()).unwrap_err();
    assert_eq!(without.kind(), io::ErrorKind::InvalidInput);
    let mut sim: Loop<()> = Loop::new(Box::new(Sim::new(1)));
    let no_descriptors = sim.watch(a.as_raw_fd(), Interest::Read, reads()).unwrap_err();
    assert_eq!(no_descriptors.kind(), io::ErrorKind::Unsupported);
    assert_eq!((lp.watched(), sim.watched()), (0, 0));
}

/// Watches `fd` for errors and reading (without reading), and stops at the error.
fn watch_for_error(lp: &mut Loop<Vec<Option<i32>>>, fd: i32) -> WatchId {
    let handlers = Handlers::new().read(|_: &mut Vec<Option<i32>>, _, _| {}).error(
        |log, lp: &mut Loop<Vec<Option<i32>>>, id, error| {
            log.push(error.raw_os_error());
            assert!(!lp.unwatch(id), "the watch has ended already");
            lp.stop();
        },
    );
    lp.watch(fd, Interest::Read, handlers).unwrap()
}

#[test]
fn a_descriptor_closed_while_watched_is_reported_and_removed_not_spun_on() {
    let mut lp = os();
    let (a, _b) = pair();
    let a = numbered(901, a);
    watch_for_error(&mut lp, a.as_raw_fd());
    lp.event(Owner::LOOP, move |_, _| drop(a)).unwrap();
    let mut log = Vec::new();
    assert!(matches!(lp.run(&mut log), Outcome::Stopped));
    assert_eq!(log, [Some(9)]);
    assert_eq!((lp.watched(), lp.host_stats().bad_descriptors), (0, 1));
    let stats = lp.stats();
    assert!(stats.polls + stats.waits < 20, "{stats:?}");
}

/// The kernel keeps reporting a closed descriptor while a duplicate keeps its file open.
#[test]
fn a_closed_descriptor_with_a_duplicate_is_not_spun_on() {
    let mut lp = os();
    let (kept, mut b) = pair();
    let a = numbered(903, &kept);
    let id = watch_for_error(&mut lp, a.as_raw_fd());
    drop(a);
    // Ending the watch can no longer remove the kernel's registration.
    assert!(lp.unwatch(id));
    b.write_all(b"x").unwrap();
    let end = lp.now() + Duration::from_millis(200);
    let (c, _d) = pair();
    watch_for_error(&mut lp, c.as_raw_fd());
    let mut log = Vec::new();
    assert!(matches!(lp.run_until(&mut log, end), Outcome::Reached));
    assert_eq!(log, []);
    let stats = lp.stats();
    assert!(stats.polls + stats.waits < 20, "{stats:?}");
    drop(kept);
}

#[test]
fn a_number_given_out_again_ends_the_watch_of_the_old_descriptor() {
    let mut lp = os();
    let (a, _b) = pair();
    let old = numbered(902, a);
    watch_for_error(&mut lp, old.as_raw_fd());
    drop(old);
    let (c, _d) = pair();
    let new = numbered(902, c);
    let second = watch_for_error(&mut lp, new.as_raw_fd());
    let mut log = Vec::new();
    assert!(matches!(lp.run(&mut log), Outcome::Stopped));
    assert_eq!((log, lp.watched()), (vec![Some(9)], 1));
    assert!(lp.unwatch(second));
}

#[test]
fn a_pipe_whose_reader_is_gone_reports_once() {
    let mut lp = os();
    let (reader, writer) = io::pipe().unwrap();
    let handlers = Handlers::new().error(|log: &mut Vec<io::ErrorKind>, _, _, error| {
        log.push(error.kind());
    });
    // At rest errors are still reported, and repeatedly.
    lp.watch(writer.as_raw_fd(), Interest::None, handlers).unwrap();
    drop(reader);
    let mut log = Vec::new();
    assert!(matches!(lp.run(&mut log), Outcome::Idle));
    assert_eq!((log, lp.stats().errors), (vec![io::ErrorKind::BrokenPipe], 1));
}

/// A descriptor that is always ready, a full event queue, and a timer: each gets its share.
#[test]
fn a_busy_descriptor_and_a_full_event_queue_share_the_loop() {
    #[derive(Default)]
    struct World {
        reads: u64,
        turns: u64,
    }
    fn flood(world: &mut World, lp: &mut Loop<World>) {
        world.turns += 1;
        lp.event(Owner::LOOP, flood).unwrap();
    }
    let mut lp = os();
    let (a, mut b) = pair();
    b.write_all(b"x").unwrap();
    // Never reads, so it is ready at every poll.
    let read = |world: &mut World, _: &mut Loop<World>, _| world.reads += 1;
    lp.watch(a.as_raw_fd(), Interest::Read, Handlers::new().read(read)).unwrap();
    for _ in 0..10_000 {
        lp.event(Owner::LOOP, flood).unwrap();
    }
    let end = lp.now() + Duration::from_millis(100);
    lp.timer(end, |_, lp| lp.stop());
    let mut world = World::default();
    assert!(matches!(lp.run(&mut world), Outcome::Stopped));
    assert!(world.turns > 1000 && world.reads > 100, "{} {}", world.turns, world.reads);
    assert!(world.reads <= world.turns + 2, "{} {}", world.reads, world.turns);
    // One poll per batch of 64 turns or 50 us.
    assert!(world.reads >= world.turns / 64, "{} {}", world.reads, world.turns);
}

/// Descriptors that were ready before the first poll are reported too.
#[test]
fn what_is_ready_before_the_loop_runs_is_not_missed() {
    let mut lp = os::<u32>();
    let (a, mut b) = pair();
    b.write_all(b"early").unwrap();
    let read = |seen: &mut u32, lp: &mut Loop<u32>, id| {
        *seen += 1;
        lp.unwatch(id);
    };
    // The watch is first at rest: interest that is set later reports earlier input.
    let id = lp.watch(a.as_raw_fd(), Interest::None, Handlers::new().read(read)).unwrap();
    lp.event(Owner::LOOP, move |_, lp| lp.modify(id, Interest::Read).unwrap()).unwrap();
    let mut seen = 0;
    assert!(matches!(lp.run(&mut seen), Outcome::Idle));
    assert_eq!(seen, 1);
}

/// A turn of 30 ms, in calls of 0.1 ms, delays external events by about a slice.
#[test]
fn a_long_turn_delays_descriptors_by_slices_not_by_its_length() {
    fn work(left: u32, lp: &mut Loop<Instant>) {
        let began = Instant::now();
        while began.elapsed() < Duration::from_micros(100) {}
        if left > 0 {
            lp.dpc(move |_, lp| work(left - 1, lp));
        }
    }
    let best = (0..5)
        .map(|_| {
            let mut lp = os::<Instant>();
            let (a, mut b) = pair();
            let read = |last: &mut Instant, lp: &mut Loop<Instant>, id| {
                *last = Instant::now();
                lp.unwatch(id);
            };
            lp.watch(a.as_raw_fd(), Interest::Read, Handlers::new().read(read)).unwrap();
            let long = lp.owner("long");
            lp.event(long, move |_, lp| {
                b.write_all(b"x").unwrap();
                // Kept open: its end would be one more read event.
                std::mem::forget(b);
                work(300, lp);
            })
            .unwrap();
            let began = Instant::now();
            let mut last = began;
            lp.run(&mut last);
            let kind = lp.stats().kinds.iter().find(|kind| kind.kind == "long").unwrap();
            assert!(kind.longest >= Duration::from_millis(30), "{kind:?}");
            assert!(lp.stats().suspensions >= 10, "{:?}", lp.stats());
            last - began
        })
        .min()
        .unwrap();
    assert!(best < Duration::from_millis(4), "{best:?}");
}
