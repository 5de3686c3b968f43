//! Prints what counting costs here: `cargo run --release -p tidemill-stat --example costs`.

use tidemill_stat::{Registry, measure};

fn main() {
    let registry = Registry::open();
    if let Some(problem) = registry.problem() {
        eprintln!("in memory: {problem}");
    }
    let costs = measure::costs(&registry, 200, 100_000);
    println!("plain increment  {:7.2} ns", costs.plain_ns);
    println!("counter          {:7.2} ns", costs.counter_ns);
    println!("histogram        {:7.2} ns", costs.histogram_ns);
    println!("log record       {:7.2} ns", costs.log_ns);
    println!("counts correct   {}", costs.is_correct);
}
