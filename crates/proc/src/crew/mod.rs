//! Several loops: one worker each, and a component with all its processes lives on one of them.
//!
//! ```text
//! loop 0: event loop, worker 0      loop 1: worker 1        loop 2: worker 2
//! entry component, system           components, processes   ...
//! components, ready queue           ready queue
//!        \_______ ring ______________/ \______ ring __________/
//! ```
//! * Messages on a loop are what they are with one worker: inlined code, no atomics, the receiver
//!   goes on the same ready queue.
//! * Messages between two loops take the channel's guard ([`crate::channel`]); who is to be woken
//!   over there is posted through a bounded ring ([`ring`]), and a sleeping loop is woken.
//! * What changes relations between components of different loops (opening, DELETE, CONNECT of
//!   another's, faults, moving) is rare, and is done by one worker while the others stand between
//!   two processes: it has the [`floor`] alone, and is then in the position of a single worker,
//!   with the same code. Requests and replies over the rings instead would make every operation a
//!   state machine of its own; it would be twenty of them, for what happens some hundred times.
//!
//! **The rule:** outside of the floor a worker touches only its own components, their processes
//! and blocks, channels between them, and under the guard a channel to another loop. Of others'
//! components it may read what does not change: type, number, which loop. A component that has to
//! do with any on another loop is marked as *tied*; its life goes on under the floor.
//!
//! Which components live where: see [`spread`] and [`policy`]. Virtual time, and the search for
//! deadlocks and circles, are matters of all processes; for them everything is gathered on the
//! first loop. System components belong to the first loop, and so does, meanwhile, who talks with
//! them.

pub(crate) mod floor;
mod policy;
pub(crate) mod ring;
mod route;
mod run;
mod spread;
mod team;

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::handle::{ChannelRef, ComponentRef};
use crate::layout::{SUSPENDED, WorkerHead};
use crate::machine::Context;
use crate::machine::Worker;
use floor::{Floor, When};
use ring::{Post, Ring};

pub(crate) use run::{advance, clear_alone, visit};
pub(crate) use spread::{gather_for_good, is_gathered_for_good};
pub(crate) use team::Team;

/// Posts on their way from one loop to another; more wait with the sender.
const RING: usize = 4096;

/// What is written by other loops and not yet passed on by the first.
const SPOOL_MAX: usize = 1 << 20;

/// How a sleeping loop is woken.
type Alarm = Box<dyn Fn() + Send + Sync>;

/// One loop of the crew.
struct Member {
    worker: AtomicPtr<WorkerHead>,
    /// It sleeps, or is about to: whoever posts wakes it. SeqCst on both sides: the sleeper sets
    /// it and looks for posts, the poster posts and looks at it; one of the two sees the other.
    asleep: AtomicBool,
    alarm: Mutex<Option<Alarm>>,
    /// Rings to this loop, by sender.
    inbound: Vec<Ring>,
    /// Nanoseconds in which it ran processes. Relaxed, like the next two: for judgement only.
    busy_ns: AtomicU64,
    /// Since when it runs processes now; 0 if it does not.
    busy_since_ns: AtomicU64,
    /// Operations on channels to other loops.
    crossings: AtomicU64,
    /// Times it had the floor alone, or was about to.
    floors: AtomicU64,
}

/// What all loops of a run share.
pub(crate) struct Crew {
    members: Vec<Member>,
    floor: Floor,
    /// Somebody has the floor alone. Written by who has it only, and read by the same thread, or
    /// by others who find false: relaxed.
    alone: AtomicBool,
    /// Components live on more than one loop. Changed under the floor; relaxed.
    spread: AtomicBool,
    /// The run is over: threads end. Changed under the floor; relaxed.
    over: AtomicBool,
    /// What other loops have written.
    spool: Mutex<Vec<u8>>,
    policy: Mutex<policy::Policy>,
    /// Components may be spread at all. Changed under the floor; relaxed.
    may_spread: AtomicBool,
    /// They are spread whether it pays or not. Set before the threads start; relaxed.
    eager: AtomicBool,
    /// How many components were given to another loop; relaxed.
    given: AtomicU64,
    start: Instant,
}

/// A worker's place in the crew.
pub(crate) struct Desk {
    pub(crate) crew: Arc<Crew>,
    pub(crate) index: u8,
    /// The channel whose guard it holds.
    pub(crate) held: ChannelRef,
    pub(crate) crossings: u64,
    /// The process at the head of the ready queue wants to go on with the floor alone.
    later: bool,
    /// A component that has to live on the first loop to go on.
    home: ComponentRef,
    /// It is on the floor.
    inside: bool,
    /// Whether it has had much to run.
    crowd: policy::Crowd,
    /// Posts for which there was no room.
    overflow: Vec<(u8, Post)>,
}

