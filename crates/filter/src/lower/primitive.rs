//! Primitives that qualify an id, and those without ids.

use std::net::Ipv6Addr;

use tidemill_diag::Span;

use super::condition::Condition;
use super::headers::Field;
use super::layout::Link;
use super::link::{ARP, IP, IP6, MPLS, PPPOE_DISCOVERY, PPPOE_SESSION, RARP};
use super::{Lower, Lowered, Noted};
use crate::ast::{
    Direction, IdKind, Operand, Primitive, PrimitiveKind, Protocol, Qualifiers, Relation,
};
use crate::graph::{Comparison, Family, Test, Value, Width};
use crate::names::{self, Over};

const SCTP: u32 = 132;
const TCP: u32 = 6;
pub(super) const UDP: u32 = 17;

impl Lower {
    pub(super) fn primitive(&mut self, primitive: &Primitive) -> Lowered<Condition> {
        let span = primitive.span;
        match &primitive.kind {
            PrimitiveKind::Qualified(qualifiers, operand) => {
                self.qualified(*qualifiers, operand, span)
            }
            PrimitiveKind::Protocol(protocol) => self.protocol_alone(*protocol, span),
            PrimitiveKind::Broadcast(protocol) => self.broadcast(*protocol, span),
            PrimitiveKind::Multicast(protocol) => self.multicast(*protocol, span),
            PrimitiveKind::Less(length) => Ok(self.length(Comparison::Greater, *length).not()),
            PrimitiveKind::Greater(length) => Ok(self.length(Comparison::GreaterOrEqual, *length)),
            PrimitiveKind::Vlan(id) => self.vlan(*id, span),
            PrimitiveKind::Mpls(label) => self.mpls(*label, span),
            PrimitiveKind::PppoeDiscovery => self.frame(PPPOE_DISCOVERY, span),
            PrimitiveKind::PppoeSession(session) => self.pppoe_session(*session, span),
            PrimitiveKind::Geneve(network) => self.geneve(*network, span),
            PrimitiveKind::Llc(kind) => self.llc(*kind, span),
            PrimitiveKind::Isis(kind) => self.isis(*kind, span),
            PrimitiveKind::Byte(at, relation, number) => Ok(self.byte(*at, *relation, *number)),
            PrimitiveKind::Outbound(is_outbound) => self.direction(*is_outbound, span),
            PrimitiveKind::Relation(relation, left, right) => self.relation(*relation, left, right),
            // The parser noted it.
            PrimitiveKind::Wrong => Err(Noted),
        }
    }

    /// `inbound`, `outbound`
    fn direction(&mut self, is_outbound: bool, span: Span) -> Lowered<Condition> {
        if !self.settings.has_directions {
            let message = "captures do not record who sent a packet";
            return Err(self.error("no-direction", span, message));
        }
        let (left, right) = (self.values.add(Value::Outgoing), self.values.constant(1));
        let comparison = Comparison::Equal;
        let sent = Condition::Test(Vec::new(), Test { comparison, left, right });
        Ok(if is_outbound { sent } else { sent.not() })
    }

    /// `byte 12 = 8`
    fn byte(&mut self, at: u32, relation: Relation, number: u32) -> Condition {
        let (comparison, holds) = match relation {
            Relation::Less => (Comparison::GreaterOrEqual, false),
            Relation::Greater => (Comparison::Greater, true),
            _ => (Comparison::Equal, true),
        };
        let field = Field::At(self.layout.link_header.plus(at));
        let test = self.test(field, Width::Byte, comparison, number);
        if holds { test } else { test.not() }
    }

    fn length(&mut self, comparison: Comparison, length: u32) -> Condition {
        let (left, right) = (self.values.add(Value::Length), self.values.constant(length));
        Condition::Test(Vec::new(), Test { comparison, left, right })
    }

    fn broadcast(&mut self, protocol: Option<Protocol>, span: Span) -> Lowered<Condition> {
        match protocol {
            None | Some(Protocol::Link) => {
                self.needs_ethernet(span)?;
                let all = self.bytes(self.layout.link_header, &[0xff; 6]);
                Ok(self.with_ethernet(all))
            }
            Some(Protocol::Ip) => {
                let Some(netmask) = self.settings.netmask else {
                    let message = "`ip broadcast` needs the mask of the network, which is not set";
                    return Err(self.error("no-netmask", span, message));
                };
                let ip = self.frame(IP, span)?;
                let host = !netmask;
                let mut is = |number| {
                    self.masked(Field::Network(16), Width::Word, host, Comparison::Equal, number)
                };
                let (zeros, ones) = (is(0), is(host));
                Ok(ip.and(zeros.or(ones)))
            }
            Some(other) => Err(self.unfit(other, "`broadcast`", span)),
        }
    }

