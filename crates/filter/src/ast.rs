//! The tree of an expression: what the parser gives and `lower` reads.
//!
//! It prints as an expression that means the same, with every parenthesis and qualifier written
//! out, so that it reads as itself again.

use std::fmt::{self, Display, Formatter};
use std::net::Ipv6Addr;

use tidemill_diag::Span;

/// A name of a header or a kind of packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "they are the keywords of the language")]
pub enum Protocol {
    Link,
    Ip,
    Ip6,
    Arp,
    Rarp,
    Tcp,
    Udp,
    Sctp,
    Icmp,
    Icmp6,
    Igmp,
    Igrp,
    Pim,
    Vrrp,
    Carp,
    Ah,
    Esp,
    Atalk,
    Aarp,
    Decnet,
    Lat,
    Sca,
    Moprc,
    Mopdl,
    Stp,
    Ipx,
    Netbeui,
    Iso,
    Clnp,
    Esis,
    Isis,
}

impl Protocol {
    const KEYWORDS: [(Protocol, &str); 31] = [
        (Protocol::Link, "ether"),
        (Protocol::Ip, "ip"),
        (Protocol::Ip6, "ip6"),
        (Protocol::Arp, "arp"),
        (Protocol::Rarp, "rarp"),
        (Protocol::Tcp, "tcp"),
        (Protocol::Udp, "udp"),
        (Protocol::Sctp, "sctp"),
        (Protocol::Icmp, "icmp"),
        (Protocol::Icmp6, "icmp6"),
        (Protocol::Igmp, "igmp"),
        (Protocol::Igrp, "igrp"),
        (Protocol::Pim, "pim"),
        (Protocol::Vrrp, "vrrp"),
        (Protocol::Carp, "carp"),
        (Protocol::Ah, "ah"),
        (Protocol::Esp, "esp"),
        (Protocol::Atalk, "atalk"),
        (Protocol::Aarp, "aarp"),
        (Protocol::Decnet, "decnet"),
        (Protocol::Lat, "lat"),
        (Protocol::Sca, "sca"),
        (Protocol::Moprc, "moprc"),
        (Protocol::Mopdl, "mopdl"),
        (Protocol::Stp, "stp"),
        (Protocol::Ipx, "ipx"),
        (Protocol::Netbeui, "netbeui"),
        (Protocol::Iso, "iso"),
        (Protocol::Clnp, "clnp"),
        (Protocol::Esis, "esis"),
        (Protocol::Isis, "isis"),
    ];

    /// The protocol of a keyword, `link` and others for `ether` among them.
    pub fn of(keyword: &str) -> Option<Protocol> {
        let keyword = match keyword {
            "link" | "ppp" | "slip" | "fddi" | "tr" | "wlan" => "ether",
            other => other,
        };
        Self::KEYWORDS.iter().find(|(_, known)| *known == keyword).map(|(protocol, _)| *protocol)
    }

    /// Its keyword.
    pub fn keyword(self) -> &'static str {
        Self::KEYWORDS.iter().find(|(known, _)| *known == self).map_or("", |(_, keyword)| keyword)
    }
}

/// Which end of the way an address or port is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// `src`
    Source,
    /// `dst`
    Destination,
    /// `src or dst`, and what is meant where none is given.
    Either,
    /// `src and dst`
    Both,
}

/// The kind of an id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdKind {
    /// `host`, and what is meant where none is given.
    Host,
    /// `net`
    Net,
    /// `port`
    Port,
    /// `portrange`
    PortRange,
    /// `proto`
    Proto,
    /// `protochain`
    ProtoChain,
}

/// The qualifiers of an id, which are implied by the ids that follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Qualifiers {
    /// `tcp` in `tcp src port 80`.
    pub protocol: Option<Protocol>,
    /// `src` in it.
    pub direction: Option<Direction>,
    /// `port` in it; `None` where only the direction is given.
    pub kind: Option<IdKind>,
}

