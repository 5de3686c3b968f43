//! Fields of headers: read, changed, and checksums corrected by difference (RFC 1624).

use super::headers::{Field, Header};
use super::lower::Lower;
use super::names::{Base, Operand, Present};
use crate::kernel::table::spec::low_bits;
use crate::kernel::{BlockId, Operator, Value, Width};

impl Lower<'_> {
    pub(super) fn load_at(&mut self, base: Base, offset: u32, width: Width) -> Value {
        let base = self.resolved(base);
        let offset = base.offset + offset;
        match base.value {
            Some(base) => self.build.load_at(width, base, offset),
            None => self.build.load(width, offset),
        }
    }

    pub(super) fn store_at(&mut self, base: Base, offset: u32, width: Width, value: Value) {
        let base = self.resolved(base);
        let offset = base.offset + offset;
        match base.value {
            Some(base) => self.build.store_at(width, base, offset, value),
            None => self.build.store(width, offset, value),
        }
    }

    fn unit(&mut self, base: Base, field: &Field) -> Value {
        let mut unit = None;
        for (offset, width) in pieces(field.bytes) {
            let piece = self.load_at(base, field.offset + offset, width);
            unit = Some(match unit {
                None => piece,
                Some(above) => {
                    let above = self.with(Operator::Shl, above, (width.bytes() * 8).into());
                    self.build.binary(Operator::Or, above, piece)
                }
            });
        }
        unit.unwrap_or_else(|| self.build.constant(0))
    }

    /// The number of a field.
    pub(super) fn field(&mut self, base: Base, field: &Field) -> Value {
        let mut value = self.unit(base, field);
        if field.shift > 0 {
            value = self.with(Operator::Shr, value, field.shift.into());
        }
        if field.shift + field.bits < field.bytes * 8 {
            value = self.with(Operator::And, value, low_bits(field.bits));
        }
        value
    }

    /// The number of a field, or the address in it.
    pub(super) fn read_field(&mut self, base: Base, field: &Field) -> Operand {
        let halves: Vec<Value> = field.halves().map(|half| self.field(base, &half)).collect();
        match halves[..] {
            [high, low] => Operand::ipv6([high, low]),
            _ => Operand::number(halves[0]),
        }
    }

    /// Changes a field to an operand of its type.
    pub(super) fn write_field(&mut self, at: Present, field: &Field, to: Operand, is_raw: bool) {
        for (half, value) in field.halves().zip(to.words()) {
            self.assign(at, &half, value, is_raw);
        }
    }

    /// Changes a field: its low bits, and what sums cover it unless it is raw.
    pub(super) fn assign(&mut self, at: Present, field: &Field, value: Value, is_raw: bool) {
        let kept = low_bits(field.bytes * 8) & !(low_bits(field.bits) << field.shift);
        let (sum, is_pseudo) = (at.header.checksum(), at.header.is_pseudo(field));
        let is_summed = at.covered_by.is_some() || sum.is_some() || is_pseudo;
        let is_summed = is_summed && !is_raw && field.name != "checksum";
        let old =
            if is_summed || kept != 0 { self.unit(at.base, field) } else { self.build.constant(0) };
        let value = self.with(Operator::And, value, low_bits(field.bits));
        let value = match field.shift {
            0 => value,
            shift => self.with(Operator::Shl, value, shift.into()),
        };
        let kept = self.with(Operator::And, old, kept);
        let new = self.build.binary(Operator::Or, kept, value);
        for (offset, width) in pieces(field.bytes) {
            let below = (field.bytes - offset - width.bytes()) * 8;
            let piece = match below {
                0 => new,
                below => self.with(Operator::Shr, new, below.into()),
            };
            self.store_at(at.base, field.offset + offset, width, piece);
        }
        if !is_summed {
            return;
        }
        if let Some(cover) = at.covered_by {
            return self.correct_cover(at, cover, field, [old, new]);
        }
        let mut difference = self.difference(field, old, new);
        if at.header == Header::Udp && field.name == "length" {
            // It is in the pseudo-header as well.
            difference = self.build.binary(Operator::Add, difference, difference);
        }
        if let Some(sum) = sum {
            self.correct_sum(at.header, at.base, sum, difference);
        }
        if is_pseudo {
            self.correct_transport(at, difference);
        }
    }

    fn correct_sum(&mut self, header: Header, base: Base, sum: u32, difference: Value) {
        match header {
            Header::Udp => self.correct_udp(base, sum, difference),
            _ => self.correct(base, sum, difference, false),
        }
    }

    /// A field of what a header carries has changed, which the checksum of that covers. Where the
    /// field begins at an odd byte of it, the halves of all its words change places (RFC 1071).
    fn correct_cover(
        &mut self,
        at: Present,
        (cover, base): (Header, Base),
        field: &Field,
        [old, new]: [Value; 2],
    ) {
        let Some(sum) = cover.checksum() else { return };
        let even = Field { offset: 0, ..*field };
        let difference = self.difference(&even, old, new);
        let difference = self.with(Operator::Sum16, difference, 0);
        let halves = [(Operator::Shl, 8), (Operator::Shr, 8)];
        let [low, high] = halves.map(|(operator, by)| self.with(operator, difference, by));
        let swapped = self.build.binary(Operator::Or, low, high);
        let swapped = self.with(Operator::And, swapped, 0xFFFF);
        let (start, from) = (at.base.plus(field.offset), base);
        let difference = if start.value == from.value {
            if (start.offset - from.offset) % 2 == 1 { swapped } else { difference }
        } else {
            let (start, from) = (self.value_of(start), self.value_of(from));
            let odd = self.build.binary(Operator::Xor, start, from);
            let odd = self.with(Operator::And, odd, 1);
            let even = self.with(Operator::Xor, odd, 1);
            let swapped = self.build.binary(Operator::Mul, swapped, odd);
            let plain = self.build.binary(Operator::Mul, difference, even);
            self.build.binary(Operator::Or, swapped, plain)
        };
        self.correct_sum(cover, base, sum, difference);
    }

    /// The sum of `~m + m'` over the words of 16 bits that the unit is part of.
    fn difference(&mut self, field: &Field, old: Value, new: Value) -> Value {
        let words = field.bytes.div_ceil(2);
        let ones = self.build.constant(u64::from(words) * 0xFFFF);
        let [mut before, mut after] = [(); 2].map(|()| self.build.constant(0));
        for word in 0..words {
            let [old, new] = [old, new].map(|unit| match (field.bytes, field.offset % 2) {
                (1, 1) => unit,
                _ => {
                    // A last byte alone is the upper half of its word.
                    let end = (word + 1) * 2;
                    let unit = match (field.bytes * 8).checked_sub(end * 8) {
                        None => self.with(Operator::Shl, unit, 8),
                        Some(0) => unit,
                        Some(below) => self.with(Operator::Shr, unit, below.into()),
                    };
                    self.with(Operator::And, unit, 0xFFFF)
                }
            });
            before = self.build.binary(Operator::Add, before, old);
            after = self.build.binary(Operator::Add, after, new);
        }
        // What is known already comes first, as it is added now.
        if self.build.constant_of(after).is_some() {
            let known = self.build.binary(Operator::Add, ones, after);
            return self.build.binary(Operator::Sub, known, before);
        }
        let old = self.build.binary(Operator::Sub, ones, before);
        self.build.binary(Operator::Add, old, after)
    }

    /// HC' = ~(~HC + ~m + m').
    fn correct(&mut self, base: Base, offset: u32, difference: Value, is_udp: bool) {
        let old = self.load_at(base, offset, Width::W16);
        let old = self.with(Operator::Xor, old, 0xFFFF);
        let sum = self.build.binary(Operator::Sum16, old, difference);
        let mut new = self.with(Operator::Xor, sum, 0xFFFF);
        if is_udp {
            let is_none = self.with(Operator::Eq, new, 0);
            let ones = self.with(Operator::Mul, is_none, 0xFFFF);
            new = self.build.binary(Operator::Or, new, ones);
        }
        self.store_at(base, offset, Width::W16, new);
    }

    /// A sum of 0 stays: there is none.
    fn correct_udp(&mut self, base: Base, offset: u32, difference: Value) {
        let old = self.load_at(base, offset, Width::W16);
        let mut missed = Vec::new();
        self.guard(old, &mut missed);
        self.correct(base, offset, difference, true);
        self.join(missed);
    }

    /// Corrects the sum of the TCP, UDP or ICMPv6 after an IP header.
    fn correct_transport(&mut self, at: Present, difference: Value) {
        let Some(next) = at.next else { return };
        let mut ends = Vec::new();
        for (protocol, offset) in [(6, 16), (17, 6), (58, 2)] {
            if protocol == 58 && at.header == Header::Ipv4 {
                continue;
            }
            let mut others = Vec::new();
            let is = self.is_protocol(at, protocol);
            self.guard(is, &mut others);
            if at.protocol.is_none() {
                let is_first = self.is_first_fragment(at);
                self.guard(is_first, &mut ends);
            }
            self.has(next, offset + 2, &mut ends);
            match protocol {
                17 => self.correct_udp(next, offset, difference),
                _ => self.correct(next, offset, difference, false),
            }
            ends.push(self.here);
            others.into_iter().for_each(|other| self.at(other));
        }
        self.join(ends);
    }

    /// Whether the protocol after an IP header is this, by number.
    fn is_protocol(&mut self, at: Present, protocol: u64) -> Value {
        let next = at.protocol.unwrap_or_else(|| self.load_at(at.base, 9, Width::W8));
        self.with(Operator::Eq, next, protocol)
    }

    /// Continues where an IP header carries the beginning of a protocol, by number.
    pub(super) fn guard_carries(&mut self, at: Present, protocol: u64, missed: &mut Vec<BlockId>) {
        let is = self.is_protocol(at, protocol);
        self.guard(is, missed);
        if at.protocol.is_none() {
            let is_first = self.is_first_fragment(at);
            self.guard(is_first, missed);
        }
    }

    /// Whether an IPv4 header carries the first fragment, or all.
    pub(super) fn is_first_fragment(&mut self, at: Present) -> Value {
        let fragment = self.load_at(at.base, 6, Width::W16);
        let fragment = self.with(Operator::And, fragment, 0x1FFF);
        self.with(Operator::Eq, fragment, 0)
    }
}

/// A unit of `bytes` bytes as words, from the first byte on.
fn pieces(bytes: u32) -> Vec<(u32, Width)> {
    match bytes {
        1 => vec![(0, Width::W8)],
        2 => vec![(0, Width::W16)],
        3 => vec![(0, Width::W16), (2, Width::W8)],
        4 => vec![(0, Width::W32)],
        5 => vec![(0, Width::W32), (4, Width::W8)],
        6 => vec![(0, Width::W16), (2, Width::W32)],
        7 => vec![(0, Width::W32), (4, Width::W16), (6, Width::W8)],
        _ => vec![(0, Width::W64)],
    }
}