    fn multicast(&mut self, protocol: Option<Protocol>, span: Span) -> Lowered<Condition> {
        match protocol {
            None | Some(Protocol::Link) => {
                self.needs_ethernet(span)?;
                let first = Field::At(self.layout.link_header);
                let group = self.test(first, Width::Byte, Comparison::Set, 1);
                Ok(self.with_ethernet(group))
            }
            Some(Protocol::Ip) => {
                let ip = self.frame(IP, span)?;
                let first = Field::Network(16);
                Ok(ip.and(self.test(first, Width::Byte, Comparison::GreaterOrEqual, 224)))
            }
            Some(Protocol::Ip6) => {
                let ip6 = self.frame(IP6, span)?;
                Ok(ip6.and(self.equals(Field::Network(24), Width::Byte, 255)))
            }
            Some(other) => Err(self.unfit(other, "`multicast`", span)),
        }
    }

    fn needs_ethernet(&mut self, span: Span) -> Lowered<()> {
        if self.layout.link == Link::Ethernet {
            return Ok(());
        }
        let message = "inside a PPPoE session there are no Ethernet addresses";
        Err(self.error("no-ethernet", span, message))
    }

    fn unfit(&mut self, protocol: Protocol, what: &str, span: Span) -> Noted {
        let message = format!("`{}` does not go with {what}", protocol.keyword());
        self.error("bad-qualifier", span, message)
    }

    fn vlan(&mut self, id: Option<u32>, span: Span) -> Lowered<Condition> {
        if self.layout.labels > 0 {
            let message = "after MPLS labels there are no VLAN tags";
            return Err(self.error("behind-labels", span, message));
        }
        self.at_most(id, 0xfff, "a VLAN", span)?;
        self.needs_ethernet(span)?;
        let types = [0x8100, 0x88a8, 0x9100];
        let types = types.map(|number| self.frame(number, span));
        let types: Vec<Condition> = types.into_iter().collect::<Result<_, _>>()?;
        let tag =
            id.map(|id| self.masked(Field::Network(0), Width::Half, 0xfff, Comparison::Equal, id));
        self.layout.payload = self.layout.payload.plus(4);
        self.layout.link_type = self.layout.link_type.plus(4);
        Ok(Condition::And([Condition::Or(types)].into_iter().chain(tag).collect()))
    }

    fn mpls(&mut self, label: Option<u32>, span: Span) -> Lowered<Condition> {
        self.at_most(label, 0xf_ffff, "an MPLS label", span)?;
        let there = match self.layout.labels {
            0 => self.frame(MPLS, span)?,
            // The label before is not the last.
            _ => {
                let last = Field::At(self.layout.network().minus(2));
                self.masked(last, Width::Byte, 1, Comparison::Equal, 0)
            }
        };
        let label = label.map(|label| {
            let (field, mask) = (Field::Network(0), 0xffff_f000);
            self.masked(field, Width::Word, mask, Comparison::Equal, label << 12)
        });
        self.layout.labels += 1;
        Ok(Condition::And([there].into_iter().chain(label).collect()))
    }

    fn pppoe_session(&mut self, session: Option<u32>, span: Span) -> Lowered<Condition> {
        self.at_most(session, 0xffff, "a PPPoE session", span)?;
        let there = self.frame(PPPOE_SESSION, span)?;
        let session = session.map(|session| {
            let (field, mask) = (Field::Network(0), 0xffff);
            self.masked(field, Width::Word, mask, Comparison::Equal, session)
        });
        let header = self.layout.network().plus(6);
        self.layout.link = Link::Ppp;
        self.layout.link_header = header;
        self.layout.link_type = header;
        self.layout.payload = header.plus(2);
        self.layout.labels = 0;
        Ok(Condition::And([there].into_iter().chain(session).collect()))
    }

    pub(super) fn at_most(
        &mut self,
        number: Option<u32>,
        max: u32,
        what: &str,
        span: Span,
    ) -> Lowered<()> {
        match number {
            Some(number) if number > max => {
                let message = format!("{what} has a number up to {max}, not {number}");
                Err(self.error("number-too-large", span, message))
            }
            _ => Ok(()),
        }
    }

