//! Values, and the ranges and simplifications that hold for every packet.

use tidemill_stdx::hash::Map;
use tidemill_stdx::id::IdVec;

use crate::ast::Operator;

tidemill_stdx::id_type! {
    /// A value of a graph.
    pub struct ValueId, "v";
}

/// The bytes of a load.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Width {
    /// One.
    Byte,
    /// Two.
    Half,
    /// Four.
    Word,
}

impl Width {
    /// The number of bytes.
    pub fn bytes(self) -> u32 {
        match self {
            Width::Byte => 1,
            Width::Half => 2,
            Width::Word => 4,
        }
    }

    /// The width of this number of bytes.
    pub fn of(bytes: u32) -> Option<Width> {
        Some(match bytes {
            1 => Width::Byte,
            2 => Width::Half,
            4 => Width::Word,
            _ => return None,
        })
    }
}

/// The family of the headers of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Family {
    /// IPv4: over authentication headers.
    Four,
    /// IPv6: over extension and authentication headers.
    Six,
}

/// How a number is computed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Value {
    /// Known now.
    Constant(u32),
    /// The length of the packet on the wire.
    Length,
    /// 1 if this machine sent the packet, 0 if it received it or that is not known.
    Outgoing,
    /// Bytes of the packet, most significant first, at `base + offset`.
    Load {
        /// The number of bytes.
        width: Width,
        /// Added to the offset, without wrapping.
        base: Option<ValueId>,
        /// From the start of the packet.
        offset: u32,
    },
    /// Of two values, modulo 2^32. A shift by more than 31 gives 0.
    Binary(Operator, ValueId, ValueId),
    /// The protocol at which a walk along the headers of the IP packet at `start` ends: `until`, or
    /// the first that is no header to step over.
    Walk {
        /// The family of headers.
        family: Family,
        /// Where the IP header is.
        start: u32,
        /// The protocol that ends the walk.
        until: u32,
    },
}

/// Between which numbers a value is, both included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The least.
    pub min: u32,
    /// The greatest.
    pub max: u32,
}

impl Range {
    /// Nothing known.
    pub const ALL: Range = Range { min: 0, max: u32::MAX };

    /// One number.
    pub fn exactly(number: u32) -> Range {
        Range { min: number, max: number }
    }

    /// The name of the narrowest type that has them all.
    pub(super) fn type_name(self) -> &'static str {
        match self.max {
            0..=0xff => "u8",
            0x100..=0xffff => "u16",
            _ => "u32",
        }
    }
}

/// The values of a graph: equal ones have one id.
#[derive(Clone, Debug, Default)]
pub struct Values {
    all: IdVec<ValueId, Value>,
    ranges: IdVec<ValueId, Range>,
    depths: IdVec<ValueId, u32>,
    known: Map<Value, ValueId>,
}

impl PartialEq for Values {
    fn eq(&self, other: &Values) -> bool {
        self.all == other.all
    }
}

impl Eq for Values {}

impl Values {
    /// A value, without simplification.
    pub fn add(&mut self, value: Value) -> ValueId {
        if let Some(&id) = self.known.get(&value) {
            return id;
        }
        let range = self.range_of(value);
        self.ranges.push(range);
        let id = self.all.push(value);
        let below = self.operands(id).into_iter().flatten().map(|operand| self.depths[operand]);
        let depth = below.max().unwrap_or(0) + 1;
        self.depths.push(depth);
        self.known.insert(value, id);
        id
    }

    /// A number.
    pub fn constant(&mut self, number: u32) -> ValueId {
        self.add(Value::Constant(number))
    }

