//! Makes the inputs of runs: those of the corpus, then for each seed either what it draws, or a
//! mutation of an input of the corpus.
//!
//! ```text
//! an input   |---- seed 12 ----|---- seed 40 ----------------------|
//! of seed 77                             |---- seed 77 ------------|
//! mutated    |---- seed 12 ----|- seed 40|---- seed 77 ------------|
//! ```
//! A mutation repeats a run up to a time, and goes on with the random numbers of another seed: what
//! the run had reached by then is a start for what may follow. Its faults are from then on those of
//! the other seed, or remain the same.
//!
//! The inputs of a test follow from its seeds and its corpus: each is made from the corpus as the
//! runs up to [`AHEAD`] before it have left it, however many workers there are.

use std::collections::VecDeque;

use tidemill_stdx::rng::Rng;

use super::corpus::{self, Corpus, Reached, Verdict};
use super::coverage::{Coverage, Feature};
use super::input::{Input, Origin, PHASES_MAX};
use super::report::CorpusReport;
use super::trial::{Trials, Tried};
use crate::seconds::SECOND_NS;
use crate::sim::{FaultOptions, Phase};

/// The maximum number of inputs made before the results of the first of them are known.
pub(super) const AHEAD: u64 = 64;

/// The share of mutations, as long as there is an input worth it.
const MUTATIONS: f64 = 0.5;

/// The share of mutations whose faults remain those of the mutated input.
const SAME_FAULTS: f64 = 0.5;

/// The share of mutations that may begin before the run has what it was drawn for.
const EARLY: f64 = 0.25;

/// The parts of a run, of which one is clearly sooner than the next.
const PARTS: u64 = 16;

/// The end of faults in a run without an end.
const LAST_NS: u64 = 60 * SECOND_NS;

const MILLISECOND_NS: u64 = SECOND_NS / 1000;

/// Separates the random stream of mutations from those of a run.
const STREAM: u64 = 0x006d_7574_6174_696f;

/// The inputs of a test with a corpus.
pub(super) struct Generator<'t> {
    test: &'t Trials,
    corpus: Corpus,
    /// Inputs of the file that have not been handed out.
    unused: VecDeque<Input>,
    /// Inputs of the file whose results are not known.
    unknown: VecDeque<Input>,
    /// The next seed; `None` after the last.
    seed: Option<u64>,
    figures: CorpusReport,
}

