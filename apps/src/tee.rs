//! One way becomes several.

use tidemill_packet::app::{App, Fault, Io, Start};

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
        traits { passes }
    }
}

/// See [`Tee::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Tee;

impl App for Tee {
    fn new(_: TeeConfig, _: &mut Start) -> Result<Tee, Fault> {
        Ok(Tee)
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        let last = io.outputs().saturating_sub(1);
        while let Some(packet) = io.receive(0) {
            for output in 0..last {
                if let Some(copy) = io.duplicate(&packet) {
                    io.send(output, copy);
                }
            }
            io.send(last, packet);
        }
        Ok(())
    }
}
