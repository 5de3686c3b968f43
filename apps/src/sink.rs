//! The end of all packets.

use tidemill_packet::app::{App, Fault, Io, Start};
use tidemill_packet::kernel::{Builder, Expr, Running};

use crate::code;

tidemill_packet::declare! {
    /// Takes packets and frees them.
    app Sink {
        config SinkConfig {}
        ports {
            /// What ends here.
            input: Input(Push, Many),
        }
        traits { kernel }
    }
}

/// See [`Sink::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Sink(Running);

impl App for Sink {
    fn new(_: SinkConfig, _: &mut Start) -> Result<Sink, Fault> {
        let mut kernel = Builder::new("Sink");
        let (packets, bytes) = (kernel.counter("taken_packets"), kernel.counter("taken_bytes"));
        let one = kernel.constant(1);
        kernel.count(packets, one);
        let length = kernel.value(Expr::Length);
        kernel.count(bytes, length);
        kernel.take();
        Ok(Sink(code::running(kernel)?))
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        self.0.push(io);
        Ok(())
    }

    fn kernel(&self) -> Option<&Running> {
        Some(&self.0)
    }
}
