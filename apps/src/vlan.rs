//! VLAN tags (IEEE 802.1Q) on and off.

use tidemill_packet::app::{App, ConfigError, Fault, Io, Reconfigured, Start};
use tidemill_packet::kernel::{Builder, Operator, Running, Width};

use crate::code;
use crate::net::{ETHERNET, TYPE_VLAN};

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
        traits { passes, kernel }
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
        traits { passes, kernel }
    }
}

/// See [`VlanTag::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct VlanTag(Running);

/// See [`VlanUntag::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct VlanUntag(Running);

fn check(tag: u16) -> Result<(), ConfigError> {
    match tag {
        1..=4094 => Ok(()),
        _ => Err(ConfigError::new("tag", "a VLAN tag is between 1 and 4094")),
    }
}

impl VlanTag {
    fn running(config: VlanTagConfig) -> Result<Running, Fault> {
        let mut kernel = Builder::new("VlanTag");
        let too_short = kernel.reason("too_short");
        kernel.need(ETHERNET as u32, too_short);
        kernel.prepend(4, too_short);
        // Both addresses move to the front, and the tag follows them.
        let (first, second) = (kernel.load(Width::W64, 4), kernel.load(Width::W32, 12));
        kernel.store(Width::W64, 0, first);
        kernel.store(Width::W32, 8, second);
        let tag = kernel.constant(u64::from(TYPE_VLAN) << 16 | u64::from(config.tag));
        kernel.store(Width::W32, 12, tag);
        kernel.emit(0);
        code::running(kernel)
    }
}

impl App for VlanTag {
    fn validate(config: &VlanTagConfig) -> Result<(), ConfigError> {
        check(config.tag)
    }

    fn new(config: VlanTagConfig, _: &mut Start) -> Result<VlanTag, Fault> {
        VlanTag::running(config).map(VlanTag)
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        self.0.push(io);
        Ok(())
    }

    fn kernel(&self) -> Option<&Running> {
        Some(&self.0)
    }

    fn reconfigure(&mut self, config: VlanTagConfig) -> Reconfigured {
        code::follow(&mut self.0, VlanTag::running(config))
    }
}

impl VlanUntag {
    fn running(config: VlanUntagConfig) -> Result<Running, Fault> {
        let mut kernel = Builder::new("VlanUntag");
        let other_tag = kernel.reason("other_tag");
        let (tagged, other) = (kernel.block(), kernel.block());
        kernel.need(ETHERNET as u32 + 4, other_tag);
        let found = kernel.load(Width::W32, 12);
        // All but priority and the bit beside it.
        let mask = kernel.constant(0xffff_0fff);
        let found = kernel.binary(Operator::And, found, mask);
        let tag = kernel.constant(u64::from(TYPE_VLAN) << 16 | u64::from(config.tag));
        let is_it = kernel.binary(Operator::Eq, found, tag);
        kernel.branch(is_it, tagged, other);
        kernel.at(tagged);
        let (first, second) = (kernel.load(Width::W64, 0), kernel.load(Width::W32, 8));
        kernel.strip(4);
        kernel.store(Width::W64, 0, first);
        kernel.store(Width::W32, 8, second);
        kernel.emit(0);
        kernel.at(other);
        kernel.drop(other_tag);
        code::running(kernel)
    }
}

impl App for VlanUntag {
    fn validate(config: &VlanUntagConfig) -> Result<(), ConfigError> {
        check(config.tag)
    }

    fn new(config: VlanUntagConfig, _: &mut Start) -> Result<VlanUntag, Fault> {
        VlanUntag::running(config).map(VlanUntag)
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        self.0.push(io);
        Ok(())
    }

    fn kernel(&self) -> Option<&Running> {
        Some(&self.0)
    }

    fn reconfigure(&mut self, config: VlanUntagConfig) -> Reconfigured {
        code::follow(&mut self.0, VlanUntag::running(config))
    }
}
