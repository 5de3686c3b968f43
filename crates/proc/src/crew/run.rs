//! The scheduler of a worker that is one of several.

use std::sync::atomic::{Ordering, fence};

use super::policy::{Run, Share};
use super::{Crew, between, pass_on, route, spread};
use crate::crew::state::Member;
use crate::handle::ComponentRef;
use crate::machine::Worker;
use crate::paused::Paused;
use crate::ticker::Ticker;
use crate::{clock, component, monitor};

/// Processes run between two checks of the rings: while components are spread, and while all are on
/// one loop, when nothing is posted.
const STEPS: [u64; 2] = [8, 64];
/// Polls of the rings before a worker with nothing to run sleeps.
const LOOKS: u32 = 300;

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
        crew.members[0].asleep.store(false, Ordering::SeqCst);
        visit(self, |worker| worker.run_inside(&crew))
    }

    fn run_inside(&mut self, crew: &Crew) -> Paused {
        loop {
            let stretch = stretch(self, crew);
            pass_on(self);
            match stretch {
                Stretch::Slice => break Paused::Slice,
                Stretch::Requests => break Paused::Requests,
                Stretch::Ended => break self.end_crew(),
                Stretch::Idle => {}
            }
            if crew.lies_down(self, 0) {
                if !crew.all_asleep() {
                    self.machine.console.flush();
                    break Paused::Waiting;
                }
                crew.members[0].asleep.store(false, Ordering::SeqCst);
                // One worker does what concerns all.
                let quiet = between(self, |worker| {
                    let quiet = crew.is_quiet(worker);
                    if quiet {
                        spread::gather(worker);
                    }
                    quiet
                });
                if quiet && !self.is_ready() {
                    match self.settle() {
                        None => continue,
                        Some(Paused::Ended) => break self.end_crew(),
                        Some(Paused::Waiting) => {
                            if crew.lies_down(self, 0) {
                                break Paused::Waiting;
                            }
                        }
                        Some(paused) => break paused,
                    }
                }
            }
        }
    }

    fn crew(&self) -> Option<std::sync::Arc<Crew>> {
        self.machine.desk.as_ref().map(|desk| desk.crew.clone())
    }

    /// Ends the run: the first worker tears everything down.
    fn end_crew(&mut self) -> Paused {
        self.clear();
        Paused::Ended
    }

    /// The life of another worker than the first: on a thread of its own.
    pub(super) fn live(&mut self, index: usize, mut ticker: Option<Ticker>) {
        let Some(crew) = self.crew() else { return };
        let member = &crew.members[index];
        while !crew.is_over() {
            member.asleep.store(false, Ordering::SeqCst);
            if let Some(ticker) = &mut ticker {
                ticker.begin();
            }
            crew.exclusive.enter();
            let idle = match stretch(self, &crew) {
                Stretch::Idle => crew.lies_down(self, index),
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
            while idle && member.asleep.load(Ordering::SeqCst) && !crew.is_over() {
                std::thread::park();
            }
        }
    }
}

impl Crew {
    /// Declares that a worker sleeps, unless something has been posted meanwhile.
    fn lies_down(&self, worker: &Worker, index: usize) -> bool {
        let asleep = &self.members[index].asleep;
        asleep.store(true, Ordering::SeqCst);
        // With the one of `Desk::send`.
        fence(Ordering::SeqCst);
        if worker.has_no_posts() && !worker.is_ready() {
            return true;
        }
        asleep.store(false, Ordering::SeqCst);
        false
    }

    fn all_asleep(&self) -> bool {
        self.members.iter().all(|member| member.asleep.load(Ordering::SeqCst))
    }

    /// Whether no loop has anything to run. The caller has exclusive access.
    fn is_quiet(&self, worker: &mut Worker) -> bool {
        (0..self.members.len()).all(|index| !worker.member(index as u8).is_ready())
    }
}

