//! Addresses of neighbours (RFC 826).

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidemill_packet::app::{App, Fault, Io, Reconfigured, Start};
use tidemill_packet::fanout::Fanout;

use crate::net::{ETHERNET, Mac, TYPE_ARP, ether_type};

tidemill_packet::declare! {
    /// Answers and sends ARP requests on a wire for the side north of it.
    ///
    /// Requests for its address are answered. Frames from the north get its Ethernet address as
    /// source and that of the gateway as destination, which it requests once a second until it is
    /// answered; until then frames are dropped as `unresolved`. Other frames from the wire go
    /// north.
    app Arp {
        config ArpConfig {
            /// The Ethernet address of this side.
            mac: Mac,
            /// The IPv4 address of this side.
            address: Ipv4Addr,
            /// The IPv4 address that all frames from the north go through.
            gateway: Ipv4Addr,
        }
        ports {
            /// Frames from the wire.
            south: Input(Push, One),
            /// Frames from behind.
            north: Input(Push, One),
            /// Frames to the wire.
            south: Output(Push, One),
            /// Frames for behind.
            north: Output(Push, One),
        }
        traits {}
    }
}

const SOUTH: usize = 0;
const NORTH: usize = 1;

/// Bytes of an ARP message for Ethernet and IPv4.
const MESSAGE: usize = 28;

/// See [`Arp::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Arp {
    mac: Mac,
    address: Ipv4Addr,
    gateway: Ipv4Addr,
    /// What all instances of the graph have learned: the answer comes to one of them.
    resolved: Arc<Mutex<Option<Mac>>>,
    fanout: Fanout,
    name: String,
    has_requested: bool,
    answered: u64,
}

/// The contents of a message.
struct Message {
    operation: u16,
    sender: (Mac, Ipv4Addr),
    target: Ipv4Addr,
}

const REQUEST: u16 = 1;
const REPLY: u16 = 2;

fn read(frame: &[u8]) -> Option<Message> {
    if ether_type(frame)? != TYPE_ARP {
        return None;
    }
    let arp: &[u8; MESSAGE] = frame.get(ETHERNET..)?.first_chunk()?;
    let address = |at: usize| Some(Ipv4Addr::from(*arp.get(at..)?.first_chunk::<4>()?));
    let is_ours = arp[..6] == [0, 1, 8, 0, 6, 4];
    let message = Message {
        operation: u16::from_be_bytes([arp[6], arp[7]]),
        sender: (Mac(*arp[8..].first_chunk()?), address(14)?),
        target: address(24)?,
    };
    is_ours.then_some(message)
}

/// The address of a gateway, shared by the instances of an app.
fn resolved(fanout: &Fanout, name: &str, gateway: Ipv4Addr) -> Arc<Mutex<Option<Mac>>> {
    let Ok(shared) =
        fanout.shared(&format!("{name} {gateway}"), || Ok::<_, Infallible>(Mutex::default()));
    shared
}

impl Arp {
    fn resolved(&self) -> MutexGuard<'_, Option<Mac>> {
        self.resolved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, operation: u16, to: Mac, target_mac: Mac, target: Ipv4Addr) -> Vec<u8> {
        let mut frame = [to.0, self.mac.0].concat();
        frame.extend(TYPE_ARP.to_be_bytes());
        frame.extend([0, 1, 8, 0, 6, 4]);
        frame.extend(operation.to_be_bytes());
        frame.extend(self.mac.0);
        frame.extend(self.address.octets());
        frame.extend(target_mac.0);
        frame.extend(target.octets());
        frame
    }

    fn ask(&mut self, io: &mut Io) {
        self.has_requested = true;
        let request = self.write(REQUEST, Mac::BROADCAST, Mac([0; 6]), self.gateway);
        if let Some(packet) = io.packet_of(&request) {
            io.send(SOUTH, packet);
        }
    }

    fn receive(&mut self, io: &mut Io, message: &Message) {
        let (mac, address) = message.sender;
        if address == self.gateway && !mac.is_group() {
            *self.resolved() = Some(mac);
        }
        if message.operation == REQUEST && message.target == self.address {
            self.answered += 1;
            let reply = self.write(REPLY, mac, mac, address);
            if let Some(packet) = io.packet_of(&reply) {
                io.send(SOUTH, packet);
            }
        }
    }
}

impl App for Arp {
    const GAUGES: &'static [&'static str] = &["resolved"];

    fn new(config: ArpConfig, start: &mut Start) -> Result<Arp, Fault> {
        let ArpConfig { mac, address, gateway } = config;
        let (name, fanout) = (start.name().to_owned(), start.fanout().clone());
        let resolved = resolved(&fanout, &name, gateway);
        let (has_requested, answered) = (false, 0);
        Ok(Arp { mac, address, gateway, resolved, fanout, name, has_requested, answered })
    }

    /// The address of a gateway is valid for that gateway only.
    fn reconfigure(&mut self, config: ArpConfig) -> Reconfigured {
        let ArpConfig { mac, address, gateway } = config;
        if gateway != self.gateway {
            self.resolved = resolved(&self.fanout, &self.name, gateway);
            self.has_requested = false;
        }
        (self.mac, self.address, self.gateway) = (mac, address, gateway);
        Reconfigured::Kept
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        while let Some(packet) = io.receive(SOUTH) {
            match read(packet.bytes()) {
                Some(message) => self.receive(io, &message),
                None => io.send(NORTH, packet),
            }
        }
        let gateway = *self.resolved();
        while let Some(mut packet) = io.receive(NORTH) {
            let Some(gateway) = gateway else {
                if !self.has_requested {
                    self.ask(io);
                }
                io.drop(packet, "unresolved");
                continue;
            };
            if packet.len() < ETHERNET {
                io.drop(packet, "too_short");
                continue;
            }
            packet.bytes_mut()[..6].copy_from_slice(&gateway.0);
            packet.bytes_mut()[6..12].copy_from_slice(&self.mac.0);
            io.send(SOUTH, packet);
        }
        Ok(())
    }

    fn tick_every(&self) -> Option<Duration> {
        Some(Duration::from_secs(1))
    }

    fn tick(&mut self, io: &mut Io) -> Result<(), Fault> {
        if self.resolved().is_none() {
            self.ask(io);
        }
        Ok(())
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        vec![("answered", self.answered), ("resolved", u64::from(self.resolved().is_some()))]
    }
}
