//! Flows during one call: passes packets to instances, and serves their requests.

use tidemill_cl::system::Response as _;
use tidemill_cl::system::packets::Response;
use tidemill_packet::engine::Engine;
use tidemill_packet::packet::Packet;
use tidemill_proc::{Communication, Over, Refused, Worker};

use super::backlog::Backlog;
use super::flow::{Flow, OpenPorts, Stage, mark};
use super::key::Key;
use super::state::{Flows, WAITING_MAX};
use crate::components::system::ports::Ports;

/// The destination of packets that instances send.
pub(super) enum Exit<'h> {
    /// To the links of the graph of the node.
    Graph(&'h mut Engine),
    /// To the ports of the app that the program is.
    Ports(&'h mut Ports),
}

impl Exit<'_> {
    fn send(&mut self, to: usize, bytes: &[u8], time_ns: Option<i64>) -> bool {
        match self {
            Exit::Graph(engine) => engine.pool().packet_of(bytes).is_some_and(|mut packet| {
                packet.set_time_ns(time_ns);
                engine.send_link(to, packet).is_ok()
            }),
            Exit::Ports(ports) => ports.send_at(to, bytes, time_ns),
        }
    }
}

/// The flows of a node, and the engines on both sides.
pub(super) struct FlowContext<'h> {
    pub(super) flows: &'h mut Flows,
    pub(super) worker: &'h mut Worker,
    pub(super) exit: Exit<'h>,
    pub(super) now_ns: u64,
}

/// Whether a flow can take more packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Room {
    Left,
    /// Its queue is full now.
    Filled,
}

