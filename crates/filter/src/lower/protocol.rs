//! Protocols: `tcp`, `ip proto 47`, `ip6 protochain 6`.

use tidemill_stdx::diag::Span;

use super::condition::Condition;
use super::headers::Field;
use super::link::{AARP, ARP, ATALK, IP, IP6, IPX_ACCESS_POINT};
use super::link::{NETBEUI_ACCESS_POINT, OSI_ACCESS_POINT, RARP};
use super::{Lower, Lowered};
use crate::ast::Protocol;
use crate::graph::{Check, Comparison, Family, Test, Value, Width};

/// The header that says "a fragment".
const FRAGMENT: u32 = 44;

impl Lower {
    /// A protocol's word, with nothing behind it.
    pub(super) fn protocol_alone(&mut self, protocol: Protocol, span: Span) -> Lowered<Condition> {
        use Protocol as P;
        let number = match protocol {
            P::Ip => return self.frame(IP, span),
            P::Ip6 => return self.frame(IP6, span),
            P::Arp => return self.frame(ARP, span),
            P::Rarp => return self.frame(RARP, span),
            P::Atalk => return self.frame(ATALK, span),
            P::Aarp => return self.frame(AARP, span),
            P::Decnet => return self.frame(0x6003, span),
            P::Lat => return self.frame(0x6004, span),
            P::Sca => return self.frame(0x6007, span),
            P::Moprc => return self.frame(0x6002, span),
            P::Mopdl => return self.frame(0x6001, span),
            P::Stp => return self.frame(0x42, span),
            P::Ipx => return self.frame(IPX_ACCESS_POINT, span),
            P::Netbeui => return self.frame(NETBEUI_ACCESS_POINT, span),
            P::Iso => return self.frame(OSI_ACCESS_POINT, span),
            P::Clnp => return self.osi_protocol(0x81, span),
            P::Esis => return self.osi_protocol(0x82, span),
            P::Isis => return self.osi_protocol(0x83, span),
            P::Icmp => return self.ip_protocol(Family::Four, 1, span),
            P::Igmp => return self.ip_protocol(Family::Four, 2, span),
            P::Igrp => return self.ip_protocol(Family::Four, 9, span),
            P::Vrrp | P::Carp => return self.ip_protocol(Family::Four, 112, span),
            P::Icmp6 => return self.ip_protocol(Family::Six, 58, span),
            P::Tcp => 6,
            P::Udp => 17,
            P::Sctp => 132,
            P::Pim => 103,
            P::Ah => 51,
            P::Esp => 50,
            P::Link => {
                let noted = self.error("bad-qualifier", span, "every packet has a link layer");
                self.help("say what about it: `ether host`, `ether proto`");
                return Err(noted);
            }
        };
        self.either_protocol(number, span)
    }

    /// `proto N`: over IPv4 or IPv6.
    pub(super) fn either_protocol(&mut self, number: u32, span: Span) -> Lowered<Condition> {
        let four = self.ip_protocol(Family::Four, number, span)?;
        let six = self.ip_protocol(Family::Six, number, span)?;
        Ok(four.or(six))
    }

    /// `ip proto N`, `ip6 proto N`. In IPv6 it may follow a fragment header, but no other.
    pub(super) fn ip_protocol(
        &mut self,
        family: Family,
        number: u32,
        span: Span,
    ) -> Lowered<Condition> {
        let byte = |lower: &mut Lower, offset, number| {
            lower.equals(Field::Network(offset), Width::Byte, number)
        };
        Ok(match family {
            Family::Four => {
                let version = self.frame(IP, span)?;
                version.and(byte(self, 9, number))
            }
            Family::Six => {
                let version = self.frame(IP6, span)?;
                let next = byte(self, 6, number);
                let fragment = byte(self, 6, FRAGMENT).and(byte(self, 40, number));
                version.and(next.or(fragment))
            }
        })
    }

    pub(super) fn osi_protocol(&mut self, number: u32, span: Span) -> Lowered<Condition> {
        let frame = self.frame(OSI_ACCESS_POINT, span)?;
        // Behind three bytes of IEEE 802.2.
        let at = Field::At(self.layout.payload + 3);
        Ok(frame.and(self.equals(at, Width::Byte, number)))
    }

    /// It is no fragment but the first.
    pub(super) fn first_fragment(&mut self) -> Condition {
        self.test(Field::Network(6), Width::Half, Comparison::Set, 0x1fff).not()
    }

    /// `ip protochain N`, `ip6 protochain N`
    pub(super) fn protocol_chain(
        &mut self,
        family: Family,
        number: u32,
        span: Span,
    ) -> Lowered<Condition> {
        let version = self.frame(if family == Family::Four { IP } else { IP6 }, span)?;
        let start = self.layout.network();
        let left = self.values.add(Value::Walk { family, start, until: number });
        let right = self.values.constant(number);
        let test = Test { comparison: Comparison::Equal, left, right };
        Ok(version.and(Condition::Test(vec![Check::Walk(left)], test)))
    }
}