    fn qualified(
        &mut self,
        qualifiers: Qualifiers,
        operand: &Operand,
        span: Span,
    ) -> Lowered<Condition> {
        let direction = qualifiers.direction.unwrap_or(Direction::Either);
        let protocol = qualifiers.protocol;
        match qualifiers.kind {
            Some(IdKind::Port) => {
                let (port, over) = self.port(operand, span)?;
                self.ports(protocol, direction, (port, port), over, span)
            }
            Some(IdKind::PortRange) => {
                let (ports, over) = self.port_range(operand, span)?;
                self.ports(protocol, direction, ports, over, span)
            }
            Some(IdKind::Proto) => self.carried(protocol, operand, span),
            Some(IdKind::ProtoChain) => self.chained(protocol, operand, span),
            None | Some(IdKind::Host | IdKind::Net) => {
                let is_net = qualifiers.kind == Some(IdKind::Net);
                self.address(protocol, direction, is_net, operand, span)
            }
        }
    }

    fn address(
        &mut self,
        protocol: Option<Protocol>,
        direction: Direction,
        is_net: bool,
        operand: &Operand,
        span: Span,
    ) -> Lowered<Condition> {
        let high = |bits: u32| u32::MAX.checked_shl(32 - bits).unwrap_or(0);
        if protocol == Some(Protocol::Decnet) {
            return self.decnet(direction, operand, span);
        }
        let (value, mask) = match *operand {
            Operand::Ethernet(bytes) => {
                return self.ethernet(protocol, direction, is_net, bytes, span);
            }
            Operand::Ip6(address, length) => {
                if !is_net && length.is_some_and(|length| length != 128) {
                    return Err(self.only_networks(span));
                }
                return self.ip6(protocol, direction, address, length.unwrap_or(128), span);
            }
            Operand::Name(ref name) => return Err(self.name_of_host(name, is_net, span)),
            Operand::Prefix { .. } | Operand::Masked { .. } if !is_net => {
                return Err(self.only_networks(span));
            }
            Operand::Prefix { value, length } => (value, high(length)),
            Operand::Masked { value, mask } => (value, mask),
            Operand::Dotted { value, bits } => (value << (32 - bits), high(bits)),
            // `net 10` is `net 10.0.0.0/8`, `host 10` is `host 0.0.0.10`.
            Operand::Number(number) if is_net && number != 0 => {
                let shift = number.leading_zeros() / 8 * 8;
                (number << shift, u32::MAX << shift)
            }
            Operand::Number(number) => (number, u32::MAX),
        };
        self.ip4(protocol, direction, (value, mask), span)
    }

    fn only_networks(&mut self, span: Span) -> Noted {
        let noted = self.error("bad-qualifier", span, "a prefix or mask is for networks");
        self.help("write `net`");
        noted
    }

    fn name_of_host(&mut self, name: &str, is_net: bool, span: Span) -> Noted {
        let what = if is_net { "networks" } else { "hosts" };
        let message = format!("`{name}`: names of {what} are not looked up");
        let noted = self.error("name-of-host", span, message);
        if names::service(name).is_some() || names::protocol(name).is_some() {
            self.help(format!("write its address, or `port {name}`, or `proto {name}`"))
        } else {
            self.help("write its address")
        }
        noted
    }

    /// Either end, both, or one, each made by `end`.
    pub(super) fn ends(
        &mut self,
        direction: Direction,
        mut end: impl FnMut(&mut Lower, bool) -> Lowered<Condition>,
    ) -> Lowered<Condition> {
        Ok(match direction {
            Direction::Source => end(self, true)?,
            Direction::Destination => end(self, false)?,
            Direction::Either => end(self, true)?.or(end(self, false)?),
            Direction::Both => end(self, true)?.and(end(self, false)?),
        })
    }

    fn ethernet(
        &mut self,
        protocol: Option<Protocol>,
        direction: Direction,
        is_net: bool,
        bytes: [u8; 6],
        span: Span,
    ) -> Lowered<Condition> {
        if protocol != Some(Protocol::Link) || is_net {
            let noted = self.error("bad-qualifier", span, "this is an address of Ethernet");
            self.help("write `ether host`, `ether src` or `ether dst`");
            return Err(noted);
        }
        self.needs_ethernet(span)?;
        let header = self.layout.link_header;
        self.ends(direction, |lower, source| {
            let address = lower.bytes(header.plus(if source { 6 } else { 0 }), &bytes);
            Ok(lower.with_ethernet(address))
        })
    }

