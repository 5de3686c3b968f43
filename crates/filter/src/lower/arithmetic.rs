//! Relations between numbers, and what has to be before a header can be read.

use super::condition::Condition;
use super::headers::{Field, Number};
use super::layout::HeaderStart;
use super::{Lower, Lowered};
use crate::ast::{Arithmetic, ArithmeticKind, Operator, Protocol, Relation};
use crate::graph::{Check, Comparison, Test, Value, Width};
use tidemill_diag::Span;

/// A number and the condition under which its headers exist, in the order of tests.
struct Computed {
    number: Number,
    before: Option<Condition>,
}

impl Lower {
    pub(super) fn relation(
        &mut self,
        relation: Relation,
        left: &Arithmetic,
        right: &Arithmetic,
    ) -> Lowered<Condition> {
        let left = self.arithmetic(left)?;
        let right = self.arithmetic(right)?;
        let mut checks = left.number.checks;
        checks.extend(right.number.checks);
        let (comparison, holds) = match relation {
            Relation::Equal => (Comparison::Equal, true),
            Relation::NotEqual => (Comparison::Equal, false),
            Relation::Greater => (Comparison::Greater, true),
            Relation::LessOrEqual => (Comparison::Greater, false),
            Relation::GreaterOrEqual => (Comparison::GreaterOrEqual, true),
            Relation::Less => (Comparison::GreaterOrEqual, false),
        };
        let (left_value, right_value) = (left.number.value, right.number.value);
        let test = Test { comparison, left: left_value, right: right_value };
        let test = Condition::Test(checks, test);
        let test = if holds { test } else { test.not() };
        let before = [left.before, right.before].into_iter().flatten();
        let all: Vec<Condition> = before.chain([test]).collect();
        Ok(Condition::And(all))
    }

    fn arithmetic(&mut self, arithmetic: &Arithmetic) -> Lowered<Computed> {
        let plain = |value| Computed { number: Number { value, checks: Vec::new() }, before: None };
        match &arithmetic.kind {
            ArithmeticKind::Number(number) => Ok(plain(self.values.constant(*number))),
            ArithmeticKind::Length => Ok(plain(self.values.add(Value::Length))),
            ArithmeticKind::Negate(inner) => {
                let mut inner = self.arithmetic(inner)?;
                let zero = self.values.constant(0);
                let value = self.values.binary(Operator::Subtract, zero, inner.number.value);
                inner.number.value = value;
                Ok(inner)
            }
            ArithmeticKind::Binary(operator, left, right) => {
                let a = self.arithmetic(left)?;
                let b = self.arithmetic(right)?;
                self.operation(*operator, a, b, right)
            }
            ArithmeticKind::Load(protocol, index, bytes) => {
                let index = self.arithmetic(index)?;
                self.packet(*protocol, index, *bytes, arithmetic)
            }
        }
    }

    fn operation(
        &mut self,
        operator: Operator,
        left: Computed,
        right: Computed,
        written: &Arithmetic,
    ) -> Lowered<Computed> {
        let divides = matches!(operator, Operator::Divide | Operator::Remainder);
        if let ArithmeticKind::Number(number) = written.kind {
            if divides && number == 0 {
                let message = "division by zero rejects every packet";
                return Err(self.error("zero-divisor", written.span, message));
            }
            let shifts = matches!(operator, Operator::ShiftLeft | Operator::ShiftRight);
            if shifts && number > 31 {
                let message = "a shift by more than 31 leaves nothing";
                return Err(self.error("wide-shift", written.span, message));
            }
        }
        let mut checks = left.number.checks;
        checks.extend(right.number.checks);
        let (a, b) = (left.number.value, right.number.value);
        if divides && self.values.as_constant(b).is_none_or(|divisor| divisor == 0) {
            checks.push(Check::Divisor(b));
        }
        let value = self.values.binary(operator, a, b);
        // As in libpcap, the headers of the right side are not checked.
        Ok(Computed { number: Number { value, checks }, before: left.before })
    }

    /// `protocol[index : bytes]`
    fn packet(
        &mut self,
        protocol: Protocol,
        index: Computed,
        bytes: u32,
        written: &Arithmetic,
    ) -> Lowered<Computed> {
        let Some(width) = Width::of(bytes) else {
            return Err(self.error("load-size", written.span, "a load has 1, 2 or 4 bytes"));
        };
        let (network, span) = (self.layout.network(), written.span);
        let at = index.number;
        let after = |index: Option<Condition>, all: Vec<Condition>| {
            Some(Condition::And(index.into_iter().chain(all).collect()))
        };
        use Protocol as P;
        match protocol {
            P::Link => Ok(self.at_header(self.layout.link_header, at, width, index.before)),
            P::Ip
            | P::Ip6
            | P::Arp
            | P::Rarp
            | P::Atalk
            | P::Aarp
            | P::Decnet
            | P::Lat
            | P::Sca
            | P::Moprc
            | P::Mopdl => {
                let own = self.protocol_alone(protocol, span)?;
                let before = after(index.before, vec![own]);
                Ok(self.at_header(network, at, width, before))
            }
            P::Tcp
            | P::Udp
            | P::Sctp
            | P::Icmp
            | P::Igmp
            | P::Igrp
            | P::Pim
            | P::Vrrp
            | P::Carp => {
                let index = Computed { number: at, before: index.before };
                self.transport(protocol, index, width, span)
            }
            P::Icmp6 => {
                let ip6 = self.protocol_alone(P::Ip6, span)?;
                let next = self.equals(Field::Network(6), Width::Byte, 58);
                let before = after(index.before, vec![ip6, next]);
                Ok(self.at_header(network.plus(40), at, width, before))
            }
            other => {
                let message = format!("`{}` has no bytes to index", other.keyword());
                Err(self.error("bad-index", span, message))
            }
        }
    }

    /// Bytes of a header, counted from where it starts.
    fn at_header(
        &mut self,
        start: HeaderStart,
        index: Number,
        width: Width,
        before: Option<Condition>,
    ) -> Computed {
        let Number { value: at, mut checks } = index;
        let at = self.after(at, start.base);
        let Number { value, checks: more } = self.load_from(Some(at), start.offset, width);
        checks.extend(self.after_tunnels(start.base, more));
        Computed { number: Number { value, checks }, before }
    }

    /// `protocol[index : bytes]` of what is carried by IP, after its header.
    fn transport(
        &mut self,
        protocol: Protocol,
        index: Computed,
        width: Width,
        span: Span,
    ) -> Lowered<Computed> {
        let network = self.layout.network();
        let Number { value: at, mut checks } = index.number;
        let ip = self.protocol_alone(Protocol::Ip, span)?;
        let own = self.protocol_alone(protocol, span)?;
        let whole = self.first_fragment();
        let before = [ip].into_iter().chain(index.before).chain([own, whole]).collect();
        let header = self.header_bytes();
        checks.extend(header.checks);
        let before = Some(Condition::And(before));
        let at = self.values.binary(Operator::Add, at, header.value);
        let at = self.after(at, network.base);
        let Number { value, checks: more } = self.load_from(Some(at), network.offset, width);
        checks.extend(more);
        Ok(Computed { number: Number { value, checks }, before })
    }
}
