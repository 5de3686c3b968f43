//! Tests of a component: its type, what it offers and requires, its state.

use crate::crew;
use crate::handle::ComponentRef;
use crate::layout::Component;
use crate::machine::Context;
use crate::machine::Worker;
use crate::program::Port;

/// An interface and how many of it at least and at most.
type Wanted = (u32, u32, Option<u32>);

/// Whether two interface numbers name the same interface.
pub(crate) fn same_interface(worker: &Worker, left: u32, right: u32) -> bool {
    let interfaces = &worker.program().interfaces;
    left == right || interfaces[left as usize].name == interfaces[right as usize].name
}

/// Whether a port has the interface, in at least the required range.
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
    u32::from(cx.component().is_terminating() || cx.worker.machine.halted)
}

pub(crate) fn failed(cx: &mut Context, component: *mut Component) -> u32 {
    let Some(component) = ComponentRef(component).some() else { return 0 };
    let has = || u32::from(component.has_failed());
    if crew::is_elsewhere(cx.worker, component) {
        return crew::alone(cx.worker, |_| has());
    }
    has()
}

pub(crate) fn is_type(cx: &mut Context, component: *mut Component, kind: u32) -> u32 {
    let known = &cx.worker.program().components[kind as usize];
    let component = ComponentRef(component).some();
    u32::from(component.is_some_and(|it| it.descriptor().origin == known.origin))
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