    fn ip4(
        &mut self,
        protocol: Option<Protocol>,
        direction: Direction,
        network: (u32, u32),
        span: Span,
    ) -> Lowered<Condition> {
        let (source_at, destination_at, frame) = match protocol {
            None => {
                let mut all = vec![self.ip4(Some(Protocol::Ip), direction, network, span)?];
                // After labels there is only IP.
                if self.layout.labels == 0 {
                    for protocol in [Protocol::Arp, Protocol::Rarp] {
                        all.push(self.ip4(Some(protocol), direction, network, span)?);
                    }
                }
                return Ok(Condition::Or(all));
            }
            Some(Protocol::Ip) => (12, 16, IP),
            Some(Protocol::Arp) => (14, 24, ARP),
            Some(Protocol::Rarp) => (14, 24, RARP),
            Some(other) => return Err(self.unfit(other, "an IPv4 address", span)),
        };
        let (value, mask) = network;
        self.ends(direction, |lower, source| {
            let frame = lower.frame(frame, span)?;
            let field = Field::Network(if source { source_at } else { destination_at });
            Ok(frame.and(lower.masked(field, Width::Word, mask, Comparison::Equal, value)))
        })
    }

    fn ip6(
        &mut self,
        protocol: Option<Protocol>,
        direction: Direction,
        address: Ipv6Addr,
        length: u32,
        span: Span,
    ) -> Lowered<Condition> {
        if let Some(other) = protocol.filter(|&it| it != Protocol::Ip6) {
            return Err(self.unfit(other, "an IPv6 address", span));
        }
        let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
        let address = address.to_bits();
        self.ends(direction, |lower, source| {
            let mut all = vec![lower.frame(IP6, span)?];
            let start = if source { 8 } else { 24 };
            for word in 0..4 {
                let part = |bits: u128| (bits >> (96 - 32 * word)) as u32;
                let field = Field::Network(start + 4 * word);
                let (mask, number) = (part(mask), part(address));
                all.push(lower.masked(field, Width::Word, mask, Comparison::Equal, number));
            }
            Ok(Condition::And(all))
        })
    }

    fn port(&mut self, operand: &Operand, span: Span) -> Lowered<(u32, Option<Over>)> {
        match operand {
            Operand::Number(port) => {
                self.at_most(Some(*port), 0xffff, "a port", span)?;
                Ok((*port, None))
            }
            Operand::Name(name) => match names::service(name) {
                Some((port, Over::Both)) => Ok((u32::from(port), None)),
                Some((port, over)) => Ok((u32::from(port), Some(over))),
                None => {
                    let message = format!("no service is called `{name}`");
                    let noted = self.error("unknown-service", span, message);
                    match names::similar_service(name) {
                        Some(similar) => self.help(format!("there is `{similar}`")),
                        None => self.help("write the number of the port"),
                    }
                    Err(noted)
                }
            },
            _ => {
                Err(self.error("bad-operand", span, "a port is a number or the name of a service"))
            }
        }
    }

    fn port_range(&mut self, operand: &Operand, span: Span) -> Lowered<((u32, u32), Option<Over>)> {
        let Operand::Name(name) = operand else {
            let (port, over) = self.port(operand, span)?;
            return Ok(((port, port), over));
        };
        if names::service(name).is_some() {
            let (port, over) = self.port(operand, span)?;
            return Ok(((port, port), over));
        }
        // Names have hyphens too: the first split of which both sides are ports.
        let port = |text: &str| match text.parse::<u16>() {
            Ok(port) => Some((u32::from(port), None)),
            Err(_) => names::service(text)
                .map(|(port, over)| (u32::from(port), Some(over).filter(|it| *it != Over::Both))),
        };
        let split = name
            .match_indices('-')
            .find_map(|(at, _)| Some((port(&name[..at])?, port(&name[at + 1..])?)));
        let Some(((first, over), (last, over_last))) = split else {
            let noted = self.error("bad-operand", span, format!("`{name}` is no range of ports"));
            self.help("write two ports with a hyphen and no blanks between: `6000-6008`");
            return Err(noted);
        };
        // Over different things it is over either.
        let over = if over == over_last { over } else { None };
        Ok(((first.min(last), first.max(last)), over))
    }