impl<'t> Generator<'t> {
    /// A generator for a test with this corpus.
    pub(super) fn new(test: &'t Trials, read: &[Input]) -> Generator<'t> {
        let read: VecDeque<Input> = read.iter().cloned().collect();
        let figures = CorpusReport { read: read.len() as u64, ..CorpusReport::default() };
        Generator {
            test,
            corpus: Corpus::default(),
            unknown: read.clone(),
            unused: read,
            seed: Some(*test.options.seeds.start()),
            figures,
        }
    }

    /// The next input; `None` after the last seed.
    pub(super) fn next(&mut self) -> Option<(Origin, Input)> {
        if let Some(input) = self.unused.pop_front() {
            return Some((Origin::Corpus, input));
        }
        let seed = self.seed?;
        self.seed = seed.checked_add(1).filter(|next| self.test.options.seeds.contains(next));
        let drawn = self.test.of_seed(seed);
        let mut random = Rng::new(seed).fork(STREAM);
        let is_mutation = random.chance(MUTATIONS);
        let Some((base, at_ns)) = self.corpus.pick(&mut random).filter(|_| is_mutation) else {
            return Some((Origin::Seed, drawn));
        };
        let from_ns = start(&mut random, at_ns, self.end_ns());
        Some((Origin::Mutation, mutation(base, drawn, &mut random, from_ns)))
    }

    /// Takes the result of a run into account. Results come in the order of inputs.
    pub(super) fn learn(&mut self, tried: &Tried, reached: &[Reached]) {
        if tried.origin == Origin::Corpus {
            self.unknown.pop_front();
        }
        self.corpus.count(reached);
        let margin_ns = self.end_ns() / PARTS;
        let is_added = tried.failure.is_none()
            && self.corpus.add(tried.input.clone(), reached, margin_ns) == Verdict::New;
        let figures = &mut self.figures;
        match tried.origin {
            Origin::Corpus => {}
            Origin::Seed => figures.added_by_seeds += u64::from(is_added),
            Origin::Mutation => {
                figures.mutations += 1;
                figures.added_by_mutations += u64::from(is_added);
            }
        }
        figures.kept = self.corpus.len() as u64;
    }

    fn end_ns(&self) -> u64 {
        self.test.faults_end_ns().unwrap_or(LAST_NS)
    }

    /// The figures so far.
    pub(super) fn figures(&self) -> CorpusReport {
        self.figures
    }

    /// The text of the corpus, with the inputs of the file that an interrupted test has not run.
    pub(super) fn text(&self, coverage: &Coverage) -> String {
        let names =
            |alone: Vec<Feature>| alone.into_iter().map(|it| coverage.name_of(it)).collect();
        let kept = self.corpus.inputs().map(|(input, alone)| (input, names(alone)));
        corpus::print(kept.chain(self.unknown.iter().map(|input| (input, Vec::new()))))
    }
}

/// Draws the time at which a mutation begins: mostly after the time by which the run has what it
/// was drawn for, and soon rather than late; the order of magnitude is uniformly distributed.
fn start(random: &mut Rng, at_ns: u64, end_ns: u64) -> u64 {
    let at_ns = if random.chance(EARLY) { 0 } else { at_ns };
    let span_ns = end_ns.saturating_sub(at_ns + 1) >> random.below(5);
    at_ns + random.range(0..=span_ns)
}

/// Repeats an input up to a time, and goes on as drawn.
fn mutation(base: &Input, drawn: Input, random: &mut Rng, from_ns: u64) -> Input {
    let mut input = base.clone();
    // Where there is no room for another phase, the new one replaces the last.
    let last_ns = input.then.get(PHASES_MAX - 1).map_or(u64::MAX, |last| last.from_ns);
    // A number with few digits. At least one nanosecond: a phase follows another.
    let from_ns = from_ns.min(last_ns) / MILLISECOND_NS * MILLISECOND_NS;
    let from_ns = from_ns.max(1);
    input.then.retain(|phase| phase.from_ns < from_ns);
    let same = random.chance(SAME_FAULTS).then(|| input.last_faults().clone());
    // Clocks are set at the start of a run, not later.
    let faults = FaultOptions { skew_ns: None, ..same.unwrap_or(drawn.faults) };
    input.then.push(Phase { from_ns, seed: drawn.seed, faults });
    input
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::faults::Faults;

    #[test]
    fn mutations_keep_the_start_of_an_input_and_stay_within_its_limits() {
        let drawn = |seed| Input {
            nodes: 3,
            seed,
            faults: Faults::swarm().draw(&Rng::new(seed)),
            then: Vec::new(),
        };
        let (mut random, end_ns) = (Rng::new(1), 40 * SECOND_NS);
        let (mut input, mut most, mut same) = (drawn(1), 0, 0);
        for seed in 2..5000 {
            let base = input.clone();
            let from_ns = start(&mut random, seed % 39 * SECOND_NS, end_ns);
            input = mutation(&base, drawn(seed), &mut random, from_ns);
            let (last, kept) = input.then.split_last().expect("a phase");
            assert_eq!((last.seed, kept), (seed, &base.then[..kept.len()]));
            assert!(kept.iter().all(|phase| phase.from_ns < last.from_ns));
            assert!((1..end_ns).contains(&last.from_ns) && input.then.len() <= PHASES_MAX);
            assert_eq!((input.nodes, input.seed, last.faults.skew_ns), (3, 1, None));
            let before = kept.last().map_or(&base.faults, |phase| &phase.faults);
            same += u64::from(FaultOptions { skew_ns: None, ..before.clone() } == last.faults);
            most = most.max(input.then.len());
            if seed % 40 == 0 {
                // Makes room for a deep one.
                input.then.truncate(1);
            }
        }
        assert!(most >= 4 && (2000..3500).contains(&same), "{most} {same}");
    }
}
