//! Addresses of IPv6: numbers of 128 bits in two values, the upper half first.

use tidemill_diag::Span;

use super::ast::{Expr, Net, Word};
use super::lower::Lower;
use super::names::{Operand, Type};
use crate::kernel::table::spec::halves;
use crate::kernel::{Operator, Value};

impl Lower<'_> {
    /// Constant halves.
    pub(super) fn wide_constant(&mut self, number: u128) -> [Value; 2] {
        halves(number).map(|half| self.build.constant(half))
    }

    /// The halves of an operand.
    pub(super) fn halves(&mut self, operand: Operand) -> [Value; 2] {
        match operand.high {
            Some(high) => [high, operand.value],
            None => [self.build.constant(0), operand.value],
        }
    }

    /// An operator of which one side at least is an address of IPv6.
    pub(super) fn wide_binary(
        &mut self,
        (operator, span): (&str, Span),
        (a, a_span): (Operand, Span),
        (b, b_span): (Operand, Span),
    ) -> Operand {
        let takes_number = matches!(operator, "<<" | ">>" | "+" | "-");
        let is_known = takes_number
            || matches!(operator, "==" | "!=" | "<" | "<=" | ">" | ">=" | "&" | "|" | "^");
        if !is_known {
            let message = format!("`{operator}` does not take an IPv6 address");
            let help = "`high(address)` and `low(address)` are its halves as numbers";
            self.error("bad-type", span, message, help);
            return self.error_operand();
        }
        self.expect(a, a_span, Type::Ipv6);
        self.expect(b, b_span, if takes_number { Type::Number } else { Type::Ipv6 });
        let (x, number) = (self.halves(a), b.value);
        let y = if takes_number { x } else { self.halves(b) };
        match operator {
            "<<" => Operand::ipv6(self.wide_shift(x, number, [Operator::Shl, Operator::Shr])),
            ">>" => {
                let [low, high] =
                    self.wide_shift([x[1], x[0]], number, [Operator::Shr, Operator::Shl]);
                Operand::ipv6([high, low])
            }
            "+" | "-" => Operand::ipv6(self.wide_sum(x, number, operator == "+")),
            "&" => Operand::ipv6(self.wide_bits(Operator::And, x, y)),
            "|" => Operand::ipv6(self.wide_bits(Operator::Or, x, y)),
            "^" => Operand::ipv6(self.wide_bits(Operator::Xor, x, y)),
            "==" | "!=" => {
                let differ = self.wide_bits(Operator::Xor, x, y);
                let differ = self.build.binary(Operator::Or, differ[0], differ[1]);
                let compare = if operator == "==" { Operator::Eq } else { Operator::Ne };
                Operand::bool(self.with(compare, differ, 0))
            }
            "<" => Operand::bool(self.wide_less(Operator::Lt, x, y)),
            "<=" => Operand::bool(self.wide_less(Operator::Le, x, y)),
            ">" => Operand::bool(self.wide_less(Operator::Lt, y, x)),
            _ => Operand::bool(self.wide_less(Operator::Le, y, x)),
        }
    }

    fn wide_bits(&mut self, operator: Operator, x: [Value; 2], y: [Value; 2]) -> [Value; 2] {
        [0, 1].map(|half| self.build.binary(operator, x[half], y[half]))
    }

    /// `~address`
    pub(super) fn wide_not(&mut self, x: [Value; 2]) -> [Value; 2] {
        x.map(|half| self.with(Operator::Xor, half, u64::MAX))
    }

    /// Moves bits from the second half towards the first by an operator, whose opposite moves them
    /// back. A shift by 64 or more gives 0, and so does one by a difference below 0.
    pub(super) fn wide_shift(
        &mut self,
        [to, from]: [Value; 2],
        by: Value,
        [forth, back]: [Operator; 2],
    ) -> [Value; 2] {
        let word = self.build.constant(64);
        let rest = self.build.binary(Operator::Sub, word, by);
        let beyond = self.build.binary(Operator::Sub, by, word);
        let moved = self.build.binary(forth, to, by);
        let crossed = self.build.binary(back, from, rest);
        let passed = self.build.binary(forth, from, beyond);
        let moved = self.build.binary(Operator::Or, moved, crossed);
        let first = self.build.binary(Operator::Or, moved, passed);
        [first, self.build.binary(forth, from, by)]
    }

    fn wide_sum(&mut self, [high, low]: [Value; 2], number: Value, is_sum: bool) -> [Value; 2] {
        let operator = if is_sum { Operator::Add } else { Operator::Sub };
        let sum = self.build.binary(operator, low, number);
        let carry = match operator {
            Operator::Add => self.build.binary(Operator::Lt, sum, low),
            _ => self.build.binary(Operator::Lt, low, number),
        };
        [self.build.binary(operator, high, carry), sum]
    }

    /// Compares the upper halves; if they are equal, the lower ones by the operator.
    fn wide_less(&mut self, operator: Operator, x: [Value; 2], y: [Value; 2]) -> Value {
        let is_less = self.build.binary(Operator::Lt, x[0], y[0]);
        let are_equal = self.build.binary(Operator::Eq, x[0], y[0]);
        let low = self.build.binary(operator, x[1], y[1]);
        let low = self.build.binary(Operator::And, are_equal, low);
        self.build.binary(Operator::Or, is_less, low)
    }

    /// `address in "net/length"`
    pub(super) fn is_in(&mut self, address: &Expr, net: Net) -> Operand {
        let kind = if net.is_ipv6 { Type::Ipv6 } else { Type::Number };
        let address = self.typed(address, kind);
        let mut differ = self.build.constant(0);
        let words = self.halves(address).into_iter().zip(halves(net.net));
        for ((word, net), mask) in words.zip(halves(net.mask)).skip(usize::from(!net.is_ipv6)) {
            if mask == 0 {
                continue;
            }
            // An address of IPv4 has no more bits than its prefix.
            let kept = match mask {
                u64::MAX => word,
                mask => self.with(Operator::And, word, mask),
            };
            let one = self.with(Operator::Xor, kept, net);
            differ = self.build.binary(Operator::Or, differ, one);
        }
        Operand::bool(self.with(Operator::Eq, differ, 0))
    }

    /// `high(address)`, `low(address)` and `ipv6(high, low)`; nothing, if it is none of them.
    pub(super) fn wide_call(&mut self, name: &Word, arguments: &[Expr]) -> Option<Operand> {
        match (name.text.as_str(), arguments) {
            ("high", [of]) => {
                let of = self.typed(of, Type::Ipv6);
                Some(Operand::number(self.halves(of)[0]))
            }
            ("low", [of]) => Some(Operand::number(self.typed(of, Type::Ipv6).value)),
            ("ipv6", [high, low]) => {
                let halves = [high, low].map(|half| self.number(half));
                Some(Operand::ipv6(halves))
            }
            _ => None,
        }
    }
}