    fn ports(
        &mut self,
        protocol: Option<Protocol>,
        direction: Direction,
        ports: (u32, u32),
        over: Option<Over>,
        span: Span,
    ) -> Lowered<Condition> {
        let numbers: &[u32] = match (protocol, over) {
            (None, None | Some(Over::Both)) => &[SCTP, TCP, UDP],
            (None | Some(Protocol::Tcp), Some(Over::Tcp)) | (Some(Protocol::Tcp), None) => &[TCP],
            (None | Some(Protocol::Udp), Some(Over::Udp)) | (Some(Protocol::Udp), None) => &[UDP],
            (Some(Protocol::Sctp), None) => &[SCTP],
            (Some(other @ (Protocol::Tcp | Protocol::Udp | Protocol::Sctp)), Some(over)) => {
                let known = if over == Over::Tcp { "TCP" } else { "UDP" };
                let message = format!(
                    "this service is one of {known}, so no packet of `{}` is its",
                    other.keyword()
                );
                let noted = self.error("bad-qualifier", span, message);
                self.help("write the number of the port");
                return Err(noted);
            }
            (Some(other), _) => return Err(self.unfit(other, "ports", span)),
        };
        let six = self.frame(IP6, span)?;
        let six = six.and(self.any_port(Family::Six, numbers, direction, ports)?);
        let four = self.frame(IP, span)?;
        let four = four.and(self.any_port(Family::Four, numbers, direction, ports)?);
        Ok(six.or(four))
    }

    pub(super) fn any_port(
        &mut self,
        family: Family,
        numbers: &[u32],
        direction: Direction,
        (first, last): (u32, u32),
    ) -> Lowered<Condition> {
        let mut any = Vec::new();
        for &number in numbers {
            let next = Field::Network(if family == Family::Four { 9 } else { 6 });
            let mut all = vec![self.equals(next, Width::Byte, number)];
            if family == Family::Four {
                all.push(self.first_fragment());
            }
            all.push(self.ends(direction, |lower, source| {
                let offset = if source { 0 } else { 2 };
                let field = match family {
                    Family::Four => Field::Transport4(offset),
                    Family::Six => Field::Transport6(offset),
                };
                if first == last {
                    return Ok(lower.equals(field, Width::Half, first));
                }
                let least = lower.test(field, Width::Half, Comparison::GreaterOrEqual, first);
                let most = lower.test(field, Width::Half, Comparison::Greater, last).not();
                Ok(least.and(most))
            })?);
            any.push(Condition::And(all));
        }
        Ok(Condition::Or(any))
    }

    /// The number of a protocol that is given as number or name.
    fn protocol_number(
        &mut self,
        operand: &Operand,
        span: Span,
        named: fn(&str) -> Option<u32>,
    ) -> Lowered<u32> {
        match operand {
            Operand::Number(number) => Ok(*number),
            Operand::Name(name) => named(name).ok_or_else(|| {
                let message = format!("no protocol is called `{name}` here");
                let noted = self.error("unknown-protocol", span, message);
                self.help("write its number");
                noted
            }),
            _ => Err(self.error("bad-operand", span, "a protocol is a number or a name")),
        }
    }

    /// `proto`
    fn carried(
        &mut self,
        protocol: Option<Protocol>,
        operand: &Operand,
        span: Span,
    ) -> Lowered<Condition> {
        match protocol {
            None | Some(Protocol::Ip | Protocol::Ip6) => {
                let number = self.protocol_number(operand, span, names::protocol)?;
                match protocol {
                    Some(Protocol::Ip) => self.ip_protocol(Family::Four, number, span),
                    Some(Protocol::Ip6) => self.ip_protocol(Family::Six, number, span),
                    _ => self.either_protocol(number, span),
                }
            }
            Some(Protocol::Link) => {
                let number = self.protocol_number(operand, span, names::frame)?;
                self.frame(number, span)
            }
            Some(Protocol::Iso) => {
                let number = self.protocol_number(operand, span, names::osi)?;
                self.osi_protocol(number, span)
            }
            Some(Protocol::Isis) => {
                let number = self.protocol_number(operand, span, |_| None)?;
                self.isis_type(number, span)
            }
            Some(other) => Err(self.unfit(other, "`proto`", span)),
        }
    }

    /// `protochain`
    fn chained(
        &mut self,
        protocol: Option<Protocol>,
        operand: &Operand,
        span: Span,
    ) -> Lowered<Condition> {
        let number = self.protocol_number(operand, span, names::protocol)?;
        match protocol {
            None => {
                let four = self.protocol_chain(Family::Four, number, span)?;
                Ok(four.or(self.protocol_chain(Family::Six, number, span)?))
            }
            Some(Protocol::Ip) => self.protocol_chain(Family::Four, number, span),
            Some(Protocol::Ip6) => self.protocol_chain(Family::Six, number, span),
            Some(other) => Err(self.unfit(other, "`protochain`", span)),
        }
    }
}
