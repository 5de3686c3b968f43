//! The end of components: terminated, waited for, closed, freed.

use super::{
    Life, callers, close_slots, drop_variables, free_tables, husk, orphan, slots_of, wake_parked,
};
use crate::component::terminate::{is_serving, may_end, note_terminating, one_less, terminate};
use crate::crew;
use crate::fault::{self, Ended, Reason};
use crate::handle::{ComponentRef, ProcessRef, SlotRef};
use crate::layout::CLIENT_FINISHED;
use crate::machine::{Machine, Worker};
use crate::outside::launched as outside;
use crate::pieces;
use crate::process::{self, INNER, ProcessState, Role};
use crate::words;
use crate::{channel, monitor};
use tidemill_stdx::ordered::OrderedSet;

/// BEGIN is done: processes that waited for it may serve.
pub(crate) fn begun(worker: &mut Worker, component: ComponentRef) {
    component.set_life(Life::Running as u8);
    let mut process = component.processes();
    let mut servers = Vec::new();
    while !process.is_null() {
        if process.state() == ProcessState::Begin as u8 {
            servers.push(process);
        }
        process = process.next();
    }
    // The list has the newest first.
    for server in servers.into_iter().rev() {
        worker.wake(server);
    }
}

/// Advances a component towards its end as far as possible now.
pub(crate) fn advance(worker: &mut Worker, component: ComponentRef) {
    component.clear_ending();
    let life = Life::of(component);
    let is_called_for =
        component.is_terminating() || matches!(life, Life::Failing | Life::Emptying);
    if !is_called_for || component.is_doomed() && life != Life::Failed {
        return;
    }
    match life {
        Life::Failing if component.process_count() == 0 => empty(worker, component),
        Life::Failing => {}
        Life::Emptying if component.child_count() == 0 => become_shell(worker, component),
        Life::Emptying => {}
        Life::Failed => release(worker, component),
        Life::Beginning | Life::Running if component.process_count() == 0 => {
            if !callers::has_callers(worker, component) {
                start_finally(worker, component);
            }
        }
        Life::Beginning | Life::Running => {
            if all_processes(component, |process| process.has(INNER)) {
                terminate_children(worker, component);
            }
            if all_processes(component, |process| ProcessState::of(process) == ProcessState::Finish)
            {
                finish_slots(worker, component);
            }
            finish_done_clients(worker, component);
        }
        Life::Finally if component.process_count() == 0 => close(worker, component),
        Life::Finally => {}
        Life::Closing => end_closing(worker, component),
    }
}

/// Whether all processes that are left are so: those that serve sub-components, for which these
/// have to end first; or those whose bodies are done.
pub(crate) fn all_processes(component: ComponentRef, is_so: impl Fn(ProcessRef) -> bool) -> bool {
    let mut process = component.processes();
    while !process.is_null() {
        if !is_so(process) {
            return false;
        }
        process = process.next();
    }
    true
}

/// Nothing is ready any more: terminating components that only serve wait for clients that may wait
/// in the same way, in a circle. None of them will send again, so they finish their communications
/// as clients; so do clients that are done. Returns whether there was any.
pub(crate) fn break_circles(worker: &mut Worker) -> bool {
    let terminating = terminating(worker);
    let mut any = false;
    for component in terminating {
        let serves = |process| {
            Role::of(process) == Role::Server
                && matches!(ProcessState::of(process), ProcessState::Receive | ProcessState::Finish)
        };
        if component.process_count() > 0 && all_processes(component, serves) {
            any |= finish_slots(worker, component);
        }
        any |= finish_done_clients(worker, component);
    }
    any
}

/// The terminating components that may serve.
fn terminating(worker: &mut Worker) -> Vec<ComponentRef> {
    let Machine { terminating, table, desk, .. } = &mut worker.machine;
    if desk.is_some() {
        // With several loops, another one may have terminated some.
        return table.iter().filter(|it| is_serving(*it)).collect();
    }
    let all = terminating.all(|id| table.get(id).is_some_and(is_serving));
    all.iter().filter_map(|id| table.get(*id)).collect()
}

