//! One of many packets.

use tidemill_packet::app::{App, ConfigError, Fault, Io, Reconfigured, Start};
use tidemill_packet::kernel::{Builder, Expr, Operator, Running};

use crate::code;

tidemill_packet::declare! {
    /// Passes every Nth packet, beginning with the first.
    app Sample {
        config SampleConfig {
            /// N: of 10, one packet in 10 goes on.
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
        traits { passes, kernel }
    }
}

/// See [`Sample::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Sample(Running);

impl App for Sample {
    fn validate(config: &SampleConfig) -> Result<(), ConfigError> {
        if config.every == 0 {
            return Err(ConfigError::new("every", "it must be 1 at least"));
        }
        Ok(())
    }

    fn new(config: SampleConfig, _: &mut Start) -> Result<Sample, Fault> {
        let mut kernel = Builder::new("Sample");
        let (every, seen) = (kernel.state("every", config.every), kernel.state("seen", 0));
        let not_sampled = kernel.reason("not_sampled");
        let [chosen, other, rest, none] = [(); 4].map(|()| kernel.block());
        let count = kernel.word(seen);
        let every = kernel.word(every);
        let turn = kernel.binary(Operator::Rem, count, every);
        let one = kernel.constant(1);
        kernel.count(seen, one);
        kernel.branch(turn, other, chosen);
        kernel.at(chosen);
        kernel.emit(0);
        kernel.at(other);
        let linked = kernel.value(Expr::Linked(1));
        kernel.branch(linked, rest, none);
        kernel.at(rest);
        kernel.emit(1);
        kernel.at(none);
        kernel.drop(not_sampled);
        Ok(Sample(code::running(kernel)?))
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        self.0.push(io);
        Ok(())
    }

    fn kernel(&self) -> Option<&Running> {
        Some(&self.0)
    }

    fn reconfigure(&mut self, config: SampleConfig) -> Reconfigured {
        self.0.set_word("every", config.every);
        Reconfigured::Kept
    }
}
