//! Where a component has its connections: a slot for each interface, or a table for a set.

use super::{ComponentId, callers};
use crate::channel;
use crate::crew;
use crate::fault::Reason;
use crate::handle::{ComponentRef, SlotRef};
use crate::layout::{
    CLIENT_FAILED, CLIENT_FINISHED, Component, FAILED, NEXT_FREE, PORT_OFFERED, PORT_REQUIRED,
    SLOT_SIZE, Slot,
};
use crate::machine::Context;
use crate::machine::Worker;
use crate::process::ProcessState;
use crate::program::Port;

/// More interfaces of one set are taken for a mistake.
const SET_MAX: u32 = 1 << 24;

/// WordKind, interface and index of a port number.
pub(crate) fn parts(port: u64) -> (u64, u32, u32) {
    (port >> 56, (port >> 32) as u32 & 0xFF_FFFF, port as u32)
}

/// Generated code names interfaces by their number in the program, as it may not know the type of
/// a component: the same port with the interface's number in the component's type.
pub(crate) fn in_type(component: ComponentRef, port: u64) -> Option<u64> {
    if component.is_null() {
        return Some(port);
    }
    let (kind, interface, index) = parts(port);
    let descriptor = component.descriptor();
    let ports = if kind == PORT_REQUIRED { &descriptor.required } else { &descriptor.offered };
    let number = ports.iter().position(|known| known.interface == interface)?;
    Some(crate::layout::port(kind, number as u32, index))
}

/// The descriptor that a port number means.
pub(crate) fn port_of<'a>(component: ComponentRef, port: u64) -> Option<&'a Port> {
    let (kind, interface, _) = parts(port);
    let descriptor = component.descriptor();
    match kind {
        PORT_REQUIRED => descriptor.required.get(interface as usize),
        PORT_OFFERED | crate::layout::PORT_IMPLEMENTATION => {
            descriptor.offered.get(interface as usize)
        }
        _ => None,
    }
}

fn table_length(table: u64) -> u64 {
    if table == 0 { 0 } else { table_words(table).get(0) }
}

fn table_words(table: u64) -> crate::handle::Words {
    crate::handle::Words(std::ptr::with_exposed_provenance_mut(table as usize))
}

fn table_size(length: u64) -> usize {
    8 + length as usize * SLOT_SIZE as usize
}

/// The slot at a place of a table, from 0.
fn in_table(table: u64, place: u64) -> SlotRef {
    let offset = table_size(place);
    SlotRef(table_words(table).0.cast::<Slot>().wrapping_byte_add(offset))
}

/// The slot of a port, with its index taken from `index`; none if the set has no such place yet
/// and `grow` is unset.
pub(crate) fn slot_of(component: ComponentRef, port: &Port, index: u32) -> Option<SlotRef> {
    if port.slot == 0 {
        return None;
    }
    if !port.is_set() {
        return Some(component.slot(port.slot));
    }
    let table = component.word(port.slot).get(0);
    let place = u64::from(index.max(1)) - 1;
    (place < table_length(table)).then(|| in_table(table, place))
}

/// The slot of a port, made if it does not exist.
///
/// # Errors
/// The index is beyond what the set allows, or there is no memory.
pub(crate) fn make_slot(
    worker: &mut Worker,
    component: ComponentRef,
    port: &Port,
    index: u32,
) -> Result<SlotRef, (Reason, i64)> {
    if port.slot == 0 {
        return Err((Reason::Interface, 0));
    }
    if !port.is_set() {
        let fits = index <= 1 || index == NEXT_FREE;
        return fits.then(|| component.slot(port.slot)).ok_or((Reason::Index, index.into()));
    }
    let index = if index == NEXT_FREE { next_free(worker, component, port) } else { index };
    if index == 0 || index > port.high.unwrap_or(SET_MAX) {
        return Err((Reason::Index, i64::from(index)));
    }
    let word = component.word(port.slot);
    if u64::from(index) > table_length(word.get(0)) {
        grow(worker, component, port, index)?;
    }
    Ok(in_table(word.get(0), u64::from(index) - 1))
}

/// Whether a slot leads to a component that still exists.
fn is_connected(worker: &Worker, slot: SlotRef) -> bool {
    let target = ComponentId::from_raw(slot.target());
    target != ComponentId::NONE && worker.machine.table.get(target).is_some()
}