/// The right side of a comparison with a packet's field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operand {
    /// A number.
    Number(u32),
    /// Up to four numbers with dots between: the number they make, and how many bits that are.
    Dotted {
        /// As a number of `bits` bits.
        value: u32,
        /// 16, 24 or 32.
        bits: u32,
    },
    /// An IPv4 network with the length of its prefix.
    Prefix {
        /// The network, as a number of 32 bits.
        value: u32,
        /// The bits that count.
        length: u32,
    },
    /// An IPv4 network with its mask.
    Masked {
        /// The network, as a number of 32 bits.
        value: u32,
        /// The bits that count.
        mask: u32,
    },
    /// An IPv6 address, with the length of its prefix where that is given.
    Ip6(Ipv6Addr, Option<u32>),
    /// An Ethernet address.
    Ethernet([u8; 6]),
    /// A name, or two with a hyphen between them for `portrange`.
    Name(String),
}

/// One test with its place in the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Primitive {
    /// Its test.
    pub kind: PrimitiveKind,
    /// Its text, without implied qualifiers.
    pub span: Span,
}

/// The test of a primitive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PrimitiveKind {
    /// `tcp src port 80`
    Qualified(Qualifiers, Operand),
    /// `tcp`
    Protocol(Protocol),
    /// `broadcast`, `ip broadcast`
    Broadcast(Option<Protocol>),
    /// `multicast`, `ip6 multicast`
    Multicast(Option<Protocol>),
    /// `less 128`
    Less(u32),
    /// `greater 128`
    Greater(u32),
    /// `vlan`, `vlan 7`
    Vlan(Option<u32>),
    /// `mpls`, `mpls 7`
    Mpls(Option<u32>),
    /// `pppoed`
    PppoeDiscovery,
    /// `pppoes`, `pppoes 7`
    PppoeSession(Option<u32>),
    /// `geneve`, `geneve 7`
    Geneve(Option<u32>),
    /// `llc`, `llc rr`
    Llc(LlcKind),
    /// `l1`, `iih` and the like: packets of IS-IS.
    Isis(IsisKind),
    /// `byte 12 = 8`
    Byte(u32, Relation, u32),
    /// `outbound`; else `inbound`.
    Outbound(bool),
    /// `len < 9`
    Relation(Relation, Arithmetic, Arithmetic),
    /// What could not be read.
    Wrong,
}

/// Which frames of IEEE 802.2: the mask of the control field and what is under it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LlcKind {
    /// What follows `llc`; empty if nothing does.
    pub name: &'static str,
    /// Bits of the control field that count; 0: none do.
    pub mask: u32,
    /// Their values.
    pub value: u32,
}

impl LlcKind {
    /// All of them.
    pub const ALL: [LlcKind; 15] = {
        const fn kind(name: &'static str, mask: u32, value: u32) -> LlcKind {
            LlcKind { name, mask, value }
        }
        [
            kind("", 0, 0),
            kind("i", 1, 0),
            kind("s", 3, 1),
            kind("u", 3, 3),
            kind("rr", 0x0f, 0x01),
            kind("rnr", 0x0f, 0x05),
            kind("rej", 0x0f, 0x09),
            kind("ui", 0xef, 0x03),
            kind("ua", 0xef, 0x63),
            kind("disc", 0xef, 0x43),
            kind("dm", 0xef, 0x0f),
            kind("sabme", 0xef, 0x6f),
            kind("test", 0xef, 0xe3),
            kind("xid", 0xef, 0xaf),
            kind("frmr", 0xef, 0x87),
        ]
    };

    /// The kind of a name.
    pub fn of(name: &str) -> Option<LlcKind> {
        LlcKind::ALL.into_iter().find(|kind| kind.name == name)
    }
}

/// Which packets of IS-IS, by their types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IsisKind {
    /// The word.
    pub word: &'static str,
    /// The types that it denotes.
    pub types: &'static [u32],
}

