//! Primitives: qualifiers with ids, and words without ids.

use tidemill_diag::Diagnostic;

use super::{Parsed, Parser};
use crate::ast::{
    Direction, Expr, IdKind, IsisKind, LlcKind, Primitive, PrimitiveKind, Protocol, Qualifiers,
    Relation,
};
use crate::lex::TokenKind;

impl Parser<'_> {
    pub(super) fn primitive(&mut self) -> Parsed<Expr> {
        let start = self.at;
        if self.number_begins() {
            let kind = self.relation()?;
            return Ok(self.alone(start, kind));
        }
        let word = match *self.kind() {
            TokenKind::Word(word) => word,
            _ => return Err(self.lonely_id()),
        };
        if let Some(kind) = self.standing_alone(word)? {
            return Ok(self.alone(start, kind));
        }
        self.refused(word)?;
        let protocol = Protocol::of(word);
        self.at += usize::from(protocol.is_some());
        for (word, kind) in [
            ("broadcast", PrimitiveKind::Broadcast(protocol)),
            ("multicast", PrimitiveKind::Multicast(protocol)),
        ] {
            if self.take_word(word) {
                return Ok(self.alone(start, kind));
            }
        }
        let direction = self.direction();
        let kind = self.id_kind(direction)?;
        if direction.is_none() && kind.is_none() {
            return match protocol {
                Some(protocol) => Ok(self.alone(start, PrimitiveKind::Protocol(protocol))),
                None => Err(self.unexpected("a test")),
            };
        }
        self.implied = Some(Qualifiers { protocol, direction, kind });
        self.ids_of(start)
    }

    /// A primitive that no id can follow.
    fn alone(&mut self, start: usize, kind: PrimitiveKind) -> Expr {
        self.implied = None;
        Expr::Primitive(Primitive { kind, span: self.since(start) })
    }

    /// `less 9`, `vlan`, `vlan 7` and the like.
    fn standing_alone(&mut self, word: &str) -> Parsed<Option<PrimitiveKind>> {
        let optional = |parser: &mut Self| {
            parser.at += 1;
            parser.optional_number()
        };
        Ok(Some(match word {
            "less" | "greater" => {
                self.at += 1;
                let TokenKind::Number(length) = *self.kind() else {
                    return Err(self.unexpected("a length"));
                };
                self.at += 1;
                match word {
                    "less" => PrimitiveKind::Less(length),
                    _ => PrimitiveKind::Greater(length),
                }
            }
            "vlan" => PrimitiveKind::Vlan(optional(self)),
            "mpls" => PrimitiveKind::Mpls(optional(self)),
            "pppoes" => PrimitiveKind::PppoeSession(optional(self)),
            "pppoed" => {
                self.at += 1;
                PrimitiveKind::PppoeDiscovery
            }
            "inbound" | "outbound" => {
                self.at += 1;
                PrimitiveKind::Outbound(word == "outbound")
            }
            "geneve" => PrimitiveKind::Geneve(optional(self)),
            "llc" => self.llc()?,
            "byte" => self.byte()?,
            _ => match IsisKind::of(word) {
                Some(kind) => {
                    self.at += 1;
                    PrimitiveKind::Isis(kind)
                }
                None => return Ok(None),
            },
        }))
    }

    /// `llc`, `llc rr`
    fn llc(&mut self) -> Parsed<PrimitiveKind> {
        self.at += 1;
        let TokenKind::Name(name) = self.kind() else {
            return Ok(PrimitiveKind::Llc(LlcKind::ALL[0]));
        };
        match LlcKind::of(name) {
            Some(kind) => {
                self.at += 1;
                Ok(PrimitiveKind::Llc(kind))
            }
            None => {
                let names: Vec<&str> = LlcKind::ALL[1..].iter().map(|kind| kind.name).collect();
                let message = format!("no frame of IEEE 802.2 is called `{name}`");
                let help = format!("they are called {}", names.join(", "));
                let diagnostic = Diagnostic::error("unknown-frame", self.span(), message);
                Err(self.note(diagnostic.help(help)))
            }
        }
    }

    /// `byte 12 = 8`
    fn byte(&mut self) -> Parsed<PrimitiveKind> {
        self.at += 1;
        let TokenKind::Number(at) = *self.kind() else {
            return Err(self.unexpected("the place of a byte"));
        };
        self.at += 1;
        let relation = match self.kind() {
            TokenKind::Sign("=") => Relation::Equal,
            TokenKind::Sign("<") => Relation::Less,
            TokenKind::Sign(">") => Relation::Greater,
            TokenKind::Sign("&" | "|") => {
                let message = "libpcap takes this, and never looks at the byte";
                let help = format!("write `ether[{at}] & 2 != 0`");
                let diagnostic = Diagnostic::error("not-supported", self.span(), message);
                return Err(self.note(diagnostic.help(help)));
            }
            _ => return Err(self.unexpected("`=`, `<` or `>`")),
        };
        self.at += 1;
        let TokenKind::Number(number) = *self.kind() else {
            return Err(self.unexpected("a number"));
        };
        self.at += 1;
        Ok(PrimitiveKind::Byte(at, relation, number))
    }

    /// A number, or one in parentheses.
    fn optional_number(&mut self) -> Option<u32> {
        let mut at = self.at;
        while matches!(self.kind_at(at), TokenKind::Sign("(")) {
            at += 1;
        }
        let TokenKind::Number(number) = *self.kind_at(at) else { return None };
        let open = at - self.at;
        let close = |i: usize| matches!(self.kind_at(at + i), TokenKind::Sign(")"));
        if !(1..=open).all(close) {
            return None;
        }
        self.at = at + open + 1;
        Some(number)
    }

    fn direction(&mut self) -> Option<Direction> {
        let word = |at| match *self.kind_at(at) {
            TokenKind::Word(word) => word,
            _ => "",
        };
        let (direction, tokens) = match [0, 1, 2].map(|i| word(self.at + i)) {
            ["src", "or", "dst"] | ["dst", "or", "src"] => (Direction::Either, 3),
            ["src", "and", "dst"] | ["dst", "and", "src"] => (Direction::Both, 3),
            ["src", ..] => (Direction::Source, 1),
            ["dst", ..] => (Direction::Destination, 1),
            _ => return None,
        };
        self.at += tokens;
        Some(direction)
    }

    fn id_kind(&mut self, direction: Option<Direction>) -> Parsed<Option<IdKind>> {
        let kind = match *self.kind() {
            TokenKind::Word("host") => IdKind::Host,
            TokenKind::Word("net") => IdKind::Net,
            TokenKind::Word("port") => IdKind::Port,
            TokenKind::Word("portrange") => IdKind::PortRange,
            TokenKind::Word("proto") => IdKind::Proto,
            TokenKind::Word("protochain") => IdKind::ProtoChain,
            TokenKind::Word(word) => {
                self.refused(word)?;
                return Ok(None);
            }
            _ => return Ok(None),
        };
        if direction.is_some() && matches!(kind, IdKind::Proto | IdKind::ProtoChain) {
            let message = "a protocol has no direction";
            return Err(self.note(Diagnostic::error("bad-qualifier", self.span(), message)));
        }
        self.at += 1;
        Ok(Some(kind))
    }

    /// Words of the language that we do not take.
    fn refused(&mut self, word: &str) -> Parsed<()> {
        let reason = match word {
            "gateway" => "`gateway` needs names of hosts, which are not looked up",
            "ifindex" => "a packet does not carry its interface",
            "radio" | "type" | "subtype" | "dir" | "lane" | "metac" => {
                "this is for other link layers than Ethernet"
            }
            _ => return Ok(()),
        };
        Err(self.note(Diagnostic::error("not-supported", self.span(), reason)))
    }

    /// Something here would be an id, but has no qualifier.
    fn lonely_id(&mut self) -> super::Noted {
        let noted = self.unexpected("a test");
        let help = match self.kind() {
            TokenKind::Dotted(..) | TokenKind::Ip6(_) => "say what it is: `host` or `net`",
            TokenKind::Ethernet(_) => "say what it is: `ether host`",
            TokenKind::Number(_) => "say what it is: `port`, `proto`, `net`",
            TokenKind::Name(_) => "say what it is: `port`, `proto`",
            TokenKind::End => "write a test, such as `tcp` or `port 80`",
            _ => return noted,
        };
        if let Some(last) = self.diagnostics.last_mut() {
            last.help = Some(help.to_owned());
        }
        noted
    }
}
