//! The floor: what the cases of `activities` cost as state machines written by hand.
//!
//! An activity is a struct that knows where it stands; a step is a function call; a list says who
//! can go on. Nothing is compiled at run time, preempted or checked, and no program would be
//! written so. What is above this figure is the price of a runtime.

mod channel;
mod prodcons;
mod ring;
mod sieve;
mod spawn;
mod spin;

/// Runs a case and returns what it comes to.
///
/// # Errors
/// No such case, or other parameters than it has.
pub fn run(bench: &str, parameters: &[u64]) -> Result<u64, String> {
    Ok(match (bench, parameters) {
        ("ring", &[nodes, rounds]) => ring::run(nodes, rounds),
        ("prodcons", &[producers, consumers, items]) => prodcons::run(producers, consumers, items),
        ("sieve", &[limit]) => sieve::run(limit),
        ("spin", &[activities, loops]) => spin::run(activities, loops),
        ("spawn", &[count]) => spawn::run(count),
        _ => return Err(format!("{bench} {parameters:?}: no such case")),
    })
}
