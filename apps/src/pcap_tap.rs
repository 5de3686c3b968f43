//! A capture of passing packets.

use tidemill_packet::app::{App, ConfigError, Fault, Io, Reconfigured, Start};

use crate::pcap_writer::{Capture, format};

tidemill_packet::declare! {
    /// Writes the packets that pass to a capture: all, or every Nth.
    app PcapTap {
        config PcapTapConfig {
            /// The capture; what was there before is replaced.
            file: String,
            /// `pcap` or `pcapng`.
            format: String = "pcap".to_owned(),
            /// N: of 10, one packet in 10 is written.
            every: u64 = 1,
        }
        ports {
            /// What passes.
            input: Input(Either, One),
            /// The same.
            output: Output(Either, One),
        }
        traits { passes, exclusive }
    }
}

/// See [`PcapTap::declaration`](tidemill_packet::app::Declared::declaration).
pub struct PcapTap {
    capture: Capture,
    /// The capture and its format.
    target: (String, String),
    every: u64,
    seen: u64,
}

impl App for PcapTap {
    fn validate(config: &PcapTapConfig) -> Result<(), ConfigError> {
        match config.every {
            0 => Err(ConfigError::new("every", "it must be 1 at least")),
            _ => format(&config.format).map(|_| ()),
        }
    }

    fn new(config: PcapTapConfig, _: &mut Start) -> Result<PcapTap, Fault> {
        let capture = Capture::create(&config.file, &config.format)?;
        let target = (config.file, config.format);
        Ok(PcapTap { capture, target, every: config.every, seen: 0 })
    }

    fn can_take(&self, config: &PcapTapConfig) -> Result<(), Fault> {
        if config.file == self.target.0 { Ok(()) } else { Capture::can_create(&config.file) }
    }

    /// The capture continues, unless it is another one.
    fn reconfigure(&mut self, config: PcapTapConfig) -> Reconfigured {
        let target = (config.file, config.format);
        if target != self.target {
            let Ok(capture) = Capture::create(&target.0, &target.1) else {
                return Reconfigured::Restart;
            };
            (self.capture, self.target) = (capture, target);
        }
        self.every = config.every;
        Reconfigured::Kept
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        while let Some(packet) = io.receive(0) {
            if self.seen.is_multiple_of(self.every) {
                self.capture.write(&packet, io)?;
            }
            self.seen += 1;
            io.send(0, packet);
        }
        self.capture.flush()
    }
}
