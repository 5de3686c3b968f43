//! Frames of an interface through a packet socket.

use std::cell::Cell;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::Arc;

use tidemill_packet::app::{App, ConfigError, Fault, Io, Progress, Reconfigured, Start};
use tidemill_packet::fanout::Fanout;
use tidemill_pore::Error;
use tidemill_pore::packet::Arrival;
use tidemill_pore::packet::group::Group;
use tidemill_pore::packet::ring::{PacketRing, Shape};
use tidemill_pore::packet::socket::{BATCH, HEADER, PacketSocket, Wanted};

use super::socket_filter::{self, SocketFilter};
use super::steering;
use super::{BURST, ROOM, fault, send, transmit};

/// Blocks of a ring: 8 MiB.
const BLOCKS: u32 = 32;

/// The kernel has 16 bits for the age of a block.
const BLOCK_MS_MAX: u32 = 10_000;

tidemill_packet::declare! {
    /// Exchanges frames with an interface of the system, through a packet socket.
    ///
    /// It sees all that the interface sends and receives. What it does not take is dropped as
    /// `not_taken`; `kernel_drops` counts the frames that the kernel had no room for. What senders
    /// leave to the network card is done: checksums are completed, and long frames cut into the
    /// segments that they stand for; `not_cut` counts those of which no segments can be made.
    ///
    /// With `filter` it takes only frames that match. As far as the kernel can tell it drops the
    /// others before they are copied, by a program of `filter_instructions`; `not_matched` counts
    /// those that are dropped here: with a VLAN tag, or all, if it has none.
    ///
    /// With `block_ms` the kernel collects frames in blocks of shared memory and hands over a block
    /// when it is full or that old. That costs less, and frames come up to that much later.
    ///
    /// Each of several workers has a socket, to which the kernel gives the frames of its flows.
    app RawSocket {
        config RawSocketConfig {
            /// The name of the interface.
            interface: String,
            /// An expression as that of `Filter`; an empty one matches all.
            filter: String = String::new(),
            /// The milliseconds for which the kernel collects frames, up to 10000; 0: each is seen
            /// at once.
            block_ms: u32 = 0,
        }
        ports {
            /// Frames to be sent.
            input: Input(Push, Optional),
            /// Frames that were seen.
            output: Output(Push, Optional),
        }
        traits { pulls, exclusive, device, divides }
    }
}

/// See [`RawSocket::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct RawSocket {
    device: Device,
    filter: Option<SocketFilter>,
    fanout: Fanout,
    /// The sockets of all instances of the graph, if there are several.
    group: Option<Arc<Group>>,
    not_matched: u64,
    not_cut: u64,
    /// The drops that the kernel has reported so far; it reports each once.
    kernel_drops: Cell<u64>,
}

/// How frames are received.
#[derive(Debug)]
enum Device {
    Socket(Box<PacketSocket>),
    Ring(Box<PacketRing>),
}

impl Device {
    fn open(config: &RawSocketConfig, wanted: &Wanted<'_>) -> Result<Device, Error> {
        let name = &config.interface;
        if config.block_ms == 0 {
            return Ok(Device::Socket(Box::new(PacketSocket::open(name, wanted)?)));
        }
        let shape = Shape { blocks: BLOCKS, retire_ms: config.block_ms };
        Ok(Device::Ring(Box::new(PacketRing::of(name, wanted, shape)?)))
    }

    /// Calls `take` with frames that were received, [`BATCH`] at most; returns their number.
    fn receive(&mut self, take: &mut dyn FnMut(&[u8], &Arrival)) -> Result<usize, Error> {
        match self {
            Device::Socket(socket) => socket.receive(take),
            Device::Ring(ring) => {
                for count in 0..BATCH {
                    if !ring.receive(take)? {
                        return Ok(count);
                    }
                }
                Ok(BATCH)
            }
        }
    }

    fn take_not_cut(&mut self) -> u64 {
        match self {
            Device::Socket(socket) => socket.take_not_cut(),
            Device::Ring(ring) => ring.take_not_cut(),
        }
    }

    fn take_kernel_drops(&self) -> Result<u64, Error> {
        match self {
            Device::Socket(socket) => socket.take_kernel_drops(),
            Device::Ring(ring) => ring.take_kernel_drops(),
        }
    }
}

