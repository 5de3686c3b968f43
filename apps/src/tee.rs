//! One way becomes several.

use tidemill_packet::app::{App, Fault, Io, Start};
use tidemill_packet::kernel::{Builder, Running};

use crate::code;

tidemill_packet::declare! {
    /// Gives each output a copy of each packet.
    app Tee {
        config TeeConfig {}
        ports {
            /// What is copied.
            input: Input(Either, One),
            /// The copies; the last output gets the packet itself.
            output: Output(Either, Many),
        }
        traits { passes, kernel }
    }
}

/// See [`Tee::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Tee(Running);

impl App for Tee {
    fn new(_: TeeConfig, _: &mut Start) -> Result<Tee, Fault> {
        let mut kernel = Builder::new("Tee");
        kernel.emit_all();
        Ok(Tee(code::running(kernel)?))
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        self.0.push(io);
        Ok(())
    }

    fn kernel(&self) -> Option<&Running> {
        Some(&self.0)
    }
}
