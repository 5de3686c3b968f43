//! Components: the tree, their lives, and the operations on them.
//!
//! ```text
//! beginning -> running -> (told to end, processes done) -> finally -> closing -> freed
//!                 \                                         (children end)
//!                  +-- fault --> failing -> emptying -> failed
//!                                (FINALLY)  (children end)
//! A failed one is a shell, until its owner deletes it.
//! ```
//! The tree is explicit: each component knows its owner and its sub-components, so telling,
//! tearing and freeing walk it in loops, never by recursion, however deep or wide it is. Steps
//! towards the end happen between two processes ([`crate::attend`]).

mod callers;
mod connect;
mod end;
mod id;
mod kinds;
mod path;
mod slots;

pub(crate) use callers::{Callers, break_circles as break_call_circles, end_telling};
pub(crate) use connect::{connect, disconnect};
pub(crate) use end::{
    advance, begun, break_circles, delete, empty, end_scope, fail, finally_done, forget_deleted,
    forget_deleter, may_end, one_less, release, strip, tell_all, tell_end, wait_for,
};
pub use id::ComponentId;
pub(crate) use id::Table;
pub(crate) use kinds::{failed, is_type, offers, requires, terminated};
pub(crate) use path::path;
pub(crate) use slots::{
    close_slots, count, fail_communications, free_tables, make_slot, slot_of, slots_of,
};

use crate::crew;
use crate::fault::Reason;
use crate::handle::{ComponentRef, ProcessRef, Words};
use crate::layout::OK;
use crate::machine::Context;
use crate::machine::Worker;
use crate::memory::OutOfMemory;
use crate::process::{self, Role};
use crate::program::Kind;
use crate::{monitor, words};

/// Where a component is in its life.
#[repr(u8)]
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Life {
    /// BEGIN runs or is to run.
    Beginning,
    /// It serves.
    Running,
    /// FINALLY runs.
    Finally,
    /// Its sub-components end.
    Closing,
    /// It has failed, and its FINALLY runs.
    Failing,
    /// It has failed, and its sub-components end.
    Emptying,
    /// It has failed; nothing of it is left but the shell.
    Failed,
}

impl Life {
    /// For listings.
    pub fn name(self) -> &'static str {
        match self {
            Life::Beginning => "beginning",
            Life::Running => "running",
            Life::Finally => "finally",
            Life::Closing => "closing",
            Life::Failing => "failing",
            Life::Emptying => "emptying",
            Life::Failed => "failed",
        }
    }

    pub(crate) fn of(component: ComponentRef) -> Life {
        match component.life() {
            0 => Life::Beginning,
            1 => Life::Running,
            2 => Life::Finally,
            3 => Life::Closing,
            4 => Life::Failing,
            5 => Life::Emptying,
            _ => Life::Failed,
        }
    }
}

/// Told to end.
const TOLD: u16 = 1;
/// To be torn down.
const DOOMED: u16 = 2;
/// Has the virtual time of its owner.
const SYNCHRONOUS: u16 = 4;
/// Its conditions are to be looked at.
const POKED: u16 = 8;
/// Processes wait for a connection that is missing here.
const PARKED: u16 = 16;
/// It has a virtual time of its own that somebody has used.
const CLOCKED: u16 = 32;
/// It is in the list of those that may have come closer to their end.
const ENDING: u16 = 64;
/// Its lock has been handed to a process that has not run since.
const HANDED: u16 = crate::layout::HANDED;
/// See there.
const CALM: u16 = crate::layout::CALM;
/// One of those that await a condition has been woken and has not run since.
const AWAKE: u16 = 512;
/// Something that it has to do with may live on another loop.
const TIED: u16 = 1024;
/// Those that await a condition are to be looked at.
const DUE: u16 = 2048;
/// The first of those outside has been woken in vain too often: it is handed the lock.
const URGENT: u16 = 4096;

macro_rules! flags {
    ($($is:ident, $set:ident, $clear:ident = $flag:ident;)+) => {
        #[allow(dead_code)]
        impl ComponentRef {
            $(
                #[inline]
                pub(crate) fn $is(self) -> bool {
                    self.flags() & $flag != 0
                }
                #[inline]
                pub(crate) fn $set(self) {
                    self.set_flags(self.flags() | $flag);
                }
                #[inline]
                pub(crate) fn $clear(self) {
                    self.set_flags(self.flags() & !$flag);
                }
            )+
        }
    };
}

