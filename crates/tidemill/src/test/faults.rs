//! Faults drawn from a seed: which occur in its run, and how strong they are.
//!
//! A run with every kind of fault finds less than runs that each omit some: one fault may mask
//! another (Groce and others, "Swarm testing", 2012).

use std::fmt;
use std::time::Duration;

use tidemill_diag::nearest;
use tidemill_event::Shape;
use tidemill_stdx::rng::Rng;

use crate::program::{FileKind, Kinds};
use crate::seconds::SECOND_NS;
use crate::sim::FaultOptions;

/// A kind of fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Datagrams take longer, and some much longer than others.
    Latency,
    /// Datagrams are lost.
    Loss,
    /// Datagrams are duplicated.
    Duplicate,
    /// Datagrams are reordered.
    Reorder,
    /// Nodes crash and restart empty.
    Churn,
    /// Groups of nodes do not reach each other, or one does not reach the other.
    Partition,
    /// Nodes pause for seconds.
    Pause,
    /// Turns of nodes take time.
    Slow,
    /// Clocks are wrong.
    Clock,
    /// Components and apps fail.
    Kill,
}

impl Fault {
    /// All kinds.
    pub const ALL: [Fault; 10] = [
        Fault::Latency,
        Fault::Loss,
        Fault::Duplicate,
        Fault::Reorder,
        Fault::Churn,
        Fault::Partition,
        Fault::Pause,
        Fault::Slow,
        Fault::Clock,
        Fault::Kill,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Latency => "latency",
            Fault::Loss => "loss",
            Fault::Duplicate => "duplicate",
            Fault::Reorder => "reorder",
            Fault::Churn => "churn",
            Fault::Partition => "partition",
            Fault::Pause => "pause",
            Fault::Slow => "slow",
            Fault::Clock => "clock",
            Fault::Kill => "kill",
        }
    }

    /// Whether a program of these kinds of files can have the fault.
    pub fn concerns(self, kinds: Kinds) -> bool {
        let has_rules = kinds.has(FileKind::Rules);
        match self {
            Fault::Churn => true,
            Fault::Kill => kinds.has(FileKind::Components) || kinds.has(FileKind::Packets),
            Fault::Pause | Fault::Slow | Fault::Clock => has_rules,
            _ => has_rules || kinds.has(FileKind::Components),
        }
    }

    /// The name of its option of `sim`.
    pub(super) fn option(self) -> &'static str {
        match self {
            Fault::Clock => "skew",
            kind => kind.name(),
        }
    }

    /// Whether a run has it.
    pub(super) fn is_in(self, faults: &FaultOptions) -> bool {
        faults.words().iter().any(|(name, _)| *name == self.option())
    }

    /// Adds it to a run with a random strength. All numbers have few digits, so that a command line
    /// represents them exactly.
    fn draw(self, random: &mut Rng, faults: &mut FaultOptions) {
        match self {
            Fault::Latency => {
                let least = random.range(1..=50);
                let most = least + magnitude(random, 11);
                faults.latency = (Duration::from_millis(least), Duration::from_millis(most));
                faults.latency_shape = match random.below(3) {
                    0 => Shape::Uniform,
                    1 => Shape::Tail,
                    _ => Shape::Bimodal,
                };
            }
            Fault::Loss => faults.loss = probability(random),
            Fault::Duplicate => faults.duplicate = probability(random),
            Fault::Reorder => faults.reorder = probability(random),
            Fault::Churn => faults.churn_ns = Some(random.range(2..=120) * SECOND_NS),
            Fault::Partition => faults.partition_ns = Some(random.range(4..=60) * SECOND_NS),
            Fault::Pause => faults.pause_ns = Some(random.range(10..=120) * SECOND_NS),
            Fault::Slow => faults.slow_ns = Some(random.range(1..=40) * (SECOND_NS / 1000)),
            Fault::Clock => {
                faults.skew_ns = Some(magnitude(random, 14) * (SECOND_NS / 1000));
            }
            Fault::Kill => faults.kill_ns = Some(random.range(2..=60) * SECOND_NS),
        }
    }
}

/// A number up to `2^bits` whose order of magnitude is uniformly distributed.
fn magnitude(random: &mut Rng, bits: u64) -> u64 {
    let most = 1 << random.range(1..=bits);
    random.range(1..=most)
}

/// A probability above 0, at most about one half.
fn probability(random: &mut Rng) -> f64 {
    magnitude(random, 9) as f64 / 1000.0
}

/// No fault has this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoFault(pub String);

impl fmt::Display for NoFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, names) = (&self.0, Fault::ALL.map(Fault::name));
        write!(f, "`{name}` is no fault: ")?;
        if let Some(similar) = nearest(name, names) {
            write!(f, "is {similar} meant? ")?;
        }
        write!(f, "there are {}; or `none`, or `swarm`", names.join(", "))
    }
}

