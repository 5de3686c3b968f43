//! A worker on the event loop: one event per slice, armed again while something is ready.
//!
//! Between two slices the loop serves descriptors, timers and the events of others. The host
//! defines slices: a span of time, then a [`Ticker`] sets the flag that checkpoints test;
//! or a count of steps and checkpoints, then a run can be repeated.

use std::time::Duration;

use tidemill_event::{Loop, Owner, Slice};
use tidemill_stdx::marks;

use crate::communication::Communication;
use crate::crew::Team;
use crate::machine::Counts;
use crate::machine::Worker;
use crate::outside::state::Over;
use crate::paused::Paused;
use crate::system::Request;
use crate::ticker::Ticker;

/// A world that holds a worker.
pub trait Home: Sized + 'static {
    /// The worker and what runs it.
    fn runner(&mut self) -> &mut Runner;

    /// A request to a system component. It answers through [`Worker::answer`], now or later, and
    /// then calls [`arm`].
    fn request(&mut self, lp: &mut Loop<Self>, request: Request);

    /// Something may have arrived from a component that the embedder [made](Worker::make).
    fn noted(&mut self, lp: &mut Loop<Self>, from: Communication) {
        let _ = (lp, from);
    }

    /// A component that was [launched](Worker::launch) has ended or failed.
    fn over(&mut self, lp: &mut Loop<Self>, over: Over) {
        let _ = (lp, over);
    }

    /// Nothing is ready to run, and the slice is not over. Polls for a short while for something
    /// that makes a process ready; returns whether it has come, and the slice then continues.
    fn look(&mut self, lp: &mut Loop<Self>) -> bool {
        let _ = lp;
        false
    }

    /// The run has ended: see [`Worker::ended`].
    fn ended(&mut self, lp: &mut Loop<Self>);
}

/// A worker and its place on a loop.
///
/// With several loops there are more workers behind it, each on a thread; see `crew`.
pub struct Runner {
    // Dropped before the worker: its thread writes the worker's flag.
    ticker: Option<Ticker>,
    /// Its thread and others know its address, so it is never exchanged for another.
    worker: Box<Worker>,
    owner: Option<Owner>,
    armed: bool,
    end_reported: bool,
    // Dropped last: the other workers own memory that the first one uses.
    team: Option<Team>,
}

/// Requests served between two checks of the ready queue.
const REQUESTS: usize = 1024;

impl Runner {
    /// A runner for a worker.
    pub fn new(worker: Box<Worker>) -> Runner {
        Runner { ticker: None, worker, owner: None, armed: false, end_reported: false, team: None }
    }

    /// A runner for a worker that has not been started, and others up to `count` in all.
    pub fn with_workers(mut worker: Box<Worker>, count: usize) -> Runner {
        let team = (count > 1).then(|| Team::new(&mut worker, count));
        let mut runner = Runner::new(worker);
        runner.team = team;
        runner
    }

    /// Spreads components over the loops at every opportunity, whether it pays or not. Before
    /// the run; for tests of what happens between loops.
    pub fn spread_eagerly(&mut self) {
        if let Some(team) = &mut self.team {
            team.spread_eagerly();
        }
    }

    /// The number of components moved to another loop so far.
    pub fn components_given(&self) -> u64 {
        self.team.as_ref().map_or(0, Team::given)
    }

    /// Whether no slice is due: all processes of the worker wait, or it has ended.
    pub fn all_wait(&self) -> bool {
        !self.armed
    }

    /// The worker.
    pub fn worker(&mut self) -> &mut Worker {
        &mut self.worker
    }

    /// Counts of all workers. After [`Runner::stop`].
    pub fn counts(&self) -> Counts {
        let mut counts = self.worker.counts();
        if let Some(team) = &self.team {
            team.add_counts(&mut counts);
        }
        counts
    }

