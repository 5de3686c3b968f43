//! Fields of headers: their loads, and tests of them.

use super::Lower;
use super::condition::Condition;
use super::layout::HeaderStart;
use crate::ast::Operator;
use crate::graph::{Check, Comparison, Test, Value, ValueId, Width};

/// A field at a fixed distance from a header.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field {
    /// Where a header begins, or within it.
    At(HeaderStart),
    /// From the network header.
    Network(u32),
    /// From the transport header after an IPv4 header.
    Transport4(u32),
    /// From the transport header after a plain IPv6 header.
    Transport6(u32),
}

/// A number that a test compares, and what was checked to have it.
pub(super) struct Number {
    pub value: ValueId,
    pub checks: Vec<Check>,
}

impl Lower {
    /// Loads a field, with the checks of that.
    pub(super) fn load(&mut self, field: Field, width: Width) -> Number {
        let network = self.layout.network();
        let number = match field {
            Field::At(start) => self.load_from(start.base, start.offset, width),
            Field::Network(offset) => {
                let start = network.plus(offset);
                self.load_from(start.base, start.offset, width)
            }
            Field::Transport6(offset) => {
                let start = network.plus(40 + offset);
                self.load_from(start.base, start.offset, width)
            }
            Field::Transport4(offset) => {
                let Number { value: base, mut checks } = self.header_bytes();
                let base = self.after(base, network.base);
                let Number { value, checks: more } =
                    self.load_from(Some(base), network.offset + offset, width);
                checks.extend(more);
                Number { value, checks }
            }
        };
        let base = if let Field::At(start) = field { start.base } else { network.base };
        Number { checks: self.after_tunnels(base, number.checks), ..number }
    }

    /// The checks that lead to a header after `base`, before the given ones.
    pub(super) fn after_tunnels(&self, base: Option<ValueId>, checks: Vec<Check>) -> Vec<Check> {
        match base {
            Some(_) => self.tunnels.iter().copied().chain(checks).collect(),
            None => checks,
        }
    }

    pub(super) fn load_from(&mut self, base: Option<ValueId>, offset: u32, width: Width) -> Number {
        let (base, offset) = self.near(base, offset, width);
        let end = offset.checked_add(width.bytes());
        // A base that is known counts as offset: one form of each place.
        let known = base.and_then(|base| self.values.as_constant(base));
        let (base, offset, end) = match (known, end) {
            (Some(known), Some(end)) => match end.checked_add(known) {
                Some(end) => (None, end - width.bytes(), Some(end)),
                None => (base, offset, Some(end)),
            },
            _ => (base, offset, end),
        };
        let value = self.values.add(Value::Load { width, base, offset });
        // No packet has more than 2^32 bytes.
        let end = end.unwrap_or(u32::MAX);
        Number { value, checks: vec![Check::Bound { base, end }] }
    }

    /// `[(13 + v3) + 14]` is `[v3 + 27]` where nothing can wrap: one bound for many bytes.
    fn near(&self, base: Option<ValueId>, offset: u32, width: Width) -> (Option<ValueId>, u32) {
        let moved = || {
            let Value::Binary(Operator::Add, left, right) = self.values.get(base?) else {
                return None;
            };
            let (constant, other) = match (self.values.as_constant(left), right) {
                (Some(constant), other) => (constant, other),
                (None, _) => (self.values.as_constant(right)?, left),
            };
            self.values.range(other).max.checked_add(constant)?;
            let offset = offset.checked_add(constant)?;
            offset.checked_add(width.bytes())?;
            Some((Some(other), offset))
        };
        moved().unwrap_or((base, offset))
    }

    /// The sum of two distances, of which one may be none.
    pub(super) fn after(&mut self, distance: ValueId, base: Option<ValueId>) -> ValueId {
        match base {
            Some(base) => self.values.binary(Operator::Add, distance, base),
            None => distance,
        }
    }

    /// The length of the IPv4 header.
    pub(super) fn header_bytes(&mut self) -> Number {
        let Number { value, checks } = self.load(Field::Network(0), Width::Byte);
        let (mask, four) = (self.values.constant(15), self.values.constant(2));
        let words = self.values.binary(Operator::And, value, mask);
        Number { value: self.values.binary(Operator::ShiftLeft, words, four), checks }
    }

    /// A field compared with a number.
    pub(super) fn test(
        &mut self,
        field: Field,
        width: Width,
        comparison: Comparison,
        number: u32,
    ) -> Condition {
        self.masked(field, width, u32::MAX, comparison, number)
    }

    /// A field equal to a number.
    pub(super) fn equals(&mut self, field: Field, width: Width, number: u32) -> Condition {
        self.test(field, width, Comparison::Equal, number)
    }

    /// The bits of a field that the mask has, compared with a number.
    pub(super) fn masked(
        &mut self,
        field: Field,
        width: Width,
        mask: u32,
        comparison: Comparison,
        number: u32,
    ) -> Condition {
        let Number { value, checks } = self.load(field, width);
        let (mask, right) = (self.values.constant(mask), self.values.constant(number));
        let left = self.values.binary(Operator::And, value, mask);
        Condition::Test(checks, Test { comparison, left, right })
    }

    /// Bytes of the link header: four at a time, from the last.
    pub(super) fn bytes(&mut self, start: HeaderStart, bytes: &[u8]) -> Condition {
        let mut end = bytes.len();
        let mut all = Vec::new();
        while end > 0 {
            let width = match end {
                4.. => Width::Word,
                2 | 3 => Width::Half,
                _ => Width::Byte,
            };
            let from = end - width.bytes() as usize;
            let number = bytes[from..end].iter().fold(0, |sum, &byte| sum << 8 | u32::from(byte));
            all.push(self.equals(Field::At(start.plus(from as u32)), width, number));
            end = from;
        }
        Condition::And(all)
    }
}
