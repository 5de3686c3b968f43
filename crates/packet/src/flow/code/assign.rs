//! Fields of headers: read, changed, and checksums corrected by difference (RFC 1624).

use super::headers::{Field, Header};
use super::lower::{Lower, Present};
use crate::kernel::{Operator, Value, Width};

impl Lower<'_> {
    fn width(bytes: u32) -> Width {
        Width::ALL.into_iter().find(|width| width.bytes() == bytes).unwrap_or(Width::W16)
    }

    pub(super) fn load_at(&mut self, base: Option<Value>, offset: u32, width: Width) -> Value {
        match base {
            Some(base) => self.build.load_at(width, base, offset),
            None => self.build.load(width, offset),
        }
    }

    fn store_at(&mut self, base: Option<Value>, offset: u32, width: Width, value: Value) {
        match base {
            Some(base) => self.build.store_at(width, base, offset, value),
            None => self.build.store(width, offset, value),
        }
    }

    fn unit(&mut self, base: Option<Value>, field: &Field) -> Value {
        if field.bytes != 6 {
            return self.load_at(base, field.offset, Self::width(field.bytes));
        }
        let high = self.load_at(base, field.offset, Width::W16);
        let low = self.load_at(base, field.offset + 2, Width::W32);
        let high = self.with(Operator::Shl, high, 32);
        self.build.binary(Operator::Or, high, low)
    }

    /// The number of a field.
    pub(super) fn field(&mut self, base: Option<Value>, field: &Field) -> Value {
        let mut value = self.unit(base, field);
        if field.shift > 0 {
            value = self.with(Operator::Shr, value, field.shift.into());
        }
        if field.shift + field.bits < field.bytes * 8 {
            value = self.with(Operator::And, value, mask(field.bits));
        }
        value
    }

    /// Changes a field: its low bits, and what sums cover it unless it is raw.
    pub(super) fn assign(&mut self, at: Present, field: &Field, value: Value, is_raw: bool) {
        let old = self.unit(at.base, field);
        let value = self.with(Operator::And, value, mask(field.bits));
        let value = match field.shift {
            0 => value,
            shift => self.with(Operator::Shl, value, shift.into()),
        };
        let kept = mask(field.bytes * 8) & !(mask(field.bits) << field.shift);
        let kept = self.with(Operator::And, old, kept);
        let new = self.build.binary(Operator::Or, kept, value);
        match field.bytes {
            6 => {
                let high = self.with(Operator::Shr, new, 32);
                self.store_at(at.base, field.offset, Width::W16, high);
                self.store_at(at.base, field.offset + 2, Width::W32, new);
            }
            bytes => self.store_at(at.base, field.offset, Self::width(bytes), new),
        }
        if is_raw || field.name == "checksum" {
            return;
        }
        let sum = at.header.checksum();
        let is_pseudo = at.header.is_pseudo(field);
        if sum.is_none() && !is_pseudo {
            return;
        }
        let mut difference = self.difference(field, old, new);
        if at.header == Header::Udp && field.name == "length" {
            // It is in the pseudo-header as well.
            difference = self.build.binary(Operator::Add, difference, difference);
        }
        if let Some(sum) = sum {
            match at.header {
                Header::Udp => self.correct_udp(at.base, sum, difference),
                _ => self.correct(at.base, sum, difference, false),
            }
        }
        if is_pseudo {
            self.correct_transport(at, difference);
        }
    }

    /// The sum of `~m + m'` over the words of 16 bits that the unit is part of.
    fn difference(&mut self, field: &Field, old: Value, new: Value) -> Value {
        let words = field.bytes.div_ceil(2);
        let mut sum = self.build.constant(u64::from(words) * 0xFFFF);
        for word in 0..words {
            let [old, new] = [old, new].map(|unit| match (field.bytes, field.offset % 2) {
                (1, 0) => self.with(Operator::Shl, unit, 8),
                (1, _) => unit,
                _ => {
                    let unit = match (words - 1 - word) * 16 {
                        0 => unit,
                        shift => self.with(Operator::Shr, unit, shift.into()),
                    };
                    self.with(Operator::And, unit, 0xFFFF)
                }
            });
            sum = self.build.binary(Operator::Sub, sum, old);
            sum = self.build.binary(Operator::Add, sum, new);
        }
        sum
    }

    /// HC' = ~(~HC + ~m + m').
    fn correct(&mut self, base: Option<Value>, offset: u32, difference: Value, is_udp: bool) {
        let old = self.load_at(base, offset, Width::W16);
        let old = self.with(Operator::Xor, old, 0xFFFF);
        let mut sum = self.build.binary(Operator::Add, old, difference);
        for _ in 0..2 {
            let low = self.with(Operator::And, sum, 0xFFFF);
            let carry = self.with(Operator::Shr, sum, 16);
            sum = self.build.binary(Operator::Add, low, carry);
        }
        let mut new = self.with(Operator::Xor, sum, 0xFFFF);
        if is_udp {
            let is_none = self.with(Operator::Eq, new, 0);
            let ones = self.with(Operator::Mul, is_none, 0xFFFF);
            new = self.build.binary(Operator::Or, new, ones);
        }
        self.store_at(base, offset, Width::W16, new);
    }

    /// A sum of 0 stays: there is none.
    fn correct_udp(&mut self, base: Option<Value>, offset: u32, difference: Value) {
        let old = self.load_at(base, offset, Width::W16);
        let mut missed = Vec::new();
        self.guard(old, &mut missed);
        self.correct(base, offset, difference, true);
        self.join(missed);
    }

    /// Corrects the sum of the TCP, UDP or ICMPv6 behind an IP header.
    fn correct_transport(&mut self, at: Present, difference: Value) {
        let Some(next) = at.next else { return };
        for (protocol, offset) in [(6, 16), (17, 6), (58, 2)] {
            if protocol == 58 && at.header == Header::Ipv4 {
                continue;
            }
            let mut missed = Vec::new();
            let is = self.carries(at, protocol);
            self.guard(is, &mut missed);
            self.has(Some(next), offset + 2, &mut missed);
            match protocol {
                17 => self.correct_udp(Some(next), offset, difference),
                _ => self.correct(Some(next), offset, difference, false),
            }
            self.join(missed);
        }
    }

    /// Whether an IP header carries the beginning of a protocol, by number.
    pub(super) fn carries(&mut self, at: Present, protocol: u64) -> Value {
        if at.header == Header::Ipv6 {
            let next = self.load_at(at.base, 6, Width::W8);
            return self.with(Operator::Eq, next, protocol);
        }
        let is = self.load_at(at.base, 9, Width::W8);
        let is = self.with(Operator::Eq, is, protocol);
        let fragment = self.load_at(at.base, 6, Width::W16);
        let fragment = self.with(Operator::And, fragment, 0x1FFF);
        let is_first = self.with(Operator::Eq, fragment, 0);
        self.build.binary(Operator::And, is, is_first)
    }
}

fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}
