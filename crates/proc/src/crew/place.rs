//! Where components live, seen from a worker.

use crate::handle::ComponentRef;
use crate::layout::SUSPENDED;
use crate::machine::Context;
use crate::machine::Worker;

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
#[inline]
pub(crate) fn index(worker: &Worker) -> u8 {
    worker.machine.desk.as_ref().map_or(0, |desk| desk.index)
}

/// Whether an operation on the component may need exclusive access: it is tied, or elsewhere.
#[inline]
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

/// Whether components live on several loops, and the worker has no exclusive access.
#[inline]
pub(crate) fn is_spread(worker: &Worker) -> bool {
    let desk = worker.machine.desk.as_ref();
    desk.is_some_and(|desk| desk.crew.is_spread() && !desk.crew.is_alone())
}

impl Worker {
    /// The worker on whose loop a component lives: this one if there is no other. Else the caller
    /// has exclusive access, or the component is this worker's.
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

    /// A worker of the crew. The caller has exclusive access, or there is one loop.
    pub(crate) fn member(&mut self, index: u8) -> &mut Worker {
        let Some(desk) = &self.machine.desk else { return self };
        if index == desk.index {
            return self;
        }
        debug_assert!(desk.crew.is_alone(), "another loop's worker");
        // SAFETY: it is the address of a whole worker, which lives, and whose thread is stopped:
        // the caller has exclusive access.
        unsafe { &mut *desk.crew.worker(usize::from(index)).cast() }
    }

    /// The first worker, which has reports, console and systems. The caller has exclusive access,
    /// or is on the first loop.
    pub(crate) fn first(&mut self) -> &mut Worker {
        self.member(0)
    }
}

/// Has the operation executed again with exclusive access.
#[cold]
pub(crate) fn later(cx: &mut Context) -> u32 {
    cx.process.set_frame(cx.frame);
    cx.process.set_state(crate::process::ProcessState::Ready as u8);
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
#[inline]
pub(crate) fn is_away(worker: &Worker) -> bool {
    worker.machine.desk.as_ref().is_some_and(|desk| desk.index != 0)
}

/// Ties two components that live on different loops.
#[inline]
pub(crate) fn tie(left: ComponentRef, right: ComponentRef) {
    if !left.is_null() && !right.is_null() && left.worker() != right.worker() {
        left.set_tied();
        right.set_tied();
    }
}
