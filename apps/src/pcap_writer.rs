//! Packets into a capture.

use tidemill_packet::app::{App, ConfigError, Fault, Io, Start};

use crate::capture::SNAP_MAX;
use crate::written::{Capture, Target};

tidemill_packet::declare! {
    /// Writes packets to a capture, with their capture time, or else their arrival time, and their
    /// length on the wire.
    ///
    /// With `rotate_bytes` or `rotate` there are several files: `out-00001.pcap`, `out-00002.pcap`
    /// and so on for `out.pcap`. Several workers write one capture: packets of a flow are in their
    /// order, those of different workers may not be.
    app PcapWriter {
        config PcapWriterConfig {
            /// The capture; what was there before is replaced.
            file: String,
            /// `pcap` or `pcapng`; without it `pcapng` for a file whose name ends so, else `pcap`.
            format: String = String::new(),
            /// The bytes of each packet that are kept.
            snap: u32 = SNAP_MAX,
            /// The bytes of a file, which only a single packet may exceed; 0: no limit.
            rotate_bytes: u64 = 0,
            /// The seconds from the first packet of a file to the first of the next; 0: no limit.
            rotate: u32 = 0,
            /// The newest files that are kept, older ones are removed; 0: all.
            files: u32 = 0,
        }
        ports {
            /// What is written.
            input: Input(Push, Many),
        }
        traits { exclusive, divides }
    }
}

/// See [`PcapWriter::declaration`](tidemill_packet::app::Declared::declaration).
pub struct PcapWriter(Capture);

fn target(config: &PcapWriterConfig) -> Target {
    let PcapWriterConfig { file, format, snap, rotate_bytes, rotate, files } = config.clone();
    Target { file, format, snap, rotate_bytes, rotate, files }
}

impl App for PcapWriter {
    fn validate(config: &PcapWriterConfig) -> Result<(), ConfigError> {
        target(config).validate()
    }

    fn new(config: PcapWriterConfig, start: &mut Start) -> Result<PcapWriter, Fault> {
        Capture::create(target(&config), start.fanout()).map(PcapWriter)
    }

    fn can_take(&self, config: &PcapWriterConfig) -> Result<(), Fault> {
        target(config).can_follow(self.0.target())
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        let mut files = self.0.files();
        for input in 0..io.inputs() {
            while let Some(packet) = io.receive(input) {
                files.write(&packet, io)?;
            }
        }
        files.flush()
    }
}