impl Crew {
    fn new(count: usize) -> Crew {
        let member = |index| Member {
            worker: AtomicPtr::new(std::ptr::null_mut()),
            // Until its thread runs it sleeps; the first runs already.
            asleep: AtomicBool::new(index != 0),
            alarm: Mutex::new(None),
            inbound: (0..count).map(|_| Ring::new(RING)).collect(),
            busy_ns: AtomicU64::new(0),
            busy_since_ns: AtomicU64::new(0),
            crossings: AtomicU64::new(0),
            floors: AtomicU64::new(0),
        };
        Crew {
            members: (0..count).map(member).collect(),
            floor: Floor::default(),
            alone: AtomicBool::new(false),
            spread: AtomicBool::new(false),
            over: AtomicBool::new(false),
            spool: Mutex::new(Vec::new()),
            policy: Mutex::default(),
            may_spread: AtomicBool::new(true),
            eager: AtomicBool::new(false),
            given: AtomicU64::new(0),
            start: Instant::now(),
        }
    }

    fn worker(&self, index: usize) -> *mut WorkerHead {
        // Relaxed: set before the threads start, or under the floor's mutex.
        self.members[index].worker.load(Ordering::Relaxed)
    }

    pub(crate) fn is_alone(&self) -> bool {
        self.alone.load(Ordering::Relaxed)
    }

    pub(crate) fn is_spread(&self) -> bool {
        self.spread.load(Ordering::Relaxed)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn now_ns(&self) -> u64 {
        // Runs on several loops are not repeatable: the clock decides only where things run.
        self.start.elapsed().as_nanos() as u64
    }

    /// Wakes a loop if it sleeps.
    fn wake(&self, index: usize) {
        let member = &self.members[index];
        if member.asleep.load(Ordering::SeqCst) && member.asleep.swap(false, Ordering::SeqCst) {
            let alarm = member.alarm.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(alarm) = &*alarm {
                alarm();
            }
        }
    }

    /// Ends the slices of all loops but one.
    fn hurry(&self, but: usize) {
        for index in (0..self.members.len()).filter(|&index| index != but) {
            let worker = self.worker(index);
            if !worker.is_null() {
                // SAFETY: workers live until the threads have ended; the flag is atomic.
                unsafe { (*worker).flag.store(1, Ordering::SeqCst) };
            }
        }
    }
}

/// Whether a component lives on another loop than the worker's, and the worker may not touch it.
#[inline]
pub(crate) fn is_elsewhere(worker: &Worker, component: ComponentRef) -> bool {
    match &worker.machine.desk {
        None => false,
        Some(desk) => {
            !component.is_null() && component.worker() != desk.index && !desk.crew.is_alone()
        }
    }
}

/// The number of the worker's loop.
pub(crate) fn index(worker: &Worker) -> u8 {
    worker.machine.desk.as_ref().map_or(0, |desk| desk.index)
}

/// Whether something that concerns the component may need the floor: it is tied, or elsewhere.
pub(crate) fn is_tied(worker: &Worker, component: ComponentRef) -> bool {
    match &worker.machine.desk {
        None => false,
        Some(desk) => {
            !component.is_null()
                && !desk.crew.is_alone()
                && (component.worker() != desk.index || component.is_tied())
        }
    }
}

/// Whether components live on several loops, and the worker has not the floor alone.
pub(crate) fn is_spread(worker: &Worker) -> bool {
    let desk = worker.machine.desk.as_ref();
    desk.is_some_and(|desk| desk.crew.is_spread() && !desk.crew.is_alone())
}

/// Does something in the middle of an operation as if there was one worker only.
pub(crate) fn alone<R>(worker: &mut Worker, f: impl FnOnce(&mut Worker) -> R) -> R {
    with_floor(worker, When::Middle, f)
}

/// The same between two processes: then any component may be moved or torn down.
pub(crate) fn between<R>(worker: &mut Worker, f: impl FnOnce(&mut Worker) -> R) -> R {
    with_floor(worker, When::Between, f)
}

fn with_floor<R>(worker: &mut Worker, when: When, f: impl FnOnce(&mut Worker) -> R) -> R {
    let Some(desk) = &worker.machine.desk else { return f(worker) };
    // Once the run is over nothing is left that others could touch.
    if desk.crew.is_alone() || desk.crew.is_over() {
        return f(worker);
    }
    let (crew, index) = (desk.crew.clone(), usize::from(desk.index));
    debug_assert!(desk.held.is_null(), "a guard is held");
    crew.members[index].floors.fetch_add(1, Ordering::Relaxed);
    crew.floor.acquire(when, || crew.hurry(index));
    crew.alone.store(true, Ordering::Relaxed);
    route::deliver_all(worker, &crew);
    let result = f(worker);
    crew.alone.store(false, Ordering::Relaxed);
    crew.floor.release();
    result
}

impl Worker {
    /// The worker on whose loop a component lives: this one if there is no other, else the caller
    /// has the floor alone, or the component is this worker's.
    pub(crate) fn home(&mut self, component: ComponentRef) -> &mut Worker {
        let Some(desk) = &self.machine.desk else { return self };
        if component.is_null() || component.worker() == desk.index {
            return self;
        }
        self.member(component.worker())
    }