    /// An operation, in the simplest form that always has the same result. Its operands' checks
    /// are left to the caller.
    pub fn binary(&mut self, operator: Operator, left: ValueId, right: ValueId) -> ValueId {
        let (a, b) = (self.as_constant(left), self.as_constant(right));
        if let (Some(a), Some(b)) = (a, b)
            && let Some(result) = operator.apply(a, b)
        {
            return self.constant(result);
        }
        if let Some(b) = b {
            let covered = |mask: u32| {
                let bits = 32 - self.range(left).max.leading_zeros();
                let reach = u32::MAX.checked_shr(32 - bits).unwrap_or(0);
                reach & !mask == 0
            };
            match (operator, b) {
                (
                    Operator::Add
                    | Operator::Subtract
                    | Operator::Or
                    | Operator::Xor
                    | Operator::ShiftLeft
                    | Operator::ShiftRight,
                    0,
                )
                | (Operator::Multiply | Operator::Divide, 1) => return left,
                (Operator::Multiply | Operator::And, 0) | (Operator::Remainder, 1) => {
                    return self.constant(0);
                }
                (Operator::And, mask) if covered(mask) => return left,
                (Operator::ShiftLeft | Operator::ShiftRight, 32..) => return self.constant(0),
                _ => {}
            }
        }
        self.add(Value::Binary(operator, left, right))
    }

    /// The number of a constant.
    pub fn as_constant(&self, id: ValueId) -> Option<u32> {
        match self.all[id] {
            Value::Constant(number) => Some(number),
            _ => None,
        }
    }

    /// How a value is computed.
    pub fn get(&self, id: ValueId) -> Value {
        self.all[id]
    }

    /// The range of a value for every packet.
    pub fn range(&self, id: ValueId) -> Range {
        self.ranges[id]
    }

    /// The depth of a value in operations.
    pub fn depth(&self, id: ValueId) -> u32 {
        self.depths[id]
    }

