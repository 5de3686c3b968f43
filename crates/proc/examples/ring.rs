//! The token ring with state machines as a code generator would write them: nanoseconds a hop, and
//! bytes a node. `cargo run --release -p tidemill-proc --example ring`.

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::Instant;

use tidemill_proc::Options;
use tidemill_proc::layout::Worker;

use support::ring;

fn main() {
    for (size, hops) in [(1000, 20_000_000), (10_000, 20_000_000), (100_000, 20_000_000)] {
        let mut shortest = f64::MAX;
        let mut bytes = 0;
        for _ in 0..5 {
            let mut warm = Worker::new(ring::program(size, size), Options::quiet());
            bytes = measure_bytes(&mut warm) / size;
            // Two lengths: the difference is hops only, without building and ending the ring.
            let (short, long) = (timed(size, size * 2), timed(size, size * 2 + hops));
            shortest = shortest.min((long - short) * 1e9 / hops as f64);
        }
        println!("ring {size}: {shortest:.2} ns/hop, {bytes} bytes/node");
    }
}

fn timed(size: u64, hops: u64) -> f64 {
    let mut worker = Worker::new(ring::program(size, hops), Options::quiet());
    let began = Instant::now();
    support::run(&mut worker);
    began.elapsed().as_secs_f64()
}

fn measure_bytes(worker: &mut Worker) -> u64 {
    support::run(worker);
    worker.peak_bytes()
}
