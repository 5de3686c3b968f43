//! CONNECT and DISCONNECT.

use super::slots::{in_type, make_slot, parts, port_of};
use super::{callers, husk, kinds, wake_parked};
use crate::channel;
use crate::crew;
use crate::fault::Reason;
use crate::handle::{ComponentRef, SlotRef};
use crate::layout::{
    CLIENT_FINISHED, Component, NEXT_FREE, OK, PORT_IMPLEMENTATION, PORT_OFFERED, PORT_REQUIRED,
    port,
};
use crate::machine::Context;
use crate::machine::Worker;
use crate::monitor;

pub(crate) fn connect(
    cx: &mut Context,
    from: *mut Component,
    from_port: u64,
    to: *mut Component,
    to_port: u64,
    position: u32,
) -> u32 {
    let (from, to) = (ComponentRef(from), ComponentRef(to));
    let ports = in_type(from, from_port).zip(in_type(to, to_port));
    let Some((from_port, to_port)) = ports else {
        return cx.fault(Reason::Interface, 0, position);
    };
    if let Some(fault) = check_end(cx, from, from_port, position) {
        return fault;
    }
    let own = cx.component();
    let connect = |worker: &mut Worker| try_connect(worker, own, from, from_port, to, to_port);
    let away = crew::is_elsewhere(cx.worker, from);
    match if away { crew::alone(cx.worker, connect) } else { connect(cx.worker) } {
        Ok(()) => OK,
        Err((reason, detail)) => cx.fault(reason, detail, position),
    }
}

fn try_connect(
    worker: &mut Worker,
    own: ComponentRef,
    from: ComponentRef,
    from_port: u64,
    to: ComponentRef,
    to_port: u64,
) -> Result<(), (Reason, i64)> {
    if [from, to].iter().any(|it| it.is_null() || husk::is_husk(*it)) {
        return Err((Reason::Empty, 0));
    }
    let known = port_of(from, from_port).ok_or((Reason::Interface, 0))?;
    let target = port_of(to, to_port).ok_or((Reason::Interface, 0))?;
    if !kinds::same_interface(worker, known.interface, target.interface) {
        return Err((Reason::Interface, 0));
    }
    let (to_kind, to_interface, to_index) = parts(to_port);
    let (from_kind, _, index) = parts(from_port);
    check_shape(own, from, from_kind, to, to_kind)?;
    if to_kind == PORT_IMPLEMENTATION && target.implementation.is_none() {
        return Err((Reason::Interface, 0));
    }
    let slot = make_slot(worker, from, known, index)?;
    let is_required = from_kind == PORT_REQUIRED;
    if is_required {
        callers::note_disconnected(worker, from, slot);
    }
    clear(worker, slot);
    // An offered interface without redirection is implemented by the component itself.
    if is_required || to_kind != PORT_IMPLEMENTATION {
        let to_index = if to_index == NEXT_FREE { 0 } else { to_index };
        slot.set_target(to.id().raw());
        slot.set_port(port(to_kind, to_interface, to_index));
        if is_required {
            callers::note_connected(worker, from, slot);
        }
    }
    wake_parked(worker, from);
    poke_counters(worker, from);
    Ok(())
}

/// Has conditions evaluated that may count the connections of a component: its own, and those of
/// its owner.
fn poke_counters(worker: &mut Worker, component: ComponentRef) {
    monitor::poke(worker, component);
    if let Some(owner) = component.owner().some() {
        monitor::poke(worker, owner);
    }
}

/// From a required interface of a sub-component or an own offered one, to an offered interface
/// of a sub-component, an own required one, or the own implementation.
fn check_shape(
    own: ComponentRef,
    from: ComponentRef,
    from_kind: u64,
    to: ComponentRef,
    to_kind: u64,
) -> Result<(), (Reason, i64)> {
    let source = match from_kind {
        PORT_REQUIRED => from != own && from.owner() == own,
        PORT_OFFERED => from == own,
        _ => false,
    };
    let target = match to_kind {
        PORT_OFFERED => to != own && to.owner() == own,
        PORT_REQUIRED | PORT_IMPLEMENTATION => to == own,
        _ => false,
    };
    if source && target { Ok(()) } else { Err((Reason::Interface, 0)) }
}

/// Checks that a communication open at a port of a component can end now. Else the fault is of the
/// component that ends it, not of the two that communicate.
fn check_end(cx: &mut Context, component: ComponentRef, port: u64, position: u32) -> Option<u32> {
    let known = port_of(component.some()?, port)?;
    let middle = |worker: &mut Worker| {
        let channel = super::slot_of(component, known, parts(port).2)?.channel();
        channel::is_in_middle(worker, channel).then_some(channel)
    };
    let channel = if crew::is_elsewhere(cx.worker, component) {
        crew::alone(cx.worker, middle)
    } else {
        middle(cx.worker)
    };
    Some(cx.in_middle(component, channel?, position))
}

/// Ends the communication open at a slot, and the connection.
fn clear(worker: &mut Worker, slot: SlotRef) {
    channel::finish(worker, slot, CLIENT_FINISHED);
    slot.set_target(0);
    slot.set_port(0);
}

pub(crate) fn disconnect(
    cx: &mut Context,
    component: *mut Component,
    port: u64,
    position: u32,
) -> u32 {
    let Some(component) = ComponentRef(component).some() else {
        return cx.fault(Reason::Empty, 0, position);
    };
    let Some(port) = in_type(component, port) else {
        return cx.fault(Reason::Interface, 0, position);
    };
    let Some(known) = port_of(component, port) else {
        return cx.fault(Reason::Interface, 0, position);
    };
    if let Some(fault) = check_end(cx, component, port, position) {
        return fault;
    }
    let clear = |worker: &mut Worker| {
        if let Some(slot) = super::slot_of(component, known, parts(port).2) {
            if parts(port).0 == PORT_REQUIRED {
                callers::note_disconnected(worker, component, slot);
            }
            clear(worker, slot);
            poke_counters(worker, component);
        }
    };
    if crew::is_elsewhere(cx.worker, component) {
        crew::alone(cx.worker, clear);
    } else {
        clear(cx.worker);
    }
    OK
}
