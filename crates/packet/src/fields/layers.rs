//! Where the headers of a packet are. Everything in it is hostile: each length is checked before it
//! is believed.

use tidemill_stdx::internet::u16_at;

/// Tags and extension headers that are passed over, at most.
const HEADERS_MAX: usize = 8;

/// The headers of an Ethernet frame; offsets from its first byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Layers {
    /// The type after all VLAN tags.
    pub ether_type: Option<u16>,
    /// Where the outermost VLAN tag's contents are.
    pub vlan: Option<usize>,
    /// Where an ARP message for IPv4 over Ethernet begins.
    pub arp: Option<usize>,
    /// Where an IPv4 header begins, which is whole.
    pub ipv4: Option<usize>,
    /// Where an IPv6 header begins, which is whole.
    pub ipv6: Option<usize>,
    /// The protocol in IP, after extension headers.
    pub protocol: Option<u8>,
    /// Where its header begins, if this is no later fragment.
    pub transport: Option<usize>,
    /// The end of the packet by the length in IP; of other frames, the end of the frame.
    pub end: usize,
}

impl Layers {
    /// Finds the headers of a frame.
    pub fn of(frame: &[u8]) -> Layers {
        let mut layers = Layers { end: frame.len(), ..Layers::default() };
        let mut at = 12;
        for _ in 0..HEADERS_MAX {
            let Some(found) = u16_at(frame, at) else { return layers };
            at += 2;
            layers.ether_type = Some(found);
            match found {
                0x8100 | 0x88a8 | 0x9100 => {
                    layers.vlan.get_or_insert(at);
                    at += 2;
                }
                0x0800 => return layers.with_ipv4(frame, at),
                0x86dd => return layers.with_ipv6(frame, at),
                0x0806 => return layers.with_arp(frame, at),
                _ => return layers,
            }
        }
        layers
    }

    fn with_arp(mut self, frame: &[u8], at: usize) -> Layers {
        let is_of_ipv4 = frame.get(at..at + 6) == Some(&[0, 1, 8, 0, 6, 4]);
        self.arp = (is_of_ipv4 && frame.len() >= at + 28).then_some(at);
        self
    }

    fn with_ipv4(mut self, frame: &[u8], at: usize) -> Layers {
        let Some(ip) = frame.get(at..at + 20) else { return self };
        let header = usize::from(ip[0] & 15) * 4;
        let total = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
        // 0: the hardware has cut the packet into segments, and the length is that of the frame.
        let total = if total == 0 { frame.len() - at } else { total };
        if ip[0] >> 4 != 4 || header < 20 || total < header {
            return self;
        }
        self.ipv4 = Some(at);
        self.end = (at + total).min(frame.len());
        self.protocol = Some(ip[9]);
        let offset = u16::from_be_bytes([ip[6], ip[7]]) & 0x1fff;
        self.transport = (offset == 0).then_some(at + header);
        self
    }

    fn with_ipv6(mut self, frame: &[u8], at: usize) -> Layers {
        let Some(ip) = frame.get(at..at + 40).filter(|ip| ip[0] >> 4 == 6) else { return self };
        let payload = usize::from(u16::from_be_bytes([ip[4], ip[5]]));
        self.ipv6 = Some(at);
        if payload > 0 {
            self.end = (at + 40 + payload).min(frame.len());
        }
        let (mut next, mut at) = (ip[6], at + 40);
        for _ in 0..HEADERS_MAX {
            let Some(header) = frame.get(at..at + 8).filter(|_| at + 8 <= self.end) else { break };
            let is_later = match next {
                // Hop by hop, routing, destination options, mobility, HIP, shim6.
                0 | 43 | 60 | 135 | 139 | 140 => {
                    at += usize::from(header[1]) * 8 + 8;
                    false
                }
                51 => {
                    at += usize::from(header[1]) * 4 + 8;
                    false
                }
                44 => {
                    at += 8;
                    u16::from_be_bytes([header[2], header[3]]) & 0xfff8 != 0
                }
                _ => break,
            };
            next = header[0];
            if is_later {
                self.protocol = Some(next);
                return self;
            }
        }
        self.protocol = Some(next);
        self.transport = Some(at);
        self
    }

    /// Where the header after IP begins, if its protocol is one of these.
    #[inline]
    pub fn transport_of(&self, protocols: &[u8]) -> Option<usize> {
        self.transport.filter(|_| self.protocol.is_some_and(|it| protocols.contains(&it)))
    }
}
