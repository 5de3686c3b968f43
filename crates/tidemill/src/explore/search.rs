//! The search through all states: breadth first by inputs, or depth first.
//!
//! For each visited state a hash is kept, and the step and state from which it was reached; the
//! states themselves only while they are in the frontier. A path is reconstructed by taking the
//! same steps from the start.

use std::sync::atomic::Ordering;

use super::locals::Failure;
use super::options::ExploreOptions;
use super::row::State;
use super::seen::Seen;
use super::steps::{Step, StepKind, Steps, Transition};

/// How a state was reached.
#[derive(Clone, Copy, Debug)]
struct Discovery {
    /// The number of the previous state; of the start its own.
    parent: u32,
    /// The index of the step, and its kind.
    step: u32,
}

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
}

/// The result of a search.
#[derive(Clone, Debug, Default)]
pub(super) struct Searched {
    /// The number of steps taken.
    pub(super) steps: u64,
    /// The number of states found.
    pub(super) distinct: u64,
    /// The maximum number of inputs.
    pub(super) depth: u32,
    pub(super) cut: Option<Cut>,
    /// The path to a failure.
    pub(super) failed: Option<Vec<Walked>>,
}

/// States of the frontier, stored one after the other.
#[derive(Default)]
struct Layer {
    words: Vec<u32>,
    /// The number of each state, and its end.
    states: Vec<(u32, usize)>,
}

impl Layer {
    fn push(&mut self, number: u32, state: &State) {
        self.words.extend_from_slice(state);
        self.states.push((number, self.words.len()));
    }

    /// The number of a state, which is copied to `state`.
    fn read(&self, at: usize, state: &mut Vec<u32>) -> Option<u32> {
        let (number, end) = *self.states.get(at)?;
        let start = at.checked_sub(1).map_or(0, |before| self.states[before].1);
        state.clear();
        state.extend_from_slice(&self.words[start..end]);
        Some(number)
    }

    fn pop(&mut self, state: &mut Vec<u32>) -> Option<u32> {
        let last = self.states.len().checked_sub(1)?;
        let number = self.read(last, state);
        self.words.truncate(self.words.len() - state.len());
        self.states.pop();
        number
    }

    fn bytes(&self) -> usize {
        self.words.capacity() * 4 + self.states.capacity() * 16
    }
}

/// The number of states between two checks of the limits.
const LOOK_EVERY: u64 = 1024;

/// A search in progress.
pub(super) struct Search<'s> {
    pub(super) steps: &'s mut Steps,
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

    /// Runs the search. The result is void if the order of rows turned out to be needed.
    pub(super) fn run(mut self) -> Searched {
        let start = self.steps.start(self.options);
        let mut first = Layer::default();
        self.add(&start, Discovery { parent: 0, step: 0 }, &mut first);
        if self.options.depth_first {
            self.depth_first(first)
        } else {
            self.breadth_first(first)
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
            let mut next = Layer::default();
            let is_last = self.options.depth == Some(self.searched.depth);
            for at in 0..layer.states.len() {
                let Some(number) = layer.read(at, &mut state) else { break };
                if is_last {
                    if self.goes_on(&state) {
                        self.searched.cut = Some(Cut::Depth);
                        return;
                    }
                    continue;
                }
                self.expand(&state, number, StepKind::Outside, &mut next);
                if self.is_over(&next) {
                    self.searched.depth += 1;
                    return;
                }
            }
            if next.states.is_empty() {
                return;
            }
            layer = next;
            self.searched.depth += 1;
        }
    }

    fn depth_first(&mut self, mut stack: Layer) {
        let (mut depths, mut state) = (vec![0], Vec::new());
        while let Some(number) = stack.pop(&mut state) {
            let depth = depths.pop().unwrap_or(0);
            self.searched.depth = self.searched.depth.max(depth);
            self.expand(&state, number, StepKind::Turns, &mut stack);
            depths.resize(stack.states.len(), depth);
            match self.options.depth == Some(depth) {
                true if self.goes_on(&state) => self.searched.cut = Some(Cut::Depth),
                true => {}
                false => self.expand(&state, number, StepKind::Outside, &mut stack),
            }
            depths.resize(stack.states.len(), depth + 1);
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
        let mut ordinal = 0;
        steps.each(state, which, &mut |steps, taken| {
            let how = Discovery { parent: number, step: code(ordinal, which) };
            ordinal += 1;
            searched.steps += 1;
            if let Some(failure) = taken.failure {
                *failed = Some((how, failure));
                return false;
            }
            if seen.insert(steps.hash(taken.state)) {
                searched.distinct += u64::from(!steps.is_before_start(taken.state));
                to.push(found.len() as u32, taken.state);
                found.push(how);
            }
            true
        });
    }

    fn add(&mut self, state: &State, how: Discovery, to: &mut Layer) {
        if self.seen.insert(self.steps.hash(state)) {
            self.searched.distinct += u64::from(!self.steps.is_before_start(state));
            to.push(self.found.len() as u32, state);
            self.found.push(how);
        }
    }

    /// Whether the search has to end.
    fn is_over(&mut self, waiting: &Layer) -> bool {
        if self.failed.is_some() || self.steps.locals.is_void() {
            return true;
        }
        self.looked += 1;
        if !self.looked.is_multiple_of(LOOK_EVERY) {
            return false;
        }
        let bytes = self.seen.bytes()
            + self.found.capacity() * size_of::<Discovery>()
            + 2 * waiting.bytes()
            + self.steps.locals.bytes();
        let ExploreOptions { memory_max, stop, .. } = self.options;
        // Relaxed: the flag publishes no other data.
        let is_stopped = stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        self.searched.cut = match () {
            () if is_stopped => Some(Cut::Interrupted),
            () if memory_max.is_some_and(|most| bytes as u64 > most) => Some(Cut::Memory),
            () if self.found.len() > (u32::MAX / 2) as usize => Some(Cut::Count),
            () => return false,
        };
        true
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

fn code(ordinal: u32, which: StepKind) -> u32 {
    ordinal << 1 | u32::from(which == StepKind::Outside)
}

fn decode(code: u32) -> (StepKind, u32) {
    let which = if code & 1 == 1 { StepKind::Outside } else { StepKind::Turns };
    (which, code >> 1)
}
