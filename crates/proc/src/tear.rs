//! Tearing down a failed component with everything below it.
//!
//! Leaf first, in a loop: what is below cannot be told to end any more, for nobody is left who
//! would help it to. Who communicates with any of it finds the communication failed. Only the
//! shell of the failed component stays, for its owner to ask `FAILED` and to delete.

use crate::component::{self, Life};
use crate::fault;
use crate::handle::{ComponentRef, ProcessRef};
use crate::layout::{CLIENT_FAILED, Worker};
use crate::process;
use crate::{clock, component as tree};

/// Tears down the component and all below; it is a shell then.
pub(crate) fn tear_down(worker: &mut Worker, root: ComponentRef) {
    let mut here = root;
    loop {
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

/// Tears down what has been doomed meanwhile.
pub(crate) fn bury_doomed(worker: &mut Worker) {
    while let Some(id) = worker.machine.doomed.pop() {
        if let Some(component) = worker.machine.table.get(id)
            && Life::of(component) != Life::Failed
        {
            tear_down(worker, component);
            if worker.machine.entry == id {
                worker.machine.ended.get_or_insert(fault::Ended::Failed { code: None });
            }
        }
    }
}
