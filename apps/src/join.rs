//! Several ways become one.

use tidemill_packet::app::{App, Fault, Io, Start};

tidemill_packet::declare! {
    /// Sends the packets of all inputs on, in the order of the inputs.
    app Join {
        config JoinConfig {}
        ports {
            /// What comes together.
            input: Input(Either, Many),
            /// All of it.
            output: Output(Either, One),
        }
        traits { passes }
    }
}

/// See [`Join::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Join;

impl App for Join {
    fn new(_: JoinConfig, _: &mut Start) -> Result<Join, Fault> {
        Ok(Join)
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        for input in 0..io.inputs() {
            while let Some(packet) = io.receive(input) {
                io.send(0, packet);
            }
        }
        Ok(())
    }
}
