//! Other threads, and signals.

use std::thread;
use std::time::{Duration, Instant};

use tidemill_event::{Limits, Loop, Os, Outcome, Owner, Signal, Sim};

fn os<W: 'static>() -> Loop<W> {
    Loop::new(Box::new(Os::new().unwrap()))
}

#[test]
fn threads_post_in_order_and_wake_an_idle_loop() {
    let mut lp = os::<Vec<(u32, u32)>>();
    let remote = lp.remote().unwrap();
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let remote = remote.clone();
            thread::spawn(move || {
                for number in 0..1000 {
                    let post = move |log: &mut Vec<_>, _: &mut Loop<_>| log.push((thread, number));
                    while remote.event(Owner::LOOP, post).is_err() {
                        thread::yield_now();
                    }
                    if number % 100 == 0 {
                        thread::sleep(Duration::from_millis(1));
                    }
                }
            })
        })
        .collect();
    drop(remote);
    let mut log = Vec::new();
    // Ends when the last handle is dropped and the posted closures have run.
    assert!(matches!(lp.run(&mut log), Outcome::Idle));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(log.len(), 4000);
    for thread in 0..4 {
        let numbers = log.iter().filter(|(from, _)| *from == thread).map(|(_, number)| *number);
        assert!(numbers.eq(0..1000));
    }
}

#[test]
fn a_full_queue_of_posts_refuses_and_counts() {
    let limits = Limits { remote: 2, ..Limits::default() };
    let mut lp: Loop<u32> = Loop::with_limits(Box::new(Os::new().unwrap()), limits);
    let remote = lp.remote().unwrap();
    let accepted = (0..5).filter(|_| remote.event(Owner::LOOP, |n, _| *n += 1).is_ok()).count();
    drop(remote);
    let mut ran = 0;
    lp.run(&mut ran);
    assert_eq!((accepted, ran), (2, 2));
    assert_eq!((lp.stats().remote, lp.stats().dropped_remote), (2, 3));
}

#[test]
fn a_simulation_has_no_remotes() {
    let mut lp: Loop<()> = Loop::new(Box::new(Sim::new(1)));
    assert!(lp.remote().is_err());
}

#[test]
fn signals_come_as_events() {
    let mut lp = os::<Vec<Signal>>();
    let all = [Signal::Interrupt, Signal::HangUp];
    let id = lp.signals(&all, |log, _, signal| log.push(signal)).unwrap();
    for signal in [libc::SIGINT, libc::SIGHUP] {
        // SAFETY: `raise` signals this thread alone, which blocks both signals.
        assert_eq!(unsafe { libc::raise(signal) }, 0);
    }
    let mut log = Vec::new();
    let began = Instant::now();
    while log.len() < 2 && began.elapsed() < Duration::from_secs(10) {
        let end = lp.now() + Duration::from_millis(20);
        lp.run_until(&mut log, end);
    }
    log.sort_by_key(|signal| format!("{signal:?}"));
    assert_eq!(log, [Signal::HangUp, Signal::Interrupt]);
    assert!(lp.unwatch(id));
}

/// A wait that a signal handler interrupts is counted and restarted with the same deadline.
#[test]
fn interrupted_waits_are_counted_and_do_not_spin() {
    let mut lp = os::<()>();
    let began = Instant::now();
    let end = lp.now() + Duration::from_millis(100);
    lp.timer(end, |_, _| {});
    extern "C" fn nothing(_: i32) {}
    // SAFETY: a handler that does nothing may run at any time; no other test uses this signal.
    unsafe { libc::signal(libc::SIGUSR1, nothing as extern "C" fn(i32) as usize) };
    // SAFETY: no preconditions.
    let waiting = unsafe { libc::pthread_self() };
    let interrupter = thread::spawn(move || {
        for _ in 0..3 {
            thread::sleep(Duration::from_millis(20));
            // SAFETY: the thread joins this one before it ends.
            assert_eq!(unsafe { libc::pthread_kill(waiting, libc::SIGUSR1) }, 0);
        }
    });
    assert!(matches!(lp.run(&mut ()), Outcome::Idle));
    assert!(began.elapsed() >= Duration::from_millis(100));
    interrupter.join().unwrap();
    let stats = lp.stats();
    assert_eq!(stats.interrupts, 3);
    assert!(stats.waits < 10, "{stats:?}");
}
