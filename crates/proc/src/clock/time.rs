//! Reading times, sleeping, and advancing to the time of the next sleeper.

use crate::component::Life;
use crate::crew;
use crate::fault::Reason;
use crate::handle::{ComponentRef, ProcessRef};
use crate::layout::{OK, UNLOCKED};
use crate::machine::Context;
use crate::machine::Worker;
use crate::process::ProcessState;
use crate::{monitor, system};
use std::collections::BTreeSet;

/// The component whose time holds for another.
pub(crate) fn domain(component: ComponentRef) -> ComponentRef {
    let mut here = component;
    while here.is_synchronous() && !here.owner().is_null() {
        here = here.owner();
    }
    here
}

pub(crate) fn time(cx: &mut Context) -> i64 {
    let component = cx.component();
    let now = |worker: &mut Worker| {
        let clocks = &worker.first().machine.clocks;
        clocks.get(&domain(component).number()).map_or(0, |clock| clock.now)
    };
    if crew::is_away(cx.worker) || crew::is_spread(cx.worker) {
        return crew::alone(cx.worker, now);
    }
    now(cx.worker)
}

pub(crate) fn passivate(cx: &mut Context, delay: i64, position: u32) -> u32 {
    let process = cx.process;
    if process.take_grant() {
        cx.component().clear_handed();
        return OK;
    }
    if !crew::is_gathered_for_good(cx.worker) {
        // Time is a matter of all processes below a component: they have to be on one loop.
        crew::gather_for_good(cx.worker);
        return crew::later(cx);
    }
    if delay < 0 {
        return cx.fault(Reason::NegativeTime, delay, position);
    }
    let Some(at) = time(cx).checked_add(delay) else {
        return cx.fault(Reason::Overflow, 0, position);
    };
    let domain = domain(cx.component());
    domain.set_clocked();
    let sequence = cx.worker.machine.sleeps;
    cx.worker.machine.sleeps += 1;
    let clock = cx.worker.machine.clocks.entry(domain.number()).or_default();
    clock.sleepers.insert((at, sequence), process);
    process.set_wait(at as u64);
    process.set_condition(domain.number());
    process.set_link(ProcessRef(std::ptr::without_provenance_mut(sequence as usize)));
    process.set_mode(process.holds());
    let status = cx.block(ProcessState::Passive);
    if process.holds() == UNLOCKED { status } else { monitor::give_up(cx) }
}

/// Marks a component and all above it.
pub(crate) fn mark(marks: &mut BTreeSet<u32>, component: ComponentRef) {
    let mut here = component;
    while !here.is_null() && marks.insert(here.number()) {
        here = here.owner();
    }
}

pub(crate) fn depth(component: ComponentRef) -> usize {
    let (mut here, mut depth) = (component, 0);
    while !here.is_null() {
        depth += 1;
        here = here.owner();
    }
    depth
}

/// Advances every clock that may; returns whether there was one.
pub(crate) fn advance(worker: &mut Worker) -> bool {
    let mut clocks: Vec<ComponentRef> = Vec::new();
    for (&number, clock) in &worker.machine.clocks {
        if !clock.sleepers.is_empty() {
            clocks.extend(worker.machine.table.at(number));
        }
    }
    if clocks.is_empty() {
        return false;
    }
    let mut marks = BTreeSet::new();
    for at in worker.ready_head..worker.ready_tail {
        mark(&mut marks, worker.ready_at(at).component());
    }
    // Conditions may hold there.
    let due = worker.machine.looker.due().iter().map(|due| &due.component);
    for &id in worker.machine.pokes.iter().chain(due) {
        if let Some(component) = worker.machine.table.get(id) {
            mark(&mut marks, component);
        }
    }
    for component in system::waiting(worker) {
        mark(&mut marks, component);
    }
    if clocks.len() > 1 {
        clocks.sort_by_key(|&component| std::cmp::Reverse(depth(component)));
    }
    let mut advanced = false;
    for component in clocks {
        if !marks.contains(&component.number()) && Life::of(component) != Life::Failed {
            wake_earliest(worker, component.number());
            advanced = true;
        }
    }
    advanced
}

/// Sets a clock to its earliest sleeper's time and wakes all of that time.
pub(crate) fn wake_earliest(worker: &mut Worker, number: u32) {
    let mut awake = Vec::new();
    if let Some(clock) = worker.machine.clocks.get_mut(&number)
        && let Some((&(time, _), _)) = clock.sleepers.first_key_value()
    {
        clock.now = time;
        while let Some(entry) = clock.sleepers.first_entry()
            && entry.key().0 == time
        {
            awake.push(entry.remove());
        }
    }
    for process in awake {
        process.set_link(ProcessRef::NULL);
        monitor::resume(worker, process);
    }
}
