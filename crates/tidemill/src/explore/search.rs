//! The search through all states: breadth first by inputs, or depth first.
//!
//! For each visited state a hash is kept, and the step and state from which it was reached; the
//! states themselves only while they are in the frontier. A path is reconstructed by taking the
//! same steps from the start.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use super::digest::Digest;
use super::layer::{Discovery, Layer, code, decode};
use super::locals::{Failure, Void};
use super::options::ExploreOptions;
use super::round::{Results, Round};
use super::row::State;
use super::seen::Seen;
use super::sharded::{Place, Sharded};
use super::steps::{Step, StepKind, Steps, Transition};

/// A step of a path.
#[derive(Clone, Debug)]
pub(super) struct Walked {
    pub(super) step: Step,
    pub(super) before: Vec<u32>,
    pub(super) after: Vec<u32>,
    pub(super) failure: Option<Failure>,
}

/// Why a search ended early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cut {
    Depth,
    Memory,
    Interrupted,
    /// More states than numbers.
    Count,
    /// More states than asked for.
    Distinct,
}

/// The result of a search.
#[derive(Clone, Debug, Default)]
pub(super) struct Searched {
    /// The number of steps taken.
    pub(super) steps: u64,
    /// The number of states found.
    pub(super) distinct: u64,
    /// The sum of their digests.
    pub(super) fingerprint: Digest,
    /// The maximum number of inputs.
    pub(super) depth: u32,
    pub(super) cut: Option<Cut>,
    /// Why the result is void, if it is.
    pub(super) void: Option<Void>,
    /// The path to a failure.
    pub(super) failed: Option<Vec<Walked>>,
}

impl Searched {
    /// Counts a state with this digest, if it counts.
    fn count(&mut self, state: Option<Digest>) {
        self.distinct += u64::from(state.is_some());
        self.fingerprint = self.fingerprint.wrapping_add(state.unwrap_or_default());
    }
}

/// The number of states between two checks of the limits.
const LOOK_EVERY: u64 = 1024;

/// The maximum number of states that have numbers.
const FOUND_MAX: usize = (u32::MAX / 2) as usize;

/// A search in progress.
pub(super) struct Search<'s> {
    steps: &'s mut Steps,
    options: &'s ExploreOptions,
    seen: Seen,
    found: Vec<Discovery>,
    searched: Searched,
    failed: Option<(Discovery, Failure)>,
    looked: u64,
}

