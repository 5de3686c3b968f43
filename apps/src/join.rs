//! Several ways become one.

use tidemill_packet::app::{App, Fault, Io, Start};
use tidemill_packet::kernel::{Builder, Running};

use crate::code;

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
        traits { passes, kernel }
    }
}

/// See [`Join::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Join(Running);

impl App for Join {
    fn new(_: JoinConfig, _: &mut Start) -> Result<Join, Fault> {
        let mut kernel = Builder::new("Join");
        kernel.emit(0);
        Ok(Join(code::running(kernel)?))
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        self.0.push(io);
        Ok(())
    }

    fn kernel(&self) -> Option<&Running> {
        Some(&self.0)
    }
}
