//! Who looks at the conditions of those outside: a process without a component, in the ready queue
//! behind all that were ready when it was called. So the scheduler need not ask, before each
//! process, whether anything is to be looked at.
//!
//! While the lock of a component is taken and given back in every round of the ready queue, those
//! inside do without those outside: it is looked at only after some rounds, or when nothing else
//! is ready.

use crate::component::ComponentId;
use crate::handle::{ComponentRef, ProcessRef};
use crate::layout::{Frame, Process, SUSPENDED, Worker};

/// The process and what it has been called for.
pub(crate) struct Looker {
    /// A box's, given back when this is dropped: the process is reached by its address.
    block: *mut Block,
    due: Vec<Due>,
    is_ready: bool,
}

/// A component that it has been called for, and how often it has come by since.
#[derive(Clone, Copy)]
pub(crate) struct Due {
    pub(crate) component: ComponentId,
    rounds: u8,
}

/// Rounds after which those outside have their turn, however busy those inside are.
const ROUNDS_MAX: u8 = 16;

struct Block {
    process: Process,
    frame: Frame,
}

impl Looker {
    pub(crate) fn new() -> Looker {
        let frame =
            Frame { parent: std::ptr::null_mut(), code: look, resume: 0, function: 0, result: 0 };
        // SAFETY: numbers and addresses, of which zeros are none.
        let process = unsafe { std::mem::zeroed::<Process>() };
        let block = Box::into_raw(Box::new(Block { process, frame }));
        // SAFETY: the block has just been made; the frame lies beside its process for good.
        unsafe { (*block).process.frame = &raw mut (*block).frame };
        Looker { block, due: Vec::new(), is_ready: false }
    }

    fn process(&self) -> ProcessRef {
        // SAFETY: the block lives as long as the looker.
        ProcessRef(unsafe { &raw mut (*self.block).process })
    }

    /// What it has been called for and not looked at.
    pub(crate) fn due(&self) -> &[Due] {
        &self.due
    }

    /// Takes that over; it finds less, or nothing.
    pub(crate) fn due_mut(&mut self) -> &mut Vec<Due> {
        &mut self.due
    }

    /// It has been taken out of the ready queue with all others.
    pub(crate) fn dismiss(&mut self) {
        self.due.clear();
        self.is_ready = false;
    }
}

impl Drop for Looker {
    fn drop(&mut self) {
        // SAFETY: made from a box in `new`; the ready queue goes with the worker.
        drop(unsafe { Box::from_raw(self.block) });
    }
}

/// Has the conditions of those outside a component looked at.
pub(super) fn call(worker: &mut Worker, component: ComponentRef) {
    component.set_busy();
    if component.is_due() {
        return;
    }
    component.set_due();
    let home = worker.home_awake(component);
    home.machine.looker.due.push(Due { component: component.id(), rounds: 0 });
    rouse(home);
}

/// Puts it on the ready queue.
fn rouse(worker: &mut Worker) {
    let looker = &mut worker.machine.looker;
    if !std::mem::replace(&mut looker.is_ready, true) {
        let process = looker.process();
        worker.push_ready(process);
    }
}

/// The code of the process.
///
/// # Safety
/// Called by the scheduler.
unsafe extern "C" fn look(_: *mut Frame, _: *mut Process, worker: *mut Worker) -> u32 {
    // SAFETY: promised by the caller.
    let worker = unsafe { &mut *worker };
    worker.machine.looker.is_ready = false;
    let is_idle = worker.ready_count() == 0;
    let mut due = std::mem::take(&mut worker.machine.looker.due);
    due.retain_mut(|one| {
        let Some(component) = worker.machine.table.get(one.component) else { return false };
        one.rounds += 1;
        let stays = component.is_busy() && one.rounds < ROUNDS_MAX && !is_idle;
        component.clear_busy();
        // The next release says that it is busy.
        component.clear_calm();
        if !stays {
            component.clear_due();
            super::look_at(worker, component);
        }
        stays
    });
    let called = std::mem::replace(&mut worker.machine.looker.due, due);
    worker.machine.looker.due.extend(called);
    if !worker.machine.looker.due.is_empty() {
        rouse(worker);
    }
    SUSPENDED
}
