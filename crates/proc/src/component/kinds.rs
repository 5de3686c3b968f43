//! Questions about a component: its type, what it offers and requires, how it is.

use super::Life;
use crate::fault::Reason;
use crate::handle::ComponentRef;
use crate::layout::{Component, OK, Worker};
use crate::program::Port;
use crate::worker::Context;

/// An interface and how many of it at least and at most.
type Wanted = (u32, u32, Option<u32>);

/// Whether two interface numbers name the same interface.
pub(crate) fn same_interface(worker: &Worker, left: u32, right: u32) -> bool {
    let interfaces = &worker.program().interfaces;
    left == right || interfaces[left as usize].name == interfaces[right as usize].name
}

/// Whether a port is at least what is wanted.
fn fits(worker: &Worker, port: &Port, &(interface, low, high): &Wanted) -> bool {
    let room = match (port.high, high) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(has), Some(wants)) => has >= wants,
    };
    same_interface(worker, port.interface, interface) && port.low <= low && room
}

fn has_all(worker: &Worker, ports: &[Port], wanted: &[Wanted]) -> bool {
    wanted.iter().all(|want| ports.iter().any(|port| fits(worker, port, want)))
}

pub(crate) fn terminated(cx: &mut Context) -> u32 {
    u32::from(cx.component().is_told() || cx.worker.machine.halted)
}

pub(crate) fn failed(_: &mut Context, component: *mut Component) -> u32 {
    let component = ComponentRef(component);
    u32::from(
        !component.is_null() && (component.is_doomed() || Life::of(component) == Life::Failed),
    )
}

pub(crate) fn is_type(cx: &mut Context, component: *mut Component, kind: u32) -> u32 {
    let known = &raw const cx.worker.program().components[kind as usize];
    let component = ComponentRef(component);
    u32::from(!component.is_null() && component.kind() == known)
}

pub(crate) fn offers(cx: &mut Context, component: *mut Component, facet: u32) -> u32 {
    let Some(component) = ComponentRef(component).some() else { return 0 };
    let facet = &cx.worker.program().facets[facet as usize];
    u32::from(has_all(cx.worker, &component.descriptor().offered, &facet.offered))
}

pub(crate) fn requires(cx: &mut Context, component: *mut Component, facet: u32) -> u32 {
    let Some(component) = ComponentRef(component).some() else { return 0 };
    let facet = &cx.worker.program().facets[facet as usize];
    u32::from(has_all(cx.worker, &component.descriptor().required, &facet.required))
}

pub(crate) fn is_any(cx: &mut Context, component: *mut Component, facet: u32) -> u32 {
    let Some(known) = ComponentRef(component).some() else { return 0 };
    let wanted = &cx.worker.program().facets[facet as usize];
    let allowed = |port: &Port| {
        let known = |want: &&Wanted| same_interface(cx.worker, port.interface, want.0);
        let room = |want: &Wanted| want.1 >= port.low;
        wanted.required.iter().find(known).is_some_and(room)
    };
    let closed = known.descriptor().required.iter().all(allowed);
    u32::from(closed) & offers(cx, component, facet)
}

/// Gives the place of a port of an interface as the result.
fn number(cx: &mut Context, ports: &[Port], interface: u32, position: u32) -> u32 {
    let worker = &*cx.worker;
    match ports.iter().position(|port| same_interface(worker, port.interface, interface)) {
        Some(number) => {
            cx.frame.set_result(number as u64);
            OK
        }
        None => cx.fault(Reason::Interface, 0, position),
    }
}

pub(crate) fn offered_number(
    cx: &mut Context,
    component: *mut Component,
    interface: u32,
    position: u32,
) -> u32 {
    match ComponentRef(component).some() {
        Some(known) => number(cx, &known.descriptor().offered, interface, position),
        None => cx.fault(Reason::Empty, 0, position),
    }
}

pub(crate) fn required_number(
    cx: &mut Context,
    component: *mut Component,
    interface: u32,
    position: u32,
) -> u32 {
    match ComponentRef(component).some() {
        Some(known) => number(cx, &known.descriptor().required, interface, position),
        None => cx.fault(Reason::Empty, 0, position),
    }
}