    /// All values, operands first.
    pub fn iter(&self) -> impl Iterator<Item = (ValueId, Value)> {
        self.all.iter_enumerated().map(|(id, value)| (id, *value))
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The operands of a value.
    pub fn operands(&self, id: ValueId) -> [Option<ValueId>; 2] {
        match self.all[id] {
            Value::Load { base, .. } => [base, None],
            Value::Binary(_, left, right) => [Some(left), Some(right)],
            Value::Constant(_) | Value::Length | Value::Outgoing | Value::Walk { .. } => {
                [None, None]
            }
        }
    }

    fn range_of(&self, value: Value) -> Range {
        match value {
            Value::Constant(number) => Range::exactly(number),
            Value::Length => Range::ALL,
            Value::Outgoing => Range { min: 0, max: 1 },
            Value::Load { width, .. } => match width {
                Width::Byte => Range { min: 0, max: 0xff },
                Width::Half => Range { min: 0, max: 0xffff },
                Width::Word => Range::ALL,
            },
            Value::Walk { .. } => Range { min: 0, max: 0xff },
            Value::Binary(operator, left, right) => {
                let (a, b) = (self.ranges[left], self.ranges[right]);
                // The longest run of ones that reaches as far as both.
                let ones = |a: u32, b: u32| {
                    let bits = 32 - (a | b).leading_zeros();
                    u32::MAX.checked_shr(32 - bits).unwrap_or(0)
                };
                let shift = |b: Range| (b.min == b.max && b.max < 32).then_some(b.max);
                let max = match operator {
                    Operator::And => a.max.min(b.max),
                    Operator::Or | Operator::Xor => ones(a.max, b.max),
                    Operator::Add => a.max.saturating_add(b.max),
                    Operator::Multiply => a.max.saturating_mul(b.max),
                    Operator::Divide => a.max / b.min.max(1),
                    Operator::Remainder => a.max.min(b.max.saturating_sub(1)),
                    Operator::ShiftRight => a.max >> shift(b).unwrap_or(0),
                    Operator::ShiftLeft => match shift(b) {
                        Some(by) if a.max.leading_zeros() >= by => a.max << by,
                        _ => u32::MAX,
                    },
                    Operator::Subtract => u32::MAX,
                };
                Range { min: 0, max }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::print::OPERATORS;

    /// Values with some of the numbers that they can be.
    fn samples(values: &mut Values) -> Vec<(ValueId, Vec<u32>)> {
        let mut load = |width, numbers: &[u32]| {
            (values.add(Value::Load { width, base: None, offset: 0 }), numbers.to_vec())
        };
        let byte = load(Width::Byte, &[0, 1, 15, 16, 31, 32, 33, 254, 255]);
        let half = load(Width::Half, &[0, 1, 32, 0x8000, 0xffff]);
        let word = load(Width::Word, &[0, 1, 31, 32, 0x8000_0000, u32::MAX]);
        let mut all = vec![byte.clone(), half, word];
        let by = values.constant(25);
        all.push((values.add(Value::Binary(Operator::Remainder, byte.0, by)), (0..25).collect()));
        for number in [0, 1, 2, 15, 24, 25, 31, 32, 33, 0xff, 0xffff, u32::MAX] {
            all.push((values.constant(number), vec![number]));
        }
        all
    }

    #[test]
    fn ranges_hold_all_results_and_simpler_values_have_the_same() {
        let mut values = Values::default();
        let all = samples(&mut values);
        for &(operator, name) in &OPERATORS {
            for ((left, lefts), (right, rights)) in
                all.iter().flat_map(|one| all.iter().map(move |other| (one, other)))
            {
                let range = values.range_of(Value::Binary(operator, *left, *right));
                let simple = values.binary(operator, *left, *right);
                let results = lefts.iter().flat_map(|&a| rights.iter().map(move |&b| (a, b)));
                for (a, b) in results {
                    let Some(result) = operator.apply(a, b) else { continue };
                    let case = format!("{name} {left} {right}: {a} {b}");
                    assert!((range.min..=range.max).contains(&result), "{case}: {range:?}");
                    match values.get(simple) {
                        Value::Constant(number) => assert_eq!(number, result, "{case}"),
                        Value::Binary(other, ..) if simple != *left => {
                            assert_eq!(other, operator, "{case}");
                        }
                        _ => assert_eq!((simple, a), (*left, result), "{case}"),
                    }
                }
            }
        }
    }

    #[test]
    fn ranges_are_as_narrow_as_types_and_bounds_need_them() {
        let mut values = Values::default();
        let byte = values.add(Value::Load { width: Width::Byte, base: None, offset: 0 });
        let mut max = |operator, number| {
            let number = values.constant(number);
            let value = values.add(Value::Binary(operator, byte, number));
            values.range(value).max
        };
        assert_eq!(max(Operator::ShiftLeft, 24), 0xff00_0000);
        assert_eq!(max(Operator::ShiftLeft, 25), u32::MAX);
        assert_eq!(max(Operator::ShiftRight, 4), 15);
        assert_eq!(max(Operator::And, 15), 15);
        assert_eq!(max(Operator::Or, 0x100), 0x1ff);
        assert_eq!(max(Operator::Add, 14), 0x10d);
        assert_eq!(max(Operator::Multiply, 4), 0x3fc);
        assert_eq!(max(Operator::Divide, 2), 127);
        assert_eq!(max(Operator::Remainder, 8), 7);
    }

    #[test]
    fn what_changes_nothing_is_left_out() {
        use Operator::*;
        let mut values = Values::default();
        let byte = values.add(Value::Load { width: Width::Byte, base: None, offset: 0 });
        let mut simple = |operator, number| {
            let number = values.constant(number);
            let value = values.binary(operator, byte, number);
            (value == byte, values.as_constant(value))
        };
        for operator in [Add, Subtract, Or, Xor, ShiftLeft, ShiftRight] {
            assert_eq!(simple(operator, 0), (true, None), "{operator:?}");
        }
        assert_eq!([Multiply, Divide].map(|one| simple(one, 1)), [(true, None); 2]);
        assert_eq!([Multiply, And].map(|one| simple(one, 0)), [(false, Some(0)); 2]);
        assert_eq!([ShiftLeft, ShiftRight].map(|one| simple(one, 32)), [(false, Some(0)); 2]);
        assert_eq!(simple(Remainder, 1), (false, Some(0)));
        assert_eq!((simple(And, 0xff), simple(And, 0x7f)), ((true, None), (false, None)));
    }

    #[test]
    fn values_are_equal_if_they_are_the_same_in_the_same_order() {
        let values = |numbers: &[u32]| {
            let mut values = Values::default();
            numbers.iter().for_each(|&number| {
                values.constant(number);
            });
            values
        };
        assert_eq!(values(&[1, 2]), values(&[1, 2, 1]));
        assert_ne!(values(&[1, 2]), values(&[2, 1]));
        assert_ne!(values(&[1, 2]), values(&[1]));
    }
}
