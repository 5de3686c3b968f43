//! States of all nodes and the network together, and the steps between them.
//!
//! A step changes one node of a state and a few messages.
//!
//! Turns are free: the length of a run is the number of inputs to its nodes. So the first
//! counterexample has the fewest inputs.

use super::actions::{Action, Effect};
use super::digest::{Digest, scattered};
use super::fingerprint::Digests;
use super::locals::{Failure, LocalId, Locals, Moved};
use super::options::ExploreOptions;
use super::orbits::Orbits;
use super::properties::ProjectionId;
use super::row::{BUDGETS, DONE, GROUP, HEADER, State, next_hash, plain_hash};
use super::seen::part;
use super::symmetry::Symmetry;
use super::turns::MessageId;

/// A step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Step {
    /// A node runs the turn of its first waiting event, or of all.
    Turn(u32),
    /// A message reaches its node.
    Deliver(MessageId),
    /// A timer of a node fires, one of those due next.
    Timer(u32, u32),
    /// The script's action of this number.
    Script(u32),
    /// A message is lost.
    Drop(MessageId),
    /// A message reaches its node, and stays in flight.
    Duplicate(MessageId),
    /// A node loses its state and restarts.
    Crash(u32),
}

/// A kind of steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StepKind {
    /// Turns that are steps of their own.
    Turns,
    /// Inputs.
    Outside,
}

/// A step from a state: the next state, and whether it fails.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transition<'s> {
    pub(super) step: Step,
    pub(super) state: &'s State,
    pub(super) failure: Option<Failure>,
}

/// Writes a state without one node and its sent messages.
type Base<'b> = &'b dyn Fn(&mut Vec<u32>);

/// Generates the steps from states.
pub(super) struct Steps {
    pub(super) locals: Locals,
    nodes: usize,
    reduction: bool,
    atomic: bool,
    /// Whether there are properties of all nodes.
    judges: bool,
    script: Vec<Action>,
    script_crashes: bool,
    symmetry: Option<Symmetry>,
    digests: Digests,
    /// Digests are needed.
    fingerprints: bool,
    next: Vec<u32>,
}

/// The remaining faults and timers, a byte each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Budgets {
    drops: u8,
    duplicates: u8,
    crashes: u8,
    timers: u8,
}

impl Budgets {
    fn of(word: u32) -> Budgets {
        let [drops, duplicates, crashes, timers] = word.to_le_bytes();
        Budgets { drops, duplicates, crashes, timers }
    }

    fn word(self) -> u32 {
        u32::from_le_bytes([self.drops, self.duplicates, self.crashes, self.timers])
    }
}

impl Steps {
    pub(super) fn new(
        mut locals: Locals,
        script: Vec<Action>,
        options: &ExploreOptions,
        symmetry: Option<Symmetry>,
    ) -> Steps {
        locals.orbits = symmetry.as_ref().map(|symmetry| Orbits::new(symmetry.all.clone()));
        Steps {
            nodes: options.nodes as usize,
            reduction: options.reduction,
            atomic: options.atomic_chains,
            judges: locals.turns.properties.is_some(),
            script_crashes: script.iter().any(|action| action.effect == Effect::Crash),
            script,
            locals,
            symmetry,
            digests: Digests::default(),
            fingerprints: options.fingerprint,
            next: Vec::new(),
        }
    }

    /// The same for another thread: numbers of states are shared.
    pub(super) fn for_thread(&self) -> Steps {
        Steps {
            locals: self.locals.for_thread(),
            nodes: self.nodes,
            reduction: self.reduction,
            atomic: self.atomic,
            judges: self.judges,
            script: self.script.clone(),
            script_crashes: self.script_crashes,
            symmetry: self.symmetry.as_ref().map(Symmetry::for_thread),
            digests: Digests::default(),
            fingerprints: self.fingerprints,
            next: Vec::new(),
        }
    }

    /// The initial state of all runs.
    pub(super) fn start(&mut self, options: &ExploreOptions) -> Vec<u32> {
        let nodes = 0..options.nodes;
        let mut state: Vec<u32> = nodes.map(|node| self.locals.start(node, None)).collect();
        let ExploreOptions { drops, duplicates, crashes, timers, .. } = *options;
        state.extend([Budgets { drops, duplicates, crashes, timers }.word(), 0, 0]);
        state
    }

    /// Turns the reduction off.
    pub(super) fn take_all(&mut self) {
        self.reduction = false;
    }

    /// Whether a step at a node includes all turns that follow.
    pub(super) fn is_atomic(&self) -> bool {
        self.atomic
    }

