//! Other threads, and signals.

use std::thread;
use std::time::{Duration, Instant};

use tidemill_event::{
    Limits, Loop, Os, Outcome, Owner, Remote, SharedTime, Signal, Sim, Time, machine_ns,
};

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

/// What a loop of [`loops_share_a_clock_that_skips`] has seen: times of its timers, and of posts
/// with the times at which they were sent.
#[derive(Default)]
struct Seen {
    peer: Option<Remote<Seen>>,
    timers: Vec<u64>,
    posts: Vec<(u64, u64)>,
    answers: Vec<(u64, u64)>,
}

/// Posts from a timer, to a peer that answers.
fn tick(seen: &mut Seen, events: &mut Loop<Seen>) {
    let sent = events.now().0;
    seen.timers.push(sent);
    let post = move |seen: &mut Seen, events: &mut Loop<Seen>| {
        seen.posts.push((sent, events.now().0));
        let answer = move |seen: &mut Seen, events: &mut Loop<Seen>| {
            seen.answers.push((sent, events.now().0));
        };
        if let Some(peer) = &seen.peer {
            peer.event(Owner::LOOP, answer).unwrap();
        }
    };
    if let Some(peer) = &seen.peer {
        peer.event(Owner::LOOP, post).unwrap();
    }
}

#[test]
fn loops_share_a_clock_that_skips() {
    const MS: u64 = 1_000_000;
    let time = SharedTime::new(2);
    let (to_main, remotes) = std::sync::mpsc::channel();
    let (start, started): (Vec<_>, Vec<_>) = (0..2).map(|_| std::sync::mpsc::channel()).unzip();
    let began = machine_ns();
    let threads: Vec<_> = (0u32..)
        .zip(started)
        .map(|(number, started)| {
            let (time, to_main) = (time.clone(), to_main.clone());
            thread::spawn(move || {
                let host = Os::new().unwrap().with_shared_time((time, number), 0, 100);
                let mut events: Loop<Seen> = Loop::new(Box::new(host));
                to_main.send((number, events.remote().unwrap())).unwrap();
                let mut seen = Seen { peer: started.recv().ok(), ..Seen::default() };
                // Hours that take no time; every third time is one of both.
                for count in 0..1000 {
                    let at = count * (u64::from(number) * 2 + 1) * 10_000 * MS;
                    events.timer(Time(at), tick);
                }
                let end = Time(40_000_000 * MS);
                assert!(matches!(events.run_until(&mut seen, end), Outcome::Reached));
                assert_eq!(events.now(), end);
                seen.peer = None;
                seen
            })
        })
        .collect();
    let mut remotes: Vec<_> = remotes.iter().take(2).collect();
    remotes.sort_by_key(|(number, _)| *number);
    for (start, (_, peer)) in start.into_iter().zip(remotes.into_iter().rev()) {
        start.send(peer).unwrap();
    }
    let seen: Vec<Seen> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert!(machine_ns() - began < 20_000 * MS);
    for (one, other) in [(0, 1), (1, 0)] {
        assert_eq!(seen[one].timers.len(), 1000);
        // Time did not pass while a post was under way.
        let sent = seen[one].timers.iter().map(|at| (*at, *at));
        assert!(sent.clone().eq(seen[other].posts.iter().copied()));
        assert!(sent.eq(seen[one].answers.iter().copied()));
    }
}