flags! {
    is_told, set_told, clear_told = TOLD;
    is_doomed, set_doomed, clear_doomed = DOOMED;
    is_synchronous, set_synchronous, clear_synchronous = SYNCHRONOUS;
    is_poked, set_poked, clear_poked = POKED;
    is_parked, set_parked, clear_parked = PARKED;
    is_clocked, set_clocked, clear_clocked = CLOCKED;
    is_ending, set_ending, clear_ending = ENDING;
    is_handed, set_handed, clear_handed = HANDED;
    is_calm, set_calm, clear_calm = CALM;
    is_awake, set_awake, clear_awake = AWAKE;
    is_tied, set_tied, clear_tied = TIED;
    is_due, set_due, clear_due = DUE;
    is_urgent, set_urgent, clear_urgent = URGENT;
}

impl ComponentRef {
    /// Its name for the long run.
    pub(crate) fn id(self) -> ComponentId {
        ComponentId::new(self.number(), self.generation())
    }

    pub(crate) fn of_word(word: u64) -> ComponentRef {
        ComponentRef(std::ptr::with_exposed_provenance_mut(word as usize))
    }

    pub(crate) fn to_word(self) -> u64 {
        self.0.expose_provenance() as u64
    }

    /// Whether it has failed, or is about to be torn down.
    pub(crate) fn has_failed(self) -> bool {
        self.is_doomed() || Life::of(self) >= Life::Failing
    }

    /// Its monitor is as it was made. What lists it as one to be looked at still does.
    pub(crate) fn forget_monitor(self) {
        let kept = !(HANDED | CALM | AWAKE | URGENT | crate::layout::BUSY);
        self.set_flags(self.flags() & kept);
    }

    /// Whether `self` is `other` or below it.
    pub(crate) fn is_within(self, other: ComponentRef) -> bool {
        let mut component = self;
        while !component.is_null() {
            if component == other {
                return true;
            }
            component = component.owner();
        }
        false
    }
}

/// A component with its main process, if its type has any code to run.
pub(crate) fn create(
    worker: &mut Worker,
    kind: u32,
    owner: ComponentRef,
    synchronous: bool,
) -> Result<ComponentRef, OutOfMemory> {
    let descriptor = &worker.program().components[kind as usize];
    let size = descriptor.size as usize;
    let component = ComponentRef(worker.memory.take(size)?.cast());
    component.set_kind(descriptor);
    component.set_worker(crew::index(worker));
    if let Err(error) = worker.machine.table.insert(&mut worker.head.memory, component) {
        worker.memory.give(component.0.cast(), size);
        return Err(error);
    }
    if synchronous {
        component.set_synchronous();
    }
    if descriptor.begin.is_none() {
        component.set_life(Life::Running as u8);
    }
    if descriptor.begin.is_some() || descriptor.activity.is_some() {
        let functions = [descriptor.begin, descriptor.activity];
        match process::create_body(worker, component, Role::Main, functions) {
            Ok(main) => worker.wake(main),
            Err(error) => {
                worker.machine.table.remove(component);
                worker.memory.give(component.0.cast(), size);
                return Err(error);
            }
        }
    }
    worker.machine.counts.components.add();
    adopt(owner, component);
    Ok(component)
}

/// Enters a component among its owner's.
pub(crate) fn adopt(owner: ComponentRef, component: ComponentRef) {
    component.set_owner(owner);
    if owner.is_null() {
        return;
    }
    let first = owner.first_child();
    component.set_next_sibling(first);
    // Before the first is the last.
    if first.is_null() {
        component.set_previous_sibling(component);
    } else {
        component.set_previous_sibling(first.previous_sibling());
        first.set_previous_sibling(component);
    }
    owner.set_first_child(component);
    owner.set_child_count(owner.child_count() + 1);
}

/// Puts the first of a component's sub-components behind the others, and answers which that is.
pub(crate) fn rotate(owner: ComponentRef) -> ComponentRef {
    let first = owner.first_child();
    if let Some(second) = first.some().and_then(|first| first.next_sibling().some()) {
        first.previous_sibling().set_next_sibling(first);
        first.set_next_sibling(ComponentRef::NULL);
        second.set_previous_sibling(first);
        owner.set_first_child(second);
    }
    first
}

