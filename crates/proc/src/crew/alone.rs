//! Stopping the other workers, and operations that need that.

use super::exclusive::When;
use crate::crew::is_away;
use crate::crew::route;
use crate::crew::state::SPOOL_MAX;
use crate::machine::Worker;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// Runs `f` with exclusive access, in the middle of an operation.
pub(crate) fn alone<R>(worker: &mut Worker, f: impl FnOnce(&mut Worker) -> R) -> R {
    with_exclusive(worker, When::Middle, f)
}

/// The same between two processes: then `f` may move or tear down any component.
pub(crate) fn between<R>(worker: &mut Worker, f: impl FnOnce(&mut Worker) -> R) -> R {
    with_exclusive(worker, When::Between, f)
}

pub(crate) fn with_exclusive<R>(
    worker: &mut Worker,
    when: When,
    f: impl FnOnce(&mut Worker) -> R,
) -> R {
    let Some(desk) = &worker.machine.desk else { return f(worker) };
    // Once the run is over, no other worker can touch anything.
    if desk.crew.is_alone() || desk.crew.is_over() {
        return f(worker);
    }
    let (crew, index) = (desk.crew.clone(), usize::from(desk.index));
    debug_assert!(desk.held.is_null(), "a guard is held");
    crew.members[index].stops.fetch_add(1, Ordering::Relaxed);
    crew.exclusive.acquire(when, || crew.hurry(index));
    crew.alone.store(true, Ordering::Relaxed);
    route::deliver_all(worker, &crew);
    let result = f(worker);
    crew.alone.store(false, Ordering::Relaxed);
    crew.exclusive.release();
    result
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

/// Writes output of the program, in the order of the calls.
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
