//! Runs side by side: each worker takes the next seed, and all are heard in the order of seeds.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::groups::Groups;
use super::report::{TestEvent, TestReport};
use super::trial::{Trials, Tried};
use crate::error::Error;

/// How often progress is told.
const PROGRESS: Duration = Duration::from_millis(100);

/// Runs all seeds of a test.
pub(super) fn run(
    test: &Trials,
    began: Instant,
    hear: &mut dyn FnMut(TestEvent<'_>),
) -> Result<TestReport, Error> {
    let workers = if test.alone().is_some() { 1 } else { test.options.workers };
    let next = AtomicU64::new(0);
    let (found, all) = mpsc::channel();
    thread::scope(|scope| {
        // Workers end when nobody hears them.
        let all = all;
        for worker in 0..workers {
            let (next, found) = (&next, found.clone());
            let work = move || {
                while let Some(number) = take(test, next, began) {
                    let tried = test.try_seed(test.options.seeds.start() + number);
                    let Some(tried) = tried else { break };
                    if found.send((number, tried)).is_err() {
                        break;
                    }
                }
            };
            let thread = thread::Builder::new().name(format!("test-{worker}"));
            if let Err(error) = thread.spawn_scoped(scope, work) {
                return Err(Error::System(format!("no thread for a worker: {error}")));
            }
        }
        // What is left are those of the workers.
        drop(found);
        let mut heard = Heard {
            first_seed: *test.options.seeds.start(),
            began,
            told: began,
            waiting: VecDeque::new(),
            first: 0,
            report: TestReport { coverage: test.coverage(), ..TestReport::default() },
            groups: Groups::default(),
            hear,
        };
        loop {
            match all.recv_timeout(PROGRESS) {
                Ok((number, tried)) => heard.add(number, tried),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            heard.progress();
        }
        heard.release_all();
        heard.report.elapsed = began.elapsed();
        heard.report.interrupted = test.is_stopped();
        if test.options.shrinks && !heard.report.interrupted {
            heard.groups.report(test, heard.hear)?;
        }
        Ok(heard.report)
    })
}

/// The number of the next run, counted from 0, if there is to be one more.
fn take(test: &Trials, next: &AtomicU64, began: Instant) -> Option<u64> {
    let is_late = test.options.wall.is_some_and(|wall| began.elapsed() >= wall);
    if is_late || test.is_stopped() {
        return None;
    }
    let seeds = &test.options.seeds;
    // Relaxed: each gets another number, and nothing else is published with it.
    let number = next.fetch_add(1, Ordering::Relaxed);
    seeds.end().checked_sub(*seeds.start()).is_some_and(|most| number <= most).then_some(number)
}

/// What has been heard of runs, in any order.
struct Heard<'h> {
    first_seed: u64,
    began: Instant,
    /// When progress was told last.
    told: Instant,
    /// By number from `first` on: those that have ended while one before has not.
    waiting: VecDeque<Option<Tried>>,
    /// The least number of which nothing has been heard.
    first: u64,
    report: TestReport,
    groups: Groups,
    hear: &'h mut dyn FnMut(TestEvent<'_>),
}

impl Heard<'_> {
    fn add(&mut self, number: u64, tried: Tried) {
        let at = (number - self.first) as usize;
        if self.waiting.len() <= at {
            self.waiting.resize_with(at + 1, || None);
        }
        self.waiting[at] = Some(tried);
        while let Some(tried) = self.waiting.front_mut().and_then(Option::take) {
            self.release(tried);
        }
    }

    /// Counts the first of those that wait.
    fn release(&mut self, tried: Tried) {
        let seed = self.first_seed + self.first;
        self.waiting.pop_front();
        self.first += 1;
        let report = &mut self.report;
        report.runs += 1;
        report.coverage.add(&tried.coverage);
        report.repeated += u64::from(tried.is_repeated);
        report.seeds = Some((report.seeds.map_or(seed, |(first, _)| first), seed));
        if let Some(failure) = &tried.failure {
            report.failures += 1;
            self.groups.add(failure);
            (self.hear)(TestEvent::Failed(failure));
        }
    }

    /// Counts those that wait for one that was interrupted.
    fn release_all(&mut self) {
        while let Some(tried) = self.waiting.front_mut() {
            match tried.take() {
                Some(tried) => self.release(tried),
                None => {
                    self.waiting.pop_front();
                    self.first += 1;
                }
            }
        }
    }

    fn progress(&mut self) {
        if self.told.elapsed() >= PROGRESS {
            (self.told, self.report.elapsed) = (Instant::now(), self.began.elapsed());
            (self.hear)(TestEvent::Progress(&self.report));
        }
    }
}
