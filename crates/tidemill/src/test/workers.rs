//! Concurrent runs: each worker takes the next seed, and results are reported in the order of
//! seeds.

use std::collections::VecDeque;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::corpus;
use super::generator::{AHEAD, Generator};
use super::groups::Groups;
use super::input::Origin;
use super::report::{TestEvent, TestReport};
use super::schedule::Schedule;
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
    let schedule = Schedule::new(test, began);
    let (found, all) = mpsc::channel();
    thread::scope(|scope| {
        // Workers end when the receiver is dropped.
        let all = all;
        for worker in 0..workers {
            let (schedule, found) = (&schedule, found.clone());
            let work = move || {
                while let Some((number, origin, input)) = schedule.take() {
                    let Some(tried) = test.try_input(number, (origin, input)) else { break };
                    if found.send((number, tried)).is_err() {
                        break;
                    }
                }
            };
            let thread = thread::Builder::new().name(format!("test-{worker}"));
            if let Err(error) = thread.spawn_scoped(scope, work) {
                schedule.plan(None);
                return Err(Error::System(format!("no thread for a worker: {error}")));
            }
        }
        // Only the senders of the workers remain.
        drop(found);
        let mut results = Results {
            schedule: &schedule,
            generator: test.corpus().map(|read| Generator::new(test, read)),
            planned: 0,
            began,
            reported_at: began,
            waiting: VecDeque::new(),
            first: 0,
            report: TestReport { coverage: test.coverage(), ..TestReport::default() },
            groups: Groups::default(),
            on_event,
        };
        results.plan();
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
        let written = results.write_corpus(test);
        if test.options.shrinks && !results.report.interrupted {
            results.groups.report(test, results.on_event)?;
        }
        written.map(|()| results.report)
    })
}

/// The results of runs, which arrive in any order.
struct Results<'h> {
    schedule: &'h Schedule<'h>,
    /// Makes inputs, if there is a corpus.
    generator: Option<Generator<'h>>,
    /// The number of inputs that it has made.
    planned: u64,
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
        self.waiting.pop_front();
        self.first += 1;
        let report = &mut self.report;
        report.runs += 1;
        report.repeated += u64::from(tried.is_repeated);
        if tried.origin != Origin::Corpus {
            let seed = tried.input.last_seed();
            report.seeds = Some((report.seeds.map_or(seed, |(first, _)| first), seed));
        }
        if let Some(generator) = &mut self.generator {
            let reached = report.coverage.features(&tried.coverage, &tried.rule_times);
            generator.learn(&tried, &reached);
            report.corpus = Some(generator.figures());
        }
        report.coverage.add(&tried.coverage);
        if let Some(histories) = tried.histories {
            report.histories.get_or_insert_default().add(histories);
        }
        if let Some(failure) = &tried.failure {
            report.failures += 1;
            self.groups.add(failure, &tried.input);
            (self.on_event)(TestEvent::Failed(failure));
        }
        self.plan();
    }

    /// Plans runs, if there is a corpus.
    fn plan(&mut self) {
        let Some(generator) = &mut self.generator else { return };
        while self.planned < self.first + AHEAD {
            self.planned += 1;
            self.schedule.plan(generator.next());
        }
    }

    /// Replaces the file of the corpus, if there is one.
    ///
    /// # Errors
    /// It cannot be written.
    fn write_corpus(&self, test: &Trials) -> Result<(), Error> {
        match (&self.generator, &test.options.corpus) {
            (Some(generator), Some(path)) => {
                corpus::replace(path, &generator.text(&self.report.coverage))
            }
            _ => Ok(()),
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
