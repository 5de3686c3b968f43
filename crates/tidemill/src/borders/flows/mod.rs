//! Packets and components: the app `Script` with a component of the program, one instance for each
//! flow.
//!
//! ```text
//! link -> [app Script] -> flow by its key -> Packets?Packet   instance of the component
//! link <- [app Script] <--------------------- Packets!Send <-'
//! ```
//! The first packet of a flow makes its instance, a component without an owner, run by the worker
//! of the node. An instance gets a packet for each `Receive`; others are queued, up to the maximum
//! of the app, and further ones dropped and counted. Packets are taken from links until the queue
//! of a flow is full, then components run: an instance that keeps up loses none, in whatever bursts
//! they come.
//!
//! An instance ends when its body returns, or is asked to end when it is idle or the graph has
//! finished. It then sees FINISH once its queue is empty; if it receives again, it ends there. In
//! both cases its FINALLY runs.

mod app;
mod arrival;
mod arrive;
mod backlog;
mod border;
mod check;
mod context;
mod counts;
mod flow;
mod key;
mod opened;
mod state;
mod table;

use tidemill_cl::system::{System, packets};
use tidemill_event::{Loop, Owner, Time};
use tidemill_packet::drive;
use tidemill_packet::packet::Packet;
use tidemill_proc::{Over, Request, arm};

use crate::components::system::ports::ends;
use crate::machine::Machine;
use crate::machine::node::Node;
use crate::run::DRAIN_MAX;
pub use border::FlowBorder;
pub(super) use border::is_of_program;
pub(crate) use border::{FLOWS_MAX, IDLE_SECONDS, Limits, QUEUE_MAX, per};
pub(crate) use check::{OPEN, literal};
pub(crate) use context::Room;
use context::{Exit, FlowContext};
pub(crate) use counts::of_app;
use flow::{Stage, marked};
pub(crate) use state::Flows;

/// Packets taken before components run.
const BATCH: usize = 256;

/// Instances asked to end before components run.
const ENDS: usize = 1024;

