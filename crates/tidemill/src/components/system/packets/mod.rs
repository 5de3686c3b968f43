//! Packets: exchanges packets with the packet graph that runs beside the components, on the same
//! loop.
//!
//! A client opens an app of the type `Outside` by name. It sends to that app's `output`, and
//! receives from its `input`. Several clients of one app share its packets: each packet goes to the
//! client that has waited longest. Without a waiting client, up to [`QUEUED_MAX`] packets are
//! queued; further ones stay on the link, which drops and counts.
//!
//! If several workers have an instance of the graph each, the packets of all come to the clients,
//! and what they send goes to the instance of its flow (`borders/instances/outside.rs`).
//!
//! A program that is itself an app, of the type `Script`, opens a port of its own by name: it
//! receives from the input of that name and sends to the output of that name. `FROM -> TO` opens
//! an input and an output whose names differ.
mod clients;

use std::collections::VecDeque;

use tidemill_cl::system::packets::{Request, Response};
use tidemill_event::Loop;
use tidemill_packet::app::Direction;
use tidemill_packet::drive;
use tidemill_packet::engine::Engine;
use tidemill_proc::Communication;
use tidemill_relation::Value;
use tidemill_stdx::marks;

use super::ports::ends;
use crate::machine::{Machine, posts};
pub(super) use clients::Packets;
use clients::{Client, OpenApp, OutsideCounters, Queued};
pub(crate) use clients::{OUTSIDE, PostedPacket};

/// The maximum number of packets queued at one app.
const QUEUED_MAX: usize = 1024;

pub(super) fn serve(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    request: Request<'_>,
) {
    match request {
        Request::Open { app } => open(world, lp, from, &String::from_utf8_lossy(app.0)),
        Request::Send { packet } => send(world, lp, from, packet),
        Request::Receive => {
            let packets = &mut world.node.systems.packets;
            let name = packets.clients.get(from).map(|client| client.app.clone());
            let Some(name) = name else { return };
            if let Some(app) = packets.apps.get_mut(&name) {
                app.waiting.push_back(from);
            }
            deliver(world, lp, &name);
        }
        Request::GetTime => {
            let packets = &world.node.systems.packets;
            let client = packets.clients.get(from);
            let app = client.and_then(|client| packets.apps.get(&client.app));
            let time = app.and_then(|app| app.time_ns).unwrap_or(0);
            world.answer(lp, from, Response::Time { time });
        }
        Request::Close => finished(world, from),
    }
}

fn open(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication, name: &str) {
    let (packets, engine) = (&mut world.node.systems.packets, &world.node.driver.engine);
    let (source, target) = ends(name);
    if let Err(error) = packets.check(engine, name, (source, target)) {
        let reason = error.to_string().into_bytes().into();
        return world.answer(lp, from, Response::Failed { reason });
    }
    let app = packets.apps.entry(name.to_owned()).or_insert_with(|| OpenApp {
        from: source.to_owned(),
        to: target.to_owned(),
        clients: 0,
        waiting: VecDeque::new(),
        packets: VecDeque::new(),
        others: 0,
        time_ns: None,
    });
    app.clients += 1;
    if packets.ports.is_none() && !packets.counters.contains_key(name) {
        let counters = OutsideCounters::new(&world.registry, name);
        packets.counters.insert(name.to_owned(), counters);
    }
    let is_first = app.clients == 1;
    let link = outlet(engine, target);
    packets.clients.insert(from, Client { app: name.to_owned(), link });
    if is_first && world.node.borders.instances.is_some() {
        let name = name.to_owned();
        posts::all(world, move |world, lp| {
            world.node.borders.open_apps.open(name.clone());
            drive::wake(world, lp);
        });
    }
    world.answer(lp, from, Response::Opened);
}

/// The link from an app.
fn outlet(engine: &Engine, app: &str) -> Option<usize> {
    let links = engine.links_of(app, Direction::Output);
    links.into_iter().find(|(_, port)| port == "output").map(|(link, _)| link)
}

/// Finds the links of all clients in the graph that runs now.
pub(crate) fn link(world: &mut Machine) {
    let (packets, engine) = (&mut world.node.systems.packets, &world.node.driver.engine);
    for (_, client) in packets.clients.iter_mut() {
        client.link = outlet(engine, ends(&client.app).1);
    }
}

/// Sends a frame to the instance of its flow, if that is at another worker; returns whether it
/// could be sent, or nothing if it is for the graph of this one.
fn send_elsewhere(world: &mut Machine, from: Communication, bytes: &[u8]) -> Option<bool> {
    let instances = world.node.borders.instances.as_mut()?;
    let worker = instances.worker_of(Value::Bytes(bytes))?;
    let client = world.node.systems.packets.clients.get(from);
    let client = client.filter(|client| client.link.is_some());
    let Some(Client { app, .. }) = client.filter(|_| instances.send(worker)) else {
        return Some(false);
    };
    let (app, bytes) = (app.clone(), bytes.to_vec());
    posts::to(world, worker, move |world, lp| {
        let engine = &mut world.node.driver.engine;
        if let Some((link, packet)) = outlet(engine, &app).zip(engine.pool().packet_of(&bytes))
            && engine.send_link(link, packet).is_ok()
        {
            drive::wake(world, lp);
        }
        let me = world.share.me;
        posts::first(world, move |world, _| {
            world.has_work_of(me);
            let instances = world.node.borders.instances.as_mut();
            instances.into_iter().for_each(|instances| instances.has_sent(me));
        });
    });
    Some(true)
}

