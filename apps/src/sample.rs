//! One of many packets.

use tidemill_packet::app::{App, Fault, Io, Reconfigured, Start, Wrong};

tidemill_packet::declare! {
    /// Lets one packet of every so many through, beginning with the first.
    app Sample {
        config SampleConfig {
            /// Of how many packets one goes on.
            every: u64,
        }
        ports {
            /// All packets.
            input: Input(Either, One),
            /// The chosen ones.
            output: Output(Either, One),
            /// The others; without a link they are dropped as `not_sampled`.
            rest: Output(Either, Optional),
        }
        traits { passes }
    }
}

/// See [`Sample::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Sample {
    every: u64,
    seen: u64,
}

impl App for Sample {
    fn validate(config: &SampleConfig) -> Result<(), Wrong> {
        if config.every == 0 {
            return Err(Wrong::new("every", "it must be 1 at least"));
        }
        Ok(())
    }

    fn new(config: SampleConfig, _: &mut Start) -> Result<Sample, Fault> {
        Ok(Sample { every: config.every, seen: 0 })
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        while let Some(packet) = io.receive(0) {
            let is_chosen = self.seen.is_multiple_of(self.every);
            self.seen += 1;
            match (is_chosen, io.is_linked(1)) {
                (true, _) => io.send(0, packet),
                (false, true) => io.send(1, packet),
                (false, false) => io.drop(packet, "not_sampled"),
            }
        }
        Ok(())
    }

    fn reconfigure(&mut self, config: SampleConfig) -> Reconfigured {
        self.every = config.every;
        Reconfigured::Kept
    }
}
