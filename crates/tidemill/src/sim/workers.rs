//! Several workers: each runs some of the nodes on a machine of its own, in a thread of its own.
//!
//! An action of a node affects others no sooner than after the minimum latency, so all workers may
//! run at once what is due within that time after the first due event (a *window*), and then
//! exchange the sent datagrams (Chandy and Misra, 1979; with windows, Lubachevsky, 1989):
//!
//! ```text
//! worker 0   | publish . wait . take mail . run the window | publish . wait ...
//! worker 1   | publish . wait . take mail . run the window | publish . wait ...
//!                               worker 0 writes what all have written in the window before
//! ```
//! All machines perform the same script and churn: each applies it to its own nodes, and records it
//! for the others. So workers need not ask each other.
//!
//! When something ends the run in the middle of a window, other workers are past that time; then
//! the run is repeated up to exactly that time, so that all figures are consistent.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use tidemill_event::{Departure, Loop, Outcome, Time};

use super::alone::least_latency_ns;
use super::barrier::{Barrier, Guard};
use super::end;
use super::setup::Setup;
use crate::console::Console;
use crate::error::Error;
use crate::history::History;
use crate::journal::Journal;
use crate::left::leave;
use crate::lines::{Lines, WrittenLines};
use crate::machine::Machine;
use crate::machine::share::Share;
use crate::profile::Profile;
use crate::run::Report;
use crate::sim::SimOptions;
use crate::summary::Summary;

/// The state that a worker publishes before each barrier.
#[derive(Default)]
struct Published {
    /// The earliest time of its events and sent datagrams; `None` if there are none.
    due: Option<Time>,
    /// The time that it has reached.
    now: Time,
    /// It has stopped at that time.
    is_stopped: bool,
    /// It was interrupted from outside.
    is_interrupted: bool,
    /// Its error.
    failure: Option<String>,
    /// One of its nodes never rests: see [`Sim::pushes`](tidemill_event::Sim::pushes).
    never_rests: bool,
    /// The output of its nodes.
    lines: Lines,
}

/// Why the windows end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WindowsEnd {
    /// The end of the run is reached.
    Reached,
    /// Nothing is left to do.
    Idle,
    /// The run was ended at this time, and no worker is past it.
    Stopped(Time),
    /// The run was ended at this time, and a worker is past it.
    Passed(Time),
    Interrupted,
    NeverRests,
    Failed,
}

/// The shared state of workers. There are two of each, used alternately, as one worker may be a
/// window ahead of another.
struct Shared {
    barrier: Barrier,
    published: [Vec<Mutex<Published>>; 2],
    mail: [Vec<Mutex<Vec<Departure>>>; 2],
    least_latency_ns: u64,
    end: Option<Time>,
}

/// The result of a worker.
struct Ended {
    over: WindowsEnd,
    summary: Summary,
    report: Report,
    history: History,
    /// What nodes write at their end, by worker.
    last: Vec<Lines>,
}

/// Writes the output of all workers.
struct Writing {
    console: Console,
    /// The number of lines written by an earlier attempt.
    skip: u64,
    so_far: WrittenLines,
}

/// Runs the nodes of a setup on several workers.
///
/// # Errors
/// As [`Setup::run`].
pub(super) fn run(setup: Setup, workers: u32, console: Console) -> Result<Report, Error> {
    let least_latency_ns = least_latency_ns(&setup);
    let mut setup = setup;
    let mut writing = Writing { console, skip: 0, so_far: WrittenLines::default() };
    loop {
        let ended = attempt(&setup, (workers, least_latency_ns), &mut writing)?;
        match ended.over {
            WindowsEnd::Passed(at) => {
                setup.common.options.end_ns = Some(at.0);
                writing.skip = std::mem::take(&mut writing.so_far).lines;
            }
            WindowsEnd::NeverRests => {
                let reason = "a node never comes to rest";
                writing.console.note(format_args!("tidemill: one worker only: {reason}"));
                return setup.go_on(writing.console, writing.so_far.lines);
            }
            over => {
                let Ended { mut summary, mut report, history, mut last, .. } = ended;
                let SimOptions { end_ns, seed, .. } = setup.common.options;
                match (over, end_ns) {
                    (WindowsEnd::Stopped(at), _) => summary.elapsed_ns = at.0,
                    (WindowsEnd::Reached, Some(end_ns)) => summary.elapsed_ns = end_ns,
                    _ => {}
                }
                summary.violations = writing.so_far.violations;
                summary.seed = Some(seed);
                summary.interrupted =
                    over == WindowsEnd::Interrupted && !writing.console.has_failed();
                writing.write_last(&mut last);
                let model = setup.common.options.linearizable.as_ref();
                end::check(history, model, &mut summary, &mut writing.console);
                end::write(summary, &mut writing.console, &mut report);
                return Ok(report);
            }
        }
    }
}

