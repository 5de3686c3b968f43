//! Tearing down a failed component with everything below it.
//!
//! Leaf first, in a loop: what is below cannot be told to end any more, for nobody is left who
//! would help it to. Who communicates with any of it finds the communication failed. Only the
//! shell of the failed component stays, for its owner to ask `FAILED` and to delete.
//!
//! A large tree goes piece by piece: between two pieces the loop serves timers and descriptors, but
//! runs no process, as some of the tree may be ready. With several loops it goes at once, for the
//! others would run theirs.

use crate::component::{self, Life};
use crate::fault;
use crate::handle::{ComponentRef, ProcessRef};
use crate::layout::{CLIENT_FAILED, Worker};
use crate::process;
use crate::{clock, component as tree};

/// Components that are torn down at a stretch.
const PIECE: usize = 1024;

/// Tears down the component and all below; it is a shell then.
pub(crate) fn tear_down(worker: &mut Worker, root: ComponentRef) {
    tear_some(worker, root, usize::MAX);
}

/// Tears down so many of a component and those below; how many it might have been more, none if
/// there are more.
fn tear_some(worker: &mut Worker, root: ComponentRef, most: usize) -> Option<usize> {
    let (mut here, mut left) = (root, most);
    loop {
        if left == 0 {
            return None;
        }
        left -= 1;
        while let Some(child) = here.first_child().some() {
            here = child;
        }
        empty(worker, here);
        if here == root {
            break;
        }
        let owner = here.owner();
        component::release(worker, here);
        here = owner;
    }
    if root.is_told() {
        tree::may_end(worker, root);
    }
    Some(left)
}

/// Kills the processes of a component, fails its communications, drops its variables.
fn empty(worker: &mut Worker, component: ComponentRef) {
    component.set_lock_queue(ProcessRef::NULL);
    component.set_await_queue(ProcessRef::NULL);
    component.set_lock(0);
    component.set_doomed();
    while let Some(process) = component.processes().some() {
        process::kill(worker, process);
    }
    component::close_slots(worker, component, CLIENT_FAILED);
    component::drop_variables(worker, component);
    component::free_tables(worker, component);
    clock::close(worker, component);
    component::wake_parked(worker, component);
    component.set_life(Life::Failed as u8);
}

/// Tears down what has been doomed meanwhile, or a piece of it.
pub(crate) fn bury_doomed(worker: &mut Worker) {
    let mut left = if worker.machine.desk.is_some() { usize::MAX } else { PIECE };
    while let Some(id) = worker.machine.doomed.pop() {
        if let Some(component) = worker.machine.table.get(id)
            && Life::of(component) != Life::Failed
        {
            match tear_some(worker, component, left) {
                Some(more) => left = more,
                None => {
                    worker.budget -= PIECE as i64;
                    worker.machine.doomed.push(id);
                    worker.machine.attention = true;
                    return;
                }
            }
            if worker.machine.entry == id {
                worker.machine.ended.get_or_insert(fault::Ended::Failed { code: None });
            }
        }
    }
}
