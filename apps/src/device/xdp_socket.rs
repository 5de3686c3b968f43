//! Frames of a queue of an interface through AF_XDP.

use std::os::fd::{AsFd, AsRawFd, RawFd};

use tidemill_packet::app::{App, Fault, Io, Progress, Start};
use tidemill_pore::Error;
use tidemill_pore::packet::xdp::Xdp;

use super::{BURST, fault, send, transmit};

tidemill_packet::declare! {
    /// Exchanges frames with a queue of an interface, past the network of the system (AF_XDP).
    ///
    /// All that arrives at the queue comes here and nowhere else; what the system sends through the
    /// interface is not seen. Frames have at most 3840 bytes, or 1792 where the MTU is at most
    /// 1770. What finds no room in the rings, or is longer, is dropped as `not_taken`;
    /// `kernel_drops` counts the frames that the kernel had no room for, and those that were too
    /// long.
    /// The driver carries the frames if it can, otherwise the generic part of the kernel does.
    ///
    /// Checksums that a sender on the same machine left to the network card are not completed: the
    /// kernel does not say which. Turn that off where it sends (`ethtool -K eth0 tx off`).
    app XdpSocket {
        config XdpSocketConfig {
            /// The name of the interface.
            interface: String,
            /// The queue of the interface.
            queue: u32 = 0,
        }
        ports {
            /// Frames to be sent.
            input: Input(Push, Optional),
            /// Frames that were received.
            output: Output(Push, Optional),
        }
        traits { pulls, exclusive, device }
    }
}

/// See [`XdpSocket::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct XdpSocket {
    device: Xdp,
    config: XdpSocketConfig,
}

fn open(config: &XdpSocketConfig) -> Result<Xdp, Fault> {
    let XdpSocketConfig { interface, queue } = config;
    Xdp::open(interface, *queue).map_err(|error| {
        Fault::new(format!("cannot have queue {queue} of the interface `{interface}`: {error}"))
    })
}

impl App for XdpSocket {
    fn new(config: XdpSocketConfig, _: &mut Start) -> Result<XdpSocket, Fault> {
        Ok(XdpSocket { device: open(&config)?, config })
    }

    fn can_take(&self, config: &XdpSocketConfig) -> Result<(), Fault> {
        let XdpSocketConfig { interface, queue } = &self.config;
        if (&config.interface, &config.queue) == (interface, queue) {
            return Ok(());
        }
        match Xdp::open(&config.interface, config.queue) {
            // Another app of the graph may have it, and give it away with the same change.
            Err(Error::System(error)) if error.kind() == std::io::ErrorKind::ResourceBusy => Ok(()),
            Err(_) => open(config).map(drop),
            Ok(_) => Ok(()),
        }
    }

    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        let device = &mut self.device;
        let room = io.room(0).min(BURST);
        let count = device.receive(room, &mut |frame, arrival| send(io, frame, arrival));
        let count = count.map_err(|error| fault(&error))?;
        if device.is_sending() {
            // It was busy when it was to send.
            device.finish_sending().map_err(|error| fault(&error))?;
            return Ok(Progress::Poll);
        }
        Ok(if count == 0 && room > 0 { Progress::Asleep } else { Progress::Ready })
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        let device = &mut self.device;
        transmit(io, &[], |frames| device.send(frames).map_err(|error| fault(&error)))
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.device.as_fd().as_raw_fd())
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        vec![("kernel_drops", self.device.kernel_drops())]
    }
}