/// Runs until the end, or until the attempt has to be repeated.
fn attempt(
    setup: &Setup,
    (workers, least_latency_ns): (u32, u64),
    writing: &mut Writing,
) -> Result<Ended, Error> {
    let count = workers as usize;
    let published = || (0..count).map(|_| Mutex::default()).collect();
    let mail = || (0..count).map(|_| Mutex::default()).collect();
    let shared = Shared {
        barrier: Barrier::of(count),
        published: [published(), published()],
        mail: [mail(), mail()],
        least_latency_ns,
        end: setup.common.options.end_ns.map(Time),
    };
    let form = writing.console.form();
    thread::scope(|scope| {
        let shared = &shared;
        let mut others = Vec::new();
        for me in 1..workers {
            let part = setup.of_part(Share { me, parts: workers });
            let thread = thread::Builder::new().name(format!("worker-{me}"));
            let work = move || work(part, Journal::of_part(form), shared, None);
            match thread.spawn_scoped(scope, work) {
                Ok(started) => others.push(started),
                Err(error) => {
                    drop(Guard(&shared.barrier));
                    return Err(Error::System(format!("no thread for a worker: {error}")));
                }
            }
        }
        let part = setup.of_part(Share { me: 0, parts: workers });
        let mine = work(part, Journal::of_part(form), shared, Some(writing));
        let mut ended = vec![mine];
        for other in others {
            match other.join() {
                Ok(other) => ended.push(other),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        let ended: Result<Vec<Ended>, Error> = ended.into_iter().collect();
        let mut ended = ended?.into_iter();
        let first = ended.next().ok_or_else(|| Error::system("no workers"))?;
        Ok(ended.fold(first, Ended::with))
    })
}

impl Ended {
    /// Combines the results of two workers.
    fn with(mut self, mut other: Ended) -> Ended {
        self.summary.add(&other.summary);
        self.history.add(other.history);
        self.last.append(&mut other.last);
        self.report.add_part(other.report);
        self
    }
}

/// The thread of a worker.
fn work(
    part: Setup,
    journal: Journal,
    shared: &Shared,
    mut writing: Option<&mut Writing>,
) -> Result<Ended, Error> {
    let _guard = Guard(&shared.barrier);
    let me = part.share.me as usize;
    let stop = part.common.options.stop.clone().unwrap_or_default();
    let SimOptions { profile: is_profiled, ends_process, .. } = part.common.options;
    let (mut machine, mut events) = part.build(journal)?;
    let mut outcome = Outcome::Reached;
    let over = (0..).find_map(|window: usize| {
        let turn = window % 2;
        let mut published = publish(&mut machine, &mut events, &shared.mail[turn]);
        // Relaxed: the flag publishes no other data.
        published.is_interrupted = stop.load(Ordering::Relaxed);
        published.is_stopped = matches!(outcome, Outcome::Stopped);
        if let Outcome::Failed(error) = &outcome {
            published.failure = Some(error.to_string());
        }
        let has_failed = |writing: &&mut Writing| writing.console.has_failed();
        published.is_interrupted |= writing.as_ref().is_some_and(has_failed);
        *lock(&shared.published[turn][me]) = published;
        if shared.barrier.wait().is_err() {
            return Some(WindowsEnd::Failed);
        }
        let next = shared.next(turn);
        // Another attempt writes the output of this window.
        let is_void = matches!(next, Err(WindowsEnd::Passed(_) | WindowsEnd::NeverRests));
        if let Some(writing) = writing.as_mut().filter(|_| !is_void) {
            writing.write(&shared.published[turn]);
        }
        match next {
            Err(over) => Some(over),
            Ok(last) => {
                let mail = std::mem::take(&mut *lock(&shared.mail[turn][me]));
                if let Some(sim) = events.host().sim() {
                    sim.arrive(mail);
                }
                outcome = events.run_through(&mut machine, last);
                None
            }
        }
    });
    let over = over.unwrap_or(WindowsEnd::Failed);
    if over == WindowsEnd::Failed {
        return Err(shared.failure());
    }
    let profile = is_profiled.then(|| Profile::of(&machine.fleet));
    let mut report = Report { profile, ..Report::default() };
    let summary = end::sum_up(&mut machine, &mut events, &mut report);
    let (history, last) = {
        let mut journal = machine.journal.get_mut();
        (journal.take_history(), vec![journal.take_lines()])
    };
    leave((machine, events), ends_process && over == WindowsEnd::Interrupted);
    Ok(Ended { over, summary, report, history, last })
}

/// Sends the datagrams for other workers; returns the state to publish.
fn publish(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    mail: &[Mutex<Vec<Departure>>],
) -> Published {
    let mut due = events.next_due();
    let mut never_rests = false;
    if let Some(sim) = events.host().sim() {
        never_rests = sim.pushes() > 0;
        let mut sorted: Vec<Vec<Departure>> = mail.iter().map(|_| Vec::new()).collect();
        for departure in sim.departures() {
            due = due.into_iter().chain([departure.arrival()]).min();
            sorted[usize::from(departure.part())].push(departure);
        }
        for (to, departures) in mail.iter().zip(sorted) {
            if !departures.is_empty() {
                lock(to).extend(departures);
            }
        }
    }
    let lines = machine.journal.get_mut().take_lines();
    Published { due, now: events.now(), never_rests, lines, ..Published::default() }
}

impl Shared {
    /// The last time of the next window, or why there is none. All workers get the same result.
    fn next(&self, turn: usize) -> Result<Time, WindowsEnd> {
        let (mut due, mut stopped, mut now) = (None::<Time>, None::<Time>, Time::ZERO);
        let (mut is_interrupted, mut has_failed, mut never_rests) = (false, false, false);
        for published in &self.published[turn] {
            let published = lock(published);
            due = due.into_iter().chain(published.due).min();
            now = now.max(published.now);
            is_interrupted |= published.is_interrupted;
            has_failed |= published.failure.is_some();
            never_rests |= published.never_rests;
            if published.is_stopped {
                stopped = stopped.into_iter().chain([published.now]).min();
            }
        }
        match (stopped, due) {
            _ if has_failed => Err(WindowsEnd::Failed),
            _ if is_interrupted => Err(WindowsEnd::Interrupted),
            _ if never_rests => Err(WindowsEnd::NeverRests),
            (Some(at), _) if now > at => Err(WindowsEnd::Passed(at)),
            (Some(at), _) => Err(WindowsEnd::Stopped(at)),
            (None, None) if self.end.is_some() => Err(WindowsEnd::Reached),
            (None, None) => Err(WindowsEnd::Idle),
            (None, Some(due)) if self.end.is_some_and(|end| due > end) => Err(WindowsEnd::Reached),
            (None, Some(due)) => {
                let last = Time(due.0.saturating_add(self.least_latency_ns - 1));
                Ok(self.end.map_or(last, |end| last.min(end)))
            }
        }
    }

    /// The error of the worker that failed.
    fn failure(&self) -> Error {
        let failures = self.published.iter().flatten().filter_map(|it| lock(it).failure.clone());
        let failure = failures.last().unwrap_or_else(|| "a worker has ended".to_owned());
        Error::System(format!("the simulation cannot run: {failure}"))
    }
}

impl Writing {
    /// Writes the output of a window.
    fn write(&mut self, published: &[Mutex<Published>]) {
        let take = |published: &Mutex<Published>| std::mem::take(&mut lock(published).lines);
        let mut lines: Vec<Lines> = published.iter().map(take).collect();
        Lines::write(&mut lines, &mut self.console, self.skip, &mut self.so_far);
    }

    /// Writes what nodes have written at their end.
    fn write_last(&mut self, last: &mut [Lines]) {
        self.so_far.is_over = false;
        Lines::write(last, &mut self.console, self.skip, &mut self.so_far);
    }
}

/// A panic of another worker ends the run anyway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