impl IsisKind {
    /// All of them; hello packets, link state packets, sequence numbers of either level.
    pub const ALL: [IsisKind; 7] = [
        IsisKind { word: "l1", types: &[0x1a, 0x18, 0x12, 0x0f, 0x11] },
        IsisKind { word: "l2", types: &[0x1b, 0x19, 0x14, 0x10, 0x11] },
        IsisKind { word: "iih", types: &[0x11, 0x0f, 0x10] },
        IsisKind { word: "lsp", types: &[0x12, 0x14] },
        IsisKind { word: "snp", types: &[0x1b, 0x1a, 0x18, 0x19] },
        IsisKind { word: "csnp", types: &[0x18, 0x19] },
        IsisKind { word: "psnp", types: &[0x1a, 0x1b] },
    ];

    /// The kind of a word.
    pub fn of(word: &str) -> Option<IsisKind> {
        IsisKind::ALL.into_iter().find(|kind| kind.word == word)
    }
}

/// How two numbers are compared, without sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "they say it")]
pub enum Relation {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Relation {
    /// Its sign.
    pub fn sign(self) -> &'static str {
        match self {
            Relation::Equal => "=",
            Relation::NotEqual => "!=",
            Relation::Less => "<",
            Relation::LessOrEqual => "<=",
            Relation::Greater => ">",
            Relation::GreaterOrEqual => ">=",
        }
    }
}

/// An operator on two numbers of 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "they say it")]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

impl Operator {
    /// All operators, with their signs.
    pub const SIGNS: [(Operator, &'static str); 10] = [
        (Operator::Add, "+"),
        (Operator::Subtract, "-"),
        (Operator::Multiply, "*"),
        (Operator::Divide, "/"),
        (Operator::Remainder, "%"),
        (Operator::And, "&"),
        (Operator::Or, "|"),
        (Operator::Xor, "^"),
        (Operator::ShiftLeft, "<<"),
        (Operator::ShiftRight, ">>"),
    ];

    /// Its sign.
    pub fn sign(self) -> &'static str {
        Self::SIGNS.iter().find(|(known, _)| *known == self).map_or("", |(_, sign)| sign)
    }
}

/// A number that is computed from the packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arithmetic {
    /// How.
    pub kind: ArithmeticKind,
    /// Its text.
    pub span: Span,
}

/// How a number is computed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ArithmeticKind {
    /// A constant.
    Number(u32),
    /// The length of the packet on the wire.
    Length,
    /// `tcp[13]`, `ip[2:2]`: protocol, index, bytes.
    Load(Protocol, Box<Arithmetic>, u32),
    /// `-len`
    Negate(Box<Arithmetic>),
    /// `a + b`
    Binary(Operator, Box<Arithmetic>, Box<Arithmetic>),
}

/// How the members of a chain are joined; both words bind alike, from the left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "they say it")]
pub enum Join {
    And,
    Or,
}

/// An expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expr {
    /// The empty expression: every packet.
    All,
    /// One test.
    Primitive(Primitive),
    /// `not x`
    Not(Box<Expr>),
    /// `x and y or z`
    Chain(Box<Expr>, Vec<(Join, Expr)>),
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Expr::All => Ok(()),
            Expr::Primitive(primitive) => primitive.kind.fmt(f),
            Expr::Not(inner) => write!(f, "not ({inner})"),
            Expr::Chain(first, rest) => {
                part(first, f)?;
                for (join, next) in rest {
                    f.write_str(if *join == Join::And { " and " } else { " or " })?;
                    part(next, f)?;
                }
                Ok(())
            }
        }
    }
}

fn part(expr: &Expr, f: &mut Formatter<'_>) -> fmt::Result {
    match expr {
        Expr::Chain(..) => write!(f, "({expr})"),
        _ => expr.fmt(f),
    }
}

