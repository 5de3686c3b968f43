//! The token ring with state machines as a code generator would write them: nanoseconds a hop, and
//! bytes a node. `cargo run --release -p tidemill-proc --example ring`.

#[path = "../tests/support/mod.rs"]
mod support;

use tidemill_proc::Options;
use tidemill_proc::Worker;

use support::{ring, worker_for};

fn main() {
    for (size, hops) in [(1000, 20_000_000), (10_000, 20_000_000), (100_000, 20_000_000)] {
        let mut shortest = f64::MAX;
        let mut bytes = 0;
        for _ in 0..5 {
            let mut warm = worker_for(ring::program(size, size), Options::quiet());
            bytes = measure_bytes(&mut warm) / size;
            // Two lengths: the difference is hops only, without building and ending the ring.
            let (short, long) = (timed(size, size * 2), timed(size, size * 2 + hops));
            shortest = shortest.min((long - short) * 1e9 / hops as f64);
        }
        println!("ring {size}: {shortest:.2} ns/hop, {bytes} bytes/node");
    }
}

fn timed(size: u64, hops: u64) -> f64 {
    let mut worker = worker_for(ring::program(size, hops), Options::quiet());
    let began = cpu_ns();
    support::run(&mut worker);
    (cpu_ns() - began) as f64 / 1e9
}

/// Time that this thread has had a processor, in nanoseconds: others may use the machine, too.
fn cpu_ns() -> u64 {
    let shown = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    shown.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

fn measure_bytes(worker: &mut Worker) -> u64 {
    support::run(worker);
    worker.peak_bytes()
}
