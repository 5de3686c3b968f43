//! Which component lives on which loop.
//!
//! Everything begins on the first loop. A loop that has too much to run for some time ([`policy`])
//! gives half of the components with something to run to a loop that sleeps: those made
//! later, or those made earlier, whichever lie nearer to what that loop has already. Components
//! that were made one after the other mostly talk with each other, so few messages cross; where
//! that is not so, they stay.
//!
//! Tests have components spread *eagerly*: at the end of each stretch, however short, and for good.
//!
//! [`policy`]: super::policy

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::policy::{CUT_PART, Share};
use super::{between, tie};
use crate::channel::set_remote;
use crate::component::slots_of;
use crate::handle::{ChannelRef, ComponentRef, ProcessRef};
use crate::layout::{FAILED, SYSTEM};
use crate::machine::Worker;
use crate::outside::note as outside;
use crate::process::Role;
use crate::sessions::{self, sessions_of};

/// Gathers everything on the first loop, for a while.
pub(super) fn gather_for_now(worker: &mut Worker) {
    between(worker, |worker| {
        gather(worker);
        let Some(desk) = &worker.machine.desk else { return };
        let mut policy = desk.crew.policy.lock().unwrap_or_else(PoisonError::into_inner);
        policy.pause(desk.crew.now_ns());
    });
}

/// Disables spreading, and gathers all components as soon as possible.
pub(crate) fn gather_for_good(worker: &mut Worker) {
    if let Some(desk) = &worker.machine.desk {
        desk.crew.may_spread.store(false, Ordering::Relaxed);
        let mut policy = desk.crew.policy.lock().unwrap_or_else(PoisonError::into_inner);
        policy.gather = true;
    }
}

/// Whether everything is on one loop for good.
pub(crate) fn is_gathered_for_good(worker: &Worker) -> bool {
    worker
        .machine
        .desk
        .as_ref()
        .is_none_or(|desk| !desk.crew.is_spread() && !desk.crew.may_spread.load(Ordering::Relaxed))
}

/// Gathers everything on the first loop. The caller has exclusive access.
pub(super) fn gather(worker: &mut Worker) {
    let Some(desk) = &worker.machine.desk else { return };
    let crew = desk.crew.clone();
    if !crew.is_spread() {
        return;
    }
    for from in 1..crew.members.len() {
        let there = components_of(worker, from as u8);
        relocate(worker, &there, from as u8, 0);
    }
    for component in worker.machine.table.iter() {
        component.clear_tied();
    }
    crew.spread.store(false, Ordering::Relaxed);
    crew.wake(0);
}

/// Moves a component to the first loop, as it is to communicate with the system.
pub(super) fn bring_home(worker: &mut Worker, component: ComponentRef) {
    let id = component.id();
    between(worker, |worker| {
        if let Some(component) = worker.machine.table.get(id)
            && component.worker() != 0
        {
            let from = component.worker();
            relocate(worker, &[component], from, 0);
            if let Some(desk) = &worker.machine.desk {
                desk.crew.wake(0);
            }
        }
    });
}

/// Moves part of the components with ready processes to a loop that sleeps, if there is one.
pub(super) fn share(worker: &mut Worker, what: Share) {
    let Some(desk) = &worker.machine.desk else { return };
    let (crew, own) = (desk.crew.clone(), usize::from(desk.index));
    if worker.ready_count() < 2 || !crew.may_share_now() {
        return;
    }
    let asleep = |&index: &usize| crew.members[index].asleep.is_likely();
    let Some(to) = (0..crew.members.len()).filter(|&index| index != own).find(asleep) else {
        return;
    };
    between(worker, |worker| {
        let start = crew.now_ns();
        // Meanwhile another worker may have moved components to it.
        let is_free = worker.member(to as u8).ready_count() == 0;
        let is_cut = is_free && !give_half(worker, own as u8, to as u8, what);
        let end = crew.now_ns();
        let mut policy = crew.policy.lock().unwrap_or_else(PoisonError::into_inner);
        if is_cut {
            policy.pause(end);
        }
        policy.took(start, end);
    });
    crew.wake(to);
}

/// Moves half of the components; false if that would cut too many communications.
fn give_half(worker: &mut Worker, own: u8, to: u8, what: Share) -> bool {
    let mut active: Vec<u32> = (worker.ready_head..worker.ready_tail)
        .filter_map(|at| worker.ready_at(at).component().some())
        .map(ComponentRef::number)
        .collect();
    active.sort_unstable();
    active.dedup();
    if active.len() < 2 {
        return true;
    }
    let middle = active[active.len() / 2];
    let (mine, theirs) = (mean(worker, own), mean(worker, to));
    let lower = theirs.zip(mine).is_some_and(|(theirs, mine)| theirs < mine);
    let chosen: Vec<ComponentRef> = components_of(worker, own)
        .into_iter()
        .filter(|component| (component.number() < middle) == lower)
        .filter(|&component| is_movable(worker, component))
        .collect();
    if chosen.is_empty() {
        return true;
    }
    if what == Share::Neighbours && cuts_much(&chosen, own, |it| (it.number() < middle) == lower) {
        return false;
    }
    relocate(worker, &chosen, own, to);
    if let Some(desk) = &worker.machine.desk {
        desk.crew.given.fetch_add(chosen.len() as u64, Ordering::Relaxed);
        desk.crew.spread.store(true, Ordering::Relaxed);
    }
    true
}