    /// Ends everything at once, and the threads.
    pub fn stop(&mut self) {
        self.worker.clear();
        if let Some(team) = &mut self.team {
            team.stop();
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.ticker = None;
        self.stop();
    }
}

/// Schedules a run of what is ready. Called after [`Worker::start`], and whenever something outside
/// the worker's own slices has changed it.
pub fn arm<W: Home>(world: &mut W, lp: &mut Loop<W>) {
    let runner = world.runner();
    if runner.armed || runner.end_reported {
        return;
    }
    let owner = *runner.owner.get_or_insert_with(|| lp.owner("processes"));
    // The loop counts a full queue; the next event arms again.
    runner.armed = lp.event(owner, slice).is_ok();
}

/// One slice.
fn slice<W: Home>(world: &mut W, lp: &mut Loop<W>) {
    world.runner().armed = false;
    let budget = match lp.slice() {
        Slice::Span(_) => i64::MAX,
        Slice::Steps(steps) => i64::try_from(steps).unwrap_or(i64::MAX),
    };
    begin(world, lp);
    if world.runner().worker.is_observed() {
        let wall_ns = lp.wall();
        world.runner().worker.note_time(wall_ns);
    }
    let paused = rounds(world, lp, budget);
    let runner = world.runner();
    if let Some(ticker) = &mut runner.ticker {
        ticker.end();
    }
    match paused {
        Paused::Slice | Paused::Requests => arm(world, lp),
        Paused::Waiting => {}
        Paused::Ended if !runner.end_reported => {
            runner.end_reported = true;
            // The communications that clients had open have been finished.
            while let Some(request) = world.runner().worker.take_request() {
                world.request(lp, request);
            }
            world.ended(lp);
        }
        Paused::Ended => {}
    }
}

/// Starts the threads of the other workers.
fn start_team<W: Home>(world: &mut W, lp: &mut Loop<W>, span: Duration) {
    let Runner { team: Some(team), owner: Some(owner), .. } = world.runner() else { return };
    if team.has_started() {
        return;
    }
    let owner = *owner;
    // Without them the first worker runs everything.
    let Ok(remote) = lp.remote() else { return };
    let wake = move || {
        // A full queue has something in it that leads to a slice as well.
        let _ = remote.event(owner, |world: &mut W, lp: &mut Loop<W>| arm(world, lp));
    };
    if let Some(team) = &mut world.runner().team {
        team.start(span, Box::new(wake));
    }
}

fn begin<W: Home>(world: &mut W, lp: &mut Loop<W>) {
    let Slice::Span(span) = lp.slice() else { return };
    start_team(world, lp, span);
    let runner = world.runner();
    if runner.ticker.is_none() {
        // Without a thread slices end when processes wait; hot loops are not cut off.
        runner.ticker = Ticker::new(&raw const runner.worker.flag, span).ok();
    }
    if let Some(ticker) = &mut runner.ticker {
        ticker.begin();
    }
}

/// Rounds between two readings of the clock.
const ROUNDS: u32 = 16;

/// Whether the slice has lasted long enough. The ticker reports that as well, but only when the OS
/// schedules its thread.
fn is_over<W: Home>(lp: &mut Loop<W>) -> bool {
    match lp.slice() {
        Slice::Span(span) => lp.host().now() - lp.now() >= span,
        Slice::Steps(_) => false,
    }
}

/// Runs and serves requests until the slice is over.
fn rounds<W: Home>(world: &mut W, lp: &mut Loop<W>, budget: i64) -> Paused {
    let mut left = budget;
    for round in 1u32.. {
        let worker = &mut world.runner().worker;
        let paused = worker.run(left);
        // Processes run, and checkpoints where they are counted; a request costs one.
        let steps = left.saturating_sub(worker.budget).max(0);
        lp.charge(steps as u64);
        left = worker.budget - 1;
        match paused {
            Paused::Requests => {
                for _ in 0..REQUESTS {
                    let Some(request) = world.runner().worker.take_request() else { break };
                    world.request(lp, request);
                }
                for _ in 0..REQUESTS {
                    let Some(from) = world.runner().worker.take_noted() else { break };
                    world.noted(lp, from);
                }
                for _ in 0..REQUESTS {
                    let Some(over) = world.runner().worker.take_over() else { break };
                    world.over(lp, over);
                }
            }
            Paused::Waiting if world.look(lp) => {}
            _ => return paused,
        }
        marks::leave();
        let is_late = round.is_multiple_of(ROUNDS) && is_over(lp);
        if left <= 0 || is_late || world.runner().worker.is_cut_off() {
            return Paused::Requests;
        }
    }
    Paused::Requests
}
