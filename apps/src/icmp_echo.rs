//! Answers to echo requests (RFC 792).

use std::net::Ipv4Addr;

use tidemill_packet::Packet;
use tidemill_packet::app::{App, Fault, Io, Reconfigured, Start};

use crate::net::{adjust, checksum, ipv4};

tidemill_packet::declare! {
    /// Answers ICMP echo requests to its address; other packets go on.
    ///
    /// Requests with a wrong checksum, of IP or ICMP, are dropped as `bad_checksum`, and those from
    /// an address that is no host's as `bad_source` (RFC 1122). Those in fragments go on.
    app IcmpEcho {
        config IcmpEchoConfig {
            /// The address that answers.
            address: Ipv4Addr,
        }
        ports {
            /// What comes.
            input: Input(Push, One),
            /// The answers.
            reply: Output(Push, One),
            /// What is no request to this address.
            output: Output(Push, Optional),
        }
        traits {}
    }
}

/// See [`IcmpEcho::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct IcmpEcho {
    address: Ipv4Addr,
}

enum Request {
    Ours,
    Bad(&'static str),
    Other,
}

impl IcmpEcho {
    fn judge(&self, frame: &[u8]) -> Request {
        let Some(ip) = ipv4(frame) else { return Request::Other };
        let Some(icmp) = frame.get(ip.payload()..ip.end()) else { return Request::Other };
        let is_echo = icmp.len() >= 8 && icmp[..2] == [8, 0];
        if ip.destination != self.address || ip.protocol != 1 || ip.is_fragment() || !is_echo {
            return Request::Other;
        }
        // The sum over what contains its own checksum is 0.
        let header = &frame[ip.start..ip.payload()];
        if checksum(icmp) != 0 || checksum(header) != 0 {
            return Request::Bad("bad_checksum");
        }
        let from = ip.source;
        if from.is_broadcast() || from.is_multicast() || from.is_unspecified() {
            return Request::Bad("bad_source");
        }
        Request::Ours
    }
}

/// Turns a request into its answer, in place.
fn turn(packet: &mut Packet) {
    let frame = packet.bytes_mut();
    let Some(ip) = ipv4(frame) else { return };
    let (destination, source) = frame[..12].split_at_mut(6);
    destination.swap_with_slice(source);
    let addresses = ip.start + 12;
    let (from, to) = frame[addresses..addresses + 8].split_at_mut(4);
    from.swap_with_slice(to);
    // The checksum of the header stays: it has the same words. The time to live begins anew.
    let (old, at) = ([frame[ip.start + 8], ip.protocol], ip.start + 10);
    frame[ip.start + 8] = 64;
    let sum = adjust(u16::from_be_bytes([frame[at], frame[at + 1]]), &old, &[64, ip.protocol]);
    frame[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    let icmp = &mut frame[ip.payload()..ip.end()];
    icmp[0] = 0;
    let sum = adjust(u16::from_be_bytes([icmp[2], icmp[3]]), &[8, 0], &[0, 0]);
    icmp[2..4].copy_from_slice(&sum.to_be_bytes());
}

impl App for IcmpEcho {
    fn new(config: IcmpEchoConfig, _: &mut Start) -> Result<IcmpEcho, Fault> {
        Ok(IcmpEcho { address: config.address })
    }

    fn reconfigure(&mut self, config: IcmpEchoConfig) -> Reconfigured {
        self.address = config.address;
        Reconfigured::Kept
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        while let Some(mut packet) = io.receive(0) {
            match self.judge(packet.bytes()) {
                Request::Ours => {
                    turn(&mut packet);
                    io.send(0, packet);
                }
                Request::Bad(reason) => io.drop(packet, reason),
                Request::Other => io.send(1, packet),
            }
        }
        Ok(())
    }
}
