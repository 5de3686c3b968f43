//! Packets of a length.

use tidemill_packet::app::{App, Fault, Io, Reconfigured, Start};
use tidemill_packet::kernel::{Builder, Expr, Operator, Running};

use crate::code;

tidemill_packet::declare! {
    /// Cuts the end off packets that are longer than a length, which `cut` counts.
    ///
    /// How long they were on the wire is not forgotten: filters and captures still know it.
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
        traits { passes, kernel }
    }
}

/// See [`Truncate::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Truncate(Running);

impl App for Truncate {
    fn new(config: TruncateConfig, _: &mut Start) -> Result<Truncate, Fault> {
        let mut kernel = Builder::new("Truncate");
        let length = kernel.state("length", config.length.into());
        let cut = kernel.counter("cut");
        let (length, before) = (kernel.word(length), kernel.value(Expr::Length));
        let is_longer = kernel.binary(Operator::Lt, length, before);
        kernel.count(cut, is_longer);
        kernel.truncate(length);
        kernel.emit(0);
        Ok(Truncate(code::running(kernel)?))
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        self.0.push(io);
        Ok(())
    }

    fn kernel(&self) -> Option<&Running> {
        Some(&self.0)
    }

    fn reconfigure(&mut self, config: TruncateConfig) -> Reconfigured {
        self.0.set_word("length", config.length.into());
        Reconfigured::Kept
    }
}
