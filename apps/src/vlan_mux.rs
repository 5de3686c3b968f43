//! Many VLANs on one trunk.

use tidemill_packet::app::{App, Fault, Io, Ports, Start};

use crate::net::{add_vlan, remove_vlan, vlan_of};

tidemill_packet::declare! {
    /// Joins a trunk of tagged frames with a port for each VLAN.
    ///
    /// A port `vlan42` has the frames of tag 42, without the tag; a port `native` has those that
    /// have no tag on the trunk. Other names are faults. Frames of VLANs without a port are dropped
    /// as `no_vlan`.
    app VlanMux {
        config VlanMuxConfig {}
        ports {
            /// Tagged frames in.
            trunk: Input(Push, One),
            /// Frames of a VLAN in.
            vlan: Input(Push, Many),
            /// Tagged frames out.
            trunk: Output(Push, One),
            /// Frames of a VLAN out.
            vlan: Output(Push, Many),
        }
        traits {}
    }
}

/// See [`VlanMux::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct VlanMux {
    /// Tags of the inputs and outputs; 0 for native, nothing for the trunk and for wrong names.
    inputs: Vec<Option<u16>>,
    outputs: Vec<Option<u16>>,
    invalid_port: Option<String>,
}

fn tag_of(port: &str) -> Option<u16> {
    if port == "native" {
        return Some(0);
    }
    port.strip_prefix("vlan")?.parse().ok().filter(|tag| (1..=4094).contains(tag))
}

impl App for VlanMux {
    fn new(_: VlanMuxConfig, _: &mut Start) -> Result<VlanMux, Fault> {
        Ok(VlanMux { inputs: Vec::new(), outputs: Vec::new(), invalid_port: None })
    }

    fn linked(&mut self, ports: &Ports<'_>) {
        let tags = |names: &[String]| names.iter().map(|name| tag_of(name)).collect();
        (self.inputs, self.outputs) = (tags(ports.inputs), tags(ports.outputs));
        let mut names = ports.inputs.iter().skip(1).chain(ports.outputs.iter().skip(1));
        self.invalid_port = names.find(|name| tag_of(name).is_none()).cloned();
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        if let Some(name) = &self.invalid_port {
            let message = format!("port `{name}` is neither `native` nor of the kind `vlan42`");
            return Err(Fault::new(message));
        }
        while let Some(mut packet) = io.receive(0) {
            let tag = vlan_of(packet.bytes()).unwrap_or(0);
            match self.outputs.iter().position(|own| *own == Some(tag)) {
                Some(output) => {
                    if tag != 0 {
                        remove_vlan(&mut packet);
                    }
                    io.send(output, packet);
                }
                None => io.drop(packet, "no_vlan"),
            }
        }
        for input in 1..io.inputs() {
            let tag = self.inputs.get(input).copied().flatten().unwrap_or(0);
            while let Some(mut packet) = io.receive(input) {
                if tag == 0 || add_vlan(&mut packet, tag) {
                    io.send(0, packet)
                } else {
                    io.drop(packet, "too_short")
                }
            }
        }
        Ok(())
    }
}