    /// The node that a step changes.
    pub(super) fn node_of(&self, step: Step) -> Option<u32> {
        match step {
            Step::Turn(node) | Step::Timer(node, _) | Step::Crash(node) => Some(node),
            Step::Deliver(message) | Step::Duplicate(message) => {
                Some(self.locals.turns.message(message).0)
            }
            Step::Script(action) => Some(self.script[action as usize].node),
            Step::Drop(_) => None,
        }
    }

    /// Whether a node crashes in a step.
    pub(super) fn is_crash(&self, step: Step) -> bool {
        match step {
            Step::Crash(_) => true,
            Step::Script(action) => self.script[action as usize].effect == Effect::Crash,
            _ => false,
        }
    }

    /// The messages in flight in a state.
    pub(super) fn messages<'s>(&self, state: &'s State) -> &'s [MessageId] {
        &state[self.nodes + HEADER..]
    }

    /// The script.
    pub(super) fn script(&self) -> &[Action] {
        &self.script
    }

    /// The state of a node.
    pub(super) fn local(&self, state: &State, node: u32) -> LocalId {
        state[node as usize]
    }

    /// The digest of a state that counts, or 0 if digests are not needed; where nodes are
    /// interchangeable, of the one that stands for all that differ by a permutation. `None` if runs
    /// pass through it only before they begin.
    pub(super) fn counted(&mut self, state: &State) -> Option<Digest> {
        if self.is_before_start(state) {
            return None;
        }
        if !self.fingerprints {
            return Some(0);
        }
        let Steps { symmetry, locals, digests, nodes, .. } = self;
        let sum = match symmetry {
            Some(symmetry) => symmetry.digest(locals, digests, state),
            None => {
                let (places, messages) = state.split_at(*nodes + HEADER);
                let (nodes, header) = places.split_at(*nodes);
                let header = (nodes.len() as u32..).zip(header).map(|(at, word)| part(at, *word));
                let mut sum = header.fold(0, u128::wrapping_add);
                for local in nodes {
                    sum = sum.wrapping_add(digests.local(locals, *local));
                }
                for message in messages {
                    sum = sum.wrapping_add(digests.message(locals, *message));
                }
                sum
            }
        };
        Some(scattered(sum))
    }

    /// The approximate memory that no other thread shares.
    pub(super) fn own_bytes(&self) -> usize {
        self.locals.own_bytes() + self.digests.bytes()
    }

    /// Whether runs pass through a state only before they begin: where nodes complete chains at
    /// once, an event waits at the start only.
    fn is_before_start(&self, state: &State) -> bool {
        self.atomic && state[..self.nodes].iter().any(|local| self.waits(*local))
    }

    /// The hash of a state; where nodes are interchangeable, the least of the states that differ by
    /// a permutation of nodes.
    pub(super) fn hash(&mut self, state: &State) -> u128 {
        match &mut self.symmetry {
            Some(symmetry) => symmetry.hash(&mut self.locals, state),
            None => plain_hash(state, self.nodes + HEADER),
        }
    }

    /// The hash of the state after a step from another, whose hash it is told.
    pub(super) fn hash_after(&mut self, before: (&State, u128), after: &State) -> u128 {
        match self.symmetry {
            Some(_) => self.hash(after),
            None => next_hash(before, after, self.nodes + HEADER),
        }
    }

    /// The hash from which [`hash_after`](Steps::hash_after) starts.
    pub(super) fn hash_before(&self, state: &State) -> u128 {
        if self.symmetry.is_some() { 0 } else { plain_hash(state, self.nodes + HEADER) }
    }

    fn waits(&self, local: LocalId) -> bool {
        !self.locals.get(local).inbox.is_empty()
    }

    /// A node whose turn is a sufficient set of steps from a state: no other step before it changes
    /// the turn, or is changed by it.
    fn foremost(&mut self, state: &State) -> Option<u32> {
        let budgets = Budgets::of(state[self.nodes + BUDGETS]);
        // A crash before the turn makes a different run.
        if !self.reduction || budgets.crashes > 0 || self.script_crashes {
            return None;
        }
        (0..self.nodes as u32).find(|node| {
            let local = state[*node as usize];
            let Some(&first) = self.locals.get(local).inbox.first() else { return false };
            let is_timer = self.locals.turns.events.timer(first).is_some();
            let meets_timers = is_timer || self.locals.follows_clock();
            let is_apart = budgets.timers == 0 || !meets_timers;
            let moves = if is_apart { Some(self.locals.moves(local)) } else { None };
            moves.is_some_and(|moves| {
                moves.iter().all(|moved| moved.is_silent && !self.shows(local, moved))
            })
        })
    }

    /// The node that starts next where nodes complete chains at once; `None` if their order is
    /// visible.
    fn next_to_start(&mut self, state: &State, waiting: &[u32]) -> Option<u32> {
        let mut waiting = waiting.iter().copied();
        waiting.find(|node| {
            let local = state[*node as usize];
            self.locals.chains(local).iter().all(|moved| !self.shows(local, moved))
        })
    }

    /// Whether a move of a node changes its projection.
    fn shows(&self, local: LocalId, moved: &Moved) -> bool {
        !moved.shows.is_empty() && {
            let before = self.locals.projection(local);
            moved.shows.iter().any(|projection| *projection != before)
        }
    }

    /// The failure of all nodes together as one of them goes through these projections, starting
    /// from a state.
    fn judge(&mut self, state: &State, node: u32, shows: &[ProjectionId]) -> Option<Failure> {
        if !self.judges {
            return None;
        }
        let Steps { locals, nodes, .. } = self;
        let before = locals.projection(state[node as usize]);
        if shows.iter().all(|projection| *projection == before) {
            return None;
        }
        let all = state[..*nodes].iter().map(|local| locals.projection(*local));
        let mut all: Vec<ProjectionId> = all.collect();
        shows.iter().find_map(|projection| {
            let before = std::mem::replace(&mut all[node as usize], *projection);
            if before == *projection {
                return None;
            }
            let failure = locals.turns.properties.as_mut()?.verdict(&all);
            if let Some(orbits) = &mut locals.orbits {
                orbits.judge(&mut locals.turns, &all, failure.is_some());
            }
            failure.map(Failure::Property)
        })
    }

    /// Calls `take` with all steps of a kind that a search takes from a state, in an order
    /// determined by the state, until it returns false.
    pub(super) fn each(
        &mut self,
        state: &State,
        which: StepKind,
        take: &mut dyn FnMut(&mut Steps, Transition<'_>) -> bool,
    ) {
        let mut next = std::mem::take(&mut self.next);
        match which {
            StepKind::Turns => self.each_turn(state, &mut next, take),
            StepKind::Outside => self.each_outside(state, &mut next, take),
        };
        self.next = next;
    }

    fn each_turn(
        &mut self,
        state: &State,
        next: &mut Vec<u32>,
        take: &mut dyn FnMut(&mut Steps, Transition<'_>) -> bool,
    ) -> bool {
        let waiting = |steps: &Steps, node: &u32| steps.waits(state[*node as usize]);
        let mut nodes: Vec<u32> = (0..self.nodes as u32).filter(|it| waiting(self, it)).collect();
        let only =
            if self.atomic { self.next_to_start(state, &nodes) } else { self.foremost(state) };
        if let Some(only) = only {
            nodes = vec![only];
        }
        nodes.into_iter().all(|node| {
            let local = state[node as usize];
            let moves =
                if self.atomic { self.locals.chains(local) } else { self.locals.moves(local) };
            moves.iter().all(|moved| {
                next.clear();
                next.extend_from_slice(state);
                self.put(next, node, moved);
                let failure = self.judge(state, node, &moved.shows).or(moved.failure);
                take(self, Transition { step: Step::Turn(node), state: next, failure })
            })
        })
    }

    fn each_outside(
        &mut self,
        state: &State,
        next: &mut Vec<u32>,
        take: &mut dyn FnMut(&mut Steps, Transition<'_>) -> bool,
    ) -> bool {
        let at_start = self.is_before_start(state);
        if at_start || self.foremost(state).is_some() {
            return true;
        }
        let budgets = Budgets::of(state[self.nodes + BUDGETS]);
        let fixed = self.nodes + HEADER;
        let mut last = None;
        for at in fixed..state.len() {
            let message = state[at];
            if last.replace(message) == Some(message) {
                continue;
            }
            let (node, event) = self.locals.turns.message(message);
            let without = |next: &mut Vec<u32>| {
                next.clear();
                next.extend_from_slice(&state[..at]);
                next.extend_from_slice(&state[at + 1..]);
            };
            let given = self.locals.give(state[node as usize], event);
            let goes_on = self.arrive(given, node, next, take, (Step::Deliver(message), &without));
            if !goes_on {
                return false;
            }
            if budgets.duplicates > 0 {
                let duplicates = budgets.duplicates - 1;
                let left = Budgets { duplicates, ..budgets }.word();
                let with = |next: &mut Vec<u32>| {
                    next.clear();
                    next.extend_from_slice(state);
                    next[budgets_at(fixed)] = left;
                };
                let step = Step::Duplicate(message);
                if !self.arrive(given, node, next, take, (step, &with)) {
                    return false;
                }
            }
            if budgets.drops > 0 {
                without(next);
                let drops = budgets.drops - 1;
                next[budgets_at(fixed)] = Budgets { drops, ..budgets }.word();
                let taken = Transition { step: Step::Drop(message), state: next, failure: None };
                if !take(self, taken) {
                    return false;
                }
            }
        }
        self.each_of_nodes(state, budgets, next, take) && self.each_of_script(state, next, take)
    }

    /// Timers and crashes.
    fn each_of_nodes(
        &mut self,
        state: &State,
        budgets: Budgets,
        next: &mut Vec<u32>,
        take: &mut dyn FnMut(&mut Steps, Transition<'_>) -> bool,
    ) -> bool {
        let budget = self.nodes + BUDGETS;
        (0..self.nodes as u32).all(|node| {
            let local = state[node as usize];
            let same = |left: u32| {
                move |next: &mut Vec<u32>| {
                    next.clear();
                    next.extend_from_slice(state);
                    next[budget] = left;
                }
            };
            if budgets.timers > 0 {
                let timers = budgets.timers - 1;
                let base = same(Budgets { timers, ..budgets }.word());
                let goes_on = self.locals.fire(local).iter().all(|&(timer, fired)| {
                    self.arrive(fired, node, next, take, (Step::Timer(node, timer), &base))
                });
                if !goes_on {
                    return false;
                }
            }
            if budgets.crashes == 0 {
                return true;
            }
            let crashes = budgets.crashes - 1;
            let base = same(Budgets { crashes, ..budgets }.word());
            let fresh = self.locals.start(node, Some(local));
            self.arrive(fresh, node, next, take, (Step::Crash(node), &base))
        })
    }

    fn each_of_script(
        &mut self,
        state: &State,
        next: &mut Vec<u32>,
        take: &mut dyn FnMut(&mut Steps, Transition<'_>) -> bool,
    ) -> bool {
        let (group, done) = (state[self.nodes + GROUP], state[self.nodes + DONE]);
        let first = self.script.partition_point(|action| action.group < group);
        let size = self.script[first..].iter().take_while(|it| it.group == group).count();
        (0..size).filter(|at| done & 1 << at == 0).all(|at| {
            let Action { node, ref effect, .. } = self.script[first + at];
            let local = state[node as usize];
            let moved = match *effect {
                Effect::Give(event) => self.locals.give(local, event),
                Effect::Crash => self.locals.start(node, Some(local)),
            };
            let done = done | 1 << at;
            let is_over = done.count_ones() as usize == size;
            let (place, position) =
                (self.nodes, if is_over { (group + 1, 0) } else { (group, done) });
            let base = |next: &mut Vec<u32>| {
                next.clear();
                next.extend_from_slice(state);
                (next[place + GROUP], next[place + DONE]) = position;
            };
            let step = Step::Script((first + at) as u32);
            self.arrive(moved, node, next, take, (step, &base))
        })
    }

    /// Takes a step that puts a node into another state; where nodes complete chains at once, it
    /// includes its turns. `base` writes the state without that.
    fn arrive(
        &mut self,
        local: LocalId,
        node: u32,
        next: &mut Vec<u32>,
        take: &mut dyn FnMut(&mut Steps, Transition<'_>) -> bool,
        (step, base): (Step, Base<'_>),
    ) -> bool {
        let shows = if self.judges { self.locals.projection(local) } else { 0 };
        if !self.atomic {
            base(next);
            let failure = self.judge(next, node, &[shows]);
            next[node as usize] = local;
            return take(self, Transition { step, state: next, failure });
        }
        self.locals.chains(local).iter().all(|moved| {
            base(next);
            let failure = self.judge(next, node, &[shows]);
            let failure = failure.or_else(|| self.judge(next, node, &moved.shows));
            self.put(next, node, moved);
            take(self, Transition { step, state: next, failure: failure.or(moved.failure) })
        })
    }

    /// Writes the result of a turn into a state.
    fn put(&self, state: &mut Vec<u32>, node: u32, moved: &Moved) {
        state[node as usize] = moved.local;
        let fixed = self.nodes + HEADER;
        for message in &moved.sends {
            let is_before = |other: &MessageId| {
                other == message || self.locals.turns.order(*other, *message).is_le()
            };
            let at = fixed + state[fixed..].partition_point(is_before);
            state.insert(at, *message);
        }
    }
}

/// The index of the budgets in a state with `fixed` places before the messages.
fn budgets_at(fixed: usize) -> usize {
    fixed - HEADER + BUDGETS
}
