//! The costs of the loop: none while idle, no system call per turn or port.
//!
//! All in one test, as the counters are those of the process.

use std::time::Duration;

use tidemill_event::{Handlers, Interest, Loop, Os, Outcome, Owner};
use tidemill_support::cpu;

/// Voluntary context switches so far: each wait is one, independent of the loop's own counters.
fn times_slept() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("voluntary_ctxt")).unwrap();
    line.rsplit('\t').next().unwrap().parse().unwrap()
}

#[test]
fn idle_costs_no_cpu_and_turns_cost_no_system_calls() {
    let mut lp: Loop<u64> = Loop::new(Box::new(Os::new().unwrap()));
    let endpoint = lp.host().bind("127.0.0.1:0").unwrap();
    let handlers = Handlers::new().read(|_, _, _| unreachable!("nothing is sent"));
    lp.watch(endpoint, Interest::Read, handlers).unwrap();

    // The best of several runs: the machine may stall while the clock runs.
    let mut seconds = Vec::new();
    let kept = (0..3).any(|_| {
        let end = lp.now() + Duration::from_secs(1);
        let (cpu, slept, waits) = (cpu::of_process(), times_slept(), lp.stats().waits);
        assert!(matches!(lp.run_until(&mut 0, end), Outcome::Reached));
        let (cpu, slept) = (cpu::of_process() - cpu, times_slept() - slept);
        let waits = lp.stats().waits - waits;
        seconds.push(format!("{cpu:?}, {slept} sleeps, {waits} waits"));
        cpu < Duration::from_millis(5) && slept < 10 && waits < 5
    });
    assert!(kept, "idle seconds took {seconds:?}");

    fn turn(left: &mut u64, lp: &mut Loop<u64>) {
        *left -= 1;
        if *left > 0 {
            lp.dpc(|_, _| {});
            lp.event(Owner::LOOP, turn).unwrap();
        } else {
            lp.stop();
        }
    }
    let (before, host_before) = (lp.stats().clone(), lp.host_stats());
    lp.event(Owner::LOOP, turn).unwrap();
    assert!(matches!(lp.run(&mut 100_000), Outcome::Stopped));
    let after = lp.stats();
    let turns = after.turns - before.turns;
    let looks = after.polls + after.waits - before.polls - before.waits;
    let syscalls = lp.host_stats().syscalls - host_before.syscalls;
    assert_eq!(turns, 100_000);
    // Every poll is one system call, and there are no others.
    assert_eq!(syscalls, looks);
    assert!(looks < turns / 8, "{looks} looks for {turns} turns");
    many_ports_cost_no_more(&mut lp);
}

/// The kernel's counters of ports are not read at each poll.
fn many_ports_cost_no_more(lp: &mut Loop<u64>) {
    for _ in 0..300 {
        lp.host().bind("127.0.0.1:0").unwrap();
    }
    let (cpu, polls) = (cpu::of_process(), lp.stats().polls);
    while lp.stats().polls < polls + 20_000 {
        let now = lp.now();
        assert!(matches!(lp.run_until(&mut 0, now), Outcome::Reached));
    }
    let cpu = cpu::of_process() - cpu;
    assert!(cpu < Duration::from_millis(500), "20000 polls of 300 ports took {cpu:?}");
}
