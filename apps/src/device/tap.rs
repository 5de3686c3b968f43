//! Frames to and from the kernel through a TAP device.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};

use tidemill_packet::app::{App, Fault, Io, Progress, Start};
use tidemill_packet::packet::BYTES_MAX;
use tidemill_pore::{Error, packet::tap};

use super::burst;

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

/// See [`Tap::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Tap {
    /// Each read and write is a frame.
    file: File,
    buffer: Vec<u8>,
    name: String,
}

fn no_device(name: &str, error: &Error) -> Fault {
    Fault::new(format!("cannot have the device `{name}`: {error}"))
}

/// Whether another app or process has the device.
fn is_busy(error: &Error) -> bool {
    matches!(error, Error::System(error) if error.kind() == std::io::ErrorKind::ResourceBusy)
}

impl App for Tap {
    fn new(config: TapConfig, _: &mut Start) -> Result<Tap, Fault> {
        let file = tap::device(&config.name).map_err(|error| no_device(&config.name, &error))?;
        // Enough to see that a frame is longer than the greatest packet.
        Ok(Tap { file, buffer: vec![0; BYTES_MAX + 1], name: config.name })
    }

    fn can_take(&self, config: &TapConfig) -> Result<(), Fault> {
        if config.name == self.name {
            return Ok(());
        }
        match tap::device(&config.name) {
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
        // The drops of the device are those of this app.
        let path = format!("/sys/class/net/{}/statistics/tx_dropped", self.name);
        let count = std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok());
        vec![("kernel_drops", count.unwrap_or(0))]
    }
}
