//! Frames through a device of the system.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, RawFd};

use tidemill_packet::app::{App, ConfigError, Fault, Io, Progress, Reconfigured, Start};
use tidemill_packet::device::{self, Received};

use crate::socket_filter::{self, SocketFilter};

/// Packets of one breath at most.
const BURST: usize = 256;

tidemill_packet::declare! {
    /// Exchanges frames with the kernel through a TAP device, which it makes.
    ///
    /// It sleeps until there are frames. What the kernel does not take is dropped as `not_taken`;
    /// the device must be up for that. `kernel_drops` counts the frames that the kernel had no room
    /// for.
    app Tap {
        config TapConfig {
            /// The name of the device.
            name: String,
        }
        ports {
            /// Frames to the kernel.
            input: Input(Push, Optional),
            /// Frames from the kernel.
            output: Output(Push, Optional),
        }
        traits { pulls, exclusive, device }
    }
}

tidemill_packet::declare! {
    /// Exchanges frames with an interface of the system, through a packet socket.
    ///
    /// It sees all that the interface sends and receives. What it does not take is dropped as
    /// `not_taken`; `kernel_drops` counts the frames that the kernel had no room for. Checksums
    /// that were left to the network card are completed.
    ///
    /// With `filter` it takes only frames that match. As far as the kernel can tell it drops the
    /// others before they are copied, by a program of `filter_instructions`; `not_matched` counts
    /// those that are dropped here: with a VLAN tag, or all, if it has none.
    app RawSocket {
        config RawSocketConfig {
            /// The name of the interface.
            interface: String,
            /// An expression as that of `Filter`; an empty one matches all.
            filter: String = String::new(),
        }
        ports {
            /// Frames to be sent.
            input: Input(Push, Optional),
            /// Frames that were seen.
            output: Output(Push, Optional),
        }
        traits { pulls, exclusive, device }
    }
}

/// See [`Tap::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Tap {
    device: Device,
    name: String,
}

/// See [`RawSocket::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct RawSocket {
    device: Device,
    /// The drops that the kernel has reported so far; it reports each once.
    kernel_drops: Cell<u64>,
    filter: Option<SocketFilter>,
    not_matched: u64,
}

/// A file of which each read and write is a frame.
#[derive(Debug)]
struct Device {
    file: File,
    buffer: Vec<u8>,
}

/// Sends the frames that `read` writes to the buffer, at the range that it returns, or leaves one
/// out for `None`, a packet at a time, until there is no more or enough for one breath.
pub(crate) fn burst(
    io: &mut Io,
    buffer: &mut [u8],
    mut read: impl FnMut(&mut [u8]) -> io::Result<Option<Received>>,
) -> Result<Progress, Fault> {
    for _ in 0..io.room(0).min(BURST) {
        match read(buffer) {
            Ok(None) => {}
            Ok(Some(Received { frame, is_outgoing })) => {
                let Some(mut packet) = io.packet_of(&buffer[frame]) else { continue };
                packet.set_outgoing(is_outgoing);
                io.send(0, packet);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Progress::Asleep),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Progress::Ready)
}

/// A received frame of this length.
pub(crate) fn whole(length: usize) -> Option<Received> {
    Some(Received { frame: 0..length, is_outgoing: false })
}

/// Bytes beyond the greatest packet: enough to see that a frame is longer, with a VLAN tag too.
const BEYOND: usize = 8;

impl Device {
    fn new(file: File) -> Device {
        Device { file, buffer: vec![0; tidemill_packet::packet::BYTES_MAX + BEYOND] }
    }

    fn push(&mut self, io: &mut Io) {
        while let Some(packet) = io.receive(0) {
            if self.file.write(packet.bytes()).is_err() {
                io.drop(packet, "not_taken");
            }
        }
    }
}

fn no_tap(name: &str, error: &io::Error) -> Fault {
    Fault::new(format!("cannot have the device `{name}`: {error}"))
}

fn raw_socket(config: &RawSocketConfig) -> Result<(File, Option<SocketFilter>), Fault> {
    let (name, filter) = (&config.interface, SocketFilter::of(&config.filter));
    let filter = filter.map_err(|error| Fault::new(error.message))?;
    let program = filter.as_ref().map_or(&[][..], SocketFilter::program);
    match device::raw_socket(name, program) {
        Ok(file) => Ok((file, filter)),
        Err(error) => Err(Fault::new(format!("cannot look at the interface `{name}`: {error}"))),
    }
}

impl App for Tap {
    fn new(config: TapConfig, _: &mut Start) -> Result<Tap, Fault> {
        let file = device::tap(&config.name).map_err(|error| no_tap(&config.name, &error))?;
        Ok(Tap { device: Device::new(file), name: config.name })
    }

    fn can_take(&self, config: &TapConfig) -> Result<(), Fault> {
        if config.name == self.name {
            return Ok(());
        }
        match device::tap(&config.name) {
            // Another app of the graph may have it, and give it away with the same change.
            Err(error) if error.kind() == ErrorKind::ResourceBusy => Ok(()),
            made => made.map(drop).map_err(|error| no_tap(&config.name, &error)),
        }
    }

    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        let Device { file, buffer } = &mut self.device;
        burst(io, buffer, |buffer| file.read(buffer).map(whole))
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        self.device.push(io);
        Ok(())
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.device.file.as_raw_fd())
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        // The drops of the device are those of this app.
        let path = format!("/sys/class/net/{}/statistics/tx_dropped", self.name);
        let count = std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok());
        vec![("kernel_drops", count.unwrap_or(0))]
    }
}

impl App for RawSocket {
    fn validate(config: &RawSocketConfig) -> Result<(), ConfigError> {
        socket_filter::parse(&config.filter).map(drop)
    }

    fn new(config: RawSocketConfig, _: &mut Start) -> Result<RawSocket, Fault> {
        let (file, filter) = raw_socket(&config)?;
        let kernel_drops = Cell::new(0);
        Ok(RawSocket { device: Device::new(file), kernel_drops, filter, not_matched: 0 })
    }

    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        let RawSocket { device: Device { file, buffer }, filter, not_matched, .. } = self;
        burst(io, buffer, |buffer| {
            let received = device::receive(file, buffer)?;
            let frame = &buffer[received.frame.clone()];
            let matches = filter.as_ref().is_none_or(|it| it.matches(frame, received.is_outgoing));
            *not_matched += u64::from(!matches);
            Ok(matches.then_some(received))
        })
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        self.device.push(io);
        Ok(())
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.device.file.as_raw_fd())
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        let more = device::take_kernel_drops(&self.device.file).unwrap_or(0);
        self.kernel_drops.set(self.kernel_drops.get() + more);
        let mut counts = vec![("kernel_drops", self.kernel_drops.get())];
        if let Some(filter) = &self.filter {
            counts.push(("filter_instructions", filter.program().len() as u64));
            counts.push(("not_matched", self.not_matched));
        }
        counts
    }

    fn can_take(&self, config: &RawSocketConfig) -> Result<(), Fault> {
        raw_socket(config).map(drop)
    }

    fn reconfigure(&mut self, config: RawSocketConfig) -> Reconfigured {
        // The drops of the old socket are counted before it is closed.
        self.report();
        match raw_socket(&config) {
            Ok((file, filter)) => {
                (self.device, self.filter) = (Device::new(file), filter);
                Reconfigured::Kept
            }
            Err(_) => Reconfigured::Restart,
        }
    }
}