/// The sockets of all instances of a graph on an interface, if there are several.
fn group(fanout: &Fanout, interface: &str) -> Result<Option<Arc<Group>>, Fault> {
    if !fanout.is_divided() {
        return Ok(None);
    }
    let all: Vec<u32> = (0..fanout.instances()).collect();
    if steering::program(fanout, &all).is_none() {
        return Err(Fault::new("there are too many ranges of ports"));
    }
    let group = || {
        let fanout = fanout.clone();
        Ok(Group::new(move |order| {
            let program = steering::program(&fanout, order).unwrap_or_default();
            program.into_iter().map(socket_filter::parts).collect()
        }))
    };
    fanout.shared(interface, group).map(Some)
}

/// The group, and the number of this instance in it.
fn numbered<'g>(group: &'g Option<Arc<Group>>, fanout: &Fanout) -> Option<(&'g Arc<Group>, u32)> {
    group.as_ref().map(|group| (group, fanout.instance()))
}

fn open(
    config: &RawSocketConfig,
    group: Option<(&Arc<Group>, u32)>,
) -> Result<(Device, Option<SocketFilter>), Fault> {
    let filter = SocketFilter::of(&config.filter).map_err(|error| Fault::new(error.message))?;
    let program = filter.as_ref().map_or(&[][..], SocketFilter::program);
    let device = Device::open(config, &Wanted { filter: program, outgoing: true, group });
    let device = device.map_err(|error| {
        Fault::new(format!("cannot look at the interface `{}`: {error}", config.interface))
    })?;
    Ok((device, filter))
}

impl App for RawSocket {
    const GAUGES: &'static [&'static str] = &["filter_instructions"];

    fn validate(config: &RawSocketConfig) -> Result<(), ConfigError> {
        if config.block_ms > BLOCK_MS_MAX {
            return Err(ConfigError::new("block_ms", "it must be 10000 at most"));
        }
        socket_filter::parse(&config.filter).map(drop)
    }

    fn new(config: RawSocketConfig, start: &mut Start) -> Result<RawSocket, Fault> {
        let fanout = start.fanout().clone();
        let group = group(&fanout, &config.interface)?;
        let (device, filter) = open(&config, numbered(&group, &fanout))?;
        let (not_matched, not_cut, kernel_drops) = (0, 0, Cell::new(0));
        Ok(RawSocket { device, filter, fanout, group, not_matched, not_cut, kernel_drops })
    }

    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        let RawSocket { device, filter, not_matched, not_cut, .. } = self;
        let mut received = 0;
        while received < BURST && io.room(0) >= ROOM {
            let count = device.receive(&mut |frame, arrival| match filter {
                Some(it) if !it.matches(frame, arrival.is_outgoing) => *not_matched += 1,
                _ => send(io, frame, arrival),
            });
            *not_cut += device.take_not_cut();
            match count.map_err(|error| fault(&error))? {
                0 => return Ok(Progress::Asleep),
                count if count < BATCH => break,
                count => received += count,
            }
        }
        Ok(Progress::Ready)
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        transmit(io, &HEADER, |frames| {
            Ok(match &self.device {
                Device::Socket(socket) => socket.send(frames),
                Device::Ring(ring) => ring.send(frames),
            })
        })
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(match &self.device {
            Device::Socket(socket) => socket.as_fd().as_raw_fd(),
            Device::Ring(ring) => ring.as_fd().as_raw_fd(),
        })
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        let more = self.device.take_kernel_drops().unwrap_or(0);
        self.kernel_drops.set(self.kernel_drops.get() + more);
        let mut counts = vec![("kernel_drops", self.kernel_drops.get()), ("not_cut", self.not_cut)];
        if let Some(filter) = &self.filter {
            counts.push(("filter_instructions", filter.program().len() as u64));
            counts.push(("not_matched", self.not_matched));
        }
        counts
    }

    fn can_take(&self, config: &RawSocketConfig) -> Result<(), Fault> {
        open(config, None).map(drop)
    }

    fn reconfigure(&mut self, config: RawSocketConfig) -> Reconfigured {
        // The drops of the old socket are counted before it is closed.
        self.report();
        let opened = group(&self.fanout, &config.interface).and_then(|group| {
            let (device, filter) = open(&config, numbered(&group, &self.fanout))?;
            Ok((group, device, filter))
        });
        match opened {
            Ok(opened) => {
                (self.group, self.device, self.filter) = opened;
                Reconfigured::Kept
            }
            Err(_) => Reconfigured::Restart,
        }
    }
}
