//! The end of all packets.

use tidemill_packet::app::{App, Fault, Io, Start};

tidemill_packet::declare! {
    /// Takes packets and frees them.
    app Sink {
        config SinkConfig {}
        ports {
            /// What ends here.
            input: Input(Push, Many),
        }
        traits {}
    }
}

/// See [`Sink::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Sink {
    packets: u64,
    bytes: u64,
}

impl App for Sink {
    fn new(_: SinkConfig, _: &mut Start) -> Result<Sink, Fault> {
        Ok(Sink { packets: 0, bytes: 0 })
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        for input in 0..io.inputs() {
            while let Some(packet) = io.receive(input) {
                self.packets += 1;
                self.bytes += packet.len() as u64;
            }
        }
        Ok(())
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        vec![("taken_packets", self.packets), ("taken_bytes", self.bytes)]
    }
}