/// Takes a component out of its owner's list.
pub(crate) fn orphan(component: ComponentRef) {
    let owner = component.owner();
    if owner.is_null() {
        return;
    }
    let (next, previous) = (component.next_sibling(), component.previous_sibling());
    if owner.first_child() == component {
        owner.set_first_child(next);
    } else {
        previous.set_next_sibling(next);
    }
    // The last one's neighbour is the first.
    if let Some(neighbour) = next.some().or(owner.first_child().some()) {
        neighbour.set_previous_sibling(previous);
    }
    owner.set_child_count(owner.child_count() - 1);
    component.set_owner(ComponentRef::NULL);
}

pub(crate) fn new(
    cx: &mut Context,
    word: *mut u64,
    kind: u32,
    synchronous: u32,
    position: u32,
) -> u32 {
    let owner = cx.component();
    let make = |worker: &mut Worker| create(worker, kind, owner, synchronous != 0);
    let full = cx.worker.machine.table.is_full();
    match if full { crew::alone(cx.worker, make) } else { make(cx.worker) } {
        Ok(component) => {
            Words(word).set(0, component.to_word());
            OK
        }
        Err(error) => cx.out_of_memory(error, position),
    }
}

pub(crate) fn move_word(cx: &mut Context, from: *mut u64, to: *mut u64, position: u32) -> u32 {
    if Words(to).get(0) != 0 {
        return cx.fault(Reason::NotMovable, 0, position);
    }
    Words(to).set(0, Words(from).take(0));
    OK
}

pub(crate) fn drop_word(cx: &mut Context, word: *mut u64, kind: u32) {
    words::drop_word(cx.worker, words::kind_of(kind), Words(word));
}

/// Hands a component over to another owner, as a message does.
pub(crate) fn hand_over(component: ComponentRef, owner: ComponentRef) -> Result<(), Reason> {
    if owner.is_null() {
        return Err(Reason::NotMovable);
    }
    if owner.is_within(component) {
        return Err(Reason::OwnershipCycle);
    }
    orphan(component);
    adopt(owner, component);
    crew::tie(owner, component);
    Ok(())
}

/// Drops what a component's variables own. Its sub-components are not their business.
pub(crate) fn drop_variables(worker: &mut Worker, component: ComponentRef) {
    for variable in &component.descriptor().variables {
        let word = component.word(variable.offset);
        match variable.kind {
            Kind::Component => word.set(0, 0),
            kind => words::free_word(worker, kind, word),
        }
    }
}

/// Notes that processes wait for a connection here.
pub(crate) fn park(worker: &mut Worker, component: ComponentRef, process: ProcessRef) {
    component.set_parked();
    process.set_wait(component.id().raw());
    let home = worker.home(component);
    home.machine.parked.entry(component.id().raw()).or_default().push(process);
}

/// Has the conditions of `watcher` looked at when something is connected here.
pub(crate) fn watch_connection(
    worker: &mut Worker,
    component: ComponentRef,
    watcher: ComponentRef,
) {
    crew::tie(component, watcher);
    let away = crew::is_elsewhere(worker, component);
    let watch = |worker: &mut Worker| {
        component.set_parked();
        let home = worker.home(component);
        let watchers = home.machine.watchers.entry(component.id().raw()).or_default();
        watchers.insert(watcher.id());
    };
    if away { crew::alone(worker, watch) } else { watch(worker) }
}

/// Wakes those that wait for a connection here: they look again.
pub(crate) fn wake_parked(worker: &mut Worker, component: ComponentRef) {
    if !component.is_parked() {
        return;
    }
    component.clear_parked();
    let machine = &mut worker.home(component).machine;
    let parked = machine.parked.remove(&component.id().raw());
    let watchers = machine.watchers.remove(&component.id().raw());
    for process in parked.unwrap_or_default() {
        worker.wake(process);
    }
    for watcher in watchers.unwrap_or_default() {
        if let Some(watcher) = worker.machine.table.get(watcher) {
            monitor::poke(worker, watcher);
        }
    }
}