impl FlowContext<'_> {
    /// Makes an instance for the flow of a packet; on failure counts the reason.
    pub(super) fn make(&mut self, app: u16, key: Key, hash: u64) -> Option<u32> {
        let Flows { apps, table, secret, is_ending, .. } = &mut *self.flows;
        let here = &mut apps[usize::from(app)];
        if *is_ending || self.worker.ended().is_some() {
            here.counters.dropped_ended.add(1);
            return None;
        }
        if here.count >= here.checked.flows_max {
            here.counters.dropped_no_room.add(1);
            return None;
        }
        let Ok(instance) = self.worker.launch(here.checked.kind) else {
            here.counters.dropped_no_memory.add(1);
            return None;
        };
        let at = table.insert(Flow::new(app, key, instance));
        table.enter(&mut here.index, secret, hash, at);
        here.count += 1;
        here.counters.flows.add(1);
        here.counters.alive.set(here.count as u64);
        Some(at)
    }

    pub(super) fn put(&mut self, at: u32, input: u16, packet: Packet) -> Room {
        let Some(flow) = self.flows.table.get_mut(at) else { return Room::Left };
        flow.last_ns = self.now_ns;
        let most = self.flows.apps[usize::from(flow.app)].checked.queue_max;
        let app = usize::from(flow.app);
        let table = &mut self.flows.table;
        if let Some(ports) = table.take_waiting(at, input) {
            self.give(at, ports, packet);
            return Room::Left;
        }
        if table.waiting(at) >= most || self.flows.waiting >= WAITING_MAX {
            self.flows.apps[app].counters.dropped_queue_full.add(1);
            return Room::Left;
        }
        table.push(at, packet, input);
        self.flows.waiting += 1;
        if table.waiting(at) == most { Room::Filled } else { Room::Left }
    }

    /// Answers a pending `Receive` with a packet.
    fn give(&mut self, at: u32, ports: Communication, packet: Packet) {
        let Some(flow) = self.flows.table.get_mut(at) else { return };
        let counters = &self.flows.apps[usize::from(flow.app)].counters;
        let answer = Response::Packet { packet: packet.bytes().into() };
        let answered = answer.send(|number, values| self.worker.answer(ports, number, values));
        match answered {
            Ok(()) => {
                counters.received.add(1);
                flow.received(&packet);
            }
            Err(Refused::OutOfMemory) => {
                counters.dropped_no_memory.add(1);
                self.worker.fail(ports);
            }
            Err(Refused::Gone | Refused::Protocol) => counters.dropped_ended.add(1),
        }
    }

    /// An instance opens an input and an output.
    pub(super) fn open(&mut self, at: u32, name: Communication, (from, to): (&str, &str)) {
        let Flows { apps, table, .. } = &mut *self.flows;
        let Some(flow) = table.get(at) else { return };
        let here = &apps[usize::from(flow.app)];
        let answer = match here.port_numbers(from, to) {
            Ok((input, output)) => {
                table.open(at, OpenPorts { name, input, output, is_waiting: false });
                self.worker.mark(name, mark(at));
                Response::Opened
            }
            Err(why) => Response::Failed { reason: why.into_bytes().into() },
        };
        let answered = answer.send(|number, values| self.worker.answer(name, number, values));
        // A client that has ended, or has no memory for the reason, gets no answer.
        debug_assert!(answered != Err(Refused::Protocol));
    }

    /// An instance asks for the next packet of an input.
    pub(super) fn receive(&mut self, at: u32, name: Communication) {
        let Flows { apps, table, waiting, .. } = &mut *self.flows;
        let Some(ports) = table.ports(at, name) else { return };
        let Some((app, stage)) = table.get(at).map(|flow| (flow.app, flow.stage)) else { return };
        *waiting -= table.waiting(at);
        // Packets of inputs that the instance has not opened would block the queue.
        while let Some(of) = table.backlog(at).and_then(Backlog::first_input)
            && of != ports.input
            && table.open_ports(at).all(|ports| ports.input != of)
        {
            table.pop(at);
            apps[usize::from(app)].counters.dropped_not_open.add(1);
        }
        let found = table.take(at, ports.input);
        *waiting += table.waiting(at);
        match (found, stage) {
            (Some(packet), _) => self.give(at, name, packet),
            (None, Stage::Idle | Stage::Ends | Stage::Failed) => self.worker.finish(name),
            (None, Stage::Lives) => table.set_ports(at, OpenPorts { is_waiting: true, ..ports }),
        }
    }

    /// Answers with the capture time of the packet that the instance received last.
    pub(super) fn answer_time(&mut self, at: u32, name: Communication) {
        let Some(flow) = self.flows.table.get(at) else { return };
        if self.flows.table.ports(at, name).is_none() {
            return;
        }
        let answer = Response::Time { time: flow.time_ns().unwrap_or(0) };
        // A client that has ended needs no answer.
        let answered = answer.send(|number, values| self.worker.answer(name, number, values));
        debug_assert!(answered != Err(Refused::Protocol));
    }

    /// Sends a packet of an instance; returns whether it had a link and memory.
    pub(super) fn send(&mut self, at: u32, name: Communication, bytes: &[u8]) -> bool {
        let Some(flow) = self.flows.table.get(at) else { return false };
        let here = &self.flows.apps[usize::from(flow.app)];
        let ports = self.flows.table.ports(at, name);
        let Some(output) = ports.map(|ports| ports.output) else { return false };
        let link = here.outputs.get(usize::from(output)).map(|port| port.link);
        let is_sent = link.is_some_and(|link| self.exit.send(link, bytes, flow.time_ns()));
        let counter = if is_sent { &here.counters.sent } else { &here.counters.not_sent };
        counter.add(1);
        let answer = Response::Sent { is_sent };
        // A client that has ended needs no answer.
        let answered = answer.send(|number, values| self.worker.answer(name, number, values));
        debug_assert!(answered != Err(Refused::Protocol));
        is_sent
    }

    /// An instance has closed a communication.
    pub(super) fn close(&mut self, at: u32, name: Communication) {
        self.flows.table.close(at, name);
    }

    /// Asks an instance to end: `stage` says why. It sees FINISH once it has taken its queued
    /// packets.
    pub(super) fn end(&mut self, at: u32, stage: Stage) {
        self.leave(at, stage);
        let Some(flow) = self.flows.table.get(at) else { return };
        self.worker.dismiss(flow.instance);
        if self.flows.table.waiting(at) == 0 {
            self.flows.table.open_ports(at).for_each(|ports| self.worker.finish(ports.name));
        }
    }

    /// Ends an instance at once, as its app has failed.
    pub(super) fn fail(&mut self, at: u32) {
        let Some(instance) = self.flows.table.get(at).map(|flow| flow.instance) else { return };
        self.failed(at);
        self.worker.retire(instance);
    }

    /// An instance has failed: drops its queued packets.
    pub(super) fn failed(&mut self, at: u32) {
        if self.flows.table.get(at).is_some_and(|flow| flow.stage == Stage::Failed) {
            return;
        }
        self.leave(at, Stage::Failed);
        let Flows { apps, table, waiting, .. } = &mut *self.flows;
        let Some(flow) = table.get(at) else { return };
        let counters = &apps[usize::from(flow.app)].counters;
        counters.failed.add(1);
        counters.dropped_failed.add(table.waiting(at) as u64);
        *waiting -= table.waiting(at);
        while table.pop(at).is_some() {}
    }

    /// Stops the delivery of packets to an instance.
    fn leave(&mut self, at: u32, stage: Stage) {
        let Flows { apps, table, secret, .. } = &mut *self.flows;
        let Some(flow) = table.get_mut(at) else { return };
        let was = std::mem::replace(&mut flow.stage, stage);
        let app = usize::from(flow.app);
        if was == Stage::Lives {
            table.leave(&mut apps[app].index, secret, at);
        }
    }

    /// An instance has ended. Packets queued for one that returned go to a new instance, unless it
    /// received none: then the next would do no better.
    pub(super) fn gone(&mut self, at: u32) {
        let Some(was) = self.flows.table.get(at).map(|flow| flow.stage) else { return };
        self.leave(at, Stage::Ends);
        let backlog = self.flows.table.take_backlog(at);
        let Some(flow) = self.flows.table.remove(at) else { return };
        let mut backlog = backlog.unwrap_or_default();
        self.flows.waiting -= backlog.len();
        let here = &mut self.flows.apps[usize::from(flow.app)];
        here.count -= 1;
        here.counters.alive.set(here.count as u64);
        here.counters.ended_as(was);
        let goes_on = flow.has_received() && !self.flows.is_ending && was != Stage::Failed;
        while let Some((packet, input)) = backlog.pop() {
            if goes_on {
                self.give_packet(flow.app, input, packet);
            } else {
                self.flows.apps[usize::from(flow.app)].counters.dropped_ended.add(1)
            }
        }
    }

    /// An instance has ended or failed.
    pub(super) fn over(&mut self, Over { component, fault }: Over) {
        let Some(at) = self.flows.table.of_instance(component) else { return };
        match fault {
            Some(_) => {
                self.failed(at);
                self.worker.dismiss(component);
            }
            None => self.gone(at),
        }
    }
}
