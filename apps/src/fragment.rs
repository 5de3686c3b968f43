//! IPv4 fragments (RFC 791), made.

use tidemill_packet::Packet;
use tidemill_packet::app::{App, ConfigError, Fault, Io, Reconfigured, Start};

use crate::net::{Ipv4, checksum, ipv4};

tidemill_packet::declare! {
    /// Cuts IPv4 packets that are longer than the link allows into fragments.
    ///
    /// Packets that must not be cut are dropped as `dont_fragment`. Options of the header are in
    /// the first fragment, those marked as copied in all. What is not IPv4, and what has a VLAN
    /// tag, passes, whatever its length.
    app Fragment {
        config FragmentConfig {
            /// Bytes of an IPv4 packet at most, its header included: 68 at least.
            mtu: u16 = 1500,
        }
        ports {
            /// Packets of any length.
            input: Input(Either, One),
            /// Packets that fit.
            output: Output(Either, One),
        }
        traits { passes }
    }
}

/// See [`Fragment::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Fragment {
    mtu: usize,
    cut: u64,
}

/// Bytes of a header without options.
const HEADER: usize = 20;

impl App for Fragment {
    fn validate(config: &FragmentConfig) -> Result<(), ConfigError> {
        match config.mtu {
            0..68 => Err(ConfigError::new("mtu", "it must be 68 at least")),
            _ => Ok(()),
        }
    }

    fn new(config: FragmentConfig, _: &mut Start) -> Result<Fragment, Fault> {
        Ok(Fragment { mtu: config.mtu.into(), cut: 0 })
    }

    fn reconfigure(&mut self, config: FragmentConfig) -> Reconfigured {
        self.mtu = config.mtu.into();
        Reconfigured::Kept
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        while let Some(packet) = io.receive(0) {
            match ipv4(packet.bytes()) {
                Some(ip) if ip.total > self.mtu && ip.dont_fragment => {
                    io.drop(packet, "dont_fragment");
                }
                Some(ip) if ip.total > self.mtu => self.cut(io, &packet, &ip),
                _ => io.send(0, packet),
            }
        }
        Ok(())
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        vec![("cut", self.cut)]
    }
}

impl Fragment {
    fn cut(&mut self, io: &mut Io, packet: &Packet, ip: &Ipv4) {
        self.cut += 1;
        let frame = packet.bytes();
        let payload = &frame[ip.payload()..ip.end()];
        let (fixed, options) = frame[..ip.payload()].split_at(ip.start + HEADER);
        let copied = copied(options);
        let mut at = 0;
        while at < payload.len() {
            let options = if at == 0 { options } else { &copied[..] };
            let room = (self.mtu - HEADER - options.len()) / 8 * 8;
            let length = room.min(payload.len() - at);
            let is_last = at + length == payload.len();
            let mut fragment = [fixed, options].concat();
            let place = ((ip.offset + at) / 8) as u16;
            let flags = if is_last && !ip.more { 0 } else { 0x2000 };
            finish(&mut fragment[ip.start..], length, place | flags);
            fragment.extend_from_slice(&payload[at..at + length]);
            at += length;
            let Some(mut new) = io.packet_of(&fragment) else { continue };
            new.set_time_ns(packet.time_ns());
            new.set_mark(packet.mark());
            io.send(0, new);
        }
    }
}

/// The options that all fragments have: those with the highest bit, in whole words. What follows an
/// option without a length is left out.
fn copied(options: &[u8]) -> Vec<u8> {
    const END: u8 = 0;
    const NOTHING: u8 = 1;
    const COPIED: u8 = 0x80;
    let (mut kept, mut rest) = (Vec::new(), options);
    while let [kind, after @ ..] = rest {
        match *kind {
            END => break,
            NOTHING => rest = after,
            _ => {
                let length = usize::from(after.first().copied().unwrap_or(0));
                let Some(option) = rest.get(..length).filter(|_| length > 1) else { break };
                if kind & COPIED != 0 {
                    kept.extend_from_slice(option);
                }
                rest = &rest[length..];
            }
        }
    }
    kept.resize(kept.len().next_multiple_of(4), END);
    kept
}

/// Completes a header: its length, that of the packet, flags and offset, checksum.
pub(crate) fn finish(header: &mut [u8], payload: usize, flags: u16) {
    let words = header.len() / 4;
    header[0] = 0x40 | words as u8;
    let total = (header.len() + payload) as u16;
    header[2..4].copy_from_slice(&total.to_be_bytes());
    header[6..8].copy_from_slice(&flags.to_be_bytes());
    header[10..12].fill(0);
    let sum = checksum(header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}