impl std::error::Error for NoFault {}

/// The faults that runs may have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Faults {
    kinds: Vec<Fault>,
    /// The minimum number of faults of a run, as far as there are that many.
    least: usize,
}

impl Faults {
    /// No faults.
    pub fn none() -> Faults {
        Faults { kinds: Vec::new(), least: 0 }
    }

    /// Each run has a random subset of all faults.
    pub fn swarm() -> Faults {
        Faults { kinds: Fault::ALL.to_vec(), least: 0 }
    }

    /// Each run has one or more of these.
    pub fn some_of(kinds: Vec<Fault>) -> Faults {
        Faults { kinds, least: 1 }
    }

    /// Parses `none`, `swarm`, or names separated by commas.
    ///
    /// # Errors
    /// A name that is none.
    pub fn parse(text: &str) -> Result<Faults, NoFault> {
        match text {
            "none" => return Ok(Faults::none()),
            "swarm" => return Ok(Faults::swarm()),
            _ => {}
        }
        let kind = |name: &str| {
            let name = name.trim();
            let found = Fault::ALL.into_iter().find(|kind| kind.name() == name);
            found.ok_or_else(|| NoFault(name.to_owned()))
        };
        let kinds: Result<Vec<Fault>, NoFault> = text.split(',').map(kind).collect();
        kinds.map(Faults::some_of)
    }

    /// Whether a run may have this fault.
    pub(super) fn has(&self, kind: Fault) -> bool {
        self.kinds.contains(&kind)
    }

    /// Removes faults that `keeps` rejects; returns those of them that were named.
    pub fn keep(&mut self, keeps: impl Fn(Fault) -> bool) -> Vec<Fault> {
        let (kept, left_out) = self.kinds.iter().partition(|kind| keeps(**kind));
        self.kinds = kept;
        match self.least {
            0 => Vec::new(),
            _ => left_out,
        }
    }

    /// Draws the faults of a run. Each fault has random numbers of its own, so that the others do
    /// not depend on it.
    pub(super) fn draw(&self, random: &Rng) -> FaultOptions {
        let mut exists: Vec<bool> =
            self.kinds.iter().map(|&kind| stream(random, kind).chance(0.5)).collect();
        if self.least > 0 && !exists.contains(&true) && !exists.is_empty() {
            let one = random.fork(1).below(exists.len() as u64);
            exists[one as usize] = true;
        }
        let mut faults = FaultOptions::default();
        for (&kind, _) in self.kinds.iter().zip(exists).filter(|(_, exists)| *exists) {
            kind.draw(&mut stream(random, kind).fork(1), &mut faults);
        }
        faults
    }
}

fn stream(random: &Rng, kind: Fault) -> Rng {
    random.fork(2 + kind as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(faults: &Faults, seed: u64) -> FaultOptions {
        faults.draw(&Rng::new(seed))
    }

    /// Which faults occur.
    fn existing(faults: &FaultOptions) -> [bool; 10] {
        Fault::ALL.map(|kind| kind.is_in(faults))
    }

    #[test]
    fn a_swarm_has_all_sets_of_faults() {
        let mut seen: Vec<[bool; 10]> =
            (0..16000).map(|seed| existing(&drawn(&Faults::swarm(), seed))).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 1024);
    }

    #[test]
    fn a_list_gives_each_run_one_or_more_of_it() {
        let faults = Faults::parse("loss,churn").expect("a list");
        for seed in 0..1000 {
            let [latency, loss, duplicate, reorder, churn, others @ ..] =
                existing(&drawn(&faults, seed));
            assert!((loss || churn) && !latency && !duplicate && !reorder, "{seed}");
            assert_eq!(others, [false; 5]);
        }
        assert_eq!(existing(&drawn(&Faults::none(), 1)), [false; 10]);
    }

    /// The strength of a fault does not depend on which others may occur.
    #[test]
    fn faults_are_drawn_apart() {
        let (all, one) = (Faults::swarm(), Faults::parse("loss").expect("a fault"));
        let both = (0..200).map(|seed| (drawn(&all, seed).loss, drawn(&one, seed).loss));
        let both = both.filter(|(loss, _)| *loss > 0.0);
        let strengths: Vec<f64> = both
            .map(|(loss, alone)| {
                assert_eq!(loss, alone);
                loss
            })
            .collect();
        assert!(strengths.iter().any(|loss| *loss < 0.01), "{strengths:?}");
        assert!(strengths.iter().any(|loss| *loss > 0.2), "{strengths:?}");
    }

    #[test]
    fn what_is_no_fault_is_refused_with_what_may_be_meant() {
        let refused = |text| Faults::parse(text).expect_err("no fault").to_string();
        let error = refused("loss,repeat");
        assert!(error.starts_with("`repeat` is no fault: there are latency, loss"), "{error}");
        let error = refused("los");
        assert!(error.contains("is loss meant?"), "{error}");
    }
}
