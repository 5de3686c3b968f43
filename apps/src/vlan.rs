//! VLAN tags (IEEE 802.1Q) on and off.

use tidemill_packet::app::{App, Fault, Io, Start, Wrong};

use crate::net::{add_vlan, remove_vlan};

tidemill_packet::declare! {
    /// Puts a VLAN tag on each frame. Frames without addresses are dropped as `too_short`.
    app VlanTag {
        config VlanTagConfig {
            /// The tag, 1 to 4094.
            tag: u16,
        }
        ports {
            /// Frames without the tag.
            input: Input(Either, One),
            /// Frames with the tag.
            output: Output(Either, One),
        }
        traits { passes }
    }
}

tidemill_packet::declare! {
    /// Takes a VLAN tag off each frame. Frames with another tag or none are dropped as `other_tag`.
    app VlanUntag {
        config VlanUntagConfig {
            /// The tag, 1 to 4094.
            tag: u16,
        }
        ports {
            /// Frames with the tag.
            input: Input(Either, One),
            /// Frames without the tag.
            output: Output(Either, One),
        }
        traits { passes }
    }
}

/// See [`VlanTag::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct VlanTag {
    tag: u16,
}

/// See [`VlanUntag::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct VlanUntag {
    tag: u16,
}

fn check(tag: u16) -> Result<(), Wrong> {
    match tag {
        1..=4094 => Ok(()),
        _ => Err(Wrong::new("tag", "a VLAN tag is between 1 and 4094")),
    }
}

impl App for VlanTag {
    fn validate(config: &VlanTagConfig) -> Result<(), Wrong> {
        check(config.tag)
    }

    fn new(config: VlanTagConfig, _: &mut Start) -> Result<VlanTag, Fault> {
        Ok(VlanTag { tag: config.tag })
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        while let Some(mut packet) = io.receive(0) {
            match add_vlan(&mut packet, self.tag) {
                true => io.send(0, packet),
                false => io.drop(packet, "too_short"),
            }
        }
        Ok(())
    }
}

impl App for VlanUntag {
    fn validate(config: &VlanUntagConfig) -> Result<(), Wrong> {
        check(config.tag)
    }

    fn new(config: VlanUntagConfig, _: &mut Start) -> Result<VlanUntag, Fault> {
        Ok(VlanUntag { tag: config.tag })
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        while let Some(mut packet) = io.receive(0) {
            match crate::net::vlan_of(packet.bytes()) {
                Some(tag) if tag == self.tag => {
                    remove_vlan(&mut packet);
                    io.send(0, packet);
                }
                _ => io.drop(packet, "other_tag"),
            }
        }
        Ok(())
    }
}
