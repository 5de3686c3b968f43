//! Packets into a capture.

use std::fs::{File, OpenOptions};
use std::io::BufWriter;

use tidemill_packet::Packet;
use tidemill_packet::app::{App, ConfigError, Fault, Io, Start};

use crate::capture::{Format, Writer};

tidemill_packet::declare! {
    /// Writes packets to a capture, with their capture time, or else their arrival time, and their
    /// length on the wire.
    app PcapWriter {
        config PcapWriterConfig {
            /// The capture; what was there before is replaced.
            file: String,
            /// `pcap` or `pcapng`.
            format: String = "pcap".to_owned(),
        }
        ports {
            /// What is written.
            input: Input(Push, Many),
        }
        traits { exclusive }
    }
}

/// See [`PcapWriter::declaration`](tidemill_packet::app::Declared::declaration).
pub struct PcapWriter {
    capture: Capture,
    file: String,
}

/// A capture that an app writes.
pub(crate) struct Capture {
    writer: Writer<BufWriter<File>>,
}

/// The format of a name.
pub(crate) fn format(name: &str) -> Result<Format, ConfigError> {
    match name {
        "pcap" => Ok(Format::Pcap),
        "pcapng" => Ok(Format::Pcapng),
        _ => Err(ConfigError::new("format", "the formats are \"pcap\" and \"pcapng\"")),
    }
}

impl Capture {
    pub(crate) fn create(file: &str, name: &str) -> Result<Capture, Fault> {
        let fault = |error: std::io::Error| Fault::new(format!("cannot write `{file}`: {error}"));
        let format = format(name).map_err(|error| Fault::new(error.message))?;
        let output = BufWriter::new(File::create(file).map_err(fault)?);
        let mut writer = Writer::new(output, format).map_err(fault)?;
        writer.flush().map_err(fault)?;
        Ok(Capture { writer })
    }

    /// Whether a file can be written. Its contents are kept: another app may still be writing it.
    pub(crate) fn can_create(file: &str) -> Result<(), Fault> {
        let fault = |error: std::io::Error| Fault::new(format!("cannot write `{file}`: {error}"));
        let is_new = std::fs::symlink_metadata(file).is_err();
        OpenOptions::new().write(true).create(true).truncate(false).open(file).map_err(fault)?;
        if is_new { std::fs::remove_file(file).map_err(fault) } else { Ok(()) }
    }

    pub(crate) fn write(&mut self, packet: &Packet, io: &Io) -> Result<(), Fault> {
        let time_ns = packet.time_ns().unwrap_or_else(|| io.wall_ns());
        let length = u32::try_from(packet.wire_len()).unwrap_or(u32::MAX);
        Ok(self.writer.write(time_ns, packet.bytes(), length)?)
    }

    /// At the end of each push, so that others see whole packets soon.
    pub(crate) fn flush(&mut self) -> Result<(), Fault> {
        Ok(self.writer.flush()?)
    }
}

impl App for PcapWriter {
    fn validate(config: &PcapWriterConfig) -> Result<(), ConfigError> {
        format(&config.format).map(|_| ())
    }

    fn new(config: PcapWriterConfig, _: &mut Start) -> Result<PcapWriter, Fault> {
        let capture = Capture::create(&config.file, &config.format)?;
        Ok(PcapWriter { capture, file: config.file })
    }

    fn can_take(&self, config: &PcapWriterConfig) -> Result<(), Fault> {
        if config.file == self.file { Ok(()) } else { Capture::can_create(&config.file) }
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        for input in 0..io.inputs() {
            while let Some(packet) = io.receive(input) {
                self.capture.write(&packet, io)?;
            }
        }
        self.capture.flush()
    }
}
