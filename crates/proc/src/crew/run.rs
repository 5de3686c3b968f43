//! The scheduler of a worker that is one of several.
//!
//! ```text
//! enter --> stretch --> fall asleep, if idle --> leave --> park while asleep --> enter ...
//!
//! stretch: lower the flag, run processes, account, share or gather components, poll the rings
//! between two processes: due work, requests for exclusive access, posts of other loops
//! ```
//! The first worker does the same in [`Worker::run_first`], but it does not park: it returns to
//! the event loop, which waits for descriptors and timers too. What a worker does that has nothing
//! to run is in [`super::idle`], how the run ends in [`super::end`].
//!
//! Between two processes a worker sees
//!
//! | that | by | and |
//! |---|---|---|
//! | its time is up, or another worker hurries it | the flag | ends its slice |
//! | there is due work | `attention` | does it; the first worker may pause |
//! | exclusive access is requested | `wanted` | steps aside |
//! | nothing is ready | its queue, the rings | polls, then sleeps |
//! | the run is over | `over`, after it stepped aside | ends its thread |
//!
//! Invariants:
//!
//! 1. A worker runs processes only between `enter` and `leave` of [`Exclusive`]. It parks outside,
//!    so the others need not wait for it to get exclusive access.
//! 2. Between two processes no operation of this worker is half done: there it steps aside, and
//!    there it takes exclusive access itself to move components or to tear them down.
//!
//! [`Exclusive`]: super::exclusive::Exclusive

use std::sync::atomic::Ordering;

use super::end::halt_first;
use super::idle::await_posts;
use super::policy::{Run, Share};
use super::{Crew, between, pass_on, route, spread, visit};
use crate::crew::state::Member;
use crate::handle::ComponentRef;
use crate::machine::Worker;
use crate::paused::Paused;
use crate::ticker::Ticker;
use crate::{clock, component, monitor};

/// Processes run between two checks of the rings while components are spread.
const STEPS_SPREAD: u64 = 8;
/// The same while all are on one loop: then nothing is posted.
const STEPS_GATHERED: u64 = 64;

/// Why a stretch of running ended.
enum Stretch {
    /// The slice is over.
    Slice,
    /// Nothing to run.
    Idle,
    /// Only the first worker: requests for system components.
    Requests,
    /// Only the first worker: the run is over.
    Ended,
}

impl Worker {
    /// One slice of the first worker of several.
    pub(crate) fn run_first(&mut self) -> Paused {
        let Some(crew) = self.crew() else { return Paused::Waiting };
        if crew.is_over() {
            return Paused::Ended;
        }
        crew.members[0].asleep.wake_up();
        visit(self, |worker| worker.run_inside(&crew))
    }

    fn run_inside(&mut self, crew: &Crew) -> Paused {
        loop {
            let stretch = stretch(self, crew);
            pass_on(self);
            let paused = match stretch {
                Stretch::Slice => Some(Paused::Slice),
                Stretch::Requests => Some(Paused::Requests),
                Stretch::Ended => Some(self.end_crew()),
                Stretch::Idle => self.pause_idle(crew),
            };
            if let Some(paused) = paused {
                return paused;
            }
        }
    }

    fn crew(&self) -> Option<std::sync::Arc<Crew>> {
        self.machine.desk.as_ref().map(|desk| desk.crew.clone())
    }

    /// Runs another worker than the first, on a thread of its own, until the run is over.
    pub(super) fn run_thread(&mut self, index: usize, mut ticker: Option<Ticker>) {
        let Some(crew) = self.crew() else { return };
        let member = &crew.members[index];
        while !crew.is_over() {
            member.asleep.wake_up();
            if let Some(ticker) = &mut ticker {
                ticker.begin();
            }
            crew.exclusive.enter();
            let idle = match stretch(self, &crew) {
                Stretch::Idle => crew.fall_asleep(self, index),
                _ => false,
            };
            let written = !crew.spool.lock().is_ok_and(|spool| spool.is_empty());
            crew.exclusive.leave();
            if idle && let Some(ticker) = &mut ticker {
                ticker.end();
            }
            if written || idle && crew.all_asleep() {
                crew.wake(0);
            }
            // A token of an earlier `unpark` ends `park` at once: `asleep` says whether it was
            // woken.
            while idle && member.asleep.is_set() && !crew.is_over() {
                std::thread::park();
            }
        }
    }
}

/// Runs processes until the slice is over or nothing is left, and moves components if that pays.
fn stretch(worker: &mut Worker, crew: &Crew) -> Stretch {
    // SeqCst, with the addition in `Exclusive::acquire`: either this slice sees the request, or the
    // requester raises the flag after it was lowered here.
    worker.flag.swap(0, Ordering::SeqCst);
    monitor::begin(worker, i64::MAX);
    if crew.is_over() {
        return Stretch::Slice;
    }
    let (result, run) = measured_processes(worker, crew);
    worker.memory.trim();
    crew.judge();
    let surplus = surplus(worker, crew, &result, run);
    if crew.shall_gather() {
        spread::gather_for_now(worker);
    } else if let Some(what) = surplus {
        spread::share(worker, what);
    }
    match result {
        Stretch::Idle if await_posts(worker, crew) => Stretch::Slice,
        result => result,
    }
}