/// The first index of a set that is not connected.
fn next_free(worker: &Worker, component: ComponentRef, port: &Port) -> u32 {
    let table = component.word(port.slot).get(0);
    let length = table_length(table);
    let free = (0..length).find(|&place| !is_connected(worker, in_table(table, place)));
    free.unwrap_or(length) as u32 + 1
}

/// Makes the table of a set longer, and updates the addresses that point into it.
fn grow(
    worker: &mut Worker,
    component: ComponentRef,
    port: &Port,
    index: u32,
) -> Result<(), (Reason, i64)> {
    let word = component.word(port.slot);
    let old = word.get(0);
    let (count, length) = (table_length(old), u64::from(index).max(table_length(old) * 2));
    let block = worker.memory.take(table_size(length)).map_err(|_| (Reason::OutOfMemory, 0))?;
    let new = block.expose_provenance() as u64;
    table_words(new).set(0, length);
    for place in 0..count {
        let (from, to) = (in_table(old, place), in_table(new, place));
        to.set_target(from.target());
        to.set_port(from.port());
        to.set_channel(from.channel());
        if !from.channel().is_null() && from.channel().0 != FAILED {
            channel::hold(worker, from.channel());
            from.channel().set_client(to.channel_word());
            channel::release(worker);
        }
        moved(component, from, to);
    }
    word.set(0, new);
    if old != 0 {
        worker.memory.give(table_words(old).0.cast(), table_size(count));
    }
    Ok(())
}

/// Processes that wait at a slot that has moved.
fn moved(component: ComponentRef, from: SlotRef, to: SlotRef) {
    let mut process = component.processes();
    while !process.is_null() {
        let waits = matches!(ProcessState::of(process), ProcessState::Send | ProcessState::Receive);
        if waits && process.wait() == from.0.expose_provenance() as u64 {
            process.set_wait(to.0.expose_provenance() as u64);
        }
        process = process.next();
    }
}

/// All slots of a component's required interfaces.
pub(crate) fn slots_of(component: ComponentRef) -> Vec<SlotRef> {
    let mut slots = Vec::new();
    for port in &component.descriptor().required {
        if port.is_set() {
            let table = component.word(port.slot).get(0);
            slots.extend((0..table_length(table)).map(|place| in_table(table, place)));
        } else {
            slots.push(component.slot(port.slot));
        }
    }
    slots
}

/// Fails the component's communications as a client; it stays connected.
pub(crate) fn fail_communications(worker: &mut Worker, component: ComponentRef) {
    for slot in slots_of(component) {
        channel::finish(worker, slot, CLIENT_FINISHED | CLIENT_FAILED);
    }
}

/// Ends the component's communications as a client; `how` is added to the finish.
pub(crate) fn close_slots(worker: &mut Worker, component: ComponentRef, how: u32) {
    for slot in slots_of(component) {
        callers::note_disconnected(worker, component, slot);
        channel::finish(worker, slot, CLIENT_FINISHED | how);
        slot.set_target(0);
        slot.set_port(0);
    }
}

/// Frees the tables of sets.
pub(crate) fn free_tables(worker: &mut Worker, component: ComponentRef) {
    let descriptor = component.descriptor();
    for port in descriptor.required.iter().chain(&descriptor.offered) {
        if port.is_set() && port.slot != 0 {
            let table = component.word(port.slot).take(0);
            if table != 0 {
                let size = table_size(table_length(table));
                worker.memory.give(table_words(table).0.cast(), size);
            }
        }
    }
}

pub(crate) fn count(cx: &mut Context, component: *mut Component, port: u64) -> i64 {
    let Some(component) = ComponentRef(component).some() else { return 0 };
    if crew::is_elsewhere(cx.worker, component) {
        return crew::alone(cx.worker, |worker| connected(worker, component, port));
    }
    connected(cx.worker, component, port)
}

fn connected(worker: &Worker, component: ComponentRef, port: u64) -> i64 {
    let Some(port) = in_type(component, port) else { return 0 };
    let Some(known) = port_of(component, port) else { return 0 };
    if known.slot == 0 {
        return 0;
    }
    if !known.is_set() {
        return i64::from(is_connected(worker, component.slot(known.slot)));
    }
    let table = component.word(known.slot).get(0);
    let connected = |&place: &u64| is_connected(worker, in_table(table, place));
    (0..table_length(table)).filter(connected).count() as i64
}
