//! Simulated devices at links, which carry frames from node to node.
//!
//! ```text
//! link -> [app] -> switch of the link -> network of the simulation -> [app] -> link
//! ```
//! A link is an Ethernet switch: it learns which device an address is behind, and sends frames for
//! addresses that it does not know, and for groups, to all others. Each device is an endpoint of
//! the simulated network, so latency, loss, duplicates and partitions are those of its nodes.

mod state;

use std::io;

use tidemill_event::{Handlers, Interest, Loop};
use tidemill_packet::drive;

use super::apps;
use super::inbox::{self, Become, TakenPackets};
use crate::error::Error;
use crate::machine::Machine;
use crate::switch::Plug;
pub(crate) use state::Devices;
use state::{Port, PortCounters};

/// The maximum size of a datagram in bytes.
const BYTES_MAX: usize = 1 << 16;

/// Plugs in the devices of the current node, before its graph starts.
///
/// # Errors
/// Two devices have one name.
pub(crate) fn open(machine: &mut Machine, events: &mut Loop<Machine>) -> Result<(), Error> {
    let Some(sim) = machine.sim.as_ref().filter(|sim| !sim.plugs.is_empty()) else {
        return Ok(());
    };
    let address = machine.fleet.address(machine.node.id).unwrap_or_default();
    let named = sim.plugs.iter().filter_map(|plug| {
        let name = plug.name_at(address);
        let member = sim.switches.get(&plug.link)?.member(&name)?;
        Some((plug.clone(), name, member))
    });
    let named: Vec<(Plug, String, usize)> = named.collect();
    machine.node.borders.devices.buffer = vec![0; BYTES_MAX];
    for (number, (plug, name, member)) in named.into_iter().enumerate() {
        let wrong = |error: io::Error| Error::Start(format!("device {name}: {error}"));
        let endpoint = events.host().bind(&name).map_err(wrong)?;
        let handlers = Handlers::new()
            .read(move |machine: &mut Machine, events: &mut Loop<Machine>, _| {
                receive(machine, events, number);
            })
            .error(|_, _, _, _| {});
        events.watch(endpoint, Interest::Read, handlers).map_err(wrong)?;
        let counters = PortCounters::new(&machine.registry, &plug.app);
        let port = Port { plug, member, endpoint, inputs: Vec::new(), output: None, counters };
        machine.node.borders.devices.ports.push(port);
    }
    Ok(())
}

/// Unplugs the devices of a node that ends: frames in flight to it are lost.
pub(crate) fn close(machine: &mut Machine, events: &mut Loop<Machine>) {
    for port in machine.node.borders.devices.ports.drain(..) {
        events.host().close(port.endpoint);
    }
}

/// Finds the links of the devices in the graph that runs now.
pub(super) fn link(machine: &mut Machine) {
    let engine = &machine.node.driver.engine;
    for port in &mut machine.node.borders.devices.ports {
        (port.inputs, port.output) = apps::links(engine, &port.plug.app);
    }
}

/// Sends the frames that have arrived at devices.
pub(super) fn take(machine: &mut Machine, events: &mut Loop<Machine>) {
    if machine.node.borders.devices.ports.is_empty() {
        return;
    }
    let mut devices = std::mem::take(&mut machine.node.borders.devices);
    inbox::take_each(machine, events, &mut devices.ports, take_from);
    machine.node.borders.devices = devices;
}

fn take_from(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    port: &mut Port,
    taken: &mut TakenPackets,
) {
    let Port { plug, member, endpoint, inputs, counters, .. } = port;
    for link in inputs {
        taken.link(machine, events, (*link, Become::Other), |machine, events, packet| {
            let Some(sim) = &mut machine.sim else { return };
            let Some(switch) = sim.switches.get_mut(&plug.link) else { return };
            for to in switch.route(*member, packet.bytes()) {
                // The network counts lost frames.
                let _ = events.host().send(*endpoint, to, packet.bytes());
            }
            counters.sent.add(1);
        });
    }
}

/// Puts the received frames of a device on its link, which counts those that it has no room for.
fn receive(machine: &mut Machine, events: &mut Loop<Machine>, number: usize) {
    let Devices { ports, buffer } = &mut machine.node.borders.devices;
    let Some(port) = ports.get(number) else { return };
    let engine = &mut machine.node.driver.engine;
    while let Ok(Some((length, _))) = events.host().recv(port.endpoint, buffer) {
        let Some(packet) = engine.pool().packet_of(&buffer[..length]) else {
            port.counters.no_packet.add(1);
            continue;
        };
        if port.output.is_some_and(|link| engine.send_link(link, packet).is_ok()) {
            port.counters.received.add(1)
        } else {
            port.counters.no_link.add(1)
        }
    }
    drive::wake(machine, events);
}
