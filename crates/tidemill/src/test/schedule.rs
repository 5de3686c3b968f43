//! Which run a worker does next.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::input::{Input, Origin};
use super::trial::Trials;

/// How often a waiting worker looks whether the test has to end.
const LOOKED_AFTER: Duration = Duration::from_millis(20);

/// The runs that are to be done. Without a corpus the next one is that of the next seed; with a
/// corpus, the first one that was planned.
pub(super) struct Schedule<'t> {
    test: &'t Trials,
    began: Instant,
    state: Mutex<State>,
    /// A run was planned, or the last one has been.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The number of runs handed out.
    taken: u64,
    planned: VecDeque<(Origin, Input)>,
    is_complete: bool,
}

impl<'t> Schedule<'t> {
    pub(super) fn new(test: &'t Trials, began: Instant) -> Schedule<'t> {
        Schedule { test, began, state: Mutex::default(), changed: Condvar::new() }
    }

    /// The next run with its number, from 0; waits until it is planned. `None` after the last one,
    /// or if the test has to end.
    pub(super) fn take(&self) -> Option<(u64, Origin, Input)> {
        let mut state = self.lock();
        loop {
            let is_late = self.test.options.wall.is_some_and(|wall| self.began.elapsed() >= wall);
            if is_late || self.test.is_stopped() {
                return None;
            }
            let number = state.taken;
            let next = match self.test.corpus() {
                None => {
                    let seeds = &self.test.options.seeds;
                    let seed = seeds.start().checked_add(number).filter(|it| seeds.contains(it))?;
                    Some((Origin::Seed, self.test.of_seed(seed)))
                }
                Some(_) => state.planned.pop_front(),
            };
            if let Some((origin, input)) = next {
                state.taken += 1;
                return Some((number, origin, input));
            }
            if state.is_complete {
                return None;
            }
            let waited = self.changed.wait_timeout(state, LOOKED_AFTER);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Plans a run after the others; `None`: there is no further one.
    pub(super) fn plan(&self, next: Option<(Origin, Input)>) {
        let mut state = self.lock();
        match next {
            Some(next) => state.planned.push_back(next),
            None => state.is_complete = true,
        }
        drop(state);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
