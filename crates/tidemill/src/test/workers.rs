//! Concurrent runs: each worker takes the next seed, and results are reported in the order of
//! seeds.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::groups::Groups;
use super::report::{TestEvent, TestReport};
use super::trial::{Trials, Tried};
use crate::error::Error;

/// The period of progress reports.
const PROGRESS: Duration = Duration::from_millis(100);

/// Runs all seeds of a test.
pub(super) fn run(
    test: &Trials,
    began: Instant,
    on_event: &mut dyn FnMut(TestEvent<'_>),
) -> Result<TestReport, Error> {
    let workers = if test.alone().is_some() { 1 } else { test.options.workers };
    let next = AtomicU64::new(0);
    let (found, all) = mpsc::channel();
    thread::scope(|scope| {
        // Workers end when the receiver is dropped.
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
        // Only the senders of the workers remain.
        drop(found);
        let mut results = Results {
            first_seed: *test.options.seeds.start(),
            began,
            reported_at: began,
            waiting: VecDeque::new(),
            first: 0,
            report: TestReport { coverage: test.coverage(), ..TestReport::default() },
            groups: Groups::default(),
            on_event,
        };
        loop {
            match all.recv_timeout(PROGRESS) {
                Ok((number, tried)) => results.add(number, tried),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            results.progress();
        }
        results.release_all();
        results.report.elapsed = began.elapsed();
        results.report.interrupted = test.is_stopped();
        if test.options.shrinks && !results.report.interrupted {
            results.groups.report(test, results.on_event)?;
        }
        Ok(results.report)
    })
}

/// The number of the next run, from 0, if there is to be another.
fn take(test: &Trials, next: &AtomicU64, began: Instant) -> Option<u64> {
    let is_late = test.options.wall.is_some_and(|wall| began.elapsed() >= wall);
    if is_late || test.is_stopped() {
        return None;
    }
    let seeds = &test.options.seeds;
    // Relaxed: each worker gets a unique number, and no other data is published.
    let number = next.fetch_add(1, Ordering::Relaxed);
    seeds.end().checked_sub(*seeds.start()).is_some_and(|most| number <= most).then_some(number)
}

/// The results of runs, which arrive in any order.
struct Results<'h> {
    first_seed: u64,
    began: Instant,
    /// The time of the last progress report.
    reported_at: Instant,
    /// By number from `first` on: results that wait for an earlier run.
    waiting: VecDeque<Option<Tried>>,
    /// The least number without a result.
    first: u64,
    report: TestReport,
    groups: Groups,
    on_event: &'h mut dyn FnMut(TestEvent<'_>),
}

impl Results<'_> {
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

    /// Counts the first result and all that waited for it.
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
            (self.on_event)(TestEvent::Failed(failure));
        }
    }

    /// Counts the results that wait for an interrupted run.
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
        if self.reported_at.elapsed() >= PROGRESS {
            (self.reported_at, self.report.elapsed) = (Instant::now(), self.began.elapsed());
            (self.on_event)(TestEvent::Progress(&self.report));
        }
    }
}