/// Calls `f` with the flows of the current node.
fn at<R>(
    machine: &mut Machine,
    events: &Loop<Machine>,
    f: impl FnOnce(&mut FlowContext<'_>) -> R,
) -> R {
    let Node { runner, systems, driver, borders, .. } = &mut *machine.node;
    let exit = match systems.ports() {
        Some(ports) => Exit::Ports(ports),
        None => Exit::Graph(&mut driver.engine),
    };
    let (flows, worker) = (&mut borders.flows, runner.worker());
    f(&mut FlowContext { flows, worker, exit, now_ns: events.now().0 })
}

/// Schedules the graph, if the node has one.
fn wake_graph(machine: &mut Machine, events: &mut Loop<Machine>) {
    if machine.node.systems.ports().is_none() {
        drive::wake(machine, events);
    }
}

/// Finds the links of apps in the graph that runs now.
pub(super) fn link(machine: &mut Machine) {
    let Node { driver, borders, .. } = &mut *machine.node;
    borders.flows.apps.iter_mut().for_each(|app| app.link(&driver.engine));
}

/// Delivers the packets on the links of apps to their flows.
pub(super) fn take(machine: &mut Machine, events: &mut Loop<Machine>) {
    // If packets are held, the next batch is already scheduled.
    if !machine.node.borders.flows.apps.is_empty() && !machine.node.borders.flows.are_held {
        pump(machine, events);
    }
}

/// Takes a batch of packets, and schedules the next for when components have run.
fn pump(machine: &mut Machine, events: &mut Loop<Machine>) {
    let (taken, is_more) = at(machine, events, take_some);
    let flows = &mut machine.node.borders.flows;
    flows.are_held = is_more;
    if taken == 0 && !is_more {
        return;
    }
    watch(machine, events);
    arm(machine, events);
    if is_more {
        let owner = own(machine, events);
        let more = |machine: &mut Machine, events: &mut Loop<Machine>| {
            machine.node.borders.flows.are_held = false;
            pump(machine, events);
        };
        if events.event(owner, more).is_ok() {
            return;
        }
        // The event queue is full: the next breath of the graph continues.
        machine.node.borders.flows.are_held = false;
    }
    // Links that are empty now may be the end of the graph.
    wake_graph(machine, events);
}

/// Takes packets until the queue of a flow is full; returns their number, and whether there are
/// more.
fn take_some(context: &mut FlowContext<'_>) -> (usize, bool) {
    let (mut taken, mut room) = context.hand_over();
    for app in 0..context.flows.apps.len() {
        for input in 0..context.flows.apps[app].inputs.len() {
            while taken < BATCH && room == Room::Left && context.fetch(app, input) > 0 {
                let (count, is) = context.hand_over();
                (taken, room) = (taken + count, is);
            }
        }
    }
    let Exit::Graph(engine) = &context.exit else { return (taken, false) };
    let mut links = context.flows.apps.iter().flat_map(|app| &app.inputs);
    let is_more = !context.flows.arrivals.is_empty();
    (taken, is_more || links.any(|port| engine.waits_at(port.link)))
}

/// Delivers a packet to its flow, in a program that is an app itself and has one border.
pub(crate) fn give(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    (input, packet): (usize, Packet),
) -> Room {
    let room = at(machine, events, |context| {
        context.flows.apps[0].counters.taken.add(1);
        context.give_packet(0, input as u16, packet)
    });
    watch(machine, events);
    arm(machine, events);
    room
}

/// Whether timers other than those of idle flows are set.
pub(crate) fn has_other_timers(machine: &Machine, events: &Loop<Machine>) -> bool {
    let timers = machine.node.borders.flows.apps.iter().filter_map(|app| app.timer);
    events.timers_armed() > timers.filter(|&timer| events.is_armed(timer)).count()
}

/// Serves a request of an instance to `Packets`; false if it is to another interface.
pub(crate) fn serve(machine: &mut Machine, events: &mut Loop<Machine>, request: &Request) -> bool {
    if machine.node.borders.flows.apps.is_empty() || request.system != System::Packets as u32 {
        return false;
    }
    let Request { communication: name, message, mark, ref values, .. } = *request;
    let is_served = at(machine, events, |context| {
        // Reading a request takes its texts, which others than flows still need.
        let asked = || message.and_then(|number| packets::Request::of(number, values));
        let Some(of) = marked(mark) else {
            let instance = context.worker.root_of(name)?;
            let of = context.flows.table.of_instance(instance)?;
            let Some(packets::Request::Open { app }) = asked() else { return None };
            context.open(of, name, ends(&String::from_utf8_lossy(app.0)));
            return Some(false);
        };
        match asked() {
            Some(packets::Request::Receive) => context.receive(of, name),
            Some(packets::Request::GetTime) => context.answer_time(of, name),
            Some(packets::Request::Send { packet }) => {
                return Some(context.send(of, name, packet));
            }
            // `Close` needs no answer: the client then finishes. Open ports cannot be opened again.
            Some(packets::Request::Close | packets::Request::Open { .. }) => {}
            None => context.close(of, name),
        }
        Some(false)
    });
    if is_served == Some(true) {
        wake_graph(machine, events);
    }
    is_served.is_some()
}

/// A component without an owner has ended or failed.
pub(crate) fn over(machine: &mut Machine, events: &mut Loop<Machine>, over: Over) {
    let is_last = at(machine, events, |context| {
        context.over(over);
        context.flows.is_ending && context.flows.table.len() == 0
    });
    if is_last {
        let flows = &mut machine.node.borders.flows;
        flows.deadline.take().into_iter().for_each(|timer| {
            events.cancel(timer);
        });
        wake_graph(machine, events);
    }
    arm(machine, events);
}

/// Sets the timer for the flow that is idle for longest.
fn watch(machine: &mut Machine, events: &mut Loop<Machine>) {
    for number in 0..machine.node.borders.flows.apps.len() {
        let Flows { apps, table, .. } = &mut machine.node.borders.flows;
        let app = &mut apps[number];
        let Some(idle) = app.checked.idle else { continue };
        let Some(oldest) = table.get(app.index.oldest) else { continue };
        let at = Time(oldest.last_ns) + idle;
        match app.timer {
            Some(timer) if events.is_armed(timer) => {}
            Some(timer) => {
                events.rearm(timer, at);
            }
            None => {
                app.timer = Some(events.alarm(at, move |machine: &mut Machine, events, _| {
                    end_idle(machine, events, number);
                }));
            }
        }
    }
}

/// Ends the idle flows of an app.
fn end_idle(machine: &mut Machine, events: &mut Loop<Machine>, number: usize) {
    at(machine, events, |context| {
        let Some(idle) = context.flows.apps[number].checked.idle else { return };
        for _ in 0..ENDS {
            let oldest = context.flows.apps[number].index.oldest;
            let last_ns = context.flows.table.get(oldest).map(|flow| flow.last_ns);
            let due_ns = last_ns.map(|ns| (Time(ns) + idle).0);
            if due_ns.is_none_or(|due_ns| due_ns > context.now_ns) {
                return;
            }
            context.end(oldest, Stage::Idle);
        }
    });
    arm(machine, events);
    watch(machine, events);
}

/// Asks all instances to end, as no more packets come; returns whether none is left.
pub(crate) fn end(machine: &mut Machine, events: &mut Loop<Machine>) -> bool {
    if machine.node.runner.worker().ended().is_some() {
        clear(machine);
    }
    let flows = &mut machine.node.borders.flows;
    if flows.table.len() == 0 {
        return true;
    }
    if !std::mem::replace(&mut flows.is_ending, true) {
        let at_most = events.now() + DRAIN_MAX;
        flows.deadline = Some(events.timer(at_most, |machine: &mut Machine, events| {
            machine.node.borders.flows.deadline = None;
            clear(machine);
            wake_graph(machine, events);
        }));
        end_some(machine, events);
    }
    false
}

/// Asks a batch of instances to end, and schedules the next for when components have run.
fn end_some(machine: &mut Machine, events: &mut Loop<Machine>) {
    let is_more = at(machine, events, |context| {
        let all = context.flows.table.places();
        let some = context.flows.next_to_end..all.min(context.flows.next_to_end + ENDS as u32);
        context.flows.next_to_end = some.end;
        for number in some.clone() {
            if context.flows.table.get(number).is_some_and(|flow| flow.stage == Stage::Lives) {
                context.end(number, Stage::Ends);
            }
        }
        some.end < all
    });
    arm(machine, events);
    if is_more {
        let owner = own(machine, events);
        if events.event(owner, end_some).is_err() {
            // The event queue is full: a timer runs after its events.
            events.timer(events.now(), end_some);
        }
    }
}

/// The owner of the events of flows.
fn own(machine: &mut Machine, events: &mut Loop<Machine>) -> Owner {
    *machine.node.borders.flows.owner.get_or_insert_with(|| events.owner("flows"))
}

/// An app has failed: fails its flows.
pub(crate) fn app_failed(machine: &mut Machine, events: &mut Loop<Machine>, app: &str) {
    let flows = &machine.node.borders.flows;
    let Some(number) = flows.apps.iter().position(|it| it.checked.app == app) else { return };
    at(machine, events, |context| {
        for flow in 0..context.flows.table.places() {
            let is_it =
                |it: &flow::Flow| usize::from(it.app) == number && it.stage != Stage::Failed;
            if context.flows.table.get(flow).is_some_and(is_it) {
                context.fail(flow);
            }
        }
    });
    arm(machine, events);
}

/// The instances are gone or abandoned: drops the flows and their packets.
pub(crate) fn clear(machine: &mut Machine) {
    let flows = &mut machine.node.borders.flows;
    for (flow, waiting) in flows.table.drain() {
        let app = &mut flows.apps[usize::from(flow.app)];
        app.index = table::Index::new();
        app.count = 0;
        app.counters.alive.set(0);
        app.counters.ended_as(flow.stage);
        app.counters.dropped_ended.add(waiting as u64);
    }
    for arrival in flows.arrivals.drain(..) {
        flows.apps[usize::from(arrival.app)].counters.dropped_ended.add(1);
    }
    flows.waiting = 0;
}

/// The counters of the flows of a program that is an app itself.
pub(crate) fn counted(machine: &Machine) -> Vec<(&'static str, u64)> {
    machine.node.borders.flows.apps.iter().flat_map(|app| app.counters.read()).collect()
}
