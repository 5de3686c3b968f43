//! Apps that replace those of system devices in a simulation.

use tidemill_apps::pcap_reader::{PcapReader, PcapReaderConfig};
use tidemill_packet::app::{App, Fault, Io, Progress, Reconfigured, Start};

tidemill_packet::declare! {
    /// A place at a link of a simulation. What it does is done by the machine, which has the
    /// network (`borders/devices`).
    app SimulatedDevice {
        config SimulatedDeviceConfig {}
        ports {
            /// Frames to the link.
            input: Input(Pull, Optional),
            /// Frames from the link.
            output: Output(Push, Optional),
        }
        traits { pulls }
    }
}

tidemill_packet::declare! {
    /// Brings the frames of a capture, as `PcapReader` does, and takes frames, which `sent` counts.
    app SimulatedCapture {
        config SimulatedCaptureConfig {
            /// The capture.
            file: String,
        }
        ports {
            /// Frames that go nowhere.
            input: Input(Pull, Optional),
            /// The frames of the capture.
            output: Output(Push, Optional),
        }
        traits { pulls, begins }
    }
}

/// See [`SimulatedDevice::declaration`](tidemill_packet::app::Declared::declaration).
pub struct SimulatedDevice;

impl App for SimulatedDevice {
    fn new(_: SimulatedDeviceConfig, _: &mut Start) -> Result<SimulatedDevice, Fault> {
        Ok(SimulatedDevice)
    }

    fn reconfigure(&mut self, _: SimulatedDeviceConfig) -> Reconfigured {
        Reconfigured::Kept
    }

    fn pull(&mut self, _: &mut Io) -> Result<Progress, Fault> {
        Ok(Progress::Asleep)
    }
}

/// See [`SimulatedCapture::declaration`](tidemill_packet::app::Declared::declaration).
pub struct SimulatedCapture {
    capture: PcapReader,
    sent: u64,
}

impl App for SimulatedCapture {
    fn new(config: SimulatedCaptureConfig, start: &mut Start) -> Result<SimulatedCapture, Fault> {
        let capture = PcapReader::new(PcapReaderConfig { file: config.file, times: 1 }, start)?;
        Ok(SimulatedCapture { capture, sent: 0 })
    }

    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        if io.inputs() > 0 {
            while let Some(packet) = io.receive(0) {
                drop(packet);
                self.sent += 1;
            }
        }
        match io.outputs() {
            0 => Ok(Progress::Asleep),
            _ => self.capture.pull(io),
        }
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        let mut counts = self.capture.report();
        counts.push(("sent", self.sent));
        counts
    }
}