/// Finishes the communications with clients that are done and will never send again: they have no
/// process, and nothing can make them start one. Returns whether there were any.
pub(crate) fn finish_done_clients(worker: &mut Worker, component: ComponentRef) -> bool {
    let mut open = Vec::new();
    let mut process = component.processes();
    while !process.is_null() {
        let waits =
            matches!(ProcessState::of(process), ProcessState::Receive | ProcessState::Finish);
        if waits && Role::of(process) == Role::Server {
            open.push(process.channel());
        }
        process = process.next();
    }
    let mut any = false;
    for channel in open {
        let client = channel.client_component();
        if client.is_null() || channel.client().is_null() || crew::is_elsewhere(worker, client) {
            continue;
        }
        let serves = client.descriptor().offered.iter().any(|port| port.implementation.is_some());
        if client.process_count() == 0 && Life::of(client) == Life::Running && !serves {
            channel::finish(worker, SlotRef(channel.client().cast()), CLIENT_FINISHED);
            any = true;
        }
    }
    any
}

/// Finishes the communications of a component as a client; returns whether there were any.
pub(crate) fn finish_slots(worker: &mut Worker, component: ComponentRef) -> bool {
    let mut any = false;
    for slot in slots_of(component) {
        any |= !slot.channel().is_null();
        channel::finish(worker, slot, CLIENT_FINISHED);
    }
    any
}

pub(crate) fn start_finally(worker: &mut Worker, component: ComponentRef) {
    let has_failed = component.has_failed();
    let Some(function) = component.descriptor().finally else {
        return if has_failed { empty(worker, component) } else { close(worker, component) };
    };
    if !has_failed {
        component.set_life(Life::Finally as u8);
    }
    match process::create_body(worker, component, Role::Finally, [Some(function), None]) {
        Ok(process) => worker.wake(process),
        Err(_) => fault::note_component(worker, component, "FINALLY", Reason::OutOfMemory),
    }
}

/// FINALLY is done.
pub(crate) fn finally_done(worker: &mut Worker, process: ProcessRef) {
    let component = process.component();
    component.set_lock(0);
    process::end(worker, process);
    may_end(worker, component);
}

/// Runs FINALLY of a component that has failed and whose processes are killed, unless the fault
/// was in FINALLY.
pub(crate) fn fail(worker: &mut Worker, component: ComponentRef) {
    let was_finally = Life::of(component) >= Life::Finally;
    component.clear_doomed();
    component.set_life(Life::Failing as u8);
    wake_parked(worker, component);
    if let Some(owner) = component.owner().some() {
        // It may await FAILED.
        monitor::poke(worker, owner);
    }
    if was_finally { empty(worker, component) } else { start_finally(worker, component) }
}

/// What processes were deleting when they were killed is not the component's any more: it ends, or
/// has ended, while FINALLY runs. The words that named it are empty, as after DELETE.
pub(crate) fn forget_deleted(worker: &mut Worker, component: ComponentRef) {
    let mut children = OrderedSet::new();
    let mut child = component.first_child();
    while let Some(here) = child.some() {
        if !here.is_terminating() {
            children.insert(here.0.addr());
        }
        child = here.next_sibling();
    }
    // Where one was freed another may be by now: then two words name it, of which one goes.
    let keep = &mut |named: ComponentRef| children.remove(&named.0.addr());
    for variable in &component.descriptor().variables {
        words::keep_components(worker, variable.kind, component.word(variable.offset), keep);
    }
}

/// Terminates the sub-components of a component that has failed.
pub(crate) fn empty(worker: &mut Worker, component: ComponentRef) {
    component.set_life(Life::Emptying as u8);
    finish_slots(worker, component);
    if component.child_count() == 0 {
        become_shell(worker, component);
    } else {
        terminate_children(worker, component);
    }
}

