//! Packets take turns.

use tidemill_packet::app::{App, Fault, Io, Start};

tidemill_packet::declare! {
    /// Sends each packet to one of the outputs, in turn.
    app Split {
        config SplitConfig {}
        ports {
            /// What is spread.
            input: Input(Either, One),
            /// An even share each.
            output: Output(Either, Many),
        }
        traits { passes }
    }
}

/// See [`Split::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Split {
    next: usize,
}

impl App for Split {
    fn new(_: SplitConfig, _: &mut Start) -> Result<Split, Fault> {
        Ok(Split { next: 0 })
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        while let Some(packet) = io.receive(0) {
            self.next = if self.next >= io.outputs() { 0 } else { self.next };
            io.send(self.next, packet);
            self.next += 1;
        }
        Ok(())
    }
}
