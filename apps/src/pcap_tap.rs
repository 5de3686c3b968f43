//! A capture of passing packets.

use tidemill_packet::app::{App, ConfigError, Fault, Io, Reconfigured, Start};

use crate::capture::SNAP_MAX;
use crate::written::{Capture, Target};

tidemill_packet::declare! {
    /// Writes the packets that pass to a capture: all, or every Nth.
    ///
    /// With `rotate_bytes` or `rotate` there are several files, as `PcapWriter` names them.
    app PcapTap {
        config PcapTapConfig {
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
            /// N: of 10, one packet in 10 is written.
            every: u64 = 1,
        }
        ports {
            /// What passes.
            input: Input(Either, One),
            /// The same.
            output: Output(Either, One),
        }
        traits { passes, exclusive, divides }
    }
}

/// See [`PcapTap::declaration`](tidemill_packet::app::Declared::declaration).
pub struct PcapTap {
    capture: Capture,
    every: u64,
    seen: u64,
}

fn target(config: &PcapTapConfig) -> Target {
    let PcapTapConfig { file, format, snap, rotate_bytes, rotate, files, every: _ } =
        config.clone();
    Target { file, format, snap, rotate_bytes, rotate, files }
}

impl App for PcapTap {
    fn validate(config: &PcapTapConfig) -> Result<(), ConfigError> {
        match config.every {
            0 => Err(ConfigError::new("every", "it must be 1 at least")),
            _ => target(config).validate(),
        }
    }

    fn new(config: PcapTapConfig, start: &mut Start) -> Result<PcapTap, Fault> {
        let capture = Capture::create(target(&config), start.fanout())?;
        Ok(PcapTap { capture, every: config.every, seen: 0 })
    }

    fn can_take(&self, config: &PcapTapConfig) -> Result<(), Fault> {
        target(config).can_follow(self.capture.target())
    }

    /// The capture continues, unless it is another one.
    fn reconfigure(&mut self, config: PcapTapConfig) -> Reconfigured {
        let target = target(&config);
        if target != *self.capture.target() {
            let Ok(()) = self.capture.replace(target) else { return Reconfigured::Restart };
        }
        self.every = config.every;
        Reconfigured::Kept
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        let mut files = self.capture.files();
        while let Some(packet) = io.receive(0) {
            if self.seen.is_multiple_of(self.every) {
                files.write(&packet, io)?;
            }
            self.seen += 1;
            io.send(0, packet);
        }
        files.flush()
    }
}