impl Display for PrimitiveKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let with = |f: &mut Formatter<'_>, word: &str, number: Option<u32>| match number {
            Some(number) => write!(f, "{word} {number}"),
            None => f.write_str(word),
        };
        let after = |f: &mut Formatter<'_>, protocol: Option<Protocol>, word: &str| {
            let keyword = protocol.map_or("", Protocol::keyword);
            write!(f, "{keyword}{}{word}", if keyword.is_empty() { "" } else { " " })
        };
        match self {
            PrimitiveKind::Qualified(qualifiers, operand) => write!(f, "{qualifiers} {operand}"),
            PrimitiveKind::Protocol(protocol) => f.write_str(protocol.keyword()),
            PrimitiveKind::Broadcast(protocol) => after(f, *protocol, "broadcast"),
            PrimitiveKind::Multicast(protocol) => after(f, *protocol, "multicast"),
            PrimitiveKind::Less(length) => write!(f, "less {length}"),
            PrimitiveKind::Greater(length) => write!(f, "greater {length}"),
            PrimitiveKind::Vlan(id) => with(f, "vlan", *id),
            PrimitiveKind::Mpls(label) => with(f, "mpls", *label),
            PrimitiveKind::PppoeDiscovery => f.write_str("pppoed"),
            PrimitiveKind::PppoeSession(session) => with(f, "pppoes", *session),
            PrimitiveKind::Geneve(network) => with(f, "geneve", *network),
            PrimitiveKind::Llc(kind) if kind.name.is_empty() => f.write_str("llc"),
            PrimitiveKind::Llc(kind) => write!(f, "llc {}", kind.name),
            PrimitiveKind::Isis(kind) => f.write_str(kind.word),
            PrimitiveKind::Byte(at, relation, number) => {
                write!(f, "byte {at} {} {number}", relation.sign())
            }
            PrimitiveKind::Outbound(true) => f.write_str("outbound"),
            PrimitiveKind::Outbound(false) => f.write_str("inbound"),
            PrimitiveKind::Relation(relation, left, right) => {
                write!(f, "{left} {} {right}", relation.sign())
            }
            PrimitiveKind::Wrong => f.write_str("<error>"),
        }
    }
}

impl Display for Qualifiers {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let protocol = self.protocol.map(Protocol::keyword);
        let direction = self.direction.map(|direction| match direction {
            Direction::Source => "src",
            Direction::Destination => "dst",
            Direction::Either => "src or dst",
            Direction::Both => "src and dst",
        });
        let kind = self.kind.map(|kind| match kind {
            IdKind::Host => "host",
            IdKind::Net => "net",
            IdKind::Port => "port",
            IdKind::PortRange => "portrange",
            IdKind::Proto => "proto",
            IdKind::ProtoChain => "protochain",
        });
        let words: Vec<&str> = [protocol, direction, kind].into_iter().flatten().collect();
        f.write_str(&words.join(" "))
    }
}

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let dotted = |f: &mut Formatter<'_>, value: u32, bits: u32| {
            let bytes = value.to_be_bytes().map(|byte| byte.to_string());
            f.write_str(&bytes[4 - (bits / 8) as usize..].join("."))
        };
        match self {
            Operand::Number(number) => number.fmt(f),
            Operand::Dotted { value, bits } => dotted(f, *value, *bits),
            Operand::Prefix { value, length } => {
                dotted(f, *value, 32)?;
                write!(f, "/{length}")
            }
            Operand::Masked { value, mask } => {
                dotted(f, *value, 32)?;
                f.write_str(" mask ")?;
                dotted(f, *mask, 32)
            }
            Operand::Ip6(address, None) => address.fmt(f),
            Operand::Ip6(address, Some(length)) => write!(f, "{address}/{length}"),
            Operand::Ethernet(bytes) => {
                f.write_str(&bytes.map(|byte| format!("{byte:02x}")).join(":"))
            }
            Operand::Name(name) => write!(f, "\\{name}"),
        }
    }
}

impl Display for Arithmetic {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ArithmeticKind::Number(number) => number.fmt(f),
            ArithmeticKind::Length => f.write_str("len"),
            ArithmeticKind::Load(protocol, index, 1) => {
                write!(f, "{}[{index}]", protocol.keyword())
            }
            ArithmeticKind::Load(protocol, index, bytes) => {
                write!(f, "{}[{index} : {bytes}]", protocol.keyword())
            }
            ArithmeticKind::Negate(inner) => write!(f, "(- {inner})"),
            ArithmeticKind::Binary(operator, left, right) => {
                write!(f, "({left} {} {right})", operator.sign())
            }
        }
    }
}
