//! The floor: the cost of the cases of `activities` as hand-written state machines.
//!
//! An activity is a struct with its state; a step is a function call; a list holds the activities
//! that can continue. Nothing is compiled at run time, preempted or checked, and no program would
//! be written this way. What exceeds this figure is the price of a runtime.

mod channel;
mod prodcons;
mod ring;
mod sieve;
mod spawn;
mod spin;

/// Runs a case and returns its result.
///
/// # Errors
/// No such case, or wrong parameters.
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
