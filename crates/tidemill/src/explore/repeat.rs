//! Repeats a counterexample in simulations.

use tidemill_diag::Sources;

use crate::error::Error;
use crate::script::parse;
use crate::sim::Simulation;
use crate::tape::taped;

/// The number of seeds to try: with one of many, random choices come out as in the counterexample.
const SEEDS: u64 = 256;

/// A simulation that fails under the [script](super::Counterexample::script) of a run.
pub struct Repetition {
    /// The least seed with which it fails.
    pub seed: u64,
    /// It, with the script and the seed.
    pub simulation: Simulation,
}

/// Repeats a run in a simulation that has no script yet; `None` if it fails with none of the seeds
/// that are tried.
///
/// # Errors
/// The simulation cannot run.
pub fn repeat(simulation: &Simulation, script: &[String]) -> Result<Option<Repetition>, Error> {
    let mut scripted = simulation.clone();
    let (mut sources, text) = (Sources::new(), script.join("\n"));
    let file = sources.add("found.sim", text.clone());
    let (script, mut wrong) = parse(file, &text);
    wrong.extend(scripted.script(&script, &sources));
    if let Some(wrong) = wrong.first() {
        return Err(Error::Options(sources.render(wrong)));
    }
    for seed in 1..=SEEDS {
        let mut seeded = scripted.clone();
        seeded.options_mut().seed = seed;
        let (console, ..) = taped();
        if !seeded.clone().run(console)?.is_well() {
            return Ok(Some(Repetition { seed, simulation: seeded }));
        }
    }
    Ok(None)
}
