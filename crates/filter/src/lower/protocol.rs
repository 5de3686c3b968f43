//! Protocols: `tcp`, `ip proto 47`, `ip6 protochain 6`.

use tidemill_diag::Span;

use super::condition::Condition;
use super::headers::Field;
use super::layout::{HeaderStart, Link};
use super::link::{AARP, ARP, ATALK, IP, IP6, IPX_ACCESS_POINT};
use super::link::{NETBEUI_ACCESS_POINT, OSI_ACCESS_POINT, RARP};
use super::{Lower, Lowered};
use crate::ast::{Direction, IsisKind, Operand, Protocol};
use crate::graph::{Check, Comparison, Family, Test, Value, Width};

const ISIS: u32 = 0x83;
const DECNET: u32 = 0x6003;

/// `1.1023` as the number that headers have.
fn area_and_node(text: &str) -> Option<u32> {
    let (area, node) = text.split_once('.')?;
    Some(area.parse::<u32>().ok()? << 10 | node.parse::<u32>().ok()?)
}

/// The header that means "a fragment".
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
            P::Decnet => return self.frame(DECNET, span),
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
            P::Isis => return self.osi_protocol(ISIS, span),
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
        let at = self.osi_header();
        Ok(frame.and(self.equals(Field::At(at), Width::Byte, number)))
    }

    /// After three bytes of IEEE 802.2, which PPP does without.
    fn osi_header(&self) -> HeaderStart {
        let before = if self.layout.link == Link::Ethernet { 3 } else { 0 };
        self.layout.payload.plus(before)
    }

    /// `isis proto N`: packets of this type.
    pub(super) fn isis_type(&mut self, number: u32, span: Span) -> Lowered<Condition> {
        let isis = self.osi_protocol(ISIS, span)?;
        let at = self.osi_header().plus(4);
        Ok(isis.and(self.equals(Field::At(at), Width::Byte, number)))
    }

    /// `l1`, `iih` and the like.
    pub(super) fn isis(&mut self, kind: IsisKind, span: Span) -> Lowered<Condition> {
        let types = kind.types.iter().map(|&number| self.isis_type(number, span));
        Ok(Condition::Or(types.collect::<Lowered<_>>()?))
    }

    /// `decnet src 1.2`: a packet has one of four headers, short or long, padded or not.
    pub(super) fn decnet(
        &mut self,
        direction: Direction,
        operand: &Operand,
        span: Span,
    ) -> Lowered<Condition> {
        let address = match operand {
            Operand::Number(number) => *number,
            Operand::Dotted { value, bits } => {
                // Area and node; the rest is not read.
                let bytes = value << (32 - bits);
                (bytes >> 24) << 10 | bytes >> 16 & 0xff
            }
            Operand::Name(name) => match area_and_node(name) {
                Some(address) => address,
                None => {
                    let message = format!("`{name}` is no address of DECnet");
                    let noted = self.error("name-of-host", span, message);
                    self.help("write its area and its number: `1.1023`");
                    return Err(noted);
                }
            },
            _ => return Err(self.error("bad-operand", span, "this is no address of DECnet")),
        };
        // Little endian.
        let address = u32::from((address as u16).swap_bytes());
        self.ends(direction, |lower, is_source| {
            let frame = lower.frame(DECNET, span)?;
            let places = if is_source { [5, 6, 17, 18] } else { [3, 4, 9, 10] };
            let flags = [
                (Width::Byte, 0x07, 0x02),
                (Width::Half, 0xff07, 0x8102),
                (Width::Byte, 0x07, 0x06),
                (Width::Half, 0xff07, 0x8106),
            ];
            let forms = flags.into_iter().zip(places).map(|((width, mask, number), place)| {
                let flags = Field::Network(2);
                let is_form = lower.masked(flags, width, mask, Comparison::Equal, number);
                is_form.and(lower.equals(Field::Network(place), Width::Half, address))
            });
            let forms = forms.collect();
            Ok(frame.and(Condition::Or(forms)))
        })
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
        let HeaderStart { base: None, offset: start } = self.layout.network() else {
            let message = "after Geneve `protochain` is not taken";
            return Err(self.error("not-supported", span, message));
        };
        let left = self.values.add(Value::Walk { family, start, until: number });
        let right = self.values.constant(number);
        let test = Test { comparison: Comparison::Equal, left, right };
        Ok(version.and(Condition::Test(vec![Check::Walk(left)], test)))
    }
}