fn send(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication, bytes: &[u8]) {
    let is_sent =
        send_elsewhere(world, from, bytes).unwrap_or_else(|| send_here(world, lp, from, bytes));
    let Packets { clients, counters, .. } = &world.node.systems.packets;
    if let Some(counters) = clients.get(from).and_then(|client| counters.get(&client.app)) {
        let counter = if is_sent { &counters.sent } else { &counters.not_sent };
        counter.add(1);
    }
    world.answer(lp, from, Response::Sent { is_sent });
}

/// Sends a frame to the graph of this worker, or to a port; returns whether it could be sent.
fn send_here(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    bytes: &[u8],
) -> bool {
    let (Packets { ports, apps, clients, .. }, driver) =
        (&mut world.node.systems.packets, &mut world.node.driver);
    let client = clients.get(from);
    let is_sent = client.is_some_and(|client| match ports {
        Some(ports) => {
            apps.get(&client.app).is_some_and(|app| ports.send(&app.to, bytes, app.time_ns))
        }
        None => client
            .link
            .zip(driver.engine.pool().packet_of(bytes))
            .is_some_and(|(link, packet)| driver.engine.send_link(link, packet).is_ok()),
    });
    if is_sent && world.node.systems.packets.ports.is_none() {
        drive::wake(world, lp);
    }
    marks::arrive("packets/link");
    is_sent
}

/// Packets for clients have come from the graph of another worker.
pub(crate) fn arrived(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    name: &str,
    (worker, packets): (u32, Vec<PostedPacket>),
) {
    world.has_work_of(worker);
    // The last client of an app that is closed has dropped its packets.
    let Some(app) = world.node.systems.packets.apps.get_mut(name) else { return };
    app.others += packets.len();
    app.packets.extend(packets.into_iter().map(|packet| Queued::Other(worker, packet)));
    deliver(world, lp, name);
}

/// Tells other workers that clients have taken packets of theirs.
fn acknowledge(world: &Machine, name: &str, taken: &[Queued]) {
    let mut workers: Vec<u32> = taken.iter().filter_map(Queued::worker).collect();
    workers.sort_unstable();
    for of_one in workers.chunk_by(|one, other| one == other) {
        let (name, count) = (name.to_owned(), of_one.len());
        posts::to(world, of_one[0], move |world, lp| {
            world.node.borders.open_apps.taken(&name, count);
            drive::wake(world, lp);
        });
    }
}

/// Delivers the packets of all apps to waiting clients.
pub(crate) fn deliver_all(world: &mut Machine, lp: &mut Loop<Machine>) {
    let names: Vec<String> = world.node.systems.packets.apps.keys().cloned().collect();
    for name in names {
        deliver(world, lp, &name);
    }
}

/// Delivers the packets of an app to waiting clients.
fn deliver(world: &mut Machine, lp: &mut Loop<Machine>, name: &str) {
    let (Packets { ports, apps, counters, .. }, driver) =
        (&mut world.node.systems.packets, &mut world.node.driver);
    let Some(app) = apps.get_mut(name) else { return };
    // Ports have queues of their own, which several opened apps may share.
    let most = if ports.is_some() { app.waiting.len() } else { QUEUED_MAX };
    while app.packets.len() - app.others < most
        && let Some(packet) = match ports {
            Some(ports) => ports.take(&app.from),
            None => driver.engine.take_from(&app.from, "input"),
        }
    {
        app.packets.push_back(Queued::Own(packet));
    }
    let count = app.waiting.len().min(app.packets.len());
    let whom: Vec<Communication> = app.waiting.drain(..count).collect();
    let what: Vec<Queued> = app.packets.drain(..count).collect();
    app.time_ns = what.last().map_or(app.time_ns, Queued::time_ns);
    app.others -= what.iter().filter_map(Queued::worker).count();
    counters.get(name).into_iter().for_each(|counters| counters.received.add(count as u64));
    acknowledge(world, name, &what);
    for (to, packet) in whom.into_iter().zip(what) {
        world.answer(lp, to, Response::Packet { packet: packet.bytes().into() });
    }
}

/// A client has ended. The last client of an app drops its queued packets.
pub(super) fn finished(world: &mut Machine, from: Communication) {
    let packets = &mut world.node.systems.packets;
    let Some(Client { app: name, .. }) = packets.clients.remove(from) else { return };
    let Some(app) = packets.apps.get_mut(&name) else { return };
    app.waiting.retain(|&client| client != from);
    app.clients -= 1;
    if app.clients == 0 {
        let lost = app.packets.len() as u64;
        packets.counters.get(&name).into_iter().for_each(|counters| counters.lost.add(lost));
        packets.apps.remove(&name);
        if world.node.borders.instances.is_some() {
            posts::all(world, move |world, _| world.node.borders.open_apps.close(&name));
        }
    }
}
