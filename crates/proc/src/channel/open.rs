//! Opening communications: following connections to the component that serves, and making the
//! server process.

use super::guard::set_remote;
use super::is_closed;
use crate::component::{self, ComponentId, Life, slot_of};
use crate::crew;
use crate::fault::Reason;
use crate::handle::{ChannelRef, ComponentRef, ProcessRef, SlotRef};
use crate::layout::{
    CLIENT_WATCHES, Component, PORT_IMPLEMENTATION, PORT_OFFERED, PORT_REQUIRED, PORT_SESSION,
    PORT_SYSTEM, SERVER_WATCHES, START, SYSTEM, Slot,
};
use crate::machine::Context;
use crate::machine::Worker;
use crate::memory::OutOfMemory;
use crate::outside::note as outside;
use crate::process::{self, INNER, ProcessState};
use crate::program::{Direction, Interface, Port};
use crate::sessions;
use crate::system;

/// Connections followed before they are taken for a cycle.
const CHAIN_MAX: u32 = 1 << 20;

/// Where a connection leads.
pub(super) enum Found {
    /// A component that implements the interface.
    Server { component: ComponentRef, port: &'static Port, index: u32, inner: bool },
    /// A system component.
    System { system: u32, interface: u32 },
    /// The connection is missing at this component.
    Unconnected(ComponentRef),
    /// It leads to a component that has failed.
    Failed(ComponentRef),
    /// It leads back.
    Cycle,
    /// It leads to another loop.
    Elsewhere,
}

/// One step along a connection.
enum Step {
    Follow(ComponentRef, SlotRef),
    Found(Found),
}

/// Follows the connections from a slot of `holder`.
pub(super) fn resolve(worker: &Worker, holder: ComponentRef, slot: SlotRef) -> Found {
    let (mut holder, mut slot) = (holder, slot);
    for _ in 0..CHAIN_MAX {
        match follow(worker, holder, slot) {
            Step::Follow(component, next) => (holder, slot) = (component, next),
            Step::Found(found) => return found,
        }
    }
    Found::Cycle
}

/// The component that has failed at the end of what a slot leads to; null if it does not exist.
pub(super) fn failed_at(worker: &Worker, holder: ComponentRef, slot: SlotRef) -> ComponentRef {
    match resolve(worker, holder, slot) {
        Found::Failed(component) => component,
        _ => ComponentRef::NULL,
    }
}

fn follow(worker: &Worker, holder: ComponentRef, slot: SlotRef) -> Step {
    let port = slot.port();
    let (kind, number, index) = (port >> 56, (port >> 32) as u32 & 0xFF_FFFF, port as u32);
    if kind == PORT_SYSTEM {
        return Step::Found(Found::System { system: index, interface: number });
    }
    let target = worker.machine.table.get(ComponentId::from_raw(slot.target()));
    let Some(component) = target else { return Step::Found(Found::Unconnected(holder)) };
    if crew::is_elsewhere(worker, component) {
        return Step::Found(Found::Elsewhere);
    }
    // What a component requires still exists for its sub-components while they end.
    let is_there =
        kind == PORT_REQUIRED && !component.is_doomed() && Life::of(component) != Life::Failed;
    if component.has_failed() && !is_there {
        return Step::Found(Found::Failed(component));
    }
    match (kind, Life::of(component)) {
        // An owner that closes serves the sub-components that are not done; not during FINALLY,
        // which has the component to itself.
        (PORT_REQUIRED, _) | (PORT_IMPLEMENTATION, Life::Closing) => {}
        (PORT_IMPLEMENTATION, Life::Finally) => {
            return Step::Found(Found::Unconnected(component));
        }
        _ if is_closed(component) => return Step::Found(Found::Unconnected(holder)),
        _ => {}
    }
    let descriptor = component.descriptor();
    let ports = if kind == PORT_REQUIRED { &descriptor.required } else { &descriptor.offered };
    let port = match kind {
        PORT_SESSION => ports.iter().find(|port| port.interface == number),
        _ => ports.get(number as usize),
    };
    let Some(port) = port else { return Step::Found(Found::Unconnected(component)) };
    let next = slot_of(component, port, index).filter(|slot| slot.target() != 0);
    let next = next.or_else(|| system_slot(component, port, index));
    match kind {
        PORT_REQUIRED => match next {
            Some(next) => Step::Follow(component, next),
            None => Step::Found(Found::Unconnected(component)),
        },
        PORT_OFFERED | PORT_SESSION if next.is_some() => {
            Step::Follow(component, next.unwrap_or(slot))
        }
        _ if port.implementation.is_none() => Step::Found(Found::Unconnected(component)),
        _ => {
            let inner = kind == PORT_IMPLEMENTATION;
            Step::Found(Found::Server { component, port, index, inner })
        }
    }
}

/// The slot if it is connected with a system component, which has no number in the table.
fn system_slot(component: ComponentRef, port: &Port, index: u32) -> Option<SlotRef> {
    slot_of(component, port, index).filter(|slot| slot.port() >> 56 == PORT_SYSTEM)
}

/// The purpose of opening a communication.
#[derive(Copy, Clone)]
pub(super) enum Opening {
    /// A message, of this sender.
    Message(u16, Direction),
    /// A test of the server's first message.
    Probe,
}

impl Opening {
    fn is_allowed(self, interface: &Interface) -> bool {
        match self {
            Opening::Message(number, sender) => interface
                .messages
                .get(usize::from(number))
                .is_some_and(|message| message.initial && message.direction == sender),
            Opening::Probe => interface
                .messages
                .iter()
                .any(|message| message.initial && message.direction == Direction::Out),
        }
    }
}

/// The result of opening a communication to test for a message.
pub(super) enum Probe {
    /// It is open.
    Open(ChannelRef),
    /// No message before the client has sent one.
    BeginsWithIn,
    /// The connection is missing at this component.
    Unconnected(ComponentRef),
    /// It requires exclusive access.
    Elsewhere,
    /// A fault, or the process must continue on another loop: the status to return.
    Failed(u32),
}

/// Opens the communication of an unopened slot for a test of the server's first message.
pub(super) fn probe(cx: &mut Context, slot: SlotRef, position: u32) -> Probe {
    let interface = match resolve(cx.worker, cx.component(), slot) {
        Found::Unconnected(at) => return Probe::Unconnected(at),
        Found::Elsewhere => return Probe::Elsewhere,
        Found::Server { port, .. } => port.interface,
        Found::System { interface, .. } => interface,
        Found::Failed(_) | Found::Cycle => {
            return match open(cx, slot, Opening::Probe, position) {
                Ok(channel) => Probe::Open(channel),
                Err(status) => Probe::Failed(status),
            };
        }
    };
    if !Opening::Probe.is_allowed(&cx.worker.program().interfaces[interface as usize]) {
        return Probe::BeginsWithIn;
    }
    match open(cx, slot, Opening::Probe, position) {
        Ok(channel) => Probe::Open(channel),
        Err(status) => Probe::Failed(status),
    }
}

/// The same with exclusive access.
pub(super) fn probe_now(cx: &mut Context, slot: SlotRef, position: u32) -> Probe {
    let (frame, process) = (cx.frame, cx.process);
    let look = |worker: &mut Worker| {
        let mut cx = Context { frame, process, worker };
        probe(&mut cx, slot, position)
    };
    if crew::is_spread(cx.worker) || crew::is_away(cx.worker) {
        return crew::alone(cx.worker, look);
    }
    look(cx.worker)
}

/// Opens the communication of an unopened slot; the error is the status to return.
pub(super) fn open(
    cx: &mut Context,
    slot: SlotRef,
    opening: Opening,
    position: u32,
) -> Result<ChannelRef, u32> {
    let component = cx.component();
    let found = resolve(cx.worker, component, slot);
    let interface = match found {
        Found::Server { port, .. } => port.interface,
        Found::System { .. } if crew::is_away(cx.worker) => return Err(crew::go_home(cx)),
        Found::System { interface, .. } => interface,
        Found::Elsewhere => return Err(crew::later(cx)),
        Found::Unconnected(at) => return Err(park(cx, at)),
        Found::Failed(partner) => return Err(cx.failed_partner(partner, position)),
        Found::Cycle => return Err(cx.fault(Reason::ConnectionCycle, 0, position)),
    };
    let known = &cx.worker.program().interfaces[interface as usize];
    if let Opening::Message(number, _) = opening
        && !opening.is_allowed(known)
    {
        let partner = match found {
            Found::Server { component, .. } => component,
            _ => ComponentRef::NULL,
        };
        return Err(cx.no_beginning(partner, interface, number, position));
    }
    let made = match found {
        Found::Server { component, port, index, inner } => {
            serve(cx.worker, component, port, index, inner)
        }
        Found::System { system, .. } => system::serve(cx.worker, system),
        _ => return Err(cx.fault(Reason::Interface, 0, position)),
    };
    let server = made.map_err(|error| cx.out_of_memory(error, position))?;
    let channel = server.channel();
    channel.set_client(slot.channel_word());
    channel.set_client_component(component);
    channel.set_interface(interface);
    channel.set_state(START);
    if component.descriptor().awaits_input {
        channel.raise(CLIENT_WATCHES);
    }
    slot.set_channel(channel);
    if server.component().is_null() {
        channel.raise(SYSTEM);
    } else {
        if component.worker() != server.component().worker() {
            set_remote(channel, true);
            crew::tie(component, server.component());
        }
        start(cx.worker, server);
    }
    Ok(channel)
}

fn serve(
    worker: &mut Worker,
    component: ComponentRef,
    port: &Port,
    index: u32,
    inner: bool,
) -> Result<ProcessRef, OutOfMemory> {
    let function = port.implementation.unwrap_or_default();
    let server = process::create_server(worker, component, port.interface, function)?;
    server.channel().set_index(index);
    if component.descriptor().awaits_input {
        server.channel().raise(SERVER_WATCHES);
    }
    if inner {
        server.raise(INNER);
    }
    Ok(server)
}

/// Opens a communication with a component whose client is outside, through a port that it
/// implements itself.
pub(crate) fn open_from_outside(
    worker: &mut Worker,
    component: ComponentRef,
    port: &Port,
    slot: SlotRef,
) -> Result<ChannelRef, OutOfMemory> {
    let server = serve(worker, component, port, 1, false)?;
    let channel = server.channel();
    channel.set_interface(port.interface);
    channel.set_state(START);
    outside::be_client(channel, slot);
    start(worker, server);
    Ok(channel)
}

fn start(worker: &mut Worker, server: ProcessRef) {
    if process::starts_at_once(server.component()) {
        worker.wake(server);
    } else {
        server.set_state(ProcessState::Begin as u8);
    }
}

pub(super) fn park(cx: &mut Context, at: ComponentRef) -> u32 {
    crew::tie(cx.component(), at);
    component::park(cx.worker, at, cx.process);
    cx.block(ProcessState::Connect)
}

/// Takes a process out of those that wait for a connection.
pub(crate) fn unpark(worker: &mut Worker, process: ProcessRef) {
    let at = worker.machine.table.get(ComponentId::from_raw(process.wait()));
    let home = worker.home(at.unwrap_or(ComponentRef::NULL));
    if let Some(parked) = home.machine.parked.get_mut(&process.wait()) {
        parked.retain(|&other| other != process);
    }
}

pub(crate) fn slot_required(
    cx: &mut Context,
    required: u32,
    index: i64,
    position: u32,
) -> *mut Slot {
    let component = cx.component();
    let port = &component.descriptor().required[required as usize];
    let index = u32::try_from(index).unwrap_or(0);
    match component::make_slot(cx.worker, component, port, index) {
        Ok(slot) if index > 0 => slot.0,
        Ok(_) => {
            cx.fault(Reason::Index, i64::from(index), position);
            std::ptr::null_mut()
        }
        Err((reason, detail)) => {
            cx.fault(reason, detail, position);
            std::ptr::null_mut()
        }
    }
}

pub(crate) fn slot_offered(
    cx: &mut Context,
    component: *mut Component,
    offered: u32,
    index: i64,
    position: u32,
) -> *mut Slot {
    let Some(component) = ComponentRef(component).some() else {
        cx.fault(Reason::Empty, 0, position);
        return std::ptr::null_mut();
    };
    let ports = &component.descriptor().offered;
    let Some(number) = ports.iter().position(|port| port.interface == offered) else {
        cx.fault(Reason::Interface, 0, position);
        return std::ptr::null_mut();
    };
    let port = &ports[number];
    let index = u32::try_from(index).unwrap_or(0);
    let last = port.high.unwrap_or(u32::MAX);
    if index == 0 || index > last {
        cx.fault(Reason::Index, i64::from(index), position);
        return std::ptr::null_mut();
    }
    match sessions::find_or_make(cx.worker, cx.process, component, offered, index) {
        Ok(session) => session.slot().0,
        Err(error) => {
            cx.out_of_memory(error, position);
            std::ptr::null_mut()
        }
    }
}
