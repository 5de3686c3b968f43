//! Packets of a length.

use tidemill_packet::app::{App, Fault, Io, Reconfigured, Start};

tidemill_packet::declare! {
    /// Cuts the end off packets that are longer than a length.
    app Truncate {
        config TruncateConfig {
            /// Bytes that are left of a packet at most.
            length: u16,
        }
        ports {
            /// What is cut.
            input: Input(Either, One),
            /// What is left.
            output: Output(Either, One),
        }
        traits { passes }
    }
}

/// See [`Truncate::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Truncate {
    length: usize,
}

impl App for Truncate {
    fn new(config: TruncateConfig, _: &mut Start) -> Result<Truncate, Fault> {
        Ok(Truncate { length: config.length.into() })
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        while let Some(mut packet) = io.receive(0) {
            let length = packet.len().min(self.length);
            packet.resize(length)?;
            io.send(0, packet);
        }
        Ok(())
    }

    fn reconfigure(&mut self, config: TruncateConfig) -> Reconfigured {
        self.length = config.length.into();
        Reconfigured::Kept
    }
}