/// Runs processes until the slice is over or nothing is left, and accounts for the time.
fn stretch(worker: &mut Worker, crew: &Crew) -> Stretch {
    // SeqCst, with the addition in `Exclusive::acquire`.
    worker.flag.swap(0, Ordering::SeqCst);
    monitor::begin(worker, i64::MAX);
    if crew.is_over() {
        return Stretch::Slice;
    }
    let index = usize::from(super::index(worker));
    let member = &crew.members[index];
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
    worker.memory.trim();
    crew.judge();
    let run = Run { ns: end.saturating_sub(start), steps, ready: worker.ready_count() };
    let surplus = surplus(worker, crew, &result, run);
    if crew.shall_gather() {
        spread::gather_for_now(worker);
    } else if let Some(what) = surplus {
        spread::share(worker, what);
    }
    if matches!(result, Stretch::Idle) { await_posts(worker, crew) } else { result }
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
            if !worker.post_overflow() {
                // Delivered on the way.
                between(worker, |_| ());
            }
            if worker.is_ready() {
                continue;
            }
            return (Stretch::Idle, steps);
        }
        let most = if eager { 1 } else { STEPS[usize::from(!crew.is_spread())] };
        steps += some_processes(worker, most);
        after_steps(worker);
        let is_over = worker.is_cut_off() || eager && shall_share(worker);
        if is_over {
            if !worker.machine.clocks.is_empty() && !crew.is_spread() {
                clock::advance(worker);
            }
            return (Stretch::Slice, steps);
        }
    }
}

/// Runs up to `most` processes, fewer if something else is to be done; returns how many. A request
/// for exclusive access ends the slice of this worker.
#[inline]
fn some_processes(worker: &mut Worker, most: u64) -> u64 {
    for ran in 0..most {
        let Some(process) = worker.pop_ready() else { return ran };
        worker.prefetch_next();
        route::step(worker, process);
        worker.budget -= 1;
        let machine = &worker.machine;
        if machine.attention || machine.left_over || worker.budget <= 0 || worker.is_cut_off() {
            return ran + 1;
        }
    }
    most
}

/// Whether there is a process to give away, and a sleeping loop to take it.
#[cold]
fn shall_share(worker: &Worker) -> bool {
    let Some(desk) = &worker.machine.desk else { return false };
    let sleeps = |member: &Member| member.asleep.load(Ordering::Relaxed);
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
    if !worker.post_overflow() {
        // Delivered on the way.
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
        between(worker, |worker| {
            worker.machine.halted = false;
            worker.machine.attention = false;
            let first = worker.first();
            first.machine.halted = true;
            first.machine.attention = true;
            if let Some(desk) = &worker.machine.desk {
                desk.crew.wake(0);
            }
        });
        return Some(Stretch::Slice);
    }
    if worker.machine.doomed.is_empty() {
        worker.do_due_work();
    } else {
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

/// Nothing to run: polls the rings for a while before it sleeps.
fn await_posts(worker: &mut Worker, crew: &Crew) -> Stretch {
    if !crew.is_spread() {
        return Stretch::Idle;
    }
    for _ in 0..LOOKS {
        if crew.exclusive.is_wanted() || worker.is_ready() {
            break;
        }
        if !worker.has_no_posts() {
            worker.take_posts();
            return Stretch::Slice;
        }
        std::hint::spin_loop();
    }
    if worker.is_ready() { Stretch::Slice } else { Stretch::Idle }
}

/// Runs the embedder's closure on the first worker, between its slices.
pub(crate) fn visit<R>(worker: &mut Worker, f: impl FnOnce(&mut Worker) -> R) -> R {
    let Some(desk) = &mut worker.machine.desk else { return f(worker) };
    if desk.inside || desk.crew.is_over() {
        return f(worker);
    }
    desk.inside = true;
    let crew = desk.crew.clone();
    crew.exclusive.enter();
    let result = f(worker);
    crew.exclusive.leave();
    if let Some(desk) = &mut worker.machine.desk {
        desk.inside = false;
    }
    result
}

/// Ends the run, with everything gathered on the first loop.
pub(crate) fn clear_alone(worker: &mut Worker, f: impl FnOnce(&mut Worker)) {
    let over = worker.machine.desk.as_ref().is_none_or(|desk| desk.crew.is_over());
    if over {
        f(worker);
        return;
    }
    visit(worker, |worker| {
        between(worker, |worker| {
            spread::gather(worker);
            f(worker);
            if let Some(desk) = &worker.machine.desk {
                desk.crew.over.store(true, Ordering::SeqCst);
                (1..desk.crew.members.len()).for_each(|index| desk.crew.wake(index));
            }
        });
    });
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
