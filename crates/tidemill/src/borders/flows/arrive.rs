//! Delivers packets to flows in groups, with prefetching.
//!
//! With very many flows, all that a packet leads to misses the cache: table entry, flow, its
//! neighbours in the list, the communication, and the process and component at its other end. So
//! the packets of a group are prefetched step by step: the misses of one step overlap across the
//! group.

use std::hint::black_box;

use tidemill_packet::packet::Packet;
use tidemill_proc::Communication;
use tidemill_stdx::marks;

use super::arrival::Arrival;
use super::context::{Exit, FlowContext, Room};
use super::flow::NONE;
use super::key::Key;
use super::state::Flows;

/// Packets of a group: about as many as cache misses that a core has in flight.
const GROUP: usize = 32;

fn arrival(flows: &mut Flows, (app, input): (u16, u16), packet: Packet) -> Arrival {
    let key = Key::of(&flows.apps[usize::from(app)].checked.per, &packet, &mut flows.spare);
    let hash = flows.secret.bytes(key.bytes());
    Arrival { app, input, packet, key, hash, at: NONE, name: Communication::NONE }
}

impl FlowContext<'_> {
    /// Takes up to a group of packets from the link of an input; returns their number.
    pub(super) fn fetch(&mut self, app: usize, input: usize) -> usize {
        // In a program that is an app, the engine hands packets over itself.
        let Exit::Graph(engine) = &mut self.exit else { return 0 };
        let link = self.flows.apps[app].inputs[input].link;
        for _ in 0..GROUP {
            let Some(packet) = engine.take_link(link) else { break };
            let arrival = arrival(self.flows, (app as u16, input as u16), packet);
            self.flows.arrivals.push_back(arrival);
        }
        let taken = self.flows.arrivals.len();
        self.flows.apps[app].counters.taken.add(taken as u64);
        self.prefetch();
        taken
    }

    /// Prefetches all that the packets lead to.
    fn prefetch(&mut self) {
        let Flows { apps, table, arrivals, .. } = &mut *self.flows;
        for arrival in arrivals.iter_mut() {
            arrival.at = table.guess(&apps[usize::from(arrival.app)].index, arrival.hash);
        }
        let mut neighbours = [NONE; 2 * GROUP];
        for (arrival, neighbours) in arrivals.iter_mut().zip(neighbours.chunks_exact_mut(2)) {
            if let Some(flow) = table.get(arrival.at) {
                arrival.name = flow.ports().map_or(Communication::NONE, |ports| ports.name);
                neighbours.copy_from_slice(&[flow.older, flow.newer]);
            }
        }
        for arrival in &*arrivals {
            self.worker.prefetch(arrival.name);
        }
        for at in neighbours {
            black_box(table.get(at).map(|flow| flow.older));
        }
        for arrival in &*arrivals {
            self.worker.prefetch_client(arrival.name);
        }
    }

    /// Delivers packets until the queue of a flow is full; returns their number.
    pub(super) fn hand_over(&mut self) -> (usize, Room) {
        let (mut count, mut room) = (0, Room::Left);
        while room == Room::Left
            && let Some(arrival) = self.flows.arrivals.pop_front()
        {
            count += 1;
            marks::leave();
            room = self.arrive(arrival);
            marks::arrive("components/channel");
        }
        (count, room)
    }

    /// Delivers a packet to the instance of its flow.
    pub(super) fn give_packet(&mut self, app: u16, input: u16, packet: Packet) -> Room {
        let arrival = arrival(self.flows, (app, input), packet);
        self.arrive(arrival)
    }

    fn arrive(&mut self, arrival: Arrival) -> Room {
        let Arrival { app, input, packet, key, hash, at, .. } = arrival;
        let Flows { apps, table, .. } = &mut *self.flows;
        let index = &mut apps[usize::from(app)].index;
        // The flow of `at` may have been replaced since the guess.
        let known =
            if table.is_of(at, app, &key) { Some(at) } else { table.find(index, hash, &key) };
        if let Some(at) = known {
            table.touch(index, at);
        }
        match known.or_else(|| self.make(app, key, hash)) {
            Some(at) => self.put(at, input, packet),
            None => Room::Left,
        }
    }
}
