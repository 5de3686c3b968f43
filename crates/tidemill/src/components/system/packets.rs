//! Packets: to and from the packet graph that runs beside the components, on the same loop.
//!
//! A client opens an app of the type `Outside` by its name. What it sends goes out of that app's
//! `output`, what comes to its `input` it receives. Several clients of one app share what comes,
//! each packet goes to the one that has waited longest; while nobody waits, as many packets wait as
//! [`QUEUED_MAX`], and what comes then stays on the link, which drops and counts.

use std::collections::{BTreeMap, VecDeque};

use tidemill_event::Loop;
use tidemill_packet::drive::{self, Driver};
use tidemill_packet::engine::{Engine, Options, Rest};
use tidemill_packet::graph::Graph;
use tidemill_packet::packet::Packet;
use tidemill_proc::{Communication, Value, Values};

use super::{World, lent, text};

/// Packets that wait for a client at one app.
const QUEUED_MAX: usize = 1024;
/// The type of the apps.
const OUTSIDE: &str = "Outside";

/// One app that clients have opened.
#[derive(Default)]
struct Door {
    clients: usize,
    waiting: VecDeque<Communication>,
    packets: VecDeque<Packet>,
}

/// The graph, and who uses it.
pub(super) struct Packets {
    driver: Driver,
    graph: Option<Graph>,
    doors: BTreeMap<String, Door>,
    clients: BTreeMap<Communication, String>,
}

impl Packets {
    pub(super) fn new(graph: Option<Graph>) -> Packets {
        let driver = Driver::new(Engine::new(Options::default()));
        Packets { driver, graph, doors: BTreeMap::new(), clients: BTreeMap::new() }
    }

    /// Ends the graph in order, and says which apps were out of order.
    pub(super) fn stop(&mut self) -> Vec<String> {
        let wrong = self.driver.engine.out_of_order();
        self.doors.clear();
        self.driver.engine.stop();
        wrong.into_iter().map(|app| format!("the packet app {app} is out of order")).collect()
    }
}

impl drive::World for World {
    fn driver(&mut self) -> &mut Driver {
        &mut self.systems.packets.driver
    }

    fn breathed(&mut self, events: &mut Loop<World>, _: Rest) {
        let names: Vec<String> = self.systems.packets.doors.keys().cloned().collect();
        for name in names {
            deliver(self, events, &name);
        }
    }
}

/// Starts the graph, if there is one.
pub(in crate::components) fn start(world: &mut World, lp: &mut Loop<World>) -> Result<(), String> {
    let Some(graph) = world.systems.packets.graph.take() else { return Ok(()) };
    drive::configure(world, lp, graph).map(drop).map_err(|refused| refused.to_string())
}

pub(super) fn serve(
    world: &mut World,
    lp: &mut Loop<World>,
    from: Communication,
    message: &str,
    values: &Values,
) {
    match message {
        "Open" => open(world, lp, from, &String::from_utf8_lossy(values.text())),
        "Send" => send(world, lp, from, values.bytes()),
        "Receive" => {
            let packets = &mut world.systems.packets;
            let Some(name) = packets.clients.get(&from).cloned() else { return };
            if let Some(door) = packets.doors.get_mut(&name) {
                door.waiting.push_back(from);
            }
            deliver(world, lp, &name);
        }
        _ => finished(world, from),
    }
}

fn open(world: &mut World, lp: &mut Loop<World>, from: Communication, name: &str) {
    let packets = &mut world.systems.packets;
    if !packets.driver.engine.has_app(name, OUTSIDE) {
        let reason = match packets.driver.engine.graph().apps.is_empty() {
            true => "no packet graph runs beside the components".to_owned(),
            false => format!("the packet graph has no `{name} :: {OUTSIDE}`"),
        };
        return world.answer(lp, from, "Failed", &[text(reason)]);
    }
    packets.doors.entry(name.to_owned()).or_default().clients += 1;
    packets.clients.insert(from, name.to_owned());
    world.answer(lp, from, "Opened", &[]);
}

fn send(world: &mut World, lp: &mut Loop<World>, from: Communication, bytes: &[u8]) {
    let packets = &mut world.systems.packets;
    let engine = &mut packets.driver.engine;
    let packet = engine.pool().packet_of(bytes);
    let is_sent = match (packets.clients.get(&from), packet) {
        (Some(name), Some(packet)) => engine.send_from(name, "output", packet).is_ok(),
        _ => false,
    };
    if is_sent {
        drive::wake(world, lp);
    }
    world.answer(lp, from, "Sent", &[Value::Word(u64::from(is_sent))]);
}

/// Takes what has come to an app, and gives it to those who wait.
fn deliver(world: &mut World, lp: &mut Loop<World>, name: &str) {
    let Packets { driver, doors, .. } = &mut world.systems.packets;
    let Some(door) = doors.get_mut(name) else { return };
    while door.packets.len() < QUEUED_MAX
        && let Some(packet) = driver.engine.take_from(name, "input")
    {
        door.packets.push_back(packet);
    }
    let count = door.waiting.len().min(door.packets.len());
    let whom: Vec<Communication> = door.waiting.drain(..count).collect();
    let what: Vec<Packet> = door.packets.drain(..count).collect();
    for (to, packet) in whom.into_iter().zip(what) {
        world.answer(lp, to, "Packet", &[lent(packet.bytes())]);
    }
}

/// A client has gone. What waits for the last of an app goes with it.
pub(super) fn finished(world: &mut World, from: Communication) {
    let packets = &mut world.systems.packets;
    let Some(name) = packets.clients.remove(&from) else { return };
    let Some(door) = packets.doors.get_mut(&name) else { return };
    door.waiting.retain(|&client| client != from);
    door.clients -= 1;
    if door.clients == 0 {
        packets.doors.remove(&name);
    }
}
