//! The corpus: inputs whose runs cover what those of the others do not.
//!
//! ```text
//! [file]   read at the start, replaced at the end
//! [lines]  an input a line
//! ```
//! For each feature that runs have covered, the corpus has the input whose run covered it first, or
//! clearly sooner than that of the input before. An input goes when others cover all that it was
//! kept for. Failing runs are not kept: what came after the failure is missing, and their command
//! repeats them.
//!
//! What to mutate is drawn by feature: the fewer runs have covered one, the likelier it is (Böhme
//! and others, "Boosting Fuzzer Efficiency: An Information Theoretic Perspective", 2020). So what
//! is rare is tried from until it is rare no more. What is common is not mutated: seeds find it
//! anyway, and each with other faults.

mod file;
mod lines;

use std::collections::BTreeMap;

use tidemill_stdx::rng::Rng;

use super::coverage::Feature;
use super::input::Input;

pub(super) use file::{read, replace};
pub(super) use lines::{ENTRIES_MAX, Limits, parse, print};

/// The weight of a feature that one run has had.
const WEIGHT: u64 = 1 << 20;

/// A feature is common if one of so many runs has it, or more.
const COMMON: u64 = 4;

/// A feature of a run, and when the run had it, in nanoseconds.
pub(super) type Reached = (Feature, u64);

/// The number of an input, in the order of their runs.
type Number = u64;

/// Inputs that cover what others do not.
#[derive(Debug, Default)]
pub(super) struct Corpus {
    inputs: BTreeMap<Number, Input>,
    /// By feature: the input that is kept for it, and when its run has it.
    kept_for: BTreeMap<Feature, (Number, u64)>,
    /// By feature: the number of runs that had it, kept or not.
    runs: BTreeMap<Feature, u64>,
    /// The number of all runs.
    all: u64,
    /// The number of the next input.
    next: Number,
}

/// Why an input is kept, or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// Its run covers something for the first time.
    New,
    /// Its run covers something clearly sooner.
    Sooner,
    /// It is not kept.
    Nothing,
}

impl Corpus {
    /// Counts a run.
    pub(super) fn count(&mut self, reached: &[Reached]) {
        self.all += 1;
        for (feature, _) in reached {
            *self.runs.entry(*feature).or_default() += 1;
        }
    }

    /// Keeps an input if its run has a feature that those of the others lack, or has one sooner by
    /// `margin_ns` or more. Inputs that it makes superfluous go.
    pub(super) fn add(&mut self, input: Input, reached: &[Reached], margin_ns: u64) -> Verdict {
        let is_new = reached.iter().any(|(feature, _)| !self.kept_for.contains_key(feature));
        let is_sooner = |(feature, at_ns): &Reached| {
            let other = self.kept_for.get(feature);
            other.is_some_and(|(_, other_ns)| at_ns.saturating_add(margin_ns) <= *other_ns)
        };
        let verdict = match (is_new, reached.iter().any(is_sooner)) {
            (true, _) => Verdict::New,
            (false, true) => Verdict::Sooner,
            (false, false) => return Verdict::Nothing,
        };
        if self.inputs.len() >= ENTRIES_MAX {
            return Verdict::Nothing;
        }
        let number = self.next;
        self.next += 1;
        self.inputs.insert(number, input);
        for &(feature, at_ns) in reached {
            let kept = self.kept_for.entry(feature).or_insert((number, at_ns));
            if at_ns < kept.1 {
                *kept = (number, at_ns);
            }
        }
        self.replace(number, reached);
        verdict
    }

    /// An input takes the place of each other whose features its run has as soon.
    fn replace(&mut self, number: Number, reached: &[Reached]) {
        let reached: BTreeMap<Feature, u64> = reached.iter().copied().collect();
        let is_as_soon = |feature: &Feature, at_ns: u64| {
            reached.get(feature).is_some_and(|own_ns| *own_ns <= at_ns)
        };
        let needed = self.kept_for.iter().filter(|(feature, (_, ns))| !is_as_soon(feature, *ns));
        let mut needed: Vec<Number> = needed.map(|(_, (other, _))| *other).collect();
        needed.push(number);
        needed.sort_unstable();
        let is_needed = |other: &Number| needed.binary_search(other).is_ok();
        self.inputs.retain(|other, _| is_needed(other));
        for (other, _) in self.kept_for.values_mut().filter(|(other, _)| !is_needed(other)) {
            *other = number;
        }
    }

    /// Draws an input to mutate, and the time by which its run has what it is drawn for; `None` if
    /// all is common.
    pub(super) fn pick(&self, random: &mut Rng) -> Option<(&Input, u64)> {
        let runs = |feature: &Feature| self.runs.get(feature).copied().unwrap_or(1);
        let is_rare = |feature: &Feature| runs(feature).saturating_mul(COMMON) < self.all;
        let rare = || self.kept_for.iter().filter(|(feature, _)| is_rare(feature));
        let weight = |feature: &Feature| WEIGHT / runs(feature) + 1;
        let mut left = random.below(rare().map(|(feature, _)| weight(feature)).sum());
        let drawn = rare().find(|(feature, _)| {
            let weight = weight(feature);
            let is_drawn = left < weight;
            left = left.saturating_sub(weight);
            is_drawn
        });
        let (_, (number, at_ns)) = drawn?;
        self.inputs.get(number).map(|input| (input, *at_ns))
    }

