//! Frames to and from the kernel through a TAP device.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};

use tidemill_packet::app::{App, Fault, Io, Progress, Start};
use tidemill_packet::fanout::Fanout;
use tidemill_packet::packet::BYTES_MAX;
use tidemill_pore::Error;
use tidemill_pore::packet::tap::{self, Queues};

use super::burst;

tidemill_packet::declare! {
    /// Exchanges frames with the kernel through a TAP device, which it makes.
    ///
    /// It sleeps until there are frames. What the kernel does not take is dropped as `not_taken`;
    /// the device must be up for that. `kernel_drops` counts the frames that the kernel had no room
    /// for.
    ///
    /// Each of several workers has a queue of the device. The kernel chooses one by the flow of a
    /// frame, or the one that has sent in it last.
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
        traits { pulls, exclusive, device, divides }
    }
}

/// See [`Tap::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Tap {
    /// Each read and write is a frame.
    file: File,
    buffer: Vec<u8>,
    name: String,
    queues: Queues,
    /// The drops of the device are those of all its queues.
    is_first: bool,
}

fn no_device(name: &str, error: &Error) -> Fault {
    Fault::new(format!("cannot have the device `{name}`: {error}"))
}

/// Whether another app or process has the device.
fn is_busy(error: &Error) -> bool {
    matches!(error, Error::System(error) if error.kind() == std::io::ErrorKind::ResourceBusy)
}

fn queues(fanout: &Fanout) -> Queues {
    if fanout.is_divided() { Queues::Several } else { Queues::One }
}

impl App for Tap {
    const GAUGES: &'static [&'static str] = &["kernel_drops"];

    fn new(config: TapConfig, start: &mut Start) -> Result<Tap, Fault> {
        let queues = queues(start.fanout());
        let file =
            tap::device(&config.name, queues).map_err(|error| no_device(&config.name, &error))?;
        // Enough to see that a frame is longer than the greatest packet.
        let buffer = vec![0; BYTES_MAX + 1];
        let is_first = start.fanout().instance() == 0;
        Ok(Tap { file, buffer, name: config.name, queues, is_first })
    }

    fn can_take(&self, config: &TapConfig) -> Result<(), Fault> {
        if config.name == self.name {
            return Ok(());
        }
        match tap::device(&config.name, self.queues) {
            // Another app of the graph may have it, and give it away with the same change.
            Err(error) if is_busy(&error) => Ok(()),
            made => made.map(drop).map_err(|error| no_device(&config.name, &error)),
        }
    }

    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        let Tap { file, buffer, .. } = self;
        burst(io, buffer, |buffer| file.read(buffer))
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        while let Some(packet) = io.receive(0) {
            if self.file.write(packet.bytes()).is_err() {
                io.drop(packet, "not_taken");
            }
        }
        Ok(())
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.file.as_raw_fd())
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        if !self.is_first {
            return vec![("kernel_drops", 0)];
        }
        let path = format!("/sys/class/net/{}/statistics/tx_dropped", self.name);
        let count = std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok());
        vec![("kernel_drops", count.unwrap_or(0))]
    }
}