/// Reduces a failed component to what its owner may still query.
pub(crate) fn become_shell(worker: &mut Worker, component: ComponentRef) {
    close_slots(worker, component, CLIENT_FINISHED);
    strip(worker, component);
    // The entry component lives on the first loop; no other knows one.
    if component.id() == worker.machine.entry {
        let outcome = worker.machine.outcome.take();
        worker.machine.ended.get_or_insert(outcome.unwrap_or(Ended::Failed { code: None }));
        worker.machine.attend();
    }
    if component.is_terminating() {
        may_end(worker, component);
    }
}

/// Drops what a failed component owns.
pub(crate) fn strip(worker: &mut Worker, component: ComponentRef) {
    drop_variables(worker, component);
    free_tables(worker, component);
    crate::clock::close(worker, component);
    wake_parked(worker, component);
    component.set_life(Life::Failed as u8);
}

/// A process that waits for the end of components is killed.
pub(crate) fn forget_deleter(process: ProcessRef) {
    let mut child = process.component().first_child();
    while let Some(here) = child.some() {
        if here.deleter() == process {
            here.set_deleter(ProcessRef::NULL);
        }
        child = here.next_sibling();
    }
}

/// Ends its communications and has its sub-components end. It stays connected until they have: what
/// they require may lead through it, or to an implementation of it, which serves them until then.
pub(crate) fn close(worker: &mut Worker, component: ComponentRef) {
    component.set_life(Life::Closing as u8);
    finish_slots(worker, component);
    wake_parked(worker, component);
    if component.child_count() == 0 {
        end_closing(worker, component);
    } else {
        // It may serve them.
        note_terminating(worker, component);
        terminate_children(worker, component);
    }
}

/// Frees a closing component once its sub-components are released, and its server processes.
pub(crate) fn end_closing(worker: &mut Worker, component: ComponentRef) {
    if component.child_count() == 0 && component.process_count() == 0 {
        // Those that served may have opened some.
        finish_slots(worker, component);
        release(worker, component);
    }
}

pub(crate) fn terminate_children(worker: &mut Worker, component: ComponentRef) {
    if pieces::schedule_children(worker, component) {
        return;
    }
    let mut child = component.first_child();
    while !child.is_null() {
        if !child.is_terminating() {
            terminate(worker, child, ProcessRef::NULL);
        }
        child = child.next_sibling();
    }
}

/// Frees a component that has neither processes nor sub-components any more.
pub(crate) fn release(worker: &mut Worker, component: ComponentRef) {
    let may_be_used = husk::may_be_used(component);
    if may_be_used {
        close_slots(worker, component, CLIENT_FINISHED);
    } else {
        callers::note_released(worker, component);
    }
    drop_variables(worker, component);
    free_tables(worker, component);
    crate::clock::close(worker, component);
    wake_parked(worker, component);
    let (owner, deleter) = (component.owner(), component.deleter());
    if !owner.is_null() {
        // It may count connections to this one.
        monitor::poke(worker, owner);
    }
    orphan(component);
    if !owner.is_null() && (owner.is_terminating() || Life::of(owner) == Life::Emptying) {
        may_end(worker, owner);
    }
    if !deleter.is_null() {
        one_less(worker, deleter);
    }
    // It lives on the first loop; no other knows an entry.
    if component.id() == worker.machine.entry {
        worker.machine.ended.get_or_insert(Ended::Finished);
        worker.machine.attend();
    }
    outside::note_over(worker, component, None);
    outside::note_gone(worker, component);
    husk::free_those_of(worker, component);
    worker.machine.table.remove(component);
    worker.machine.counts.components.remove();
    if may_be_used {
        husk::keep(worker, owner, component);
    } else {
        husk::free(worker, component);
    }
}