impl<'s> Search<'s> {
    pub(super) fn new(steps: &'s mut Steps, options: &'s ExploreOptions) -> Search<'s> {
        let (seen, found) = (Seen::new(), Vec::new());
        let searched = Searched::default();
        Search { steps, options, seen, found, searched, failed: None, looked: 0 }
    }

    /// Runs the search.
    pub(super) fn run(mut self) -> Searched {
        let start = self.steps.start(self.options);
        let mut first = Layer::default();
        self.add(&start, Discovery { parent: 0, step: 0 }, &mut first);
        match (self.options.depth_first, self.options.workers) {
            (true, _) => self.depth_first(first),
            (false, 0 | 1) => self.breadth_first(first),
            (false, workers) => self.divided(first, workers as usize),
        }
        if self.searched.void.is_none() {
            self.searched.void = self.steps.locals.void();
        }
        if self.searched.void.is_some() {
            return self.searched;
        }
        if let Some((found, failure)) = self.failed {
            self.searched.failed = Some(self.path(start, found, failure));
        }
        self.searched
    }

    fn breadth_first(&mut self, mut layer: Layer) {
        let mut state = Vec::new();
        loop {
            let mut at = 0;
            while let Some(number) = layer.read(at, &mut state) {
                self.expand(&state, number, StepKind::Turns, &mut layer);
                if self.is_over(&layer) {
                    return;
                }
                at += 1;
            }
            if self.is_deepest(&layer) {
                return;
            }
            let mut next = Layer::default();
            for at in 0..layer.len() {
                let Some(number) = layer.read(at, &mut state) else { break };
                self.expand(&state, number, StepKind::Outside, &mut next);
                if self.is_over(&next) {
                    self.searched.depth += 1;
                    return;
                }
            }
            if next.len() == 0 {
                return;
            }
            layer = next;
            self.searched.depth += 1;
        }
    }

    /// Whether the search goes no deeper, by its options.
    fn is_deepest(&mut self, layer: &Layer) -> bool {
        let is_deepest = self.options.depth == Some(self.searched.depth);
        let mut all = (0..layer.len()).filter_map(|at| layer.get(at));
        if is_deepest && all.any(|(_, state)| self.goes_on(state)) {
            self.searched.cut = Some(Cut::Depth);
        }
        is_deepest
    }

    /// Breadth first by several threads, with the result of one.
    fn divided(&mut self, mut layer: Layer, workers: usize) {
        let mut seen = Sharded::new(std::mem::replace(&mut self.seen, Seen::new()));
        let mut others: Vec<Steps> = (1..workers).map(|_| self.steps.for_thread()).collect();
        loop {
            let mut at = 0;
            while at < layer.len() {
                let end = layer.len();
                let mut next = Layer::default();
                let round = (&layer, at..end, StepKind::Turns);
                let is_over = self.round(round, &mut seen, &mut others, &mut next);
                (0..next.len()).filter_map(|at| next.get(at)).for_each(|(number, state)| {
                    layer.push(number, state);
                });
                if is_over {
                    return;
                }
                at = end;
            }
            if self.is_deepest(&layer) {
                return;
            }
            let mut next = Layer::default();
            let round = (&layer, 0..layer.len(), StepKind::Outside);
            let is_over = self.round(round, &mut seen, &mut others, &mut next);
            if is_over || next.len() > 0 {
                self.searched.depth += 1;
            }
            if is_over || next.len() == 0 {
                return;
            }
            layer = next;
        }
    }

    /// Takes the steps of a round by several threads; returns whether the search has to end.
    fn round(
        &mut self,
        (layer, states, which): (&Layer, Range<usize>, StepKind),
        seen: &mut Sharded,
        others: &mut [Steps],
        to: &mut Layer,
    ) -> bool {
        let bytes = seen.bytes() + layer.bytes() + self.own_bytes(others);
        let ended = Mutex::new(None);
        let is_over = |taken: usize| {
            let cut = cut(self.options, bytes + taken * 3);
            *ended.lock().unwrap_or_else(PoisonError::into_inner) = cut;
            cut.is_some()
        };
        let round = Round { layer, states, which, seen, is_over: &is_over };
        let Results { chunks, late, is_cut } = round.run(self.steps, others);
        let first = layer;
        for chunk in chunks {
            self.searched.steps += chunk.steps;
            let how = |place: Place| Discovery {
                parent: first.get(place.at as usize).map_or(0, |(number, _)| number),
                step: place.step,
            };
            for (at, (place, digest)) in chunk.reached.iter().enumerate() {
                let Some((_, state)) = chunk.found.get(at) else { break };
                if late.contains(place) {
                    continue;
                }
                self.searched.count(*digest);
                to.push(self.found.len() as u32, state);
                self.found.push(how(*place));
            }
            self.failed = chunk.failed.map(|(place, failure)| (how(place), failure));
            self.searched.void = chunk.void;
        }
        seen.end_round();
        if is_cut {
            self.searched.cut = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
        }
        let full = self.full();
        self.searched.cut = full.or(self.searched.cut);
        is_cut || full.is_some() || self.failed.is_some() || self.searched.void.is_some()
    }

    /// The memory of the search but for states that wait and hashes.
    fn own_bytes(&self, others: &[Steps]) -> usize {
        let others: usize = others.iter().map(Steps::own_bytes).sum();
        let own = self.steps.locals.shared_bytes() + self.steps.own_bytes();
        self.found.capacity() * size_of::<Discovery>() + own + others
    }

    fn depth_first(&mut self, mut stack: Layer) {
        let (mut depths, mut state) = (vec![0], Vec::new());
        while let Some(number) = stack.pop(&mut state) {
            let depth = depths.pop().unwrap_or(0);
            self.searched.depth = self.searched.depth.max(depth);
            self.expand(&state, number, StepKind::Turns, &mut stack);
            depths.resize(stack.len(), depth);
            match self.options.depth == Some(depth) {
                true if self.goes_on(&state) => self.searched.cut = Some(Cut::Depth),
                true => {}
                false => self.expand(&state, number, StepKind::Outside, &mut stack),
            }
            depths.resize(stack.len(), depth + 1);
            if self.is_over(&stack) {
                return;
            }
        }
    }

    /// Whether an input is possible in a state.
    fn goes_on(&mut self, state: &State) -> bool {
        let mut goes_on = false;
        self.steps.each(state, StepKind::Outside, &mut |_, _| {
            goes_on = true;
            false
        });
        goes_on
    }

    /// Takes the steps of a kind from a state.
    fn expand(&mut self, state: &State, number: u32, which: StepKind, to: &mut Layer) {
        let Search { steps, seen, found, searched, failed, .. } = self;
        let (mut ordinal, before) = (0, (state, steps.hash_before(state)));
        steps.each(state, which, &mut |steps, taken| {
            let how = Discovery { parent: number, step: code(ordinal, which) };
            ordinal += 1;
            searched.steps += 1;
            if let Some(failure) = taken.failure {
                *failed = Some((how, failure));
                return false;
            }
            if seen.insert(steps.hash_after(before, taken.state)) {
                searched.count(steps.counted(taken.state));
                to.push(found.len() as u32, taken.state);
                found.push(how);
            }
            true
        });
    }

    fn add(&mut self, state: &State, how: Discovery, to: &mut Layer) {
        if self.seen.insert(self.steps.hash(state)) {
            self.searched.count(self.steps.counted(state));
            to.push(self.found.len() as u32, state);
            self.found.push(how);
        }
    }

    /// Whether the search has to end.
    fn is_over(&mut self, waiting: &Layer) -> bool {
        if self.failed.is_some() || self.steps.locals.is_void() {
            return true;
        }
        self.searched.cut = self.full().or(self.searched.cut);
        self.looked += 1;
        if self.looked.is_multiple_of(LOOK_EVERY) {
            let bytes = self.seen.bytes() + 2 * waiting.bytes() + self.own_bytes(&[]);
            self.searched.cut = cut(self.options, bytes).or(self.searched.cut);
        }
        self.searched.cut.is_some_and(|cut| cut != Cut::Depth)
    }

    /// Why the search has found enough states, if it has.
    fn full(&self) -> Option<Cut> {
        let is_beyond = |most: u64| self.searched.distinct > most;
        let is_beyond = self.options.distinct_max.is_some_and(is_beyond);
        let is_full = self.found.len() > FOUND_MAX;
        is_full.then_some(Cut::Count).or(is_beyond.then_some(Cut::Distinct))
    }

    /// The path to a step that fails.
    fn path(&mut self, start: Vec<u32>, last: Discovery, failure: Failure) -> Vec<Walked> {
        let mut codes = vec![last.step];
        let mut at = last.parent;
        while at > 0 {
            let Discovery { parent, step } = self.found[at as usize];
            codes.push(step);
            at = parent;
        }
        let mut before = start;
        let mut path = Vec::new();
        for step in codes.into_iter().rev() {
            let (which, ordinal) = decode(step);
            let mut left = ordinal;
            let mut walked = None;
            self.steps.each(&before, which, &mut |_, Transition { step, state, failure }| {
                if left == 0 {
                    let after = state.to_vec();
                    walked = Some(Walked { step, before: before.clone(), after, failure });
                }
                left = left.wrapping_sub(1);
                walked.is_none()
            });
            let Some(walked) = walked else { break };
            before.clone_from(&walked.after);
            path.push(walked);
        }
        debug_assert_eq!(path.last().and_then(|walked| walked.failure), Some(failure));
        path
    }
}

/// Why a search that uses this much memory has to end, if it has.
fn cut(options: &ExploreOptions, bytes: usize) -> Option<Cut> {
    let ExploreOptions { memory_max, stop, .. } = options;
    // Relaxed: the flag publishes no other data.
    let is_stopped = stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
    match () {
        () if is_stopped => Some(Cut::Interrupted),
        () if memory_max.is_some_and(|most| bytes as u64 > most) => Some(Cut::Memory),
        () => None,
    }
}