/// Whether many of the communications of the chosen components lead to components that would stay.
fn cuts_much(chosen: &[ComponentRef], own: u8, goes: impl Fn(ComponentRef) -> bool) -> bool {
    let (mut all, mut cut) = (0, 0);
    let mut count = |other: ComponentRef| {
        if !other.is_null() {
            all += 1;
            cut += usize::from(other.worker() == own && !goes(other));
        }
    };
    for &component in chosen {
        for process in processes_of(component) {
            if Role::of(process) == Role::Server {
                count(process.channel().client_component());
            }
        }
        for channel in client_channels(component) {
            count(channel.server().component());
        }
    }
    cut * CUT_PART > all
}

fn components_of(worker: &Worker, index: u8) -> Vec<ComponentRef> {
    worker.machine.table.iter().filter(|component| component.worker() == index).collect()
}

/// The mean number of movable components on a loop.
fn mean(worker: &Worker, index: u8) -> Option<u64> {
    let (mut sum, mut count) = (0, 0);
    for component in worker.machine.table.iter() {
        if component.worker() == index && component.id() != worker.machine.entry {
            sum += u64::from(component.number());
            count += 1;
        }
    }
    (count > 0).then(|| sum / count)
}

/// Not movable are the entry component, launched ones, and components that communicate with the
/// system or the embedder.
fn is_movable(worker: &mut Worker, component: ComponentRef) -> bool {
    let entry = worker.first().machine.entry;
    component.id() != entry
        && (component.owner().some().is_some() || !component.descriptor().offered.is_empty())
        && !client_channels(component).iter().any(|channel| channel.has(SYSTEM))
        && !processes_of(component).any(outside::serves_embedder)
}

fn processes_of(component: ComponentRef) -> impl Iterator<Item = ProcessRef> {
    std::iter::successors(component.processes().some(), |process| process.next().some())
}

/// The open channels of which the component or one of its processes is the client.
fn client_channels(component: ComponentRef) -> Vec<ChannelRef> {
    let slots = slots_of(component).into_iter();
    let sessions = processes_of(component).flat_map(sessions_of);
    let slots = slots.chain(sessions.map(|session| session.slot()));
    slots.map(|slot| slot.channel()).filter(|channel| is_open(*channel)).collect()
}

fn is_open(channel: ChannelRef) -> bool {
    !channel.is_null() && channel.0 != FAILED
}

/// Moves components to another loop. With exclusive access, between processes.
fn relocate(worker: &mut Worker, chosen: &[ComponentRef], from: u8, to: u8) {
    for &component in chosen {
        component.set_worker(to);
    }
    relocate_queues(worker, from, to);
    for &component in chosen {
        relocate_belongings(worker, component, from, to);
        connect_again(component);
    }
}

/// Moves the queue entries of a worker that belong to components that have moved.
fn relocate_queues(worker: &mut Worker, from: u8, to: u8) {
    let source = worker.member(from);
    let waiting: Vec<ProcessRef> =
        (source.ready_head..source.ready_tail).map(|at| source.ready_at(at)).collect();
    source.ready_head = source.ready_tail;
    let has_moved = |component: ComponentRef| !component.is_null() && component.worker() == to;
    for process in waiting {
        let place = if has_moved(process.component()) { to } else { from };
        worker.member(place).push_ready(process);
    }
    macro_rules! split {
        ($list:ident) => {
            let ids = std::mem::take(&mut worker.member(from).machine.$list);
            for id in ids {
                let moved = worker.machine.table.get(id).is_some_and(has_moved);
                let target = worker.member(if moved { to } else { from });
                target.machine.$list.push(id);
                target.machine.attend();
            }
        };
    }
    let due = std::mem::take(worker.member(from).machine.looker.due_mut());
    for one in due {
        if worker.machine.table.get(one.component).is_some_and(has_moved) {
            let target = worker.member(to);
            target.machine.pokes.push(one.component);
            target.machine.attend();
        } else {
            worker.member(from).machine.looker.due_mut().push(one);
        }
    }
    split!(pokes);
    split!(ending);
    split!(doomed);
}

/// Moves the entries of worker tables for a component that has moved.
fn relocate_belongings(worker: &mut Worker, component: ComponentRef, from: u8, to: u8) {
    let key = component.id().raw();
    if let Some(husks) = worker.member(from).machine.husks.remove(&key) {
        worker.member(to).machine.husks.insert(key, husks);
    }
    if component.is_parked() {
        if let Some(parked) = worker.member(from).machine.parked.remove(&key) {
            worker.member(to).machine.parked.entry(key).or_default().extend(parked);
        }
        if let Some(watchers) = worker.member(from).machine.watchers.remove(&key) {
            worker.member(to).machine.watchers.entry(key).or_default().extend(watchers);
        }
    }
    for process in processes_of(component) {
        if process.has(sessions::MANY) {
            for session in sessions_of(process) {
                worker.member(from).machine.sessions.remove(session);
                worker.member(to).machine.sessions.insert(session);
            }
        }
    }
}

/// Recomputes which channels of a moved component are between loops, and ties it to the components
/// elsewhere.
fn connect_again(component: ComponentRef) {
    for process in processes_of(component) {
        if Role::of(process) == Role::Server {
            let channel = process.channel();
            connect_channel(channel, channel.client_component(), component);
        }
    }
    for channel in client_channels(component) {
        if !channel.has(SYSTEM) {
            connect_channel(channel, component, channel.server().component());
        }
    }
    tie(component, component.owner());
    let mut child = component.first_child();
    while let Some(known) = child.some() {
        tie(component, known);
        child = known.next_sibling();
    }
}

/// A channel whose client has finished belongs to its server alone.
fn connect_channel(channel: ChannelRef, client: ComponentRef, server: ComponentRef) {
    set_remote(channel, !client.is_null() && client.worker() != server.worker());
    tie(client, server);
}