/// Runs processes, and accounts for the time and the crossings, by which spreading is judged.
fn measured_processes(worker: &mut Worker, crew: &Crew) -> (Stretch, Run) {
    let member = &crew.members[usize::from(super::index(worker))];
    let start = crew.now_ns().max(1);
    member.busy_since_ns.store(start, Ordering::Relaxed);
    let (result, steps) = processes(worker, crew);
    monitor::settle(worker);
    let end = crew.now_ns();
    member.busy_since_ns.store(0, Ordering::Relaxed);
    member.busy_ns.fetch_add(end.saturating_sub(start), Ordering::Relaxed);
    if let Some(desk) = &mut worker.machine.desk {
        let crossings = std::mem::take(&mut desk.crossings);
        member.crossings.fetch_add(crossings, Ordering::Relaxed);
    }
    let run = Run { ns: end.saturating_sub(start), steps, ready: worker.ready_count() };
    (result, run)
}

/// The components that may be moved to another loop after this stretch.
fn surplus(worker: &mut Worker, crew: &Crew, result: &Stretch, run: Run) -> Option<Share> {
    let desk = worker.machine.desk.as_mut()?;
    match result {
        Stretch::Slice if crew.is_eager() => Some(Share::Any),
        Stretch::Slice => desk.crowd.after(run),
        _ => {
            desk.crowd.idle();
            None
        }
    }
}

/// Runs processes; returns why it stopped, and how many ran.
fn processes(worker: &mut Worker, crew: &Crew) -> (Stretch, u64) {
    let (eager, mut steps) = (crew.is_eager(), 0);
    loop {
        if worker.machine.attention
            && let Some(ended) = do_due_work(worker)
        {
            return (ended, steps);
        }
        if crew.exclusive.is_wanted() {
            crew.exclusive.step_aside();
            if crew.is_over() {
                return (Stretch::Slice, steps);
            }
        }
        worker.take_posts();
        if worker.ready_count() == 0 || worker.budget <= 0 {
            monitor::look_due(worker);
        }
        if worker.ready_count() == 0 {
            flush_posts(worker);
            if worker.is_ready() {
                continue;
            }
            return (Stretch::Idle, steps);
        }
        let steps_max = match (eager, crew.is_spread()) {
            (true, _) => 1,
            (false, true) => STEPS_SPREAD,
            (false, false) => STEPS_GATHERED,
        };
        steps += some_processes(worker, steps_max);
        after_steps(worker);
        if worker.is_cut_off() || eager && shall_share(worker) {
            if !worker.machine.clocks.is_empty() && !crew.is_spread() {
                clock::advance(worker);
            }
            return (Stretch::Slice, steps);
        }
    }
}

/// Runs up to `steps_max` processes, fewer if something else is to be done; returns the number. A
/// request for exclusive access ends the slice of this worker: it raises the flag.
#[inline]
fn some_processes(worker: &mut Worker, steps_max: u64) -> u64 {
    for ran in 0..steps_max {
        let Some(process) = worker.pop_ready() else { return ran };
        worker.prefetch_next();
        route::step(worker, process);
        worker.budget -= 1;
        let machine = &worker.machine;
        if machine.attention || machine.left_over || worker.budget <= 0 || worker.is_cut_off() {
            return ran + 1;
        }
    }
    steps_max
}

/// Whether there is a process to give away, and a sleeping loop to take it.
#[cold]
fn shall_share(worker: &Worker) -> bool {
    let Some(desk) = &worker.machine.desk else { return false };
    let sleeps = |member: &Member| member.asleep.is_likely();
    worker.ready_count() > 1
        && desk.crew.members.iter().any(sleeps)
        && desk.crew.may_spread.load(Ordering::Relaxed)
}

/// Does what the process that ran last has left over.
fn after_steps(worker: &mut Worker) {
    if !std::mem::take(&mut worker.machine.left_over) {
        return;
    }
    let Some(desk) = &mut worker.machine.desk else { return };
    if std::mem::take(&mut desk.later) {
        run_alone(worker);
    }
    let Some(desk) = &mut worker.machine.desk else { return };
    if let Some(component) = desk.home.some() {
        desk.home = ComponentRef::NULL;
        spread::bring_home(worker, component);
    }
    flush_posts(worker);
}

/// Posts what had no room in the rings. If there is still none, the others are stopped: exclusive
/// access begins with the delivery of all posts. So two loops with full rings cannot wait for each
/// other.
fn flush_posts(worker: &mut Worker) {
    if !worker.post_overflow() {
        between(worker, |_| ());
    }
}

/// Runs the process at the head with exclusive access, up to its next checkpoint.
#[cold]
fn run_alone(worker: &mut Worker) {
    between(worker, |worker| {
        if let Some(desk) = &worker.machine.desk
            && !desk.crew.may_spread.load(Ordering::Relaxed)
        {
            spread::gather(worker);
        }
        worker.flag.store(1, Ordering::Relaxed);
        if let Some(process) = worker.pop_ready() {
            route::step(worker, process);
        }
        worker.flag.store(0, Ordering::Relaxed);
    });
}

/// Does the work due between two processes; returns a stretch if that ends it.
fn do_due_work(worker: &mut Worker) -> Option<Stretch> {
    let first = !super::is_away(worker);
    if worker.machine.halted && !first {
        halt_first(worker);
        return Some(Stretch::Slice);
    }
    if worker.machine.doomed.is_empty() {
        worker.do_due_work();
    } else {
        // Tearing down may reach components of other loops.
        between(worker, |worker| worker.do_due_work());
    }
    if !first {
        return None;
    }
    if worker.machine.ended.is_some() {
        return Some(Stretch::Ended);
    }
    worker.machine.is_noted().then_some(Stretch::Requests)
}

/// Advances tied components towards their end.
pub(crate) fn advance(worker: &mut Worker, component: ComponentRef) {
    if super::is_tied(worker, component) {
        let id = component.id();
        between(worker, |worker| {
            if let Some(component) = worker.machine.table.get(id) {
                component::advance(worker, component);
            }
        });
    } else {
        component::advance(worker, component);
    }
}