    /// The inputs, from the oldest to the newest, each with the features that it is kept for.
    pub(super) fn inputs(&self) -> impl Iterator<Item = (&Input, Vec<Feature>)> {
        self.inputs.iter().map(|(number, input)| {
            let kept = self.kept_for.iter().filter(|(_, (other, _))| other == number);
            (input, kept.map(|(feature, _)| *feature).collect())
        })
    }

    /// The number of inputs.
    pub(super) fn len(&self) -> usize {
        self.inputs.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::FaultOptions;

    fn input(seed: u64) -> Input {
        Input { nodes: 1, seed, faults: FaultOptions::default(), then: Vec::new() }
    }

    fn reached(rules: &[(u32, u64)]) -> Vec<Reached> {
        rules.iter().map(|(rule, at_ns)| (Feature::Derived(*rule), *at_ns)).collect()
    }

    fn kept(corpus: &Corpus) -> Vec<(u64, usize)> {
        corpus.inputs().map(|(input, kept)| (input.seed, kept.len())).collect()
    }

    #[test]
    fn what_adds_coverage_is_kept_and_what_is_superfluous_goes() {
        let mut corpus = Corpus::default();
        let mut add = |seed, rules: &[(u32, u64)]| {
            let verdict = corpus.add(input(seed), &reached(rules), 10);
            (verdict, kept(&corpus))
        };
        assert_eq!(add(1, &[(1, 50), (2, 50)]), (Verdict::New, vec![(1, 2)]));
        assert_eq!(add(2, &[(2, 41)]), (Verdict::Nothing, vec![(1, 2)]));
        assert_eq!(add(3, &[(2, 40)]), (Verdict::Sooner, vec![(1, 1), (3, 1)]));
        assert_eq!(add(4, &[(2, 45), (3, 60)]), (Verdict::New, vec![(1, 1), (3, 1), (4, 1)]));
        // It has all that 3 and 4 have as soon, but 1 has the first rule.
        assert_eq!(add(5, &[(2, 40), (3, 50), (4, 70)]), (Verdict::New, vec![(1, 1), (5, 3)]));
        assert_eq!(add(6, &[(1, 50), (2, 60), (5, 1)]), (Verdict::New, vec![(5, 3), (6, 2)]));
    }

    /// Of random coverage, all is kept, and each input is kept for something.
    #[test]
    fn a_corpus_covers_all_and_is_minimal() {
        let mut random = Rng::new(1);
        for _ in 0..200 {
            let (mut corpus, mut first) = (Corpus::default(), BTreeMap::new());
            for seed in 0..40 {
                let rules: BTreeMap<u32, u64> = (0..random.below(12))
                    .map(|_| (random.below(25) as u32, random.below(100)))
                    .collect();
                let rules = reached(&rules.into_iter().collect::<Vec<_>>());
                for (feature, at_ns) in &rules {
                    let soonest = first.entry(*feature).or_insert(*at_ns);
                    *soonest = (*soonest).min(*at_ns);
                }
                corpus.add(input(seed), &rules, 10);
            }
            assert!(corpus.kept_for.keys().eq(first.keys()));
            for (feature, (number, at_ns)) in &corpus.kept_for {
                assert!(corpus.inputs.contains_key(number) && *at_ns < first[feature] + 10);
            }
            assert!(corpus.inputs().all(|(_, kept)| !kept.is_empty()));
        }
    }

    #[test]
    fn what_is_rare_is_drawn_more_often_and_what_is_common_is_not() {
        let mut corpus = Corpus::default();
        assert_eq!(corpus.pick(&mut Rng::new(1)), None);
        for (seed, rule, runs) in [(1, 1, 1000), (2, 2, 10), (3, 3, 1)] {
            (0..runs).for_each(|_| corpus.count(&reached(&[(rule, 0)])));
            corpus.add(input(seed), &reached(&[(rule, seed)]), 1);
        }
        let (mut random, mut drawn) = (Rng::new(1), [0; 4]);
        for _ in 0..10_000 {
            let (input, at_ns) = corpus.pick(&mut random).expect("a rare feature");
            assert_eq!(input.seed, at_ns);
            drawn[at_ns as usize] += 1;
        }
        assert!(drawn[3] > 8500 && (500..1500).contains(&drawn[2]), "{drawn:?}");
        assert_eq!(drawn[1], 0);
        (0..1000)
            .for_each(|_| [2, 3].iter().for_each(|rule| corpus.count(&reached(&[(*rule, 0)]))));
        assert_eq!(corpus.pick(&mut random), None);
    }
}
