//! Ids: the operands of qualifiers, also where the qualifiers are implied.

use tidemill_diag::Diagnostic;

use super::{Parsed, Parser};
use crate::ast::{Expr, IdKind, Operand, Primitive, PrimitiveKind};
use crate::lex::TokenKind;

impl Parser<'_> {
    /// True if an id begins here, or several in parentheses.
    pub(super) fn id_begins(&self) -> bool {
        self.id_begins_at(self.at)
    }

    pub(super) fn id_begins_after_not(&self) -> bool {
        let mut at = self.at;
        while matches!(self.kind_at(at), TokenKind::Word("not")) {
            at += 1;
        }
        self.id_begins_at(at)
    }

    fn id_begins_at(&self, mut at: usize) -> bool {
        let is_open = |at| matches!(self.kind_at(at), TokenKind::Sign("("));
        let closing = |at: usize| self.closing.get(at).copied().unwrap_or(usize::MAX);
        while is_open(at) {
            // `(80) = len`, `(80) + 1 = len`
            if closing(at) < usize::MAX
                && matches!(self.kind_at(closing(at) + 1), TokenKind::Sign(sign) if *sign != ")")
            {
                return false;
            }
            at += 1;
            while matches!(self.kind_at(at), TokenKind::Word("not")) {
                at += 1;
            }
        }
        match self.kind_at(at) {
            TokenKind::Number(_) => {
                !matches!(self.kind_at(at + 1), TokenKind::Sign(sign) if *sign != ")")
            }
            TokenKind::Dotted(..)
            | TokenKind::Ip6(_)
            | TokenKind::Ethernet(_)
            | TokenKind::Name(_) => true,
            _ => false,
        }
    }

    /// Ids that have the qualifiers of the operand before.
    pub(super) fn ids(&mut self) -> Parsed<Expr> {
        if self.implied.is_none() {
            let span = self.span();
            let message = "nothing before says what this is";
            let help = "qualifiers are those of the test before it, which has none: \
                        write `port`, `host` and so on";
            let diagnostic = Diagnostic::error("no-qualifier", span, message).help(help);
            return Err(self.note(diagnostic));
        }
        self.ids_of(self.at)
    }

    /// Ids of the qualifiers that are set; `start` is where those begin.
    pub(super) fn ids_of(&mut self, start: usize) -> Parsed<Expr> {
        self.deeper(|parser| {
            if parser.take_word("not") {
                return Ok(Expr::Not(Box::new(parser.ids_of(parser.at)?)));
            }
            if parser.is_sign("(") {
                return parser.parentheses(|parser| parser.ids_of(parser.at));
            }
            let qualifiers = parser.implied.ok_or_else(|| parser.unexpected("a test"))?;
            let operand = parser.operand_of(qualifiers.kind)?;
            let kind = PrimitiveKind::Qualified(qualifiers, operand);
            Ok(Expr::Primitive(Primitive { kind, span: parser.since(start) }))
        })
    }

    fn operand_of(&mut self, kind: Option<IdKind>) -> Parsed<Operand> {
        let wanted = match kind {
            None | Some(IdKind::Host) => "an address",
            Some(IdKind::Net) => "a network",
            Some(IdKind::Port) => "a port",
            Some(IdKind::PortRange) => "a range of ports (`6000-6008`)",
            Some(IdKind::Proto | IdKind::ProtoChain) => "a protocol",
        };
        let (start, token) = (self.at, self.kind().clone());
        if matches!(token, TokenKind::End | TokenKind::Sign(_) | TokenKind::Word(_)) {
            let noted = self.unexpected(wanted);
            if let (TokenKind::Word(word), Some(last)) = (token, self.diagnostics.last_mut())
                && !matches!(word, "and" | "or" | "not")
            {
                last.help = Some(format!("a keyword is a name with a backslash: `\\{word}`"));
            }
            return Err(noted);
        }
        self.at += 1;
        Ok(match token {
            TokenKind::Number(number) => Operand::Number(number),
            TokenKind::Dotted(value, bits) => self.network(start, value, bits)?,
            TokenKind::Ip6(address) => {
                let length = if self.take_sign("/") { Some(self.prefix(128)?) } else { None };
                Operand::Ip6(address, length)
            }
            TokenKind::Ethernet(bytes) => Operand::Ethernet(bytes),
            TokenKind::Name(name) => Operand::Name(name),
            TokenKind::End | TokenKind::Sign(_) | TokenKind::Word(_) => {
                return Err(self.unexpected(wanted));
            }
        })
    }

    /// `10.1`, `10.1/16`, `10.1 mask 255.255.0.0`
    fn network(&mut self, start: usize, value: u32, bits: u32) -> Parsed<Operand> {
        let whole = value << (32 - bits);
        if self.take_sign("/") {
            let length = self.prefix(32)?;
            let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
            self.only_network_bits(start, u128::from(whole), u128::from(mask))?;
            return Ok(Operand::Prefix { value: whole, length });
        }
        if self.take_word("mask") {
            let TokenKind::Dotted(mask, bits) = *self.kind() else {
                return Err(self.unexpected("a mask (`255.255.0.0`)"));
            };
            self.at += 1;
            let mask = mask << (32 - bits);
            self.only_network_bits(start, u128::from(whole), u128::from(mask))?;
            return Ok(Operand::Masked { value: whole, mask });
        }
        Ok(Operand::Dotted { value, bits })
    }

    fn only_network_bits(&mut self, start: usize, value: u128, mask: u128) -> Parsed<()> {
        if value & !mask == 0 {
            return Ok(());
        }
        let message = "the address has bits outside its mask, so it equals no network";
        Err(self.note(Diagnostic::error("host-bits", self.since(start), message)))
    }

    fn prefix(&mut self, length_max: u32) -> Parsed<u32> {
        let start = self.at - 2;
        match *self.kind() {
            TokenKind::Number(length) if length <= length_max => {
                self.at += 1;
                if length_max == 128
                    && let TokenKind::Ip6(address) = *self.kind_at(start)
                {
                    let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
                    self.only_network_bits(start, address.to_bits(), mask)?;
                }
                Ok(length)
            }
            TokenKind::Number(_) => {
                let message = format!("a prefix has at most {length_max} bits");
                Err(self.note(Diagnostic::error("prefix-length", self.span(), message)))
            }
            _ => Err(self.unexpected("the length of the prefix")),
        }
    }
}
