//! A bridge without a table of addresses.

use tidemill_packet::app::{App, Fault, Io, Ports, Start};

tidemill_packet::declare! {
    /// Sends each frame to all ports but the one it came from. An input and an output of one name
    /// are one port.
    app FloodingBridge {
        config FloodingBridgeConfig {}
        ports {
            /// Frames from a port.
            port: Input(Push, Many),
            /// Frames to a port.
            port: Output(Push, Many),
        }
        traits {}
    }
}

/// See [`FloodingBridge::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct FloodingBridge {
    /// For each input the output of its name.
    own: Vec<Option<usize>>,
}

/// For each input the output of its name.
pub(crate) fn pairs(ports: &Ports<'_>) -> Vec<Option<usize>> {
    let output = |name: &String| ports.outputs.iter().position(|other| other == name);
    ports.inputs.iter().map(output).collect()
}

/// Sends a packet to all outputs but one.
pub(crate) fn flood(io: &mut Io, packet: tidemill_packet::Packet, but: Option<usize>) {
    let mut outputs = (0..io.outputs()).filter(|output| Some(*output) != but);
    let Some(mut output) = outputs.next() else { return io.drop(packet, "nowhere_to_go") };
    for next in outputs {
        if let Some(copy) = io.duplicate(&packet) {
            io.send(output, copy);
        }
        output = next;
    }
    io.send(output, packet);
}

impl App for FloodingBridge {
    fn new(_: FloodingBridgeConfig, _: &mut Start) -> Result<FloodingBridge, Fault> {
        Ok(FloodingBridge { own: Vec::new() })
    }

    fn linked(&mut self, ports: &Ports<'_>) {
        self.own = pairs(ports);
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        for input in 0..io.inputs() {
            let own = self.own.get(input).copied().flatten();
            while let Some(packet) = io.receive(input) {
                flood(io, packet, own);
            }
        }
        Ok(())
    }
}