    /// The same, and its loop wakes if it sleeps: there is something for it to do.
    pub(crate) fn home_awake(&mut self, component: ComponentRef) -> &mut Worker {
        if let Some(desk) = &self.machine.desk
            && !component.is_null()
            && component.worker() != desk.index
        {
            desk.crew.wake(usize::from(component.worker()));
        }
        self.home(component)
    }

    /// A worker of the crew; as above.
    pub(crate) fn member(&mut self, index: u8) -> &mut Worker {
        let Some(desk) = &self.machine.desk else { return self };
        if index == desk.index {
            return self;
        }
        debug_assert!(desk.crew.is_alone(), "another loop's worker");
        // SAFETY: it is the address of a whole worker, which lives, and whose thread stands outside
        // of the floor.
        unsafe { &mut *desk.crew.worker(usize::from(index)).cast() }
    }

    /// The first worker, which has reports, console and systems; as above.
    pub(crate) fn first(&mut self) -> &mut Worker {
        self.member(0)
    }
}

/// Has the operation executed again while this worker has the floor alone.
#[cold]
pub(crate) fn later(cx: &mut Context) -> u32 {
    cx.process.set_frame(cx.frame);
    cx.process.set_state(crate::process::State::Ready as u8);
    let process = cx.process;
    cx.worker.push_ready_first(process);
    if let Some(desk) = &mut cx.worker.machine.desk {
        desk.later = true;
    }
    cx.worker.machine.left_over = true;
    SUSPENDED
}

/// Has the operation executed again on the first loop.
#[cold]
pub(crate) fn go_home(cx: &mut Context) -> u32 {
    let component = cx.component();
    cx.process.set_frame(cx.frame);
    let process = cx.process;
    cx.worker.wake(process);
    if let Some(desk) = &mut cx.worker.machine.desk {
        desk.home = component;
    }
    cx.worker.machine.left_over = true;
    SUSPENDED
}

/// Whether the worker is not the first of a crew.
pub(crate) fn is_away(worker: &Worker) -> bool {
    worker.machine.desk.as_ref().is_some_and(|desk| desk.index != 0)
}

/// Writes what the program writes, in the order of what happened.
pub(crate) fn write(worker: &mut Worker, bytes: &[u8]) {
    let Some(desk) = &worker.machine.desk else { return };
    let mut spool = desk.crew.spool.lock().unwrap_or_else(PoisonError::into_inner);
    spool.extend_from_slice(bytes);
    let full = spool.len() > SPOOL_MAX;
    drop(spool);
    if full {
        alone(worker, pass_on);
    } else if !is_away(worker) && bytes.contains(&b'\n') && worker.machine.console.is_by_line() {
        pass_on(worker);
    }
}

/// Hands what all loops have written to the console, which is the first worker's.
pub(crate) fn pass_on(worker: &mut Worker) {
    let Some(desk) = &worker.machine.desk else { return };
    let mut spool = desk.crew.spool.lock().unwrap_or_else(PoisonError::into_inner);
    let bytes = std::mem::take(&mut *spool);
    drop(spool);
    if !bytes.is_empty() {
        worker.first().machine.console.write(&bytes);
    }
}

/// Ties two components that live on different loops.
pub(crate) fn tie(left: ComponentRef, right: ComponentRef) {
    if !left.is_null() && !right.is_null() && left.worker() != right.worker() {
        left.set_tied();
        right.set_tied();
    }
}

impl Desk {
    fn new(crew: &Arc<Crew>, index: usize) -> Desk {
        Desk {
            crew: crew.clone(),
            index: index as u8,
            held: ChannelRef::NULL,
            crossings: 0,
            later: false,
            home: ComponentRef::NULL,
            inside: false,
            crowd: policy::Crowd::default(),
            overflow: Vec::new(),
        }
    }
}
